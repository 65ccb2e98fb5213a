/* SPDX-License-Identifier: Apache-2.0 */
/* run_graph.h: computes a graph node by node with the operators' own functions. */
#ifndef COLLAGE_TESTS_RUN_GRAPH_H
#define COLLAGE_TESTS_RUN_GRAPH_H

#include "graph/graph.h"

/* Gives every computed value its data, in the graph's arena, in place of shape only; inputs must
 * have theirs. The graph is good for reading results and destroying only after that. */
static inline collage_status run_graph(struct graph *graph, struct error *error)
{
    for (node_id n = 0; n < graph->node_count; n++) {
        const collage_node *node = &graph->nodes[n].base;
        struct tensor outputs[16];
        if (node->output_count > 16)
            return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "too many outputs");
        collage_status status = graph_evaluate_outputs(graph, n, outputs, error);
        if (status != COLLAGE_OK)
            return status;
        for (uint32_t k = 0; k < node->output_count; k++)
            if (node->outputs[k] != GRAPH_NONE)
                graph->values[node->outputs[k]].tensor = outputs[k];
    }
    return COLLAGE_OK;
}

/* Inputs as the networks' rule fills them (ids below 2). */
static inline bool run_fill_inputs(struct graph *graph)
{
    for (uint32_t k = 0; k < graph->input_count; k++) {
        struct tensor *tensor = &graph->values[graph->inputs[k]].tensor;
        tensor->data = arena_alloc(graph->arena, (size_t)tensor_bytes(tensor));
        if (!tensor->data)
            return false;
        tensor_fill_example(tensor, 1000 - k, 2);
    }
    return true;
}

#endif
