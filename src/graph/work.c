/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/work.h"

/* A call of the node, as far as counting looks at it. */
struct counted_call {
    const struct tensor *inputs[OP_WORK_INPUTS];
    struct tensor output;
    struct op_call call;
};

static void describe(const struct graph *graph, const collage_node *base, struct counted_call *out)
{
    *out = (struct counted_call){ .output = { .rank = 1 } }; /* left out: no elements */
    for (uint32_t k = 0; k < base->input_count && k < OP_WORK_INPUTS; k++)
        if (base->inputs[k] != GRAPH_NONE)
            out->inputs[k] = &graph->values[base->inputs[k]].tensor;
    if (base->output_count > 0 && base->outputs[0] != GRAPH_NONE)
        out->output = graph->values[base->outputs[0]].tensor;
    out->call = (struct op_call){ .node = base,
                                  .input_count = base->input_count,
                                  .output_count = base->output_count > 0,
                                  .inputs = out->inputs,
                                  .outputs = &out->output };
}

double graph_node_work(const struct graph *graph, node_id node)
{
    struct counted_call counted;
    describe(graph, &graph->nodes[node].base, &counted);
    return op_work(graph->nodes[node].op, &counted.call);
}

double graph_work(const struct graph *graph)
{
    double work = 0;
    for (node_id n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].op && graph->nodes[n].op->flags & OP_PRODUCTS)
            work += graph_node_work(graph, n);
    return work;
}

uint64_t graph_touched_bytes(const struct graph *graph)
{
    uint64_t bytes = 0;
    for (size_t v = 0; v < graph->value_count; v++)
        bytes += tensor_bytes(&graph->values[v].tensor);
    return bytes;
}

/* Libraries with kernels for integers need not read what was made of them. */
static uint64_t stored_bytes(const struct graph *graph, const struct value *value)
{
    uint64_t bytes = tensor_bytes(&value->tensor);
    if (!value->dequantized)
        return bytes;
    uint64_t integers = tensor_bytes(&graph->values[value->dequantized->integers].tensor);
    return integers < bytes ? integers : bytes;
}

/* Adds what the node reads to the sums of the values that it reads. */
static void add_reads(const struct graph *graph, node_id node, uint64_t *read)
{
    const collage_node *base = &graph->nodes[node].base;
    struct counted_call counted;
    describe(graph, base, &counted);
    for (uint32_t k = 0; k < base->input_count; k++) {
        value_id v = base->inputs[k];
        if (v == GRAPH_NONE)
            continue;
        uint64_t all = stored_bytes(graph, &graph->values[v]);
        uint64_t more = k < OP_WORK_INPUTS ? op_reads(graph->nodes[node].op, &counted.call, k)
                                           : tensor_bytes(&graph->values[v].tensor);
        read[v] = more < all - read[v] ? read[v] + more : all; /* at most all of it, once */
    }
}

struct workload region_workload(const struct graph *graph, const struct region *region,
                                uint64_t *scratch)
{
    struct workload work = { 0 };
    for (uint32_t i = 0; i < region->node_count; i++) {
        work.flop += graph_node_work(graph, region->nodes[i]);
        add_reads(graph, region->nodes[i], scratch);
    }
    for (uint32_t k = 0; k < region->input_count; k++)
        work.activation_bytes += scratch[region->inputs[k]];
    for (uint32_t k = 0; k < region->output_count; k++)
        work.activation_bytes += tensor_bytes(&graph->values[region->outputs[k]].tensor);
    for (uint32_t i = 0; i < region->node_count; i++) {
        const collage_node *base = &graph->nodes[region->nodes[i]].base;
        for (uint32_t k = 0; k < base->input_count; k++) {
            if (base->inputs[k] == GRAPH_NONE)
                continue;
            if (graph->values[base->inputs[k]].kind == VALUE_CONSTANT)
                work.weight_bytes += scratch[base->inputs[k]];
            scratch[base->inputs[k]] = 0;
        }
    }
    return work;
}
