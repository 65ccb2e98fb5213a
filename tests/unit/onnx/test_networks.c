/* SPDX-License-Identifier: Apache-2.0 */
/* All benchmark networks: import, canonical form, text form, export. */
#include "unit/onnx/networks.h"
#include "unit/onnx/run_graph.h"

#include "base/clock.h"
#include "canon/canon.h"
#include "graph/graph_text.h"
#include "graph/subgraph.h"
#include "graph/verify.h"

static struct graph *import(const char *path)
{
    struct graph *graph;
    struct error error = { 0 };
    if (onnx_import(path, NULL, 0, &graph, &error) != COLLAGE_OK)
        fail_msg("%s: %s", path, error.text);
    return graph;
}

static void check_text(const struct graph *graph)
{
    struct text one = { 0 }, two = { 0 };
    struct graph *parsed;
    struct error error = { 0 };
    graph_print(graph, &one);
    if (graph_parse(one.bytes, &parsed, &error) != COLLAGE_OK)
        fail_msg("%s: %s", graph->name, error.text);
    graph_print(parsed, &two);
    assert_string_equal(one.bytes, two.bytes);
    assert_int_equal(parsed->node_count, graph->node_count);
    graph_destroy(parsed);
    text_free(&one);
    text_free(&two);
}

static void all_networks_go_through(void **state)
{
    (void)state;
    for (size_t k = 0; k < NETWORK_COUNT; k++) {
        char path[600];
        struct error error = { 0 };
        network_sparse(network_names[k], path);
        struct graph *graph = import(path);
        struct graph *again = import(path);
        assert_true(hash_equal(graph_hash(graph), graph_hash(again)));
        assert_true(hash_equal(graph->source, again->source));
        check_text(graph);
        size_t before = graph->node_count;
        if (canon_run(graph, &error) != COLLAGE_OK || graph_verify(graph, &error) != COLLAGE_OK ||
            canon_run(again, &error) != COLLAGE_OK)
            fail_msg("%s: %s", network_names[k], error.text);
        assert_true(hash_equal(graph_hash(graph), graph_hash(again)));
        check_text(graph);
        assert_true(graph->node_count > 0 && graph->node_count <= 2 * before);
        graph_destroy(graph);
        graph_destroy(again);
    }
}

/* Memory that belongs to this process alone, in kB. */
static long private_kilobytes(void)
{
    char line[256];
    long total = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "Private_Dirty:", 14) == 0 || strncmp(line, "Private_Clean:", 14) == 0)
            total += strtol(line + 14, NULL, 10);
    fclose(file);
    return total;
}

static void bert_loads_fast_and_small(void **state)
{
    (void)state;
    char path[600];
    network_sparse("bert_base", path);
    long before = private_kilobytes();
    struct graph *graph = import(path);
    long added = private_kilobytes() - before;
    graph_destroy(graph);
    uint64_t start = clock_ns();
    graph = import(path);
    double milliseconds = (double)(clock_ns() - start) / 1e6;
    print_message("bert_base: %.1f ms, %ld kB of private memory\n", milliseconds, added);
    assert_true(milliseconds < 500);
    assert_true(added < 50 * 1024);
    graph_destroy(graph);
}

/* What canonicalisation changes is rounding only. */
static void canonical_networks_compute_the_same(void **state)
{
    (void)state;
    static const char *const names[] = { "tiny_cnn", "tiny_transformer" };
    for (int k = 0; k < 2; k++) {
        char path[600];
        struct error error = { 0 };
        network_filled(names[k], path);
        struct graph *plain = import(path), *canonical = import(path);
        assert_int_equal(canon_run(canonical, &error), COLLAGE_OK);
        assert_true(run_fill_inputs(plain) && run_fill_inputs(canonical));
        if (run_graph(plain, &error) != COLLAGE_OK || run_graph(canonical, &error) != COLLAGE_OK)
            fail_msg("%s", error.text);
        struct tensor_difference difference =
            tensor_compare(&canonical->values[canonical->outputs[0]].tensor,
                           &plain->values[plain->outputs[0]].tensor);
        print_message("%s: %g\n", names[k], difference.error);
        assert_true(difference.error < 1e-5);
        graph_destroy(plain);
        graph_destroy(canonical);
    }
}

static void tiny_cnn_is_as_in_the_golden_file(void **state)
{
    (void)state;
    char path[600];
    struct error error = { 0 };
    struct mapping golden;
    struct text text = { 0 };
    network_filled("tiny_cnn", path);
    struct graph *graph = import(path);
    graph_print(graph, &text);
    assert_int_equal(canon_run(graph, &error), COLLAGE_OK);
    text_string(&text, "// canonical\n");
    graph_print(graph, &text);
    (void)file_write(COLLAGE_TEST_DATA "/tiny_cnn.graph", text.bytes, text.count, &error);
    assert_int_equal(file_map(COLLAGE_TESTS "/golden/tiny_cnn.graph", &golden, &error), COLLAGE_OK);
    if (golden.bytes != text.count || memcmp(golden.data, text.bytes, text.count) != 0)
        fail_msg("the graph differs from tests/golden/tiny_cnn.graph; it is now "
                 "in " COLLAGE_TEST_DATA "/tiny_cnn.graph");
    file_unmap(&golden);
    text_free(&text);
    graph_destroy(graph);
}

/* The sub-graph of all nodes. */
static const collage_subgraph *whole(struct arena *arena, const struct graph *graph)
{
    struct graph_uses uses;
    struct region region;
    const collage_subgraph *subgraph;
    node_id *nodes = arena_array(arena, graph->node_count, sizeof *nodes);
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

/* Exported and imported again, a network is the same sub-graph. */
static void export_is_read_back(void **state)
{
    (void)state;
    static const char *const names[] = { "tiny_cnn", "tiny_transformer", "segformer_b0" };
    for (int k = 0; k < 3; k++) {
        char path[600];
        struct error error = { 0 };
        collage_message message = { "" };
        void *bytes;
        size_t count;
        struct graph *again;
        struct arena *arena = arena_create();
        network_sparse(names[k], path);
        struct graph *graph = import(path);
        assert_int_equal(canon_run(graph, &error), COLLAGE_OK);
        const collage_subgraph *subgraph = whole(arena, graph);
        if (onnx_export(subgraph, UINT64_MAX, &bytes, &count, &message) != COLLAGE_OK)
            fail_msg("%s", message.text);
        if (onnx_import_bytes(bytes, count, NULL, NULL, 0, &again, &error) != COLLAGE_OK)
            fail_msg("%s: %s", names[k], error.text);
        assert_true(hash_equal(subgraph_hash(subgraph), subgraph_hash(whole(arena, again))));
        graph_destroy(again);
        memory_free(bytes);
        arena_destroy(arena);
        graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bert_loads_fast_and_small), /* first: the heap is fresh */
        cmocka_unit_test(all_networks_go_through),
        cmocka_unit_test(canonical_networks_compute_the_same),
        cmocka_unit_test(tiny_cnn_is_as_in_the_golden_file),
        cmocka_unit_test(export_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
