/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: a BLAS as a table of functions, resolved when the library is loaded. The plugin is
 * built once for each library (flavour.h), needs no header of any, and is linked with none.
 */
#ifndef BLAS_LIBRARY_H
#define BLAS_LIBRARY_H

#include <collage/backend.h>

/* CBLAS's numbers; its enums are ints. */
enum { BLAS_ROW_MAJOR = 101, BLAS_PLAIN = 111, BLAS_TRANSPOSED = 112 };

struct library {
    void *handle; /* of dlopen; never closed: its threads outlive any use of it */
    char version_text[48];
    char kernels[24]; /* which of its kernels the library has chosen; may be empty */
    void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*sgemv)(int order, int transpose, int m, int n, float alpha, const float *a, int lda,
                  const float *x, int step_x, float beta, float *y, int step_y);
    /* Groups of products of one shape each; NULL: the library has no such function. */
    void (*sgemm_batch)(int order, const int *transpose_a, const int *transpose_b, const int *m,
                        const int *n, const int *k, const float *alpha, const float *const *a,
                        const int *lda, const float *const *b, const int *ldb, const float *beta,
                        float *const *c, const int *ldc, int groups, const int *sizes);
    void (*set_threads)(int count);          /* OpenBLAS */
    int (*set_threads_local)(int count);     /* MKL: of the calling thread; gives what it was */
    void (*set_threads_wide)(int64_t count); /* BLIS */
};

/* Loads the flavour's library: what its variable names, else what lies beside the plugins, else the
 * one that the build found, else the system's. */
collage_status library_load(struct library *library, collage_message *message);

/* The function of that name; false: the library has none. `where` is a function pointer. */
bool library_resolve(const struct library *library, const char *name, void *where);

#endif
