/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brute.c: the oracle of the other solvers, for tiny graphs: every exact cover, with every choice
 * of nodes that nobody runs but for himself, its price by the definition (docs/placement.md), and
 * every order of execution. What costs more than a whole placement before it is complete is not
 * completed. Shares nothing with them but the definition of what is usable.
 */
#include <math.h>
#include <string.h>

#include "place/options.h"
#include "tensor/layout.h"

enum { BRUTE_NODES = PLACE_BRUTE_NODES };

struct brute {
    const struct place_problem *problem;
    const struct graph *graph;
    candidate_id cover[BRUTE_NODES], order[BRUTE_NODES], best_order[BRUTE_NODES];
    uint32_t count, ordered; /* of cover, of order */
    uint32_t copied;         /* nodes that some usable candidate has a copy of */
    bool ran[BRUTE_NODES];   /* place in cover by place: already in order */
    double best;
    uint32_t best_count;
    size_t covers, tried; /* complete; all, also the parts of which they are made */
};

static const struct candidate *candidate_of(const struct brute *brute, candidate_id id)
{
    return &brute->problem->set->items[id];
}

/* ---- the price of a cover ---- */

static double conversion_cost(const struct brute *brute, value_id value, const collage_layout *from,
                              const collage_layout *to)
{
    const struct place_problem *problem = brute->problem;
    if (layout_equal(from, to))
        return 0;
    double best = HUGE_VAL;
    for (size_t k = 0; k < problem->transition_count; k++) {
        const struct transition *t = &problem->transitions[k];
        if (t->value == value && place_is_usable_transition(problem, t) &&
            layout_equal(&t->from, from) && layout_equal(&t->to, to))
            best = fmin(best, t->cost_ns + problem->step_ns);
    }
    return best;
}

static collage_layout layout_made(const struct brute *brute, value_id value)
{
    for (uint32_t c = 0; c < brute->count; c++) {
        const struct candidate *candidate = candidate_of(brute, brute->cover[c]);
        for (uint32_t k = 0; k < candidate->region.output_count; k++)
            if (candidate->region.outputs[k] == value)
                return candidate->output_layouts[k];
    }
    return layout_plain(); /* a model input */
}

/* Each layout other than the one it was made in is converted to once. */
static double value_cost(const struct brute *brute, value_id value)
{
    collage_layout made = layout_made(brute, value);
    collage_layout wanted[BRUTE_NODES + 1];
    uint32_t count = 0;
    if (brute->graph->values[value].kind == VALUE_COMPUTED && graph_is_output(brute->graph, value))
        wanted[count++] = layout_plain();
    for (uint32_t c = 0; c < brute->count; c++) {
        const struct candidate *candidate = candidate_of(brute, brute->cover[c]);
        for (uint32_t k = 0; k < candidate->region.input_count; k++) {
            bool known = candidate->region.inputs[k] != value;
            for (uint32_t w = 0; w < count && !known; w++)
                known = layout_equal(&wanted[w], &candidate->input_layouts[k]);
            if (!known)
                wanted[count++] = candidate->input_layouts[k];
        }
    }
    double cost = 0;
    for (uint32_t w = 0; w < count; w++)
        cost += conversion_cost(brute, value, &made, &wanted[w]);
    return cost;
}

static double kernel_cost(const struct brute *brute, const struct candidate *candidate)
{
    return candidate->cost.cost_ns + (candidate->view ? 0 : brute->problem->step_ns);
}

static double cover_cost(const struct brute *brute)
{
    double cost = 0;
    for (uint32_t c = 0; c < brute->count; c++)
        cost += kernel_cost(brute, candidate_of(brute, brute->cover[c]));
    for (value_id v = 0; v < brute->graph->value_count; v++)
        if (brute->graph->values[v].kind != VALUE_CONSTANT)
            cost += value_cost(brute, v);
    return cost;
}

/* ---- its orders ---- */

static bool is_made(const struct brute *brute, value_id value)
{
    for (uint32_t c = 0; c < brute->count; c++) {
        const struct region *region = &candidate_of(brute, brute->cover[c])->region;
        for (uint32_t k = 0; k < region->output_count; k++)
            if (brute->ran[c] && region->outputs[k] == value)
                return true;
    }
    return false;
}

