/* SPDX-License-Identifier: Apache-2.0 */
/* Common sub-expressions: of constants with equal contents, and of nodes with equal operator,
 * attributes and inputs, the first stays. */
#include <string.h>

#include "canon/canon.h"
#include "graph/attribute_hash.h"

/* Larger constants are compared by address only: weights that a file stores once. */
enum { COMPARED_BYTES = 4096 };

struct merger {
    struct graph *graph;
    value_id *replacement; /* of each value: itself, or the one that stays */
    uint32_t *slots;       /* open addressing: number + 1 of what stays; 0: free */
    uint64_t *hashes;      /* of each value or node */
    size_t slot_count;     /* a power of two, more than twice what is put in */
    bool changed;
};

typedef bool (*equal_fn)(const struct graph *graph, uint32_t a, uint32_t b);

/* The number of an equal item that is there already, or `item`, which is put in. */
static uint32_t find_or_add(struct merger *merger, uint32_t item, uint64_t hash, equal_fn equal)
{
    size_t mask = merger->slot_count - 1;
    merger->hashes[item] = hash;
    for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
        if (merger->slots[at] == 0) {
            merger->slots[at] = item + 1;
            return item;
        }
        uint32_t other = merger->slots[at] - 1;
        if (merger->hashes[other] == hash && equal(merger->graph, other, item))
            return other;
    }
}

/* ---- constants ---- */

static bool is_compared(const struct tensor *tensor)
{
    return tensor_bytes(tensor) <= COMPARED_BYTES;
}

static bool equal_constants(const struct graph *graph, uint32_t a, uint32_t b)
{
    const struct tensor *x = &graph->values[a].tensor;
    const struct tensor *y = &graph->values[b].tensor;
    if (x->dtype != y->dtype || !tensor_same_shape(x, y))
        return false;
    if (graph->values[a].stands_for || graph->values[b].stands_for)
        return false;
    return x->data == y->data ||
           (is_compared(x) && memcmp(x->data, y->data, (size_t)tensor_bytes(x)) == 0);
}

static uint64_t hash_constant(const struct tensor *tensor)
{
    struct hash contents = is_compared(tensor) ? hash_of(tensor->data, (size_t)tensor_bytes(tensor))
                                               : hash_of(&tensor->data, sizeof tensor->data);
    return contents.low ^ hash_of(tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims).low;
}

static void merge_constants(struct merger *merger)
{
    struct graph *graph = merger->graph;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        merger->replacement[v] = v;
        if (graph->values[v].kind != VALUE_CONSTANT)
            continue;
        uint32_t first =
            find_or_add(merger, v, hash_constant(&graph->values[v].tensor), equal_constants);
        merger->replacement[v] = first;
    }
}

/* ---- nodes ---- */

static bool equal_nodes(const struct graph *graph, uint32_t a, uint32_t b)
{
    const struct node *x = &graph->nodes[a];
    const struct node *y = &graph->nodes[b];
    if (x->op != y->op || x->base.input_count != y->base.input_count ||
        x->base.output_count != y->base.output_count ||
        memcmp(x->base.inputs, y->base.inputs, x->base.input_count * sizeof(value_id)) != 0)
        return false;
    for (uint32_t k = 0; k < x->base.output_count; k++)
        if ((x->base.outputs[k] == GRAPH_NONE) != (y->base.outputs[k] == GRAPH_NONE))
            return false;
    return attribute_all_equal(&x->base, &y->base);
}

static uint64_t hash_node(const struct node *node)
{
    uint64_t inputs = hash_of(node->base.inputs, node->base.input_count * sizeof(value_id)).low;
    return inputs ^ hash_of(node->op->name, strlen(node->op->name)).low;
}

static bool makes_model_output(const struct graph *graph, const collage_node *node)
{
    for (uint32_t k = 0; k < node->output_count; k++)
        if (graph_is_output(graph, node->outputs[k]))
            return true;
    return false;
}

/* Libraries take a Pad into the one convolution or pool that reads it, but not into two. */
static bool is_better_repeated(const struct node *node)
{
    return strcmp(node->op->name, "Pad") == 0;
}

static void rewrite_inputs(struct merger *merger, node_id n)
{
    value_id *inputs = graph_node_inputs(merger->graph, n);
    for (uint32_t k = 0; k < merger->graph->nodes[n].base.input_count; k++) {
        if (inputs[k] == GRAPH_NONE || merger->replacement[inputs[k]] == inputs[k])
            continue;
        inputs[k] = merger->replacement[inputs[k]];
        merger->changed = true;
    }
}

static void merge_nodes(struct merger *merger)
{
    struct graph *graph = merger->graph;
    memset(merger->slots, 0, merger->slot_count * sizeof *merger->slots);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        rewrite_inputs(merger, n);
        if (is_better_repeated(&graph->nodes[n]))
            continue;
        uint32_t first = find_or_add(merger, n, hash_node(&graph->nodes[n]), equal_nodes);
        const collage_node *base = &graph->nodes[n].base;
        if (first == n || makes_model_output(graph, base))
            continue;
        for (uint32_t k = 0; k < base->output_count; k++)
            if (base->outputs[k] != GRAPH_NONE)
                merger->replacement[base->outputs[k]] = graph->nodes[first].base.outputs[k];
        graph_remove_node(graph, n);
        merger->changed = true;
    }
}

collage_status canon_merge_equal_nodes(struct graph *graph, bool *changed, struct error *error)
{
    size_t items = graph->value_count > graph->node_count ? graph->value_count : graph->node_count;
    struct merger merger = { .graph = graph, .slot_count = 16 };
    while (merger.slot_count <= 2 * items)
        merger.slot_count *= 2;
    merger.replacement = memory_alloc(graph->value_count * sizeof *merger.replacement);
    merger.slots = memory_alloc(merger.slot_count * sizeof *merger.slots);
    merger.hashes = memory_alloc(items * sizeof *merger.hashes);
    collage_status status = COLLAGE_OK;
    *changed = false;
    if (!merger.replacement || !merger.slots || !merger.hashes) {
        status = error_memory(error);
    } else {
        merge_constants(&merger);
        merge_nodes(&merger);
        *changed = merger.changed;
    }
    memory_free(merger.replacement);
    memory_free(merger.slots);
    memory_free(merger.hashes);
    return status == COLLAGE_OK && *changed ? graph_compact(graph, error) : status;
}
