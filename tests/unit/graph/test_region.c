/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of random graphs, compared with the definitions spelled out. */
#include "unit/graph/parse.h"

#include "graph/region.h"

enum { NODES = 24, GRAPHS = 60, SETS = 40 };

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return (splitmix64(state) >> 33) % limit;
}

/* A graph of Adds, each of two earlier values; the last value is the output, others sometimes. */
static struct graph *random_graph(uint64_t *state)
{
    struct text text = { 0 };
    text_string(&text, "graph \"random\" {\n  input %v0: float32[2]\n  input %v1: float32[2]\n");
    for (unsigned n = 0; n < NODES; n++) {
        uint64_t recent = n + 2 < 4 ? n + 2 : 4; /* mostly narrow, so that there are cuts */
        uint64_t a = n + 2 - 1 - random_below(state, recent);
        uint64_t b = random_below(state, 4) == 0 ? random_below(state, n + 2)
                                                 : n + 2 - 1 - random_below(state, recent);
        text_format(&text, "  %%v%u: float32[2] = Add(%%v%u, %%v%u)\n", n + 2, (unsigned)a,
                    (unsigned)b);
    }
    text_format(&text, "  output %%v%u\n", NODES + 1);
    text_format(&text, "  output %%v%u\n}\n", (unsigned)random_below(state, NODES) + 2);
    struct graph *graph = parse(text.bytes);
    text_free(&text);
    return graph;
}

static bool contains(const node_id *nodes, uint32_t count, node_id node)
{
    for (uint32_t k = 0; k < count; k++)
        if (nodes[k] == node)
            return true;
    return false;
}

/* reach[a][b]: a path of at least one edge leads from a to b. */
static void closure(const struct graph *graph, bool reach[NODES][NODES])
{
    memset(reach, 0, sizeof(bool) * NODES * NODES);
    for (node_id b = 0; b < NODES; b++)
        for (uint32_t k = 0; k < 2; k++) {
            node_id a = graph->values[graph->nodes[b].base.inputs[k]].producer;
            if (a == GRAPH_NONE)
                continue;
            reach[a][b] = true;
            for (node_id c = 0; c < NODES; c++)
                reach[c][b] = reach[c][b] || reach[c][a];
        }
}

static bool convex_by_definition(bool reach[NODES][NODES], const node_id *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++)
            for (node_id out = 0; out < NODES; out++)
                if (!contains(nodes, count, out) && reach[nodes[i]][out] && reach[out][nodes[j]])
                    return false;
    return true;
}

static void check_border(const struct graph *graph, const struct graph_uses *uses,
                         const struct region *region)
{
    size_t inputs = 0, outputs = 0;
    for (value_id v = 0; v < graph->value_count; v++) {
        bool made = graph->values[v].producer != GRAPH_NONE &&
                    contains(region->nodes, region->node_count, graph->values[v].producer);
        bool used_inside = false, used_outside = graph_is_output(graph, v);
        for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
            *(contains(region->nodes, region->node_count, uses->users[u]) ? &used_inside
                                                                          : &used_outside) = true;
        bool listed_in = contains(region->inputs, region->input_count, v);
        bool listed_out = contains(region->outputs, region->output_count, v);
        assert_int_equal(listed_in, used_inside && !made);
        assert_int_equal(listed_out, made && used_outside);
        inputs += listed_in;
        outputs += listed_out;
    }
    assert_int_equal(inputs, region->input_count);
    assert_int_equal(outputs, region->output_count);
}

static void regions_match_the_definitions(void **state)
{
    (void)state;
    uint64_t seed = 1;
    bool reach[NODES][NODES];
    unsigned convex_count = 0, other_count = 0;
    for (int g = 0; g < GRAPHS; g++) {
        struct graph *graph = random_graph(&seed);
        struct graph_uses uses;
        struct arena *arena = arena_create();
        assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
        closure(graph, reach);
        for (int s = 0; s < SETS; s++) {
            node_id nodes[NODES];
            uint32_t count = 0;
            uint64_t density = 2 + random_below(&seed, 4);
            node_id start = (node_id)random_below(&seed, NODES);
            node_id end = start + 1 + (node_id)random_below(&seed, 8);
            for (node_id n = start; n < NODES && n < end; n++)
                if (random_below(&seed, density) != 0)
                    nodes[count++] = n;
            struct region region;
            assert_int_equal(region_make(arena, graph, &uses, nodes, count, &region, NULL),
                             COLLAGE_OK);
            check_border(graph, &uses, &region);
            bool convex = region_is_convex(graph, &uses, &region);
            assert_int_equal(convex, convex_by_definition(reach, nodes, count));
            *(convex ? &convex_count : &other_count) += 1;
        }
        arena_destroy(arena);
        graph_uses_free(&uses);
        graph_destroy(graph);
    }
    assert_true(convex_count > 100 && other_count > 100);
}

static unsigned alive_at(const struct graph *graph, const struct graph_uses *uses, uint32_t p)
{
    unsigned alive = 0;
    for (value_id v = 0; v < graph->value_count; v++) {
        bool before = graph->values[v].producer == GRAPH_NONE || graph->values[v].producer < p;
        bool after = false;
        for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
            after = after || uses->users[u] >= p;
        alive += before && after;
    }
    return alive;
}

static void cuts_match_the_definition(void **state)
{
    (void)state;
    uint64_t seed = 7;
    size_t inner = 0;
    for (int g = 0; g < GRAPHS; g++) {
        struct graph *graph = random_graph(&seed);
        struct graph_uses uses;
        struct arena *arena = arena_create();
        uint32_t *cuts, count, at = 0;
        assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
        assert_int_equal(region_cuts(arena, graph, &uses, &cuts, &count, NULL), COLLAGE_OK);
        for (uint32_t p = 0; p <= NODES; p++) {
            bool cut = p == 0 || p == NODES || alive_at(graph, &uses, p) == 1;
            bool listed = at < count && cuts[at] == p;
            assert_int_equal(listed, cut);
            at += listed;
        }
        assert_int_equal(at, count);
        inner += count - 2;
        arena_destroy(arena);
        graph_uses_free(&uses);
        graph_destroy(graph);
    }
    assert_true(inner > 0);
}

static void constants_are_no_inputs(void **state)
{
    (void)state;
    struct graph *graph =
        parse("graph \"g\" { input %x: float32[2] const %w: float32[2] = {1.0, 2.0}"
              " %y: float32[2] = Mul(%x, %w) %z: float32[2] = Add(%y, %w)"
              " output %z }");
    struct graph_uses uses;
    struct arena *arena = arena_create();
    struct region region;
    node_id both[2] = { 0, 1 };
    assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
    assert_int_equal(region_make(arena, graph, &uses, both, 2, &region, NULL), COLLAGE_OK);
    assert_int_equal(region.input_count, 1);
    assert_int_equal(region.inputs[0], graph_find_value(graph, "x"));
    assert_int_equal(region.output_count, 1);
    arena_destroy(arena);
    graph_uses_free(&uses);
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_match_the_definitions),
        cmocka_unit_test(cuts_match_the_definition),
        cmocka_unit_test(constants_are_no_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
