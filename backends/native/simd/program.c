/* SPDX-License-Identifier: Apache-2.0 */
/* program.c: the steps of element-wise programs on a tile. */
#include "program.h"

#include "math.h"

struct call {
    float *to;
    const float *from[PROGRAM_OPERANDS];
    int64_t steps[PROGRAM_OPERANDS]; /* LANES: it streams; 0: it is a vector */
    int64_t count;
    float p, q;
};

INLINE vec load(const struct call *call, int k, int64_t at, int64_t part)
{
    if (call->steps[k] == 0)
        return vec_load(call->from[k]);
    return part == LANES ? vec_load(call->from[k] + at) : vec_load_part(call->from[k] + at, part);
}

/* A function for each operation. Operands may lie where the result does. */
#define ROW(name, value)                                                                           \
    INLINE vec value_##name(vec x, vec y, vec z, float p, float q)                                 \
    {                                                                                              \
        (void)x, (void)y, (void)z, (void)p, (void)q;                                               \
        return value;                                                                              \
    }                                                                                              \
    static void run_##name(const struct call *call)                                                \
    {                                                                                              \
        const float *x = call->from[0], *y = call->from[1], *z = call->from[2];                    \
        const int64_t dx = call->steps[0], dy = call->steps[1], dz = call->steps[2];               \
        const float p = call->p, q = call->q;                                                      \
        int64_t k = 0;                                                                             \
        for (; k + LANES <= call->count; k += LANES, x += dx, y += dy, z += dz)                    \
            vec_store(call->to + k, value_##name(vec_load(x), vec_load(y), vec_load(z), p, q));    \
        int64_t part = call->count - k;                                                            \
        if (part > 0)                                                                              \
            vec_store_part(call->to + k,                                                           \
                           value_##name(load(call, 0, k, part), load(call, 1, k, part),            \
                                        load(call, 2, k, part), p, q),                             \
                           part);                                                                  \
    }
PROGRAM_OPERATIONS(ROW)
#undef ROW

static void run_FROM_BOOL(const struct call *call)
{
    const unsigned char *from = (const unsigned char *)call->from[0];
    for (int64_t k = 0; k < call->count; k++)
        call->to[k] = from[k] ? 1.0f : 0.0f;
}

static void (*const functions[PROGRAM_OP_COUNT])(const struct call *) = {
#define ROW(name, value) run_##name,
    PROGRAM_OPERATIONS(ROW)
#undef ROW
        run_FROM_BOOL
};

static void tile(const struct program *program, const struct program_slots *slots, int64_t count)
{
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct program_step *step = &program->steps[s];
        struct call call = { .to = slots->to[step->to],
                             .count = step->is_stream ? count : LANES,
                             .p = step->p,
                             .q = step->q };
        for (int k = 0; k < PROGRAM_OPERANDS; k++) {
            call.from[k] = slots->from[step->from[k]];
            call.steps[k] = step->streams[k] ? LANES : 0;
        }
        functions[step->op](&call);
    }
}

const struct program_kernels ISA(program_kernels) = { tile };
