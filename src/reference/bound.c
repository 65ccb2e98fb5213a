/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From node to node of a region: for each value the sum of the absolute values of all terms that it
 * is made of, and how many roundings lie on the way of one. Both grow only a little behind the one
 * sum of a chain: a bias, a residual, a scale. Operators that move elements do it with the sums,
 * too.
 */
#include "reference/bound.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Beside the k of the sum: the bias, a scale that is folded into the weights, the reference's own
 * rounding. */
static const double MORE_ROUNDINGS = 4;
static const double UNIT = 0x1p-24;

struct bounds {
    const struct graph *graph;
    struct slack_values values;
    struct tensor *sums; /* of each node whose inputs were exact; data NULL: not found yet */
};

/* What is known of a value: exact if it comes from outside. */
struct reach {
    enum { REACH_EXACT, REACH_SUM, REACH_UNKNOWN } kind;
    const float *sum;
    double roundings;
};

struct finder {
    struct bounds *bounds;
    struct arena *arena;
    struct reach *reaches; /* of each value */
    struct error *error;
};

/* ---- tensors ---- */

static struct tensor value_of(const struct finder *f, value_id id)
{
    return f->bounds->values.value(f->bounds->values.from, id);
}

static collage_status make_absolute(const struct finder *f, value_id id, struct tensor *out)
{
    struct tensor value = value_of(f, id);
    const float *from = value.data;
    float *to = arena_array(f->arena, (size_t)tensor_elements(&value), sizeof *to);
    if (!to)
        return error_memory(f->error);
    for (int64_t k = 0; k < tensor_elements(&value); k++)
        to[k] = fabsf(from[k]);
    *out = value;
    out->data = to;
    return COLLAGE_OK;
}

/* The terms of a value: its sum, or itself. */
static collage_status terms_of(const struct finder *f, value_id id, struct tensor *out)
{
    const struct reach *reach = &f->reaches[id];
    if (reach->kind != REACH_SUM)
        return make_absolute(f, id, out);
    *out = value_of(f, id);
    out->data = (void *)(uintptr_t)reach->sum;
    return COLLAGE_OK;
}

/* The first output of `op`, with the node's attributes, on these inputs (data NULL: left out). */
static collage_status compute(const struct finder *f, const struct op *op, const collage_node *node,
                              const struct tensor *inputs, struct tensor *out)
{
    const struct tensor **given = arena_array(f->arena, node->input_count, sizeof *given);
    if (!given)
        return error_memory(f->error);
    for (uint32_t k = 0; k < node->input_count; k++)
        given[k] = node->inputs[k] == GRAPH_NONE ? NULL : &inputs[k];
    const struct op_call call = { node, node->input_count, 1, given, out };
    collage_status status = op_infer(op, &call, f->error);
    if (status != COLLAGE_OK)
        return status;
    out->data = memory_alloc_aligned((size_t)tensor_bytes(out));
    if (!out->data)
        return error_memory(f->error);
    status = op->compute(&call, f->error);
    if (status != COLLAGE_OK) {
        memory_free_aligned(out->data);
        out->data = NULL;
    }
    return status;
}

/* As compute, with the result in the arena. */
static collage_status compute_here(const struct finder *f, const char *name,
                                   const collage_node *node, const struct tensor *inputs,
                                   const float **sum)
{
    struct tensor out = { 0 };
    collage_status status = compute(f, op_find(name), node, inputs, &out);
    if (status != COLLAGE_OK)
        return status;
    *sum = arena_copy(f->arena, out.data, (size_t)tensor_bytes(&out));
    memory_free_aligned(out.data);
    return *sum ? COLLAGE_OK : error_memory(f->error);
}

/* ---- sums of products ---- */

/* Products in each sum; 0: not known. */
static double sum_length(const struct finder *f, const collage_node *node)
{
    const struct tensor a = value_of(f, node->inputs[0]), b = value_of(f, node->inputs[1]);
    if (strcmp(node->op_type, "Conv") == 0)
        return (double)tensor_elements(&b) / (double)(b.dims[0] > 0 ? b.dims[0] : 1);
    if (strcmp(node->op_type, "ConvTranspose") == 0)
        return (double)tensor_elements(&b) / (double)(b.dims[1] > 0 ? b.dims[1] : 1);
    if (strcmp(node->op_type, "MatMul") == 0)
        return a.rank > 0 ? (double)a.dims[a.rank - 1] : 0;
    bool positive =
        collage_node_float(node, "alpha", 1) >= 0 && collage_node_float(node, "beta", 1) >= 0;
    if (strcmp(node->op_type, "Gemm") == 0 && positive)
        return (double)a.dims[collage_node_int(node, "transA", 0) ? 0 : 1];
    return 0;
}

