/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contestant whose steps run side by side. It is made of a placement that is there: its steps,
 * and for those that may run in a lane the fastest kernel for the same nodes and layouts on a
 * lane's share of the threads. What these cost is measured like all else, with that number of
 * threads in its key. First it is asked what the most would be that could be gained: most networks
 * are chains, and need no measurement.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "optimize/candidate_cost.h"
#include "optimize/key_table.h"
#include "plan/lane_schedule.h"
#include "run/lanes.h"
#include "tensor/layout.h"

/* Plans with lanes take part only if they promise so much. */
static const double promising = 0.98;
/* Of the budget for measuring, if nothing of it is left. */
static const double extra_budget = 0.1;
/* Copies are not measured. */
static const double bytes_per_ns = 8;

struct laner {
    struct optimizer *optimizer; /* whose placement it is, on all threads */
    struct optimizer narrow;     /* the same on a lane's threads: candidates, costs, a worker */
    const struct plan *plan;
    uint32_t lanes;
    struct lane_costs costs;
    double *wide_ns, *lane_ns;
    struct lane_kernel *kernels;
    struct arena *arena;
};

/* ---- what going from lane to lane costs ---- */

static collage_status hand_over_costs(struct optimizer *optimizer, struct lane_costs *costs,
                                      struct error *error)
{
    const struct cost_conditions conditions = { "collage", collage_version(),
                                                optimizer->device.fingerprint, 2, 0 };
    static const char *const keys[] = { "lanes: hand over", "lanes: wake" };
    double *const values[] = { &costs->hand_over_ns, &costs->wake_ns };
    bool found[2] = { false, false };
    collage_status status = COLLAGE_OK;
    for (int k = 0; k < 2 && status == COLLAGE_OK && !optimizer->settings.remeasure; k++)
        status = cost_store_get_fact(optimizer->store, keys[k], &conditions, &found[k], values[k],
                                     error);
    if (status != COLLAGE_OK || (found[0] && found[1]))
        return status;
    status = lanes_measure(values[0], values[1], error);
    for (int k = 0; k < 2 && status == COLLAGE_OK; k++)
        status = cost_store_put_fact(optimizer->store, keys[k], &conditions, *values[k], error);
    return status;
}

/* ---- the same optimizer on fewer threads ---- */

static collage_status open_narrow(struct laner *l, struct error *error)
{
    struct optimizer *narrow = &l->narrow;
    const int32_t threads = l->optimizer->target.threads / (int32_t)l->lanes;
    *narrow = *l->optimizer;
    narrow->settings.threads = threads;
    narrow->settings.progress = NULL;
    narrow->target = registry_host_target(threads);
    narrow->worker = NULL;
    narrow->set = NULL;
    narrow->pins = NULL;
    narrow->counts = (struct optimizer_counts){ 0 };
    narrow->known = key_table_create();
    if (!narrow->known)
        return error_memory(error);
    return candidate_set_create(narrow->settings.graph, narrow->settings.registry, &narrow->target,
                                &narrow->set, error);
}

/* What it has measured is the other's, too. */
static void close_narrow(struct laner *l)
{
    struct optimizer *optimizer = l->optimizer, *narrow = &l->narrow;
    optimizer->oracle = narrow->oracle;
    optimizer->counts.measured += narrow->counts.measured;
    optimizer->counts.reused += narrow->counts.reused;
    optimizer->counts.reference_seconds += narrow->counts.reference_seconds;
    worker_destroy(narrow->worker);
    candidate_set_destroy(narrow->set);
    key_table_destroy(narrow->known);
    *narrow = (struct optimizer){ 0 };
}

/* ---- kernels of a lane ---- */

static bool same_layouts(const struct plan *plan, const struct plan_step *step,
                         const struct candidate *candidate)
{
    if (candidate->view || candidate->region.input_count != step->input_count ||
        candidate->region.output_count != step->output_count)
        return false;
    for (uint32_t k = 0; k < step->input_count; k++)
        if (!layout_equal(&candidate->input_layouts[k], &plan->tensors[step->inputs[k]].layout))
            return false;
    for (uint32_t k = 0; k < step->output_count; k++)
        if (!layout_equal(&candidate->output_layouts[k], &plan->tensors[step->outputs[k]].layout))
            return false;
    return true;
}

