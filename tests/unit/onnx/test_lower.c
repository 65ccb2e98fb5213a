/* SPDX-License-Identifier: Apache-2.0 */
/* What is written in another form for graph-level libraries: which operators the exported model
 * has, and that it computes the same. */
#include "unit/onnx/model_builder.h"
#include "unit/onnx/run_graph.h"

#include "graph/graph_text.h"
#include "graph/subgraph.h"

#define V  "float32[1x2x3x3]"
#define IN "graph \"g\" { input %x: " V " input %z: " V " "
#define CHANNELS                                                                                   \
    "const %s: float32[1x2x1x1] = {1.5, -0.5} const %t: float32[2x1x1] = {0.25, 2.0} "             \
    "const %wide: float32[1x1x1x3] = {1.0, 2.0, 3.0} "

static struct graph *parse_text(const char *text)
{
    struct graph *graph;
    struct error error = { 0 };
    if (graph_parse(text, &graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return graph;
}

static const collage_subgraph *whole(struct arena *arena, const struct graph *graph)
{
    struct graph_uses uses;
    struct region region;
    const collage_subgraph *subgraph;
    node_id nodes[8];
    assert_true(graph->node_count <= 8);
    for (node_id n = 0; n < graph->node_count; n++)
        nodes[n] = n;
    assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
    assert_int_equal(
        region_make(arena, graph, &uses, nodes, (uint32_t)graph->node_count, &region, NULL),
        COLLAGE_OK);
    assert_int_equal(subgraph_make(arena, graph, &region, &subgraph, NULL), COLLAGE_OK);
    graph_uses_free(&uses);
    return subgraph;
}

static void check_operators(const struct graph *graph, const char *operators)
{
    char found[200] = "";
    size_t length = 0;
    for (node_id n = 0; n < graph->node_count; n++)
        length += (size_t)snprintf(found + length, sizeof found - length, "%s%s", n ? " " : "",
                                   graph->nodes[n].op->name);
    assert_true(length < sizeof found);
    assert_string_equal(found, operators);
}

static void check_values(struct graph *a, struct graph *b)
{
    struct error error = { 0 };
    assert_true(run_fill_inputs(a) && run_fill_inputs(b));
    if (run_graph(a, &error) != COLLAGE_OK || run_graph(b, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(a->output_count, b->output_count);
    for (uint32_t k = 0; k < a->output_count; k++) {
        const struct value *x = &a->values[a->outputs[k]], *y = &b->values[b->outputs[k]];
        assert_string_equal(x->name, y->name);
        assert_true(tensor_same_shape(&x->tensor, &y->tensor));
        assert_true(tensor_compare(&x->tensor, &y->tensor).error <= 1e-6);
    }
}

static void check(const char *text, const char *operators)
{
    struct arena *arena = arena_create();
    struct graph *graph = parse_text(text), *again;
    struct error error = { 0 };
    collage_message message = { "" };
    void *bytes;
    size_t count;
    if (onnx_export(whole(arena, graph), UINT64_MAX, &bytes, &count, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    if (onnx_import_bytes(bytes, count, NULL, NULL, 0, &again, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    check_operators(again, operators);
    check_values(graph, again);
    graph_destroy(again);
    memory_free(bytes);
    arena_destroy(arena);
    graph_destroy(graph);
}

static void swish_is_spelt_out(void **state)
{
    (void)state;
    check(IN "%y: " V " = Swish(%x) output %y }", "Sigmoid Mul");
    check(IN "%y: " V " = Swish(%x) {alpha = 1.5} output %y }", "Mul Sigmoid Mul");
    /* a name that the export would give is taken */
    check(IN "%y/lowered.0: " V " = Neg(%x) %y: " V " = Swish(%y/lowered.0) output %y }",
          "Neg Sigmoid Mul");
}

static void mul_and_add_for_each_channel_are_a_normalization(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "%m: " V " = Mul(%x, %s) %y: " V " = Add(%m, %t) output %y }",
        "%m: " V " = Mul(%t, %x) %y: " V " = Add(%s, %m) output %y }",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        char text[600];
        snprintf(text, sizeof text, "%s%s%s", IN, CHANNELS, bodies[k]);
        check(text, "BatchNormalization");
    }
}

static void other_products_and_sums_stay(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        /* not for each channel */
        "%m: " V " = Mul(%x, %wide) %y: " V " = Add(%m, %t) output %y }",
        "%m: " V " = Mul(%x, %s) %y: " V " = Add(%m, %wide) output %y }",
        "%m: " V " = Mul(%x, %z) %y: " V " = Add(%m, %t) output %y }",
        "%m: " V " = Mul(%x, %s) %y: " V " = Add(%m, %z) output %y }",
        /* the product is an output; both operands of the sum are it */
        "%m: " V " = Mul(%x, %s) %y: " V " = Add(%m, %t) output %m output %y }",
        "%m: " V " = Mul(%x, %s) %y: " V " = Add(%m, %m) output %y }",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        char text[600];
        snprintf(text, sizeof text, "%s%s%s", IN, CHANNELS, bodies[k]);
        check(text, "Mul Add");
    }
    /* a convolution takes them in */
    check(IN CHANNELS "const %w: float32[2x2x1x1] = {1.0, 2.0, 3.0, 4.0} %c: " V " = Conv(%x, %w) "
                      "%m: " V " = Mul(%c, %s) %y: " V " = Add(%m, %t) output %y }",
          "Conv Mul Add");
}

/* The oldest operator set in which everything can be said. */
static void the_operator_set_is_no_newer_than_needed(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int64_t opset;
    } rows[] = {
        { "%y: " V " = Relu(%x) output %y }", 18 },
        { "%y: " V " = AveragePool(%x) {kernel_shape = [1, 1]} output %y }", 18 },
        { "%y: " V " = AveragePool(%x) {kernel_shape = [1, 1], dilations = [2, 2]} output %y }",
          19 },
        { "%y: " V " = Gelu(%x) output %y }", 20 },
        { "const %w: float32[3] = {1.0, 2.0, 3.0} %g: " V " = Gelu(%x) "
          "%y: " V " = RMSNormalization(%g, %w) output %y }",
          23 },
        { "%y: " V " = Swish(%x) output %y }", 18 },
        { "const %p: int64[8] = {0, 0, 0, 0, 0, 0, 0, 0} %y: " V " = Pad(%x, %p) {mode = \"edge\"} "
          "output %y }",
          18 },
        { "const %p: int64[8] = {0, 0, 0, 0, 0, 0, 0, 0} %y: " V " = Pad(%x, %p) {mode = \"wrap\"} "
          "output %y }",
          19 },
        { "%y: bfloat16[1x2x3x3] = Cast(%x) {to = 16} output %y }", 25 },
        { "const %s: float32[] = {0.5} %y: uint8[1x2x3x3] = QuantizeLinear(%x, %s) output %y }",
          18 },
        { "const %s: float32[] = {0.5} const %n: int16[] = {3} "
          "%y: int16[1x2x3x3] = QuantizeLinear(%x, %s, %n) output %y }",
          25 },
        { "const %s: float32[1x2x3x1] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5} %y: uint8[1x2x3x3] = "
          "QuantizeLinear(%x, %s) {axis = 3, block_size = 3} output %y }",
          21 },
        { "const %n: int64[4] = {1, 2, 2, 2} const %t: float32[1x2x3] = {1.0, 0.0, 0.0, 0.0, 1.0, "
          "0.0} %y: float32[1x2x2x2] = AffineGrid(%t, %n) output %y }",
          20 },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct arena *arena = arena_create();
        char text[600];
        void *bytes;
        size_t count;
        Onnx__ModelProto *model;
        collage_message message = { "" };
        snprintf(text, sizeof text, "%s%s", IN, rows[k].body);
        struct graph *graph = parse_text(text);
        assert_int_equal(onnx_export(whole(arena, graph), UINT64_MAX, &bytes, &count, &message),
                         COLLAGE_OK);
        assert_int_equal(message_unpack_model(bytes, count, "exported", &model, NULL), COLLAGE_OK);
        assert_int_equal(model->opset_import[0]->version, rows[k].opset);
        message_free_model(model);
        memory_free(bytes);
        graph_destroy(graph);
        arena_destroy(arena);
    }
}

static void failing_memory_is_an_error(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct graph *graph = parse_text(IN CHANNELS "%m: " V " = Mul(%x, %s) %a: " V " = Add(%m, %t) "
                                                 "%y: " V " = Swish(%a) {alpha = 1.5} output %y }");
    const collage_subgraph *subgraph = whole(arena, graph);
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; status != COLLAGE_OK; n++) {
        void *bytes;
        size_t count;
        collage_message message = { "" };
        memory_fail_after(n);
        status = onnx_export(subgraph, UINT64_MAX, &bytes, &count, &message);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
        assert_true((status == COLLAGE_OK) == (bytes != NULL));
        memory_free(bytes);
    }
    arena_destroy(arena);
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swish_is_spelt_out),
        cmocka_unit_test(mul_and_add_for_each_channel_are_a_normalization),
        cmocka_unit_test(other_products_and_sums_stay),
        cmocka_unit_test(the_operator_set_is_no_newer_than_needed),
        cmocka_unit_test(failing_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
