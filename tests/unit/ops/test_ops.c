/* SPDX-License-Identifier: Apache-2.0 */
/* test_ops.c: hand-computed cases of the operators whose rules are easy to get wrong. The onnx
 * package's cases (tests/conform/node) cover the rest. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call_op.h"

#define F32 COLLAGE_FLOAT32
#define I64 COLLAGE_INT64

static void test_table(void **state)
{
    (void)state;
    for (size_t k = 0; k < op_count(); k++) {
        const struct op *op = op_at(k);
        assert_ptr_equal(op_find(op->name), op); /* no name twice */
        assert_true(op->infer && op->compute);
        assert_true(op->max_inputs < 0 || op->max_inputs >= op->min_inputs);
        assert_true(op->min_outputs >= 1);
    }
    assert_null(op_find("NoSuchOperator"));
}

static void test_softmax(void **state)
{
    (void)state;
    const collage_attribute axis[] = { INT_ATTRIBUTE("axis", 0) };
    float big[] = { 1000, 1000, 1000, 1000 + 0.6931472f };
    struct op_test test = { .op = "Softmax",
                            .inputs = { { F32, 2, { 2, 2 }, big } },
                            .input_count = 1 };
    double third = 1 / (1 + exp((double)big[3] - 1000));
    op_test_expect(&test, DIMS(2, 2), VALUES(0.5, 0.5, third, 1 - third));
    test.attributes = axis;
    test.attribute_count = 1;
    op_test_expect(&test, DIMS(2, 2), VALUES(0.5, third, 0.5, 1 - third));
}

static void test_layer_normalization(void **state)
{
    (void)state;
    struct op_test test = { .op = "LayerNormalization",
                            .inputs = { { F32, 2, { 2, 2 }, FLOATS(1, 3, -2, 2) },
                                        { F32, 1, { 2 }, FLOATS(2, 10) },
                                        { F32, 1, { 2 }, FLOATS(0.5f, -1) } },
                            .input_count = 3,
                            .output_count = 3 };
    double a = 1 / sqrt(1 + (double)1e-5f), b = 2 / sqrt(4 + (double)1e-5f);
    assert_int_equal(op_test_run(&test, true), COLLAGE_OK);
    assert_int_equal(test.outputs[1].dims[1], 1);
    assert_true(tensor_get(&test.outputs[1], 0) == 2 && tensor_get(&test.outputs[1], 1) == 0);
    assert_true(fabs(tensor_get(&test.outputs[2], 1) - b / 2) < 1e-6);
    op_test_free(&test);
    test.output_count = 1;
    op_test_expect(&test, DIMS(2, 2), VALUES(0.5 - 2 * a, -1 + 10 * a, 0.5 - 2 * b, -1 + 10 * b));
}

static void test_slice(void **state)
{
    (void)state;
    struct op_test test = { .op = "Slice",
                            .inputs = { { F32, 2, { 2, 4 }, FLOATS(0, 1, 2, 3, 4, 5, 6, 7) },
                                        { I64, 1, { 2 }, LONGS(-1, INT64_MAX) },
                                        { I64, 1, { 2 }, LONGS(INT64_MIN, INT64_MIN) },
                                        { I64, 1, { 2 }, LONGS(0, -1) },
                                        { I64, 1, { 2 }, LONGS(-1, -2) } },
                            .input_count = 5 };
    op_test_expect(&test, DIMS(2, 2), VALUES(7, 5, 3, 1));
    test.inputs[1].data = LONGS(0, -3);
    test.inputs[2].data = LONGS(1, INT64_MAX);
    test.inputs[4].data = LONGS(INT64_MAX, 2);
    op_test_expect(&test, DIMS(1, 2), VALUES(1, 3));
    test.inputs[1].data = LONGS(0, 3);
    test.inputs[2].data = LONGS(2, 1);
    test.inputs[4].data = LONGS(1, 1);
    op_test_expect(&test, DIMS(2, 0), NULL);
    test.inputs[4].data = LONGS(1, 0);
    assert_int_equal(op_test_run(&test, false), COLLAGE_ERROR_SHAPE);
    test.inputs[4].data = LONGS(INT64_MIN, -1);
    test.inputs[2].data = LONGS(-9, -9);
    op_test_expect(&test, DIMS(1, 4), VALUES(3, 2, 1, 0));
}

