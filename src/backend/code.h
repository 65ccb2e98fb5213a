/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code.h: what stands behind collage_host.make_code. A source, with its options, has a key, or a
 * name in its place (make_named_code); the code of a key comes from the plan that is being loaded,
 * or, while optimising, from a folder in the cache, or from the system's compiler. A file is called
 * KEY-HASH.so, HASH being the beginning of its own SHA-256: it is found by the first, and what was
 * damaged is found by the second.
 */
#ifndef COLLAGE_BACKEND_CODE_H
#define COLLAGE_BACKEND_CODE_H

#include "backend/compiler.h"
#include "base/sha256.h"

enum { CODE_KEY = 32, CODE_HASH = 16, CODE_NAME = CODE_KEY + CODE_HASH + 5 }; /* with terminator */

/* Code that a plan brought along, already checked. Bytes are borrowed. */
struct code_object {
    const char *name;
    const void *bytes;
    size_t count;
};

/* What was handed out. */
struct code_use {
    char name[CODE_NAME], sha256[SHA256_TEXT];
};

struct code_service {
    char *folder; /* where made code is kept; NULL: none is made */
    const struct code_object *objects;
    size_t object_count;
    bool only_objects; /* a plan is being loaded: nothing is made */
    struct compiler compiler;
    bool compiler_known;
    struct error failure; /* of the compiler: it is not tried again */
    bool lacked;          /* since code_begin: code was asked for in vain */
    struct code_use *uses;
    size_t use_count, use_capacity;
};

/* Made code is kept in this folder from now on, which need not exist. */
collage_status code_set_folder(struct code_service *service, const char *folder,
                               struct error *error);
void code_free(struct code_service *service);

/* Forgets what was handed out and what was lacking. NULL is fine. */
void code_begin(struct code_service *service);

/* *bytes is memory_alloc'ed. COLLAGE_ERROR_UNSUPPORTED: the compiler's fault (see compiler.h);
 * COLLAGE_ERROR_MISMATCH: it is not among the plan's objects. */
collage_status code_get(struct code_service *service, const char *source,
                        const char *const *options, void **bytes, size_t *count,
                        struct error *error);

/* The same under a name instead of the source. source NULL: only what there is, and *bytes is NULL
 * if it is still to be made. */
collage_status code_get_named(struct code_service *service, const char *name, const char *source,
                              const char *const *options, void **bytes, size_t *count,
                              struct error *error);

#endif
