/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and sub-graphs: inlined, unrolled, or refused with the reason. */
#include "unit/onnx/model_builder.h"
#include "unit/onnx/run_graph.h"

static void set_reference(struct model_builder *b, const char *name, const char *of,
                          Onnx__AttributeProto__AttributeType type)
{
    builder_attribute(b, name, type)->ref_attr_name = arena_string(b->arena, of);
}

/* A function of the domain "local" whose nodes are the body's. */
static Onnx__FunctionProto *add_function(struct model_builder *b, struct model_builder *body,
                                         const char *name, const char *inputs, const char *outputs)
{
    Onnx__FunctionProto *function = arena_alloc(b->arena, sizeof *function);
    onnx__function_proto__init(function);
    function->name = arena_string(b->arena, name);
    function->domain = arena_string(b->arena, "local");
    function->input = builder_list(b, inputs, &function->n_input);
    function->output = builder_list(b, outputs, &function->n_output);
    function->node = body->nodes;
    function->n_node = body->graph.n_node;
    function->opset_import = body->opsets;
    function->n_opset_import = 1;
    if (!b->model.functions)
        b->model.functions = arena_array(b->arena, BUILDER_ITEMS, sizeof(void *));
    return b->model.functions[b->model.n_functions++] = function;
}

static void call(struct model_builder *b, const char *function, const char *inputs,
                 const char *outputs)
{
    Onnx__NodeProto *node = builder_node(b, function, inputs, outputs);
    node->domain = arena_string(b->arena, "local");
    node->name = arena_format(b->arena, "call_%s_%zu", function, b->graph.n_node);
}

static void begin(struct model_builder *b, const char *shape)
{
    builder_begin(b, 21);
    builder_input(b, "x", COLLAGE_FLOAT32, shape);
    builder_output(b, "y");
}

