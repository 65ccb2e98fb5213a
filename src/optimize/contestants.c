/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in the final race: the mix, and each library alone. */
#include <string.h>

#include "base/printable.h"
#include "base/text.h"
#include "optimize/optimizer.h"

/* Placements on two libraries that race: with more, each has fewer rounds. */
enum { PAIRS = 3 };

/* Another mix may be predicted to be so much slower than the best, and still race. */
static const double promising = 1.08;

/* Names and notes live as long as the optimizer. */
static collage_status add_contestant(struct optimizer *optimizer, const char *name,
                                     const char *note, struct plan *plan, uint32_t backend,
                                     enum proof proof, struct error *error)
{
    size_t at = optimizer->contestant_count;
    if (at == optimizer->contestant_capacity)
        return error_set(error, COLLAGE_ERROR_INTERNAL, "more contestants than there is room for");
    optimizer->contestants[at] = (struct contestant){ .plan = plan, .backend = backend };
    optimizer->plans[at] = plan;
    optimizer->names[at] = name;
    optimizer->notes[at] = note;
    optimizer->proofs[at] = proof;
    optimizer->contestant_count++;
    return COLLAGE_OK;
}

collage_status optimizer_add_plan(struct optimizer *optimizer, const char *name, struct plan *plan,
                                  struct error *error)
{
    collage_status status =
        add_contestant(optimizer, name, "", plan, UINT32_MAX, PROOF_NONE, error);
    if (status == COLLAGE_OK)
        optimizer->plans[optimizer->contestant_count - 1] = NULL; /* borrowed: not ours to free */
    return status;
}

/* Names come from whoever asks: they must not deceive who reads the table. */
static const char *name_plan(struct optimizer *optimizer, size_t index)
{
    const char *const *names = optimizer->settings.plan_names;
    char *name = names        ? arena_string(optimizer->arena, names[index])
                 : index == 0 ? arena_string(optimizer->arena, "plan")
                              : arena_format(optimizer->arena, "plan %zu", index + 1);
    if (name)
        printable_make(name, false);
    return name;
}

collage_status optimizer_add_plans(struct optimizer *optimizer, struct plan *plan,
                                   struct error *error)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k <= settings->other_count && status == COLLAGE_OK; k++) {
        const char *name = name_plan(optimizer, k);
        status =
            name ? optimizer_add_plan(optimizer, name, k ? settings->others[k - 1] : plan, error)
                 : error_memory(error);
    }
    return status;
}

collage_status optimizer_add_library(struct optimizer *optimizer, uint32_t backend,
                                     struct error *error)
{
    return add_contestant(optimizer, optimizer->settings.registry->entries[backend].name,
                          "alone: its own session and defaults", NULL, backend, PROOF_NONE, error);
}

/* Two plans that would run the same kernels in the same order are one contestant. */
bool optimizer_same_steps(const struct plan *a, const struct plan *b)
{
    if (a->step_count != b->step_count)
        return false;
    for (uint32_t k = 0; k < a->step_count; k++) {
        const struct plan_step *x = &a->steps[k];
        const struct plan_step *y = &b->steps[k];
        if (x->kind != y->kind || x->node_count != y->node_count ||
            strcmp(x->variant, y->variant) != 0 ||
            strcmp(x->schedule ? x->schedule : "", y->schedule ? y->schedule : "") != 0 ||
            (x->backend == GRAPH_NONE) != (y->backend == GRAPH_NONE) ||
            (x->node_count && memcmp(x->nodes, y->nodes, x->node_count * sizeof *x->nodes) != 0))
            return false;
        if (x->backend != GRAPH_NONE &&
            strcmp(a->backends[x->backend].name, b->backends[y->backend].name) != 0)
            return false;
    }
    return true;
}

static bool is_contestant(const struct optimizer *optimizer, const struct plan *plan)
{
    for (size_t k = 0; k < optimizer->contestant_count; k++)
        if (optimizer->plans[k] && optimizer_same_steps(optimizer->plans[k], plan))
            return true;
    return false;
}

collage_status optimizer_add_mix(struct optimizer *optimizer, const char *name, struct plan *plan,
                                 struct error *error)
{
    return add_contestant(optimizer, name, "", plan, UINT32_MAX, PROOF_FASTER, error);
}

/* The best placement on two libraries (or on one, given twice), the reference filling their holes;
 * NULL if there is none. */
