/* SPDX-License-Identifier: Apache-2.0 */
/* The winner of the final race, and what is written into the plan. */
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "optimize/optimizer.h"
#include "optimize/ratio.h"

static bool finished(const struct contestant *contestant)
{
    return contestant->failure[0] == '\0' && contestant->sample_count > 0;
}

/* Times of one that rested are of other moments than those of the rest: only the ratio compares. */
static const char *note_of(const struct optimizer *optimizer, size_t index, size_t rounds,
                           struct arena *arena)
{
    const struct contestant *self = &optimizer->contestants[index];
    if (!finished(self))
        return arena_string(arena, self->failure);
    const char *note = optimizer->notes[index];
    if (self->again > 1)
        note = arena_format(arena, "%s%s%.2f times the time of the best session in new processes",
                            note, note[0] ? "; " : "", self->again);
    if (!note)
        return NULL;
    if (self->sample_count >= rounds)
        return arena_string(arena, note);
    return arena_format(arena, "%s%sof the first %zu of %zu rounds", note, note[0] ? "; " : "",
                        self->sample_count, rounds);
}

static collage_status write_result(const struct optimizer *optimizer, size_t index, size_t chosen,
                                   struct arena *arena, struct plan_result *result,
                                   struct error *error)
{
    const struct contestant *self = &optimizer->contestants[index];
    const struct contestant *base = &optimizer->contestants[chosen];
    *result = (struct plan_result){ .name = arena_string(arena, optimizer->names[index]),
                                    .note = note_of(optimizer, index, base->sample_count, arena),
                                    .chosen = index == chosen,
                                    .steps_ns = self->steps_ns,
                                    .worst_error = self->worst_error,
                                    .peak_bytes = self->peak_bytes };
    if (!result->name || !result->note)
        return error_memory(error);
    if (self->plan)
        result->predicted_ns = self->plan->predicted_ns;
    if (!finished(self))
        return COLLAGE_OK;
    struct summary own;
    struct summary ratio;
    if (!summary_of(self->samples, self->sample_count, &own) ||
        !contestant_ratio(self, base, &ratio))
        return error_memory(error);
    result->minimum_ns = own.minimum;
    result->median_ns = own.median;
    result->low_ns = own.low;
    result->high_ns = own.high;
    result->ratio = ratio.median;
    result->ratio_low = ratio.low;
    result->ratio_high = ratio.high;
    return COLLAGE_OK;
}

collage_status optimizer_write_results(struct optimizer *optimizer, size_t chosen,
                                       struct plan *plan, struct error *error)
{
    struct plan_result *results =
        arena_array(plan->arena, optimizer->contestant_count, sizeof *results);
    if (!results)
        return error_memory(error);
    for (size_t k = 0; k < optimizer->contestant_count; k++) {
        collage_status status = write_result(optimizer, k, chosen, plan->arena, &results[k], error);
        if (status != COLLAGE_OK)
            return status;
    }
    plan->results = results;
    plan->result_count = (uint32_t)optimizer->contestant_count;
    return COLLAGE_OK;
}

/* Can the contestant be the plan? A library alone can if a region of ours holds the whole model and
 * nothing is pinned: its session does what it likes. */
static collage_status become_plan(struct optimizer *optimizer, size_t index, bool *can,
                                  struct error *error)
{
    struct plan *plan = optimizer->plans[index];
    collage_status status = COLLAGE_OK;
    if (!plan && !optimizer->pins && finished(&optimizer->contestants[index]))
        status = optimizer_make_standalone(optimizer, optimizer->contestants[index].backend, &plan,
                                           error);
    optimizer->plans[index] = plan;
    *can = plan && finished(&optimizer->contestants[index]);
    return status;
}

static const double not_slower = 1.02;

/* What the ratio is below with 95 %: its interval has as much on the other side, and ratios are
 * spread as logarithms of a normal distribution roughly are. */
static double upper_bound(const struct summary *ratio)
{
    static const double one_sided = 1.645 / 1.96;
    return ratio->median * pow(ratio->high / ratio->median, one_sided);
}

