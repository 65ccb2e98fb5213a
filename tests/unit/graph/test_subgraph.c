/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/graph/parse.h"

#include "canon/canon.h"
#include "graph/subgraph.h"
#include "graph/verify.h"

/* The sub-graph of all nodes of a text. The graph must outlive it. */
struct whole {
    struct graph *graph;
    struct arena *arena;
    const collage_subgraph *subgraph;
};

static struct whole make_whole_of(struct graph *graph)
{
    struct whole whole = { graph, arena_create(), NULL };
    struct graph_uses uses;
    struct region region;
    node_id nodes[16];
    assert_true(whole.graph->node_count <= 16);
    for (node_id n = 0; n < whole.graph->node_count; n++)
        nodes[n] = n;
    assert_int_equal(graph_uses_build(whole.graph, &uses, NULL), COLLAGE_OK);
    assert_int_equal(region_make(whole.arena, whole.graph, &uses, nodes,
                                 (uint32_t)whole.graph->node_count, &region, NULL),
                     COLLAGE_OK);
    assert_int_equal(subgraph_make(whole.arena, whole.graph, &region, &whole.subgraph, NULL),
                     COLLAGE_OK);
    graph_uses_free(&uses);
    return whole;
}

static struct whole make_whole(const char *text)
{
    return make_whole_of(parse(text));
}

