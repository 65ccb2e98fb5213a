/* SPDX-License-Identifier: Apache-2.0 */
/* If and Loop whose course depends on data: kept whole, run, printed, exported. */
#include "unit/onnx/model_builder.h"
#include "unit/onnx/run_graph.h"

#include "graph/attribute_hash.h"
#include "graph/graph_text.h"
#include "graph/region.h"
#include "graph/subgraph.h"

/* ---- models ---- */

static void begin(struct model_builder *b, const char *shape)
{
    builder_begin(b, 21);
    builder_input(b, "x", COLLAGE_FLOAT32, shape);
    builder_output(b, "y");
}

/* y = c ? x + w : -x, where w is a constant of the branch. */
static struct graph *make_if(void)
{
    struct model_builder b, then, otherwise;
    const float w[] = { 10, 20, 30 };
    begin(&b, "3");
    builder_input(&b, "c", COLLAGE_BOOL, "1");
    builder_begin(&then, 21);
    builder_initializer(&then, "w", COLLAGE_FLOAT32, 3, w);
    builder_node(&then, "Add", "x,w", "r");
    builder_output(&then, "r");
    builder_begin(&otherwise, 21);
    builder_node(&otherwise, "Neg", "x", "r");
    builder_output(&otherwise, "r");
    builder_node(&b, "If", "c", "y");
    builder_body(&b, "then_branch", &then);
    builder_body(&b, "else_branch", &otherwise);
    struct graph *graph = builder_graph(&b);
    builder_end(&then);
    builder_end(&otherwise);
    return graph;
}

/* Doubles x as long as its first element is below 100, and counts; at most `trips` times. */
static struct graph *make_while(void)
{
    struct model_builder b, body;
    const float limit = 100;
    const int64_t zero = 0, none = 0;
    begin(&b, "2");
    builder_input(&b, "trips", COLLAGE_INT64, "");
    builder_output(&b, "count");
    builder_initializer(&b, "none", COLLAGE_INT64, 1, &none);
    builder_begin(&body, 21);
    builder_input(&body, "i", COLLAGE_INT64, "");
    builder_input(&body, "goes_on", COLLAGE_BOOL, "");
    builder_input(&body, "value", COLLAGE_FLOAT32, "2");
    builder_input(&body, "number", COLLAGE_INT64, "1");
    builder_initializer(&body, "limit", COLLAGE_FLOAT32, 1, &limit);
    builder_initializer(&body, "zero", COLLAGE_INT64, 1, &zero);
    builder_node(&body, "Add", "value,value", "next");
    builder_node(&body, "Gather", "next,zero", "first");
    builder_node(&body, "Less", "first,limit", "again");
    builder_node(&body, "Add", "i,number_is", "number_next");
    builder_node(&body, "Sub", "number,i", "before");
    builder_node(&body, "Add", "before,i", "number_is"); /* unsorted on purpose */
    builder_output(&body, "again");
    builder_output(&body, "next");
    builder_output(&body, "number_next");
    builder_node(&b, "Loop", "trips,,x,none", "y,count");
    builder_body(&b, "body", &body);
    struct graph *graph = builder_graph(&b);
    builder_end(&body);
    return graph;
}

/* ---- running ---- */

static void set_input(struct graph *graph, uint32_t k, const void *data)
{
    struct tensor *tensor = &graph->values[graph->inputs[k]].tensor;
    tensor->data = arena_copy(graph->arena, data, (size_t)tensor_bytes(tensor));
}

