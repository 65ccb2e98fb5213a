/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "graph/graph_text.h"

/* What counts as work: two operations a multiply-add, of these operators and nothing else. */
static double output_elements(const struct graph *graph, const collage_node *node)
{
    return (double)tensor_elements(&graph->values[node->outputs[0]].tensor);
}

static const struct tensor *input(const struct graph *graph, const collage_node *node, uint32_t k)
{
    return &graph->values[node->inputs[k]].tensor;
}

static double dim(const struct tensor *tensor, int32_t k)
{
    return tensor->rank > k ? (double)tensor->dims[k] : 1;
}

/* Of one channel: of the output of a Conv, of the input of a ConvTranspose. There may be none. */
static double filter_elements(const struct tensor *weight)
{
    double channels = dim(weight, 0);
    return channels > 0 ? (double)tensor_elements(weight) / channels : 0;
}

/* Each output element sums over a filter of one output channel. */
static double conv_work(const struct graph *graph, const collage_node *node)
{
    return output_elements(graph, node) * filter_elements(input(graph, node, 1));
}

/* Each input element is spread over the filters of its channel. */
static double conv_transpose_work(const struct graph *graph, const collage_node *node)
{
    return (double)tensor_elements(input(graph, node, 0)) * filter_elements(input(graph, node, 1));
}

static double matmul_work(const struct graph *graph, const collage_node *node)
{
    const struct tensor *a = input(graph, node, 0);
    return output_elements(graph, node) * dim(a, a->rank - 1);
}

static double gemm_work(const struct graph *graph, const collage_node *node)
{
    const struct tensor *a = input(graph, node, 0);
    return output_elements(graph, node) * dim(a, collage_node_int(node, "transA", 0) ? 0 : 1);
}

/* Each step and batch multiplies by both weight matrices. */
static double lstm_work(const struct graph *graph, const collage_node *node)
{
    const struct tensor *x = input(graph, node, 0);
    return dim(x, 0) * dim(x, 1) *
           (double)(tensor_elements(input(graph, node, 1)) +
                    tensor_elements(input(graph, node, 2)));
}

static const struct {
    const char *op;
    double (*work)(const struct graph *graph, const collage_node *node);
} work_table[] = {
    { "Conv", conv_work },     { "ConvTranspose", conv_transpose_work },
    { "Gemm", gemm_work },     { "LSTM", lstm_work },
    { "MatMul", matmul_work },
};

static double node_work(const struct graph *graph, const struct node *node)
{
    for (size_t k = 0; k < sizeof work_table / sizeof *work_table; k++)
        if (node->op == op_find(work_table[k].op) && node->base.outputs[0] != GRAPH_NONE)
            return 2 * work_table[k].work(graph, &node->base);
    return 0;
}

double graph_work(const struct graph *graph)
{
    double work = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        work += node_work(graph, &graph->nodes[n]);
    return work;
}

static void print_ports(const struct graph *graph, const char *what, const value_id *ids,
                        uint32_t count, struct text *out)
{
    char dims[160];
    for (uint32_t k = 0; k < count; k++) {
        const struct value *value = &graph->values[ids[k]];
        dims_print(value->tensor.dims, value->tensor.rank, dims, sizeof dims);
        text_format(out, "%-11s ", what);
        text_printable(out, value->name, 0); /* names are whatever the model holds */
        text_format(out, ": %s %s\n", dtype_name(value->tensor.dtype), dims);
    }
}

static void print_operators(const struct graph *graph, struct text *out)
{
    const char *separator = "operators   ";
    for (size_t k = 0; k < op_count(); k++) {
        size_t count = 0;
        for (size_t n = 0; n < graph->node_count; n++)
            count += graph->nodes[n].op == op_at(k);
        if (count == 0)
            continue;
        text_format(out, "%s%s %zu", separator, op_at(k)->name, count);
        separator = ", ";
    }
    text_string(out, graph->node_count ? "\n" : "");
}

void graph_print_summary(const struct graph *graph, struct text *out)
{
    uint64_t parameters = 0, constant_bytes = 0, activation_bytes = 0;
    size_t constants = 0;
    for (size_t v = 0; v < graph->value_count; v++) {
        const struct value *value = &graph->values[v];
        bool constant = value->kind == VALUE_CONSTANT;
        constants += constant;
        /* what was dequantized is counted as the integers that it was made of */
        bool counts = constant && !value->dequantized;
        parameters += counts ? (uint64_t)tensor_elements(&value->tensor) : 0;
        *(constant ? &constant_bytes : &activation_bytes) += tensor_bytes(&value->tensor);
    }
    text_string(out, "graph       ");
    text_printable(out, graph->name, 0);
    text_string(out, "\n");
    print_ports(graph, "input", graph->inputs, graph->input_count, out);
    print_ports(graph, "output", graph->outputs, graph->output_count, out);
    text_format(out, "nodes       %zu\n", graph->node_count);
    text_format(out, "constants   %zu, %" PRIu64 " elements, %.1f MB\n", constants, parameters,
                (double)constant_bytes / 1e6);
    text_format(out, "activations %.1f MB (sum of all values)\n", (double)activation_bytes / 1e6);
    text_format(out, "work        %.3f GFLOP (convolutions and matrix products)\n",
                graph_work(graph) / 1e9);
    print_operators(graph, out);
}
