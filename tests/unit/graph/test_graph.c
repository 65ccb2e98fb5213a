/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/graph/parse.h"

#include "graph/verify.h"

static const char diamond[] = "graph \"diamond\" {\n"
                              "  input %x: float32[2x3]\n"
                              "  const %one: float32[1] = {1.0}\n"
                              "  %a: float32[2x3] = Relu(%x) \"a\"\n"
                              "  %b: float32[2x3] = Add(%a, %one) \"b\"\n"
                              "  %c: float32[2x3] = Mul(%a, %a) \"c\"\n"
                              "  %d: float32[2x3] = Sub(%b, %c) \"d\"\n"
                              "  output %d\n"
                              "}\n";

static void compact_keeps_a_sorted_graph(void **state)
{
    (void)state;
    struct graph *graph = parse(diamond);
    struct hash before = graph_hash(graph);
    struct error error = { 0 };
    assert_int_equal(graph_compact(graph, &error), COLLAGE_OK);
    assert_true(hash_equal(before, graph_hash(graph)));
    graph_destroy(graph);
}

static void compact_sorts_and_drops(void **state)
{
    (void)state;
    struct graph *graph = parse(diamond);
    struct error error = { 0 };
    value_id b = graph_find_value(graph, "b");
    value_id a = graph_find_value(graph, "a");
    /* b is made anew by a node at the end; "one" has no use any more */
    graph_remove_node(graph, graph->values[b].producer);
    assert_int_not_equal(graph_add_node(graph, op_find("Neg"), "late", &a, 1, &b, 1, NULL, 0),
                         GRAPH_NONE);
    assert_int_equal(graph_verify(graph, NULL), COLLAGE_ERROR_INTERNAL);
    assert_int_equal(graph_compact(graph, &error), COLLAGE_OK);
    assert_int_equal(graph_verify(graph, &error), COLLAGE_OK);
    assert_int_equal(graph->node_count, 4);
    assert_string_equal(graph->nodes[0].base.name, "a");
    assert_string_equal(graph->nodes[1].base.name, "c");
    assert_string_equal(graph->nodes[2].base.name, "late");
    assert_string_equal(graph->nodes[3].base.name, "d");
    assert_int_equal(graph_find_value(graph, "one"), GRAPH_NONE);
    graph_destroy(graph);
}

static void compact_takes_graphs_without_nodes(void **state)
{
    (void)state;
    struct error error = { 0 };
    static const char *const texts[] = {
        "graph \"through\" {\n  input %x: float32[2]\n  output %x\n}\n",
        "graph \"unused\" {\n"
        "  input %x: float32[2]\n"
        "  const %one: float32[1] = {1.0}\n"
        "  output %x\n"
        "}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct graph *graph = parse(texts[i]);
        assert_int_equal(graph_compact(graph, &error), COLLAGE_OK);
        assert_int_equal(graph->node_count, 0);
        assert_int_equal(graph->value_count, 1);
        assert_int_equal(graph_verify(graph, &error), COLLAGE_OK);
        graph_destroy(graph);
    }
}

static void compact_finds_cycles(void **state)
{
    (void)state;
    struct graph *graph = parse(diamond);
    struct error error = { 0 };
    graph_node_inputs(graph, 0)[0] = graph_find_value(graph, "d");
    assert_int_equal(graph_compact(graph, &error), COLLAGE_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "cycle"));
    graph_destroy(graph);
}

static void uses_are_sorted_and_complete(void **state)
{
    (void)state;
    struct graph *graph = parse(diamond);
    struct graph_uses uses;
    assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
    value_id a = graph_find_value(graph, "a");
    assert_int_equal(uses.first[a + 1] - uses.first[a], 3);
    assert_int_equal(uses.users[uses.first[a]], 1);
    assert_int_equal(uses.users[uses.first[a] + 1], 2);
    assert_int_equal(uses.users[uses.first[a] + 2], 2);
    value_id d = graph_find_value(graph, "d");
    assert_int_equal(uses.first[d + 1] - uses.first[d], 0);
    graph_uses_free(&uses);
    graph_destroy(graph);
}

/* Each breaks one invariant; the verifier must see it. */
static void break_name(struct graph *graph)
{
    graph->values[1].name = graph->values[0].name;
}
static void break_shape(struct graph *graph)
{
    graph->values[graph_find_value(graph, "c")].tensor.dims[1] = 4;
}
static void break_type(struct graph *graph)
{
    graph->values[graph_find_value(graph, "c")].tensor.dtype = COLLAGE_INT64;
}
static void break_order(struct graph *graph)
{
    graph_node_inputs(graph, 1)[0] = graph_find_value(graph, "d");
}
static void break_range(struct graph *graph)
{
    graph_node_inputs(graph, 1)[0] = 1000;
}
static void break_producer(struct graph *graph)
{
    graph->values[graph_find_value(graph, "c")].producer = 0;
}
static void break_constant(struct graph *graph)
{
    graph->values[graph_find_value(graph, "one")].tensor.data = NULL;
}
static void break_output(struct graph *graph)
{
    graph->outputs[0] = 1000;
}
static void break_removed(struct graph *graph)
{
    graph_remove_node(graph, 2);
}
static void break_arity(struct graph *graph)
{
    graph->nodes[1].base.input_count = 1;
}

