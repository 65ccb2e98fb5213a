/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multiply.h: the product of two float32 matrices, summed in double: the one loop that Conv,
 * ConvTranspose, MatMul and Gemm share. The right matrix is asked for in panels of a few columns,
 * widened to double, so that the loop runs over contiguous memory whatever the operator's own order
 * is. How sums are cut depends on
 * the sizes alone, so that results do not depend on the machine.
 */
#ifndef COLLAGE_OPS_MULTIPLY_H
#define COLLAGE_OPS_MULTIPLY_H

#include "base/error.h"

enum { MULTIPLY_COLUMNS = 64 };

struct multiply {
    int64_t rows, depth, columns;
    const float *left; /* element (row, k) is left[row * row_stride + k * depth_stride] */
    int64_t row_stride, depth_stride;
    /* Fills panel[k * MULTIPLY_COLUMNS + j] with element (k, first + j) of the right matrix for all
     * k < depth and j < count; the rest of the panel is zero. */
    void (*pack)(const void *context, int64_t first, int64_t count, double *panel);
    /* Takes the sums of columns first .. first + count of a row. */
    void (*store)(const void *context, int64_t row, int64_t first, int64_t count,
                  const double *sums);
    const void *context;
};

/* Fails only for lack of memory. */
collage_status multiply_run(const struct multiply *multiply, struct error *error);

#endif
