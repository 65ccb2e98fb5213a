/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises RMSNormalization (Zhang and Sennrich, "Root Mean Square Layer Normalization", arXiv
 * 1910.07467), x / sqrt(mean(x^2) + epsilon) * scale, and LayerNormalization (Ba et al., "Layer
 * Normalization", arXiv 1607.06450), which is the same of x - mean(x), with a bias behind. The
 * means are over the last dimensions. The same functions; only rounding may change.
 */
#include <math.h>
#include <string.h>

#include "canon/canon.h"
#include "canon/match.h"

/* Ones take the place of a scale that is not there, up to this size. */
static const int64_t ONES_LIMIT = 1 << 16;

struct norm {
    value_id x, scale, bias; /* scale and bias: GRAPH_NONE if there is none */
    double epsilon;
    int32_t axis; /* the first dimension of those that the means are over */
    node_id last;
};

/* For a ReduceMean over the dimensions from an axis on, that are kept as ones: its input. */
static value_id mean_of(struct matcher *matcher, value_id value, int32_t *axis)
{
    const collage_node *mean = match_producer(matcher, value, "ReduceMean");
    if (!mean || mean->input_count != 2 || collage_node_int(mean, "keepdims", 1) != 1 ||
        mean->inputs[1] == GRAPH_NONE || !graph_is_constant(matcher->graph, mean->inputs[1]))
        return GRAPH_NONE;
    const struct tensor *x = &matcher->graph->values[mean->inputs[0]].tensor;
    const struct tensor *axes = &matcher->graph->values[mean->inputs[1]].tensor;
    int64_t count = tensor_elements(axes);
    uint32_t named = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t a = tensor_get_int(axes, k);
        named |= 1u << (a < 0 ? a + x->rank : a); /* inference has checked the range */
    }
    *axis = x->rank - (int32_t)count;
    uint32_t last_ones = (1u << x->rank) - (1u << (*axis < 0 ? 0 : *axis));
    return count > 0 && *axis >= 0 && named == last_ones ? mean->inputs[0] : GRAPH_NONE;
}

/* For mean(d^2) + epsilon: d. */
static value_id variance_of(struct matcher *matcher, value_id value, struct norm *norm)
{
    const collage_node *sum = match_producer(matcher, value, "Add");
    if (!sum)
        return GRAPH_NONE;
    uint32_t k = match_number(matcher->graph, sum->inputs[1], &norm->epsilon) ? 0 : 1;
    if (k == 1 && !match_number(matcher->graph, sum->inputs[0], &norm->epsilon))
        return GRAPH_NONE;
    struct product square;
    value_id squares = mean_of(matcher, sum->inputs[k], &norm->axis);
    if (squares == GRAPH_NONE || !match_product(matcher, squares, &square) || square.count != 2 ||
        square.number != 1 || square.values[0] != square.values[1])
        return GRAPH_NONE;
    return norm->epsilon >= 0 && isfinite(norm->epsilon) ? square.values[0] : GRAPH_NONE;
}

/* For (mean(d^2) + epsilon) ^ power, power 0.5 or -0.5: d. */
static value_id deviation_of(struct matcher *matcher, value_id value, double power,
                             struct norm *norm)
{
    const struct graph *graph = matcher->graph;
    const collage_node *node = match_producer(matcher, value, "Pow");
    if (node)
        return match_is_number(graph, node->inputs[1], power)
                   ? variance_of(matcher, node->inputs[0], norm)
                   : GRAPH_NONE;
    if (power < 0) {
        value_id inner = GRAPH_NONE;
        if ((node = match_producer(matcher, value, "Reciprocal")))
            inner = node->inputs[0];
        else if ((node = match_producer(matcher, value, "Div")) &&
                 match_is_number(graph, node->inputs[0], 1))
            inner = node->inputs[1];
        return inner == GRAPH_NONE ? GRAPH_NONE : deviation_of(matcher, inner, -power, norm);
    }
    node = match_producer(matcher, value, "Sqrt");
    return node ? variance_of(matcher, node->inputs[0], norm) : GRAPH_NONE;
}

/* The core, d / sqrt(mean(d^2) + epsilon), that ends in this Div or Mul. */
static bool find_core(struct matcher *matcher, node_id last, struct norm *norm)
{
    const collage_node *node = match_start(matcher, last, "Div");
    norm->last = last;
    if (node) {
        norm->x = node->inputs[0];
        return deviation_of(matcher, node->inputs[1], 0.5, norm) == norm->x;
    }
    for (uint32_t k = 0; k < 2; k++) {
        node = match_start(matcher, last, "Mul");
        norm->x = node ? node->inputs[1 - k] : GRAPH_NONE;
        if (node && deviation_of(matcher, node->inputs[k], -0.5, norm) == norm->x)
            return true;
    }
    return false;
}

/* d is x - mean(x), and nothing else uses it: then x is the operand. */
static bool subtracts_mean(struct matcher *matcher, struct norm *norm)
{
    const uint32_t taken = matcher->count;
    const collage_node *difference = match_producer(matcher, norm->x, "Sub");
    int32_t axis;
    if (difference && mean_of(matcher, difference->inputs[1], &axis) == difference->inputs[0] &&
        axis == norm->axis && match_is_closed(matcher, norm->last)) {
        norm->x = difference->inputs[0];
        return true;
    }
    matcher->count = taken;
    return false;
}

/* ---- scale and bias ---- */

