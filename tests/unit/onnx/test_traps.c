/* SPDX-License-Identifier: Apache-2.0 */
/* test_traps.c: what is legal in a file and easily taken for something else: defaults of inputs,
 * outputs that are more than outputs, names, where elements are stored, files of
 * times to come. */
#include <math.h>

#include "unit/onnx/model_builder.h"

#include "unit/onnx/computed.h"

static void begin(struct model_builder *b, const char *shape)
{
    builder_begin(b, 17);
    builder_input(b, "x", COLLAGE_FLOAT32, shape);
}

/* ---- initializers that are inputs ---- */

/* y = x * -w, where w is an input of two with a default. */
static collage_status import_default(int64_t ir_version, const collage_shape *shapes, size_t count,
                                     struct graph **graph, struct error *error)
{
    const float defaults[2] = { 3, 4 };
    struct model_builder b;
    begin(&b, "2");
    b.model.ir_version = ir_version;
    builder_input(&b, "w", COLLAGE_FLOAT32, "2");
    builder_initializer(&b, "w", COLLAGE_FLOAT32, 2, defaults);
    builder_output(&b, "y");
    builder_node(&b, "Neg", "w", "n");
    builder_node(&b, "Mul", "x,n", "y");
    collage_status status = builder_import(&b, NULL, shapes, count, graph, error);
    builder_end(&b);
    return status;
}

static void refuse_default(int64_t ir_version, const collage_shape *shape, const char *message)
{
    struct graph *graph;
    struct error error;
    assert_int_equal(import_default(ir_version, shape, 1, &graph, &error), COLLAGE_ERROR_SHAPE);
    if (!strstr(error.text, message))
        fail_msg("'%s' instead of '%s'", error.text, message);
}

static void defaults_are_constants_unless_named(void **state)
{
    (void)state;
    const float x[2] = { 1, 2 }, w[2] = { 5, 6 };
    const collage_shape named = { "w", 1, { 2 } }, wrong = { "w", 1, { 3 } };
    struct graph *graph;
    struct error error;
    for (int64_t ir_version = 3; ir_version <= 10; ir_version++) {
        assert_int_equal(import_default(ir_version, NULL, 0, &graph, &error), COLLAGE_OK);
        assert_int_equal(graph->input_count, 1);
        assert_int_equal(graph->node_count, 1); /* -w is folded */
        feed(graph, 0, x);
        run(graph);
        expect(graph, 0, "y", 2, (const double[]){ -3, -8 });
        graph_destroy(graph);
    }
    for (int64_t ir_version = 4; ir_version <= 10; ir_version++) {
        assert_int_equal(import_default(ir_version, &named, 1, &graph, &error), COLLAGE_OK);
        assert_int_equal(graph->input_count, 2);
        assert_int_equal(graph->node_count, 2); /* it is not */
        feed(graph, 0, x);
        feed(graph, 1, w);
        run(graph);
        expect(graph, 0, "y", 2, (const double[]){ -5, -12 });
        graph_destroy(graph);
    }
    refuse_default(10, &wrong, "dimension 0 is 2 in the model, but 3");
    refuse_default(3, &named, "a shape is given for 'w', but the model's inputs are: x");
}

