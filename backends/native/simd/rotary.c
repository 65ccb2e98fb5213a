/* SPDX-License-Identifier: Apache-2.0 */
#include "rotary.h"

#include "simd.h"

static void halves(float *restrict to, const float *restrict from, const float *restrict cosines,
                   const float *restrict sines, int64_t half)
{
    int64_t k = 0;
    for (; k + LANES <= half; k += LANES) {
        const vec a = vec_load(from + k), b = vec_load(from + half + k);
        const vec cosine = vec_load(cosines + k), sine = vec_load(sines + k);
        vec_store(to + k, cosine * a - sine * b);
        vec_store(to + half + k, sine * a + cosine * b);
    }
    for (; k < half; k++) {
        to[k] = cosines[k] * from[k] - sines[k] * from[half + k];
        to[half + k] = sines[k] * from[k] + cosines[k] * from[half + k];
    }
}

static void neighbours(float *restrict to, const float *restrict from,
                       const float *restrict cosines, const float *restrict sines, int64_t half)
{
    for (int64_t k = 0; k < half; k++) {
        to[2 * k] = cosines[k] * from[2 * k] - sines[k] * from[2 * k + 1];
        to[2 * k + 1] = sines[k] * from[2 * k] + cosines[k] * from[2 * k + 1];
    }
}

const struct rotary_kernels ISA(rotary_kernels) = { halves, neighbours };
