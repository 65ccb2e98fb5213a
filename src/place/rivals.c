/* SPDX-License-Identifier: Apache-2.0 */
#include "place/rivals.h"

#include <string.h>

#include "place/options.h"

/* Enough for the nodes of one candidate; the others leave no choice. */
enum { STATES = 1000 };

struct rivals {
    const struct place_problem *problem;
    struct arena *arena;
    const candidate_id *order;
    size_t count;
    uint32_t *owner; /* node by node: the position in `order`; GRAPH_NONE: a view */
    /* Usable candidates all of whose nodes belong to position p: inside[first[p]..first[p + 1]). */
    uint32_t *first;
    candidate_id *inside;
    bool *held;          /* node by node, for the time of making a trial */
    candidate_id *views; /* of the nodes without owner */
    size_t view_count;
    /* The trial being made: what may be chosen, and the ids that it has in the problem. */
    struct candidate *items;
    candidate_id *ids;
    size_t item_count;
    double cost_ns; /* of the placement itself, switches left aside */
};

static const struct candidate *candidate_of(const struct rivals *rivals, candidate_id id)
{
    return &rivals->problem->set->items[id];
}

/* ---- which candidates ---- */

/* The position all of whose nodes hold the candidate's; GRAPH_NONE if there is none. */
static uint32_t find_owner(const struct rivals *rivals, const struct candidate *candidate)
{
    const struct region *region = &candidate->region;
    uint32_t owner = rivals->owner[region->own[0]];
    for (uint32_t k = 1; k < region->own_count; k++)
        if (rivals->owner[region->own[k]] != owner)
            return GRAPH_NONE;
    return owner;
}

static collage_status set_owners(struct rivals *rivals, struct error *error)
{
    size_t nodes = rivals->problem->set->graph->node_count;
    rivals->owner = arena_array(rivals->arena, nodes, sizeof *rivals->owner);
    rivals->held = arena_array(rivals->arena, nodes, sizeof *rivals->held);
    if (!rivals->owner || !rivals->held)
        return error_memory(error);
    for (size_t n = 0; n < nodes; n++)
        rivals->owner[n] = GRAPH_NONE;
    for (size_t p = 0; p < rivals->count; p++) {
        const struct region *region = &candidate_of(rivals, rivals->order[p])->region;
        for (uint32_t k = 0; k < region->own_count; k++)
            rivals->owner[region->own[k]] = (uint32_t)p;
    }
    return COLLAGE_OK;
}

/* Counting sort by position. */
static collage_status sort_candidates(struct rivals *rivals, struct error *error)
{
    const struct candidate_set *set = rivals->problem->set;
    rivals->first = arena_array(rivals->arena, rivals->count + 2, sizeof *rivals->first);
    rivals->inside = arena_array(rivals->arena, set->count, sizeof *rivals->inside);
    rivals->views = arena_array(rivals->arena, set->count, sizeof *rivals->views);
    if (!rivals->first || !rivals->inside || !rivals->views)
        return error_memory(error);
    uint32_t *next = rivals->first + 1; /* next[p] runs from first[p] to first[p + 1] */
    for (int pass = 0; pass < 2; pass++) {
        for (candidate_id id = 0; id < set->count; id++) {
            const struct candidate *candidate = &set->items[id];
            if (!place_is_usable(rivals->problem, candidate))
                continue;
            uint32_t owner = find_owner(rivals, candidate);
            if (owner == GRAPH_NONE && pass == 0 && candidate->view)
                rivals->views[rivals->view_count++] = id;
            if (owner == GRAPH_NONE)
                continue;
            if (pass == 0)
                next[owner + 1]++;
            else
                rivals->inside[next[owner]++] = id;
        }
        for (size_t p = 0; pass == 0 && p < rivals->count; p++)
            next[p + 1] += next[p];
    }
    return COLLAGE_OK;
}

/* ---- a trial ---- */

static void admit(struct rivals *rivals, candidate_id id)
{
    rivals->items[rivals->item_count] = *candidate_of(rivals, id);
    rivals->ids[rivals->item_count++] = id;
}

/* All but what is at `left_out` (SIZE_MAX: nothing). */
static void admit_the_rest(struct rivals *rivals, size_t left_out)
{
    for (size_t k = 0; k < rivals->view_count; k++)
        admit(rivals, rivals->views[k]);
    for (size_t p = 0; p < rivals->count; p++)
        if (p != left_out)
            admit(rivals, rivals->order[p]);
}

static bool is_rival(const struct rivals *rivals, size_t at, candidate_id id, uint32_t backend)
{
    const struct candidate *candidate = candidate_of(rivals, id);
    return id != rivals->order[at] && !candidate->view && candidate->backend == backend;
}

static void mark(struct rivals *rivals, candidate_id id, bool held)
{
    const struct region *region = &candidate_of(rivals, id)->region;
    for (uint32_t k = 0; k < region->own_count; k++)
        rivals->held[region->own[k]] = held;
}

/* What the backend has for the nodes at `at`, without what was chosen, views, and the reference
 * where it has nothing. False: it has nothing at all. */
static bool admit_backend(struct rivals *rivals, size_t at, uint32_t backend)
{
    const uint32_t begin = rivals->first[at], end = rivals->first[at + 1];
    bool any = false;
    for (uint32_t k = begin; k < end; k++)
        if (is_rival(rivals, at, rivals->inside[k], backend)) {
            any = true;
            mark(rivals, rivals->inside[k], true);
            admit(rivals, rivals->inside[k]);
        }
    for (uint32_t k = begin; k < end && any; k++) {
        const struct candidate *candidate = candidate_of(rivals, rivals->inside[k]);
        bool hole = is_rival(rivals, at, rivals->inside[k], REGISTRY_REFERENCE) &&
                    !rivals->held[candidate->region.own[0]];
        if (candidate->view || hole)
            admit(rivals, rivals->inside[k]);
    }
    mark(rivals, rivals->order[at], false);
    return any;
}

