/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blas.h: what the plugin's parts share. Two families of kernels (native/family.h), matrix products
 * and convolutions, which are made of calls of one library; backends and kernels are the structs of
 * our own kernels, whose threads, epilogues and packed weights are used here, too.
 */
#ifndef BLAS_BLAS_H
#define BLAS_BLAS_H

#include "../native/epilogue.h"
#include "flavour.h"
#include "simd/finish.h"

/* An open backend. `base` comes first: kernels point to it. */
struct blas {
    struct collage_backend base;
    struct library library;
};

static inline const struct blas *blas_of(const collage_kernel *kernel)
{
    return (const struct blas *)kernel->backend;
}

/*
 * Who shares the work. BLAS_WHOLE: the library, with its threads, one product after the other.
 * BLAS_SPLIT: our threads, each of which calls the library for parts of the work and finishes its
 * results while they are in cache.
 */
enum blas_sharing { BLAS_WHOLE, BLAS_SPLIT };

/* What the library is asked for. Convolutions: BLAS_GEMM. */
enum blas_call { BLAS_GEMM, BLAS_GEMV, BLAS_GEMM_BATCH };

/* A way to run a sub-graph. The name is the variant's. */
struct blas_choice {
    const char *name;
    enum blas_call call;
    enum blas_sharing sharing;
    bool single;   /* on one thread */
    bool channels; /* convolutions: channels come last (NHWC) */
};

/* Tensors of fewer bytes than this, all together, are offered on one thread, too. */
enum { BLAS_SMALL_BYTES = 256 * 1024 };

static inline bool blas_is_small(const collage_subgraph *subgraph)
{
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        bytes += subgraph->values[v]->bytes;
    return bytes <= BLAS_SMALL_BYTES;
}

/* The library's integers have 32 bits. */
static inline bool blas_fits(int64_t number)
{
    return number > 0 && number <= INT32_MAX;
}

/* Is this choice one for so many threads, and a sub-graph of that size? */
static inline bool blas_offers(const struct blas_choice *choice, const collage_subgraph *subgraph,
                               const collage_target *target)
{
    return target->threads > 1 ? !choice->single || blas_is_small(subgraph)
                               : !choice->single && choice->sharing == BLAS_WHOLE;
}

extern const struct family product_family, convolution_family;

#endif
