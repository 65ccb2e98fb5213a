/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h: element-wise nodes as one pass over the data. The nodes become steps over slots; a run
 * goes through the output tile by tile, and each step passes over a tile in the L1 cache.
 *
 * The space of the iteration is the shape of the outputs, its axes merged where every operand lets
 * them: outer axes, and an inner one along which an operand either streams, stays the same, or
 * repeats a block of channels (blocked layouts). What does not stream is a vector, computed once
 * for each tile.
 */
#ifndef NATIVE_PROGRAM_H
#define NATIVE_PROGRAM_H

#include "family.h"

/* Name of the enumerator, its value in vectors (simd/program.c); x, y, z: the operands; p, q: the
 * parameters of the step. */
#define PROGRAM_OPERATIONS(ROW)                                                                    \
    ROW(COPY, x)                                                                                   \
    ROW(ABS, vec_abs(x))                                                                           \
    ROW(NEG, -x)                                                                                   \
    ROW(SQRT, vec_sqrt(x))                                                                         \
    ROW(RECIPROCAL, 1.0f / x)                                                                      \
    ROW(EXP, vec_exp(x))                                                                           \
    ROW(LOG, vec_log(x))                                                                           \
    ROW(RELU, vec_at_least(x, vec_set(0.0f)))                                                      \
    ROW(LEAKY_RELU, vec_if_less(x, vec_set(0.0f), x *p, x))                                        \
    ROW(CLIP, vec_at_most(vec_at_least(x, vec_set(p)), vec_set(q)))                                \
    ROW(SIGMOID, vec_sigmoid(x))                                                                   \
    ROW(TANH, vec_tanh(x))                                                                         \
    ROW(SWISH, x *vec_sigmoid(x *p))                                                               \
    ROW(HARD_SWISH, x *vec_unit(x *(1.0f / 6.0f) + 0.5f))                                          \
    ROW(HARD_SIGMOID, vec_unit(x *p + q))                                                          \
    ROW(GELU, vec_gelu(x))                                                                         \
    ROW(GELU_TANH, vec_gelu_tanh(x))                                                               \
    ROW(ERF, vec_erf(x))                                                                           \
    ROW(ELU, vec_if_less(x, vec_set(0.0f), (vec_exp(x) - 1.0f) * p, x))                            \
    ROW(SQUARE, x *x)                                                                              \
    ROW(CUBE, x *x *x)                                                                             \
    ROW(ROOT, vec_select(x == -INFINITY, -x, vec_sqrt(x + 0.0f)))                                  \
    ROW(AFFINE, x *y + z)                                                                          \
    ROW(ADD, x + y)                                                                                \
    ROW(SUB, x - y)                                                                                \
    ROW(MUL, x *y)                                                                                 \
    ROW(DIV, x / y)                                                                                \
    ROW(MIN, vec_select((x < y) | (x != x), x, y))                                                 \
    ROW(MAX, vec_select((x > y) | (x != x), x, y))                                                 \
    ROW(PRELU, vec_select(x < 0.0f, x * y, x))                                                     \
    ROW(WHERE, vec_select(x != 0.0f, y, z))

enum program_op {
#define ROW(name, value) PROGRAM_##name,
    PROGRAM_OPERATIONS(ROW)
#undef ROW
        PROGRAM_FROM_BOOL, /* bytes as 0 and 1 */
    PROGRAM_OP_COUNT
};

enum {
    PROGRAM_TILE = 512, /* elements */
    PROGRAM_AXES = 8,
    PROGRAM_OPERANDS = 3,
    PROGRAM_LEAVES = 32,
    PROGRAM_REGISTERS = 16,
    PROGRAM_OUTPUTS = 4,
    PROGRAM_STEPS = 72,
    PROGRAM_SLOTS = PROGRAM_LEAVES + PROGRAM_REGISTERS + PROGRAM_OUTPUTS,
    PROGRAM_LANES = 16 /* the most that a vector has */
};

enum program_mode {
    PROGRAM_STREAM,
    PROGRAM_SAME, /* one element for the whole inner axis */
    PROGRAM_BLOCK /* the same vector again and again */
};

/* Where a program reads from. */
struct program_leaf {
    uint32_t value; /* of the sub-graph */
    enum program_mode mode;
    bool is_bytes; /* bool; else float32 */
    int64_t strides[PROGRAM_AXES];
};

struct program_step {
    uint8_t op, to;
    uint8_t from[PROGRAM_OPERANDS]; /* slots; those that it does not use are the first one again */
    bool streams[PROGRAM_OPERANDS]; /* the operands */
    bool is_stream;                 /* the result */
    float p, q;
};

/* Slots: the leaves, the registers from PROGRAM_LEAVES on, then the outputs. */
struct program {
    int32_t outer; /* axes before the inner one */
    int64_t dims[PROGRAM_AXES];
    int64_t inner, tiles; /* elements of the inner axis, and its tiles */
    int64_t units;        /* tiles in all */
    uint32_t leaf_count, step_count, output_count;
    struct program_leaf leaves[PROGRAM_LEAVES];
    struct program_step steps[PROGRAM_STEPS];
    bool output_is_row[PROGRAM_OUTPUTS]; /* its memory is one row, used again for each */
};

/* What is to become a program. */
struct program_request {
    const collage_subgraph *subgraph;
    const bool *nodes; /* those that belong to it, by index */
    int32_t rank;      /* of the outputs, and their shape */
    const int64_t *dims;
    bool channels_last; /* the layout of all that has the outputs' shape; else row-major */
    int64_t block;      /* or blocked by channels; 0: not */
    int32_t row;        /* the axes from this one on must be the inner axis; -1: as it comes */
    const uint32_t *outputs;
    uint32_t output_count;
    const bool *is_row; /* by value, may be NULL: memory of one row; an input or an output */
};

/* Reads it. `why` may be NULL. Sees hostile sub-graphs. */
bool program_read(struct program *program, const struct program_request *request,
                  collage_message *why);

/* Is this operator one of a program's? Says nothing of its operands. */
bool program_knows(const collage_node *node);

/* May output `output` lie in the memory of a leaf of the same shape that is read from `value`? */
bool program_in_place(const struct program *program, uint32_t output, uint32_t value);

/* Is `value` a leaf; is it none, or read element by element as the outputs are written? */
bool program_reads(const struct program *program, uint32_t value);
bool program_reads_densely(const struct program *program, uint32_t value);

/* Cuts a program with an inner axis only into rows of `count`. is_row: as in the request. */
bool program_split(struct program *program, int64_t count, const bool *is_row);

struct program_kernels;

/* Runs tiles [begin, end). bases: where each leaf begins; outputs: where each output begins. */
void program_run(const struct program *program, const struct program_kernels *kernels,
                 const void *const *bases, float *const *outputs, int64_t begin, int64_t end);

#endif