/* Runs on x = -1, 0, 1, 2, ...; output 0 has these elements. */
static void check(struct graph *graph, size_t count, const float *expected)
{
    struct error error = { 0 };
    struct tensor *x = &graph->values[graph->inputs[0]].tensor;
    float *data = arena_alloc(graph->arena, (size_t)tensor_bytes(x));
    for (int64_t i = 0; i < tensor_elements(x); i++)
        data[i] = (float)i - 1;
    x->data = data;
    if (run_graph(graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    const struct tensor *y = &graph->values[graph->outputs[0]].tensor;
    assert_int_equal(tensor_elements(y), count);
    for (size_t i = 0; i < count; i++)
        assert_float_equal(tensor_get(y, (int64_t)i), expected[i], 1e-5);
    graph_destroy(graph);
}

/* LeakyRelu(a + b) with the call's slope; a slope of 0.5 by default. */
static void define_leaky(struct model_builder *b, struct model_builder *body)
{
    builder_begin(body, 21);
    builder_node(body, "Add", "a,b", "sum");
    builder_node(body, "LeakyRelu", "sum", "result");
    set_reference(body, "alpha", "slope", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    Onnx__FunctionProto *function = add_function(b, body, "Leaky", "a,b", "result");
    Onnx__AttributeProto *slope = arena_alloc(b->arena, sizeof *slope);
    onnx__attribute_proto__init(slope);
    slope->name = arena_string(b->arena, "slope");
    slope->has_type = slope->has_f = true;
    slope->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    slope->f = 0.5f;
    function->attribute_proto = arena_array(b->arena, 1, sizeof(void *));
    function->attribute_proto[0] = slope;
    function->n_attribute_proto = 1;
}

static void functions_are_inlined(void **state)
{
    (void)state;
    struct model_builder b, body;
    begin(&b, "3");
    define_leaky(&b, &body);
    call(&b, "Leaky", "x,x", "sum"); /* the same name inside and outside */
    builder_float(&b, "slope", 0.25f);
    call(&b, "Leaky", "sum,x", "y"); /* the default */
    struct graph *graph = builder_graph(&b);
    builder_end(&body);
    assert_int_equal(graph->node_count, 4);
    assert_string_equal(graph->values[graph->outputs[0]].name, "y");
    const float expected[] = { -0.75f, 0, 3 };
    check(graph, 3, expected);
}

/* A function may leave an input of its own out, hand an attribute on, and give one value twice. */
static void functions_nest(void **state)
{
    (void)state;
    struct model_builder b, leaky, limit, outer;
    begin(&b, "3");
    builder_output(&b, "z");
    define_leaky(&b, &leaky);
    builder_begin(&limit, 21);
    builder_node(&limit, "Clip", "a,low,high", "c");
    add_function(&b, &limit, "Limit", "a,low,high", "c");
    builder_begin(&outer, 21);
    call(&outer, "Leaky", "a,a", "d");
    set_reference(&outer, "slope", "outer_slope", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    call(&outer, "Limit", "d,,one", "e");
    const float one = 1;
    Onnx__NodeProto *constant = builder_node(&outer, "Constant", "", "one");
    constant->n_input = 0;
    builder_float(&outer, "value_float", one);
    add_function(&b, &outer, "Outer", "a", "e,e");
    call(&b, "Outer", "x", "y,z");
    builder_float(&b, "outer_slope", 2);
    struct graph *graph = builder_graph(&b);
    builder_end(&leaky);
    builder_end(&limit);
    builder_end(&outer);
    assert_string_equal(graph->values[graph->outputs[0]].name, "y");
    assert_string_equal(graph->values[graph->outputs[1]].name, "z");
    const float expected[] = { -4, 0, 1 };
    check(graph, 3, expected);
}

/* Since IR version 10 functions of one name differ by their overloads. */
static void overloads_are_told_apart(void **state)
{
    (void)state;
    struct model_builder b, first, second;
    begin(&b, "3");
    builder_begin(&first, 21);
    builder_node(&first, "Neg", "a", "r");
    add_function(&b, &first, "F", "a", "r");
    builder_begin(&second, 21);
    builder_node(&second, "Add", "a,a", "r");
    add_function(&b, &second, "F", "a", "r")->overload = arena_string(b.arena, "twice");
    call(&b, "F", "x", "m");
    call(&b, "F", "m", "y");
    b.nodes[1]->overload = arena_string(b.arena, "twice");
    const float expected[] = { 2, 0, -2 };
    check(builder_graph(&b), 3, expected);
    builder_end(&first);
    builder_end(&second);
    begin(&b, "3");
    builder_begin(&first, 21);
    builder_node(&first, "Neg", "a", "r");
    add_function(&b, &first, "F", "a", "r");
    call(&b, "F", "x", "y");
    b.nodes[0]->overload = arena_string(b.arena, "other");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "operator 'F'");
    builder_end(&first);
}

static void bad_functions_are_refused(void **state)
{
    (void)state;
    struct model_builder b, body, more;
    begin(&b, "3");
    builder_begin(&body, 21);
    call(&body, "Round", "a", "b");
    add_function(&b, &body, "Round", "a", "b");
    call(&b, "Round", "x", "y");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "nested more than");
    builder_end(&body);
    /* Each level doubles the nodes. */
    begin(&b, "3");
    builder_begin(&more, 21);
    builder_node(&more, "Relu", "a", "b");
    add_function(&b, &more, "F0", "a", "b");
    struct model_builder levels[24];
    for (int k = 0; k < 24; k++) {
        char callee[16], name[16];
        snprintf(callee, sizeof callee, "F%d", k);
        snprintf(name, sizeof name, "F%d", k + 1);
        builder_begin(&levels[k], 21);
        call(&levels[k], callee, "a", "c");
        call(&levels[k], callee, "c", "b");
        add_function(&b, &levels[k], name, "a", "b");
    }
    call(&b, "F24", "x", "y");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "more than 262144 nodes");
    builder_end(&more);
    for (int k = 0; k < 24; k++)
        builder_end(&levels[k]);
    begin(&b, "3");
    builder_begin(&body, 21);
    builder_node(&body, "Relu", "x", "b"); /* of the model, not of the function */
    add_function(&b, &body, "F", "a", "b");
    call(&b, "F", "x", "y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "input 'x' is made by no node");
    builder_end(&body);
}

/* Both branches see the names around them. */
static void branches(struct model_builder *then, struct model_builder *otherwise)
{
    builder_begin(then, 21);
    builder_node(then, "Add", "x,x", "r");
    builder_output(then, "r");
    builder_begin(otherwise, 21);
    builder_node(otherwise, "Neg", "x", "r");
    builder_output(otherwise, "r");
}

static void a_constant_condition_takes_a_branch(void **state)
{
    (void)state;
    const float doubled[] = { -2, 0, 2 }, negated[] = { 1, 0, -1 };
    for (int which = 0; which < 2; which++) {
        struct model_builder b, then, otherwise;
        bool condition = which == 0;
        begin(&b, "3");
        branches(&then, &otherwise);
        builder_initializer(&b, "c", COLLAGE_BOOL, 1, &condition);
        builder_node(&b, "If", "c", "y");
        builder_body(&b, "then_branch", &then);
        builder_body(&b, "else_branch", &otherwise);
        struct graph *graph = builder_graph(&b);
        builder_end(&then);
        builder_end(&otherwise);
        assert_int_equal(graph->node_count, 1);
        check(graph, 3, condition ? doubled : negated);
    }
}

/* value = value + x * iteration; collects each value. */
static void loop_body(struct model_builder *body)
{
    builder_begin(body, 21);
    builder_input(body, "i", COLLAGE_INT64, "");
    builder_input(body, "goes_on", COLLAGE_BOOL, "");
    builder_input(body, "value", COLLAGE_FLOAT32, "2");
    builder_node(body, "Cast", "i", "real");
    builder_int(body, "to", COLLAGE_FLOAT32);
    builder_node(body, "Mul", "x,real", "product");
    builder_node(body, "Add", "value,product", "next");
    builder_output(body, "goes_on");
    builder_output(body, "next");
    builder_output(body, "next");
}

static void loops_are_unrolled(void **state)
{
    (void)state;
    struct model_builder b, body;
    const int64_t trips = 3;
    begin(&b, "2");
    loop_body(&body);
    builder_initializer(&b, "trips", COLLAGE_INT64, 1, &trips);
    builder_node(&b, "Loop", "trips,,x", "last,y");
    builder_body(&b, "body", &body);
    builder_output(&b, "last");
    struct graph *graph = builder_graph(&b);
    builder_end(&body);
    const float expected[] = { -1, 0, -2, 0, -4, 0 };
    check(graph, 6, expected);
    /* No iteration: the initial value. */
    const int64_t none = 0;
    begin(&b, "2");
    loop_body(&body);
    builder_initializer(&b, "trips", COLLAGE_INT64, 1, &none);
    builder_node(&b, "Loop", "trips,,x", "y");
    builder_body(&b, "body", &body);
    graph = builder_graph(&b);
    builder_end(&body);
    const float unchanged[] = { -1, 0 };
    check(graph, 2, unchanged);
    begin(&b, "2"); /* for ever */
    loop_body(&body);
    builder_node(&b, "Loop", ",,x", "y");
    builder_body(&b, "body", &body);
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "more than 10000 iterations");
    builder_end(&body);
}

/* Sums along the second axis, from the end. */
static void scans_are_unrolled(void **state)
{
    (void)state;
    struct model_builder b, body;
    const float zero[2] = { 0, 0 };
    const int64_t one[] = { 1 };
    begin(&b, "2x3");
    builder_initializer(&b, "zero", COLLAGE_FLOAT32, 2, zero);
    builder_begin(&body, 21);
    builder_input(&body, "sum", COLLAGE_FLOAT32, "2");
    builder_input(&body, "column", COLLAGE_FLOAT32, "2");
    builder_node(&body, "Add", "sum,column", "next");
    builder_node(&body, "Identity", "next", "part");
    builder_output(&body, "next");
    builder_output(&body, "part");
    builder_node(&b, "Scan", "zero,x", ",y");
    builder_body(&b, "body", &body);
    builder_int(&b, "num_scan_inputs", 1);
    builder_ints(&b, "scan_input_axes", 1, one);
    builder_ints(&b, "scan_output_axes", 1, one);
    builder_ints(&b, "scan_input_directions", 1, one);
    struct graph *graph = builder_graph(&b);
    builder_end(&body);
    /* x = [-1 0 1; 2 3 4] */
    const float expected[] = { 1, 1, 0, 4, 7, 9 };
    check(graph, 6, expected);
}

/* Scan of opset 8: a batch of two, a sum that is carried, sequences of three from their ends. */
static void begin_old_scan(struct model_builder *b, struct model_builder *body, const char *shape)
{
    const float start[2] = { 10, 20 };
    builder_begin(b, 8);
    builder_input(b, "x", COLLAGE_FLOAT32, shape);
    builder_output(b, "y");
    builder_initializer(b, "start", COLLAGE_FLOAT32, 2, start);
    builder_begin(body, 8);
    builder_input(body, "sum", COLLAGE_FLOAT32, "");
    builder_input(body, "one", COLLAGE_FLOAT32, "");
    builder_node(body, "Add", "sum,one", "next");
    builder_node(body, "Neg", "next", "part");
    builder_output(body, "next");
    builder_output(body, "part");
}

static void end_old_scan(struct model_builder *b, struct model_builder *body, const char *inputs,
                         const char *outputs)
{
    const int64_t backwards = 1;
    builder_node(b, "Scan", inputs, outputs);
    builder_body(b, "body", body);
    builder_int(b, "num_scan_inputs", 1);
    builder_ints(b, "directions", 1, &backwards);
}

static void scans_of_opset_8_have_a_batch(void **state)
{
    (void)state;
    struct model_builder b, body;
    const int64_t whole[2] = { 3, 3 }, parts[2] = { 3, 2 };
    /* x = [-1 0 1; 2 3 4] */
    const float collected[] = { -11, -11, -10, -24, -27, -29 }, sums[] = { 10, 29 };
    begin_old_scan(&b, &body, "2x3");
    end_old_scan(&b, &body, ",start,x", "last,y");
    struct graph *graph = builder_graph(&b);
    const struct tensor *y = &graph->values[graph->outputs[0]].tensor;
    assert_int_equal(y->rank, 2);
    assert_int_equal(y->dims[0], 2);
    assert_int_equal(y->dims[1], 3);
    builder_end(&body);
    check(graph, 6, collected);
    begin_old_scan(&b, &body, "2x3"); /* lengths that say nothing; only the sum is used */
    builder_initializer(&b, "lengths", COLLAGE_INT64, 2, whole);
    end_old_scan(&b, &body, "lengths,start,x", "y,");
    graph = builder_graph(&b);
    builder_end(&body);
    check(graph, 2, sums);
    begin_old_scan(&b, &body, "2x3");
    builder_initializer(&b, "lengths", COLLAGE_INT64, 2, parts);
    end_old_scan(&b, &body, "lengths,start,x", "last,y");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED,
                    "node 'the_Scan' (Scan): its sequences have lengths of their own");
    builder_end(&body);
    begin_old_scan(&b, &body, "2x3");
    builder_input(&b, "lengths", COLLAGE_INT64, "2");
    end_old_scan(&b, &body, "lengths,start,x", "last,y");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "sequence_lens of opset 8");
    builder_end(&body);
}