static void take_kernel(struct laner *l, uint32_t index, const struct candidate *candidate)
{
    const struct cost *cost = &candidate->cost;
    const struct backend_entry *entry = &l->narrow.settings.registry->entries[candidate->backend];
    struct lane_kernel *kernel = &l->kernels[index];
    *kernel =
        (struct lane_kernel){ .backend = entry->name,
                              .version = entry->version,
                              .variant = candidate->variant ? candidate->variant : "",
                              .implementation = cost->implementation ? cost->implementation : "",
                              .schedule = cost->schedule,
                              .cost_ns = cost->cost_ns,
                              .given = cost->giver != NULL,
                              .inplace_count = cost->inplace_count };
    memcpy(kernel->inplace, cost->inplace, sizeof kernel->inplace);
    l->lane_ns[index] = cost->cost_ns;
}

static bool may_run_in_lanes(const struct optimizer *optimizer, uint32_t backend)
{
    const struct backend_entry *entry = &optimizer->settings.registry->entries[backend];
    return optimizer->enabled[backend] && entry->api &&
           (entry->api->thread_flags & COLLAGE_THREADS_CONCURRENT);
}

/* All variants of the step's region on this backend in the step's layouts. */
static collage_status try_backend(struct laner *l, uint32_t index, const struct region *region,
                                  uint32_t backend, bool measure, struct error *error)
{
    struct optimizer *narrow = &l->narrow;
    struct candidate_set *set = narrow->set;
    const struct plan_step *step = &l->plan->steps[index];
    collage_status status =
        candidate_set_add_copying(set, backend, region->nodes, region->node_count, region->copies,
                                  region->copy_count, step->pattern, NULL, error);
    for (candidate_id id = 0; id < set->count && status == COLLAGE_OK; id++) {
        const struct candidate *candidate = &set->items[id];
        if (candidate->backend != backend || candidate->region.node_count != step->node_count ||
            memcmp(candidate->region.nodes, step->nodes, step->node_count * sizeof(node_id)) != 0 ||
            !same_layouts(l->plan, step, candidate))
            continue;
        const char *origin;
        status = optimizer_find_cost(narrow, id, measure, &origin, error);
        if (status == COLLAGE_OK && set->items[id].cost.state == COST_MEASURED &&
            set->items[id].cost.cost_ns < l->lane_ns[index])
            take_kernel(l, index, &set->items[id]);
    }
    return status;
}

/* What is pinned stays with its library. */
static collage_status find_kernel(struct laner *l, uint32_t index, bool measure,
                                  struct error *error)
{
    struct candidate_set *set = l->narrow.set;
    const struct registry *registry = l->narrow.settings.registry;
    const struct plan_step *step = &l->plan->steps[index];
    const uint32_t own = registry_find(registry, l->plan->backends[step->backend].name);
    struct region region;
    collage_status status =
        plan_step_region(l->plan, step, set->graph, &set->uses, l->arena, &region, error);
    for (uint32_t b = 0; b < registry->count && status == COLLAGE_OK; b++) {
        const bool op_level = may_run_in_lanes(&l->narrow, b) && b != REGISTRY_REFERENCE &&
                              registry->entries[b].api->kind == COLLAGE_OP_LEVEL &&
                              !l->optimizer->pins;
        if (op_level || (b == own && may_run_in_lanes(&l->narrow, b)))
            status = try_backend(l, index, &region, b, measure, error);
    }
    return status;
}