/* Output 0 of a copy of the graph, by way of its text; so the graph can be run again. */
static void check(const struct graph *graph, const float *x, const void *second, uint32_t count,
                  const float *expected)
{
    struct text text = { 0 };
    struct error error = { 0 };
    struct graph *copy;
    graph_print(graph, &text);
    if (graph_parse(text.bytes, &copy, &error) != COLLAGE_OK)
        fail_msg("%s in\n%s", error.text, text.bytes);
    struct text again = { 0 };
    graph_print(copy, &again);
    assert_string_equal(again.bytes, text.bytes);
    text_free(&again);
    text_free(&text);
    set_input(copy, 0, x);
    set_input(copy, 1, second);
    if (run_graph(copy, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    const struct tensor *y = &copy->values[copy->outputs[0]].tensor;
    assert_int_equal(tensor_elements(y), count);
    for (uint32_t k = 0; k < count; k++)
        assert_float_equal(tensor_get(y, k), expected[k], 0);
    graph_destroy(copy);
}

static void an_if_takes_a_branch(void **state)
{
    (void)state;
    struct graph *graph = make_if();
    const bool yes = true, no = false;
    const float x[] = { 1, 2, 3 };
    assert_int_equal(graph->node_count, 1);
    assert_string_equal(graph->nodes[0].op->name, "If");
    assert_int_equal(graph->nodes[0].base.input_count, 3); /* the condition, x, w */
    check(graph, x, &yes, 3, (const float[]){ 11, 22, 33 });
    check(graph, x, &no, 3, (const float[]){ -1, -2, -3 });
    graph_destroy(graph);
}

static void a_loop_runs_as_long_as_it_says(void **state)
{
    (void)state;
    struct graph *graph = make_while();
    const float x[] = { 1, -3 };
    assert_int_equal(graph->node_count, 1);
    check(graph, x, &(int64_t){ 0 }, 2, x);
    check(graph, x, &(int64_t){ 3 }, 2, (const float[]){ 8, -24 });
    check(graph, x, &(int64_t){ 1000 }, 2, (const float[]){ 128, -384 });
    graph_destroy(graph);
}

/* ---- the model that libraries get ---- */

static struct graph *export_and_import(const struct graph *graph)
{
    struct arena *arena = arena_create();
    struct graph_uses uses;
    struct region region;
    struct error error = { 0 };
    collage_message message = { "" };
    const collage_subgraph *subgraph;
    struct graph *again;
    void *bytes;
    size_t count;
    node_id *nodes = arena_array(arena, graph->node_count, sizeof *nodes);
    for (node_id n = 0; n < graph->node_count; n++)
        nodes[n] = n;
    assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
    assert_int_equal(
        region_make(arena, graph, &uses, nodes, (uint32_t)graph->node_count, &region, NULL),
        COLLAGE_OK);
    assert_int_equal(subgraph_make(arena, graph, &region, &subgraph, NULL), COLLAGE_OK);
    graph_uses_free(&uses);
    if (onnx_export(subgraph, UINT64_MAX, &bytes, &count, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    if (onnx_import_bytes(bytes, count, NULL, NULL, 0, &again, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    memory_free(bytes);
    arena_destroy(arena);
    return again;
}

/* Inputs may come in another order: by name. */
static void order_inputs(struct graph *graph, const char *first)
{
    if (strcmp(graph->values[graph->inputs[0]].name, first) == 0)
        return;
    value_id swapped = graph->inputs[0];
    graph->inputs[0] = graph->inputs[1];
    graph->inputs[1] = swapped;
}

static void exports_are_read_back(void **state)
{
    (void)state;
    const bool yes = true;
    const float x[] = { 1, 2, 3 };
    struct graph *graph = make_if(), *again = export_and_import(graph);
    order_inputs(again, "x");
    check(again, x, &yes, 3, (const float[]){ 11, 22, 33 });
    graph_destroy(again);
    graph_destroy(graph);
    graph = make_while();
    again = export_and_import(graph);
    order_inputs(again, "x");
    check(again, x, &(int64_t){ 4 }, 2, (const float[]){ 16, 32 });
    graph_destroy(again);
    graph_destroy(graph);
}

/* ---- nested ---- */

/* y = x, three times: if i is even, plus the outer w, else what an inner loop of one iteration
 * makes. */
static void bodies_nest(void **state)
{
    (void)state;
    struct model_builder b, body, even, odd, inner;
    const int64_t two = 2;
    const float w = 5;
    begin(&b, "2");
    builder_input(&b, "trips", COLLAGE_INT64, "");
    builder_initializer(&b, "two", COLLAGE_INT64, 1, &two);
    builder_initializer(&b, "w", COLLAGE_FLOAT32, 1, &w);
    builder_begin(&even, 21);
    builder_node(&even, "Add", "value,w", "r");
    builder_output(&even, "r");
    builder_begin(&inner, 21);
    builder_input(&inner, "j", COLLAGE_INT64, "");
    builder_input(&inner, "inner_on", COLLAGE_BOOL, "");
    builder_input(&inner, "carried", COLLAGE_FLOAT32, "2");
    builder_node(&inner, "Mul", "carried,w", "made");
    builder_node(&inner, "Not", "goes_on", "stop"); /* of the outer body */
    builder_output(&inner, "stop");
    builder_output(&inner, "made");
    builder_begin(&odd, 21);
    builder_node(&odd, "Loop", "i,,value", "r"); /* i times, but for the condition */
    builder_body(&odd, "body", &inner);
    builder_output(&odd, "r");
    builder_begin(&body, 21);
    builder_input(&body, "i", COLLAGE_INT64, "");
    builder_input(&body, "goes_on", COLLAGE_BOOL, "");
    builder_input(&body, "value", COLLAGE_FLOAT32, "2");
    builder_node(&body, "Mod", "i,two", "rest");
    builder_node(&body, "Cast", "rest", "is_odd");
    builder_int(&body, "to", COLLAGE_BOOL);
    builder_node(&body, "If", "is_odd", "next");
    builder_body(&body, "then_branch", &odd);
    builder_body(&body, "else_branch", &even);
    builder_output(&body, "goes_on");
    builder_output(&body, "next");
    builder_node(&b, "Loop", "trips,,x", "y");
    builder_body(&b, "body", &body);
    struct graph *graph = builder_graph(&b);
    builder_end(&body);
    builder_end(&even);
    builder_end(&odd);
    builder_end(&inner);
    const float x[] = { 1, -1 };
    check(graph, x, &(int64_t){ 3 }, 2, (const float[]){ 35, 25 }); /* (x + 5) * 5 + 5 */
    struct graph *again = export_and_import(graph);
    order_inputs(again, "x");
    check(again, x, &(int64_t){ 3 }, 2, (const float[]){ 35, 25 });
    graph_destroy(again);
    graph_destroy(graph);
}

/* ---- what is refused ---- */

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct model_builder b, then, otherwise, body;
    begin(&b, "3");
    builder_input(&b, "c", COLLAGE_BOOL, "1");
    builder_begin(&then, 21);
    builder_node(&then, "ReduceMax", "x", "r");
    builder_output(&then, "r");
    builder_begin(&otherwise, 21);
    builder_node(&otherwise, "Neg", "x", "r");
    builder_output(&otherwise, "r");
    builder_node(&b, "If", "c", "y");
    builder_body(&b, "then_branch", &then);
    builder_body(&b, "else_branch", &otherwise);
    builder_refused(&b, COLLAGE_ERROR_SHAPE, "output 0 of different types or shapes");
    builder_end(&then);
    begin(&b, "3");
    builder_input(&b, "c", COLLAGE_FLOAT32, "1");
    builder_node(&b, "If", "c", "y");
    builder_body(&b, "then_branch", &otherwise);
    builder_body(&b, "else_branch", &otherwise);
    builder_refused(&b, COLLAGE_ERROR_SHAPE, "must be one bool");
    builder_end(&otherwise);
    /* A value that grows with each iteration. */
    begin(&b, "3");
    builder_input(&b, "trips", COLLAGE_INT64, "1");
    builder_begin(&body, 21);
    builder_input(&body, "i", COLLAGE_INT64, "");
    builder_input(&body, "goes_on", COLLAGE_BOOL, "");
    builder_input(&body, "value", COLLAGE_FLOAT32, "3");
    builder_node(&body, "Concat", "value,x", "next");
    builder_int(&body, "axis", 0);
    builder_output(&body, "goes_on");
    builder_output(&body, "next");
    builder_node(&b, "Loop", "trips,,x", "y");
    builder_body(&b, "body", &body);
    builder_refused(&b, COLLAGE_ERROR_SHAPE, "changes its type or its shape");
    builder_end(&body);
}

/* y = 2 x as long as "trips" says; "all" would collect each of them. */
static void begin_collecting(struct model_builder *b, struct model_builder *body,
                             const char *outputs)
{
    builder_begin(b, 21);
    builder_input(b, "x", COLLAGE_FLOAT32, "3");
    builder_input(b, "trips", COLLAGE_INT64, "");
    builder_begin(body, 21);
    builder_input(body, "i", COLLAGE_INT64, "");
    builder_input(body, "goes_on", COLLAGE_BOOL, "");
    builder_input(body, "value", COLLAGE_FLOAT32, "3");
    builder_node(body, "Add", "value,value", "next");
    builder_output(body, "goes_on");
    builder_output(body, "next");
    builder_output(body, "next");
    builder_node(b, "Loop", "trips,,x", outputs);
    builder_body(b, "body", body);
}

static void what_is_collected_may_be_left_alone(void **state)
{
    (void)state;
    struct model_builder b, body;
    const float x[] = { 1, 2, 3 };
    begin_collecting(&b, &body, "y,all");
    builder_output(&b, "y");
    struct graph *graph = builder_graph(&b);
    builder_end(&body);
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph->nodes[0].base.output_count, 1);
    check(graph, x, &(int64_t){ 3 }, 3, (const float[]){ 8, 16, 24 });
    graph_destroy(graph);
    begin_collecting(&b, &body, ",all"); /* nothing of it is used: it goes */
    builder_node(&b, "Neg", "x", "y");
    builder_output(&b, "y");
    graph = builder_graph(&b);
    builder_end(&body);
    assert_int_equal(graph->node_count, 1);
    assert_string_equal(graph->nodes[0].op->name, "Neg");
    graph_destroy(graph);
}

static void what_is_collected_has_no_shape(void **state)
{
    (void)state;
    struct model_builder b, body, then;
    begin_collecting(&b, &body, "y,all");
    builder_output(&b, "all");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED,
                    "the model's output 'all' is collected by the Loop 'the_Loop': how often that "
                    "runs depends on data");
    builder_end(&body);
    begin_collecting(&b, &body, "last,all");
    builder_node(&b, "Neg", "all", "y");
    builder_output(&b, "y");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED,
                    "node 'the_Neg' (Neg): input 'all' is collected by the Loop 'the_Loop'");
    builder_end(&body);
    begin_collecting(&b, &body, "last,all"); /* in a body of another node */
    const bool yes = true;
    builder_initializer(&b, "yes", COLLAGE_BOOL, 1, &yes);
    builder_begin(&then, 21);
    builder_node(&then, "Neg", "all", "r");
    builder_output(&then, "r");
    builder_node(&b, "If", "yes", "y");
    builder_body(&b, "then_branch", &then);
    builder_output(&b, "y");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "is collected by the Loop 'the_Loop'");
    builder_end(&then);
    builder_end(&body);
}

static void bad_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *attributes, *message;
    } table[] = {
        { "then_branch = {input %a: float32[3] output %a}", "no sub-graph 'else_branch'" },
        { "then_branch = {output %a}", "a value that is defined before" },
        { "then_branch = {input %a: float32[3]}", "expected an output" },
        { "then_branch = {const %k: float32[] = {1.0} output %k}", "a body takes it as an input" },
        { "then_branch = {input %a: float32[3] output %a}, "
          "else_branch = {input %a: float32[4] output %a}",
          "would be float32 3" },
        { "then_branch = {input %a: float32[3] output %a}, "
          "else_branch = {input %a: float32[3] %b: float32[4] = Neg(%a) output %b}",
          "would be float32 3" },
        { "then_branch = {input %a: float32[3] output %a}, "
          "else_branch = {output %b}",
          "a value that is defined before" },
        { "then_branch = {input %a: float32[3] output %a}, "
          "else_branch = {input %a: float32[3] input %b: float32[3] output %a}",
          "does not fit" },
        { "then_branch = {input %a: float32[3] output %a}, else_branch = 1", "wrong type" },
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct error error = { 0 };
        struct graph *graph;
        char text[512];
        snprintf(text, sizeof text,
                 "graph \"g\" { input %%c: bool[] input %%x: float32[3] "
                 "%%y: float32[3] = If(%%c, %%x) {%s} output %%y }",
                 table[k].attributes);
        if (graph_parse(text, &graph, &error) == COLLAGE_OK)
            fail_msg("row %zu was taken", k);
        if (!strstr(error.text, table[k].message))
            fail_msg("row %zu: %s", k, error.text);
    }
}

static void different_bodies_differ(void **state)
{
    (void)state;
    struct graph *a = make_if(), *b = make_if();
    assert_true(attribute_all_equal(&a->nodes[0].base, &b->nodes[0].base));
    assert_true(hash_equal(graph_hash(a), graph_hash(b)));
    /* The names of attributes stay, what they hold is exchanged. */
    collage_attribute *attributes = (collage_attribute *)(uintptr_t)b->nodes[0].base.attributes;
    const collage_subgraph *body = attributes[0].graph;
    attributes[0].graph = attributes[1].graph;
    attributes[1].graph = body;
    assert_false(attribute_all_equal(&a->nodes[0].base, &b->nodes[0].base));
    assert_false(hash_equal(graph_hash(a), graph_hash(b)));
    graph_destroy(a);
    graph_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_if_takes_a_branch),
        cmocka_unit_test(a_loop_runs_as_long_as_it_says),
        cmocka_unit_test(exports_are_read_back),
        cmocka_unit_test(bodies_nest),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(what_is_collected_may_be_left_alone),
        cmocka_unit_test(what_is_collected_has_no_shape),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(different_bodies_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