static void verify_sees_what_is_broken(void **state)
{
    (void)state;
    static void (*const breaks[])(struct graph *) = { break_name,     break_shape,  break_type,
                                                      break_order,    break_range,  break_producer,
                                                      break_constant, break_output, break_removed,
                                                      break_arity };
    for (size_t k = 0; k < sizeof breaks / sizeof *breaks; k++) {
        struct graph *graph = parse(diamond);
        struct error error = { 0 };
        assert_int_equal(graph_verify(graph, &error), COLLAGE_OK);
        breaks[k](graph);
        if (graph_verify(graph, &error) == COLLAGE_OK)
            fail_msg("break %zu was not seen", k);
        graph_destroy(graph);
    }
}

static void hash_tells_graphs_apart(void **state)
{
    (void)state;
    struct graph *one = parse(diamond);
    struct graph *same = parse(diamond);
    struct hash hash = graph_hash(one);
    assert_true(hash_equal(hash, graph_hash(same)));
    *(float *)same->values[graph_find_value(same, "one")].tensor.data = 2;
    assert_false(hash_equal(hash, graph_hash(same)));
    graph_destroy(one);
    graph_destroy(same);
}

static void names_and_edits(void **state)
{
    (void)state;
    struct graph *graph = parse(diamond);
    assert_string_equal(graph_fresh_name(graph, "new"), "new");
    assert_string_equal(graph_fresh_name(graph, "a"), "a_1");
    value_id a = graph_find_value(graph, "a"), x = graph_find_value(graph, "x");
    graph_replace_uses(graph, a, x);
    assert_int_equal(graph->nodes[2].base.inputs[0], x);
    assert_int_equal(graph->nodes[2].base.inputs[1], x);
    assert_true(graph_is_output(graph, graph_find_value(graph, "d")));
    assert_false(graph_is_output(graph, a));
    assert_null(graph_property(graph, "none"));
    graph_destroy(graph);
}

static void building_survives_failing_memory(void **state)
{
    (void)state;
    struct graph *graph = NULL;
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; status != COLLAGE_OK; n++) {
        struct error error = { 0 };
        memory_fail_after(n);
        status = graph_parse(diamond, &graph, &error);
        if (status == COLLAGE_OK)
            status = graph_compact(graph, &error);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
        if (status != COLLAGE_OK)
            graph_destroy(graph);
        assert_true(n < 10000);
    }
    graph_destroy(graph);
}

static void nodes_are_found_as_users_name_them(void **state)
{
    (void)state;
    struct graph *graph = parse("graph \"names\" {\n"
                                "  input %x: float32[2]\n"
                                "  const %one: float32[1] = {1.0}\n"
                                "  %1: float32[2] = Relu(%x) \"twin\"\n"
                                "  %y: float32[2] = Add(%1, %one) \"twin\"\n"
                                "  %z: float32[2] = Neg(%y) \"0\"\n"
                                "  output %z\n"
                                "}\n");
    static const struct {
        const char *text;
        node_id node;    /* GRAPH_NONE: none */
        const char *why; /* part of the message */
    } rows[] = {
        { "0", 2, NULL },  /* a name comes first */
        { "#0", 0, NULL }, /* this is a number only */
        { "1", 0, NULL },  /* a result */
        { "%1", 0, NULL },
        { "%y", 1, NULL },
        { "z", 2, NULL },
        { "2", 2, NULL },
        { "twin", GRAPH_NONE, "2 nodes are called 'twin', the first is #0" },
        { "x", GRAPH_NONE, "an input of the model" },
        { "one", GRAPH_NONE, "a constant" },
        { "3", GRAPH_NONE, "no node '3'" },
        { "#3", GRAPH_NONE, "no node" },
        { "#", GRAPH_NONE, "no node" },
        { "", GRAPH_NONE, "no node" },
        { "-1", GRAPH_NONE, "no node" },
        { "18446744073709551616", GRAPH_NONE, "no node" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct error error = { 0 };
        node_id node = 77;
        collage_status status = graph_find_node(graph, rows[k].text, &node, &error);
        assert_int_equal(status, rows[k].why ? COLLAGE_ERROR_ARGUMENT : COLLAGE_OK);
        if (rows[k].why && !strstr(error.text, rows[k].why))
            fail_msg("'%s': %s", rows[k].text, error.text);
        if (!rows[k].why)
            assert_int_equal(node, rows[k].node);
    }
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compact_keeps_a_sorted_graph),
        cmocka_unit_test(compact_sorts_and_drops),
        cmocka_unit_test(compact_takes_graphs_without_nodes),
        cmocka_unit_test(compact_finds_cycles),
        cmocka_unit_test(uses_are_sorted_and_complete),
        cmocka_unit_test(verify_sees_what_is_broken),
        cmocka_unit_test(hash_tells_graphs_apart),
        cmocka_unit_test(names_and_edits),
        cmocka_unit_test(nodes_are_found_as_users_name_them),
        cmocka_unit_test(building_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
