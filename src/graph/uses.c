/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

/* Counting sort by value: count, prefix sums, fill. */
collage_status graph_uses_build(const struct graph *graph, struct graph_uses *out,
                                struct error *error)
{
    size_t total = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        total += graph->nodes[n].op ? graph->nodes[n].base.input_count : 0;
    *out = (struct graph_uses){ memory_alloc((graph->value_count + 2) * sizeof(uint32_t)),
                                memory_alloc(total * sizeof(node_id)) };
    if (!out->first || !out->users) {
        graph_uses_free(out);
        return error_memory(error);
    }
    uint32_t *next = out->first + 1; /* next[v] runs from first[v] to first[v + 1] while filling */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t n = 0; n < graph->node_count; n++)
            for (uint32_t k = 0; graph->nodes[n].op && k < graph->nodes[n].base.input_count; k++) {
                value_id v = graph->nodes[n].base.inputs[k];
                if (v == GRAPH_NONE)
                    continue;
                if (pass == 0)
                    next[v + 1]++;
                else
                    out->users[next[v]++] = (node_id)n;
            }
        for (size_t v = 0; pass == 0 && v < graph->value_count; v++)
            next[v + 1] += next[v];
    }
    return COLLAGE_OK;
}

void graph_uses_free(struct graph_uses *uses)
{
    memory_free(uses->first);
    memory_free(uses->users);
    *uses = (struct graph_uses){ 0 };
}