static void test_gather(void **state)
{
    (void)state;
    const collage_attribute axis[] = { INT_ATTRIBUTE("axis", -1) };
    struct op_test test = { .op = "Gather",
                            .attributes = axis,
                            .attribute_count = 1,
                            .inputs = { { F32, 2, { 2, 3 }, FLOATS(0, 1, 2, 3, 4, 5) },
                                        { I64, 2, { 1, 2 }, LONGS(-1, 0) } },
                            .input_count = 2 };
    op_test_expect(&test, DIMS(2, 1, 2), VALUES(2, 0, 5, 3));
    test.inputs[1].rank = 0;
    op_test_expect(&test, DIMS(2), VALUES(2, 5));
    static const int64_t outside[] = { 3, -4, INT64_MIN, INT64_MAX };
    for (size_t k = 0; k < 4; k++) {
        int64_t index = outside[k];
        test.inputs[1].data = &index;
        assert_int_equal(op_test_run(&test, true), COLLAGE_ERROR_ARGUMENT);
        op_test_free(&test);
    }
}

static void test_integer_arithmetic(void **state)
{
    (void)state;
    const struct {
        const char *op;
        collage_dtype dtype;
        int64_t a, b, result;
    } cases[] = {
        { "Div", I64, INT64_MIN, -1, INT64_MIN },
        { "Div", I64, 7, 0, 0 },
        { "Div", I64, -7, 2, -3 },
        { "Div", COLLAGE_UINT64, -1, 2, INT64_MAX },
        { "Mod", I64, INT64_MIN, -1, 0 },
        { "Mod", I64, -7, 3, 2 },
        { "Mod", I64, 7, -3, -2 },
        { "Mod", I64, 7, 0, 0 },
        { "Add", I64, INT64_MAX, 1, INT64_MIN },
        { "Mul", I64, INT64_MAX, 2, -2 },
        { "Mul", I64, 3037000501, 3037000501, -9223372030635300615 },
        { "Sub", COLLAGE_INT32, INT32_MIN, 1, INT32_MAX },
        { "Add", COLLAGE_UINT8, 250, 10, 4 },
        { "Pow", I64, 3, 39, 4052555153018976267 },
        { "Pow", I64, -1, -3, -1 },
        { "Pow", I64, 2, -1, 0 },
        { "Max", COLLAGE_UINT64, -1, 1, -1 },
        { "Min", I64, INT64_MIN + 1, INT64_MIN, INT64_MIN },
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        int64_t a = cases[k].a, b = cases[k].b;
        struct op_test test = { .op = cases[k].op,
                                .inputs = { { cases[k].dtype, 0, { 0 }, &a },
                                            { cases[k].dtype, 0, { 0 }, &b } },
                                .input_count = 2 };
        assert_int_equal(op_test_run(&test, true), COLLAGE_OK);
        if (tensor_get_int(&test.outputs[0], 0) != cases[k].result)
            fail_msg("case %zu: %s gives %lld", k, cases[k].op,
                     (long long)tensor_get_int(&test.outputs[0], 0));
        op_test_free(&test);
    }
    uint64_t a = UINT64_MAX, b = 1;
    struct op_test test = { .op = "Less",
                            .inputs = { { COLLAGE_UINT64, 0, { 0 }, &a },
                                        { COLLAGE_UINT64, 0, { 0 }, &b } },
                            .input_count = 2 };
    op_test_expect(&test, NULL, 0, VALUES(0));
}

static void test_cast(void **state)
{
    (void)state;
    const collage_attribute to_float[] = { INT_ATTRIBUTE("to", COLLAGE_FLOAT32) };
    const collage_attribute to_byte[] = { INT_ATTRIBUTE("to", COLLAGE_UINT8) };
    /* Halfway between two floats by way of double, above it in truth. */
    int64_t value = ((int64_t)1 << 54) + ((int64_t)1 << 30) + 1;
    struct op_test test = { .op = "Cast",
                            .attributes = to_float,
                            .attribute_count = 1,
                            .inputs = { { I64, 0, { 0 }, &value } },
                            .input_count = 1 };
    assert_int_equal(op_test_run(&test, true), COLLAGE_OK);
    assert_true(tensor_get(&test.outputs[0], 0) == 0x1p54 + 0x1p31);
    op_test_free(&test);
    value = -2;
    test.attributes = to_byte;
    op_test_expect(&test, NULL, 0, VALUES(254));
}

