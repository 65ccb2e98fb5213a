/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/rehearse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/statistics.h"
#include "pattern/schedule.h"

enum { WITNESSES = 3 };

static const double run_seconds = 0.3; /* ten rounds at least */
/* A step and its cost differ for a reason, not by chance. */
static const double noticeable = 0.1;
/* What the same kernels alone take, now, over what they took when they were measured: if it is more
 * than this, the machine is busy with something else, and nothing can be learnt. */
static const double unsteady = 2;

struct rehearsal {
    struct optimizer *optimizer;
    const struct plan *plan;
    const struct placement *placement;
    const candidate_id *kernels; /* of each step; UINT32_MAX: it is no kernel */
    const double *step_ns;
    double slowness; /* of the machine, now; 1: none */
    struct arena *arena;
};

/* ---- what is kept ---- */

static struct cost_conditions conditions_of(const struct optimizer *optimizer)
{
    struct cost_conditions conditions = optimizer_conditions(optimizer, REGISTRY_REFERENCE);
    conditions.backend = "collage";
    conditions.version = collage_version();
    return conditions;
}

/* Of one kernel, and of a plan: its kernels in their order. False: out of memory. */
static bool kernel_key(const struct optimizer *optimizer, candidate_id id, const char *schedule,
                       char text[96])
{
    const struct candidate *candidate = &optimizer->set->items[id];
    const char *version = optimizer->settings.registry->entries[candidate->backend].version;
    struct hash key;
    char hex[33];
    if (!schedule_key(candidate->key, schedule, &key))
        return false;
    hash_print(key, hex);
    snprintf(text, 96, "in the network: %s %.40s", hex, version ? version : "");
    return true;
}

static bool plan_key(const struct optimizer *optimizer, const struct placement *placement,
                     char text[96])
{
    struct hash_state *state = hash_begin();
    char hex[33], one[96];
    bool ok = state != NULL;
    for (size_t k = 0; k < placement->count && ok; k++) {
        const struct candidate *candidate = &optimizer->set->items[placement->chosen[k]];
        if (candidate->view)
            continue;
        ok = kernel_key(optimizer, placement->chosen[k], candidate->cost.schedule, one);
        hash_string(state, one);
    }
    if (state)
        hash_print(hash_end(state), hex);
    if (ok)
        snprintf(text, 96, "rehearsed: %s", hex);
    return ok;
}

collage_status rehearsed_cost(struct optimizer *optimizer, candidate_id id, struct cost *cost,
                              struct error *error)
{
    const struct cost_conditions conditions = conditions_of(optimizer);
    char key[96];
    double ns = 0;
    bool found = false;
    if (cost->state != COST_MEASURED || cost->giver || cost->alone_ns > 0 ||
        optimizer->settings.remeasure)
        return COLLAGE_OK;
    if (!kernel_key(optimizer, id, cost->schedule, key))
        return error_memory(error);
    collage_status status =
        cost_store_get_fact(optimizer->store, key, &conditions, &found, &ns, error);
    if (status != COLLAGE_OK || !found || !(ns > 0))
        return status;
    cost->alone_ns = cost->cost_ns;
    cost->cost_ns = ns;
    return COLLAGE_OK;
}

/* ---- how steady the machine is ---- */

static double alone_ns(const struct cost *cost)
{
    return cost->alone_ns > 0 ? cost->alone_ns : cost->cost_ns;
}

/* The costliest kernels of the plan, no two of the same key. */
static size_t find_witnesses(const struct rehearsal *r, candidate_id witnesses[WITNESSES])
{
    const struct candidate *items = r->optimizer->set->items;
    size_t count = 0;
    for (bool more = true; more && count < WITNESSES;) {
        candidate_id best = UINT32_MAX;
        for (uint32_t s = 0; s < r->plan->step_count; s++) {
            const candidate_id id = r->kernels[s];
            bool usable =
                id != UINT32_MAX && items[id].cost.state == COST_MEASURED && !items[id].cost.giver;
            for (size_t w = 0; w < count && usable; w++)
                usable = !hash_equal(items[witnesses[w]].key, items[id].key);
            if (usable &&
                (best == UINT32_MAX || alone_ns(&items[id].cost) > alone_ns(&items[best].cost)))
                best = id;
        }
        more = best != UINT32_MAX;
        if (more)
            witnesses[count++] = best;
    }
    return count;
}

