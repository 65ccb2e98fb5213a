/* SPDX-License-Identifier: Apache-2.0 */
/* Removes nodes on which no output of the model depends, outputs that may be left out and that
 * nobody reads, and constants without use. */
#include "canon/canon.h"

static bool has_live_output(const collage_node *node, const bool *live)
{
    for (uint32_t k = 0; k < node->output_count; k++)
        if (node->outputs[k] != GRAPH_NONE && live[node->outputs[k]])
            return true;
    return false;
}

/* A Dropout whose mask nobody reads is one without a mask. */
static bool leave_out_outputs(struct node *node, const bool *live)
{
    collage_node *base = &node->base;
    value_id *outputs = (value_id *)(uintptr_t)base->outputs;
    const uint32_t needed = (uint32_t)node->op->min_outputs;
    bool changed = false;
    if (node->op->max_outputs < 0) /* parts of a Split: each has its place */
        return false;
    for (uint32_t k = needed; k < base->output_count; k++)
        if (outputs[k] != GRAPH_NONE && !live[outputs[k]]) {
            outputs[k] = GRAPH_NONE;
            changed = true;
        }
    while (base->output_count > needed && outputs[base->output_count - 1] == GRAPH_NONE) {
        base->output_count--;
        changed = true;
    }
    return changed;
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
        if (leave_out_outputs(&graph->nodes[n], live))
            *changed = true;
        for (uint32_t k = 0; k < node->input_count; k++)
            if (node->inputs[k] != GRAPH_NONE)
                live[node->inputs[k]] = true;
    }
    memory_free(live);
    return graph_compact(graph, error);
}