/* Time of the contestant over that of the best so far: does it show what it must? */
static bool is_proved(enum proof proof, const struct summary *ratio)
{
    switch (proof) {
    case PROOF_NONE:
        return ratio->median < 1;
    case PROOF_NOT_SLOWER:
        return ratio->median < 1 && upper_bound(ratio) <= not_slower;
    case PROOF_FASTER:
        break;
    }
    return ratio->high < 1;
}

/* The best of those who must show so much; *winner is the best of those who need less. */
static collage_status find_best(struct optimizer *optimizer, enum proof proof, size_t *winner,
                                struct error *error)
{
    size_t best = *winner;
    for (size_t k = optimizer->contestant_count; k-- > 0;) {
        if (optimizer->proofs[k] != proof || optimizer->contestants[k].again > 1)
            continue;
        bool can;
        collage_status status = become_plan(optimizer, k, &can, error);
        if (status != COLLAGE_OK)
            return status;
        if (!can)
            continue;
        struct summary over_best = { .median = 0 }, over_winner = { .median = 0 };
        const struct contestant *contestants = optimizer->contestants;
        if ((best != SIZE_MAX &&
             !contestant_ratio(&contestants[k], &contestants[best], &over_best)) ||
            (*winner != SIZE_MAX &&
             !contestant_ratio(&contestants[k], &contestants[*winner], &over_winner)))
            return error_memory(error);
        if (over_best.median < 1 && (*winner == SIZE_MAX || is_proved(proof, &over_winner)))
            best = k;
    }
    *winner = best;
    return COLLAGE_OK;
}

collage_status optimizer_find_winner(struct optimizer *optimizer, enum proof most, size_t *winner,
                                     struct error *error)
{
    *winner = SIZE_MAX;
    collage_status status = COLLAGE_OK;
    for (enum proof proof = PROOF_NONE; proof <= most && status == COLLAGE_OK; proof++)
        status = find_best(optimizer, proof, winner, error);
    return status;
}

