/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NATIVE_SIMD_SOFTMAX_H
#define NATIVE_SIMD_SOFTMAX_H

#include "../isa.h"

struct softmax_kernels {
    /* `rows` rows of `count` elements each, one behind the other; in place is allowed. */
    void (*rows)(float *to, const float *from, int64_t rows, int64_t count);
};

ISA_DECLARE(softmax_kernels, softmax_kernels);

#endif
