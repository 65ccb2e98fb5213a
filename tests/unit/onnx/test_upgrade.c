/* SPDX-License-Identifier: Apache-2.0 */
/* Models of older opsets: what their nodes become, and what they compute. */
#include "unit/onnx/model_builder.h"
#include "unit/onnx/run_graph.h"

/* Runs the model on x = 0.5, 1.5, 2.5, ... minus `minus`, and compares the output. */
static void check(struct model_builder *b, float minus, size_t count, const float *expected)
{
    struct graph *graph = builder_graph(b);
    struct error error = { 0 };
    struct tensor *x = &graph->values[graph->inputs[0]].tensor;
    float *data = arena_alloc(graph->arena, (size_t)tensor_bytes(x));
    for (int64_t i = 0; i < tensor_elements(x); i++)
        data[i] = (float)i + 0.5f - minus;
    x->data = data;
    if (run_graph(graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    const struct tensor *y = &graph->values[graph->outputs[0]].tensor;
    assert_int_equal(tensor_elements(y), count);
    for (size_t i = 0; i < count; i++)
        assert_float_equal(tensor_get(y, (int64_t)i), expected[i], 1e-5);
    graph_destroy(graph);
}

static void begin(struct model_builder *b, int64_t opset, const char *shape)
{
    builder_begin(b, opset);
    builder_input(b, "x", COLLAGE_FLOAT32, shape);
    builder_output(b, "y");
}

static void softmax_flattens(void **state)
{
    (void)state;
    struct model_builder b;
    begin(&b, 11, "1x2x2"); /* default axis 1: all four elements are one row */
    builder_node(&b, "Softmax", "x", "y");
    const float one_row[] = { 0.0320586f, 0.0871443f, 0.2368828f, 0.6439143f };
    check(&b, 0, 4, one_row);
    begin(&b, 11, "1x2x2"); /* the last axis means the same in both */
    builder_node(&b, "Softmax", "x", "y");
    builder_int(&b, "axis", 2);
    const float two_rows[] = { 0.2689414f, 0.7310586f, 0.2689414f, 0.7310586f };
    check(&b, 0, 4, two_rows);
    begin(&b, 13, "1x2x2");
    builder_node(&b, "Softmax", "x", "y");
    builder_int(&b, "axis", 1);
    const float columns[] = { 0.1192029f, 0.1192029f, 0.8807971f, 0.8807971f };
    check(&b, 0, 4, columns);
    begin(&b, 9, "2x2");
    builder_node(&b, "LogSoftmax", "x", "y");
    builder_int(&b, "axis", 0);
    const float logs[] = { -3.4401897f, -2.4401897f, -1.4401897f, -0.4401897f };
    check(&b, 0, 4, logs);
}

static void clip_takes_inputs(void **state)
{
    (void)state;
    struct model_builder b;
    begin(&b, 7, "4");
    builder_node(&b, "Clip", "x", "y");
    builder_float(&b, "max", 2);
    builder_float(&b, "min", -1);
    const float both[] = { -1, -0.5f, 0.5f, 1.5f };
    check(&b, 2, 4, both);
    begin(&b, 7, "4");
    builder_node(&b, "Clip", "x", "y");
    builder_float(&b, "max", 0);
    const float upper[] = { -1.5f, -0.5f, 0, 0 };
    check(&b, 2, 4, upper);
}

static void axes_become_inputs(void **state)
{
    (void)state;
    const int64_t one = 1;
    struct model_builder b;
    begin(&b, 11, "2x1x2");
    builder_node(&b, "Squeeze", "x", "s");
    builder_ints(&b, "axes", 1, &one);
    builder_node(&b, "Unsqueeze", "s", "u");
    builder_ints(&b, "axes", 1, &one);
    builder_node(&b, "ReduceSum", "u", "r");
    builder_ints(&b, "axes", 1, &one);
    builder_node(&b, "ReduceMean", "r", "y");
    const int64_t two = 2;
    builder_ints(&b, "axes", 1, &two);
    const float means[] = { 1, 3 };
    check(&b, 0, 2, means);
}

static void split_parts(void **state)
{
    (void)state;
    const int64_t parts[2] = { 1, 3 };
    struct model_builder b;
    begin(&b, 11, "4");
    builder_node(&b, "Split", "x", "a,y");
    builder_ints(&b, "split", 2, parts);
    const float last[] = { 1.5f, 2.5f, 3.5f };
    check(&b, 0, 3, last);
    begin(&b, 13, "4");
    builder_node(&b, "Split", "x", "a,y");
    const float half[] = { 2.5f, 3.5f };
    check(&b, 0, 2, half);
}

static void slice_and_pad_take_inputs(void **state)
{
    (void)state;
    const int64_t start = 1, end = 1000, pads[2] = { 1, 2 };
    struct model_builder b;
    begin(&b, 9, "4");
    builder_node(&b, "Slice", "x", "s");
    builder_ints(&b, "starts", 1, &start);
    builder_ints(&b, "ends", 1, &end);
    builder_node(&b, "Pad", "s", "y");
    builder_ints(&b, "pads", 2, pads);
    builder_float(&b, "value", 9);
    const float padded[] = { 9, 1.5f, 2.5f, 3.5f, 9, 9 };
    check(&b, 0, 6, padded);
}

static void upsample_is_resize(void **state)
{
    (void)state;
    const float scales[4] = { 1, 1, 1, 2 };
    const float doubled[] = { 0.5f, 0.5f, 1.5f, 1.5f };
    struct model_builder b;
    begin(&b, 9, "1x1x1x2");
    builder_initializer(&b, "scales", COLLAGE_FLOAT32, 4, scales);
    builder_node(&b, "Upsample", "x,scales", "y");
    check(&b, 0, 4, doubled);
    begin(&b, 10, "1x1x1x2");
    builder_initializer(&b, "scales", COLLAGE_FLOAT32, 4, scales);
    builder_node(&b, "Resize", "x,scales", "y");
    check(&b, 0, 4, doubled);
    begin(&b, 11, "1x1x1x2"); /* empty tensors stand for left-out inputs */
    builder_initializer(&b, "scales", COLLAGE_FLOAT32, 4, scales);
    builder_initializer(&b, "roi", COLLAGE_FLOAT32, 0, scales);
    builder_node(&b, "Resize", "x,roi,scales", "y");
    check(&b, 0, 4, doubled);
    begin(&b, 10, "1x1x1x2");
    builder_node(&b, "Upsample", "x,scales", "y");
    builder_initializer(&b, "scales", COLLAGE_FLOAT32, 4, scales);
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "operator 'Upsample' (node 'the_Upsample'");
}

static void normalisation_and_dropout(void **state)
{
    (void)state;
    const float one[1] = { 1 }, zero[1] = { 0 }, two[1] = { 2 };
    struct model_builder b;
    begin(&b, 7, "1x1x2");
    builder_initializer(&b, "one", COLLAGE_FLOAT32, 1, one);
    builder_initializer(&b, "zero", COLLAGE_FLOAT32, 1, zero);
    builder_initializer(&b, "two", COLLAGE_FLOAT32, 1, two);
    builder_node(&b, "BatchNormalization", "x,two,one,zero,one", "n,,,,");
    builder_int(&b, "spatial", 1);
    builder_float(&b, "epsilon", 0);
    builder_node(&b, "Dropout", "n", "y,");
    builder_float(&b, "ratio", 0.25f);
    const float normal[] = { 2, 4 };
    check(&b, 0, 2, normal);
}

static void constants_of_all_kinds(void **state)
{
    (void)state;
    struct model_builder b;
    begin(&b, 13, "2");
    const int64_t shape[2] = { 1, 2 };
    const float three = 3;
    builder_node(&b, "Constant", "", "f");
    b.nodes[0]->n_input = 0;
    builder_float(&b, "value_float", 0.5f);
    builder_node(&b, "Constant", "", "s");
    b.nodes[1]->n_input = 0;
    builder_ints(&b, "value_ints", 2, shape);
    builder_node(&b, "ConstantOfShape", "s", "c");
    Onnx__AttributeProto *a =
        builder_attribute(&b, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
    a->t = builder_tensor(&b, "", COLLAGE_FLOAT32, 1, &three);
    builder_node(&b, "Mul", "x,c", "m");
    builder_node(&b, "Add", "m,f", "y");
    const float result[] = { 2, 5 };
    check(&b, 0, 2, result);
}

static void what_cannot_be_upgraded_is_refused(void **state)
{
    (void)state;
    struct model_builder b;
    begin(&b, 18, "1x2x2");
    builder_node(&b, "GroupNormalization", "x,x,x", "y");
    builder_int(&b, "num_groups", 3);
    builder_refused(&b, COLLAGE_ERROR_SHAPE, "groups do not fit");
    begin(&b, 7, "1x2x2");
    builder_node(&b, "BatchNormalization", "x,x,x,x,x", "y");
    builder_int(&b, "spatial", 0);
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "spatial");
    begin(&b, 7, "1x2x2");
    builder_node(&b, "Clip", "x", "y");
    builder_int(&b, "min", 0);
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "attribute 'min' has the wrong type");
    begin(&b, 13, "4");
    builder_node(&b, "Split", "x", "a,y");
    builder_int(&b, "num_outputs", 2);
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "newer opset");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_flattens),
        cmocka_unit_test(clip_takes_inputs),
        cmocka_unit_test(axes_become_inputs),
        cmocka_unit_test(split_parts),
        cmocka_unit_test(slice_and_pad_take_inputs),
        cmocka_unit_test(upsample_is_resize),
        cmocka_unit_test(normalisation_and_dropout),
        cmocka_unit_test(constants_of_all_kinds),
        cmocka_unit_test(what_cannot_be_upgraded_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
