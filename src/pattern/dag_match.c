/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backtracking over the actions of a form. Each try takes a step from a fixed number, so that no
 * pattern and no graph make it run long; the recursion is as deep as there are actions.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/region.h"
#include "pattern/dag.h"

/* Of a commuting operator with more operands nothing is matched: a bit for each. */
enum { MAX_COMMUTING = 64 };

struct matcher {
    const struct dag *dag;
    const struct graph *graph;
    const struct graph_uses *uses;
    dag_match_fn found;
    void *user;
    uint32_t steps; /* that are left */
    bool ended;     /* no steps are left, or `found` has had enough */
    bool cut_off;
    node_id nodes[DAG_NODES];      /* GRAPH_NONE: not found yet */
    value_id values[DAG_VALUES];   /* GRAPH_NONE: not found yet, or left out; REST: how many */
    bool known[DAG_VALUES];        /* found, or known to be left out */
    uint32_t places[DAG_OPERANDS]; /* the inputs that they are */
    uint64_t taken[DAG_NODES];     /* inputs of commuting operators */
};

bool dag_commutes(const struct op *op)
{
    static const char *const variadic[] = { "Max", "Min", "Sum", "Mean" };
    if (op->flags & OP_COMMUTES)
        return true;
    for (size_t k = 0; op->max_inputs < 0 && k < sizeof variadic / sizeof variadic[0]; k++)
        if (strcmp(op->name, variadic[k]) == 0)
            return true;
    return false;
}

static bool spend(struct matcher *matcher, uint32_t steps)
{
    if (matcher->ended)
        return false;
    if (steps >= matcher->steps) {
        matcher->steps = 0;
        matcher->ended = matcher->cut_off = true;
        return false;
    }
    matcher->steps -= steps;
    return true;
}

/* Without those that are left out at the end. */
static uint32_t count_inputs(const struct node *node)
{
    uint32_t count = node->base.input_count;
    while (count > 0 && node->base.inputs[count - 1] == GRAPH_NONE)
        count--;
    return count;
}

static bool is_matched(const struct matcher *matcher, node_id node)
{
    for (uint32_t k = 0; k < matcher->dag->node_count; k++)
        if (matcher->nodes[k] == node)
            return true;
    return false;
}

static bool is_made_inside(const struct matcher *matcher, value_id value)
{
    const struct value *found = &matcher->graph->values[value];
    return found->kind == VALUE_COMPUTED && is_matched(matcher, found->producer);
}

/* ---- values ---- */

static bool is_number(const struct value *value, double number)
{
    if (!value->tensor.data || value->stands_for || tensor_elements(&value->tensor) != 1)
        return false;
    double found = tensor_get(&value->tensor, 0);
    double scale = fabs(number) > 1e-30 ? fabs(number) : 1e-30;
    return fabs(found - number) <= 1e-6 * scale;
}

/* Can the value of the graph be that one of the pattern? */
static bool value_fits(const struct matcher *matcher, const struct dag_value *wanted,
                       value_id value)
{
    const struct value *found = &matcher->graph->values[value];
    if (wanted->role == DAG_RESULT) /* its node comes later and is checked then */
        return found->kind == VALUE_COMPUTED;
    if (wanted->constant && found->kind != VALUE_CONSTANT)
        return false;
    return !wanted->exact || is_number(found, wanted->number);
}

/* value: GRAPH_NONE if it is left out. *fresh: it was not known before. */
static bool bind_value(struct matcher *matcher, uint32_t wanted, value_id value, bool *fresh)
{
    *fresh = !matcher->known[wanted];
    if (!*fresh)
        return matcher->values[wanted] == value;
    if (value != GRAPH_NONE && !value_fits(matcher, &matcher->dag->values[wanted], value))
        return false;
    matcher->known[wanted] = true;
    matcher->values[wanted] = value;
    return true;
}

static void release_value(struct matcher *matcher, uint32_t wanted)
{
    matcher->known[wanted] = false;
    matcher->values[wanted] = GRAPH_NONE;
}

static bool conditions_hold(const struct matcher *matcher, uint32_t after)
{
    const struct condition_scope scope = { matcher->graph, matcher->uses, matcher->values };
    for (uint32_t k = 0; k < matcher->dag->condition_count; k++) {
        const struct dag_condition *condition = &matcher->dag->conditions[k];
        if (condition->after == after && !condition_holds(condition->condition, &scope))
            return false;
    }
    return true;
}

/* ---- a match that has all its nodes ---- */

/* Is the input one that the pattern lists? */
static bool is_listed(const struct matcher *matcher, const struct dag_node *node, uint32_t input)
{
    for (uint32_t k = 0; k < node->operand_count; k++)
        if (matcher->places[node->first_place + k] == input)
            return true;
    return false;
}