/* Raises *slowness to what these kernels alone take, now, over what they took. */
static collage_status find_slowness(const struct rehearsal *r, double *slowness,
                                    struct error *error)
{
    struct optimizer *optimizer = r->optimizer;
    candidate_id witnesses[WITNESSES];
    const size_t count = find_witnesses(r, witnesses);
    double now = 0, then = 0;
    collage_status status = count ? optimizer_need_worker(optimizer, error) : COLLAGE_OK;
    for (size_t w = 0; w < count && status == COLLAGE_OK; w++) {
        const struct cost *known = &optimizer->set->items[witnesses[w]].cost;
        struct sample_conditions conditions = optimizer->conditions;
        struct cost cost = { 0 };
        conditions.schedule = known->schedule;
        status = worker_measure(optimizer->worker, optimizer->set, witnesses[w], &conditions,
                                r->arena, &cost, error);
        if (status != COLLAGE_OK || cost.state != COST_MEASURED)
            continue;
        now += cost.cost_ns;
        then += alone_ns(known);
    }
    if (then > 0)
        *slowness = fmax(*slowness, now / then);
    return status;
}

/* ---- the run ---- */

static bool on_round(void *user, size_t round, size_t rounds)
{
    struct optimizer *optimizer = user;
    return optimizer_report_progress(optimizer, "place", "rehearsing", round, rounds, NULL) ==
           COLLAGE_OK;
}

/* *step_ns: NULL if the plan does not run. The final race says why. */
static collage_status run_plan(struct optimizer *optimizer, const struct plan *plan,
                               double **step_ns, struct error *error)
{
    *step_ns = NULL;
    collage_status status = optimizer_need_reference(optimizer, error);
    if (status != COLLAGE_OK)
        return status;
    struct worker_setup setup = optimizer_worker_setup(optimizer);
    struct contestant contestant = { .plan = plan, .backend = UINT32_MAX };
    const struct race_rules rules = { .seconds = run_seconds,
                                      .progress = on_round,
                                      .profile = true,
                                      .each_step = true,
                                      .user = optimizer };
    status = race_run(&setup, optimizer->settings.registry, &contestant, 1, &rules, error);
    memory_free(contestant.samples);
    if (status == COLLAGE_OK && !contestant.failure[0])
        *step_ns = contestant.step_ns;
    else
        memory_free(contestant.step_ns);
    return status;
}

/* ---- what is learnt ---- */

/* The step of each kernel: they are in the placement's order. */
static collage_status match_steps(struct rehearsal *r, struct error *error)
{
    candidate_id *kernels = arena_array(r->arena, r->plan->step_count + 1, sizeof *kernels);
    if (!kernels)
        return error_memory(error);
    size_t next = 0;
    for (uint32_t s = 0; s < r->plan->step_count; s++) {
        kernels[s] = UINT32_MAX;
        if (r->plan->steps[s].kind != PLAN_KERNEL)
            continue;
        while (next < r->placement->count &&
               r->optimizer->set->items[r->placement->chosen[next]].view)
            next++;
        if (next == r->placement->count)
            return error_set(error, COLLAGE_ERROR_INTERNAL, "step %u is of no candidate", s);
        kernels[s] = r->placement->chosen[next++];
    }
    r->kernels = kernels;
    return COLLAGE_OK;
}

/* What each step takes without what going to its library costs, which is counted apart. */
static double own_ns(const struct rehearsal *r, uint32_t step, uint32_t last_backend)
{
    const struct optimizer *optimizer = r->optimizer;
    const uint32_t backend = optimizer->set->items[r->kernels[step]].backend;
    const double *switch_ns = optimizer->switch_ns;
    double ns = r->step_ns[step];
    if (switch_ns && last_backend != UINT32_MAX && last_backend != backend)
        ns = fmax(
            ns / 2,
            ns - switch_ns[(size_t)last_backend * optimizer->settings.registry->count + backend]);
    return ns;
}

/* The mean over the steps of this key. */
static double mean_ns(const struct rehearsal *r, struct hash key)
{
    const struct candidate *items = r->optimizer->set->items;
    uint32_t last = UINT32_MAX, count = 0;
    double total = 0;
    for (uint32_t s = 0; s < r->plan->step_count; s++) {
        const candidate_id id = r->kernels[s];
        if (id == UINT32_MAX)
            continue;
        if (hash_equal(items[id].key, key)) {
            total += own_ns(r, s, last);
            count++;
        }
        last = items[id].backend;
    }
    return count ? total / count : 0;
}

/*
 * What the kernel costs from now on. Its step may have taken longer because the machine was slower,
 * by as much as the witnesses say, and may have met a better moment than they did: so the time is
 * more than the cost only if it is by more than that. Less than it can be it never takes.
 */
