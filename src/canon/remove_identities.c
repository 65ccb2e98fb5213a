/* SPDX-License-Identifier: Apache-2.0 */
/* Removes nodes whose output 0 is their input 0, element for element, in the same shape and type.
 */
#include <string.h>

#include "canon/canon.h"

/* Shape and type are known to be equal when these are asked. */
typedef bool (*identity_fn)(const struct graph *graph, const collage_node *node);

static bool always(const struct graph *graph, const collage_node *node)
{
    (void)graph;
    (void)node;
    return true;
}

static bool has_one_input(const struct graph *graph, const collage_node *node)
{
    (void)graph;
    return node->input_count == 1;
}

/* In training mode (input 2) it drops elements. The mask must be without use. */
static bool is_inference_dropout(const struct graph *graph, const collage_node *node)
{
    if (node->output_count > 1 && node->outputs[1] != GRAPH_NONE)
        return false;
    if (node->input_count < 3 || node->inputs[2] == GRAPH_NONE)
        return true;
    const struct value *training = &graph->values[node->inputs[2]];
    return training->kind == VALUE_CONSTANT && tensor_elements(&training->tensor) == 1 &&
           tensor_get_int(&training->tensor, 0) == 0;
}

/* All elements of a constant integer input equal that number. */
static bool all_equal(const struct graph *graph, value_id id, int64_t number)
{
    if (!graph_is_constant(graph, id))
        return false;
    const struct tensor *tensor = &graph->values[id].tensor;
    for (int64_t i = 0; i < tensor_elements(tensor); i++)
        if (tensor_get_int(tensor, i) != number)
            return false;
    return true;
}

static bool is_empty_pad(const struct graph *graph, const collage_node *node)
{
    return node->input_count > 1 && all_equal(graph, node->inputs[1], 0);
}

/* With steps of one, a slice of the full size starts at the start. */
static bool is_forward_slice(const struct graph *graph, const collage_node *node)
{
    return node->input_count < 5 || node->inputs[4] == GRAPH_NONE ||
           all_equal(graph, node->inputs[4], 1);
}

/* Equal shapes do not suffice for square ones. Dimensions of size one may move. */
static bool keeps_order(const struct graph *graph, const collage_node *node)
{
    const struct tensor *tensor = &graph->values[node->inputs[0]].tensor;
    const collage_attribute *perm = collage_node_attribute(node, "perm", COLLAGE_ATTRIBUTE_INTS);
    int64_t last = -1;
    for (int32_t k = 0; k < tensor->rank; k++) {
        int64_t from = perm && (uint32_t)k < perm->count ? perm->ints[k] : tensor->rank - 1 - k;
        if (from < 0 || from >= tensor->rank)
            return false;
        if (tensor->dims[from] == 1)
            continue;
        if (from < last)
            return false;
        last = from;
    }
    return true;
}

static const struct {
    const char *op;
    identity_fn is_identity;
} table[] = {
    { "Cast", always },       { "Concat", has_one_input }, { "Dropout", is_inference_dropout },
    { "Expand", always },     { "Flatten", always },       { "Identity", always },
    { "Max", has_one_input }, { "Mean", has_one_input },   { "Min", has_one_input },
    { "Pad", is_empty_pad },  { "Reshape", always },       { "Slice", is_forward_slice },
    { "Squeeze", always },    { "Sum", has_one_input },    { "Transpose", keeps_order },
    { "Unsqueeze", always },
};

static bool is_identity(const struct graph *graph, const struct node *node)
{
    const collage_node *base = &node->base;
    if (base->input_count == 0 || base->inputs[0] == GRAPH_NONE || base->outputs[0] == GRAPH_NONE)
        return false;
    const struct tensor *from = &graph->values[base->inputs[0]].tensor;
    const struct tensor *to = &graph->values[base->outputs[0]].tensor;
    if (from->dtype != to->dtype || !tensor_same_shape(from, to))
        return false;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(table[k].op, base->op_type) == 0)
            return table[k].is_identity(graph, base);
    return false;
}

/* The producer of `from` makes `to` (a model output, which keeps its name) instead. */
static bool move_to_producer(struct graph *graph, value_id from, value_id to)
{
    if (graph->values[from].kind != VALUE_COMPUTED || graph_is_output(graph, from))
        return false;
    node_id producer = graph->values[from].producer;
    const collage_node *base = &graph->nodes[producer].base;
    value_id *outputs = (value_id *)(uintptr_t)base->outputs;
    for (uint32_t k = 0; k < base->output_count; k++)
        if (outputs[k] == from)
            outputs[k] = to;
    graph->values[to].producer = producer;
    graph_replace_uses(graph, from, to);
    return true;
}

collage_status canon_remove_identities(struct graph *graph, bool *changed, struct error *error)
{
    *changed = false;
    for (size_t n = 0; n < graph->node_count; n++) {
        const collage_node *base = &graph->nodes[n].base;
        if (!is_identity(graph, &graph->nodes[n]))
            continue;
        value_id from = base->inputs[0], to = base->outputs[0];
        if (graph_is_output(graph, to)) {
            if (!move_to_producer(graph, from, to))
                continue;
        } else {
            graph_replace_uses(graph, to, from);
        }
        graph_remove_node(graph, (node_id)n);
        *changed = true;
    }
    return *changed ? graph_compact(graph, error) : COLLAGE_OK;
}