static void test_matmul_vectors_and_batches(void **state)
{
    (void)state;
    struct op_test test = { .op = "MatMul",
                            .inputs = { { F32, 1, { 2 }, FLOATS(1, 2) },
                                        { F32, 1, { 2 }, FLOATS(3, 4) } },
                            .input_count = 2 };
    op_test_expect(&test, NULL, 0, VALUES(11));
    test.inputs[1] = (struct tensor){ F32, 3, { 2, 2, 1 }, FLOATS(1, 2, 3, 4) };
    op_test_expect(&test, DIMS(2, 1), VALUES(5, 11));
    test.inputs[0] = (struct tensor){ F32, 4, { 2, 1, 1, 2 }, FLOATS(1, 0, 0, 1) };
    op_test_expect(&test, DIMS(2, 2, 1, 1), VALUES(1, 3, 2, 4));
    test.inputs[1].dims[1] = 3;
    assert_int_equal(op_test_run(&test, false), COLLAGE_ERROR_SHAPE);
    test.inputs[0] = (struct tensor){ F32, 2, { 2, 0 }, FLOATS(0) };
    test.inputs[1] = (struct tensor){ F32, 2, { 0, 2 }, FLOATS(0) };
    op_test_expect(&test, DIMS(2, 2), VALUES(0, 0, 0, 0));
    test.inputs[0] = (struct tensor){ I64, 1, { 2 }, LONGS(INT64_MAX, 1) };
    test.inputs[1] = (struct tensor){ I64, 1, { 2 }, LONGS(1, -1) };
    assert_int_equal(op_test_run(&test, true), COLLAGE_OK);
    assert_true(tensor_get_int(&test.outputs[0], 0) == INT64_MAX - 1);
    op_test_free(&test);
}

static void test_gemm(void **state)
{
    (void)state;
    const collage_attribute attributes[] = { INT_ATTRIBUTE("transA", 1), INT_ATTRIBUTE("transB", 1),
                                             FLOAT_ATTRIBUTE("alpha", 0.5f),
                                             FLOAT_ATTRIBUTE("beta", 2) };
    struct op_test test = { .op = "Gemm",
                            .attributes = attributes,
                            .attribute_count = 4,
                            .inputs = { { F32, 2, { 2, 1 }, FLOATS(2, 4) },
                                        { F32, 2, { 3, 2 }, FLOATS(1, 2, 3, 4, 5, 6) },
                                        { F32, 1, { 3 }, FLOATS(1, 0, -1) } },
                            .input_count = 3 };
    op_test_expect(&test, DIMS(1, 3), VALUES(7, 11, 15));
    test.inputs[2] = (struct tensor){ F32, 2, { 1, 1 }, FLOATS(10) };
    op_test_expect(&test, DIMS(1, 3), VALUES(25, 31, 37));
    test.inputs[2].dims[1] = 2;
    assert_int_equal(op_test_run(&test, false), COLLAGE_ERROR_SHAPE);
}

static void test_pools(void **state)
{
    (void)state;
    const collage_attribute attributes[] = { INTS_ATTRIBUTE("kernel_shape", 3),
                                             INTS_ATTRIBUTE("strides", 2),
                                             INTS_ATTRIBUTE("pads", 1, 0),
                                             INT_ATTRIBUTE("ceil_mode", 1),
                                             INT_ATTRIBUTE("count_include_pad", 1) };
    struct op_test test = { .op = "AveragePool",
                            .attributes = attributes,
                            .attribute_count = 5,
                            .inputs = { { F32, 3, { 1, 1, 5 }, FLOATS(1, 2, 3, 4, 5) } },
                            .input_count = 1 };
    /* Windows -1..1, 1..3, 3..5: what hangs over the end does not count, the padding does. */
    op_test_expect(&test, DIMS(1, 1, 3), VALUES(1, 3, 4.5));
    test.attribute_count = 4;
    op_test_expect(&test, DIMS(1, 1, 3), VALUES(1.5, 3, 4.5));
    test.attribute_count = 3;
    op_test_expect(&test, DIMS(1, 1, 2), VALUES(1.5, 3));
    test.op = "MaxPool";
    test.inputs[0].data = FLOATS(-1, -2, -3, -4, -5);
    op_test_expect(&test, DIMS(1, 1, 2), VALUES(-1, -2));
}