static double learnt_ns(const struct rehearsal *r, const struct cost *cost, double ns)
{
    const double steady = ns / r->slowness;
    if (steady > (1 + noticeable) * cost->cost_ns)
        return steady;
    return ns < (1 - noticeable) * cost->cost_ns ? ns : cost->cost_ns;
}

static collage_status learn_one(const struct rehearsal *r, candidate_id id, bool *news,
                                struct error *error)
{
    struct optimizer *optimizer = r->optimizer;
    const struct cost_conditions conditions = conditions_of(optimizer);
    const struct candidate *candidate = &optimizer->set->items[id];
    struct cost cost = candidate->cost;
    char key[96];
    const double ns = mean_ns(r, candidate->key);
    if (cost.state != COST_MEASURED || cost.giver || !(ns > 0))
        return COLLAGE_OK;
    const double learnt = learnt_ns(r, &cost, ns);
    if (fabs(learnt / cost.cost_ns - 1) < noticeable)
        return COLLAGE_OK;
    if (!kernel_key(optimizer, id, cost.schedule, key))
        return error_memory(error);
    cost.alone_ns = alone_ns(&cost);
    cost.cost_ns = learnt;
    *news = true;
    collage_status status = cost_store_put_fact(optimizer->store, key, &conditions, learnt, error);
    return status == COLLAGE_OK ? optimizer_set_cost(optimizer, candidate->key, &cost, error)
                                : status;
}

/* Each key once: a changed cost is near its step's time and would not change again. */
static collage_status learn(const struct rehearsal *r, bool *news, double *steps_ns,
                            struct error *error)
{
    const struct candidate *items = r->optimizer->set->items;
    collage_status status = COLLAGE_OK;
    *steps_ns = 0;
    for (uint32_t s = 0; s < r->plan->step_count && status == COLLAGE_OK; s++) {
        if (r->kernels[s] != UINT32_MAX) {
            status = learn_one(r, r->kernels[s], news, error);
            *steps_ns += items[r->kernels[s]].cost.cost_ns;
        } else {
            *steps_ns += r->plan->steps[s].cost_ns;
        }
    }
    return status;
}

static collage_status run_and_learn(struct rehearsal *r, bool *news, double *steps_ns,
                                    struct error *error)
{
    double *step_ns = NULL;
    collage_status status = match_steps(r, error);
    if (status == COLLAGE_OK)
        status = find_slowness(r, &r->slowness, error);
    if (status == COLLAGE_OK && r->slowness <= unsteady)
        status = run_plan(r->optimizer, r->plan, &step_ns, error);
    if (status != COLLAGE_OK || !step_ns)
        return status;
    r->step_ns = step_ns;
    status = find_slowness(r, &r->slowness, error);
    if (status == COLLAGE_OK && r->slowness <= unsteady)
        status = learn(r, news, steps_ns, error);
    memory_free(step_ns);
    return status;
}

static bool is_wanted(const struct optimizer *optimizer, const struct plan *plan)
{
    return !optimizer_has_enough(optimizer) && !plan->standalone &&
           !optimizer->settings.stored_only &&
           optimizer->settings.race_seconds >= 1; /* a shorter race only verifies */
}

collage_status rehearse(struct optimizer *optimizer, const struct plan *plan,
                        const struct placement *placement, bool *news, double *steps_ns,
                        struct error *error)
{
    const struct cost_conditions conditions = conditions_of(optimizer);
    char key[96];
    bool found = false;
    *news = false;
    *steps_ns = HUGE_VAL;
    if (!is_wanted(optimizer, plan))
        return COLLAGE_OK;
    if (!plan_key(optimizer, placement, key))
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    if (!optimizer->settings.remeasure)
        status = cost_store_get_fact(optimizer->store, key, &conditions, &found, steps_ns, error);
    if (status != COLLAGE_OK || found)
        return status;
    *steps_ns = HUGE_VAL;
    struct rehearsal rehearsal = {
        .optimizer = optimizer, .plan = plan, .placement = placement, .arena = arena_create()
    };
    if (!rehearsal.arena)
        return error_memory(error);
    status = run_and_learn(&rehearsal, news, steps_ns, error);
    arena_destroy(rehearsal.arena);
    if (status == COLLAGE_OK && isfinite(*steps_ns)) {
        optimizer->counts.rehearsed++;
        status = cost_store_put_fact(optimizer->store, key, &conditions, *steps_ns, error);
    }
    return status;
}
