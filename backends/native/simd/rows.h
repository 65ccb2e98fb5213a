/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NATIVE_SIMD_ROWS_H
#define NATIVE_SIMD_ROWS_H

#include "../isa.h"

struct rows_kernels {
    /* One row of `count`; in place is allowed. */
    void (*softmax)(float *to, const float *from, int64_t count);
    void (*log_softmax)(float *to, const float *from, int64_t count);
    /* bias: NULL for none. */
    void (*layer_norm)(float *to, const float *from, int64_t count, float epsilon,
                       const float *scale, const float *bias);
    void (*rms_norm)(float *to, const float *from, int64_t count, float epsilon, const float *scale,
                     const float *bias);
    /* A group: `channels` channels of `size` elements, a scale and a bias for each channel. */
    void (*group_norm)(float *to, const float *from, int64_t channels, int64_t size, float epsilon,
                       const float *scale, const float *bias);
    /* Softmax down columns [begin, end) of `count` rows that are `stride` apart. */
    void (*columns)(float *to, const float *from, int64_t count, int64_t stride, int64_t begin,
                    int64_t end, bool logarithm);
};

ISA_DECLARE(rows_kernels, rows_kernels);

#endif
