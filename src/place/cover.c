/* SPDX-License-Identifier: Apache-2.0 */
#include "place/cover.h"

#include <math.h>
#include <string.h>

#include "place/options.h"
#include "tensor/layout.h"

/* ---- who takes part ---- */

bool cover_is_graph_level(const struct candidate_set *set, uint32_t backend)
{
    const collage_backend_api *api = set->registry->entries[backend].api;
    return api && api->kind == COLLAGE_GRAPH_LEVEL;
}

static bool is_used_inside(const struct candidate_set *set, const struct region *region,
                           node_id node)
{
    const collage_node *base = &set->graph->nodes[node].base;
    for (uint32_t k = 0; k < base->output_count; k++) {
        value_id v = base->outputs[k];
        if (v == GRAPH_NONE)
            continue;
        for (uint32_t u = set->uses.first[v]; u < set->uses.first[v + 1]; u++)
            if (region_has(region, set->uses.users[u]))
                return true;
    }
    return false;
}

bool cover_has_one_end(const struct candidate_set *set, const struct region *region)
{
    node_id end = region->nodes[region->node_count - 1];
    for (uint32_t k = 0; k + 1 < region->node_count; k++)
        if (!is_used_inside(set, region, region->nodes[k]))
            return false;
    for (uint32_t k = 0; k < region->output_count; k++)
        if (set->graph->values[region->outputs[k]].producer != end)
            return false;
    return true;
}

static bool is_row_major(const struct candidate *candidate)
{
    for (uint32_t k = 0; k < candidate->region.input_count; k++)
        if (!layout_is_plain(&candidate->input_layouts[k]))
            return false;
    for (uint32_t k = 0; k < candidate->region.output_count; k++)
        if (!layout_is_plain(&candidate->output_layouts[k]))
            return false;
    return true;
}

bool cover_takes_part(const struct place_problem *problem, const struct candidate *candidate,
                      bool rows_only)
{
    if (!place_is_usable(problem, candidate) || (rows_only && !is_row_major(candidate)) ||
        candidate->region.copy_count > 0)
        return false;
    if (candidate->view || (problem->pins && pins_name(problem->pins, candidate)))
        return true;
    if (cover_is_graph_level(problem->set, candidate->backend))
        return candidate->region.node_count == 1;
    return cover_has_one_end(problem->set, &candidate->region);
}

/* ---- the order ---- */

enum { UNSEEN, WAITING, DONE };

/* Each candidate after those that make its inputs, found depth first; known by their place. */
struct orderer {
    const struct candidate_set *set;
    const candidate_id *chosen;
    uint32_t *owner; /* node by node */
    uint8_t *state;
    uint32_t *next;  /* the input that is looked at next */
    uint32_t *stack; /* of those that wait */
    candidate_id *out;
    size_t count, out_count;
};

/* The place that makes the input; the orderer's count if none does. */
static uint32_t maker_of(const struct orderer *orderer, value_id value)
{
    const struct value *v = &orderer->set->graph->values[value];
    return v->kind == VALUE_COMPUTED ? orderer->owner[v->producer] : (uint32_t)orderer->count;
}

/* False if it waits for itself. */
static bool visit(struct orderer *orderer, uint32_t first)
{
    size_t depth = 0;
    orderer->state[first] = WAITING;
    orderer->stack[depth++] = first;
    while (depth > 0) {
        uint32_t place = orderer->stack[depth - 1];
        const struct region *region = &orderer->set->items[orderer->chosen[place]].region;
        if (orderer->next[place] == region->input_count) {
            orderer->state[place] = DONE;
            orderer->out[orderer->out_count++] = orderer->chosen[place];
            depth--;
            continue;
        }
        uint32_t maker = maker_of(orderer, region->inputs[orderer->next[place]++]);
        if (maker == orderer->count || orderer->state[maker] == DONE)
            continue;
        if (orderer->state[maker] == WAITING)
            return false;
        orderer->state[maker] = WAITING;
        orderer->stack[depth++] = maker;
    }
    return true;
}

collage_status cover_order(const struct candidate_set *set, candidate_id *chosen, size_t count,
                           bool *possible, struct error *error)
{
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    struct orderer orderer = {
        .set = set,
        .chosen = chosen,
        .owner = arena_array(arena, set->graph->node_count, sizeof(uint32_t)),
        .state = arena_array(arena, count, sizeof(uint8_t)),
        .next = arena_array(arena, count, sizeof(uint32_t)),
        .stack = arena_array(arena, count, sizeof(uint32_t)),
        .out = arena_array(arena, count, sizeof(candidate_id)),
        .count = count,
    };
    if (!orderer.owner || !orderer.state || !orderer.next || !orderer.stack || !orderer.out) {
        arena_destroy(arena);
        return error_memory(error);
    }
    for (uint32_t place = 0; place < count; place++) {
        const struct region *region = &set->items[chosen[place]].region;
        for (uint32_t k = 0; k < region->node_count; k++)
            orderer.owner[region->nodes[k]] = place;
    }
    *possible = true;
    for (node_id n = 0; n < set->graph->node_count && *possible; n++)
        if (orderer.state[orderer.owner[n]] == UNSEEN)
            *possible = visit(&orderer, orderer.owner[n]);
    if (*possible)
        memcpy(chosen, orderer.out, count * sizeof *chosen);
    arena_destroy(arena);
    return COLLAGE_OK;
}