/* Why candidates failed, each reason once with how often: at most 40. NULL: out of memory. */
static json_t *list_failures(const struct optimizer *optimizer)
{
    json_t *list = json_object();
    const struct candidate_set *set = optimizer->set;
    for (size_t c = 0; c < set->count && list; c++) {
        const struct candidate *candidate = &set->items[c];
        if (candidate->cost.state != COST_FAILED || json_object_size(list) >= 40)
            continue;
        char reason[320];
        snprintf(reason, sizeof reason, "%s: %.240s",
                 set->registry->entries[candidate->backend].name, candidate->cost.reason);
        printable_make(reason, true); /* a key is UTF-8, and this may be cut */
        json_int_t before = json_integer_value(json_object_get(list, reason));
        if (json_object_set_new(list, reason, json_integer(before + 1)) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* JSON has no infinity. */
static double finite_or_zero(double value)
{
    return isfinite(value) ? value : 0;
}

/* What the best placement was predicted to take, round by round: false if out of memory. A plan
 * that was made of less than there was to measure says so. */
static bool add_rounds(const struct optimizer *optimizer, json_t *evidence)
{
    json_t *rounds = json_array();
    double best = HUGE_VAL;
    bool ok = rounds != NULL;
    for (size_t k = 0; k < optimizer->round_count && ok; k++) {
        const struct optimizer_round *round = &optimizer->rounds[k];
        best = round->anew ? round->best_ns : fmin(best, round->best_ns);
        ok = json_array_append_new(
                 rounds,
                 json_pack("{s:I,s:f,s:I,s:I,s:I,s:I}", "step", (json_int_t)k, "best_ns",
                           finite_or_zero(best), "regions_proposed", (json_int_t)round->proposed,
                           "regions_dismissed", (json_int_t)round->dismissed, "regions_measured",
                           (json_int_t)round->measured, "regions_kept", (json_int_t)round->kept)) ==
             0;
    }
    if (optimizer->round_count > 0)
        ok = json_object_set(evidence, "convergence", rounds) == 0 && ok;
    json_decref(rounds);
    if (optimizer_has_enough(optimizer))
        ok = json_object_set_new(evidence, "ended_early", json_true()) == 0 && ok;
    return ok;
}

/* How the placement was found, unless by the exact search without pins: false if out of memory. */
static bool add_search(const struct optimizer *optimizer, json_t *evidence)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    const struct optimizer_counts *c = &optimizer->counts;
    bool ok = true;
    if (optimizer->pins)
        ok = json_object_set_new(evidence, "pinned",
                                 json_integer((json_int_t)pins_count(optimizer->pins))) == 0;
    if (settings->recompute)
        ok = ok && json_object_set_new(evidence, "recompute", json_true()) == 0;
    if (settings->search == COLLAGE_SEARCH_EXACT)
        return ok;
    ok = ok && json_object_set_new(evidence, "search",
                                   json_string(optimizer_search_name(settings->search))) == 0;
    if (settings->kernel_cost_ns > 0)
        ok = ok && json_object_set_new(evidence, "kernel_cost_ns",
                                       json_real(settings->kernel_cost_ns)) == 0;
    if (settings->search != COLLAGE_SEARCH_TWO_LEVEL)
        return ok;
    json_t *best = json_array();
    for (size_t k = 0; k < c->generations && ok; k++)
        ok = json_array_append_new(best, json_real(finite_or_zero(optimizer->convergence[k]))) == 0;
    json_t *facts =
        json_pack("{s:I,s:I,s:I,s:f,s:I,s:o}", "groups", (json_int_t)c->groups, "generations",
                  (json_int_t)c->generations, "measured", (json_int_t)c->individuals, "seconds",
                  c->search_seconds, "seed", (json_int_t)settings->search_seed, "best_ns", best);
    return json_object_set_new(evidence, "evolution", facts) == 0 && ok;
}

/* The best placement of all libraries, or what another search found: a library alone may be the
 * plan, and says nothing of it. False if out of memory. */
static bool add_placement(const struct optimizer *optimizer, json_t *evidence)
{
    const struct plan *plan = optimizer->contestant_count ? optimizer->plans[0] : NULL;
    if (!plan || optimizer->proofs[0] == PROOF_NONE)
        return true;
    return json_object_set_new(evidence, "placement",
                               json_pack("{s:f,s:f,s:b}", "predicted_ns",
                                         finite_or_zero(plan->predicted_ns), "bound_ns",
                                         finite_or_zero(plan->bound_ns), "optimal",
                                         (int)plan->optimal)) == 0;
}

static bool add_tuning(const struct optimizer *optimizer, json_t *evidence)
{
    const struct optimizer_counts *c = &optimizer->counts;
    if (!(optimizer->settings.tune_seconds > 0))
        return true;
    return json_object_set_new(
               evidence, "tuning",
               json_pack("{s:I,s:I,s:I,s:I,s:I,s:f}", "kernels", (json_int_t)c->tuned, "faster",
                         (json_int_t)c->faster, "measured", (json_int_t)c->schedules_measured,
                         "reused", (json_int_t)c->schedules_known, "left",
                         (json_int_t)c->schedules_left, "seconds", c->tune_seconds)) == 0;
}

/* Which of the plan's kernels were not measured because the user gave their costs, and how many
 * costs were given at all. False if out of memory. */
static bool add_given(const struct optimizer *optimizer, const struct plan *plan, json_t *evidence)
{
    if (optimizer->counts.given == 0)
        return true;
    json_t *steps = json_array();
    bool ok = steps != NULL;
    for (uint32_t s = 0; s < plan->step_count && ok; s++)
        if (plan->steps[s].given)
            ok = json_array_append_new(steps, json_integer(s)) == 0;
    json_t *facts =
        json_pack("{s:I,s:o}", "costs", (json_int_t)optimizer->counts.given, "steps", steps);
    return json_object_set_new(evidence, "given", facts) == 0 && ok;
}

static json_t *make_evidence(const struct optimizer *optimizer, const struct plan *plan)
{
    const struct optimizer_counts *c = &optimizer->counts;
    json_t *failures = list_failures(optimizer);
    json_t *evidence = json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f,s:f,s:o}",
        "candidates", (json_int_t)c->candidates, "keys", (json_int_t)c->keys, "measured",
        (json_int_t)c->measured, "reused", (json_int_t)c->reused, "failed", (json_int_t)c->failed,
        "unmeasured", (json_int_t)c->unmeasured, "not_worth", (json_int_t)c->not_worth, "confirmed",
        (json_int_t)c->confirmed, "transitions", (json_int_t)c->transitions, "regions_merged",
        (json_int_t)c->regions_merged, "regions_proposed", (json_int_t)c->regions_proposed,
        "rounds", (json_int_t)c->rounds, "rehearsed", (json_int_t)c->rehearsed, "states",
        (json_int_t)c->states, "solves", (json_int_t)c->solves, "reference_seconds",
        c->reference_seconds, "measure_seconds", c->measure_seconds, "place_seconds",
        c->place_seconds, "race_seconds", c->race_seconds, "failures", failures);
    if (evidence && add_search(optimizer, evidence) && add_rounds(optimizer, evidence) &&
        add_placement(optimizer, evidence) && add_given(optimizer, plan, evidence) &&
        add_tuning(optimizer, evidence))
        return evidence;
    json_decref(evidence);
    return NULL;
}

