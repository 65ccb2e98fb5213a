/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transposed.h: transposed convolutions by phases. Outputs whose position plus pad leaves the same
 * rest when divided by the stride belong to the same phase of an axis: they are made from the same
 * weights, each stride-th of the kernel, as a convolution of stride 1 makes them.
 */
#ifndef NATIVE_SIMD_TRANSPOSED_H
#define NATIVE_SIMD_TRANSPOSED_H

#include "../isa.h"
#include "../window.h"

/* How many pixels plan->block may be, descending, for each number of lanes. */
#define TRANSPOSED_BLOCKS_16                                                                       \
    {                                                                                              \
        14, 8, 7, 0                                                                                \
    }
#define TRANSPOSED_BLOCKS_8                                                                        \
    {                                                                                              \
        6, 5, 4, 0                                                                                 \
    }

/* Blocks of output channels in a unit of work, and the largest stride. */
enum { TRANSPOSED_VECTORS = 2, TRANSPOSED_STRIDE_MAX = 4 };

/* A phase of an axis. */
struct transposed_axis {
    int64_t first, count; /* the outputs first, first + stride, ... */
    int64_t base;         /* output k is made of the inputs base + k - tap */
    int64_t taps;         /* number tap is kernel[phase + tap * stride] */
    int64_t begin;        /* taps of the phases before this one */
};

static inline struct transposed_axis transposed_axis(int64_t phase, int64_t stride, int64_t kernel,
                                                     int64_t pad, int64_t out)
{
    struct transposed_axis axis = { .first = ((phase - pad) % stride + stride) % stride };
    axis.count = axis.first < out ? (out - axis.first + stride - 1) / stride : 0;
    axis.base = (axis.first + pad) / stride;
    axis.taps = phase < kernel ? (kernel - phase + stride - 1) / stride : 0;
    for (int64_t p = 0; p < phase && p < kernel; p++)
        axis.begin += (kernel - p + stride - 1) / stride;
    return axis;
}

/* Taps of a filter before those of a phase of both axes, in packed weights. */
static inline int64_t transposed_begin(const struct transposed_axis *y,
                                       const struct transposed_axis *x, int64_t kernel_width)
{
    return y->begin * kernel_width + y->taps * x->begin;
}

struct transposed_kernels {
    /* Input and output are blocked, unit_blocks is TRANSPOSED_VECTORS. A unit of work is a block of
     * pixels of a phase, counted over images, rows and columns: numbered by pair of blocks of
     * channels, and then by phase and block of pixels, or the other way round if the weights are
     * few; each phase has as many as the largest. Weights of a
     * pair: [phase y][phase x][tap y][tap x][input channels][vectors][lanes], fewer vectors in the
     * last one. */
    window_rows *units;
};

ISA_DECLARE(transposed_kernels, transposed_kernels);

#endif
