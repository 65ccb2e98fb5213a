/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NATIVE_SIMD_DEPTHWISE_H
#define NATIVE_SIMD_DEPTHWISE_H

#include "../isa.h"
#include "../window.h"

struct depthwise_kernels {
    /* One filter for each channel. Input and output are blocked, plan->block is 7 or 8, unit_blocks
     * is 1. Weights of a block: [kernel_height][kernel_width][lanes]. */
    window_rows *rows;
};

/* Are there kernels with blocks of pixels to choose from? */
static inline bool depthwise_has_blocks(const struct window *window)
{
    const int64_t k = window->kernel_width;
    return (k == 3 || k == 5 || k == 7) && window->stride_width <= 2;
}

/* Weights as depthwise_kernels wants them; context: the plan. */
void depthwise_pack(float *to, const float *from, const void *context);

/* How many pixels plan->block may be, descending. */
extern const int32_t depthwise_blocks[];

ISA_DECLARE(depthwise_kernels, depthwise_kernels);

#endif
