/* SPDX-License-Identifier: Apache-2.0 */
#include "light_graph.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---- weights that differ ---- */

static bool is_op(const struct graph *graph, node_id node, const char *name)
{
    return strcmp(graph->nodes[node].op->name, name) == 0;
}

/* What ConstantOfShape has become at import, and was too large to be folded there. */
static bool makes_weights(const struct graph *graph, node_id node)
{
    const collage_node *base = &graph->nodes[node].base;
    if (!is_op(graph, node, "Expand"))
        return false;
    for (uint32_t k = 0; k < base->input_count; k++)
        if (!graph_is_constant(graph, base->inputs[k]))
            return false;
    return graph->values[base->outputs[0]].tensor.dtype == COLLAGE_FLOAT32;
}

/* Half the width of the interval from which the weights are drawn; 0: they are no factors of a
 * product. Their variance is then 1 / the number of terms of each sum. */
static double product_range(const struct graph *graph, value_id value)
{
    const struct tensor *w = &graph->values[value].tensor;
    for (node_id n = 0; n < graph->node_count; n++) {
        const collage_node *base = &graph->nodes[n].base;
        if (base->input_count < 2 || base->inputs[1] != value || w->rank < 2)
            continue;
        int64_t terms = 0;
        if (is_op(graph, n, "Conv"))
            terms = tensor_elements(w) / w->dims[0];
        else if (is_op(graph, n, "Gemm"))
            terms = w->dims[collage_node_int(base, "transB", 0) ? 1 : 0];
        if (terms > 0)
            return sqrt(3 / (double)terms);
    }
    return 0;
}

static collage_status scatter_value(struct graph *graph, value_id value, struct error *error)
{
    struct tensor *tensor = &graph->values[value].tensor;
    float *data = arena_alloc(graph->arena, (size_t)tensor_bytes(tensor));
    if (!data)
        return error_memory(error);
    double range = product_range(graph, value);
    double centre = range > 0 ? 0 : 1;
    uint64_t state = value;
    range = range > 0 ? range : 0.5;
    int64_t count = tensor_elements(tensor);
    for (int64_t i = 0; i < count; i++) {
        double unit = (double)(splitmix64(&state) >> 40) * 0x1p-23 - 1;
        data[i] = (float)(centre + range * unit);
    }
    tensor->data = data;
    return COLLAGE_OK;
}

collage_status light_scatter(struct graph *graph, struct error *error)
{
    for (node_id n = 0; n < graph->node_count; n++) {
        if (!makes_weights(graph, n))
            continue;
        struct value *value = &graph->values[graph->nodes[n].base.outputs[0]];
        value->kind = VALUE_CONSTANT;
        value->producer = GRAPH_NONE;
        graph_remove_node(graph, n);
    }
    collage_status status = graph_compact(graph, error);
    for (value_id v = 0; v < graph->value_count && status == COLLAGE_OK; v++) {
        const struct value *value = &graph->values[v];
        if (value->kind == VALUE_CONSTANT && value->tensor.dtype == COLLAGE_FLOAT32 &&
            value->tensor.rank > 0)
            status = scatter_value(graph, v, error);
    }
    return status;
}

/* ---- what goes into a Softmax ---- */

/* The Softmax that gives this output, directly or through views; GRAPH_NONE if none does. */
static node_id find_softmax(const struct graph *graph, value_id value)
{
    while (graph->values[value].kind == VALUE_COMPUTED) {
        node_id producer = graph->values[value].producer;
        if (is_op(graph, producer, "Softmax"))
            return producer;
        if (!(graph->nodes[producer].op->flags & OP_VIEW))
            break;
        value = graph->nodes[producer].base.inputs[0];
    }
    return GRAPH_NONE;
}

/* Which of the outputs it is; GRAPH_NONE if it is none. */
static uint32_t find_port(const value_id *outputs, uint32_t count, value_id value)
{
    for (uint32_t k = 0; k < count; k++)
        if (outputs[k] == value)
            return k;
    return GRAPH_NONE;
}

collage_status light_show_logits(struct graph *graph, struct error *error)
{
    uint32_t count = graph->output_count;
    value_id *outputs = memory_alloc((size_t)2 * count * sizeof *outputs);
    if (!outputs)
        return error_memory(error);
    memcpy(outputs, graph->outputs, count * sizeof *outputs);
    for (uint32_t k = 0; k < graph->output_count; k++) {
        node_id softmax = find_softmax(graph, graph->outputs[k]);
        if (softmax == GRAPH_NONE)
            continue;
        value_id logits = graph->nodes[softmax].base.inputs[0];
        if (graph->values[logits].kind == VALUE_COMPUTED &&
            find_port(outputs, count, logits) == GRAPH_NONE)
            outputs[count++] = logits;
    }
    collage_status status = graph_set_outputs(graph, outputs, count, error);
    memory_free(outputs);
    return status;
}

/* ---- comparing ---- */

static collage_status compare_output(const struct graph *graph, uint32_t port,
                                     const struct tensor *actual, const struct tensor *expected,
                                     double tolerance, double *worst, struct error *error)
{
    struct tensor_difference difference = tensor_compare(actual, expected);
    *worst = fmax(*worst, difference.error);
    if (difference.error <= tolerance)
        return COLLAGE_OK;
    return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                     "output '%s' differs by %.2g of its largest value at element %lld (%.9g, "
                     "expected %.9g)",
                     graph->values[graph->outputs[port]].name, difference.error,
                     (long long)difference.index, difference.actual, difference.expected);
}

/* The reference's Softmax of the run's own logits; what comes behind it are views. */
static collage_status compare_softmax(const struct graph *graph, node_id softmax, uint32_t port,
                                      const struct tensor *actual, const struct tensor *logits,
                                      double tolerance, double *worst, struct error *error)
{
    const struct node *node = &graph->nodes[softmax];
    struct tensor expected = graph->values[node->base.outputs[0]].tensor;
    const struct tensor *inputs[] = { logits };
    const struct op_call call = { &node->base, 1, 1, inputs, &expected };
    expected.data = memory_alloc_aligned((size_t)tensor_bytes(&expected));
    if (!expected.data)
        return error_memory(error);
    collage_status status = node->op->compute(&call, error);
    struct tensor shown = *actual;
    shown.data = expected.data;
    if (status == COLLAGE_OK)
        status = compare_output(graph, port, actual, &shown, tolerance, worst, error);
    memory_free_aligned(expected.data);
    return status;
}

collage_status light_compare(const struct graph *graph, const struct oracle *oracle,
                             const struct tensor *actual, double tolerance, double *worst,
                             struct error *error)
{
    collage_status status = COLLAGE_OK;
    *worst = 0;
    for (uint32_t k = 0; k < graph->output_count && status == COLLAGE_OK; k++) {
        const struct tensor expected = oracle_value(oracle, graph->outputs[k]);
        node_id softmax = find_softmax(graph, graph->outputs[k]);
        uint32_t logits = softmax == GRAPH_NONE ? GRAPH_NONE
                                                : find_port(graph->outputs, graph->output_count,
                                                            graph->nodes[softmax].base.inputs[0]);
        if (logits == GRAPH_NONE)
            status = compare_output(graph, k, &actual[k], &expected, tolerance, worst, error);
        else
            status = compare_softmax(graph, softmax, k, &actual[k], &actual[logits], tolerance,
                                     worst, error);
    }
    return status;
}