static bool can_run(const struct brute *brute, uint32_t place)
{
    const struct region *region = &candidate_of(brute, brute->cover[place])->region;
    for (uint32_t k = 0; k < region->input_count; k++) {
        if (brute->graph->values[region->inputs[k]].kind == VALUE_COMPUTED &&
            !is_made(brute, region->inputs[k]))
            return false;
    }
    return !brute->ran[place];
}

/* `last`: the backend that ran last, UINT32_MAX if none has. */
static void try_orders(struct brute *brute, double cost, uint32_t last)
{
    if (!(cost < brute->best))
        return;
    if (brute->ordered == brute->count) {
        brute->best = cost;
        brute->best_count = brute->count;
        memcpy(brute->best_order, brute->order, sizeof brute->order);
        return;
    }
    for (uint32_t place = 0; place < brute->count; place++) {
        if (!can_run(brute, place))
            continue;
        const struct candidate *candidate = candidate_of(brute, brute->cover[place]);
        bool kernel = !candidate->view;
        double extra = kernel && last != UINT32_MAX
                           ? place_switch_cost(brute->problem, last, candidate->backend)
                           : 0;
        brute->ran[place] = true;
        brute->order[brute->ordered++] = brute->cover[place];
        try_orders(brute, cost + extra, kernel ? candidate->backend : last);
        brute->ordered--;
        brute->ran[place] = false;
    }
}

/* ---- all covers ---- */

static bool is_of_output(const struct graph *graph, node_id node)
{
    const collage_node *base = &graph->nodes[node].base;
    for (uint32_t k = 0; k < base->output_count; k++)
        if (base->outputs[k] != GRAPH_NONE && graph_is_output(graph, base->outputs[k]))
            return true;
    return false;
}

static void find_copied(struct brute *brute)
{
    for (candidate_id id = 0; id < brute->problem->set->count; id++) {
        const struct region *region = &candidate_of(brute, id)->region;
        for (uint32_t k = 0; k < region->copy_count; k++)
            if (place_is_usable(brute->problem, candidate_of(brute, id)) &&
                !is_of_output(brute->graph, region->copies[k]))
                brute->copied |= UINT32_C(1) << region->copies[k];
    }
}

/* cost: of the kernels so far. */
static void try_covers(struct brute *brute, uint32_t covered, double cost)
{
    if (!(cost < brute->best) || brute->tried++ > PLACE_BRUTE_TRIES)
        return;
    uint32_t node_count = (uint32_t)brute->graph->node_count, node = 0;
    while (node < node_count && (covered >> node & 1))
        node++;
    if (node == node_count) {
        brute->covers++;
        try_orders(brute, cover_cost(brute), UINT32_MAX);
        return;
    }
    if (brute->copied >> node & 1) /* left out: whoever takes its results can then not run */
        try_covers(brute, covered | UINT32_C(1) << node, cost);
    for (candidate_id id = 0; id < brute->problem->set->count; id++) {
        const struct candidate *candidate = candidate_of(brute, id);
        uint32_t nodes = 0;
        for (uint32_t k = 0; k < candidate->region.own_count; k++)
            nodes |= UINT32_C(1) << candidate->region.own[k];
        if (!(nodes >> node & 1) || (nodes & covered) ||
            !place_is_usable(brute->problem, candidate))
            continue;
        brute->cover[brute->count++] = id;
        try_covers(brute, covered | nodes, cost + kernel_cost(brute, candidate));
        brute->count--;
    }
}

collage_status place_brute(const struct place_problem *problem, struct placement *out,
                           struct error *error)
{
    *out = (struct placement){ 0 };
    const struct graph *graph = problem->set->graph;
    if (graph->node_count > BRUTE_NODES)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "%zu nodes are too many to try all placements (at most %d)",
                         graph->node_count, BRUTE_NODES);
    struct brute brute = { .problem = problem, .graph = graph, .best = HUGE_VAL };
    find_copied(&brute);
    try_covers(&brute, 0, 0);
    if (brute.tried > PLACE_BRUTE_TRIES)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "there are more placements than can all be tried");
    if (brute.best == HUGE_VAL)
        return place_fail(problem, 0, error);
    candidate_id *chosen = memory_alloc(brute.best_count * sizeof *chosen);
    if (!chosen)
        return error_memory(error);
    memcpy(chosen, brute.best_order, brute.best_count * sizeof *chosen);
    *out = (struct placement){ .chosen = chosen,
                               .count = brute.best_count,
                               .cost_ns = brute.best,
                               .bound_ns = brute.best,
                               .optimal = true,
                               .states = brute.covers };
    return COLLAGE_OK;
}