/* Operands that are not listed: only where "..." allows them, and from outside. */
static bool rest_fits(struct matcher *matcher, uint32_t index)
{
    const struct dag_node *node = &matcher->dag->nodes[index];
    const struct node *found = &matcher->graph->nodes[matcher->nodes[index]];
    uint32_t count = 0;
    if (!spend(matcher, found->base.input_count))
        return false;
    for (uint32_t k = 0; k < found->base.input_count; k++) {
        value_id value = found->base.inputs[k];
        if (value == GRAPH_NONE || is_listed(matcher, node, k))
            continue;
        if (!node->rest || is_made_inside(matcher, value) ||
            (node->rest_constant && !graph_is_constant(matcher->graph, value)))
            return false;
        count++;
    }
    if (node->rest_value != DAG_NONE)
        matcher->values[node->rest_value] = count;
    return true;
}

static bool inputs_are_outside(const struct matcher *matcher)
{
    for (uint32_t v = 0; v < matcher->dag->value_count; v++)
        if (matcher->dag->values[v].role == DAG_INPUT && matcher->values[v] != GRAPH_NONE &&
            is_made_inside(matcher, matcher->values[v]))
            return false;
    return true;
}

static bool may_leave(const struct matcher *matcher, uint32_t index, uint32_t result)
{
    const struct dag_node *node = &matcher->dag->nodes[index];
    return result < node->result_count && node->results[result] != DAG_NONE &&
           matcher->dag->values[node->results[result]].output;
}

/* What is no output is used inside only. */
static bool results_stay(const struct matcher *matcher, uint32_t index)
{
    const collage_node *base = &matcher->graph->nodes[matcher->nodes[index]].base;
    const struct graph_uses *uses = matcher->uses;
    for (uint32_t k = 0; k < base->output_count; k++) {
        value_id value = base->outputs[k];
        if (value == GRAPH_NONE || may_leave(matcher, index, k))
            continue;
        if (graph_is_output(matcher->graph, value))
            return false;
        for (uint32_t u = uses->first[value]; u < uses->first[value + 1]; u++)
            if (!is_matched(matcher, uses->users[u]))
                return false;
    }
    return true;
}

