/* SPDX-License-Identifier: Apache-2.0 */
/* finish.h: applies an epilogue (native/epilogue.h) to results of a product. */
#ifndef BLAS_SIMD_FINISH_H
#define BLAS_SIMD_FINISH_H

#include "../../native/epilogue.h"

/* A part of a result: `rows` rows of `count` floats each, `step` floats apart. `to` is its first
 * float, which lies `offset` floats into the output, and into tensors of its layout; it belongs to
 * the channel `channel`. */
struct finish_part {
    float *to;
    int64_t rows, count, step, offset, channel;
};

struct finish_kernels {
    /* Each row is a channel: convolutions. */
    void (*rows)(const struct epilogue *epilogue, const struct finish_part *part,
                 const void *const *inputs);
    /* The channels lie along the rows: matrix products. */
    void (*columns)(const struct epilogue *epilogue, const struct finish_part *part,
                    const void *const *inputs);
};

ISA_DECLARE(finish_kernels, finish_kernels);

#endif
