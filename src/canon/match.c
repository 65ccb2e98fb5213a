/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/match.h"

#include <math.h>
#include <string.h>

collage_status match_begin(struct matcher *matcher, struct graph *graph, struct error *error)
{
    *matcher = (struct matcher){ .graph = graph, .node_count = graph->node_count };
    return graph_uses_build(graph, &matcher->uses, error);
}

collage_status match_end(struct matcher *matcher, collage_status status, bool changed,
                         struct error *error)
{
    graph_uses_free(&matcher->uses);
    return status == COLLAGE_OK && changed ? graph_compact(matcher->graph, error) : status;
}

/* ---- nodes ---- */

static const collage_node *node_of(const struct graph *graph, node_id id, const char *op)
{
    const struct node *node = id == GRAPH_NONE ? NULL : &graph->nodes[id];
    return node && node->op && strcmp(node->op->name, op) == 0 ? &node->base : NULL;
}

static bool is_taken(const struct matcher *matcher, node_id id)
{
    for (uint32_t k = 0; k < matcher->count; k++)
        if (matcher->nodes[k] == id)
            return true;
    return false;
}

static const collage_node *take(struct matcher *matcher, node_id id, const char *op)
{
    const collage_node *node = node_of(matcher->graph, id, op);
    if (!node || is_taken(matcher, id))
        return node;
    if (matcher->count == MATCH_NODES)
        return NULL;
    matcher->nodes[matcher->count++] = id;
    return node;
}

const collage_node *match_start(struct matcher *matcher, node_id last, const char *op)
{
    matcher->count = 0;
    return take(matcher, last, op);
}

const collage_node *match_producer(struct matcher *matcher, value_id value, const char *op)
{
    return value == GRAPH_NONE ? NULL : take(matcher, matcher->graph->values[value].producer, op);
}

/* The node of all uses of a value that is not a model output; GRAPH_NONE if there are several. */
static node_id only_user(const struct matcher *matcher, value_id value)
{
    const uint32_t *first = matcher->uses.first;
    if (first[value] == first[value + 1] || graph_is_output(matcher->graph, value))
        return GRAPH_NONE;
    node_id user = matcher->uses.users[first[value]];
    for (uint32_t k = first[value] + 1; k < first[value + 1]; k++)
        if (matcher->uses.users[k] != user)
            return GRAPH_NONE;
    return user;
}

node_id match_only_user(const struct matcher *matcher, value_id value, const char *op)
{
    node_id user = only_user(matcher, value);
    return node_of(matcher->graph, user, op) ? user : GRAPH_NONE;
}

static bool stays_inside(const struct matcher *matcher, value_id value)
{
    if (graph_is_output(matcher->graph, value))
        return false;
    for (uint32_t k = matcher->uses.first[value]; k < matcher->uses.first[value + 1]; k++)
        if (!is_taken(matcher, matcher->uses.users[k]))
            return false;
    return true;
}

bool match_is_closed(const struct matcher *matcher, node_id last)
{
    for (uint32_t n = 0; n < matcher->count; n++) {
        /* Made by this very pass: its users are not known. */
        if (matcher->nodes[n] >= matcher->node_count)
            return false;
        const collage_node *node = &matcher->graph->nodes[matcher->nodes[n]].base;
        for (uint32_t k = 0; k < node->output_count && matcher->nodes[n] != last; k++)
            if (node->outputs[k] != GRAPH_NONE && !stays_inside(matcher, node->outputs[k]))
                return false;
    }
    return true;
}

value_id match_other_operand(const collage_node *node, value_id one)
{
    return node->inputs[0] == one ? node->inputs[1] : node->inputs[0];
}

/* ---- numbers and products ---- */

bool match_number(const struct graph *graph, value_id value, double *number)
{
    if (value == GRAPH_NONE || !graph_is_constant(graph, value) ||
        tensor_elements(&graph->values[value].tensor) != 1)
        return false;
    *number = tensor_get(&graph->values[value].tensor, 0);
    return true;
}

bool match_is_close(double number, double wanted)
{
    return fabs(number - wanted) <= 1e-6 * fabs(wanted);
}

