/* SPDX-License-Identifier: Apache-2.0 */
/* Removes nodes on which no output of the model depends, and constants without use. */
#include "canon/canon.h"

static bool has_live_output(const collage_node *node, const bool *live)
{
    for (uint32_t k = 0; k < node->output_count; k++)
        if (node->outputs[k] != GRAPH_NONE && live[node->outputs[k]])
            return true;
    return false;
}

collage_status canon_remove_dead(struct graph *graph, bool *changed, struct error *error)
{
    *changed = false;
    bool *live = memory_alloc(graph->value_count * sizeof *live);
    if (!live)
        return error_memory(error);
    for (uint32_t k = 0; k < graph->output_count; k++)
        live[graph->outputs[k]] = true;
    for (size_t n = graph->node_count; n-- > 0;) { /* users come after producers */
        const collage_node *node = &graph->nodes[n].base;
        if (!has_live_output(node, live)) {
            graph_remove_node(graph, (node_id)n);
            *changed = true;
            continue;
        }
        for (uint32_t k = 0; k < node->input_count; k++)
            if (node->inputs[k] != GRAPH_NONE)
                live[node->inputs[k]] = true;
    }
    memory_free(live);
    return graph_compact(graph, error);
}
