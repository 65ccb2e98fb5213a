/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best placement on all libraries. It is placed with the costs that are known; then regions
 * grow, costs are confirmed and the plan is rehearsed (rehearse.h), and it is placed again, until
 * none of this changes anything.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "optimize/propose.h"
#include "optimize/rehearse.h"
#include "pattern/merge.h"
#include "place/cover.h"

enum { ROUNDS = 10, PASSES = 3, REHEARSALS = 5 };

/* The fast solver is right most of the time and says when it is not sure; the other proves. */
enum solver { SOLVER_FAST, SOLVER_EXACT };

/* What proving may take: more than this, large graphs get a bound instead. */
static struct place_limits solver_limits(const struct optimizer *optimizer)
{
    enum { LARGE = 1000 }; /* nodes */
    bool large = optimizer->settings.graph->node_count > LARGE;
    return (struct place_limits){ .seconds = large ? 60 : 5,
                                  .solver = optimizer->settings.solver_program };
}

/* Places, and makes a plan of the placement. */
static collage_status solve(struct optimizer *optimizer, const bool *enabled, enum solver solver,
                            struct plan **plan, struct placement *placement, struct error *error)
{
    uint64_t start = clock_ns();
    struct place_problem problem = optimizer_problem(optimizer, enabled);
    const struct place_limits limits = solver_limits(optimizer);
    collage_status status = solver == SOLVER_EXACT
                                ? place_exact(&problem, &limits, placement, error)
                                : place_dynamic(&problem, placement, error);
    if (status != COLLAGE_OK)
        return status;
    status = plan_build(&problem, placement, optimizer->device.fingerprint, plan, error);
    if (status != COLLAGE_OK)
        placement_free(placement);
    optimizer->counts.states += placement->states;
    optimizer->counts.solves += placement->solves;
    optimizer->counts.place_seconds += (double)(clock_ns() - start) * 1e-9;
    return status;
}

/* New regions to measure: neighbours of one graph-level backend as one, and what else the placement
 * gives reason to. From `first` on they are the newest candidates. */
static collage_status grow_regions(struct optimizer *optimizer, const struct placement *placement,
                                   struct optimizer_round *round, struct error *error)
{
    const size_t first = optimizer->set->count;
    size_t merged = 0;
    struct proposals proposals = { 0 };
    collage_status status =
        candidate_set_merge(optimizer->set, placement->chosen, placement->count, &merged, error);
    if (status == COLLAGE_OK)
        status = propose_regions(optimizer, placement, &proposals, error);
    round->proposed = optimizer->set->count - first;
    round->dismissed = proposals.dismissed;
    optimizer->counts.regions_merged += merged;
    optimizer->counts.regions_proposed += proposals.made;
    if (status != COLLAGE_OK || round->proposed == 0)
        return status;
    status = optimizer_measure_merged(optimizer, error);
    for (size_t id = first; id < first + round->proposed; id++)
        round->measured += optimizer->set->items[id].cost.state == COST_MEASURED;
    return status;
}

static void count_kept(const struct placement *placement, size_t first,
                       struct optimizer_round *round)
{
    for (size_t k = 0; k < placement->count; k++)
        round->kept +=
            placement->chosen[k] >= first && placement->chosen[k] < first + round->proposed;
}

/* How the search converges: what the best placement of each round is predicted to take. */
static collage_status note_round(struct optimizer *optimizer, const struct plan *plan,
                                 const struct optimizer_round *round, struct error *error)
{
    if (!memory_grow((void **)&optimizer->rounds, &optimizer->round_capacity,
                     optimizer->round_count, sizeof *optimizer->rounds))
        return error_memory(error);
    struct optimizer_round *noted = &optimizer->rounds[optimizer->round_count++];
    *noted = round ? *round : (struct optimizer_round){ 0 };
    noted->best_ns = plan->predicted_ns;
    optimizer->best_ns = plan->predicted_ns;
    return COLLAGE_OK;
}