bool match_is_number(const struct graph *graph, value_id value, double wanted)
{
    double number;
    return match_number(graph, value, &number) && match_is_close(number, wanted);
}

static bool add_factor(struct product *out, value_id value)
{
    if (out->count == MATCH_FACTORS)
        return false;
    out->values[out->count++] = value;
    return true;
}

/* The value, once it is known not to be a constant of one element, is a power of one: the base and
 * the exponent; else the value itself and 1. */
static value_id base_of(struct matcher *matcher, value_id value, uint32_t *exponent)
{
    const struct graph *graph = matcher->graph;
    const collage_node *power = node_of(graph, graph->values[value].producer, "Pow");
    *exponent = 1;
    for (uint32_t k = 2; power && k <= 3; k++)
        if (match_is_number(graph, power->inputs[1], k))
            *exponent = k;
    return *exponent > 1 && match_producer(matcher, value, "Pow") ? power->inputs[0] : value;
}

/* A worklist instead of recursion: values that may be products themselves. */
bool match_product(struct matcher *matcher, value_id value, struct product *out)
{
    const struct graph *graph = matcher->graph;
    value_id open[MATCH_NODES] = { value };
    uint32_t count = 1;
    *out = (struct product){ .number = 1 };
    while (count > 0) {
        value_id v = open[--count];
        double number;
        const collage_node *node;
        if (match_number(graph, v, &number)) {
            out->number *= number;
            continue;
        }
        node_id producer = graph->values[v].producer;
        bool opens = producer != GRAPH_NONE && producer < matcher->node_count &&
                     (is_taken(matcher, producer) || only_user(matcher, v) != GRAPH_NONE);
        if (opens && count + 2 <= MATCH_NODES && (node = match_producer(matcher, v, "Mul"))) {
            open[count++] = node->inputs[0];
            open[count++] = node->inputs[1];
            continue;
        }
        node = opens ? node_of(graph, producer, "Div") : NULL;
        if (node && match_number(graph, node->inputs[1], &number) &&
            match_producer(matcher, v, "Div")) {
            out->number /= number;
            open[count++] = node->inputs[0];
            continue;
        }
        uint32_t exponent = 1;
        value_id base = opens ? base_of(matcher, v, &exponent) : v;
        for (uint32_t k = 0; k < exponent; k++)
            if (!add_factor(out, base))
                return false;
    }
    return true;
}

bool match_is_product(const struct product *product, double number, const value_id *values,
                      uint32_t count)
{
    if (product->count != count || !match_is_close(product->number, number))
        return false;
    bool used[MATCH_FACTORS] = { false };
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = 0;
        while (at < count && (used[at] || product->values[at] != values[k]))
            at++;
        if (at == count)
            return false;
        used[at] = true;
    }
    return true;
}

value_id match_one_plus(struct matcher *matcher, value_id value)
{
    const collage_node *sum = match_producer(matcher, value, "Add");
    for (uint32_t k = 0; sum && k < 2; k++)
        if (match_is_number(matcher->graph, sum->inputs[k], 1))
            return sum->inputs[1 - k];
    return GRAPH_NONE;
}

/* ---- the result ---- */

bool match_same_float32(const struct graph *graph, value_id a, value_id b)
{
    const struct tensor *x = &graph->values[a].tensor, *y = &graph->values[b].tensor;
    return x->dtype == COLLAGE_FLOAT32 && y->dtype == COLLAGE_FLOAT32 && tensor_same_shape(x, y);
}

collage_status match_replace(struct matcher *matcher, node_id last, const char *op,
                             const value_id *inputs, uint32_t input_count,
                             const collage_attribute *attributes, uint32_t attribute_count,
                             struct error *error)
{
    struct graph *graph = matcher->graph;
    const char *name = graph->nodes[last].base.name;
    const value_id output = graph->nodes[last].base.outputs[0];
    graph_remove_node(graph, last);
    node_id made = graph_add_node(graph, op_find(op), name, inputs, input_count, &output, 1,
                                  attributes, attribute_count);
    return made == GRAPH_NONE ? error_memory(error) : COLLAGE_OK;
}
