/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regions.c: what a graph-level backend is offered. Nodes are in topological order, so every range
 * of ids is convex; the graph is cut into ranges where little is alive, and ranges are joined in a
 * fixed scheme (docs/patterns.md) that keeps their number small: each costs a measurement.
 */
#include "pattern/enumerate.h"

#include <string.h>

enum {
    REGION_BUDGET = 250,  /* regions of several nodes a backend, the largest first */
    LONG_SEGMENT = 48,    /* nodes; longer ones are cut again where least is alive */
    CUT_DISTANCE = 8,     /* between such extra cuts */
    MAXIMAL_REGIONS = 64, /* of a backend that does not take all nodes */
    END_BLOCKS = 4,       /* most blocks that are left out of the whole at one end */
};

struct offer {
    struct candidate_set *set;
    uint32_t backend;
    struct arena *arena; /* for the time of the enumeration */
    node_id *all;        /* 0, 1, 2...: ranges of ids as arrays */
    bool *supported;     /* node by node */
    size_t regions;
    struct error *error;
};

/* Positions between nodes, ascending, from 0 to node_count: range k is [at[k], at[k + 1]). */
struct bounds {
    uint32_t *at;
    uint32_t count; /* of positions */
};

static collage_status add_nodes(struct offer *offer, const node_id *nodes, uint32_t count,
                                const char *rule)
{
    if (count < 2 || offer->regions >= REGION_BUDGET)
        return COLLAGE_OK;
    size_t added;
    collage_status status =
        candidate_set_add(offer->set, offer->backend, nodes, count, rule, &added, offer->error);
    offer->regions += added > 0;
    return status;
}

/* Ranges begin..end of `bounds`. */
static collage_status add_range(struct offer *offer, const struct bounds *bounds, uint32_t begin,
                                uint32_t end, const char *rule)
{
    uint32_t first = bounds->at[begin];
    return add_nodes(offer, offer->all + first, bounds->at[end] - first, rule);
}

/* ---- where to cut ---- */

/* alive[p]: non-constant values that nodes before position p make and nodes from p on use. */
static uint32_t *count_alive(struct offer *offer)
{
    const struct graph *graph = offer->set->graph;
    const struct graph_uses *uses = &offer->set->uses;
    uint32_t *alive = arena_array(offer->arena, graph->node_count + 2, sizeof *alive);
    if (!alive)
        return NULL;
    for (size_t v = 0; v < graph->value_count; v++) {
        const struct value *value = &graph->values[v];
        uint32_t end = uses->first[v + 1];
        if (value->kind == VALUE_CONSTANT || uses->first[v] == end)
            continue;
        alive[value->kind == VALUE_COMPUTED ? value->producer + 1 : 0]++;
        alive[uses->users[end - 1] + 1]--; /* wraps; the running sum is right again */
    }
    for (size_t p = 1; p <= graph->node_count; p++)
        alive[p] += alive[p - 1];
    return alive;
}

/* Adds the positions inside ]begin, end[ where least is alive, CUT_DISTANCE apart. */
static void cut_segment(const uint32_t *alive, uint32_t begin, uint32_t end, struct bounds *out)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t p = begin + CUT_DISTANCE; p + CUT_DISTANCE <= end; p++)
        least = alive[p] < least ? alive[p] : least;
    uint32_t last = begin;
    for (uint32_t p = begin + CUT_DISTANCE; p + CUT_DISTANCE <= end; p++)
        if (alive[p] == least && p - last >= CUT_DISTANCE)
            last = out->at[out->count++] = p;
}

/* The cut values' segments; the long ones among them cut until none is long. */
static collage_status find_segments(struct offer *offer, struct bounds *out)
{
    const struct candidate_set *set = offer->set;
    size_t positions = set->graph->node_count + 1;
    const uint32_t *alive = count_alive(offer);
    struct bounds next = { arena_array(offer->arena, positions, sizeof(uint32_t)), 0 };
    collage_status status =
        region_cuts(offer->arena, set->graph, &set->uses, &out->at, &out->count, offer->error);
    if (status)
        return status;
    if (!alive || !next.at)
        return error_memory(offer->error);
    for (bool again = true; again;) {
        next.count = 0;
        for (uint32_t k = 0; k + 1 < out->count; k++) {
            next.at[next.count++] = out->at[k];
            if (out->at[k + 1] - out->at[k] > LONG_SEGMENT)
                cut_segment(alive, out->at[k], out->at[k + 1], &next);
        }
        next.at[next.count++] = out->at[out->count - 1];
        again = next.count > out->count;
        struct bounds swap = *out;
        *out = next;
        next = swap;
    }
    return COLLAGE_OK;
}

/* A block is a segment and the element-wise operators and views that follow it one by one. */
static collage_status find_blocks(struct offer *offer, const struct bounds *segments,
                                  struct bounds *out)
{
    const struct graph *graph = offer->set->graph;
    out->at = arena_array(offer->arena, segments->count, sizeof(uint32_t));
    out->count = 0;
    if (!out->at)
        return error_memory(offer->error);
    for (uint32_t k = 0; k < segments->count; k++) {
        uint32_t at = segments->at[k];
        bool single = k > 0 && k + 1 < segments->count && segments->at[k + 1] - at == 1;
        if (!single || !(graph->nodes[at].op->flags & (OP_ELEMENTWISE | OP_VIEW)))
            out->at[out->count++] = at;
    }
    return COLLAGE_OK;
}

/* ---- how ranges are joined ---- */