/* Costs have changed since the round before: what was predicted then was wrong. */
static collage_status note_rehearsal(struct optimizer *optimizer, const struct plan *plan,
                                     struct error *error)
{
    return note_round(optimizer, plan, &(struct optimizer_round){ .anew = true }, error);
}

/* Grows regions and confirms, and places again, until neither changes anything any more: no region
 * is left that could make the placement cheaper. */
static collage_status refine(struct optimizer *optimizer, struct plan **best,
                             struct placement *placement, struct error *error)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const size_t first = optimizer->set->count;
        struct optimizer_round grown = { 0 };
        size_t again = 0;
        collage_status status = grow_regions(optimizer, placement, &grown, error);
        if (status == COLLAGE_OK)
            status = optimizer_confirm(optimizer, placement, PASSES, &again, error);
        if (status != COLLAGE_OK || grown.proposed + again == 0)
            return status;
        struct plan *plan = NULL;
        struct placement next = { 0 };
        status = solve(optimizer, optimizer->enabled, SOLVER_FAST, &plan, &next, error);
        if (status != COLLAGE_OK)
            return status;
        placement_free(placement);
        plan_destroy(*best);
        *placement = next;
        *best = plan;
        optimizer->counts.rounds++;
        count_kept(placement, first, &grown);
        status = note_round(optimizer, plan, &grown, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

collage_status optimizer_place_on(struct optimizer *optimizer, bool *only, bool settle,
                                  struct plan **plan, struct error *error)
{
    bool *all = optimizer->enabled;
    struct placement placement = { 0 };
    struct error local = { 0 };
    *plan = NULL;
    optimizer->enabled = only;
    collage_status status = solve(optimizer, only, SOLVER_FAST, plan, &placement, &local);
    bool none = status == COLLAGE_ERROR_UNSUPPORTED;
    if (status == COLLAGE_OK && settle)
        status = refine(optimizer, plan, &placement, &local);
    optimizer->enabled = all;
    placement_free(&placement);
    if (status == COLLAGE_OK)
        return COLLAGE_OK;
    plan_destroy(*plan);
    *plan = NULL;
    return none ? COLLAGE_OK : error_set(error, status, "%s", local.text);
}

/* The fast solver was not sure of its last placement. Whoever has enough is not kept waiting for a
 * proof. */
static collage_status prove(struct optimizer *optimizer, struct plan **best, struct error *error)
{
    if ((*best)->optimal || optimizer_has_enough(optimizer))
        return COLLAGE_OK;
    struct plan *plan = NULL;
    struct placement placement = { 0 };
    collage_status status = optimizer_report_progress(optimizer, "place", "proving", 0, 1, error);
    if (status == COLLAGE_OK)
        status = solve(optimizer, optimizer->enabled, SOLVER_EXACT, &plan, &placement, error);
    if (status != COLLAGE_OK)
        return status;
    placement_free(&placement);
    plan_destroy(*best);
    *best = plan;
    return note_round(optimizer, plan, NULL, error);
}

/* ---- rehearsing ---- */

/* The rehearsed placement whose steps took least so far. */
struct rehearsed {
    struct placement placement;
    double steps_ns;
};

static collage_status remember(struct rehearsed *best, const struct placement *placement,
                               double steps_ns, struct error *error)
{
    if (!(steps_ns < best->steps_ns))
        return COLLAGE_OK;
    candidate_id *chosen = memory_alloc(placement->count * sizeof *chosen);
    if (!chosen)
        return error_memory(error);
    memcpy(chosen, placement->chosen, placement->count * sizeof *chosen);
    placement_free(&best->placement);
    best->placement = *placement;
    best->placement.chosen = chosen;
    best->steps_ns = steps_ns;
    return COLLAGE_OK;
}

/* Places anew after costs have changed. *same: the same kernels as before. */
static collage_status place_again(struct optimizer *optimizer, struct plan **plan,
                                  struct placement *placement, bool *same, struct error *error)
{
    struct plan *next = NULL;
    struct placement next_placement = { 0 };
    collage_status status =
        solve(optimizer, optimizer->enabled, SOLVER_FAST, &next, &next_placement, error);
    if (status == COLLAGE_OK)
        status = refine(optimizer, &next, &next_placement, error);
    if (status == COLLAGE_OK)
        status = note_rehearsal(optimizer, next, error);
    if (status != COLLAGE_OK) {
        placement_free(&next_placement);
        plan_destroy(next);
        return status;
    }
    *same = optimizer_same_steps(*plan, next);
    placement_free(placement);
    plan_destroy(*plan);
    *placement = next_placement;
    *plan = next;
    return COLLAGE_OK;
}

/* The last placement was not rehearsed: its costs may be wrong as those before were. That of the
 * best rehearsal is taken, at its costs; what is proven of the last one holds for all. */
static collage_status take_best(struct optimizer *optimizer, struct rehearsed *best,
                                struct plan **plan, struct placement *placement,
                                struct error *error)
{
    const struct place_problem problem = optimizer_problem(optimizer, optimizer->enabled);
    struct plan *other = NULL;
    best->placement.bound_ns = placement->bound_ns;
    collage_status status = cover_cost(&problem, best->placement.chosen, best->placement.count,
                                       &best->placement.cost_ns, error);
    best->placement.optimal = placement_is_optimal(&best->placement);
    if (status == COLLAGE_OK)
        status =
            plan_build(&problem, &best->placement, optimizer->device.fingerprint, &other, error);
    if (status != COLLAGE_OK)
        return status;
    plan_destroy(*plan);
    placement_free(placement);
    *plan = other;
    *placement = best->placement;
    best->placement = (struct placement){ 0 };
    return note_rehearsal(optimizer, other, error);
}

/* Until a rehearsal says nothing new: the best placement's steps then take what they cost. */
static collage_status rehearse_until_true(struct optimizer *optimizer, struct plan **plan,
                                          struct placement *placement, struct error *error)
{
    struct rehearsed best = { .steps_ns = HUGE_VAL };
    collage_status status = COLLAGE_OK;
    bool news = true, same = false;
    for (uint32_t k = 0; k < REHEARSALS && news && !same && status == COLLAGE_OK; k++) {
        double steps_ns;
        status = rehearse(optimizer, *plan, placement, &news, &steps_ns, error);
        if (status == COLLAGE_OK)
            status = remember(&best, placement, steps_ns, error);
        if (status == COLLAGE_OK && news)
            status = place_again(optimizer, plan, placement, &same, error);
    }
    if (status == COLLAGE_OK && news && !same && best.placement.count > 0)
        status = take_best(optimizer, &best, plan, placement, error);
    placement_free(&best.placement);
    return status;
}

collage_status optimizer_place_mix(struct optimizer *optimizer, struct error *error)
{
    collage_status status = optimizer_report_progress(optimizer, "place", "", 0, 1, error);
    struct plan *plan = NULL;
    struct placement placement = { 0 };
    if (status == COLLAGE_OK)
        status = solve(optimizer, optimizer->enabled, SOLVER_FAST, &plan, &placement, error);
    if (status != COLLAGE_OK)
        return status;
    status = note_round(optimizer, plan, NULL, error);
    if (status == COLLAGE_OK)
        status = refine(optimizer, &plan, &placement, error);
    if (status == COLLAGE_OK)
        status = rehearse_until_true(optimizer, &plan, &placement, error);
    placement_free(&placement);
    if (status == COLLAGE_OK)
        status = prove(optimizer, &plan, error);
    if (status == COLLAGE_OK)
        status = optimizer_add_mix(optimizer, "mix", plan, error);
    if (status != COLLAGE_OK)
        plan_destroy(plan);
    return status;
}