static int compare_nodes(const void *left, const void *right)
{
    const node_id *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void complete(struct matcher *matcher)
{
    const struct dag *dag = matcher->dag;
    for (uint32_t n = 0; n < dag->node_count; n++)
        if (!rest_fits(matcher, n) || !results_stay(matcher, n))
            return;
    if (!inputs_are_outside(matcher) || !conditions_hold(matcher, dag->action_count))
        return;
    node_id nodes[DAG_NODES];
    memcpy(nodes, matcher->nodes, dag->node_count * sizeof nodes[0]);
    qsort(nodes, dag->node_count, sizeof nodes[0], compare_nodes);
    const struct region region = { .nodes = nodes, .node_count = dag->node_count };
    if (!spend(matcher, 1 + (nodes[dag->node_count - 1] - nodes[0]) / 16) ||
        !region_is_convex(matcher->graph, matcher->uses, &region))
        return;
    if (!matcher->found(matcher->user, nodes, dag->node_count))
        matcher->ended = true;
}

/* ---- actions ---- */

static void advance(struct matcher *matcher, uint32_t at);

/* Goes on with the graph's input `input` as the operand; out of range: left out. */
static void place_operand(struct matcher *matcher, uint32_t at, uint32_t input)
{
    const struct dag_action *action = &matcher->dag->actions[at];
    const struct dag_node *node = &matcher->dag->nodes[action->node];
    const struct dag_operand *operand = &node->operands[action->operand];
    const collage_node *base = &matcher->graph->nodes[matcher->nodes[action->node]].base;
    value_id value = input < base->input_count ? base->inputs[input] : GRAPH_NONE;
    bool fresh = false;
    if (!spend(matcher, 1))
        return;
    if (operand->value == DAG_NONE) {
        if (value != GRAPH_NONE)
            return;
    } else if ((value == GRAPH_NONE && !operand->optional) ||
               !bind_value(matcher, operand->value, value, &fresh)) {
        return;
    }
    matcher->places[node->first_place + action->operand] = input;
    if (conditions_hold(matcher, at))
        advance(matcher, at + 1);
    if (fresh)
        release_value(matcher, operand->value);
}

static void try_commuting(struct matcher *matcher, uint32_t at, uint32_t count)
{
    const struct dag_action *action = &matcher->dag->actions[at];
    const struct dag_operand *operand =
        &matcher->dag->nodes[action->node].operands[action->operand];
    uint64_t *taken = &matcher->taken[action->node];
    for (uint32_t k = 0; k < count && operand->value != DAG_NONE && !matcher->ended; k++) {
        uint64_t bit = UINT64_C(1) << k;
        if (*taken & bit)
            continue;
        *taken |= bit;
        place_operand(matcher, at, k);
        *taken &= ~bit;
    }
    if (operand->optional || operand->value == DAG_NONE)
        place_operand(matcher, at, UINT32_MAX);
}

static void try_operand(struct matcher *matcher, uint32_t at)
{
    const struct dag_action *action = &matcher->dag->actions[at];
    const struct dag_node *node = &matcher->dag->nodes[action->node];
    const struct node *found = &matcher->graph->nodes[matcher->nodes[action->node]];
    uint32_t count = count_inputs(found);
    const uint32_t *places = &matcher->places[node->first_place];
    if (dag_commutes(found->op)) {
        try_commuting(matcher, at, count);
    } else if (!node->rest_before) {
        place_operand(matcher, at, action->operand);
    } else if (action->operand > 0) {
        place_operand(matcher, at, places[action->operand - 1] + 1);
    } else {
        for (uint32_t k = 0; k < count && !matcher->ended; k++)
            place_operand(matcher, at, k);
    }
}

/* Binds the results in order; *bound has a bit for each that was not known before. */
static bool bind_results(struct matcher *matcher, const struct dag_node *node,
                         const collage_node *base, uint32_t *bound)
{
    *bound = 0;
    for (uint32_t k = 0; k < node->result_count; k++) {
        bool fresh;
        if (node->results[k] == DAG_NONE)
            continue;
        if (k >= base->output_count || base->outputs[k] == GRAPH_NONE ||
            !bind_value(matcher, node->results[k], base->outputs[k], &fresh))
            return false;
        *bound |= (uint32_t)fresh << k;
    }
    return true;
}

static void release_results(struct matcher *matcher, const struct dag_node *node, uint32_t bound)
{
    for (uint32_t k = 0; k < node->result_count; k++)
        if (bound >> k & 1)
            release_value(matcher, node->results[k]);
}

static void place_node(struct matcher *matcher, uint32_t at, node_id candidate)
{
    const struct dag_action *action = &matcher->dag->actions[at];
    const struct dag_node *node = &matcher->dag->nodes[action->node];
    const struct node *found = &matcher->graph->nodes[candidate];
    uint32_t bound, inputs = count_inputs(found);
    if (!spend(matcher, 1) || is_matched(matcher, candidate) ||
        !op_choices_take(node->choices, node->choice_count, found) ||
        (inputs > node->operand_count && !node->rest) ||
        (inputs > MAX_COMMUTING && dag_commutes(found->op)))
        return;
    if (bind_results(matcher, node, &found->base, &bound)) {
        matcher->nodes[action->node] = candidate;
        if (conditions_hold(matcher, at))
            advance(matcher, at + 1);
        matcher->nodes[action->node] = GRAPH_NONE;
    }
    release_results(matcher, node, bound);
}

static void try_users(struct matcher *matcher, uint32_t at, value_id value)
{
    const struct graph_uses *uses = matcher->uses;
    if (value == GRAPH_NONE)
        return;
    for (uint32_t u = uses->first[value]; u < uses->first[value + 1] && !matcher->ended; u++)
        if (u == uses->first[value] || uses->users[u] != uses->users[u - 1])
            place_node(matcher, at, uses->users[u]);
}

static void advance(struct matcher *matcher, uint32_t at)
{
    const struct dag_action *action = &matcher->dag->actions[at];
    if (at == matcher->dag->action_count) {
        complete(matcher);
        return;
    }
    switch (action->kind) {
    case DAG_PRODUCER: /* a value with the role of a result is computed by some node */
        place_node(matcher, at, matcher->graph->values[matcher->values[action->link]].producer);
        break;
    case DAG_USERS:
        try_users(matcher, at, matcher->values[action->link]);
        break;
    case DAG_OPERAND:
        try_operand(matcher, at);
        break;
    case DAG_START: /* the first, see dag_match */
        break;
    }
}

void dag_match(const struct dag *dag, const struct graph *graph, const struct graph_uses *uses,
               node_id start, dag_match_fn found, void *user, bool *cut_off)
{
    const struct dag_node *last = &dag->nodes[dag->node_count - 1];
    if (!op_choices_take(last->choices, last->choice_count, &graph->nodes[start]))
        return; /* most nodes: not worth the set-up below */
    struct matcher matcher = {
        .dag = dag, .graph = graph, .uses = uses, .found = found, .user = user, .steps = DAG_STEPS
    };
    for (uint32_t k = 0; k < DAG_NODES; k++)
        matcher.nodes[k] = GRAPH_NONE;
    for (uint32_t k = 0; k < DAG_VALUES; k++)
        matcher.values[k] = GRAPH_NONE;
    place_node(&matcher, 0, start);
    *cut_off = *cut_off || matcher.cut_off;
}
