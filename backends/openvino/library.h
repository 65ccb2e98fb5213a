/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: the loaded OpenVINO: found, its functions fetched and proved by running a tiny model,
 * and its core, which holds the CPU device.
 */
#ifndef COLLAGE_OPENVINO_LIBRARY_H
#define COLLAGE_OPENVINO_LIBRARY_H

#include <collage/backend.h>

#include "ov_api.h"

struct collage_backend {
    const collage_host *host;
    struct ov_api ov;
    ov_core_t *core;
    char version[48];
};

/* Writes the message; returns status. */
collage_status fail(collage_message *message, collage_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* COLLAGE_OK for success; otherwise OpenVINO's last message, as one line, after "what: ". */
collage_status ov_check(const struct ov_api *ov, ov_status code, const char *what,
                        collage_message *message);

collage_status library_open(const collage_host *host, const collage_target *target,
                            collage_backend **out, collage_message *message);
void library_close(collage_backend *backend);

#endif
