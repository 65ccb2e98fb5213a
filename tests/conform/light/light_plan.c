/* SPDX-License-Identifier: Apache-2.0 */
#include "light_plan.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "measure/sample.h"
#include "tensor/layout.h"

/* ---- graph-level: one kernel ---- */

/* Which node it is that the backend does not take. */
static collage_status explain_refusal(const struct candidate_set *set, uint32_t backend,
                                      struct error *error)
{
    for (node_id n = 0; n < set->graph->node_count; n++) {
        const char *why = set->refusals[(size_t)n * set->registry->count + backend];
        if (why)
            return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "it does not take node '%s': %s",
                             set->graph->nodes[n].base.name, why);
    }
    return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "it does not take the graph whole");
}

static collage_status add_whole(struct candidate_set *set, uint32_t backend, struct error *error)
{
    const size_t count = set->graph->node_count;
    node_id *nodes = memory_alloc(count * sizeof *nodes);
    size_t added = 0;
    if (!nodes)
        return error_memory(error);
    for (node_id n = 0; n < count; n++)
        nodes[n] = n;
    collage_status status =
        candidate_set_add(set, backend, nodes, (uint32_t)count, "whole", &added, error);
    memory_free(nodes);
    if (status != COLLAGE_OK || added > 0)
        return status;
    return explain_refusal(set, backend, error);
}

static collage_status plan_whole(struct candidate_set *set, uint32_t backend, const bool *enabled,
                                 struct plan **out, struct error *error)
{
    candidate_id first = 0; /* the set is empty before */
    const struct place_problem problem = { .set = set, .enabled = enabled };
    const struct placement placement = { .chosen = &first, .count = 1 };
    collage_status status = add_whole(set, backend, error);
    return status == COLLAGE_OK ? plan_build(&problem, &placement, "", out, error) : status;
}

/* ---- op-level: the candidates and what they are said to cost ---- */

enum { MAX_LAYOUTS = 8, STATES = 1000 };

static const double reference_cost = 1000, kernel_cost = 100, unwanted_cost = 30;
static const double reorder_cost = 20, reference_reorder_cost = 60;
/* Between variants that cost the same the first is taken. */
static const double variant_cost = 0.01;

struct search {
    const struct light_request *request;
    struct candidate_set *set;
    const bool *enabled;
    struct arena *arena; /* of what sampling says */
    struct transition *transitions;
    bool *sound; /* transition by transition: it was checked */
    size_t transition_count, transition_capacity, struck;
};

static bool is_blocked(const collage_layout *layout)
{
    return strpbrk(layout->tag, "0123456789") != NULL;
}

static bool is_wanted(const struct candidate *candidate, bool blocked)
{
    bool any_blocked = false, all_plain = true;
    for (uint32_t k = 0; k < candidate->region.input_count; k++) {
        any_blocked = any_blocked || is_blocked(&candidate->input_layouts[k]);
        all_plain = all_plain && layout_is_plain(&candidate->input_layouts[k]);
    }
    for (uint32_t k = 0; k < candidate->region.output_count; k++) {
        any_blocked = any_blocked || is_blocked(&candidate->output_layouts[k]);
        all_plain = all_plain && layout_is_plain(&candidate->output_layouts[k]);
    }
    return blocked ? any_blocked : all_plain;
}

static void estimate_kernels(struct search *search)
{
    for (size_t id = 0; id < search->set->count; id++) {
        struct candidate *candidate = &search->set->items[id];
        if (candidate->view)
            continue;
        double cost = kernel_cost + variant_cost * candidate->variant_index;
        if (!is_wanted(candidate, search->request->blocked))
            cost += unwanted_cost;
        if (candidate->backend == REGISTRY_REFERENCE)
            cost = reference_cost;
        candidate->cost = (struct cost){
            .state = COST_MEASURED, .cost_ns = cost, .implementation = "", .reason = ""
        };
    }
}

/* ---- op-level: reorders ---- */

/* The layouts in which a value is made, and those in which it is wanted. */
struct value_layouts {
    collage_layout made[MAX_LAYOUTS], wanted[MAX_LAYOUTS];
    uint32_t made_count, wanted_count;
};

static void add_layout(collage_layout *list, uint32_t *count, const collage_layout *layout)
{
    for (uint32_t k = 0; k < *count; k++)
        if (layout_equal(&list[k], layout))
            return;
    if (*count < MAX_LAYOUTS)
        list[(*count)++] = *layout;
}