/* ---- the cost ---- */

/* A layout that a value has been converted to. */
struct converted {
    const collage_layout *layout;
    struct converted *next;
};

struct pricer {
    const struct place_problem *problem;
    struct arena *arena;
    const collage_layout **made; /* value by value; NULL: a model input, row-major */
    struct converted **converted;
    double cost;
};

static const collage_layout row_major = { "" };

static double conversion_cost(const struct place_problem *problem, value_id value,
                              const collage_layout *from, const collage_layout *to)
{
    double best = HUGE_VAL;
    for (size_t k = 0; k < problem->transition_count; k++) {
        const struct transition *t = &problem->transitions[k];
        if (t->value == value && place_is_usable_transition(problem, t) &&
            layout_equal(&t->from, from) && layout_equal(&t->to, to))
            best = fmin(best, t->cost_ns + problem->step_ns);
    }
    return best;
}

/* False if out of memory. */
static bool take(struct pricer *pricer, value_id value, const collage_layout *layout)
{
    const collage_layout *made = pricer->made[value] ? pricer->made[value] : &row_major;
    if (layout_equal(made, layout))
        return true;
    for (const struct converted *c = pricer->converted[value]; c; c = c->next)
        if (layout_equal(c->layout, layout))
            return true;
    struct converted *added = arena_alloc(pricer->arena, sizeof *added);
    if (!added)
        return false;
    *added = (struct converted){ layout, pricer->converted[value] };
    pricer->converted[value] = added;
    pricer->cost += conversion_cost(pricer->problem, value, made, layout);
    return true;
}

static void add_kernels(struct pricer *pricer, const candidate_id *chosen, size_t count)
{
    const struct place_problem *problem = pricer->problem;
    uint32_t last = UINT32_MAX;
    for (size_t s = 0; s < count; s++) {
        const struct candidate *candidate = &problem->set->items[chosen[s]];
        for (uint32_t k = 0; k < candidate->region.output_count; k++)
            pricer->made[candidate->region.outputs[k]] = &candidate->output_layouts[k];
        pricer->cost += candidate->cost.cost_ns;
        if (candidate->view)
            continue;
        pricer->cost += problem->step_ns;
        if (last != UINT32_MAX)
            pricer->cost += place_switch_cost(problem, last, candidate->backend);
        last = candidate->backend;
    }
}

static bool add_conversions(struct pricer *pricer, const candidate_id *chosen, size_t count)
{
    const struct candidate_set *set = pricer->problem->set;
    const struct graph *graph = set->graph;
    for (size_t s = 0; s < count; s++) {
        const struct candidate *candidate = &set->items[chosen[s]];
        for (uint32_t k = 0; k < candidate->region.input_count; k++)
            if (!take(pricer, candidate->region.inputs[k], &candidate->input_layouts[k]))
                return false;
    }
    for (uint32_t k = 0; k < graph->output_count; k++)
        if (!take(pricer, graph->outputs[k], &row_major))
            return false;
    return true;
}

collage_status cover_cost(const struct place_problem *problem, const candidate_id *chosen,
                          size_t count, double *cost, struct error *error)
{
    const struct graph *graph = problem->set->graph;
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    struct pricer pricer = {
        .problem = problem,
        .arena = arena,
        .made = arena_array(arena, graph->value_count, sizeof(collage_layout *)),
        .converted = arena_array(arena, graph->value_count, sizeof(struct converted *)),
    };
    bool ok = pricer.made && pricer.converted;
    if (ok) {
        add_kernels(&pricer, chosen, count);
        ok = add_conversions(&pricer, chosen, count);
    }
    *cost = pricer.cost;
    arena_destroy(arena);
    return ok ? COLLAGE_OK : error_memory(error);
}

collage_status cover_finish(const struct place_problem *problem, candidate_id *chosen, size_t count,
                            struct placement *out, bool *possible, struct error *error)
{
    *out = (struct placement){ .chosen = chosen, .count = count };
    collage_status status = cover_order(problem->set, chosen, count, possible, error);
    if (!status && *possible)
        status = cover_cost(problem, chosen, count, &out->cost_ns, error);
    *possible = !status && *possible && isfinite(out->cost_ns);
    if (!*possible)
        placement_free(out);
    return status;
}