static void test_reshape(void **state)
{
    (void)state;
    const collage_attribute allow[] = { INT_ATTRIBUTE("allowzero", 1) };
    struct op_test test = { .op = "Reshape",
                            .inputs = { { F32, 2, { 2, 3 }, FLOATS(0, 1, 2, 3, 4, 5) },
                                        { I64, 1, { 3 }, LONGS(0, -1, 1) } },
                            .input_count = 2 };
    op_test_expect(&test, DIMS(2, 3, 1), VALUES(0, 1, 2, 3, 4, 5));
    static const int64_t bad[][3] = { { -1, -1, 1 }, { 4, -1, 1 },        { 2, 2, 2 },
                                      { -2, 3, 1 },  { 1, 6, 0 },         { INT64_MAX, 4, 1 },
                                      { 0, 0, -1 },  { INT64_MIN, -1, 1 } };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        int64_t shape[3] = { bad[k][0], bad[k][1], bad[k][2] };
        test.inputs[1].data = shape;
        bool fits = k == 6; /* 2x3x1: the product is right */
        assert_int_equal(op_test_run(&test, false), fits ? COLLAGE_OK : COLLAGE_ERROR_SHAPE);
    }
    test.inputs[0].dims[0] = 0;
    test.inputs[1].data = LONGS(0, 5, 7);
    test.attributes = allow;
    test.attribute_count = 1;
    op_test_expect(&test, DIMS(0, 5, 7), NULL);
    test.inputs[1].data = NULL;
    assert_int_equal(op_test_run(&test, false), COLLAGE_ERROR_SHAPE);
    assert_non_null(strstr(test.error.text, "constant"));
}

static void test_pad(void **state)
{
    (void)state;
    const collage_attribute reflect[] = { STRING_ATTRIBUTE("mode", "reflect") };
    struct op_test test = { .op = "Pad",
                            .inputs = { { F32, 2, { 1, 3 }, FLOATS(1, 2, 3) },
                                        { I64, 1, { 2 }, LONGS(-1, 2) },
                                        { F32, 0, { 0 }, FLOATS(9) },
                                        { I64, 1, { 1 }, LONGS(-1) } },
                            .input_count = 4 };
    op_test_expect(&test, DIMS(1, 4), VALUES(2, 3, 9, 9));
    test.attributes = reflect;
    test.attribute_count = 1;
    test.inputs[1].data = LONGS(2, 5);
    op_test_expect(&test, DIMS(1, 10), VALUES(3, 2, 1, 2, 3, 2, 1, 2, 3, 2));
    test.inputs[1].data = LONGS(INT64_MAX, INT64_MAX);
    assert_int_equal(op_test_run(&test, false), COLLAGE_ERROR_SHAPE);
    test.inputs[1].data = LONGS(-2, -2);
    assert_int_equal(op_test_run(&test, false), COLLAGE_ERROR_SHAPE);
}

static void test_reduce(void **state)
{
    (void)state;
    const collage_attribute drop[] = { INT_ATTRIBUTE("keepdims", 0) };
    const collage_attribute none[] = { INT_ATTRIBUTE("noop_with_empty_axes", 1) };
    struct op_test test = { .op = "ReduceMean",
                            .attributes = drop,
                            .attribute_count = 1,
                            .inputs = { { F32, 3, { 2, 2, 2 }, FLOATS(0, 1, 2, 3, 4, 5, 6, 7) },
                                        { I64, 1, { 2 }, LONGS(-1, 0) } },
                            .input_count = 2 };
    op_test_expect(&test, DIMS(2), VALUES(2.5, 4.5));
    test.input_count = 1;
    op_test_expect(&test, NULL, 0, VALUES(3.5));
    test.attributes = none;
    op_test_expect(&test, DIMS(2, 2, 2), VALUES(0, 1, 2, 3, 4, 5, 6, 7));
    test.input_count = 2;
    test.inputs[1].data = LONGS(0, -3);
    assert_int_equal(op_test_run(&test, false), COLLAGE_ERROR_SHAPE);
    test = (struct op_test){ .op = "ReduceSum",
                             .inputs = { { I64, 1, { 2 }, LONGS(INT64_MAX - 1, 1) } },
                             .input_count = 1 };
    assert_int_equal(op_test_run(&test, true), COLLAGE_OK);
    assert_true(tensor_get_int(&test.outputs[0], 0) == INT64_MAX);
    op_test_free(&test);
}

static void test_split_and_concat(void **state)
{
    (void)state;
    struct op_test test = { .op = "Split",
                            .inputs = { { F32, 1, { 5 }, FLOATS(0, 1, 2, 3, 4) } },
                            .input_count = 1,
                            .output_count = 3 };
    assert_int_equal(op_test_run(&test, true), COLLAGE_OK);
    assert_int_equal(test.outputs[0].dims[0], 2);
    assert_int_equal(test.outputs[2].dims[0], 1);
    assert_true(tensor_get(&test.outputs[2], 0) == 4);
    op_test_free(&test);
    test.inputs[1] = (struct tensor){ I64, 1, { 3 }, LONGS(1, INT64_MAX, -INT64_MAX) };
    test.input_count = 2;
    assert_int_equal(op_test_run(&test, false), COLLAGE_ERROR_SHAPE);
    test.inputs[1].data = LONGS(1, 1, 2);
    assert_int_equal(op_test_run(&test, false), COLLAGE_ERROR_SHAPE);
}

