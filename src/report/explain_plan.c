/* SPDX-License-Identifier: Apache-2.0 */
/* Why a plan is as it is: step by step who would have been second, and how the whole won. */
#include <math.h>
#include <string.h>

#include "report/explain.h"
#include "report/parts.h"

/* ---- step by step ---- */

const struct rival *report_best_rival(const struct explanation *e, uint32_t step, uint32_t *backend)
{
    const struct registry *registry = e->set->registry;
    const struct rival *best = NULL;
    if (e->steps[step] == GRAPH_NONE)
        return NULL;
    for (uint32_t b = 0; b < registry->count; b++) {
        const struct rival *rival = &e->rivals[(size_t)step * registry->count + b];
        if (!rival->found || b == e->set->items[e->steps[step]].backend ||
            (best && rival->extra_ns >= best->extra_ns))
            continue;
        best = rival;
        *backend = b;
    }
    return best;
}

double report_step_cost(const struct explanation *e, uint32_t step)
{
    bool known = e->steps[step] != GRAPH_NONE &&
                 e->set->items[e->steps[step]].cost.state == COST_MEASURED &&
                 report_lane(e->plan, step) == PLAN_WIDE;
    double cost = known ? e->set->items[e->steps[step]].cost.cost_ns : e->plan->steps[step].cost_ns;
    return isfinite(cost) && cost > 0 ? cost : 0;
}

double report_step_bound(const struct explanation *e, uint32_t step)
{
    return e->roofline && e->roofline->known ? e->roofline->bound_ns[step] : 0;
}

static double total_of(const struct explanation *e)
{
    double total = 0;
    for (uint32_t s = 0; s < e->plan->step_count; s++)
        total += report_step_cost(e, s);
    return total;
}

/* Is what it costs not measured, but what the user says? */
static bool is_given(const struct explanation *e, uint32_t step)
{
    return e->steps[step] == GRAPH_NONE ? e->plan->steps[step].given
                                        : e->set->items[e->steps[step]].cost.giver != NULL;
}

/* Returns whether another would be cheaper by the costs. */
static bool put_step(const struct explanation *e, uint32_t index, double total, struct text *out)
{
    const struct plan_step *step = &e->plan->steps[index];
    double cost = report_step_cost(e, index);
    char what[96];
    uint32_t backend = 0;
    const struct rival *rival = report_best_rival(e, index, &backend);
    plan_step_describe(step, e->graph, what, sizeof what);
    text_format(out, "  %4u ", index);
    report_put(out, step->backend == GRAPH_NONE ? "" : e->plan->backends[step->backend].name, 12);
    text_format(out, " %9.1f %5.1f%%", cost / 1e3, total > 0 ? 100 * cost / total : 0.0);
    report_put_roof(report_step_bound(e, index), cost, out);
    text_string(out, "  ");
    report_put(out, what, 21);
    text_string(out, " ");
    if (rival) {
        report_put(out, e->set->registry->entries[backend].name, 14);
        text_format(out, " %+9.1f", rival->extra_ns / 1e3);
        if (cost > 0)
            text_format(out, " %+7.1f", 100 * rival->extra_ns / cost);
    } else if (step->kind == PLAN_KERNEL) {
        text_string(out, e->comparable ? "no other" : "not known");
    }
    while (out->count > 0 && out->bytes[out->count - 1] == ' ')
        out->bytes[--out->count] = '\0';
    text_string(out, is_given(e, index) ? "  given\n" : "\n");
    return rival && rival->extra_ns < 0;
}

static void put_steps(const struct explanation *e, struct text *out)
{
    bool minus = false, given = false;
    double total = total_of(e);
    text_string(out, "step   backend      cost [us]  share   roof  operators             runner-up"
                     "        by [us]  by [%]\n");
    for (uint32_t s = 0; s < e->plan->step_count; s++) {
        minus = put_step(e, s, total, out) || minus;
        given = given || is_given(e, s);
    }
    text_string(out,
                e->roofline && e->roofline->known
                    ? "\nRoof: the least time by the machine's peaks, as a part of the cost.\n"
                    : "\nRoof: not known before `collage explain PLAN --roofline` has measured "
                      "the machine's peaks.\n");
    text_string(out, "By: what the whole costs more with these operators on the runner-up, all "
                     "else as it is.\n");
    if (given)
        text_string(out, "Given: the user says what it costs; it was not measured.\n");
    if (minus)
        text_string(out, "A minus: by the costs that are known now the other would be cheaper "
                         "there. Costs may have\nchanged since, or the race decided otherwise.\n");
}

/* ---- what is known ---- */

