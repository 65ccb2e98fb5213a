/* SPDX-License-Identifier: Apache-2.0 */
/* trap.h: rows of hand-computed calls of operators. Needs cmocka.h before it. */
#ifndef COLLAGE_TESTS_TRAP_H
#define COLLAGE_TESTS_TRAP_H

#include <math.h>

#include "call_op.h"

#define F32 COLLAGE_FLOAT32
#define I64 COLLAGE_INT64

#define TRAP_NAN ((double)NAN)
#define TRAP_INF ((double)INFINITY)

enum { TRAP_INPUTS = 4, TRAP_ATTRIBUTES = 8 };

/* The first output is held against dims and values, or the call is refused with that text. */
struct trap {
    const char *name, *op;
    struct tensor inputs[TRAP_INPUTS]; /* dtype COLLAGE_UNDEFINED: left out */
    uint32_t input_count;
    collage_attribute attributes[TRAP_ATTRIBUTES]; /* up to the first without a name */
    const int64_t *dims;
    int32_t rank;
    const double *values; /* NULL: there is no element */
    const char *refused;
    uint32_t output_count; /* 0: 1 */
};

static inline bool trap_is_close(double got, double want)
{
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    return fabs(got - want) <= 1e-6 * fabs(want) + 1e-9;
}

static inline void trap_compare(const struct trap *trap, const struct tensor *y)
{
    bool fits = y->rank == trap->rank;
    for (int32_t d = 0; d < trap->rank && fits; d++)
        fits = y->dims[d] == trap->dims[d];
    if (!fits) {
        char text[160];
        dims_print(y->dims, y->rank, text, sizeof text);
        fail_msg("%s: the output is %s", trap->name, text);
    }
    for (int64_t i = 0; i < tensor_elements(y); i++)
        if (!trap_is_close(tensor_get(y, i), trap->values[i]))
            fail_msg("%s: element %lld is %.9g, expected %.9g", trap->name, (long long)i,
                     tensor_get(y, i), trap->values[i]);
}

static inline void trap_check(const struct trap *trap)
{
    struct op_test test = { .op = trap->op,
                            .attributes = trap->attributes,
                            .input_count = trap->input_count,
                            .output_count = trap->output_count };
    memcpy(test.inputs, trap->inputs, sizeof trap->inputs);
    while (test.attribute_count < TRAP_ATTRIBUTES && trap->attributes[test.attribute_count].name)
        test.attribute_count++;
    collage_status status = op_test_run(&test, !trap->refused);
    if (trap->refused) {
        if (status == COLLAGE_OK || !strstr(test.error.text, trap->refused))
            fail_msg("%s: '%s' instead of '%s'", trap->name, test.error.text, trap->refused);
        return;
    }
    if (status != COLLAGE_OK)
        fail_msg("%s: %s", trap->name, test.error.text);
    trap_compare(trap, &test.outputs[0]);
    op_test_free(&test);
}

static inline void trap_check_all(const struct trap *traps, size_t count)
{
    for (size_t k = 0; k < count; k++)
        trap_check(&traps[k]);
}

#define TRAP_CHECK(table) trap_check_all(table, sizeof(table) / sizeof *(table))

#endif