static collage_status copy_origin(const struct optimizer *optimizer, struct plan *plan,
                                  struct error *error)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    plan->model_path = arena_string(plan->arena, settings->model_path);
    plan->strict = settings->strict;
    plan->device_name = arena_string(plan->arena, optimizer->device.name);
    plan->collage_version = arena_string(plan->arena, collage_version());
    plan->shapes = arena_array(plan->arena, settings->shape_count, sizeof *plan->shapes);
    if (!plan->model_path || !plan->device_name || !plan->collage_version || !plan->shapes)
        return error_memory(error);
    plan->shape_count = settings->shape_count;
    for (size_t k = 0; k < settings->shape_count; k++) {
        plan->shapes[k] = settings->shapes[k];
        plan->shapes[k].name = arena_string(plan->arena, settings->shapes[k].name);
        if (!plan->shapes[k].name)
            return error_memory(error);
    }
    plan->evidence = make_evidence(optimizer, plan);
    return plan->evidence ? COLLAGE_OK : error_memory(error);
}

/* Whoever asks for another search wants to see what it finds, whatever beats it. */
static collage_status choose(struct optimizer *optimizer, size_t *winner, struct error *error)
{
    if (optimizer->settings.search == COLLAGE_SEARCH_EXACT)
        return optimizer_find_winner(optimizer, PROOF_FASTER, winner, error);
    *winner = optimizer->contestant_count && finished(&optimizer->contestants[0]) ? 0 : SIZE_MAX;
    return COLLAGE_OK;
}

collage_status optimizer_take_winner(struct optimizer *optimizer, struct plan **out,
                                     struct error *error)
{
    size_t winner;
    collage_status status = choose(optimizer, &winner, error);
    if (status != COLLAGE_OK)
        return status;
    if (winner == SIZE_MAX) {
        const char *why = "no contestant";
        for (size_t k = 0; k < optimizer->contestant_count; k++)
            if (optimizer->plans[k] && optimizer->contestants[k].failure[0])
                why = optimizer->contestants[k].failure;
        return error_set(error, COLLAGE_ERROR_BACKEND, "no plan finished the final race: %s", why);
    }
    struct plan *plan = optimizer->plans[winner];
    status = copy_origin(optimizer, plan, error);
    if (status == COLLAGE_OK)
        status = optimizer_write_results(optimizer, winner, plan, error);
    if (status != COLLAGE_OK)
        return status;
    optimizer->plans[winner] = NULL;
    *out = plan;
    return COLLAGE_OK;
}
