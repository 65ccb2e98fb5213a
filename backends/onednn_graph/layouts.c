/* SPDX-License-Identifier: Apache-2.0 */
#include "layouts.h"

#include <stdio.h>
#include <string.h>

/* In larger regions the layout at the border hardly matters, and each variant is measured. */
enum { MAX_NODES = 16 };

static bool is_one_of(const collage_node *node, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(node->op_type, *names) == 0)
            return true;
    return false;
}

/* The rank of what the first window slides over; 0 if there is no window. */
static int32_t window_rank(const collage_subgraph *graph)
{
    static const char *const windows[] = { "Conv",          "ConvTranspose",
                                           "MaxPool",       "BatchNormalization",
                                           "AveragePool",   "GlobalAveragePool",
                                           "GlobalMaxPool", NULL };
    for (uint32_t k = 0; k < graph->node_count; k++)
        if (is_one_of(graph->nodes[k], windows))
            return graph->values[graph->nodes[k]->inputs[0]]->rank;
    return 0;
}

/* A reshape sees row-major memory only. */
static bool is_reshaped(const collage_subgraph *graph, uint32_t value)
{
    static const char *const reshapes[] = { "Reshape", "Flatten", "Squeeze", "Unsqueeze", NULL };
    for (uint32_t k = 0; k < graph->node_count; k++) {
        const collage_node *node = graph->nodes[k];
        if (is_one_of(node, reshapes) && (node->inputs[0] == value || node->outputs[0] == value))
            return true;
    }
    return false;
}

/* How many of these values get channels last; -1 if that cannot be. */
static int set_last(const collage_subgraph *graph, const uint32_t *values, uint32_t count,
                    int32_t rank, collage_layout *layouts)
{
    static const char *const tags[] = { NULL, NULL, NULL, "acb", "acdb", "acdeb" };
    int set = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (graph->values[values[k]]->rank != rank)
            continue;
        if (is_reshaped(graph, values[k]))
            return -1;
        snprintf(layouts[k].tag, sizeof layouts[k].tag, "%s", tags[rank]);
        set++;
    }
    return set;
}

bool layouts_variant(const collage_subgraph *graph, size_t index, collage_variant *out)
{
    snprintf(out->name, sizeof out->name, "%s", index == 0 ? "plain" : "nhwc");
    if (index == 0)
        return true;
    int32_t rank = window_rank(graph);
    if (index > 1 || rank < 3 || rank > 5 || graph->node_count > MAX_NODES)
        return false;
    int ins = set_last(graph, graph->inputs, graph->input_count, rank, out->inputs);
    int outs = set_last(graph, graph->outputs, graph->output_count, rank, out->outputs);
    return ins >= 0 && outs >= 0 && ins + outs > 0;
}
