/* SPDX-License-Identifier: Apache-2.0 */
/* pooling.h: the largest or the average element of windows of two dimensions, in any layout. */
#ifndef NATIVE_SIMD_POOLING_H
#define NATIVE_SIMD_POOLING_H

#include "../isa.h"

#include <stdbool.h>

enum { POOLING_SIDE_MAX = 64 }; /* of windows that are not as large as the whole */

struct pooling {
    bool average;
    int64_t batch, channels, height_in, width_in, height_out, width_out;
    int64_t kernel_height, kernel_width, stride_height, stride_width;
    int64_t dilation_height, dilation_width, pad_top, pad_left;
    /* How many elements a window counts in each direction, as floats (of an average). */
    float *rows, *columns;
    /* Channels are innermost: `step` floats from pixel to pixel, in `blocks` vectors, each in a
     * plane of its own if `planes`. Row-major: blocks is 0. */
    int64_t step, blocks;
    bool planes;
    int64_t units;  /* rows of the output of one block or channel; of all, with channels last */
    int64_t padded; /* row-major: floats of a row with its padding, the scratch of a thread */
};

struct pooling_kernels {
    /* Makes the units from begin up to end. `scratch` is this thread's. */
    void (*rows)(const struct pooling *pooling, const float *from, float *to, float *scratch,
                 int64_t begin, int64_t end);
};

ISA_DECLARE(pooling_kernels, pooling_kernels);

#endif
