/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NATIVE_SIMD_GROUPED_H
#define NATIVE_SIMD_GROUPED_H

#include "../isa.h"
#include "../window.h"

/* How many pixels plan->block may be, descending, for each number of lanes. */
#define GROUPED_BLOCKS_16                                                                          \
    {                                                                                              \
        14, 8, 7, 0                                                                                \
    }
#define GROUPED_BLOCKS_8                                                                           \
    {                                                                                              \
        8, 7, 0                                                                                    \
    }

struct grouped_kernels {
    /* Several groups in a vector, each with as many input as output channels, or groups of whole
     * vectors. Input and output are blocked, unit_blocks is 1. Weights of a block of the output:
     * [kernel_height][input channels of a group][kernel_width][lanes]. */
    window_rows *rows;
};

ISA_DECLARE(grouped_kernels, grouped_kernels);

#endif