static collage_status place_two(struct optimizer *optimizer, uint32_t a, uint32_t b,
                                struct plan **plan, struct error *error)
{
    *plan = NULL;
    bool *only = arena_array(optimizer->arena, optimizer->settings.registry->count, sizeof(bool));
    if (!only)
        return error_memory(error);
    only[a] = only[b] = only[REGISTRY_REFERENCE] = true;
    return optimizer_place_on(optimizer, only, false, plan, error);
}

/* Placements on two libraries, the one that costs least first. */
struct pair {
    struct plan *plan;
    const char *name;
};

struct pairs {
    struct pair best[PAIRS];
    size_t count;
};

static bool is_pair(const struct pairs *pairs, const struct plan *plan)
{
    for (size_t k = 0; k < pairs->count; k++)
        if (optimizer_same_steps(pairs->best[k].plan, plan))
            return true;
    return false;
}

/* Takes the plan over. */
static void keep_pair(struct pairs *pairs, struct plan *plan, const char *name)
{
    size_t at = pairs->count < PAIRS ? pairs->count++ : PAIRS;
    if (at == PAIRS && plan->predicted_ns >= pairs->best[PAIRS - 1].plan->predicted_ns) {
        plan_destroy(plan);
        return;
    }
    if (at == PAIRS)
        plan_destroy(pairs->best[--at].plan);
    for (; at > 0 && pairs->best[at - 1].plan->predicted_ns > plan->predicted_ns; at--)
        pairs->best[at] = pairs->best[at - 1];
    pairs->best[at] = (struct pair){ plan, name };
}

/* The best placement on two libraries, if it is a new one and promises enough. */
static collage_status place_pair(struct optimizer *optimizer, uint32_t a, uint32_t b,
                                 struct pairs *pairs, struct error *error)
{
    const struct registry *registry = optimizer->settings.registry;
    const char *name = arena_format(optimizer->arena, "%s + %s", registry->entries[a].name,
                                    registry->entries[b].name);
    if (!name)
        return error_memory(error);
    struct plan *plan;
    collage_status status = place_two(optimizer, a, b, &plan, error);
    if (status != COLLAGE_OK || !plan)
        return status;
    if (!is_contestant(optimizer, plan) && !is_pair(pairs, plan) &&
        plan->predicted_ns <= promising * optimizer->plans[0]->predicted_ns)
        keep_pair(pairs, plan, name);
    else
        plan_destroy(plan);
    return COLLAGE_OK;
}

/* Costs are known within some percent only: the best few placements race. Those on two libraries
 * are unlike enough to be worth it. */
collage_status optimizer_add_pairs(struct optimizer *optimizer, struct error *error)
{
    const uint32_t count = (uint32_t)optimizer->settings.registry->count;
    struct pairs pairs = { .count = 0 };
    collage_status status = COLLAGE_OK;
    if (optimizer_has_enough(optimizer))
        return COLLAGE_OK;
    for (uint32_t a = 0; a < count && status == COLLAGE_OK; a++)
        for (uint32_t b = a + 1; b < count && status == COLLAGE_OK; b++)
            if (a != REGISTRY_REFERENCE && optimizer->enabled[a] && optimizer->enabled[b])
                status = place_pair(optimizer, a, b, &pairs, error);
    for (size_t k = 0; k < pairs.count; k++) {
        if (status == COLLAGE_OK)
            status = optimizer_add_mix(optimizer, pairs.best[k].name, pairs.best[k].plan, error);
        if (status != COLLAGE_OK)
            plan_destroy(pairs.best[k].plan);
    }
    return status;
}

/* "with reference for Gather, Shape": what the library could not do itself. "" if it did all, NULL
 * if out of memory. */
const char *optimizer_note_reference(struct optimizer *optimizer, const struct plan *plan)
{
    const struct graph *graph = optimizer->settings.graph;
    struct text text = { 0 };
    const char *listed[8];
    size_t count = 0;
    for (uint32_t k = 0; k < plan->step_count; k++) {
        const struct plan_step *step = &plan->steps[k];
        if (step->kind != PLAN_KERNEL || step->node_count == 0 ||
            strcmp(plan->backends[step->backend].name, "reference") != 0)
            continue;
        const char *op = graph->nodes[step->nodes[0]].base.op_type;
        bool seen = false;
        for (size_t j = 0; j < count; j++)
            seen = seen || strcmp(listed[j], op) == 0;
        if (seen || count == sizeof listed / sizeof *listed)
            continue;
        listed[count++] = op;
        text_format(&text, "%s%s", text.count ? ", " : "with reference for ", op);
    }
    const char *note = text.failed  ? NULL
                       : text.count ? arena_string(optimizer->arena, text.bytes)
                                    : "";
    text_free(&text);
    return note;
}