/* A shape that may be overridden is none that is known. */
static void a_default_that_is_an_input_has_no_contents(void **state)
{
    (void)state;
    const int64_t shape[2] = { 2, 1 };
    const collage_shape named = { "s", 1, { 2 } };
    for (size_t count = 0; count < 2; count++) {
        struct model_builder b;
        struct graph *graph;
        struct error error;
        begin(&b, "2");
        builder_input(&b, "s", COLLAGE_INT64, "2");
        builder_initializer(&b, "s", COLLAGE_INT64, 2, shape);
        builder_output(&b, "y");
        builder_node(&b, "Reshape", "x,s", "y");
        collage_status status = builder_import(&b, NULL, &named, count, &graph, &error);
        builder_end(&b);
        assert_int_equal(status, count ? COLLAGE_ERROR_SHAPE : COLLAGE_OK);
        assert_int_equal(count ? strstr(error.text, "must be constant") != NULL : 1, 1);
        graph_destroy(graph);
    }
    struct model_builder b; /* not listed among the inputs: no default */
    struct graph *graph;
    struct error error;
    begin(&b, "2");
    builder_initializer(&b, "s", COLLAGE_INT64, 2, shape);
    builder_output(&b, "y");
    builder_node(&b, "Reshape", "x,s", "y");
    assert_int_equal(builder_import(&b, NULL, &named, 1, &graph, &error), COLLAGE_ERROR_SHAPE);
    assert_non_null(strstr(error.text, "a shape is given for 's'"));
    builder_end(&b);
}

/* A plan names the shapes of all inputs, also one without elements. */
static void an_empty_shape_may_be_given_where_the_model_has_it(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        collage_status status;
    } models[] = { { "0", COLLAGE_OK },
                   { "N", COLLAGE_ERROR_SHAPE },
                   { "1", COLLAGE_ERROR_SHAPE } };
    const collage_shape none = { "x", 1, { 0 } };
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        struct model_builder b;
        struct graph *graph;
        struct error error;
        begin(&b, models[k].shape);
        builder_output(&b, "y");
        builder_node(&b, "Neg", "x", "y");
        assert_int_equal(builder_import(&b, NULL, &none, 1, &graph, &error), models[k].status);
        graph_destroy(graph);
        builder_end(&b);
    }
}

/* ---- outputs ---- */

static void outputs_may_be_anything(void **state)
{
    (void)state;
    const float numbers[2] = { -1, 2 };
    struct model_builder b;
    begin(&b, "2");
    builder_initializer(&b, "w", COLLAGE_FLOAT32, 2, numbers);
    static const char *const names[] = { "r", "y", "x", "w", "y", "s", "r" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        builder_output(&b, names[k]);
    builder_node(&b, "Relu", "x", "r"); /* read by another node, too */
    builder_node(&b, "Neg", "r", "y");
    builder_node(&b, "Shape", "x", "s"); /* becomes a constant */
    struct graph *graph = builder_graph(&b);
    assert_int_equal(graph->output_count, 7);
    assert_int_equal(graph->outputs[2], graph->inputs[0]);
    assert_true(graph_is_constant(graph, graph->outputs[3]));
    assert_true(graph_is_constant(graph, graph->outputs[5]));
    assert_int_equal(graph->outputs[4], graph->outputs[1]);
    feed(graph, 0, numbers);
    run(graph);
    expect(graph, 0, "r", 2, (const double[]){ 0, 2 });
    expect(graph, 1, "y", 2, (const double[]){ 0, -2 });
    expect(graph, 2, "x", 2, (const double[]){ -1, 2 });
    expect(graph, 3, "w", 2, (const double[]){ -1, 2 });
    expect(graph, 4, "y", 2, (const double[]){ 0, -2 });
    expect(graph, 5, "s", 1, (const double[]){ 2 });
    expect(graph, 6, "r", 2, (const double[]){ 0, 2 });
    graph_destroy(graph);
}

static void outputs_in_the_middle_may_be_left_out(void **state)
{
    (void)state;
    const float ones[2] = { 1, 1 }, x[2] = { 1, 3 };
    struct model_builder b;
    begin(&b, "1x2");
    builder_initializer(&b, "s", COLLAGE_FLOAT32, 2, ones);
    builder_output(&b, "deviation");
    builder_node(&b, "LayerNormalization", "x,s,", "y,,deviation");
    builder_float(&b, "epsilon", 0);
    struct graph *graph = builder_graph(&b);
    assert_int_equal(graph->nodes[0].base.outputs[1], GRAPH_NONE);
    feed(graph, 0, x);
    run(graph);
    expect(graph, 0, "deviation", 1, (const double[]){ 1 });
    graph_destroy(graph);
}

/* ---- order and names ---- */

static void nodes_in_any_order(void **state)
{
    (void)state;
    const float x[2] = { 1, -2 };
    struct model_builder b;
    begin(&b, "2");
    builder_output(&b, "y");
    builder_node(&b, "Sub", "right,left", "y");
    builder_node(&b, "Neg", "middle", "right");
    builder_node(&b, "Relu", "middle", "left");
    builder_node(&b, "Add", "x,x", "middle");
    struct graph *graph = builder_graph(&b);
    feed(graph, 0, x);
    run(graph);
    expect(graph, 0, "y", 2, (const double[]){ -4, 4 });
    graph_destroy(graph);
}

/* Constants that upgrades add are named after the node: here that name is taken in every way. */
static void node_names_need_not_be_names(void **state)
{
    (void)state;
    static const char *const names[] = { "n", "n", "", "", "y" };
    const int64_t first = 0;
    const float x[2] = { 1, 2 };
    struct model_builder b;
    builder_begin(&b, 11);
    builder_input(&b, "x", COLLAGE_FLOAT32, "2");
    builder_initializer(&b, "n.axes", COLLAGE_FLOAT32, 2, x);
    builder_output(&b, "y");
    static const struct {
        const char *op, *inputs, *outputs;
    } nodes[] = { { "Unsqueeze", "x", "a" },
                  { "Squeeze", "a", "n.axes_1" },
                  { "Unsqueeze", "n.axes_1", "b" },
                  { "Squeeze", "b", "c" },
                  { "Mul", "c,n.axes", "y" } };
    for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++) {
        builder_node(&b, nodes[k].op, nodes[k].inputs, nodes[k].outputs)->name =
            arena_string(b.arena, names[k]);
        if (k < 4)
            builder_ints(&b, "axes", 1, &first);
    }
    struct graph *graph = builder_graph(&b);
    feed(graph, 0, x);
    run(graph);
    expect(graph, 0, "y", 2, (const double[]){ 1, 4 });
    graph_destroy(graph);
}

