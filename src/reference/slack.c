/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From node to node in the graph's order: what a node may add to the slack of what it reads. Each
 * rounding adds one step, up to MOST_STEPS: in a deep network errors of single steps are made anew
 * in every layer, but do not grow with their number. How loud an operator is (the factor from an
 * error of its input to one of its output) is taken from the reference's values: as loud as it is
 * on the values themselves, unless a bound is known.
 */
#include "reference/slack.h"

#include <math.h>
#include <string.h>

static const double MOST_STEPS = 8;

struct finder {
    const struct graph *graph;
    const struct slack_values *values;
    double *slack; /* of each value; 0 until its node is met */
};

/* ---- values ---- */

static struct tensor value_of(const void *oracle, value_id id)
{
    return oracle_value(oracle, id);
}

struct slack_values slack_values_of(const struct oracle *oracle)
{
    return (struct slack_values){ value_of, oracle };
}

static double slack_of(const struct finder *f, const collage_node *node, uint32_t input)
{
    bool there = input < node->input_count && node->inputs[input] != GRAPH_NONE;
    return there ? f->slack[node->inputs[input]] : 0;
}

static double largest_of(const struct finder *f, value_id id)
{
    const struct tensor tensor = f->values->value(f->values->from, id);
    return tensor_largest(&tensor);
}

/* Sums over all inputs: of their slacks, and of their slacks as parts of their largest values. */
static double sum_of_slacks(const struct finder *f, const collage_node *node)
{
    double sum = 0;
    for (uint32_t k = 0; k < node->input_count; k++)
        sum += slack_of(f, node, k);
    return sum;
}

static double largest_of_slacks(const struct finder *f, const collage_node *node)
{
    double most = 0;
    for (uint32_t k = 0; k < node->input_count; k++)
        most = fmax(most, slack_of(f, node, k));
    return most;
}

static double sum_of_parts(const struct finder *f, const collage_node *node)
{
    double sum = 0;
    for (uint32_t k = 0; k < node->input_count; k++) {
        double slack = slack_of(f, node, k);
        double largest = slack > 0 ? largest_of(f, node->inputs[k]) : 0;
        sum += largest > 0 ? slack / largest : 0;
    }
    return sum;
}

/* Indices, conditions and shapes are right or wrong. */
static bool may_differ(collage_dtype dtype)
{
    return dtype_is_float(dtype) || dtype == COLLAGE_INT8 || dtype == COLLAGE_UINT8 ||
           dtype == COLLAGE_INT16 || dtype == COLLAGE_UINT16 || dtype == COLLAGE_INT32;
}

static void set(struct finder *f, const collage_node *node, uint32_t output, double slack)
{
    value_id id = output < node->output_count ? node->outputs[output] : GRAPH_NONE;
    if (id != GRAPH_NONE && may_differ(f->graph->values[id].tensor.dtype))
        f->slack[id] = slack;
}

/* ---- what rounds to steps ---- */

static void quantize(struct finder *f, const collage_node *node)
{
    double slack = slack_of(f, node, 0);
    double scale = slack > 0 ? largest_of(f, node->inputs[1]) : 1;
    set(f, node, 0, scale > 0 ? fmin(slack / scale + 1, MOST_STEPS) : MOST_STEPS);
}

/* 255 steps are as wide as x. */
static void quantize_dynamically(struct finder *f, const collage_node *node)
{
    double part = sum_of_parts(f, node);
    bool has_scale = part > 0 && node->output_count > 1 && node->outputs[1] != GRAPH_NONE;
    set(f, node, 0, fmin(255 * part + 1, MOST_STEPS));
    set(f, node, 1, has_scale ? part * largest_of(f, node->outputs[1]) : 0);
    set(f, node, 2, part > 0 ? 1 : 0);
}

/* Inputs 0 and 3 are the operands: a step of one is at most a step of the result. */
static void multiply_quantized(struct finder *f, const collage_node *node)
{
    set(f, node, 0, fmin(slack_of(f, node, 0) + slack_of(f, node, 3) + 1, MOST_STEPS));
}

static void dequantize(struct finder *f, const collage_node *node)
{
    double slack = slack_of(f, node, 0);
    set(f, node, 0, slack > 0 ? slack * largest_of(f, node->inputs[1]) : 0);
}