/* The same, after canonicalisation. */
static struct whole make_canonical(const char *text)
{
    struct graph *graph = parse(text);
    struct error error = { 0 };
    if (canon_run(graph, &error) != COLLAGE_OK || graph_verify(graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return make_whole_of(graph);
}

static void free_whole(struct whole *whole)
{
    arena_destroy(whole->arena);
    graph_destroy(whole->graph);
}

static struct hash hash_of_text(const char *text)
{
    struct whole whole = make_whole(text);
    struct hash hash = subgraph_hash(whole.subgraph);
    free_whole(&whole);
    return hash;
}

static const char conv[] =
    "graph \"g\" { input %x: float32[1x2x4x4] const %w: float32[2x2x1x1] = {1.0, 2.0, 3.0, 4.0}\n"
    "%y: float32[1x2x4x4] = Conv(%x, %w, _) {group = 1, pads = [0, 0, 0, 0]} \"c\"\n"
    "%z: float32[1x2x4x4] = Relu(%y) output %z }";

static void shows_the_region(void **state)
{
    (void)state;
    struct whole whole = make_whole(conv);
    const collage_subgraph *s = whole.subgraph;
    assert_int_equal(s->struct_size, sizeof *s);
    assert_int_equal(s->value_count, 4);
    assert_int_equal(s->input_count, 1);
    assert_int_equal(s->output_count, 1);
    assert_string_equal(s->values[s->inputs[0]]->name, "x");
    assert_string_equal(s->values[s->outputs[0]]->name, "z");
    const collage_node *node = s->nodes[0];
    assert_string_equal(node->op_type, "Conv");
    assert_int_equal(node->inputs[2], COLLAGE_NO_VALUE);
    const collage_value *w = s->values[node->inputs[1]];
    assert_ptr_equal(w->data, whole.graph->values[graph_find_value(whole.graph, "w")].tensor.data);
    assert_int_equal(w->bytes, 16);
    assert_true(w->share_key != 0);
    assert_null(s->values[s->inputs[0]]->data);
    assert_int_equal(node->outputs[0], s->nodes[1]->inputs[0]);
    char text[32];
    subgraph_describe(s, text, sizeof text);
    assert_string_equal(text, "Conv+Relu");
    subgraph_describe(s, text, 4);
    assert_string_equal(text, "Con");
    free_whole(&whole);
}

static void hash_ignores_names_and_order_of_attributes(void **state)
{
    (void)state;
    struct hash hash = hash_of_text(conv);
    assert_true(hash_equal(
        hash, hash_of_text("graph \"other\" { input %q: float32[1x2x4x4] "
                           "const %k: float32[2x2x1x1] = {1.0, 2.0, 3.0, 4.0}\n"
                           "%r: float32[1x2x4x4] = Conv(%q, %k, _) {pads = [0, 0, 0, 0], group = 1}"
                           "%s: float32[1x2x4x4] = Relu(%r) \"named\" output %s }")));
}

static void hash_sees_what_matters(void **state)
{
    (void)state;
    static const char *const others[] = {
        /* an attribute */
        "graph \"g\" { input %x: float32[1x2x4x4] const %w: float32[2x2x1x1] = {1.0, 2.0, 3.0, 4.0}"
        "%y: float32[1x2x4x4] = Conv(%x, %w, _) {group = 1, auto_pad = \"VALID\"}"
        "%z: float32[1x2x4x4] = Relu(%y) output %z }",
        /* a shape */
        "graph \"g\" { input %x: float32[1x2x4x5] const %w: float32[2x2x1x1] = {1.0, 2.0, 3.0, 4.0}"
        "%y: float32[1x2x4x5] = Conv(%x, %w, _) {group = 1, pads = [0, 0, 0, 0]}"
        "%z: float32[1x2x4x5] = Relu(%y) output %z }",
        /* the contents of a small constant */
        "graph \"g\" { input %x: float32[1x2x4x4] const %w: float32[2x2x1x1] = {1.0, 2.0, 3.0, 5.0}"
        "%y: float32[1x2x4x4] = Conv(%x, %w, _) {group = 1, pads = [0, 0, 0, 0]}"
        "%z: float32[1x2x4x4] = Relu(%y) output %z }",
        /* weights that are no constant */
        "graph \"g\" { input %x: float32[1x2x4x4] input %w: float32[2x2x1x1]"
        "%y: float32[1x2x4x4] = Conv(%x, %w, _) {group = 1, pads = [0, 0, 0, 0]}"
        "%z: float32[1x2x4x4] = Relu(%y) output %z }",
        /* an operator */
        "graph \"g\" { input %x: float32[1x2x4x4] const %w: float32[2x2x1x1] = {1.0, 2.0, 3.0, 4.0}"
        "%y: float32[1x2x4x4] = Conv(%x, %w, _) {group = 1, pads = [0, 0, 0, 0]}"
        "%z: float32[1x2x4x4] = Tanh(%y) output %z }",
        /* what is an output */
        "graph \"g\" { input %x: float32[1x2x4x4] const %w: float32[2x2x1x1] = {1.0, 2.0, 3.0, 4.0}"
        "%y: float32[1x2x4x4] = Conv(%x, %w, _) {group = 1, pads = [0, 0, 0, 0]}"
        "%z: float32[1x2x4x4] = Relu(%y) output %y output %z }",
    };
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (hash_equal(hash_of_text(conv), hash_of_text(others[k])))
            fail_msg("variant %zu has the same hash", k);
}

static void hash_ignores_large_weights(void **state)
{
    (void)state;
    static const char form[] =
        "graph \"g\" { input %%x: float32[1x100] const %%w: float32[100x2] = #%032d"
        "%%y: float32[1x2] = MatMul(%%x, %%w) output %%y }";
    char one[256], two[256];
    snprintf(one, sizeof one, form, 1);
    snprintf(two, sizeof two, form, 2);
    assert_true(hash_equal(hash_of_text(one), hash_of_text(two)));
}

/* ---- constants that were dequantized ---- */

#define QUANTIZED                                                                                  \
    "graph \"g\" { input %x: uint8[1x2] const %s: float32[] = {0.5} "                              \
    "const %w: int8[2x3] = {1, -2, 3, -4, 5, -6} const %t: float32[3] = {0.25, 0.5, 2.0} "         \
    "%a: float32[1x2] = DequantizeLinear(%x, %s) "                                                 \
    "%f: float32[2x3] = DequantizeLinear(%w, %t) {axis = 1} "

/* The constant that the last node reads as that input. */
static const collage_value *last_input(const struct whole *whole, uint32_t input)
{
    const collage_subgraph *s = whole->subgraph;
    const collage_value *value = s->values[s->nodes[s->node_count - 1]->inputs[input]];
    assert_non_null(value->data);
    return value;
}

static void shows_integers_beside_quantized_activations(void **state)
{
    (void)state;
    struct whole whole = make_canonical(QUANTIZED "%y: float32[1x3] = MatMul(%a, %f) output %y }");
    const collage_subgraph *s = whole.subgraph;
    assert_int_equal(s->node_count, 2);
    const collage_value *f = last_input(&whole, 1);
    float second;
    memcpy(&second, (const char *)f->data + sizeof second, sizeof second);
    assert_true(second == -1.0f);
    const collage_dequantized *from = f->dequantized;
    assert_non_null(from);
    assert_string_equal(s->values[from->integers]->name, "w");
    assert_string_equal(s->values[from->scale]->name, "t");
    assert_int_equal(from->zero, COLLAGE_NO_VALUE);
    assert_int_equal(from->axis, 1);
    assert_int_equal(from->block_size, 0);
    assert_null(s->values[from->integers]->dequantized);
    free_whole(&whole);
}

static void shows_no_integers_elsewhere(void **state)
{
    (void)state;
    static const char *const texts[] = {
        /* beside float32 */
        QUANTIZED "input %z: float32[1x2] %y: float32[1x3] = MatMul(%z, %f) output %y output %a }",
        /* dequantized outside of the node's reach */
        QUANTIZED "%r: float32[1x2] = Relu(%a) %y: float32[1x3] = MatMul(%r, %f) output %y }",
        /* a bias of another scale than the products */
        QUANTIZED "const %b: int32[3] = {7, 8, 9} const %u: float32[3] = {0.125, 0.25, 0.5} "
                  "%g: float32[3] = DequantizeLinear(%b, %u) "
                  "%y: float32[1x3] = Gemm(%a, %f, %g) output %y }",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct whole whole = make_canonical(texts[k]);
        const collage_node *last = whole.subgraph->nodes[whole.subgraph->node_count - 1];
        if (last_input(&whole, last->input_count - 1)->dequantized)
            fail_msg("integers are shown in text %zu", k);
        free_whole(&whole);
    }
}

static void shows_a_bias_of_the_products(void **state)
{
    (void)state;
    struct whole whole = make_canonical(
        QUANTIZED "const %b: int32[3] = {7, 8, 9} const %u: float32[3] = {0.125, 0.25, 1.0} "
                  "%g: float32[3] = DequantizeLinear(%b, %u) "
                  "%y: float32[1x3] = Gemm(%a, %f, %g) output %y }");
    const collage_dequantized *from = last_input(&whole, 2)->dequantized;
    assert_non_null(from);
    assert_int_equal(from->axis, 0); /* a vector has one axis */
    assert_string_equal(whole.subgraph->values[from->integers]->name, "b");
    assert_non_null(last_input(&whole, 1)->dequantized);
    free_whole(&whole);
}

static void integers_are_transposed_with_their_weights(void **state)
{
    (void)state;
    static const int8_t turned[] = { 1, -4, -2, 5, 3, -6 };
    struct whole whole =
        make_canonical("graph \"g\" { input %x: uint8[1x3] const %s: float32[] = {0.5} "
                       "const %w: int8[2x3] = {1, -2, 3, -4, 5, -6} "
                       "const %t: float32[2] = {0.25, 0.5} const %z: int8[2] = {1, 0}"
                       "%a: float32[1x3] = DequantizeLinear(%x, %s) "
                       "%f: float32[2x3] = DequantizeLinear(%w, %t, %z) {axis = 0} "
                       "%h: float32[3x2] = Transpose(%f) {perm = [1, 0]} "
                       "%y: float32[1x2] = MatMul(%a, %h) output %y }");
    const collage_dequantized *from = last_input(&whole, 1)->dequantized;
    assert_non_null(from);
    const collage_value *integers = whole.subgraph->values[from->integers];
    assert_int_equal(integers->dims[0], 3);
    assert_memory_equal(integers->data, turned, sizeof turned);
    assert_int_equal(from->axis, 1);
    assert_string_equal(whole.subgraph->values[from->zero]->name, "z");
    free_whole(&whole);
}

static struct hash hash_of_quantized(const char *zero, const char *scale, const char *weights)
{
    char text[600];
    snprintf(text, sizeof text,
             "graph \"g\" { input %%x: uint8[1x2] const %%s: float32[] = {%s} "
             "const %%z: uint8[] = {%s} const %%w: int8[2x3] = {%s} const %%t: float32[] = {%s} "
             "%%a: float32[1x2] = DequantizeLinear(%%x, %%s, %%z) "
             "%%f: float32[2x3] = DequantizeLinear(%%w, %%t) "
             "%%y: float32[1x3] = MatMul(%%a, %%f) output %%y }",
             scale, zero, weights, scale);
    struct whole whole = make_canonical(text);
    struct hash hash = subgraph_hash(whole.subgraph);
    free_whole(&whole);
    return hash;
}

static void hash_ignores_scales_but_not_zero_points(void **state)
{
    (void)state;
    struct hash hash = hash_of_quantized("0", "0.5", "1, 2, 3, 4, 5, 6");
    assert_true(hash_equal(hash, hash_of_quantized("0", "0.25", "1, 2, 3, 4, 5, 7")));
    assert_false(hash_equal(hash, hash_of_quantized("1", "0.5", "1, 2, 3, 4, 5, 6")));
}

static void identity_is_one_node(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct tensor shape = { COLLAGE_FLOAT32, 2, { 3, 5 }, NULL };
    const collage_subgraph *s;
    assert_int_equal(subgraph_make_identity(arena, &shape, &s, NULL), COLLAGE_OK);
    shape.dims[0] = 9; /* not kept by address */
    assert_int_equal(s->node_count, 1);
    assert_string_equal(s->nodes[0]->op_type, "Identity");
    assert_int_equal(s->values[s->inputs[0]]->dims[0], 3);
    assert_int_equal(s->values[s->outputs[0]]->bytes, 60);
    assert_int_not_equal(s->inputs[0], s->outputs[0]);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_the_region),
        cmocka_unit_test(hash_ignores_names_and_order_of_attributes),
        cmocka_unit_test(hash_sees_what_matters),
        cmocka_unit_test(hash_ignores_large_weights),
        cmocka_unit_test(shows_integers_beside_quantized_activations),
        cmocka_unit_test(shows_no_integers_elsewhere),
        cmocka_unit_test(shows_a_bias_of_the_products),
        cmocka_unit_test(integers_are_transposed_with_their_weights),
        cmocka_unit_test(hash_ignores_scales_but_not_zero_points),
        cmocka_unit_test(identity_is_one_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
