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

ISA_DECLARE(depthwise_kernels, depthwise_kernels);

#endif