static void put_knowledge(const struct explanation *e, struct text *out)
{
    if (e->measured + e->failed == 0) {
        text_string(out, "The cost store has no costs for this plan's model, machine, threads and "
                         "library versions.\n\n");
        return;
    }
    text_format(out, "%zu candidates are measured, %zu failed, %zu were not measured.", e->measured,
                e->failed, e->unmeasured);
    if (e->given > 0)
        text_format(out, " Of the first\ntwo, %zu are not measured but given.", e->given);
    text_format(out, "%s\n\n",
                e->comparable ? ""
                              : " The plan's own\nkernels or conversions are not all among them: "
                                "nothing can be compared.");
}

/* ---- why the whole won ---- */

/* A library that runs all by itself, in its own session or in ours ("NAME (plan)"). */
static bool is_library(const struct explanation *e, const char *name)
{
    const struct registry *registry = e->set->registry;
    for (uint32_t b = 0; b < registry->count; b++) {
        const char *backend = registry->entries[b].name;
        size_t length = strlen(backend);
        if (strncmp(name, backend, length) == 0 &&
            (name[length] == '\0' || strcmp(name + length, " (plan)") == 0))
            return true;
    }
    return false;
}

/* The fastest of the others of one kind; NULL if none finished. */
static const struct plan_result *best_other(const struct explanation *e, bool library)
{
    const struct plan_result *best = NULL;
    for (uint32_t k = 0; k < e->plan->result_count; k++) {
        const struct plan_result *result = &e->plan->results[k];
        size_t length = strlen(result->name);
        bool peer = length > 7 && strcmp(result->name + length - 7, " (peer)") == 0;
        if (result->chosen || peer || result->median_ns <= 0 ||
            is_library(e, result->name) != library)
            continue;
        if (!best || result->ratio < best->ratio)
            best = result;
    }
    return best;
}

static void put_ratio(const struct plan_result *result, struct text *out)
{
    report_put(out, result->name, 0);
    text_format(out, ", took %.3f times as long (95 %% confidence: %.3f to %.3f)", result->ratio,
                result->ratio_low, result->ratio_high);
}

static void put_race(const struct explanation *e, struct text *out)
{
    const struct plan_result *chosen = report_chosen(e->plan);
    if (!chosen) {
        text_string(out, "  It took part in no race.\n");
        return;
    }
    bool library = is_library(e, chosen->name);
    text_string(out, "  It is the contestant ");
    report_put(out, chosen->name, 0);
    text_string(out, library ? ", a library alone.\n" : " of the final race.\n");
    const struct plan_result *best = best_other(e, true);
    if (best) {
        text_string(out,
                    library ? "  The fastest other library, " : "  The fastest library alone, ");
        put_ratio(best, out);
        text_string(out, ".\n");
    }
    best = best_other(e, false);
    if (best) {
        text_string(out, "  The fastest other mix, ");
        put_ratio(best, out);
        text_string(out, ".\n");
    }
    if (library && best && best->ratio_high >= 1)
        text_string(out, "  A mix must be faster with its whole interval to be chosen.\n");
}

/* The reasons that the search has written into the plan. Free in form: a plan may say anything. */
static void put_evidence(const struct plan *plan, struct text *out)
{
    enum { SHOWN = 12 };
    json_t *failures = json_object_get(plan->evidence, "failures");
    size_t shown = 0, count = json_is_object(failures) ? json_object_size(failures) : 0;
    const char *reason;
    json_t *number;
    if (count == 0)
        return;
    text_string(out, "\nFailed while the plan was made:\n");
    json_object_foreach(failures, reason, number)
    {
        if (shown++ == SHOWN)
            break;
        text_format(out, "  %6" JSON_INTEGER_FORMAT " times  ", json_integer_value(number));
        report_put(out, reason, 0);
        text_string(out, "\n");
    }
    if (count > SHOWN)
        text_format(out, "  and %zu reasons more\n", count - SHOWN);
}

collage_status report_explain_plan(const struct explanation *e, struct text *out,
                                   struct error *error)
{
    put_knowledge(e, out);
    put_steps(e, out);
    text_string(out, "\nWhy this plan:\n");
    put_race(e, out);
    text_string(out, "  The placement: ");
    report_bound_text(e->plan, out);
    text_string(out, ".\n");
    if (e->plan->lanes) {
        text_string(out, "  ");
        report_lanes_text(e->plan, out);
        text_string(out, ".\n");
    }
    put_evidence(e->plan, out);
    text_string(out, "\n");
    report_results_text(e->graph, e->plan, out);
    return out->failed ? error_memory(error) : COLLAGE_OK;
}