static collage_status sum_up(struct finder *f, node_id id, const collage_node *node,
                             struct reach *out)
{
    struct tensor *kept = &f->bounds->sums[id];
    double length = sum_length(f, node);
    out->kind = REACH_UNKNOWN;
    for (uint32_t k = 0; k < node->input_count; k++)
        if (node->inputs[k] != GRAPH_NONE && f->reaches[node->inputs[k]].kind != REACH_EXACT)
            return COLLAGE_OK;
    if (length <= 0)
        return COLLAGE_OK;
    if (!kept->data) {
        struct tensor *inputs = arena_array(f->arena, node->input_count, sizeof *inputs);
        collage_status status = inputs ? COLLAGE_OK : error_memory(f->error);
        for (uint32_t k = 0; k < node->input_count && status == COLLAGE_OK; k++)
            if (node->inputs[k] != GRAPH_NONE)
                status = make_absolute(f, node->inputs[k], &inputs[k]);
        if (status == COLLAGE_OK)
            status = compute(f, f->bounds->graph->nodes[id].op, node, inputs, kept);
        if (status != COLLAGE_OK)
            return status;
    }
    *out = (struct reach){ REACH_SUM, kept->data, length + MORE_ROUNDINGS };
    return COLLAGE_OK;
}

/* ---- what follows ---- */

static double roundings_of(const struct finder *f, value_id id)
{
    return f->reaches[id].kind == REACH_SUM ? f->reaches[id].roundings : 0;
}

/* Add and Sub: terms come together. Mul: each with each. */
static collage_status combine(struct finder *f, const collage_node *node, const char *op,
                              struct reach *out)
{
    struct tensor inputs[2];
    double a = roundings_of(f, node->inputs[0]), b = roundings_of(f, node->inputs[1]);
    collage_status status = terms_of(f, node->inputs[0], &inputs[0]);
    if (status == COLLAGE_OK)
        status = terms_of(f, node->inputs[1], &inputs[1]);
    if (status == COLLAGE_OK)
        status = compute_here(f, op, node, inputs, &out->sum);
    out->kind = REACH_SUM;
    out->roundings = 1 + (strcmp(op, "Mul") == 0 ? a + b : fmax(a, b));
    return status;
}

static collage_status add(struct finder *f, const collage_node *node, struct reach *out)
{
    return combine(f, node, "Add", out);
}

static collage_status multiply(struct finder *f, const collage_node *node, struct reach *out)
{
    return combine(f, node, "Mul", out);
}

static bool others_are_exact(const struct finder *f, const collage_node *node)
{
    for (uint32_t k = 1; k < node->input_count; k++)
        if (node->inputs[k] != GRAPH_NONE && f->reaches[node->inputs[k]].kind != REACH_EXACT)
            return false;
    return true;
}

/* Two arguments come no further apart. */
static collage_status pass_on(struct finder *f, const collage_node *node, struct reach *out)
{
    bool steep = strcmp(node->op_type, "LeakyRelu") == 0 &&
                 !(fabsf(collage_node_float(node, "alpha", 0.01F)) <= 1);
    if (others_are_exact(f, node) && !steep)
        *out = f->reaches[node->inputs[0]];
    return COLLAGE_OK;
}

/* Elements are moved, or the largest of some is taken. */
static collage_status move(struct finder *f, const collage_node *node, struct reach *out)
{
    const struct reach *from = &f->reaches[node->inputs[0]];
    if (!others_are_exact(f, node) || node->output_count != 1 || from->kind != REACH_SUM)
        return COLLAGE_OK;
    struct tensor *inputs = arena_array(f->arena, node->input_count, sizeof *inputs);
    collage_status status = inputs ? COLLAGE_OK : error_memory(f->error);
    for (uint32_t k = 1; k < node->input_count && status == COLLAGE_OK; k++)
        if (node->inputs[k] != GRAPH_NONE)
            inputs[k] = value_of(f, node->inputs[k]);
    if (status == COLLAGE_OK)
        status = terms_of(f, node->inputs[0], &inputs[0]);
    if (status == COLLAGE_OK)
        status = compute_here(f, node->op_type, node, inputs, &out->sum);
    out->kind = REACH_SUM;
    out->roundings = from->roundings;
    return status;
}

