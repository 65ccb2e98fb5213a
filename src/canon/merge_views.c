/* SPDX-License-Identifier: Apache-2.0 */
/* Reshape, Flatten, Squeeze and Unsqueeze only rename the elements' positions: of several in a row,
 * the last becomes one Reshape of what the first reads. */
#include <string.h>

#include "canon/canon.h"

/* Identity is a view too, but removed elsewhere. */
static bool is_view(const struct graph *graph, node_id id)
{
    const struct node *node = id == GRAPH_NONE ? NULL : &graph->nodes[id];
    return node && node->op && (node->op->flags & OP_VIEW) &&
           strcmp(node->op->name, "Identity") != 0;
}

static value_id add_shape(struct graph *graph, const struct tensor *tensor, const char *base)
{
    struct tensor shape = { .dtype = COLLAGE_INT64, .rank = 1, .dims = { tensor->rank } };
    const char *wanted = arena_format(graph->arena, "%s/shape", base);
    const char *name = wanted ? graph_fresh_name(graph, wanted) : NULL;
    shape.data = arena_alloc(graph->arena, (size_t)tensor_bytes(&shape));
    if (!name || !shape.data)
        return GRAPH_NONE;
    for (int32_t k = 0; k < tensor->rank; k++)
        tensor_set_int(&shape, k, tensor->dims[k]);
    return graph_add_value(graph, name, VALUE_CONSTANT, &shape);
}

static collage_status merge(struct graph *graph, node_id id, value_id source, struct error *error)
{
    const char *name = graph->nodes[id].base.name;
    const value_id output = graph->nodes[id].base.outputs[0];
    value_id shape = add_shape(graph, &graph->values[output].tensor, graph->values[output].name);
    if (shape == GRAPH_NONE)
        return error_memory(error);
    const value_id inputs[] = { source, shape };
    graph_remove_node(graph, id);
    node_id made = graph_add_node(graph, op_find("Reshape"), name, inputs, 2, &output, 1, NULL, 0);
    return made == GRAPH_NONE ? error_memory(error) : COLLAGE_OK;
}

collage_status canon_merge_views(struct graph *graph, bool *changed, struct error *error)
{
    collage_status status = COLLAGE_OK;
    size_t count = graph->node_count; /* those that are added come behind */
    *changed = false;
    for (size_t n = 0; n < count && status == COLLAGE_OK; n++) {
        if (!is_view(graph, (node_id)n))
            continue;
        const collage_node *last = &graph->nodes[n].base;
        node_id before = graph->values[last->inputs[0]].producer;
        /* To Reshape, a zero means another thing. */
        if (!is_view(graph, before) ||
            tensor_elements(&graph->values[last->outputs[0]].tensor) == 0)
            continue;
        status = merge(graph, (node_id)n, graph->nodes[before].base.inputs[0], error);
        *changed = true;
    }
    return status == COLLAGE_OK && *changed ? graph_compact(graph, error) : status;
}