/* Without switches, whose cost depends on the order: that one stays as it is (switches_around). */
static collage_status solve(struct rivals *rivals, bool *possible, struct placement *placement,
                            struct error *error)
{
    struct candidate_set set = *rivals->problem->set;
    set.items = rivals->items;
    set.count = rivals->item_count;
    struct place_problem problem = *rivals->problem;
    problem.set = &set;
    problem.switch_ns = NULL;
    problem.state_limit = STATES;
    struct error own = { 0 };
    collage_status status = place_dynamic(&problem, placement, &own);
    *possible = status == COLLAGE_OK;
    if (status == COLLAGE_OK || status == COLLAGE_ERROR_UNSUPPORTED)
        return COLLAGE_OK;
    return error_set(error, status, "%s", own.text);
}

/* What going from backend to backend costs, from the candidate before `at` to the one after it,
 * with these ones between. */
static double switches_around(const struct rivals *rivals, size_t at, const candidate_id *list,
                              size_t count)
{
    double total = 0;
    uint32_t last = at > 0 ? candidate_of(rivals, rivals->order[at - 1])->backend : GRAPH_NONE;
    for (size_t k = 0; k <= count; k++) {
        if (k == count && at + 1 == rivals->count)
            break;
        candidate_id id = k < count ? list[k] : rivals->order[at + 1];
        uint32_t backend = candidate_of(rivals, id)->backend;
        if (last != GRAPH_NONE)
            total += place_switch_cost(rivals->problem, last, backend);
        last = backend;
    }
    return total;
}

/* The part of a trial's answer that took the place of order[at]. */
static collage_status take(struct rivals *rivals, size_t at, uint32_t backend,
                           const struct placement *placement, struct rival *out,
                           struct error *error)
{
    candidate_id *taken = arena_array(rivals->arena, placement->count, sizeof *taken);
    if (!taken)
        return error_memory(error);
    size_t count = 0;
    bool on_backend = false;
    for (size_t k = 0; k < placement->count; k++) {
        candidate_id id = rivals->ids[placement->chosen[k]];
        const struct candidate *candidate = candidate_of(rivals, id);
        if (candidate->view || rivals->owner[candidate->region.own[0]] != at)
            continue;
        on_backend = on_backend || candidate->backend == backend;
        taken[count++] = id;
    }
    if (!on_backend) /* all is views and the reference */
        return COLLAGE_OK;
    *out = (struct rival){ .found = true,
                           .proven = placement->optimal,
                           .extra_ns = placement->cost_ns - rivals->cost_ns +
                                       switches_around(rivals, at, taken, count) -
                                       switches_around(rivals, at, &rivals->order[at], 1),
                           .chosen = taken,
                           .count = count };
    return COLLAGE_OK;
}

collage_status rivals_find(struct rivals *rivals, size_t at, struct rival *out, struct error *error)
{
    const struct place_problem *problem = rivals->problem;
    memset(out, 0, problem->set->registry->count * sizeof *out);
    for (uint32_t b = 0; b < problem->set->registry->count; b++) {
        rivals->item_count = 0;
        if (!problem->enabled[b] || !admit_backend(rivals, at, b))
            continue;
        admit_the_rest(rivals, at);
        struct placement placement = { 0 };
        bool possible = false;
        collage_status status = solve(rivals, &possible, &placement, error);
        if (status == COLLAGE_OK && possible)
            status = take(rivals, at, b, &placement, &out[b], error);
        placement_free(&placement);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

/* ---- making ---- */

static collage_status price_placement(struct rivals *rivals, struct error *error)
{
    struct placement placement = { 0 };
    bool possible = false;
    rivals->item_count = 0;
    admit_the_rest(rivals, SIZE_MAX);
    collage_status status = solve(rivals, &possible, &placement, error);
    rivals->cost_ns = placement.cost_ns;
    placement_free(&placement);
    if (status == COLLAGE_OK && !possible)
        status = error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                           "the costs of the plan's kernels or conversions are not all known");
    return status;
}

static collage_status make(struct rivals *rivals, struct error *error)
{
    size_t most = rivals->problem->set->count;
    rivals->items = arena_array(rivals->arena, most, sizeof *rivals->items);
    rivals->ids = arena_array(rivals->arena, most, sizeof *rivals->ids);
    if (!rivals->items || !rivals->ids)
        return error_memory(error);
    collage_status status = set_owners(rivals, error);
    if (status == COLLAGE_OK)
        status = sort_candidates(rivals, error);
    return status == COLLAGE_OK ? price_placement(rivals, error) : status;
}

collage_status rivals_create(const struct place_problem *problem, const candidate_id *order,
                             size_t count, struct rivals **out, struct error *error)
{
    *out = NULL;
    struct rivals *rivals = memory_alloc(sizeof *rivals);
    if (!rivals)
        return error_memory(error);
    rivals->problem = problem;
    rivals->order = order;
    rivals->count = count;
    rivals->arena = arena_create();
    collage_status status = rivals->arena ? make(rivals, error) : error_memory(error);
    if (status != COLLAGE_OK) {
        rivals_destroy(rivals);
        return status;
    }
    *out = rivals;
    return COLLAGE_OK;
}

void rivals_destroy(struct rivals *rivals)
{
    if (!rivals)
        return;
    arena_destroy(rivals->arena);
    memory_free(rivals);
}