static collage_status find_reorder(struct laner *l, uint32_t index, bool measure,
                                   struct error *error)
{
    const struct plan *plan = l->plan;
    const struct plan_step *step = &plan->steps[index];
    const struct plan_tensor *from = &plan->tensors[step->inputs[0]];
    const struct plan_tensor *to = &plan->tensors[step->outputs[0]];
    const struct plan_backend *backend = &plan->backends[step->backend];
    const uint32_t own = registry_find(l->narrow.settings.registry, backend->name);
    struct cost cost = { .state = COST_UNKNOWN };
    if (own == UINT32_MAX || !may_run_in_lanes(&l->narrow, own))
        return COLLAGE_OK;
    l->narrow.settings.stored_only = !measure;
    collage_status status = optimizer_transition_cost(&l->narrow, own, from->value, &from->layout,
                                                      &to->layout, &cost, error);
    if (status != COLLAGE_OK || cost.state != COST_MEASURED)
        return status;
    l->kernels[index] = (struct lane_kernel){ .backend = backend->name,
                                              .version = backend->version,
                                              .variant = step->variant,
                                              .implementation = step->implementation,
                                              .cost_ns = cost.cost_ns };
    l->lane_ns[index] = cost.cost_ns;
    return COLLAGE_OK;
}

/* ---- steps, the costliest first ---- */

struct job {
    uint32_t index;
    double ns;
};