/* The constant as one of the normalised dimensions' shape, with its contents, or GRAPH_NONE. */
static value_id as_inner(struct graph *graph, value_id value, const struct norm *norm)
{
    const struct tensor *x = &graph->values[norm->x].tensor;
    if (!graph_is_constant(graph, value))
        return GRAPH_NONE;
    struct tensor inner = graph->values[value].tensor;
    int32_t rank = x->rank - norm->axis, extra = inner.rank - rank;
    if (extra < 0 || inner.dtype != COLLAGE_FLOAT32 ||
        memcmp(inner.dims + extra, x->dims + norm->axis, (size_t)rank * sizeof *x->dims) != 0)
        return GRAPH_NONE;
    for (int32_t k = 0; k < extra; k++)
        if (inner.dims[k] != 1)
            return GRAPH_NONE;
    if (extra == 0)
        return value;
    memmove(inner.dims, inner.dims + extra, (size_t)rank * sizeof *inner.dims);
    inner.rank = rank;
    const char *name = graph_fresh_name(graph, graph->values[value].name);
    value_id made = name ? graph_add_value(graph, name, VALUE_CONSTANT, &inner) : GRAPH_NONE;
    if (made != GRAPH_NONE)
        graph->values[made].stands_for = graph->values[value].stands_for;
    return made;
}

/* If the last node's result goes only to a node of that operator with a constant of the right
 * shape: that constant; the node becomes the last. */
static value_id take_constant(struct matcher *matcher, const char *op, struct norm *norm)
{
    struct graph *graph = matcher->graph;
    value_id result = graph->nodes[norm->last].base.outputs[0];
    node_id user = match_only_user(matcher, result, op);
    if (user == GRAPH_NONE)
        return GRAPH_NONE;
    const collage_node *node = &graph->nodes[user].base;
    if (!match_same_float32(graph, norm->x, node->outputs[0]))
        return GRAPH_NONE;
    value_id constant = as_inner(graph, match_other_operand(node, result), norm);
    if (constant != GRAPH_NONE)
        norm->last = user;
    return constant;
}

static value_id make_ones(struct graph *graph, const struct norm *norm, struct error *error)
{
    const struct tensor *x = &graph->values[norm->x].tensor;
    const value_id result = graph->nodes[norm->last].base.outputs[0];
    struct tensor ones = { .dtype = COLLAGE_FLOAT32, .rank = x->rank - norm->axis };
    memcpy(ones.dims, x->dims + norm->axis, (size_t)ones.rank * sizeof *ones.dims);
    const char *wanted = arena_format(graph->arena, "%s/ones", graph->values[result].name);
    const char *name = wanted ? graph_fresh_name(graph, wanted) : NULL;
    float *data = arena_alloc(graph->arena, (size_t)tensor_bytes(&ones));
    value_id made = GRAPH_NONE;
    if (name && data) {
        for (int64_t k = 0; k < tensor_elements(&ones); k++)
            data[k] = 1;
        ones.data = data;
        made = graph_add_value(graph, name, VALUE_CONSTANT, &ones);
    }
    if (made == GRAPH_NONE)
        error_memory(error);
    return made;
}

/* ---- the pass ---- */

static bool is_small_float32(const struct graph *graph, const struct norm *norm)
{
    const struct tensor *x = &graph->values[norm->x].tensor;
    int64_t count = 1;
    for (int32_t k = norm->axis; k < x->rank; k++)
        count *= x->dims[k];
    return count > 0 && count <= ONES_LIMIT &&
           match_same_float32(graph, norm->x, graph->nodes[norm->last].base.outputs[0]);
}

static collage_status fuse(struct matcher *matcher, struct norm *norm, bool centred,
                           struct error *error)
{
    struct graph *graph = matcher->graph;
    norm->scale = take_constant(matcher, "Mul", norm);
    norm->bias = centred ? take_constant(matcher, "Add", norm) : GRAPH_NONE;
    if (norm->scale == GRAPH_NONE)
        norm->scale = make_ones(graph, norm, error);
    if (norm->scale == GRAPH_NONE)
        return COLLAGE_ERROR_MEMORY;
    const value_id inputs[] = { norm->x, norm->scale, norm->bias };
    const collage_attribute attributes[] = {
        { .name = "axis",
          .kind = COLLAGE_ATTRIBUTE_INT,
          .i = norm->axis - graph->values[norm->x].tensor.rank },
        { .name = "epsilon", .kind = COLLAGE_ATTRIBUTE_FLOAT, .f = (float)norm->epsilon },
    };
    return match_replace(matcher, norm->last, centred ? "LayerNormalization" : "RMSNormalization",
                         inputs, norm->bias == GRAPH_NONE ? 2 : 3, attributes, 2, error);
}

collage_status canon_fuse_normalization(struct graph *graph, bool *changed, struct error *error)
{
    struct matcher matcher;
    *changed = false;
    collage_status status = match_begin(&matcher, graph, error);
    for (size_t n = 0; n < matcher.node_count && status == COLLAGE_OK; n++) {
        struct norm norm = { 0 };
        if (!find_core(&matcher, (node_id)n, &norm))
            continue;
        bool centred = subtracts_mean(&matcher, &norm);
        if (!match_is_closed(&matcher, (node_id)n) || !is_small_float32(graph, &norm))
            continue;
        status = fuse(&matcher, &norm, centred, error);
        *changed = true;
    }
    return match_end(&matcher, status, *changed, error);
}
