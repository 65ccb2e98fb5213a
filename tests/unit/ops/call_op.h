/* SPDX-License-Identifier: Apache-2.0 */
/* call_op.h: calling one operator in a test. Needs cmocka.h before it. */
#ifndef COLLAGE_TESTS_CALL_OP_H
#define COLLAGE_TESTS_CALL_OP_H

#include <string.h>

#include "base/memory.h"
#include "ops/ops.h"

#define INTS_ATTRIBUTE(key, ...)                                                                   \
    {                                                                                              \
        .name = key, .kind = COLLAGE_ATTRIBUTE_INTS, .ints = (const int64_t[]){ __VA_ARGS__ },     \
        .count = sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)                        \
    }
#define INT_ATTRIBUTE(key, value)                                                                  \
    {                                                                                              \
        .name = key, .kind = COLLAGE_ATTRIBUTE_INT, .i = value                                     \
    }
#define FLOAT_ATTRIBUTE(key, value)                                                                \
    {                                                                                              \
        .name = key, .kind = COLLAGE_ATTRIBUTE_FLOAT, .f = value                                   \
    }
#define STRING_ATTRIBUTE(key, value)                                                               \
    {                                                                                              \
        .name = key, .kind = COLLAGE_ATTRIBUTE_STRING, .s = value, .count = sizeof(value) - 1      \
    }

enum { CALL_PORTS = 16 };

/* A call and the memory of its outputs. */
struct op_test {
    const char *op;
    const collage_attribute *attributes;
    uint32_t attribute_count;
    struct tensor inputs[CALL_PORTS]; /* dtype COLLAGE_UNDEFINED: left out */
    uint32_t input_count;
    uint32_t output_count; /* 0: 1 */
    struct tensor outputs[CALL_PORTS];
    struct error error;
};

/* Infers, and computes if `compute`. Free with op_test_free. */
static inline collage_status op_test_run(struct op_test *test, bool compute)
{
    const struct op *op = op_find(test->op);
    const struct tensor *inputs[CALL_PORTS] = { NULL };
    collage_node node = { .op_type = test->op,
                          .name = "test",
                          .attributes = test->attributes,
                          .attribute_count = test->attribute_count };
    assert_non_null(op);
    for (uint32_t k = 0; k < test->input_count; k++)
        if (test->inputs[k].dtype != COLLAGE_UNDEFINED)
            inputs[k] = &test->inputs[k];
    test->output_count = test->output_count ? test->output_count : 1;
    struct op_call call = { &node, test->input_count, test->output_count, inputs, test->outputs };
    test->error = (struct error){ 0 };
    collage_status status = op_infer(op, &call, &test->error);
    for (uint32_t k = 0; k < test->output_count && status == COLLAGE_OK && compute; k++)
        test->outputs[k].data = memory_alloc_aligned((size_t)tensor_bytes(&test->outputs[k]));
    return status == COLLAGE_OK && compute ? op->compute(&call, &test->error) : status;
}

static inline void op_test_free(struct op_test *test)
{
    for (uint32_t k = 0; k < CALL_PORTS; k++) {
        memory_free_aligned(test->outputs[k].data);
        test->outputs[k].data = NULL;
    }
}

/* Runs it and compares output 0, element by element, up to a relative 1e-6. */
static inline void op_test_expect(struct op_test *test, const int64_t *dims, int32_t rank,
                                  const double *values)
{
    if (op_test_run(test, true) != COLLAGE_OK)
        fail_msg("%s: %s", test->op, test->error.text);
    assert_int_equal(test->outputs[0].rank, rank);
    for (int32_t d = 0; d < rank; d++)
        assert_int_equal(test->outputs[0].dims[d], dims[d]);
    for (int64_t i = 0; i < tensor_elements(&test->outputs[0]); i++) {
        double got = tensor_get(&test->outputs[0], i), want = values[i];
        double size = want < 0 ? -want : want;
        if (!(got == want || (got - want <= 1e-6 * size && want - got <= 1e-6 * size)))
            fail_msg("%s: element %lld is %.9g, expected %.9g", test->op, (long long)i, got, want);
    }
    op_test_free(test);
}

#define DIMS(...)                                                                                  \
    (const int64_t[]){ __VA_ARGS__ },                                                              \
        (int32_t)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
#define VALUES(...)                                                                                \
    (const double[])                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Tensors over a literal. */
#define FLOATS(...) ((float[]){ __VA_ARGS__ })
#define LONGS(...)  ((int64_t[]){ __VA_ARGS__ })

#endif
