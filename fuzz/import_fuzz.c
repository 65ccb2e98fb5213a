/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry: any bytes as an ONNX file. What is accepted must also be canonicalised, printed,
 * parsed and exported without a fault. */
#include <stdlib.h>

#include "canon/canon.h"
#include "fuzz.h"
#include "graph/graph_text.h"
#include "graph/subgraph.h"
#include "graph/verify.h"
#include "onnx/onnx.h"

static void export_all(const struct graph *graph)
{
    struct arena *arena = arena_create();
    struct graph_uses uses;
    struct region region;
    const collage_subgraph *subgraph;
    collage_message message;
    void *bytes = NULL;
    size_t count;
    node_id *nodes = arena ? arena_array(arena, graph->node_count, sizeof *nodes) : NULL;
    for (node_id n = 0; nodes && n < graph->node_count; n++)
        nodes[n] = n;
    if (nodes && graph_uses_build(graph, &uses, NULL) == COLLAGE_OK) {
        if (region_make(arena, graph, &uses, nodes, (uint32_t)graph->node_count, &region, NULL) ==
                COLLAGE_OK &&
            subgraph_make(arena, graph, &region, &subgraph, NULL) == COLLAGE_OK)
            (void)onnx_export(subgraph, 64, &bytes, &count, &message);
        graph_uses_free(&uses);
    }
    memory_free(bytes);
    arena_destroy(arena);
}

int fuzz_import(const uint8_t *data, size_t size)
{
    struct graph *graph, *parsed;
    struct error error = { 0 };
    struct text text = { 0 };
    if (onnx_import_bytes(data, size, NULL, NULL, 0, &graph, &error) != COLLAGE_OK)
        return 0;
    if (canon_run(graph, &error) != COLLAGE_OK || graph_verify(graph, &error) != COLLAGE_OK)
        abort(); /* an accepted model must stay valid */
    graph_print(graph, &text);
    if (graph_parse(text.bytes, &parsed, &error) != COLLAGE_OK)
        abort(); /* what is printed must be parsed */
    export_all(graph);
    text_free(&text);
    graph_destroy(parsed);
    graph_destroy(graph);
    return 0;
}
