/* SPDX-License-Identifier: Apache-2.0 */
/* What an exported model says (that it is read back whole is in test_networks.c). */
#include "unit/onnx/model_builder.h"

#include "canon/canon.h"
#include "graph/graph_text.h"
#include "graph/subgraph.h"

static const char text[] =
    "graph \"g\" { input %x: float32[1x4] input %c: float32[1] const %w: float32[4x4] = {1.0, 2.0, "
    "3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0} "
    "const %b: float32[1] = {2.0}"
    "%m: float32[1x4] = Gemm(%x, %w, %c) {alpha = 0.5, transB = 1} \"first\""
    "%y: float32[1x4] = Clip(%m, _, %b) output %y }";

struct sample {
    struct graph *graph;
    struct arena *arena;
    collage_subgraph subgraph;
};

/* Of the two nodes of a text, after canonicalisation. */
static struct sample make_sample_of(const char *source)
{
    struct sample sample = { NULL, arena_create(), { 0 } };
    struct graph_uses uses;
    struct region region;
    struct error error = { 0 };
    const collage_subgraph *subgraph;
    const node_id nodes[2] = { 0, 1 };
    if (graph_parse(source, &sample.graph, &error) != COLLAGE_OK ||
        canon_run(sample.graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(sample.graph->node_count, 2);
    assert_int_equal(graph_uses_build(sample.graph, &uses, NULL), COLLAGE_OK);
    assert_int_equal(region_make(sample.arena, sample.graph, &uses, nodes, 2, &region, NULL),
                     COLLAGE_OK);
    assert_int_equal(subgraph_make(sample.arena, sample.graph, &region, &subgraph, NULL),
                     COLLAGE_OK);
    graph_uses_free(&uses);
    sample.subgraph = *subgraph;
    return sample;
}

static struct sample make_sample(void)
{
    return make_sample_of(text);
}

static Onnx__ModelProto *export(const collage_subgraph *subgraph, uint64_t inline_limit)
{
    void *bytes;
    size_t count;
    Onnx__ModelProto *model;
    struct error error = { 0 };
    collage_message message = { "" };
    if (onnx_export(subgraph, inline_limit, &bytes, &count, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    if (message_unpack_model(bytes, count, "exported", &model, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    memory_free(bytes);
    return model;
}

static void large_constants_are_external(void **state)
{
    (void)state;
    struct sample sample = make_sample();
    Onnx__ModelProto *model = export(&sample.subgraph, 16);
    Onnx__GraphProto *graph = model->graph;
    assert_int_equal(model->opset_import[0]->version, 18); /* the oldest that has all */
    assert_int_equal(graph->n_initializer, 2);
    const Onnx__TensorProto *w = graph->initializer[0], *b = graph->initializer[1];
    assert_string_equal(w->name, "w");
    assert_int_equal(w->data_location, ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL);
    assert_false(w->has_raw_data);
    assert_string_equal(w->external_data[0]->key, "location");
    assert_string_equal(w->external_data[0]->value, "collage");
    assert_string_equal(w->external_data[1]->value, "0");
    assert_string_equal(w->external_data[2]->value, "64");
    assert_int_equal(b->raw_data.len, 4);
    assert_int_equal(graph->n_input, 2);
    assert_string_equal(graph->input[0]->name, "x");
    assert_int_equal(graph->input[0]->type->tensor_type->shape->dim[1]->dim_value, 4);
    assert_string_equal(graph->output[0]->name, "y");
    assert_string_equal(graph->node[1]->input[1], "");
    assert_string_equal(graph->node[0]->name, "first");
    assert_int_equal(graph->node[0]->n_attribute, 2);
    message_free_model(model);
    model = export(&sample.subgraph, 0);
    assert_string_equal(model->graph->initializer[1]->external_data[1]->value, "64");
    message_free_model(model);
    model = export(&sample.subgraph, UINT64_MAX);
    assert_int_equal(model->graph->initializer[0]->raw_data.len, 64);
    message_free_model(model);
    arena_destroy(sample.arena);
    graph_destroy(sample.graph);
}

static void node_names_are_unique(void **state)
{
    (void)state;
    struct sample sample = make_sample();
    collage_node second = *sample.subgraph.nodes[1];
    second.name = sample.subgraph.nodes[0]->name;
    const collage_node *nodes[2] = { sample.subgraph.nodes[0], &second };
    sample.subgraph.nodes = nodes;
    Onnx__ModelProto *model = export(&sample.subgraph, UINT64_MAX);
    assert_string_equal(model->graph->node[0]->name, "first");
    assert_string_equal(model->graph->node[1]->name, "");
    message_free_model(model);
    arena_destroy(sample.arena);
    graph_destroy(sample.graph);
}

static void an_input_that_is_an_output_is_copied(void **state)
{
    (void)state;
    struct sample sample = make_sample();
    uint32_t outputs[2] = { sample.subgraph.outputs[0], sample.subgraph.inputs[0] };
    sample.subgraph.outputs = outputs;
    sample.subgraph.output_count = 2;
    Onnx__ModelProto *model = export(&sample.subgraph, UINT64_MAX);
    assert_int_equal(model->graph->n_node, 3);
    assert_string_equal(model->graph->node[2]->op_type, "Identity");
    assert_string_equal(model->graph->node[2]->input[0], "x");
    assert_string_equal(model->graph->output[1]->name, model->graph->node[2]->output[0]);
    assert_string_not_equal(model->graph->output[1]->name, "x");
    message_free_model(model);
    arena_destroy(sample.arena);
    graph_destroy(sample.graph);
}

static const char quantized[] =
    "graph \"g\" { input %x: uint8[1x2] const %s: float32[] = {0.5} "
    "const %w: int8[2x3] = {1, -2, 3, -4, 5, -6} const %t: float32[3] = {0.25, 0.5, 2.0} "
    "%a: float32[1x2] = DequantizeLinear(%x, %s) "
    "%f: float32[2x3] = DequantizeLinear(%w, %t) {axis = 1} "
    "%y: float32[1x3] = MatMul(%a, %f) output %y }";

static const Onnx__TensorProto *find_initializer(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t k = 0; k < graph->n_initializer; k++)
        if (strcmp(graph->initializer[k]->name, name) == 0)
            return graph->initializer[k];
    return NULL;
}

static void what_was_dequantized_is_written_as_integers(void **state)
{
    (void)state;
    struct sample sample = make_sample_of(quantized);
    for (int inlined = 0; inlined < 2; inlined++) {
        Onnx__ModelProto *model = export(&sample.subgraph, inlined ? UINT64_MAX : 0);
        const Onnx__GraphProto *graph = model->graph;
        assert_int_equal(model->opset_import[0]->version, 18);
        assert_int_equal(graph->n_node, 3);
        const Onnx__NodeProto *node = graph->node[0];
        assert_string_equal(node->op_type, "DequantizeLinear");
        assert_int_equal(node->n_input, 2);
        assert_string_equal(node->input[0], "w");
        assert_string_equal(node->input[1], "t");
        assert_string_equal(node->output[0], "f");
        assert_int_equal(node->n_attribute, 1);
        assert_string_equal(node->attribute[0]->name, "axis");
        assert_int_equal(node->attribute[0]->i, 1);
        assert_string_equal(graph->node[2]->input[1], "f");
        assert_int_equal(graph->n_initializer, 3);
        assert_null(find_initializer(graph, "f"));
        const Onnx__TensorProto *w = find_initializer(graph, "w");
        assert_non_null(w);
        assert_int_equal(w->data_type, COLLAGE_INT8);
        assert_int_equal(w->has_raw_data ? w->raw_data.len : 0, inlined ? 6 : 0);
        message_free_model(model);
    }
    arena_destroy(sample.arena);
    graph_destroy(sample.graph);
}

static void check_failing_memory(const char *source)
{
    struct sample sample = make_sample_of(source);
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; status != COLLAGE_OK; n++) {
        void *bytes;
        size_t count;
        collage_message message = { "" };
        memory_fail_after(n);
        status = onnx_export(&sample.subgraph, UINT64_MAX, &bytes, &count, &message);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
        assert_true((status == COLLAGE_OK) == (bytes != NULL));
        memory_free(bytes);
    }
    arena_destroy(sample.arena);
    graph_destroy(sample.graph);
}

static void failing_memory_is_an_error(void **state)
{
    (void)state;
    check_failing_memory(text);
    check_failing_memory(quantized);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_constants_are_external),
        cmocka_unit_test(node_names_are_unique),
        cmocka_unit_test(an_input_that_is_an_output_is_copied),
        cmocka_unit_test(what_was_dequantized_is_written_as_integers),
        cmocka_unit_test(failing_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