static const struct rule {
    const char *op;
    collage_status (*find)(struct finder *f, const collage_node *node, struct reach *out);
    bool exact; /* what it makes of exact inputs is exact */
} rules[] = {
    { "Add", add, false },       { "Sub", add, false },     { "Mul", multiply, false },
    { "Relu", pass_on, true },   { "Clip", pass_on, true }, { "LeakyRelu", pass_on, false },
    { "Identity", move, true },  { "Flatten", move, true }, { "MaxPool", move, true },
    { "Reshape", move, true },   { "Squeeze", move, true }, { "Transpose", move, true },
    { "Unsqueeze", move, true },
};

static const struct rule *find_rule(const collage_node *node)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (strcmp(rules[k].op, node->op_type) == 0)
            return &rules[k];
    return NULL;
}

/* ---- all nodes ---- */

static bool all_exact(const struct finder *f, const collage_node *node)
{
    return f->reaches[node->inputs[0]].kind == REACH_EXACT && others_are_exact(f, node);
}

static bool any_unknown(const struct finder *f, const collage_node *node)
{
    for (uint32_t k = 0; k < node->input_count; k++)
        if (node->inputs[k] != GRAPH_NONE && f->reaches[node->inputs[k]].kind == REACH_UNKNOWN)
            return true;
    return false;
}

static bool is_float32(const struct finder *f, value_id id)
{
    return id != GRAPH_NONE && f->bounds->graph->values[id].tensor.dtype == COLLAGE_FLOAT32;
}

static collage_status find_node(struct finder *f, node_id id)
{
    const struct node *node = &f->bounds->graph->nodes[id];
    const collage_node *base = &node->base;
    const struct rule *rule = find_rule(base);
    struct reach reach = { .kind = REACH_UNKNOWN };
    collage_status status = COLLAGE_OK;
    bool plain = base->input_count > 0 && is_float32(f, base->inputs[0]) &&
                 base->output_count > 0 && is_float32(f, base->outputs[0]) && !any_unknown(f, base);
    if (plain && (node->op->flags & OP_SUMS))
        status = sum_up(f, id, base, &reach);
    else if (plain && rule && rule->exact && all_exact(f, base))
        reach.kind = REACH_EXACT;
    else if (plain && rule)
        status = rule->find(f, base, &reach);
    for (uint32_t k = 0; k < base->output_count; k++)
        if (base->outputs[k] != GRAPH_NONE)
            f->reaches[base->outputs[k]] = reach;
    return status;
}

static collage_status bound_output(const struct finder *f, value_id id, const float **out)
{
    const struct reach *reach = &f->reaches[id];
    const struct tensor *tensor = &f->bounds->graph->values[id].tensor;
    double share = reach->roundings * UNIT;
    *out = NULL;
    if (reach->kind != REACH_SUM || share >= 1)
        return COLLAGE_OK;
    double gamma = share / (1 - share);
    int64_t count = tensor_elements(tensor);
    float *bound = arena_array(f->arena, (size_t)count, sizeof *bound);
    if (!bound)
        return error_memory(f->error);
    for (int64_t k = 0; k < count; k++) /* denormal products may be taken for zero */
        bound[k] = (float)(gamma * (double)reach->sum[k] + reach->roundings * (double)FLT_MIN);
    *out = bound;
    return COLLAGE_OK;
}

collage_status bounds_find(struct bounds *bounds, const struct region *region, struct arena *arena,
                           const float **out, struct error *error)
{
    struct finder f = { .bounds = bounds, .arena = arena, .error = error };
    f.reaches = memory_alloc(bounds->graph->value_count * sizeof *f.reaches);
    if (!f.reaches)
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < region->node_count && status == COLLAGE_OK; k++)
        status = find_node(&f, region->nodes[k]);
    for (uint32_t k = 0; k < region->output_count && status == COLLAGE_OK; k++)
        status = bound_output(&f, region->outputs[k], &out[k]);
    memory_free(f.reaches);
    return status;
}

collage_status bounds_create(const struct graph *graph, const struct slack_values *values,
                             struct bounds **out, struct error *error)
{
    *out = NULL;
    struct bounds *bounds = memory_alloc(sizeof *bounds);
    if (!bounds)
        return error_memory(error);
    *bounds = (struct bounds){ .graph = graph, .values = *values };
    bounds->sums = memory_alloc(graph->node_count * sizeof *bounds->sums);
    if (!bounds->sums) {
        memory_free(bounds);
        return error_memory(error);
    }
    *out = bounds;
    return COLLAGE_OK;
}

void bounds_destroy(struct bounds *bounds)
{
    if (!bounds)
        return;
    for (size_t n = 0; n < bounds->graph->node_count; n++)
        memory_free_aligned(bounds->sums[n].data);
    memory_free(bounds->sums);
    memory_free(bounds);
}
