/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.h: the system's C compiler: from a source to a shared object. It is started without a
 * shell, in a private folder that is gone afterwards, and is killed with all its children when it
 * takes too long.
 */
#ifndef COLLAGE_BACKEND_COMPILER_H
#define COLLAGE_BACKEND_COMPILER_H

#include "base/error.h"

enum { COMPILER_PATH = 4096, COMPILER_OPTIONS = 16, COMPILER_OUTPUT = 16 << 20 };

struct compiler {
    char path[COMPILER_PATH]; /* "": there is none */
    double seconds;           /* that one source may take */
};

/* Looks for $COLLAGE_CC (a path, or a name to look for; empty: there shall be none), else cc, gcc
 * and clang in $PATH. */
void compiler_find(struct compiler *compiler);

/* folder: where it may make a folder of its own. options: at most COMPILER_OPTIONS,
 * NULL-terminated. *bytes is memory_alloc'ed. COLLAGE_ERROR_UNSUPPORTED: the compiler is not there,
 * fails or hangs: the message says which. */
collage_status compiler_run(const struct compiler *compiler, const char *folder, const char *source,
                            const char *const *options, void **bytes, size_t *count,
                            struct error *error);

#endif
