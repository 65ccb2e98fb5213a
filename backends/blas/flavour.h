/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flavour.h: what differs between the libraries: names, where they lie, how their threads are
 * counted and kept quiet. Each plugin is built with one of openblas.c, mkl.c and blis.c.
 */
#ifndef BLAS_FLAVOUR_H
#define BLAS_FLAVOUR_H

#include "../library_path.h"
#include "library.h"

/* Where the build found the library. */
#ifndef COLLAGE_BLAS_BUILT
#define COLLAGE_BLAS_BUILT NULL
#endif

struct flavour {
    const char *name;  /* of the backend */
    const char *title; /* of the library, for messages */
    const char *hint;  /* how to get it */
    struct library_place place;
    const char *const *environment;
    bool has_batch; /* versions of today have cblas_sgemm_batch */
    /* Resolves what is the library's own, fills version_text and kernels; refuses a library that is
     * too old, counts in 64 bits or has threads that cannot be told how many to be. */
    collage_status (*identify)(struct library *library, const char *file, collage_message *message);
    /* What the library runs on from now on when this thread calls it. Costs well below 1 us. */
    void (*use_threads)(const struct library *library, int threads);
};

extern const struct flavour flavour;

#endif
