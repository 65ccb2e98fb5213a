/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_compact: removes what is marked, sorts, renumbers. The order is that of a depth-first walk
 * in id order which emits the producers of a node before it: a list that is already sorted stays as
 * it is.
 */
#include <string.h>

#include "graph/graph.h"

enum { WHITE, GREY, BLACK };

struct walk {
    const struct graph *graph;
    uint8_t *colour;
    node_id *stack;
    uint32_t *next_input; /* where each node on the stack goes on */
    node_id *order;
    size_t count;
};

/* Walks from one root with an explicit stack: the depth is the file's, not ours. */
static collage_status walk_from(struct walk *walk, node_id root, struct error *error)
{
    const struct graph *graph = walk->graph;
    size_t depth = 0;
    walk->stack[depth++] = root;
    walk->colour[root] = GREY;
    while (depth > 0) {
        node_id n = walk->stack[depth - 1];
        const collage_node *base = &graph->nodes[n].base;
        if (walk->next_input[n] == base->input_count) {
            walk->colour[n] = BLACK;
            walk->order[walk->count++] = n;
            depth--;
            continue;
        }
        value_id v = base->inputs[walk->next_input[n]++];
        node_id producer = v == GRAPH_NONE ? GRAPH_NONE : graph->values[v].producer;
        if (producer == GRAPH_NONE || walk->colour[producer] == BLACK)
            continue;
        if (!graph->nodes[producer].op)
            return error_set(error, COLLAGE_ERROR_INTERNAL,
                             "node '%s' uses '%s', whose producer was removed", base->name,
                             graph->values[v].name);
        if (walk->colour[producer] == GREY)
            return error_set(error, COLLAGE_ERROR_FORMAT, "the graph has a cycle through node '%s'",
                             base->name);
        walk->colour[producer] = GREY;
        walk->stack[depth++] = producer;
    }
    return COLLAGE_OK;
}

static collage_status sort_nodes(struct walk *walk, struct error *error)
{
    const struct graph *graph = walk->graph;
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].op && walk->colour[n] == WHITE) {
            collage_status status = walk_from(walk, (node_id)n, error);
            if (status != COLLAGE_OK)
                return status;
        }
    return COLLAGE_OK;
}

/* What a constant that stays was dequantized from stays; that was not dequantized itself. */
static void mark_sources(const struct graph *graph, value_id *new_id)
{
    for (size_t v = 0; v < graph->value_count; v++) {
        const struct dequantized *from = new_id[v] ? graph->values[v].dequantized : NULL;
        if (!from)
            continue;
        new_id[from->integers] = 1;
        new_id[from->scale] = 1;
        if (from->zero != GRAPH_NONE)
            new_id[from->zero] = 1;
    }
}

/* Which values stay: model inputs and outputs, and what a live node reads or writes. */
static void mark_values(const struct walk *walk, value_id *new_id)
{
    const struct graph *graph = walk->graph;
    memset(new_id, 0, graph->value_count * sizeof *new_id);
    for (uint32_t k = 0; k < graph->input_count; k++)
        new_id[graph->inputs[k]] = 1;
    for (uint32_t k = 0; k < graph->output_count; k++)
        new_id[graph->outputs[k]] = 1;
    for (size_t i = 0; i < walk->count; i++) {
        const collage_node *base = &graph->nodes[walk->order[i]].base;
        for (uint32_t k = 0; k < base->input_count; k++)
            if (base->inputs[k] != GRAPH_NONE)
                new_id[base->inputs[k]] = 1;
        for (uint32_t k = 0; k < base->output_count; k++)
            if (base->outputs[k] != GRAPH_NONE)
                new_id[base->outputs[k]] = 1;
    }
    mark_sources(graph, new_id);
}

static void renumber(value_id *ids, uint32_t count, const value_id *new_id)
{
    for (uint32_t k = 0; k < count; k++)
        if (ids[k] != GRAPH_NONE)
            ids[k] = new_id[ids[k]];
}

static void renumber_values(struct graph *graph, value_id *new_id)
{
    value_id count = 0;
    for (size_t v = 0; v < graph->value_count; v++)
        if (new_id[v]) {
            graph->values[count] = graph->values[v];
            graph->values[count].producer = GRAPH_NONE;
            new_id[v] = count++;
        }
    graph->value_count = count;
    for (value_id v = 0; v < count; v++) {
        struct dequantized *from = graph->values[v].dequantized;
        if (!from)
            continue;
        renumber(&from->integers, 1, new_id);
        renumber(&from->scale, 1, new_id);
        renumber(&from->zero, 1, new_id);
    }
    renumber(graph->inputs, graph->input_count, new_id);
    renumber(graph->outputs, graph->output_count, new_id);
}

static void renumber_nodes(struct graph *graph, const struct walk *walk, struct node *sorted,
                           const value_id *new_id)
{
    for (size_t i = 0; i < walk->count; i++)
        sorted[i] = graph->nodes[walk->order[i]];
    if (walk->count > 0) /* without nodes there is no array */
        memcpy(graph->nodes, sorted, walk->count * sizeof *sorted);
    graph->node_count = walk->count;
    for (size_t n = 0; n < walk->count; n++) {
        collage_node *base = &graph->nodes[n].base;
        renumber(graph_node_inputs(graph, (node_id)n), base->input_count, new_id);
        renumber((value_id *)(uintptr_t)base->outputs, base->output_count, new_id);
        for (uint32_t k = 0; k < base->output_count; k++)
            if (base->outputs[k] != GRAPH_NONE)
                graph->values[base->outputs[k]].producer = (node_id)n;
    }
}

collage_status graph_compact(struct graph *graph, struct error *error)
{
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    size_t n = graph->node_count;
    struct walk walk = { .graph = graph,
                         .colour = arena_array(arena, n, 1),
                         .stack = arena_array(arena, n, sizeof(node_id)),
                         .next_input = arena_array(arena, n, sizeof(uint32_t)),
                         .order = arena_array(arena, n, sizeof(node_id)) };
    struct node *sorted = arena_array(arena, n, sizeof *sorted);
    value_id *new_id = arena_array(arena, graph->value_count, sizeof *new_id);
    collage_status status = COLLAGE_OK;
    if (!walk.colour || !walk.stack || !walk.next_input || !walk.order || !sorted || !new_id)
        status = error_memory(error);
    else
        status = sort_nodes(&walk, error);
    if (status == COLLAGE_OK) {
        mark_values(&walk, new_id);
        renumber_values(graph, new_id);
        renumber_nodes(graph, &walk, sorted, new_id);
    }
    arena_destroy(arena);
    return status;
}
