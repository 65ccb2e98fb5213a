/* SPDX-License-Identifier: Apache-2.0 */
/* Computes, once and for all, the nodes whose inputs are all constants. */
#include <string.h>

#include "canon/canon.h"

static const uint64_t OUTPUT_LIMIT = 64u << 20;
static const uint64_t REPEAT_LIMIT = 1u << 20;
static const uint64_t ARENA_LIMIT = (uint64_t)4 << 30; /* of all that a graph holds itself */

/* Operators that only repeat elements: folding them trades a little time for a lot of memory. */
static bool only_repeats(const struct op *op)
{
    static const char *const names[] = { "ConstantOfShape", "Expand", "Tile" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(op->name, names[k]) == 0)
            return true;
    return false;
}

static bool should_fold(const struct graph *graph, const struct node *node)
{
    uint64_t bytes = 0;
    if (node->op->flags & OP_CONTROL)
        return false;
    for (uint32_t k = 0; k < node->base.input_count && !(node->op->flags & OP_SHAPE); k++)
        if (node->base.inputs[k] != GRAPH_NONE && !graph_is_constant(graph, node->base.inputs[k]))
            return false;
    for (uint32_t k = 0; k < node->base.output_count; k++)
        if (node->base.outputs[k] != GRAPH_NONE)
            bytes += tensor_bytes(&graph->values[node->base.outputs[k]].tensor);
    return bytes <= (only_repeats(node->op) ? REPEAT_LIMIT : OUTPUT_LIMIT) &&
           arena_bytes(graph->arena) + bytes <= ARENA_LIMIT;
}

/* An operator that the reference cannot compute stays. */
static collage_status fold(struct graph *graph, node_id id, bool *changed, struct error *error)
{
    const collage_node *node = &graph->nodes[id].base;
    struct error inner = { 0 };
    struct tensor *outputs = memory_alloc(node->output_count * sizeof *outputs);
    if (!outputs)
        return error_memory(error);
    collage_status status = graph_evaluate_outputs(graph, id, outputs, &inner);
    for (uint32_t k = 0; status == COLLAGE_OK && k < node->output_count; k++) {
        if (node->outputs[k] == GRAPH_NONE)
            continue;
        struct value *value = &graph->values[node->outputs[k]];
        value->kind = VALUE_CONSTANT;
        value->producer = GRAPH_NONE;
        value->tensor = outputs[k];
    }
    memory_free(outputs);
    if (status == COLLAGE_OK) {
        graph_remove_node(graph, id);
        *changed = true;
    }
    return status == COLLAGE_ERROR_MEMORY ? error_memory(error) : COLLAGE_OK;
}

collage_status canon_fold_constants(struct graph *graph, bool *changed, struct error *error)
{
    *changed = false;
    for (size_t n = 0; n < graph->node_count; n++) {
        if (!should_fold(graph, &graph->nodes[n]))
            continue;
        collage_status status = fold(graph, (node_id)n, changed, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return *changed ? graph_compact(graph, error) : COLLAGE_OK;
}