/* What Conv, BatchNormalization and LSTM must refuse, and why. */
static void test_refusals(void **state)
{
    (void)state;
    const struct tensor image = { F32, 4, { 1, 4, 5, 5 }, NULL };
    const struct tensor weights = { F32, 4, { 6, 2, 3, 3 }, NULL };
    const struct tensor four = { F32, 1, { 4 }, NULL }, six = { F32, 1, { 6 }, NULL };
    const struct tensor five = { F32, 1, { 5 }, NULL };
    const struct tensor x = { F32, 3, { 2, 1, 3 }, NULL }, w = { F32, 3, { 1, 8, 3 }, NULL };
    const struct tensor r = { F32, 3, { 1, 8, 2 }, NULL };
    const collage_attribute group = INT_ATTRIBUTE("group", 2),
                            training = INT_ATTRIBUTE("training_mode", 1);
    const struct {
        const char *op, *message;
        struct tensor inputs[5];
        uint32_t input_count;
        collage_attribute attributes[2];
    } cases[] = {
        { "Conv", NULL, { image, weights, six }, 3, { group } },
        { "Conv", "channels", { image, weights }, 2, { INT_ATTRIBUTE("group", 1) } },
        { "Conv", "groups", { image, weights }, 2, { INT_ATTRIBUTE("group", 0) } },
        { "Conv", "groups", { image, weights }, 2, { INT_ATTRIBUTE("group", INT64_MIN) } },
        { "Conv", "bias", { image, weights, five }, 3, { group } },
        { "Conv", "rank", { image, six }, 2, { group } },
        { "Conv", "strides", { image, weights }, 2, { group, INTS_ATTRIBUTE("strides", 1, 0) } },
        { "Conv", "strides", { image, weights }, 2, { group, INTS_ATTRIBUTE("strides", 1) } },
        { "Conv", "pads", { image, weights }, 2, { group, INTS_ATTRIBUTE("pads", 0, 0, 0, -1) } },
        { "Conv",
          "larger than the padded input",
          { image, weights },
          2,
          { group, INTS_ATTRIBUTE("dilations", 1, INT32_MAX) } },
        { "Conv", "fit", { image, weights }, 2, { group, INTS_ATTRIBUTE("kernel_shape", 3, 2) } },
        { "Conv", "auto_pad", { image, weights }, 2, { group, STRING_ATTRIBUTE("auto_pad", "x") } },
        { "Conv", "'pads'", { image, weights }, 2, { group, INT_ATTRIBUTE("pads", 1) } },
        { "Conv", "'strange'", { image, weights }, 2, { group, INT_ATTRIBUTE("strange", 1) } },
        { "BatchNormalization", NULL, { image, four, four, four, four }, 5, { { 0 } } },
        { "BatchNormalization", "input 3", { image, four, four, five, four }, 5, { { 0 } } },
        { "BatchNormalization", "training", { image, four, four, four, four }, 5, { training } },
        { "BatchNormalization", "inputs", { image, four, four, four }, 4, { { 0 } } },
        { "LSTM", NULL, { x, w, r }, 3, { INT_ATTRIBUTE("hidden_size", 2) } },
        { "LSTM", "hidden_size", { x, w, r }, 3, { INT_ATTRIBUTE("hidden_size", 3) } },
        { "LSTM", "input 1", { x, r, r }, 3, { { 0 } } },
        { "LSTM", "rank", { x, w, four }, 3, { { 0 } } },
        { "LSTM", "direction", { x, w, r }, 3, { STRING_ATTRIBUTE("direction", "up") } },
        { "LSTM", "input 1", { x, w, r }, 3, { STRING_ATTRIBUTE("direction", "bidirectional") } },
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct op_test test = { .op = cases[k].op,
                                .attributes = cases[k].attributes,
                                .input_count = cases[k].input_count };
        while (test.attribute_count < 2 && cases[k].attributes[test.attribute_count].name)
            test.attribute_count++;
        memcpy(test.inputs, cases[k].inputs, sizeof cases[k].inputs);
        collage_status status = op_test_run(&test, false);
        if (cases[k].message
                ? status != COLLAGE_ERROR_SHAPE || !strstr(test.error.text, cases[k].message)
                : status != COLLAGE_OK)
            fail_msg("case %zu (%s): '%s'", k, cases[k].op, test.error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_layer_normalization),
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_integer_arithmetic),
        cmocka_unit_test(test_cast),
        cmocka_unit_test(test_matmul_vectors_and_batches),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_split_and_concat),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
