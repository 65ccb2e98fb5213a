/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that may be computed more than once. A cheap node with several users keeps them apart: each
 * kernel ends before it, and its result is written and read again. Where a user's kernel computes
 * it for itself, nothing is written. So each candidate that takes the result of a cheap node which
 * others use as well is offered with a copy of that node, too; whether that pays is measured.
 */
#include <string.h>

#include "pattern/enumerate.h"

enum {
    COPIES = 8,          /* in one candidate */
    COPY_LEVELS = 3,     /* copies that feed copies */
    SINGLE_COPIES = 4,   /* tried one by one, for each region */
    COPY_REGIONS = 2000, /* offered to a backend */
};

struct copier {
    struct candidate_set *set;
    uint32_t backend, regions;
    struct region base; /* the candidate's */
    node_id copies[COPIES];
    uint32_t copy_count;
    node_id *nodes; /* room for all of the base and the copies */
    struct error *error;
};

/* Element by element, a view, or a repetition: a kernel that reads its inputs does little more. One
 * that is an output of the model is written in any case. */
static bool is_cheap(const struct graph *graph, node_id node)
{
    const collage_node *base = &graph->nodes[node].base;
    const struct op *op = graph->nodes[node].op;
    if (base->output_count != 1 || graph_is_output(graph, base->outputs[0]))
        return false;
    return (op->flags & (OP_ELEMENTWISE | OP_VIEW)) || strcmp(op->name, "Expand") == 0;
}

static bool is_copy(const struct copier *copier, node_id node)
{
    for (uint32_t k = 0; k < copier->copy_count; k++)
        if (copier->copies[k] == node)
            return true;
    return false;
}

/* Does somebody else need what the node makes? What a copy reads is read by the node itself, too.
 */
static bool is_shared(const struct copier *copier, node_id node)
{
    const struct graph_uses *uses = &copier->set->uses;
    value_id v = copier->set->graph->nodes[node].base.outputs[0];
    for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
        if (!region_has(&copier->base, uses->users[u]) || is_copy(copier, uses->users[u]))
            return true;
    return false;
}

/* Adds the makers of the values that may be copied. */
static void add_makers(struct copier *copier, const value_id *values, uint32_t count)
{
    const struct graph *graph = copier->set->graph;
    for (uint32_t k = 0; k < count && copier->copy_count < COPIES; k++) {
        if (values[k] == GRAPH_NONE || graph->values[values[k]].kind != VALUE_COMPUTED)
            continue;
        node_id maker = graph->values[values[k]].producer;
        if (!region_has(&copier->base, maker) && !is_copy(copier, maker) &&
            is_cheap(graph, maker) && is_shared(copier, maker))
            copier->copies[copier->copy_count++] = maker;
    }
}

static void sort(node_id *nodes, uint32_t count)
{
    for (uint32_t k = 1; k < count; k++)
        for (uint32_t at = k; at > 0 && nodes[at - 1] > nodes[at]; at--) {
            node_id swap = nodes[at];
            nodes[at] = nodes[at - 1];
            nodes[at - 1] = swap;
        }
}

/* Offers the base with these copies, which may be among its nodes. */
static collage_status offer(struct copier *copier, node_id *copies, uint32_t copy_count)
{
    const struct region *base = &copier->base;
    uint32_t count = 0, next = 0;
    size_t added = 0;
    sort(copies, copy_count);
    for (uint32_t k = 0; k < base->node_count; k++) {
        while (next < copy_count && copies[next] <= base->nodes[k]) {
            if (copies[next] < base->nodes[k])
                copier->nodes[count++] = copies[next];
            next++;
        }
        copier->nodes[count++] = base->nodes[k];
    }
    while (next < copy_count)
        copier->nodes[count++] = copies[next++];
    if (copier->regions >= COPY_REGIONS)
        return COLLAGE_OK;
    collage_status status =
        candidate_set_add_copying(copier->set, copier->backend, copier->nodes, count, copies,
                                  copy_count, "recompute", &added, copier->error);
    copier->regions += added > 0;
    return status;
}

/* Nodes of the base whose results leave it, but are of use inside, made by everybody himself. */
static collage_status keep_results(struct copier *copier)
{
    const struct graph *graph = copier->set->graph;
    node_id kept[COPIES];
    uint32_t count = 0;
    for (uint32_t k = 0; k < copier->base.output_count && count < COPIES; k++) {
        node_id maker = graph->values[copier->base.outputs[k]].producer;
        if (is_cheap(graph, maker) && region_uses(&copier->base, graph, &copier->set->uses, maker))
            kept[count++] = maker;
    }
    return count > 0 && count < copier->base.node_count ? offer(copier, kept, count) : COLLAGE_OK;
}

/* What feeds the base: makers of its inputs, one by one, then with those that feed these. */
static collage_status pull_in(struct copier *copier)
{
    copier->copy_count = 0;
    add_makers(copier, copier->base.inputs, copier->base.input_count);
    uint32_t direct = copier->copy_count;
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < direct && k < SINGLE_COPIES && !status; k++) {
        node_id single = copier->copies[k];
        status = offer(copier, &single, 1);
    }
    for (uint32_t level = 1, begin = 0; level < COPY_LEVELS; level++) {
        uint32_t end = copier->copy_count;
        for (; begin < end; begin++) {
            const collage_node *base = &copier->set->graph->nodes[copier->copies[begin]].base;
            add_makers(copier, base->inputs, base->input_count);
        }
    }
    return !status && copier->copy_count > 1 ? offer(copier, copier->copies, copier->copy_count)
                                             : status;
}

collage_status enumerate_copies(struct candidate_set *set, uint32_t backend, struct error *error)
{
    const size_t count = set->count;
    struct copier copier = { .set = set, .backend = backend, .error = error };
    copier.nodes = memory_alloc((set->graph->node_count + COPIES) * sizeof *copier.nodes);
    collage_status status = copier.nodes ? COLLAGE_OK : error_memory(error);
    for (size_t id = 0; id < count && !status; id++) {
        const struct candidate *candidate = &set->items[id];
        if (candidate->view || candidate->backend != backend || candidate->region.copy_count ||
            candidate->region.nodes == copier.base.nodes) /* the next variant */
            continue;
        copier.base = candidate->region;
        status = keep_results(&copier);
        if (!status)
            status = pull_in(&copier);
    }
    memory_free(copier.nodes);
    return status;
}
