/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NATIVE_SIMD_ROTARY_H
#define NATIVE_SIMD_ROTARY_H

#include "../isa.h"

/* Turns `half` pairs of a row by angles given as cosines and sines. `to` and `from` do not overlap.
 */
struct rotary_kernels {
    void (*halves)(float *to, const float *from, const float *cosines, const float *sines,
                   int64_t half); /* k and half + k are a pair */
    void (*neighbours)(float *to, const float *from, const float *cosines, const float *sines,
                       int64_t half); /* 2k and 2k + 1 are */
};

ISA_DECLARE(rotary_kernels, rotary_kernels);

#endif
