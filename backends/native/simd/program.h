/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NATIVE_SIMD_PROGRAM_H
#define NATIVE_SIMD_PROGRAM_H

#include "../program.h"

/* Where the slots are for one tile. What does not stream is a vector of PROGRAM_LANES. */
struct program_slots {
    const float *from[PROGRAM_SLOTS];
    float *to[PROGRAM_SLOTS];
};

struct program_kernels {
    /* All steps on a tile of `count` elements. */
    void (*tile)(const struct program *program, const struct program_slots *slots, int64_t count);
};

ISA_DECLARE(program_kernels, program_kernels);

#endif
