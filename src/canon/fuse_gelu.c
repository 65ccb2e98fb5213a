/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises GELU where exporters have spelt it out: x / sqrt(2) -> Erf -> + 1 -> * x -> * 0.5, in
 * any order of the products (Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv
 * 1606.08415). The same function, so only the rounding of its four elementary steps changes. As one
 * operator it can be fused by libraries that know GELU but not Erf.
 */
#include <math.h>
#include <string.h>

#include "canon/canon.h"

struct finder {
    const struct graph *graph;
    struct graph_uses uses;
};

static bool is_constant(const struct graph *graph, value_id id, double wanted)
{
    if (id == GRAPH_NONE || !graph_is_constant(graph, id))
        return false;
    const struct tensor *tensor = &graph->values[id].tensor;
    return tensor_elements(tensor) == 1 &&
           fabs(tensor_get(tensor, 0) - wanted) <= 1e-6 * fabs(wanted);
}

static const collage_node *node_of(const struct graph *graph, node_id id, const char *op)
{
    const struct node *node = id == GRAPH_NONE ? NULL : &graph->nodes[id];
    return node && node->op && strcmp(node->op->name, op) == 0 ? &node->base : NULL;
}

/* The node that makes the value, if it is one of that operator. */
static const collage_node *producer(const struct graph *graph, value_id id, const char *op)
{
    return id == GRAPH_NONE ? NULL : node_of(graph, graph->values[id].producer, op);
}

/* The only user of a value that is not a model output; GRAPH_NONE if there are others. */
static node_id only_user(const struct finder *finder, value_id id)
{
    if (finder->uses.first[id + 1] - finder->uses.first[id] != 1 ||
        graph_is_output(finder->graph, id))
        return GRAPH_NONE;
    return finder->uses.users[finder->uses.first[id]];
}

static value_id other_operand(const collage_node *node, value_id one)
{
    return node->inputs[0] == one ? node->inputs[1] : node->inputs[0];
}

/* If `id` is x times `factor`, x; else GRAPH_NONE. */
static value_id scaled(const struct graph *graph, value_id id, double factor)
{
    const collage_node *node = producer(graph, id, "Div");
    if (node && is_constant(graph, node->inputs[1], 1 / factor))
        return node->inputs[0];
    node = producer(graph, id, "Mul");
    for (uint32_t k = 0; node && k < 2; k++)
        if (is_constant(graph, node->inputs[k], factor))
            return node->inputs[1 - k];
    return GRAPH_NONE;
}

/* x * (1 + erf) * 0.5 from the value of 1 + erf on: the last node, or GRAPH_NONE. */
static node_id find_products(const struct finder *finder, value_id one_plus_erf, value_id x)
{
    const struct graph *graph = finder->graph;
    node_id first = only_user(finder, one_plus_erf);
    const collage_node *product = node_of(graph, first, "Mul");
    if (!product)
        return GRAPH_NONE;
    value_id factor = other_operand(product, one_plus_erf);
    if (scaled(graph, factor, 0.5) == x)
        return first;
    bool times_x = factor == x;
    if (!times_x && !is_constant(graph, factor, 0.5))
        return GRAPH_NONE;
    node_id second = only_user(finder, product->outputs[0]);
    const collage_node *last = node_of(graph, second, "Mul");
    if (last) {
        factor = other_operand(last, product->outputs[0]);
        return (times_x ? is_constant(graph, factor, 0.5) : factor == x) ? second : GRAPH_NONE;
    }
    last = node_of(graph, second, "Div");
    return last && times_x && is_constant(graph, last->inputs[1], 2) ? second : GRAPH_NONE;
}

/* The last node of the GELU around an Erf node, and its x; GRAPH_NONE if it is not one. */
static node_id find_gelu(const struct finder *finder, const collage_node *erf, value_id *x)
{
    const struct graph *graph = finder->graph;
    *x = scaled(graph, erf->inputs[0], sqrt(0.5));
    if (*x == GRAPH_NONE)
        return GRAPH_NONE;
    const collage_node *sum = node_of(graph, only_user(finder, erf->outputs[0]), "Add");
    if (!sum || !is_constant(graph, other_operand(sum, erf->outputs[0]), 1))
        return GRAPH_NONE;
    node_id last = find_products(finder, sum->outputs[0], *x);
    if (last == GRAPH_NONE)
        return GRAPH_NONE;
    const struct tensor *from = &graph->values[*x].tensor;
    const struct tensor *to = &graph->values[graph->nodes[last].base.outputs[0]].tensor;
    return from->dtype == to->dtype && tensor_same_shape(from, to) ? last : GRAPH_NONE;
}

static collage_status replace(struct graph *graph, node_id last, value_id x, struct error *error)
{
    const collage_node *base = &graph->nodes[last].base;
    const value_id output = base->outputs[0];
    const char *name = base->name;
    graph_remove_node(graph, last);
    node_id made = graph_add_node(graph, op_find("Gelu"), name, &x, 1, &output, 1, NULL, 0);
    return made == GRAPH_NONE ? error_memory(error) : COLLAGE_OK;
}

collage_status canon_fuse_gelu(struct graph *graph, bool *changed, struct error *error)
{
    struct finder finder = { .graph = graph };
    collage_status status = graph_uses_build(graph, &finder.uses, error);
    size_t count = graph->node_count; /* those that are added come behind */
    for (size_t n = 0; n < count && status == COLLAGE_OK; n++) {
        const collage_node *erf = node_of(graph, (node_id)n, "Erf");
        value_id x;
        node_id last = erf ? find_gelu(&finder, erf, &x) : GRAPH_NONE;
        if (last == GRAPH_NONE)
            continue;
        status = replace(graph, last, x, error);
        *changed = true;
    }
    graph_uses_free(&finder.uses);
    if (status == COLLAGE_OK && *changed)
        status = graph_compact(graph, error);
    return status;
}
