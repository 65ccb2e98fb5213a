/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate.h: a program (program.h) as C: one loop over the data in which every step is a vector
 * operation on registers, instead of a pass over a tile. Shapes, strides and parameters are
 * numbers of the source, so that the compiler knows them; operands' addresses and the part of the
 * work are arguments. The operations are the same text as the interpreter's
 * (PROGRAM_OPERATIONS, simd/math.h), compiled with the same options; a product and a sum of
 * neighbouring steps may become one operation, which rounds once.
 */
#ifndef NATIVE_GENERATE_H
#define NATIVE_GENERATE_H

#include "program.h"
#include "source.h"

/* What generated code exports, as `collage_kernel`: the arguments of program_run. */
typedef void generated_program(const void *const *bases, float *const *outputs, int64_t begin,
                               int64_t end);

/* Is it worth a compiler? One step is one pass either way. */
bool generate_is_worth(const struct program *program);

/* The whole source. */
void generate_program(const struct program *program, struct source *source);

/* What the compiler is to be told for an instruction set; NULL ends it. */
const char *const *generate_options(enum isa isa);

#endif
