/* SPDX-License-Identifier: Apache-2.0 */
/*
 * separable.h: depthwise separable convolutions: a depthwise one and the pointwise (1x1) one of its
 * results, which are still in cache then.
 */
#ifndef NATIVE_SIMD_SEPARABLE_H
#define NATIVE_SIMD_SEPARABLE_H

#include "depthwise.h"

/* Blocks of output channels that the pointwise convolution makes at a time. */
enum { SEPARABLE_VECTORS = 2 };

struct separable {
    /* The pointwise convolution, and the kernel as a whole: its `input` is the depthwise one's, its
     * units are rows of all channels, `block` is how many of them are made at a time, scratch
     * holds their depthwise results: [blocks][pixels][lanes]. Weights of a unit of
     * SEPARABLE_VECTORS blocks: [input channels][vectors][lanes], fewer vectors in the last one. */
    struct window_plan plan;
    struct window_plan depthwise; /* as depthwise_kernels has it */
    bool relu;                    /* before the depthwise convolution */
    int64_t pieces; /* of the pixels of an image, in the order of `products`; of even sizes */
};

/* Part of the work, for all rows: `all` holds the depthwise results
 * [images][blocks][pixels][lanes]. */
typedef void separable_part(const struct separable *separable, const void *const *inputs,
                            float *all, float *to, int64_t begin, int64_t end);

struct separable_kernels {
    window_rows *rows; /* of a struct separable's plan: both convolutions */
    /* One after the other. Units of `blocks`: images and blocks of channels; of `products`: pairs
     * of blocks of output channels, images, pieces. */
    separable_part *blocks, *products;
    int64_t pixels; /* in registers at a time */
};

ISA_DECLARE(separable_kernels, separable_kernels);

#endif
