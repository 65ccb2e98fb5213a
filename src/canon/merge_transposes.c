/* SPDX-License-Identifier: Apache-2.0 */
/* Of two Transposes in a row, the second becomes one of what the first reads. */
#include <string.h>

#include "canon/canon.h"

static bool is_transpose(const struct graph *graph, node_id id)
{
    const struct node *node = id == GRAPH_NONE ? NULL : &graph->nodes[id];
    return node && node->op && strcmp(node->op->name, "Transpose") == 0;
}

/* Dimension k of the output is dimension axis[k] of the input. False if perm is not one for each.
 */
static bool read_axes(const struct graph *graph, const collage_node *node, int64_t *axis)
{
    const collage_attribute *perm = collage_node_attribute(node, "perm", COLLAGE_ATTRIBUTE_INTS);
    int32_t rank = graph->values[node->inputs[0]].tensor.rank;
    if (perm && perm->count != (uint32_t)rank)
        return false;
    for (int32_t k = 0; k < rank; k++)
        axis[k] = perm ? perm->ints[k] : rank - 1 - k;
    return true;
}

/* *merged tells whether it was possible. */
static collage_status merge(struct graph *graph, node_id first, node_id second, bool *merged,
                            struct error *error)
{
    int64_t before[COLLAGE_MAX_RANK], after[COLLAGE_MAX_RANK], both[COLLAGE_MAX_RANK];
    const collage_node *inner = &graph->nodes[first].base, *outer = &graph->nodes[second].base;
    *merged = read_axes(graph, inner, before) && read_axes(graph, outer, after);
    if (!*merged)
        return COLLAGE_OK;
    const value_id source = inner->inputs[0], output = outer->outputs[0];
    const char *name = outer->name;
    int32_t rank = graph->values[source].tensor.rank;
    for (int32_t k = 0; k < rank; k++)
        both[k] = before[after[k]];
    const collage_attribute perm = {
        .name = "perm", .kind = COLLAGE_ATTRIBUTE_INTS, .count = (uint32_t)rank, .ints = both
    };
    graph_remove_node(graph, second);
    node_id made =
        graph_add_node(graph, op_find("Transpose"), name, &source, 1, &output, 1, &perm, 1);
    return made == GRAPH_NONE ? error_memory(error) : COLLAGE_OK;
}

collage_status canon_merge_transposes(struct graph *graph, bool *changed, struct error *error)
{
    collage_status status = COLLAGE_OK;
    size_t count = graph->node_count; /* those that are added come behind */
    *changed = false;
    for (size_t n = 0; n < count && status == COLLAGE_OK; n++) {
        if (!is_transpose(graph, (node_id)n))
            continue;
        node_id before = graph->values[graph->nodes[n].base.inputs[0]].producer;
        bool merged = false;
        if (is_transpose(graph, before))
            status = merge(graph, before, (node_id)n, &merged, error);
        *changed = *changed || merged;
    }
    return status == COLLAGE_OK && *changed ? graph_compact(graph, error) : status;
}
