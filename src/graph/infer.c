/* SPDX-License-Identifier: Apache-2.0 */
/* Calls an operator's functions on a node of a graph: shape inference and evaluation. */
#include <string.h>

#include "graph/graph.h"

/* Points at the tensors of the inputs; memory_free'd by the caller. */
static const struct tensor **gather_inputs(const struct graph *graph, const collage_node *node)
{
    const struct tensor **inputs = memory_alloc(node->input_count * sizeof(struct tensor *));
    for (uint32_t k = 0; inputs && k < node->input_count; k++)
        if (node->inputs[k] != GRAPH_NONE)
            inputs[k] = &graph->values[node->inputs[k]].tensor;
    return inputs;
}

static collage_status infer_call(const struct graph *graph, node_id id, struct op_call *call,
                                 struct error *error)
{
    const struct node *node = &graph->nodes[id];
    memset(call->outputs, 0, node->base.output_count * sizeof *call->outputs);
    collage_status status = op_infer(node->op, call, error);
    if (status != COLLAGE_OK && status != COLLAGE_ERROR_MEMORY)
        error_prefix(error, "node '%s' (%s)", node->base.name, node->base.op_type);
    return status;
}

collage_status graph_infer_outputs(const struct graph *graph, node_id id, struct tensor *outputs,
                                   struct error *error)
{
    const collage_node *node = &graph->nodes[id].base;
    const struct tensor **inputs = gather_inputs(graph, node);
    if (!inputs)
        return error_memory(error);
    struct op_call call = { node, node->input_count, node->output_count, inputs, outputs };
    collage_status status = infer_call(graph, id, &call, error);
    memory_free(inputs);
    return status;
}

static collage_status compute_call(struct graph *graph, node_id id, struct op_call *call,
                                   struct error *error)
{
    collage_status status = infer_call(graph, id, call, error);
    for (uint32_t k = 0; status == COLLAGE_OK && k < call->output_count; k++) {
        call->outputs[k].data = arena_alloc(graph->arena, tensor_bytes(&call->outputs[k]));
        if (!call->outputs[k].data)
            status = error_memory(error);
    }
    return status == COLLAGE_OK ? graph->nodes[id].op->compute(call, error) : status;
}

collage_status graph_evaluate_outputs(struct graph *graph, node_id id, struct tensor *outputs,
                                      struct error *error)
{
    const collage_node *node = &graph->nodes[id].base;
    const struct tensor **inputs = gather_inputs(graph, node);
    if (!inputs)
        return error_memory(error);
    struct op_call call = { node, node->input_count, node->output_count, inputs, outputs };
    collage_status status = compute_call(graph, id, &call, error);
    memory_free(inputs);
    return status;
}

collage_status graph_infer_node(struct graph *graph, node_id id, struct error *error)
{
    const collage_node *node = &graph->nodes[id].base;
    struct tensor *outputs = memory_alloc(node->output_count * sizeof *outputs);
    if (!outputs)
        return error_memory(error);
    collage_status status = graph_infer_outputs(graph, id, outputs, error);
    for (uint32_t k = 0; status == COLLAGE_OK && k < node->output_count; k++)
        if (node->outputs[k] != GRAPH_NONE) {
            outputs[k].data = NULL;
            graph->values[node->outputs[k]].tensor = outputs[k];
        }
    memory_free(outputs);
    return status;
}
