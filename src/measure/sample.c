/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/sample.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "graph/subgraph.h"
#include "measure/timing.h"
#include "measure/trial.h"
#include "reference/slack.h"
#include "tensor/layout.h"

/* ---- from candidates and transitions to trials ---- */

static struct tensor *values_of(struct arena *arena, const struct oracle *oracle,
                                const value_id *ids, uint32_t count)
{
    struct tensor *tensors = arena_array(arena, count, sizeof *tensors);
    for (uint32_t k = 0; tensors && k < count; k++)
        tensors[k] = oracle_value(oracle, ids[k]);
    return tensors;
}

static collage_status find_slack(const struct candidate_set *set, const struct region *region,
                                 const struct oracle *oracle, struct arena *arena,
                                 struct trial_spec *spec, struct error *error)
{
    const struct slack_values values = slack_values_of(oracle);
    double *slack = arena_array(arena, region->output_count, sizeof *slack);
    spec->slack = slack;
    return slack ? slack_find(set->graph, region, &values, slack, error) : error_memory(error);
}

static collage_status find_bounds(const struct region *region, struct bounds *bounds,
                                  struct arena *arena, struct trial_spec *spec, struct error *error)
{
    const float **found = arena_array(arena, region->output_count, sizeof *found);
    spec->bounds = found;
    return found ? bounds_find(bounds, region, arena, found, error) : error_memory(error);
}

static collage_status spec_of_candidate(const struct candidate_set *set, candidate_id id,
                                        const struct oracle *oracle,
                                        const struct sample_conditions *conditions,
                                        struct arena *arena, struct trial_spec *spec,
                                        struct error *error)
{
    const struct candidate *candidate = &set->items[id];
    *spec = (struct trial_spec){ .registry = set->registry,
                                 .backend = candidate->backend,
                                 .target = &set->target,
                                 .variant = candidate->variant,
                                 .schedule = conditions->schedule,
                                 .input_layouts = candidate->input_layouts,
                                 .output_layouts = candidate->output_layouts,
                                 .tolerance = conditions->tolerance,
                                 .arena = arena };
    spec->inputs =
        values_of(arena, oracle, candidate->region.inputs, candidate->region.input_count);
    spec->expected =
        values_of(arena, oracle, candidate->region.outputs, candidate->region.output_count);
    if (!spec->inputs || !spec->expected)
        return error_memory(error);
    collage_status status = find_slack(set, &candidate->region, oracle, arena, spec, error);
    if (status == COLLAGE_OK && conditions->strict && conditions->bounds)
        status = find_bounds(&candidate->region, conditions->bounds, arena, spec, error);
    return status == COLLAGE_OK ? candidate_subgraph(set, id, arena, &spec->subgraph, error)
                                : status;
}

static collage_status spec_of_transition(const struct candidate_set *set, uint32_t backend,
                                         const struct tensor *value, const collage_layout *from,
                                         const collage_layout *to, struct arena *arena,
                                         struct trial_spec *spec, struct error *error)
{
    *spec = (struct trial_spec){ .registry = set->registry,
                                 .backend = backend,
                                 .target = &set->target,
                                 .variant = "", /* reorders have none: their layouts say all */
                                 .input_layouts = from,
                                 .output_layouts = to,
                                 .inputs = value,
                                 .expected = value,
                                 .tolerance = 0,
                                 .arena = arena };
    collage_status status = subgraph_make_identity(arena, value, &spec->subgraph, error);
    if (status != COLLAGE_OK)
        return status;
    const collage_backend_api *api = set->registry->entries[backend].api;
    collage_message why = { .text = "" };
    if (!api->supports(spec->subgraph, spec->target, &why))
        return error_set(error, COLLAGE_ERROR_BACKEND, "no reorders: %s", why.text);
    return COLLAGE_OK;
}

/* ---- costs ---- */

static void write_cost(const struct trial *trial, const struct summary *summary, struct cost *cost)
{
    const collage_kernel_info *info = trial_info(trial);
    cost->state = COST_MEASURED;
    cost->cost_ns = summary->decile;
    cost->minimum_ns = summary->minimum;
    cost->low_ns = summary->low;
    cost->high_ns = summary->high;
    cost->sample_count = (uint32_t)summary->count;
    cost->weight_bytes = info->weight_bytes;
    cost->scratch_bytes = info->scratch_bytes;
    cost->inplace_count = info->inplace_count;
    memcpy(cost->inplace, info->inplace, sizeof cost->inplace);
}

static collage_status sample_trial(const struct trial_spec *spec,
                                   const struct sample_conditions *conditions, struct arena *arena,
                                   struct cost *cost, struct error *error)
{
    struct trial *trial;
    collage_status status = trial_create(spec, &trial, error);
    if (status != COLLAGE_OK)
        return status;
    double first_ns;
    struct summary summary;
    status = trial_check(trial, &cost->error, &first_ns, error);
    if (status == COLLAGE_OK)
        status = timing_sample(trial, conditions, first_ns, &summary, error);
    if (status == COLLAGE_OK) {
        write_cost(trial, &summary, cost);
        cost->implementation = arena_string(arena, trial_info(trial)->implementation);
        if (!cost->implementation)
            status = error_memory(error);
    }
    trial_destroy(trial);
    return status;
}

/* Turns what a backend did wrong into a failed cost. */
static collage_status finish(collage_status status, struct arena *arena, struct cost *cost,
                             struct error *failure, struct error *error)
{
    if (status == COLLAGE_OK)
        return COLLAGE_OK;
    if (status == COLLAGE_ERROR_MEMORY)
        return error_memory(error);
    double wrong = status == COLLAGE_ERROR_WRONG_RESULT ? fmax(cost->error, 1e-30) : 0;
    *cost = (struct cost){ .state = COST_FAILED, .error = wrong, .implementation = "" };
    cost->reason = arena_string(arena, failure->text);
    return cost->reason ? COLLAGE_OK : error_memory(error);
}