/* ---- what follows ---- */

/* Its derivatives add up to at most a half. */
static void soften(struct finder *f, const collage_node *node)
{
    set(f, node, 0, slack_of(f, node, 0) / 2);
}

/* Elements are moved, or become smaller, or means, or the larger of several. */
static void pass_on(struct finder *f, const collage_node *node)
{
    for (uint32_t k = 0; k < node->output_count; k++)
        set(f, node, k, largest_of_slacks(f, node));
}

static void add_up(struct finder *f, const collage_node *node)
{
    set(f, node, 0, sum_of_slacks(f, node));
}

/* As a part of the largest value, errors are passed on as they are. */
static void follow(struct finder *f, const collage_node *node)
{
    double part = sum_of_parts(f, node);
    for (uint32_t k = 0; k < node->output_count && part > 0; k++)
        if (node->outputs[k] != GRAPH_NONE)
            set(f, node, k, part * largest_of(f, node->outputs[k]));
}

typedef void (*find_fn)(struct finder *f, const collage_node *node);

static const struct rule {
    const char *op;
    find_fn find;
    bool rounds;
} rules[] = {
    { "QuantizeLinear", quantize, true },
    { "DynamicQuantizeLinear", quantize_dynamically, true },
    { "QLinearConv", multiply_quantized, true },
    { "QLinearMatMul", multiply_quantized, true },
    { "DequantizeLinear", dequantize, false },
    { "Softmax", soften, false },
    { "Add", add_up, false },
    { "Sub", add_up, false },
    { "Sum", add_up, false },
    { "AveragePool", pass_on, false },
    { "Clip", pass_on, false },
    { "Concat", pass_on, false },
    { "DepthToSpace", pass_on, false },
    { "Expand", pass_on, false },
    { "Flatten", pass_on, false },
    { "Gather", pass_on, false },
    { "GlobalAveragePool", pass_on, false },
    { "GlobalMaxPool", pass_on, false },
    { "Identity", pass_on, false },
    { "Max", pass_on, false },
    { "MaxPool", pass_on, false },
    { "Min", pass_on, false },
    { "Pad", pass_on, false },
    { "ReduceMax", pass_on, false },
    { "ReduceMean", pass_on, false },
    { "ReduceMin", pass_on, false },
    { "Relu", pass_on, false },
    { "Reshape", pass_on, false },
    { "Sigmoid", pass_on, false },
    { "Slice", pass_on, false },
    { "SpaceToDepth", pass_on, false },
    { "Split", pass_on, false },
    { "Squeeze", pass_on, false },
    { "Tanh", pass_on, false },
    { "Tile", pass_on, false },
    { "Transpose", pass_on, false },
    { "Unsqueeze", pass_on, false },
};

static const struct rule *find_rule(const collage_node *node)
{
    static const struct rule other = { "", follow, false };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (strcmp(rules[k].op, node->op_type) == 0)
            return &rules[k];
    return &other;
}

/* ---- all nodes ---- */

static const collage_node *node_at(const struct graph *graph, const struct region *region, size_t k)
{
    return &graph->nodes[region ? region->nodes[k] : k].base;
}

collage_status slack_find(const struct graph *graph, const struct region *region,
                          const struct slack_values *values, double *slack, struct error *error)
{
    size_t node_count = region ? region->node_count : graph->node_count;
    uint32_t output_count = region ? region->output_count : graph->output_count;
    const value_id *outputs = region ? region->outputs : graph->outputs;
    size_t first = 0; /* nothing before it has slack */
    for (uint32_t k = 0; k < output_count; k++)
        slack[k] = 0;
    while (first < node_count && !find_rule(node_at(graph, region, first))->rounds)
        first++;
    if (first == node_count)
        return COLLAGE_OK;
    struct finder f = { .graph = graph, .values = values };
    f.slack = memory_alloc(graph->value_count * sizeof *f.slack);
    if (!f.slack)
        return error_memory(error);
    for (size_t k = first; k < node_count; k++) {
        const collage_node *node = node_at(graph, region, k);
        find_rule(node)->find(&f, node);
    }
    for (uint32_t k = 0; k < output_count; k++)
        slack[k] = f.slack[outputs[k]];
    memory_free(f.slack);
    return COLLAGE_OK;
}
