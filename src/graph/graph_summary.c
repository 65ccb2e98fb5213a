/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "graph/graph_text.h"
#include "graph/work.h"

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