static const struct cost no_cost = { .state = COST_UNKNOWN, .implementation = "", .reason = "" };

collage_status sample_candidate(struct candidate_set *set, candidate_id id,
                                const struct oracle *oracle,
                                const struct sample_conditions *conditions, struct arena *arena,
                                struct cost *cost, struct error *error)
{
    *cost = no_cost;
    if (set->items[id].view) {
        cost->state = COST_MEASURED; /* there is nothing to run */
        return COLLAGE_OK;
    }
    struct arena *own = arena_create();
    if (!own)
        return error_memory(error);
    struct error failure = { 0 };
    struct trial_spec spec;
    code_begin(set->registry->code);
    collage_status status = spec_of_candidate(set, id, oracle, conditions, own, &spec, &failure);
    if (status == COLLAGE_OK)
        status = sample_trial(&spec, conditions, arena, cost, &failure);
    arena_destroy(own);
    status = finish(status, arena, cost, &failure, error);
    const struct code_service *code = set->registry->code;
    cost->passing = cost->state == COST_FAILED && code && code->lacked;
    return status;
}

collage_status sample_transition(struct candidate_set *set, uint32_t backend, value_id value,
                                 const collage_layout *from, const collage_layout *to,
                                 const struct oracle *oracle,
                                 const struct sample_conditions *conditions, struct arena *arena,
                                 struct cost *cost, struct error *error)
{
    *cost = no_cost;
    struct arena *own = arena_create();
    if (!own)
        return error_memory(error);
    struct error failure = { 0 };
    struct trial_spec spec;
    const struct tensor tensor = oracle_value(oracle, value);
    collage_status status =
        spec_of_transition(set, backend, &tensor, from, to, own, &spec, &failure);
    if (status == COLLAGE_OK)
        status = sample_trial(&spec, conditions, arena, cost, &failure);
    arena_destroy(own);
    return finish(status, arena, cost, &failure, error);
}

/* ---- switches ---- */

enum { SWITCH_PAIRS = 31 };
static const double switch_limit_ns = 2e9;
/* As long as one library runs for, the other's threads fall asleep. */
static const double switch_stretch_ns = 400e3;

static collage_status timed_run(struct trial *trial, double *ns, struct error *error)
{
    uint64_t start = clock_ns();
    collage_status status = trial_run(trial, TRIAL_FIRST, error);
    *ns = (double)(clock_ns() - start);
    return status;
}

/* One stretch of `before`, then b twice: threads that still spin for the other library are in the
 * way of the second run as well. */
static collage_status time_after(struct trial *before, struct trial *b, double *ns,
                                 struct error *error)
{
    double first = 0, second = 0, stretch = 0;
    collage_status status = COLLAGE_OK;
    while (status == COLLAGE_OK && stretch < switch_stretch_ns) {
        double one;
        status = timed_run(before, &one, error);
        stretch += one;
    }
    if (status == COLLAGE_OK)
        status = timed_run(b, &first, error);
    if (status == COLLAGE_OK)
        status = timed_run(b, &second, error);
    *ns = first + second;
    return status;
}

/* One pair: b after a, then b after b. */
static collage_status sample_pair(struct trial *a, struct trial *b, double *difference,
                                  struct error *error)
{
    double after_a, after_b;
    collage_status status = time_after(a, b, &after_a, error);
    if (status == COLLAGE_OK)
        status = time_after(b, b, &after_b, error);
    if (status == COLLAGE_OK)
        *difference = after_a - after_b;
    return status;
}

static collage_status sample_pairs(struct trial *a, struct trial *b, double *extra_ns,
                                   struct error *error)
{
    double differences[SWITCH_PAIRS], unused;
    collage_status status = sample_pair(a, b, &unused, error); /* warm-up */
    size_t count = 0;
    uint64_t start = clock_ns();
    while (status == COLLAGE_OK && count < SWITCH_PAIRS &&
           (count < 3 || (double)(clock_ns() - start) < switch_limit_ns))
        status = sample_pair(a, b, &differences[count++], error);
    if (status != COLLAGE_OK)
        return status;
    struct summary summary;
    if (!summary_of(differences, count, &summary))
        return error_memory(error);
    *extra_ns = fmax(summary.median, 0);
    return COLLAGE_OK;
}

collage_status sample_switch(struct candidate_set *set, candidate_id a, candidate_id b,
                             const struct oracle *oracle, double *extra_ns, struct error *error)
{
    *extra_ns = 0;
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    const struct sample_conditions unchecked = { .tolerance = 0 };
    struct trial_spec spec_a, spec_b;
    struct trial *trial_a = NULL, *trial_b = NULL;
    collage_status status = spec_of_candidate(set, a, oracle, &unchecked, arena, &spec_a, error);
    if (status == COLLAGE_OK)
        status = spec_of_candidate(set, b, oracle, &unchecked, arena, &spec_b, error);
    if (status == COLLAGE_OK)
        status = trial_create(&spec_a, &trial_a, error);
    if (status == COLLAGE_OK)
        status = trial_create(&spec_b, &trial_b, error);
    if (status == COLLAGE_OK)
        status = sample_pairs(trial_a, trial_b, extra_ns, error);
    trial_destroy(trial_a);
    trial_destroy(trial_b);
    arena_destroy(arena);
    return status;
}