static bool backend_takes_whole(const struct optimizer *optimizer, uint32_t backend)
{
    for (size_t c = 0; c < optimizer->set->count; c++)
        if (optimizer->set->items[c].backend == backend &&
            optimizer->set->items[c].region.node_count == optimizer->settings.graph->node_count)
            return true;
    return false;
}

/* The best placement on all libraries, or what another search made of them. */
static bool is_mix(const struct optimizer *optimizer, size_t contestant)
{
    const char *name = optimizer->names[contestant];
    return strcmp(name, "mix") == 0 ||
           strcmp(name, optimizer_search_name(optimizer->settings.search)) == 0;
}

/* The library's best placement, the reference filling its holes. Not being able to is no error. */
static collage_status add_alone_plan(struct optimizer *optimizer, uint32_t backend,
                                     const char *name, enum proof proof, struct error *error)
{
    struct plan *plan;
    collage_status status = place_two(optimizer, backend, backend, &plan, error);
    if (status != COLLAGE_OK || !plan)
        return status;
    for (size_t k = 0; k < optimizer->contestant_count; k++)
        if (optimizer->plans[k] && optimizer_same_steps(optimizer->plans[k], plan)) {
            plan_destroy(plan);
            optimizer->notes[k] = "one library is the best mix";
            optimizer->proofs[k] = proof;
            if (is_mix(optimizer, k))
                optimizer->notes[k] = arena_format(optimizer->arena, "the mix is %s alone", name);
            return optimizer->notes[k] ? COLLAGE_OK : error_memory(error);
        }
    const char *note = optimizer_note_reference(optimizer, plan);
    status = note ? add_contestant(optimizer, name, note, plan, UINT32_MAX, proof, error)
                  : error_memory(error);
    if (status != COLLAGE_OK)
        plan_destroy(plan);
    return status;
}

collage_status optimizer_make_standalone(struct optimizer *optimizer, uint32_t backend,
                                         struct plan **out, struct error *error)
{
    struct candidate_set *set = optimizer->set;
    const struct graph *graph = optimizer->settings.graph;
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        if (candidate->backend != backend || candidate->region.node_count != graph->node_count)
            continue;
        struct place_problem problem = optimizer_problem(optimizer, optimizer->enabled);
        struct placement placement = { .chosen = &id,
                                       .count = 1,
                                       .cost_ns = candidate->cost.cost_ns };
        collage_status status =
            plan_build(&problem, &placement, optimizer->device.fingerprint, out, error);
        if (status == COLLAGE_OK)
            (*out)->standalone = true;
        return status;
    }
    *out = NULL;
    return COLLAGE_OK;
}

static bool is_graph_level(const struct optimizer *optimizer, uint32_t backend)
{
    return optimizer->settings.registry->entries[backend].api->kind == COLLAGE_GRAPH_LEVEL;
}

collage_status optimizer_add_alone(struct optimizer *optimizer, struct error *error)
{
    const struct registry *registry = optimizer->settings.registry;
    collage_status status = COLLAGE_OK;
    for (uint32_t b = 0; b < registry->count && status == COLLAGE_OK; b++) {
        if (!optimizer->enabled[b] || b == REGISTRY_REFERENCE)
            continue;
        if (!is_graph_level(optimizer, b))
            status =
                add_alone_plan(optimizer, b, registry->entries[b].name, PROOF_NOT_SLOWER, error);
        else if (backend_takes_whole(optimizer, b))
            status = optimizer_add_library(optimizer, b, error);
    }
    return status;
}

collage_status optimizer_add_sessions(struct optimizer *optimizer, struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (uint32_t b = 0; b < optimizer->settings.registry->count && status == COLLAGE_OK; b++)
        if (optimizer->enabled[b] && is_graph_level(optimizer, b) &&
            backend_takes_whole(optimizer, b))
            status = optimizer_add_library(optimizer, b, error);
    return status;
}

collage_status optimizer_add_regions_alone(struct optimizer *optimizer, struct error *error)
{
    const struct registry *registry = optimizer->settings.registry;
    collage_status status = COLLAGE_OK;
    const bool enough = optimizer_has_enough(optimizer); /* then the fewer race, the better */
    for (uint32_t b = 0; b < registry->count && status == COLLAGE_OK && !enough; b++) {
        if (!optimizer->enabled[b] || !is_graph_level(optimizer, b))
            continue;
        const char *name = arena_format(optimizer->arena, "%s (plan)", registry->entries[b].name);
        status =
            name ? add_alone_plan(optimizer, b, name, PROOF_FASTER, error) : error_memory(error);
    }
    return status;
}