static collage_status add_runs(struct offer *offer, const struct bounds *blocks)
{
    uint32_t count = blocks->count - 1, largest = 1;
    while (largest < count)
        largest *= 2;
    collage_status status = add_range(offer, blocks, 0, count, "whole");
    for (uint32_t length = 1; length <= END_BLOCKS && length < count && !status; length *= 2) {
        status = add_range(offer, blocks, 0, count - length, "prefix");
        if (!status)
            status = add_range(offer, blocks, length, count, "suffix");
        if (!status)
            status = add_range(offer, blocks, count - length, count, "suffix");
    }
    for (uint32_t length = largest / 2; length >= 1 && !status; length /= 2)
        for (uint32_t first = 0; first + length <= count && !status; first += length)
            status = add_range(offer, blocks, first, first + length, length == 1 ? "block" : "run");
    return status;
}

/*
 * The phase of a node: how often a path to it must leave the supported nodes. Supported nodes of
 * one phase are convex together: what an unsupported node depends on has a lower phase than what
 * depends on it.
 */
static void find_phases(const struct offer *offer, uint32_t *phase)
{
    const struct graph *graph = offer->set->graph;
    for (node_id n = 0; n < graph->node_count; n++) {
        const collage_node *base = &graph->nodes[n].base;
        for (uint32_t k = 0; k < base->input_count; k++) {
            value_id v = base->inputs[k];
            if (v == GRAPH_NONE || graph->values[v].kind != VALUE_COMPUTED)
                continue;
            node_id p = graph->values[v].producer;
            uint32_t least = phase[p] + (offer->supported[p] && !offer->supported[n]);
            phase[n] = least > phase[n] ? least : phase[n];
        }
    }
}

static uint32_t find_root(uint32_t *parent, uint32_t n)
{
    while (parent[n] != n)
        n = parent[n] = parent[parent[n]];
    return n;
}

/* parent: a forest whose trees are the connected supported nodes of one phase. */
static void join_phases(const struct offer *offer, const uint32_t *phase, uint32_t *parent)
{
    const struct graph *graph = offer->set->graph;
    for (node_id n = 0; n < graph->node_count; n++) {
        parent[n] = n;
        const collage_node *base = &graph->nodes[n].base;
        for (uint32_t k = 0; k < base->input_count && offer->supported[n]; k++) {
            value_id v = base->inputs[k];
            if (v == GRAPH_NONE || graph->values[v].kind != VALUE_COMPUTED)
                continue;
            node_id p = graph->values[v].producer;
            if (offer->supported[p] && phase[p] == phase[n])
                parent[find_root(parent, n)] = find_root(parent, p);
        }
    }
}

/* The largest regions that leave the unsupported nodes out. */
static collage_status add_maximal(struct offer *offer)
{
    size_t count = offer->set->graph->node_count;
    uint32_t *phase = arena_array(offer->arena, count, sizeof *phase);
    uint32_t *parent = arena_array(offer->arena, count, sizeof *parent);
    uint32_t *size = arena_array(offer->arena, count, sizeof *size);
    node_id *nodes = arena_array(offer->arena, count, sizeof *nodes);
    if (!phase || !parent || !size || !nodes)
        return error_memory(offer->error);
    find_phases(offer, phase);
    join_phases(offer, phase, parent);
    for (node_id n = 0; n < count; n++)
        size[find_root(parent, n)]++;
    for (uint32_t k = 0; k < MAXIMAL_REGIONS; k++) {
        uint32_t best = 0, filled = 0;
        for (node_id n = 1; n < count; n++)
            best = size[n] > size[best] ? n : best;
        if (size[best] < 2)
            return COLLAGE_OK;
        for (node_id n = 0; n < count; n++)
            if (find_root(parent, n) == best)
                nodes[filled++] = n;
        size[best] = 0;
        collage_status status = add_nodes(offer, nodes, filled, "maximal");
        if (status)
            return status;
    }
    return COLLAGE_OK;
}

static collage_status ask_all(struct offer *offer, bool *all)
{
    *all = true;
    for (node_id n = 0; n < offer->set->graph->node_count; n++) {
        collage_status status = candidate_set_ask_node(offer->set, offer->backend, n,
                                                       &offer->supported[n], offer->error);
        if (!status && offer->supported[n])
            status =
                candidate_set_add(offer->set, offer->backend, &n, 1, "node", NULL, offer->error);
        if (status)
            return status;
        offer->all[n] = n;
        *all = *all && offer->supported[n];
    }
    return COLLAGE_OK;
}

static collage_status offer_regions(struct offer *offer)
{
    size_t count = offer->set->graph->node_count;
    offer->all = arena_array(offer->arena, count, sizeof *offer->all);
    offer->supported = arena_array(offer->arena, count, sizeof *offer->supported);
    if (!offer->all || !offer->supported)
        return error_memory(offer->error);
    struct bounds segments, blocks;
    bool all;
    collage_status status = ask_all(offer, &all);
    if (!status && !all)
        status = add_maximal(offer);
    if (!status)
        status = find_segments(offer, &segments);
    if (!status)
        status = find_blocks(offer, &segments, &blocks);
    if (!status)
        status = add_runs(offer, &blocks);
    for (uint32_t k = 0; !status && k + 1 < segments.count; k++)
        status = add_range(offer, &segments, k, k + 1, "segment");
    return status;
}

collage_status enumerate_regions(struct candidate_set *set, uint32_t backend, struct error *error)
{
    if (set->graph->node_count == 0)
        return COLLAGE_OK;
    struct offer offer = {
        .set = set, .backend = backend, .arena = arena_create(), .error = error
    };
    collage_status status = offer.arena ? offer_regions(&offer) : error_memory(error);
    arena_destroy(offer.arena);
    return status;
}
