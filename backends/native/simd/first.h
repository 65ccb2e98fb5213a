/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NATIVE_SIMD_FIRST_H
#define NATIVE_SIMD_FIRST_H

#include "../isa.h"
#include "../window.h"

/* How many pixels plan->block may be, descending, for each number of lanes. */
#define FIRST_BLOCKS_16                                                                            \
    {                                                                                              \
        14, 8, 7, 0                                                                                \
    }
#define FIRST_BLOCKS_8                                                                             \
    {                                                                                              \
        6, 5, 4, 0                                                                                 \
    }

/* Blocks of output channels in a unit of work. */
enum { FIRST_VECTORS = 2 };

/* Floats of a row of the input that the windows of plan->block pixels reach over. */
static inline int64_t first_reach(const struct window_plan *plan)
{
    return (plan->block - 1) * plan->window.stride_width + plan->window.kernel_width;
}

/* And as the scratch has them. */
static inline int64_t first_row_floats(const struct window_plan *plan)
{
    return (first_reach(plan) + 15) / 16 * 16;
}

struct first_kernels {
    /* The input is row-major, the output blocked, unit_blocks is FIRST_VECTORS. Weights of a unit:
     * [kernel_height][input channels][kernel_width][vectors][lanes], fewer vectors in the last one.
     * Scratch: [input channels][kernel_height][first_row_floats]. */
    window_rows *rows;
};

ISA_DECLARE(first_kernels, first_kernels);

#endif
