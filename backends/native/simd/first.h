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

/* Floats of an input row with its padding, as the blocks of a row of the output reach. */
static inline int64_t first_row_floats(const struct window_plan *plan)
{
    const struct window *window = &plan->window;
    int64_t pixels = (window->width_out + plan->block - 1) / plan->block * plan->block;
    return ((pixels - 1) * window->stride_width + window->kernel_width + 15) / 16 * 16;
}

/* Can the rows be read where they are? */
static inline bool first_reads_straight(const struct window_plan *plan)
{
    const struct window *window = &plan->window;
    int64_t pixels = (window->width_out + plan->block - 1) / plan->block * plan->block;
    return window->pad_left == 0 &&
           (pixels - 1) * window->stride_width + window->kernel_width <= window->width_in;
}

struct first_kernels {
    /* The input is row-major, the output blocked, unit_blocks is FIRST_VECTORS. Weights of a unit:
     * [kernel_height][input channels][kernel_width][vectors][lanes], fewer vectors in the last one.
     * Scratch, unless first_reads_straight: [input channels][kernel_height][first_row_floats]. */
    window_rows *rows;
};

ISA_DECLARE(first_kernels, first_kernels);

#endif
