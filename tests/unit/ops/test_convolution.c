/* SPDX-License-Identifier: Apache-2.0 */
/* test_convolution.c: Conv against a naive version written with plain loops over two dimensions,
 * and ConvTranspose as its adjoint. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "call_op.h"

struct geometry {
    int64_t batch, in, out, groups, height, width;
    int64_t kernel[2], stride[2], dilation[2], pads[4];
    bool bias;
};

static const struct geometry cases[] = {
    { 1, 3, 4, 1, 5, 6, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, true },
    { 2, 4, 6, 2, 7, 5, { 3, 2 }, { 2, 1 }, { 1, 2 }, { 0, 2, 1, 1 }, true },
    { 1, 6, 6, 6, 9, 8, { 3, 3 }, { 2, 2 }, { 2, 1 }, { 2, 0, 0, 3 }, false },
    { 2, 5, 7, 1, 1, 1, { 1, 1 }, { 3, 3 }, { 1, 1 }, { 0, 0, 0, 0 }, true },
    { 1, 8, 5, 1, 12, 11, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0, 0, 0, 0 }, false },
    { 1, 2, 2, 1, 3, 3, { 2, 2 }, { 1, 1 }, { 3, 3 }, { 5, 4, 6, 7 }, true },
};

static int64_t out_size(const struct geometry *g, int d)
{
    int64_t in = d ? g->width : g->height;
    return (in + g->pads[d] + g->pads[2 + d] - (g->kernel[d] - 1) * g->dilation[d] - 1) /
               g->stride[d] +
           1;
}

static double naive(const struct geometry *g, const struct tensor *x, const struct tensor *w,
                    const struct tensor *b, int64_t n, int64_t m, int64_t oh, int64_t ow)
{
    int64_t channels = g->in / g->groups, group = m / (g->out / g->groups);
    double sum = b ? tensor_get(b, m) : 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t kh = 0; kh < g->kernel[0]; kh++)
            for (int64_t kw = 0; kw < g->kernel[1]; kw++) {
                int64_t h = oh * g->stride[0] + kh * g->dilation[0] - g->pads[0];
                int64_t v = ow * g->stride[1] + kw * g->dilation[1] - g->pads[1];
                if (h < 0 || h >= g->height || v < 0 || v >= g->width)
                    continue;
                sum += tensor_get(
                           x, ((n * g->in + group * channels + c) * g->height + h) * g->width + v) *
                       tensor_get(w, ((m * channels + c) * g->kernel[0] + kh) * g->kernel[1] + kw);
            }
    return sum;
}

static struct tensor make(collage_dtype dtype, int32_t rank, const int64_t *dims, uint64_t seed)
{
    struct tensor tensor = { .dtype = dtype, .rank = rank };
    memcpy(tensor.dims, dims, (size_t)rank * sizeof *dims);
    tensor.data = memory_alloc_aligned((size_t)tensor_bytes(&tensor));
    tensor_fill_example(&tensor, seed, 0);
    return tensor;
}

static void check(const struct geometry *g, collage_dtype dtype)
{
    const collage_attribute attributes[] = {
        INT_ATTRIBUTE("group", g->groups),
        { .name = "strides", .kind = COLLAGE_ATTRIBUTE_INTS, .ints = g->stride, .count = 2 },
        { .name = "dilations", .kind = COLLAGE_ATTRIBUTE_INTS, .ints = g->dilation, .count = 2 },
        { .name = "pads", .kind = COLLAGE_ATTRIBUTE_INTS, .ints = g->pads, .count = 4 }
    };
    struct tensor x = make(dtype, 4, (int64_t[]){ g->batch, g->in, g->height, g->width }, 1);
    struct tensor w =
        make(dtype, 4, (int64_t[]){ g->out, g->in / g->groups, g->kernel[0], g->kernel[1] }, 2);
    struct tensor b = make(dtype, 1, &g->out, 3);
    struct op_test test = { .op = "Conv",
                            .attributes = attributes,
                            .attribute_count = 4,
                            .inputs = { x, w, b },
                            .input_count = g->bias ? 3 : 2 };
    if (op_test_run(&test, true) != COLLAGE_OK)
        fail_msg("%s", test.error.text);
    int64_t height = out_size(g, 0), width = out_size(g, 1), i = 0;
    assert_int_equal(test.outputs[0].dims[2], height);
    assert_int_equal(test.outputs[0].dims[3], width);
    for (int64_t n = 0; n < g->batch; n++)
        for (int64_t m = 0; m < g->out; m++)
            for (int64_t oh = 0; oh < height; oh++)
                for (int64_t ow = 0; ow < width; ow++, i++) {
                    double want = naive(g, &x, &w, g->bias ? &b : NULL, n, m, oh, ow);
                    assert_true(fabs(tensor_get(&test.outputs[0], i) - want) <=
                                1e-6 * (1 + fabs(want)));
                }
    op_test_free(&test);
    memory_free_aligned(x.data);
    memory_free_aligned(w.data);
    memory_free_aligned(b.data);
}

static void test_against_naive(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        check(&cases[k], COLLAGE_FLOAT32);
        check(&cases[k], COLLAGE_FLOAT64);
    }
}

static void test_one_and_three_dimensions(void **state)
{
    (void)state;
    const collage_attribute same[] = { STRING_ATTRIBUTE("auto_pad", "SAME_UPPER") };
    struct op_test test = { .op = "Conv",
                            .attributes = same,
                            .attribute_count = 1,
                            .inputs = { { COLLAGE_FLOAT32, 3, { 1, 1, 3 }, FLOATS(1, 2, 3) },
                                        { COLLAGE_FLOAT32, 3, { 1, 1, 2 }, FLOATS(10, 1) } },
                            .input_count = 2 };
    op_test_expect(&test, DIMS(1, 1, 3), VALUES(12, 23, 30));
    const collage_attribute lower[] = { STRING_ATTRIBUTE("auto_pad", "SAME_LOWER") };
    test.attributes = lower;
    op_test_expect(&test, DIMS(1, 1, 3), VALUES(1, 12, 23));
    test.attribute_count = 0;
    test.inputs[0] = (struct tensor){ COLLAGE_FLOAT32, 5, { 1, 1, 2, 1, 2 }, FLOATS(1, 2, 3, 4) };
    test.inputs[1] = (struct tensor){ COLLAGE_FLOAT32, 5, { 1, 1, 2, 1, 1 }, FLOATS(1, 10) };
    op_test_expect(&test, DIMS(1, 1, 1, 1, 2), VALUES(31, 42));
}

/* <Conv(x), y> = <x, ConvTranspose(y)> with the same weights and attributes. */
static void test_transposed_is_adjoint(void **state)
{
    (void)state;
    const collage_attribute attributes[] = { INT_ATTRIBUTE("group", 2),
                                             INTS_ATTRIBUTE("strides", 2, 1),
                                             INTS_ATTRIBUTE("dilations", 1, 2),
                                             INTS_ATTRIBUTE("pads", 1, 0, 0, 2) };
    struct tensor x = make(COLLAGE_FLOAT32, 4, (int64_t[]){ 2, 4, 8, 7 }, 4);
    struct tensor w = make(COLLAGE_FLOAT32, 4, (int64_t[]){ 6, 2, 3, 2 }, 5);
    struct op_test forward = { .op = "Conv",
                               .attributes = attributes,
                               .attribute_count = 4,
                               .inputs = { x, w },
                               .input_count = 2 };
    assert_int_equal(op_test_run(&forward, true), COLLAGE_OK);
    struct tensor y = make(COLLAGE_FLOAT32, 4, forward.outputs[0].dims, 6);
    struct op_test back = { .op = "ConvTranspose",
                            .attributes = attributes,
                            .attribute_count = 4,
                            .inputs = { y, w },
                            .input_count = 2 };
    assert_int_equal(op_test_run(&back, true), COLLAGE_OK);
    assert_true(tensor_same_shape(&back.outputs[0], &x));
    double a = 0, b = 0;
    for (int64_t i = 0; i < tensor_elements(&y); i++)
        a += tensor_get(&forward.outputs[0], i) * tensor_get(&y, i);
    for (int64_t i = 0; i < tensor_elements(&x); i++)
        b += tensor_get(&back.outputs[0], i) * tensor_get(&x, i);
    assert_true(fabs(a - b) < 1e-4 * fabs(a));
    op_test_free(&forward);
    op_test_free(&back);
    memory_free_aligned(x.data);
    memory_free_aligned(w.data);
    memory_free_aligned(y.data);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct op_test test = { .op = "Conv",
                            .inputs = { { COLLAGE_FLOAT32, 3, { 1, 1, 1 }, FLOATS(1) },
                                        { COLLAGE_FLOAT32, 3, { 1, 1, 1 }, FLOATS(1) } },
                            .input_count = 2 };
    assert_int_equal(op_test_run(&test, true), COLLAGE_OK);
    const struct tensor *inputs[] = { &test.inputs[0], &test.inputs[1] };
    collage_node node = { .op_type = "Conv", .name = "" };
    struct op_call call = { &node, 2, 1, inputs, test.outputs };
    memory_fail_after(1);
    collage_status status = op_find("Conv")->compute(&call, &test.error);
    memory_fail_after(0);
    assert_int_equal(status, COLLAGE_ERROR_MEMORY);
    op_test_free(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_naive),
        cmocka_unit_test(test_one_and_three_dimensions),
        cmocka_unit_test(test_transposed_is_adjoint),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