static void bad_scans_of_opset_8_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *inputs;
        collage_status status;
        const char *message;
    } table[] = {
        { "3x3", ",start,x", COLLAGE_ERROR_SHAPE, "batches of 2 and 3" },
        { "2", ",start,x", COLLAGE_ERROR_SHAPE, "input 2 has too few dimensions" },
        { "2x3", "", COLLAGE_ERROR_FORMAT, "it has no scanned input" },
        { "2x3", ",start", COLLAGE_ERROR_FORMAT, "does not fit its inputs" },
        { "2x3", ",start,", COLLAGE_ERROR_FORMAT, "input 2 is missing" },
        { "2x0", ",start,x", COLLAGE_ERROR_UNSUPPORTED, "outputs of no iteration" },
        { "2x10000", ",start,x", COLLAGE_ERROR_UNSUPPORTED, "more than 10000 iterations" },
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct model_builder b, body;
        begin_old_scan(&b, &body, table[k].shape);
        end_old_scan(&b, &body, table[k].inputs, "last,y");
        builder_refused(&b, table[k].status, table[k].message);
        builder_end(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(functions_nest),
        cmocka_unit_test(overloads_are_told_apart),
        cmocka_unit_test(bad_functions_are_refused),
        cmocka_unit_test(a_constant_condition_takes_a_branch),
        cmocka_unit_test(loops_are_unrolled),
        cmocka_unit_test(scans_are_unrolled),
        cmocka_unit_test(scans_of_opset_8_have_a_batch),
        cmocka_unit_test(bad_scans_of_opset_8_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
