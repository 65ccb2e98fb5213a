/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in the final race: the mix, and each library alone. */
#include <string.h>

#include "base/clock.h"
#include "base/printable.h"
#include "base/text.h"
#include "optimize/optimizer.h"
#include "optimize/propose.h"
#include "pattern/merge.h"

enum { ROUNDS = 10, PASSES = 3 };

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

/* The best placement on two libraries, if it is a new one and promises enough. */
static collage_status place_pair(struct optimizer *optimizer, uint32_t a, uint32_t b,
                                 struct error *error)
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
    bool wanted = !is_contestant(optimizer, plan) &&
                  plan->predicted_ns <= promising * optimizer->plans[0]->predicted_ns;
    if (wanted)
        status = optimizer_add_mix(optimizer, name, plan, error);
    if (!wanted || status != COLLAGE_OK)
        plan_destroy(plan);
    return status;
}

/* Costs are known within some percent only: the best few placements race. Those on two libraries
 * are unlike enough to be worth it. */
static collage_status place_pairs(struct optimizer *optimizer, struct error *error)
{
    const uint32_t count = (uint32_t)optimizer->settings.registry->count;
    collage_status status = COLLAGE_OK;
    for (uint32_t a = 0; a < count && status == COLLAGE_OK; a++)
        for (uint32_t b = a + 1; b < count && status == COLLAGE_OK; b++)
            if (a != REGISTRY_REFERENCE && optimizer->enabled[a] && optimizer->enabled[b])
                status = place_pair(optimizer, a, b, error);
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
    placement_free(&placement);
    if (status == COLLAGE_OK)
        status = prove(optimizer, &plan, error);
    if (status == COLLAGE_OK)
        status = optimizer_add_mix(optimizer, "mix", plan, error);
    if (status != COLLAGE_OK)
        plan_destroy(plan);
    if (status == COLLAGE_OK && !optimizer_has_enough(optimizer))
        status = place_pairs(optimizer, error);
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