static void collect_layouts(const struct search *search, struct value_layouts *layouts)
{
    const struct graph *graph = search->request->graph;
    const collage_layout plain = layout_plain();
    for (uint32_t k = 0; k < graph->input_count; k++) {
        struct value_layouts *at = &layouts[graph->inputs[k]];
        add_layout(at->made, &at->made_count, &plain);
    }
    for (uint32_t k = 0; k < graph->output_count; k++) {
        struct value_layouts *at = &layouts[graph->outputs[k]];
        add_layout(at->wanted, &at->wanted_count, &plain);
    }
    for (size_t id = 0; id < search->set->count; id++) {
        const struct candidate *candidate = &search->set->items[id];
        for (uint32_t k = 0; k < candidate->region.input_count; k++) {
            struct value_layouts *at = &layouts[candidate->region.inputs[k]];
            add_layout(at->wanted, &at->wanted_count, &candidate->input_layouts[k]);
        }
        for (uint32_t k = 0; k < candidate->region.output_count; k++) {
            struct value_layouts *at = &layouts[candidate->region.outputs[k]];
            add_layout(at->made, &at->made_count, &candidate->output_layouts[k]);
        }
    }
}

static bool add_transition(struct search *search, const struct transition *transition)
{
    if (!memory_grow((void **)&search->transitions, &search->transition_capacity,
                     search->transition_count, sizeof *transition))
        return false;
    search->transitions[search->transition_count++] = *transition;
    return true;
}

/* From each layout that the value is made in to each that it is wanted in, on both backends. */
static bool add_transitions(struct search *search, value_id value,
                            const struct value_layouts *layouts)
{
    for (uint32_t a = 0; a < layouts->made_count; a++)
        for (uint32_t b = 0; b < layouts->wanted_count; b++) {
            struct transition transition = { value, layouts->made[a], layouts->wanted[b],
                                             search->request->backend, reorder_cost };
            if (layout_equal(&transition.from, &transition.to))
                continue;
            if (!add_transition(search, &transition))
                return false;
            transition.backend = REGISTRY_REFERENCE;
            transition.cost_ns = reference_reorder_cost;
            if (!add_transition(search, &transition))
                return false;
        }
    return true;
}

static collage_status list_transitions(struct search *search, struct error *error)
{
    const size_t count = search->request->graph->value_count;
    struct value_layouts *layouts = memory_alloc((count + 1) * sizeof *layouts);
    bool fine = layouts != NULL;
    if (fine)
        collect_layouts(search, layouts);
    for (value_id v = 0; v < count && fine; v++)
        fine = add_transitions(search, v, &layouts[v]);
    memory_free(layouts);
    search->sound = memory_alloc((search->transition_count + 1) * sizeof *search->sound);
    return fine && search->sound ? COLLAGE_OK : error_memory(error);
}

/* ---- op-level: checking what was chosen ---- */

static struct sample_conditions conditions_of(const struct search *search)
{
    /* No time for timing: the kernel runs until it is known to be right. */
    return (struct sample_conditions){ .tolerance = search->request->tolerance };
}

static const char *backend_name(const struct search *search)
{
    return search->set->registry->entries[search->request->backend].name;
}

/* All candidates of the key learn what one of them has shown. What it is said to cost stays. */
static void share_cost(struct search *search, struct hash key, const struct cost *cost)
{
    for (size_t id = 0; id < search->set->count; id++) {
        struct candidate *candidate = &search->set->items[id];
        if (candidate->view || !hash_equal(candidate->key, key))
            continue;
        double estimate = candidate->cost.cost_ns;
        candidate->cost = *cost;
        candidate->cost.cost_ns = estimate;
        candidate->cost.passes = 1;
    }
}

static collage_status check_kernel(struct search *search, candidate_id id, struct error *error)
{
    const struct candidate *candidate = &search->set->items[id];
    const struct sample_conditions conditions = conditions_of(search);
    struct cost cost;
    collage_status status = sample_candidate(search->set, id, search->request->oracle, &conditions,
                                             search->arena, &cost, error);
    if (status != COLLAGE_OK)
        return status;
    if (cost.state == COST_FAILED && cost.error > 0) {
        const collage_node *node = &search->request->graph->nodes[candidate->region.nodes[0]].base;
        return error_set(error, COLLAGE_ERROR_WRONG_RESULT, "%s '%s', variant %s: %s",
                         node->op_type, node->name, candidate->variant, cost.reason);
    }
    search->struck += cost.state == COST_FAILED;
    share_cost(search, candidate->key, &cost);
    return COLLAGE_OK;
}

static collage_status check_kernels(struct search *search, const struct placement *placement,
                                    struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < placement->count && status == COLLAGE_OK; k++) {
        const struct candidate *candidate = &search->set->items[placement->chosen[k]];
        if (candidate->backend == search->request->backend && !candidate->view &&
            candidate->cost.passes == 0)
            status = check_kernel(search, placement->chosen[k], error);
    }
    return status;
}

