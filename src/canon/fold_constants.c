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

/* ---- transposed weights of quantized models ---- */

/* The integers of `from`, transposed as the node says, as a new constant. */
static collage_status transpose_integers(struct graph *graph, const struct node *node,
                                         const struct dequantized *from, value_id *made,
                                         struct error *error)
{
    const struct value *integers = &graph->values[from->integers];
    const struct tensor *inputs[1] = { &integers->tensor };
    struct tensor output = { 0 };
    const struct op_call call = { &node->base, 1, 1, inputs, &output };
    collage_status status = op_infer(node->op, &call, error);
    const char *name = graph_fresh_name(graph, integers->name);
    if (status == COLLAGE_OK)
        output.data = arena_alloc(graph->arena, (size_t)tensor_bytes(&output));
    if (status == COLLAGE_OK && (!name || !output.data))
        status = error_memory(error);
    if (status == COLLAGE_OK)
        status = node->op->compute(&call, error);
    if (status != COLLAGE_OK)
        return status;
    *made = graph_add_value(graph, name, VALUE_CONSTANT, &output);
    return *made == GRAPH_NONE ? error_memory(error) : COLLAGE_OK;
}

/* Where the node puts that axis of a tensor of that rank. */
static int64_t transposed_axis(const collage_node *node, int64_t axis, int32_t rank)
{
    const collage_attribute *perm = collage_node_attribute(node, "perm", COLLAGE_ATTRIBUTE_INTS);
    axis += axis < 0 ? rank : 0;
    if (!perm)
        return rank - 1 - axis;
    for (uint32_t k = 0; k < perm->count; k++)
        if (perm->ints[k] == axis || perm->ints[k] + rank == axis)
            return k;
    return axis;
}

/* A Transpose of what was dequantized, now folded: its output was dequantized from transposed
 * integers. (A scale for all has an axis that means nothing.) */
static collage_status keep_integers(struct graph *graph, node_id id, struct error *error)
{
    const struct node *node = &graph->nodes[id];
    const collage_node *base = &node->base;
    if (strcmp(base->op_type, "Transpose") != 0)
        return COLLAGE_OK;
    const struct value *x = &graph->values[base->inputs[0]];
    if (!x->dequantized || x->dequantized->block_size != 0)
        return COLLAGE_OK;
    struct dequantized from = *x->dequantized;
    from.axis = transposed_axis(base, from.axis, x->tensor.rank);
    collage_status status = transpose_integers(graph, node, x->dequantized, &from.integers, error);
    if (status != COLLAGE_OK)
        return status;
    struct dequantized *kept = arena_copy(graph->arena, &from, sizeof from);
    graph->values[base->outputs[0]].dequantized = kept;
    return kept ? COLLAGE_OK : error_memory(error);
}

/* ---- the pass ---- */

/* An operator that the reference cannot compute stays. */
static collage_status fold(struct graph *graph, node_id id, bool *changed, struct error *error)
{
    bool folded;
    collage_status status = graph_fold_node(graph, id, &folded, error);
    if (status != COLLAGE_OK || !folded)
        return status;
    status = keep_integers(graph, id, error);
    graph_remove_node(graph, id);
    *changed = true;
    return status;
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
