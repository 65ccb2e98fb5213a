/* SPDX-License-Identifier: Apache-2.0 */
/* A node of constants becomes constants. */
#include <string.h>

#include "graph/graph.h"

/*
 * Weights of a quantized model: their integers are remembered, so that a library with kernels for
 * integers can be given them beside quantized activations; all others read the float32. A scale
 * that is dequantized itself would make a chain of what must be kept: that is not remembered.
 */
static bool remember_integers(struct graph *graph, const collage_node *node, struct value *value)
{
    const value_id *inputs = node->inputs;
    if (strcmp(node->op_type, "DequantizeLinear") != 0 || value->tensor.dtype != COLLAGE_FLOAT32 ||
        graph->values[inputs[1]].tensor.dtype != COLLAGE_FLOAT32 ||
        graph->values[inputs[1]].dequantized)
        return true;
    /* of a vector, such as a bias, the default would be out of range */
    int64_t axis = value->tensor.rank == 1 ? 0 : collage_node_int(node, "axis", 1);
    const struct dequantized from = { .integers = inputs[0],
                                      .scale = inputs[1],
                                      .zero = node->input_count > 2 ? inputs[2] : GRAPH_NONE,
                                      .axis = axis,
                                      .block_size = collage_node_int(node, "block_size", 0) };
    value->dequantized = arena_copy(graph->arena, &from, sizeof from);
    return value->dequantized != NULL;
}

static bool become_constants(struct graph *graph, const collage_node *node,
                             const struct tensor *outputs)
{
    for (uint32_t k = 0; k < node->output_count; k++) {
        if (node->outputs[k] == GRAPH_NONE)
            continue;
        struct value *value = &graph->values[node->outputs[k]];
        value->kind = VALUE_CONSTANT;
        value->producer = GRAPH_NONE;
        value->tensor = outputs[k];
        if (!remember_integers(graph, node, value))
            return false;
    }
    return true;
}

collage_status graph_fold_node(struct graph *graph, node_id id, bool *folded, struct error *error)
{
    const collage_node *node = &graph->nodes[id].base;
    struct error inner = { 0 };
    struct tensor *outputs = memory_alloc(node->output_count * sizeof *outputs);
    *folded = false;
    if (!outputs)
        return error_memory(error);
    collage_status status = graph_evaluate_outputs(graph, id, outputs, &inner);
    if (status == COLLAGE_OK && !become_constants(graph, node, outputs))
        status = COLLAGE_ERROR_MEMORY;
    memory_free(outputs);
    *folded = status == COLLAGE_OK;
    return status == COLLAGE_ERROR_MEMORY ? error_memory(error) : COLLAGE_OK;
}
