/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greedy.c: placement by priority, as runtimes with execution providers or heterogeneous devices do
 * it: the first backend takes what it can, the next one what is left, and so on. An everyday
 * baseline: costs decide only between the variants of one pattern on one backend.
 */
#include <stdlib.h>
#include <string.h>

#include "place/cover.h"
#include "place/options.h"

struct claimer {
    const struct place_problem *problem;
    const struct candidate_set *set;
    struct arena *arena;
    bool rows_only;
    candidate_id *list; /* who takes part: by backend, then as claimed */
    uint32_t count;
    bool *claimed, *view; /* node by node: taken; may be a view */
    candidate_id *chosen;
    size_t chosen_count;
    struct error *error;
};

/* What qsort needs to know of a candidate. */
struct claim {
    uint32_t backend, size;
    node_id first;
    double cost;
    candidate_id id;
};

/* A backend's claims from the inputs of the network on; at a node, the largest first. */
static int compare_claims(const void *left, const void *right)
{
    const struct claim *a = left, *b = right;
    if (a->backend != b->backend)
        return a->backend < b->backend ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    if (a->cost < b->cost || a->cost > b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* What is a view for free is no single operator of a backend. */
static bool is_needless(const struct claimer *claimer, const struct candidate *candidate)
{
    return candidate->region.node_count == 1 && claimer->view[candidate->region.nodes[0]];
}

static collage_status list_claims(struct claimer *claimer)
{
    const struct candidate_set *set = claimer->set;
    struct claim *claims = arena_array(claimer->arena, set->count, sizeof *claims);
    claimer->list = arena_array(claimer->arena, set->count, sizeof *claimer->list);
    if (!claims || !claimer->list)
        return error_memory(claimer->error);
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        if (candidate->view && !candidate->part &&
            cover_takes_part(claimer->problem, candidate, claimer->rows_only))
            claimer->view[candidate->region.nodes[0]] = true;
    }
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        if (candidate->view || is_needless(claimer, candidate) ||
            !cover_takes_part(claimer->problem, candidate, claimer->rows_only))
            continue;
        claims[claimer->count++] =
            (struct claim){ candidate->backend, candidate->region.node_count,
                            candidate->region.nodes[0], candidate->cost.cost_ns, id };
    }
    if (claimer->count)
        qsort(claims, claimer->count, sizeof *claims, compare_claims);
    for (uint32_t k = 0; k < claimer->count; k++)
        claimer->list[k] = claims[k].id;
    return COLLAGE_OK;
}

static void choose(struct claimer *claimer, candidate_id id)
{
    const struct region *region = &claimer->set->items[id].region;
    for (uint32_t k = 0; k < region->node_count; k++)
        if (claimer->claimed[region->nodes[k]])
            return;
    for (uint32_t k = 0; k < region->node_count; k++)
        claimer->claimed[region->nodes[k]] = true;
    claimer->chosen[claimer->chosen_count++] = id;
}

/* A pinned group must be one candidate: those go first, on whatever backend. */
static void choose_pinned(struct claimer *claimer)
{
    const struct pins *pins = claimer->problem->pins;
    for (uint32_t k = 0; pins && k < claimer->count; k++)
        if (pins_name(pins, &claimer->set->items[claimer->list[k]]))
            choose(claimer, claimer->list[k]);
}

static void choose_on(struct claimer *claimer, uint32_t backend)
{
    for (uint32_t k = 0; k < claimer->count; k++)
        if (claimer->set->items[claimer->list[k]].backend == backend)
            choose(claimer, claimer->list[k]);
}

static void choose_views(struct claimer *claimer)
{
    for (candidate_id id = 0; id < claimer->set->count; id++) {
        const struct candidate *candidate = &claimer->set->items[id];
        if (candidate->view && !candidate->part &&
            cover_takes_part(claimer->problem, candidate, claimer->rows_only))
            choose(claimer, id);
    }
}

static node_id find_bare(const struct claimer *claimer)
{
    node_id node = 0;
    while (node < claimer->set->graph->node_count && claimer->claimed[node])
        node++;
    return node;
}

static collage_status make(struct claimer *claimer)
{
    size_t nodes = claimer->set->graph->node_count;
    claimer->claimed = arena_array(claimer->arena, nodes, sizeof(bool));
    claimer->view = arena_array(claimer->arena, nodes, sizeof(bool));
    claimer->chosen = memory_alloc(nodes * sizeof *claimer->chosen);
    if (!claimer->claimed || !claimer->view || !claimer->chosen)
        return error_memory(claimer->error);
    return list_claims(claimer);
}

/* *possible: there is a placement, in *out; otherwise *stuck is where it ended. */
static collage_status attempt(const struct place_problem *problem, const uint32_t *order,
                              uint32_t count, bool rows_only, struct placement *out, bool *possible,
                              node_id *stuck, struct error *error)
{
    struct claimer claimer = { .problem = problem,
                               .set = problem->set,
                               .arena = arena_create(),
                               .rows_only = rows_only,
                               .error = error };
    *possible = false;
    *stuck = 0;
    collage_status status = claimer.arena ? make(&claimer) : error_memory(error);
    if (!status) {
        choose_pinned(&claimer);
        for (uint32_t k = 0; k < count; k++)
            choose_on(&claimer, order[k]);
        choose_views(&claimer);
        *stuck = find_bare(&claimer);
    }
    bool whole = !status && *stuck == problem->set->graph->node_count;
    if (whole) {
        *stuck = *stuck > 0 ? *stuck - 1 : 0;
        status = cover_finish(problem, claimer.chosen, claimer.chosen_count, out, possible, error);
    } else {
        memory_free(claimer.chosen);
    }
    arena_destroy(claimer.arena);
    return status;
}

collage_status place_greedy(const struct place_problem *problem, const uint32_t *order,
                            uint32_t count, struct placement *out, struct error *error)
{
    *out = (struct placement){ 0 };
    bool possible;
    node_id stuck, ignored;
    collage_status status = attempt(problem, order, count, false, out, &possible, &stuck, error);
    /* Those who place so have one layout. Where ours would need a conversion that nobody can make,
     * this is what they find. */
    if (!status && !possible)
        status = attempt(problem, order, count, true, out, &possible, &ignored, error);
    if (!status && !possible)
        status = place_fail(problem, stuck, error);
    return status;
}