static collage_status check_transition(struct search *search, size_t index, struct error *error)
{
    struct transition *t = &search->transitions[index];
    const struct sample_conditions conditions = conditions_of(search);
    struct cost cost;
    collage_status status =
        sample_transition(search->set, t->backend, t->value, &t->from, &t->to,
                          search->request->oracle, &conditions, search->arena, &cost, error);
    if (status != COLLAGE_OK)
        return status;
    if (cost.state == COST_FAILED && cost.error > 0)
        return error_set(error, COLLAGE_ERROR_WRONG_RESULT, "reorder of '%s' from '%s' to '%s': %s",
                         search->request->graph->values[t->value].name, t->from.tag, t->to.tag,
                         cost.reason);
    if (cost.state == COST_FAILED) {
        search->struck++;
        t->cost_ns = (double)INFINITY; /* not to be used */
    }
    search->sound[index] = true;
    return COLLAGE_OK;
}

static collage_status check_reorder(struct search *search, const struct plan *plan,
                                    const struct plan_step *step, struct error *error)
{
    const struct plan_tensor *from = &plan->tensors[step->inputs[0]];
    const struct plan_tensor *to = &plan->tensors[step->outputs[0]];
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < search->transition_count && status == COLLAGE_OK; k++) {
        const struct transition *t = &search->transitions[k];
        if (t->value == from->value && t->backend == search->request->backend &&
            !search->sound[k] && layout_equal(&t->from, &from->layout) &&
            layout_equal(&t->to, &to->layout))
            status = check_transition(search, k, error);
    }
    return status;
}

static collage_status check_reorders(struct search *search, const struct plan *plan,
                                     struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (uint32_t s = 0; s < plan->step_count && status == COLLAGE_OK; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (step->kind == PLAN_REORDER &&
            strcmp(plan->backends[step->backend].name, backend_name(search)) == 0)
            status = check_reorder(search, plan, step, error);
    }
    return status;
}

/* ---- op-level: placing ---- */

/* Places and checks once; *out stays NULL if something was struck out. */
static collage_status place_once(struct search *search, struct plan **out, struct error *error)
{
    const size_t before = search->struck;
    const struct place_problem problem = { .set = search->set,
                                           .enabled = search->enabled,
                                           .transitions = search->transitions,
                                           .transition_count = search->transition_count,
                                           .state_limit = STATES };
    struct placement placement = { 0 };
    struct plan *plan = NULL;
    collage_status status = place_dynamic(&problem, &placement, error);
    if (status == COLLAGE_OK)
        status = check_kernels(search, &placement, error);
    if (status == COLLAGE_OK && search->struck == before)
        status = plan_build(&problem, &placement, "", &plan, error);
    placement_free(&placement);
    if (status == COLLAGE_OK && plan)
        status = check_reorders(search, plan, error);
    if (status == COLLAGE_OK && search->struck == before)
        *out = plan;
    else
        plan_destroy(plan);
    return status;
}

/* Ends, since each further round strikes out something. */
static collage_status plan_placed(struct search *search, struct plan **out, struct error *error)
{
    collage_status status = candidate_set_enumerate(search->set, search->enabled, error);
    if (status != COLLAGE_OK)
        return status;
    estimate_kernels(search);
    status = list_transitions(search, error);
    while (status == COLLAGE_OK && !*out)
        status = place_once(search, out, error);
    return status;
}

static collage_status make_plan(struct search *search, bool *enabled, struct plan **out,
                                struct error *error)
{
    const struct light_request *request = search->request;
    const struct registry *registry = request->registry;
    enabled[request->backend] = true;
    if (registry->entries[request->backend].api->kind == COLLAGE_GRAPH_LEVEL)
        return plan_whole(search->set, request->backend, enabled, out, error);
    enabled[REGISTRY_REFERENCE] = true;
    search->enabled = enabled;
    return plan_placed(search, out, error);
}

collage_status light_plan(const struct light_request *request, struct plan **out, size_t *struck,
                          struct error *error)
{
    struct search search = { .request = request, .arena = arena_create() };
    bool *enabled = memory_alloc(request->registry->count * sizeof *enabled);
    *out = NULL;
    collage_status status = search.arena && enabled
                                ? candidate_set_create(request->graph, request->registry,
                                                       request->target, &search.set, error)
                                : error_memory(error);
    if (status == COLLAGE_OK)
        status = make_plan(&search, enabled, out, error);
    *struck = search.struck;
    candidate_set_destroy(search.set);
    memory_free(search.transitions);
    memory_free(search.sound);
    memory_free(enabled);
    arena_destroy(search.arena);
    return status;
}
