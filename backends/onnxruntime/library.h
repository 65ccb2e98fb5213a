/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: the loaded ONNX Runtime: found, its functions fetched and proved by running a tiny
 * model, and its environment.
 */
#ifndef COLLAGE_ONNXRUNTIME_LIBRARY_H
#define COLLAGE_ONNXRUNTIME_LIBRARY_H

#include <collage/backend.h>

#include "ort_api.h"

struct collage_backend {
    const collage_host *host;
    struct ort_api ort;
    OrtEnv *env;
    OrtMemoryInfo *memory; /* "host memory", for tensors over the caller's memory */
    char version[32];
};

/* Writes the message; returns status. */
collage_status fail(collage_message *message, collage_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* COLLAGE_OK for NULL; otherwise the first line of ORT's message after "what: ". Releases the
 * status. */
collage_status ort_check(const struct ort_api *ort, OrtStatus *status, const char *what,
                         collage_message *message);

collage_status library_open(const collage_host *host, const collage_target *target,
                            collage_backend **out, collage_message *message);
void library_close(collage_backend *backend);

#endif
