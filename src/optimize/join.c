/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours in a placement become regions of graph-level backends. */
#include <stdlib.h>
#include <string.h>

#include "optimize/search.h"
#include "place/cover.h"
#include "place/fuse.h"

#define NO_CANDIDATE UINT32_MAX

struct joiner {
    struct optimizer *optimizer;
    const struct placement *placement;
    const uint32_t *homes, *groups; /* by place in the placement */
    bool measure;
    node_id *nodes;    /* of the group at work */
    candidate_id *out; /* the new placement */
    size_t out_count;
    struct error *error;
};

bool search_is_pinned(const struct optimizer *optimizer, candidate_id id)
{
    return optimizer->pins && pins_name(optimizer->pins, &optimizer->set->items[id]);
}

collage_status search_measure(struct optimizer *optimizer, candidate_id id, struct error *error)
{
    const char *origin;
    if (optimizer->set->items[id].cost.state != COST_UNKNOWN)
        return COLLAGE_OK;
    return optimizer_find_cost(optimizer, id, true, &origin, error);
}

static int compare_nodes(const void *left, const void *right)
{
    node_id a = *(const node_id *)left;
    node_id b = *(const node_id *)right;
    return a < b ? -1 : a > b;
}

/* Nothing but views and shapes: nothing that takes time. */
static bool is_trivial(const struct graph *graph, const node_id *nodes, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (!(graph->nodes[nodes[k]].op->flags & (OP_VIEW | OP_SHAPE)))
            return false;
    return true;
}

/* The candidate over exactly these nodes; what was added last is found first. */
static candidate_id find_candidate(const struct optimizer *optimizer, uint32_t backend,
                                   const node_id *nodes, uint32_t count)
{
    const struct candidate_set *set = optimizer->set;
    for (size_t c = set->count; c-- > 0;) {
        const struct candidate *candidate = &set->items[c];
        if (candidate->backend == backend && !candidate->view &&
            candidate->region.node_count == count &&
            memcmp(candidate->region.nodes, nodes, count * sizeof *nodes) == 0)
            return (candidate_id)c;
    }
    return NO_CANDIDATE;
}

static collage_status make_region(const struct joiner *joiner, uint32_t home, uint32_t count,
                                  candidate_id *id)
{
    struct optimizer *optimizer = joiner->optimizer;
    *id = NO_CANDIDATE;
    if (is_trivial(optimizer->settings.graph, joiner->nodes, count))
        return COLLAGE_OK;
    collage_status status = candidate_set_add(optimizer->set, home, joiner->nodes, count, "joined",
                                              NULL, joiner->error);
    candidate_id found = find_candidate(optimizer, home, joiner->nodes, count);
    if (status != COLLAGE_OK || found == NO_CANDIDATE)
        return status;
    if (joiner->measure)
        status = search_measure(optimizer, found, joiner->error);
    enum cost_state state = optimizer->set->items[found].cost.state;
    if (state == COST_MEASURED || (state == COST_UNKNOWN && !joiner->measure))
        *id = found;
    return status;
}

/* The group whose first member is at `place`. */
static collage_status join_group(struct joiner *joiner, uint32_t place)
{
    const struct candidate_set *set = joiner->optimizer->set;
    const candidate_id *chosen = joiner->placement->chosen;
    const struct candidate *first = &set->items[chosen[place]];
    uint32_t home = FUSE_ALONE, members = 0, count = 0;
    for (uint32_t p = place; p < joiner->placement->count; p++) {
        const struct region *region = &set->items[chosen[p]].region;
        if (joiner->groups[p] != place)
            continue;
        members++;
        home = joiner->homes[p] != FUSE_ALONE ? joiner->homes[p] : home;
        memcpy(joiner->nodes + count, region->nodes, region->node_count * sizeof *region->nodes);
        count += region->node_count;
    }
    bool stays = home == FUSE_ALONE ||
                 (members == 1 && (first->view || first->backend == home)); /* it is there */
    candidate_id region = NO_CANDIDATE;
    collage_status status = COLLAGE_OK;
    if (!stays) {
        qsort(joiner->nodes, count, sizeof *joiner->nodes, compare_nodes);
        status = make_region(joiner, home, count, &region);
    }
    if (region != NO_CANDIDATE) {
        joiner->out[joiner->out_count++] = region;
        return status;
    }
    for (uint32_t p = place; p < joiner->placement->count; p++)
        if (joiner->groups[p] == place)
            joiner->out[joiner->out_count++] = chosen[p];
    return status;
}

/* The new candidates in an order, and what they cost; 0 if that is not known. */
static collage_status finish(const struct joiner *joiner, struct placement *placement)
{
    const struct optimizer *optimizer = joiner->optimizer;
    struct place_problem problem = optimizer_problem(optimizer, optimizer->enabled);
    bool possible = false;
    memcpy(placement->chosen, joiner->out, joiner->out_count * sizeof *joiner->out);
    placement->count = joiner->out_count;
    collage_status status =
        cover_order(optimizer->set, placement->chosen, placement->count, &possible, joiner->error);
    if (status != COLLAGE_OK)
        return status;
    if (!possible)
        return error_set(joiner->error, COLLAGE_ERROR_INTERNAL,
                         "joined regions wait for each other");
    status = cover_cost(&problem, placement->chosen, placement->count, &placement->cost_ns,
                        joiner->error);
    for (size_t k = 0; k < placement->count; k++)
        if (optimizer->set->items[placement->chosen[k]].cost.state != COST_MEASURED)
            placement->cost_ns = 0;
    return status;
}

collage_status search_join(struct optimizer *optimizer, uint32_t *homes, bool measure,
                           struct placement *placement, struct error *error)
{
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    uint32_t *groups = arena_array(arena, placement->count, sizeof *groups);
    struct joiner joiner = {
        .optimizer = optimizer,
        .placement = placement,
        .homes = homes,
        .groups = groups,
        .measure = measure,
        .nodes = arena_array(arena, optimizer->settings.graph->node_count, sizeof(node_id)),
        .out = arena_array(arena, placement->count, sizeof(candidate_id)),
        .error = error,
    };
    collage_status status = groups && joiner.nodes && joiner.out ? COLLAGE_OK : error_memory(error);
    if (status == COLLAGE_OK)
        status = fuse_neighbours(optimizer->set, optimizer->pins, placement->chosen,
                                 placement->count, homes, groups, error);
    for (uint32_t place = 0; place < placement->count && status == COLLAGE_OK; place++)
        if (groups[place] == place)
            status = join_group(&joiner, place);
    if (status == COLLAGE_OK)
        status = finish(&joiner, placement);
    arena_destroy(arena);
    return status;
}
