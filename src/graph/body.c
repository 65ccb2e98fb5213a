/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/body.h"

#include <string.h>

#include "graph/subgraph.h"
#include "ops/attribute.h"

collage_status body_make(struct arena *arena, const struct graph *graph,
                         const struct body_parts *parts, const collage_subgraph **out,
                         struct error *error)
{
    struct arena *scratch = arena_create();
    if (!scratch)
        return error_memory(error);
    const collage_subgraph *made = NULL;
    const struct region region = { .nodes = (node_id *)(uintptr_t)parts->nodes,
                                   .node_count = parts->node_count,
                                   .inputs = (value_id *)(uintptr_t)parts->inputs,
                                   .input_count = parts->input_count,
                                   .outputs = (value_id *)(uintptr_t)parts->outputs,
                                   .output_count = parts->output_count };
    collage_status status = subgraph_make(scratch, graph, &region, &made, error);
    *out = status == COLLAGE_OK ? body_copy(arena, made) : NULL;
    if (status == COLLAGE_OK && !*out)
        status = error_memory(error);
    arena_destroy(scratch);
    return status;
}

/* ---- as a graph ---- */

static bool is_input(const collage_subgraph *body, uint32_t value)
{
    for (uint32_t k = 0; k < body->input_count; k++)
        if (body->inputs[k] == value)
            return true;
    return false;
}

/* Values keep their numbers. */
static bool add_values(struct graph *graph, const collage_subgraph *body)
{
    for (uint32_t v = 0; v < body->value_count; v++) {
        const collage_value *from = body->values[v];
        struct tensor tensor = { .dtype = from->dtype, .rank = from->rank };
        memcpy(tensor.dims, from->dims, (size_t)from->rank * sizeof *from->dims);
        enum value_kind kind = is_input(body, v) ? VALUE_INPUT : VALUE_COMPUTED;
        if (graph_add_value(graph, from->name, kind, &tensor) == GRAPH_NONE)
            return false;
    }
    return true;
}

static bool add_nodes(struct graph *graph, const collage_subgraph *body)
{
    for (uint32_t n = 0; n < body->node_count; n++) {
        const collage_node *from = body->nodes[n];
        if (graph_add_node(graph, op_find(from->op_type), from->name, from->inputs,
                           from->input_count, from->outputs, from->output_count, from->attributes,
                           from->attribute_count) == GRAPH_NONE)
            return false;
    }
    return true;
}

struct graph *body_graph(const collage_subgraph *body)
{
    struct error error = { 0 };
    struct graph *graph = graph_create();
    if (graph && add_values(graph, body) && add_nodes(graph, body) &&
        graph_set_inputs(graph, body->inputs, body->input_count, &error) == COLLAGE_OK &&
        graph_set_outputs(graph, body->outputs, body->output_count, &error) == COLLAGE_OK)
        return graph;
    graph_destroy(graph);
    return NULL;
}