static int compare_jobs(const void *left, const void *right)
{
    const struct job *a = left, *b = right;
    if (a->ns > b->ns || a->ns < b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static collage_status find_kernels(struct laner *l, struct error *error)
{
    struct optimizer *optimizer = l->optimizer;
    const uint32_t count = l->plan->step_count;
    struct job *jobs = arena_array(l->arena, count, sizeof *jobs);
    if (!jobs)
        return error_memory(error);
    const uint64_t extra =
        clock_ns() + (uint64_t)(extra_budget * optimizer->settings.budget_seconds * 1e9);
    const uint64_t deadline = optimizer->deadline_ns > extra ? optimizer->deadline_ns : extra;
    collage_status status = COLLAGE_OK;
    for (uint32_t s = 0; s < count; s++)
        jobs[s] = (struct job){ s, l->wide_ns[s] };
    qsort(jobs, count, sizeof *jobs, compare_jobs);
    for (uint32_t k = 0; k < count && status == COLLAGE_OK; k++) {
        const struct plan_step *step = &l->plan->steps[jobs[k].index];
        const bool measure = clock_ns() < deadline && !optimizer_has_enough(optimizer);
        l->lane_ns[jobs[k].index] = HUGE_VAL;
        status = optimizer_report_progress(optimizer, "measure", "lanes", k, count, error);
        if (status == COLLAGE_OK && step->kind == PLAN_KERNEL)
            status = find_kernel(l, jobs[k].index, measure, error);
        else if (status == COLLAGE_OK && step->kind == PLAN_REORDER)
            status = find_reorder(l, jobs[k].index, measure, error);
        else
            l->lane_ns[jobs[k].index] = l->wide_ns[jobs[k].index];
    }
    return status;
}

/* ---- one plan ---- */

/* What the steps cost one after the other; at first a lane's kernels are taken to be as fast. */
static double take_costs(struct laner *l)
{
    double total = 0;
    for (uint32_t s = 0; s < l->plan->step_count; s++) {
        const struct plan_step *step = &l->plan->steps[s];
        l->wide_ns[s] = step->kind == PLAN_COPY
                            ? (double)l->plan->tensors[step->outputs[0]].bytes / bytes_per_ns
                            : step->cost_ns;
        l->lane_ns[s] = l->wide_ns[s];
        l->kernels[s] = (struct lane_kernel){ .cost_ns = l->wide_ns[s] };
        total += l->wide_ns[s];
    }
    l->costs.wide_ns = l->wide_ns;
    l->costs.lane_ns = l->lane_ns;
    return total;
}

static bool make_room(struct laner *l)
{
    const uint32_t count = l->plan->step_count;
    l->arena = arena_create();
    if (!l->arena)
        return false;
    l->wide_ns = arena_array(l->arena, count, sizeof *l->wide_ns);
    l->lane_ns = arena_array(l->arena, count, sizeof *l->lane_ns);
    l->kernels = arena_array(l->arena, count, sizeof *l->kernels);
    return l->wide_ns && l->lane_ns && l->kernels;
}

/* What else the placement was predicted to cost (switches between libraries) stays. */
static collage_status build(struct laner *l, const struct lane_schedule *schedule, double total,
                            struct plan **out, struct error *error)
{
    collage_status status =
        plan_with_lanes(l->plan, l->optimizer->settings.graph, l->lanes, schedule->order,
                        schedule->lane, l->kernels, out, error);
    if (status == COLLAGE_OK)
        (*out)->predicted_ns = schedule->ns + fmax(0, l->plan->predicted_ns - total);
    return status;
}

/* *out stays NULL if it promises too little, against `best_ns` as well. */
static collage_status place_in_lanes(struct laner *l, double best_ns, struct plan **out,
                                     struct error *error)
{
    struct lane_schedule schedule;
    const double total = take_costs(l);
    const double rest = fmax(0, l->plan->predicted_ns - total);
    collage_status status =
        lane_schedule_find(l->plan, l->lanes, &l->costs, l->arena, &schedule, error);
    if (status != COLLAGE_OK || schedule.ns + rest > promising * best_ns)
        return status;
    status = open_narrow(l, error);
    if (status == COLLAGE_OK)
        status = find_kernels(l, error);
    if (status == COLLAGE_OK)
        status = lane_schedule_find(l->plan, l->lanes, &l->costs, l->arena, &schedule, error);
    if (status == COLLAGE_OK && schedule.in_lanes > 0 && schedule.ns + rest <= promising * best_ns)
        status = build(l, &schedule, total, out, error);
    close_narrow(l);
    return status;
}

/* ---- which plans ---- */

static collage_status add_of(struct optimizer *optimizer, const struct plan *plan, const char *what,
                             uint32_t lanes, const struct lane_costs *costs, struct error *error)
{
    struct laner l = { .optimizer = optimizer, .plan = plan, .lanes = lanes, .costs = *costs };
    struct plan *made = NULL;
    const char *name = arena_format(optimizer->arena, "%s in %u lanes", what, lanes);
    collage_status status =
        make_room(&l) && name ? place_in_lanes(&l, optimizer->plans[0]->predicted_ns, &made, error)
                              : error_memory(error);
    arena_destroy(l.arena);
    if (status == COLLAGE_OK && made)
        status = optimizer_add_mix(optimizer, name, made, error);
    if (status != COLLAGE_OK)
        plan_destroy(made);
    return status;
}

/* Large regions of graph-level libraries leave nothing to run side by side. */
static collage_status add_of_operators(struct optimizer *optimizer, uint32_t lanes,
                                       const struct lane_costs *costs, struct error *error)
{
    const struct registry *registry = optimizer->settings.registry;
    bool *only = arena_array(optimizer->arena, registry->count, sizeof *only);
    struct plan *plan = NULL;
    if (!only)
        return error_memory(error);
    for (uint32_t b = 0; b < registry->count; b++)
        only[b] = optimizer->enabled[b] && registry->entries[b].api->kind == COLLAGE_OP_LEVEL;
    collage_status status = optimizer_place_on(optimizer, only, false, &plan, error);
    if (status == COLLAGE_OK && plan && !optimizer_same_steps(plan, optimizer->plans[0]))
        status = add_of(optimizer, plan, "operators", lanes, costs, error);
    plan_destroy(plan);
    return status;
}

collage_status optimizer_add_lanes(struct optimizer *optimizer, struct error *error)
{
    static const uint32_t counts[] = { 2, 4 };
    struct lane_costs costs = { 0 };
    if (optimizer->target.threads < 2 || optimizer->contestant_count == 0 ||
        optimizer_has_enough(optimizer))
        return COLLAGE_OK;
    collage_status status = hand_over_costs(optimizer, &costs, error);
    for (size_t k = 0; k < sizeof counts / sizeof *counts && status == COLLAGE_OK; k++) {
        if ((int32_t)counts[k] > optimizer->target.threads)
            continue;
        status = add_of(optimizer, optimizer->plans[0], "mix", counts[k], &costs, error);
        if (status == COLLAGE_OK)
            status = add_of_operators(optimizer, counts[k], &costs, error);
    }
    return status;
}