static void value_names_are_unique(void **state)
{
    (void)state;
    const float two[2] = { 1, 2 };
    struct model_builder b;
    begin(&b, "2");
    builder_output(&b, "y");
    builder_initializer(&b, "w", COLLAGE_FLOAT32, 2, two);
    builder_initializer(&b, "w", COLLAGE_FLOAT32, 2, two);
    builder_node(&b, "Add", "x,w", "y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "value 'w' is defined twice");
    begin(&b, "2");
    builder_output(&b, "y");
    builder_initializer(&b, "y", COLLAGE_FLOAT32, 2, two);
    builder_node(&b, "Neg", "x", "y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "value 'y' is defined twice");
    begin(&b, "2");
    builder_output(&b, "y");
    builder_node(&b, "Relu", "z", "x");
    builder_node(&b, "Neg", "x", "y");
    builder_node(&b, "Neg", "y", "z");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "cycle");
    begin(&b, "2");
    builder_output(&b, "y");
    builder_input(&b, "z", COLLAGE_FLOAT32, "2");
    builder_node(&b, "Neg", "z", "x");
    builder_node(&b, "Neg", "x", "y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "value 'x' is defined twice");
    begin(&b, "2");
    builder_output(&b, "y");
    builder_node(&b, "Split", "x", "y,y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "'y' is made by two nodes");
    begin(&b, "2");
    builder_output(&b, "y");
    builder_input(&b, "", COLLAGE_FLOAT32, "2");
    builder_node(&b, "Neg", "x", "y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "an input without a name");
}

/* ---- where elements are stored ---- */

enum field { RAW, INT32_DATA, INT64_DATA, UINT64_DATA, FLOAT_DATA, DOUBLE_DATA };

/* clang-format off */
#define SHORTS(...) (const uint16_t[]){ __VA_ARGS__ }
#define INTS(...) (const int32_t[]){ __VA_ARGS__ }
static const struct stored {
    const char *name;
    collage_dtype dtype;
    enum field field;
    const void *data;
    double values[4];
} stored[] = {
    { "float16", COLLAGE_FLOAT16, RAW, SHORTS(0x3c00, 0xc000, 0x7c00, 0x0001),
      { 1, -2, (double)INFINITY, 0x1p-24 } },
    { "float16 in int32_data", COLLAGE_FLOAT16, INT32_DATA, INTS(0x3c00, 0xc000, 0x7bff, 0x8000),
      { 1, -2, 65504, 0 } },
    { "bfloat16", COLLAGE_BFLOAT16, RAW, SHORTS(0x3f80, 0xc000, 0xff80, 0x4049),
      { 1, -2, -(double)INFINITY, 3.140625 } },
    { "bfloat16 in int32_data", COLLAGE_BFLOAT16, INT32_DATA, INTS(0x3f80, 0xc000, 0x4049, 0x0080),
      { 1, -2, 3.140625, 0x1p-126 } },
    { "int8", COLLAGE_INT8, INT32_DATA, INTS(-128, 127, -1, 0), { -128, 127, -1, 0 } },
    { "uint8", COLLAGE_UINT8, INT32_DATA, INTS(0, 255, 128, 1), { 0, 255, 128, 1 } },
    { "int16", COLLAGE_INT16, INT32_DATA, INTS(-32768, 32767, -1, 0), { -32768, 32767, -1, 0 } },
    { "uint16", COLLAGE_UINT16, INT32_DATA, INTS(0, 65535, 32768, 1), { 0, 65535, 32768, 1 } },
    { "int32", COLLAGE_INT32, INT32_DATA, INTS(INT32_MIN, INT32_MAX, -1, 0),
      { -0x1p31, 0x1p31 - 1, -1, 0 } },
    { "bool", COLLAGE_BOOL, INT32_DATA, INTS(0, 1, 2, 255), { 0, 1, 1, 1 } },
    { "int64", COLLAGE_INT64, INT64_DATA, (const int64_t[]){ INT64_MIN, 1, -1, 0 },
      { -0x1p63, 1, -1, 0 } },
    { "uint32", COLLAGE_UINT32, UINT64_DATA, (const uint64_t[]){ UINT32_MAX, 1, 0x80000000, 0 },
      { 0x1p32 - 1, 1, 0x1p31, 0 } },
    { "uint64", COLLAGE_UINT64, UINT64_DATA, (const uint64_t[]){ UINT64_MAX, 1, 0, 2 },
      { 0x1p64, 1, 0, 2 } },
    { "float32", COLLAGE_FLOAT32, FLOAT_DATA, (const float[]){ 0.5f, -1, INFINITY, 0 },
      { 0.5, -1, (double)INFINITY, 0 } },
    { "float64", COLLAGE_FLOAT64, DOUBLE_DATA, (const double[]){ 0.1, -1, 1e300, 0 },
      { 0.1, -1, 1e300, 0 } },
};
/* clang-format on */

static void store(struct model_builder *b, const struct stored *row)
{
    enum { COUNT = 4 };
    Onnx__TensorProto *w = builder_initializer(b, "w", row->dtype, COUNT, row->data);
    w->has_raw_data = row->field == RAW;
    switch (row->field) {
    case RAW:
        break;
    case INT32_DATA:
        w->n_int32_data = COUNT;
        w->int32_data = arena_copy(b->arena, row->data, COUNT * sizeof(int32_t));
        break;
    case INT64_DATA:
        w->n_int64_data = COUNT;
        w->int64_data = arena_copy(b->arena, row->data, COUNT * sizeof(int64_t));
        break;
    case UINT64_DATA:
        w->n_uint64_data = COUNT;
        w->uint64_data = arena_copy(b->arena, row->data, COUNT * sizeof(uint64_t));
        break;
    case FLOAT_DATA:
        w->n_float_data = COUNT;
        w->float_data = arena_copy(b->arena, row->data, COUNT * sizeof(float));
        break;
    case DOUBLE_DATA:
        w->n_double_data = COUNT;
        w->double_data = arena_copy(b->arena, row->data, COUNT * sizeof(double));
        break;
    }
}

static void elements_are_where_their_type_says(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof stored / sizeof *stored; k++) {
        struct model_builder b;
        begin(&b, "2");
        store(&b, &stored[k]);
        builder_output(&b, "w");
        struct graph *graph = builder_graph(&b);
        const struct tensor *w = tensor_of(graph, graph->outputs[0]);
        assert_int_equal(w->dtype, stored[k].dtype);
        for (int64_t i = 0; i < 4; i++)
            if (tensor_get(w, i) != stored[k].values[i])
                fail_msg("%s: element %lld is %.17g", stored[k].name, (long long)i,
                         tensor_get(w, i));
        graph_destroy(graph);
    }
}

/* A tensor without dimensions is a scalar, one with a dimension of 0 has no elements. */
static void scalars_and_nothing_are_stored(void **state)
{
    (void)state;
    const float number = 5;
    struct model_builder b;
    begin(&b, "2");
    builder_initializer(&b, "scalar", COLLAGE_FLOAT32, 1, &number)->n_dims = 0;
    builder_initializer(&b, "none", COLLAGE_FLOAT32, 0, &number);
    builder_initializer(&b, "nowhere", COLLAGE_FLOAT32, 0, &number)->has_raw_data = false;
    builder_output(&b, "scalar");
    builder_output(&b, "none");
    builder_output(&b, "nowhere");
    struct graph *graph = builder_graph(&b);
    assert_int_equal(tensor_of(graph, graph->outputs[0])->rank, 0);
    assert_int_equal(tensor_of(graph, graph->outputs[1])->rank, 1);
    expect(graph, 0, "scalar", 1, (const double[]){ 5 });
    expect(graph, 1, "none", 0, NULL);
    expect(graph, 2, "nowhere", 0, NULL);
    graph_destroy(graph);
}

/* ---- of times to come ---- */

/* clang-format off */
/* Field 2000, which no message has, in every form that a field can have. */
static const uint8_t unknown_fields[] = {
    0x80, 0x7d, 5,                      /* a number */
    0x81, 0x7d, 1, 2, 3, 4, 5, 6, 7, 8, /* eight bytes */
    0x82, 0x7d, 2, 0xff, 0xff,          /* two bytes behind their number */
    0x85, 0x7d, 1, 2, 3, 4              /* four bytes */
};
/* clang-format on */

static void unknown_things_are_passed_over(void **state)
{
    (void)state;
    const float x[2] = { 1, 2 };
    struct model_builder b;
    struct graph *graph;
    struct error error = { 0 };
    begin(&b, "2");
    b.model.ir_version = 1000;
    builder_output(&b, "y");
    builder_node(&b, "Neg", "x", "y");
    Onnx__OperatorSetIdProto other;
    onnx__operator_set_id_proto__init(&other);
    other.domain = arena_string(b.arena, "com.example");
    other.has_version = true;
    other.version = 77;
    Onnx__OperatorSetIdProto *both[2] = { &other, &b.opset };
    b.model.opset_import = both;
    b.model.n_opset_import = 2;
    Onnx__StringStringEntryProto entry;
    onnx__string_string_entry_proto__init(&entry);
    entry.key = arena_string(b.arena, "example.anything");
    entry.value = arena_string(b.arena, "at all");
    b.properties[b.model.n_metadata_props++] = &entry;
    size_t size = onnx__model_proto__get_packed_size(&b.model);
    uint8_t *bytes = arena_alloc(b.arena, size + sizeof unknown_fields);
    onnx__model_proto__pack(&b.model, bytes);
    memcpy(bytes + size, unknown_fields, sizeof unknown_fields);
    size += sizeof unknown_fields;
    if (onnx_import_bytes(bytes, size, NULL, NULL, 0, &graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_string_equal(graph_property(graph, "example.anything"), "at all");
    feed(graph, 0, x);
    run(graph);
    expect(graph, 0, "y", 2, (const double[]){ -1, -2 });
    graph_destroy(graph);
    b.model.has_ir_version = false;
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "is not an ONNX model");
}

/* What newer versions add to parts of a model: fields, remarks, what another use needs. */
static void unknown_things_may_be_anywhere(void **state)
{
    (void)state;
    const float x[2] = { 1, 2 }, w[2] = { 3, 5 };
    uint8_t number[] = { 5 };
    ProtobufCMessageUnknownField field = { 2000, PROTOBUF_C_WIRE_TYPE_VARINT, 1, number };
    Onnx__StringStringEntryProto entry;
    onnx__string_string_entry_proto__init(&entry);
    struct model_builder b;
    begin(&b, "2");
    b.model.ir_version = 14;
    entry.key = arena_string(b.arena, "example.anything");
    entry.value = arena_string(b.arena, "at all");
    Onnx__StringStringEntryProto *entries[1] = { &entry };
    builder_output(&b, "y");
    Onnx__TensorProto *tensor = builder_initializer(&b, "w", COLLAGE_FLOAT32, 2, w);
    Onnx__NodeProto *node = builder_node(&b, "Mul", "x,w", "y");
    node->doc_string = arena_string(b.arena, "what somebody says of it");
    Onnx__TrainingInfoProto training;
    Onnx__TensorAnnotation annotation;
    onnx__training_info_proto__init(&training);
    onnx__tensor_annotation__init(&annotation);
    annotation.tensor_name = arena_string(b.arena, "w");
    Onnx__TrainingInfoProto *trainings[1] = { &training };
    Onnx__TensorAnnotation *annotations[1] = { &annotation };
    b.model.n_training_info = 1;
    b.model.training_info = trainings;
    b.graph.n_quantization_annotation = 1;
    b.graph.quantization_annotation = annotations;
    b.graph.n_metadata_props = node->n_metadata_props = tensor->n_metadata_props = 1;
    b.graph.metadata_props = node->metadata_props = tensor->metadata_props = entries;
    b.inputs[0]->n_metadata_props = 1;
    b.inputs[0]->metadata_props = entries;
    ProtobufCMessage *const messages[] = {
        &b.graph.base, &node->base, &tensor->base, &b.inputs[0]->base, &b.inputs[0]->type->base,
        &b.opset.base, &entry.base, &training.base
    };
    for (size_t k = 0; k < sizeof messages / sizeof *messages; k++) {
        messages[k]->n_unknown_fields = 1;
        messages[k]->unknown_fields = &field;
    }
    struct graph *graph = builder_graph(&b);
    feed(graph, 0, x);
    run(graph);
    expect(graph, 0, "y", 2, (const double[]){ 3, 10 });
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_constants_unless_named),
        cmocka_unit_test(a_default_that_is_an_input_has_no_contents),
        cmocka_unit_test(an_empty_shape_may_be_given_where_the_model_has_it),
        cmocka_unit_test(outputs_may_be_anything),
        cmocka_unit_test(outputs_in_the_middle_may_be_left_out),
        cmocka_unit_test(nodes_in_any_order),
        cmocka_unit_test(node_names_need_not_be_names),
        cmocka_unit_test(value_names_are_unique),
        cmocka_unit_test(elements_are_where_their_type_says),
        cmocka_unit_test(scalars_and_nothing_are_stored),
        cmocka_unit_test(unknown_things_are_passed_over),
        cmocka_unit_test(unknown_things_may_be_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
