/* SPDX-License-Identifier: Apache-2.0 */
/* code.h: generated code in this process: asked of the host (collage_host.make_code), loaded from
 * memory. */
#ifndef NATIVE_CODE_H
#define NATIVE_CODE_H

#include "family.h"
#include "source.h"

struct code {
    void *library;
    int file; /* stays open as long as the library: its path names it */
};

/* What is exported as `collage_kernel`; NULL and a message on failure. */
collage_status code_load(const collage_backend *backend, const struct source *source,
                         const char *const *options, struct code *out, void **function,
                         collage_message *message);
/* The same of an object that is there already; the bytes are copied. */
collage_status code_open(const void *bytes, size_t count, struct code *out, void **function,
                         collage_message *message);
/* A zeroed one, too. */
void code_unload(struct code *code);

#endif
