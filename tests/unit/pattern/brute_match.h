/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brute_match.h: the meaning of a pattern, written down as plainly as possible: every choice of
 * nodes, every choice of inputs as operands, and then each claim of docs/patterns.md by itself. For
 * graphs of a few nodes. Conditions are not looked at; sets are bit masks of nodes.
 */
#ifndef COLLAGE_TESTS_PATTERN_BRUTE_MATCH_H
#define COLLAGE_TESTS_PATTERN_BRUTE_MATCH_H

#include "unit/pattern/fixture.h"

#include "pattern/pattern_file.h"

enum { BRUTE_NODES = 12, BRUTE_SETS = 1 << BRUTE_NODES };

struct brute {
    const struct dag *dag;
    const struct graph *graph;
    bool found[BRUTE_SETS];
    node_id nodes[DAG_NODES];
    uint32_t places[DAG_OPERANDS]; /* UINT32_MAX: left out */
};

static inline bool brute_reads(const struct graph *graph, node_id node, node_id maker)
{
    const collage_node *base = &graph->nodes[node].base;
    for (uint32_t k = 0; k < base->input_count; k++)
        if (base->inputs[k] != GRAPH_NONE && graph->values[base->inputs[k]].producer == maker)
            return true;
    return false;
}

/* No node outside that depends on the set and that the set depends on. */
static inline bool brute_is_convex(const struct graph *graph, uint32_t set)
{
    uint32_t after = 0, before = 0;
    for (node_id n = 0; n < graph->node_count; n++)
        for (node_id m = 0; m < n; m++)
            if (((set | after) >> m & 1) && brute_reads(graph, n, m))
                after |= 1u << n;
    for (node_id n = (node_id)graph->node_count; n-- > 0;)
        for (node_id m = n + 1; m < graph->node_count; m++)
            if (((set | before) >> m & 1) && brute_reads(graph, m, n))
                before |= 1u << n;
    return (after & before & ~set) == 0;
}

static inline bool brute_is_inside(const struct graph *graph, uint32_t set, value_id value)
{
    return graph->values[value].kind == VALUE_COMPUTED &&
           (set >> graph->values[value].producer & 1);
}

static inline bool brute_leaves(const struct graph *graph, uint32_t set, value_id value)
{
    for (node_id n = 0; n < graph->node_count; n++)
        for (uint32_t k = 0; k < graph->nodes[n].base.input_count; k++)
            if (graph->nodes[n].base.inputs[k] == value && !(set >> n & 1))
                return true;
    return graph_is_output(graph, value);
}

/* One value for each of the pattern's, as the first nodes say; false if two places want different
 * ones. */
static inline bool brute_values(const struct brute *brute, uint32_t node_count, value_id *values)
{
    bool known[DAG_VALUES] = { false };
    for (uint32_t n = 0; n < node_count; n++) {
        const struct dag_node *node = &brute->dag->nodes[n];
        const collage_node *base = &brute->graph->nodes[brute->nodes[n]].base;
        for (uint32_t k = 0; k < node->operand_count + node->result_count; k++) {
            bool result = k >= node->operand_count;
            uint32_t r = result ? k - node->operand_count : 0;
            uint32_t place = result ? r : brute->places[node->first_place + k];
            uint32_t wanted = result ? node->results[r] : node->operands[k].value;
            uint32_t count = result ? base->output_count : base->input_count;
            const uint32_t *from = result ? base->outputs : base->inputs;
            value_id value = place < count ? from[place] : GRAPH_NONE;
            if (wanted == DAG_NONE) {
                if (!result && value != GRAPH_NONE)
                    return false;
                continue;
            }
            if (value == GRAPH_NONE && (result || !node->operands[k].optional))
                return false;
            if (known[wanted] && values[wanted] != value)
                return false;
            known[wanted] = true;
            values[wanted] = value;
        }
    }
    return true;
}

/* Operands stand in order, or anywhere, or side by side; no input is two operands. */
static inline bool brute_places_fit(const struct brute *brute, const struct dag_node *node,
                                    const struct node *found)
{
    const uint32_t *places = &brute->places[node->first_place];
    bool commutes = dag_commutes(found->op);
    for (uint32_t k = 0; k < node->operand_count; k++) {
        for (uint32_t j = 0; j < k; j++)
            if (places[j] == places[k] && places[k] != UINT32_MAX)
                return false;
        if (commutes)
            continue;
        if (node->rest_before ? k > 0 && places[k] != places[k - 1] + 1
                              : places[k] != UINT32_MAX && places[k] != k)
            return false;
        /* Left out is what the graph leaves out. */
        if (!node->rest_before && places[k] == UINT32_MAX && k < found->base.input_count &&
            found->base.inputs[k] != GRAPH_NONE)
            return false;
    }
    return true;
}

static inline bool brute_rest_fits(const struct brute *brute, const struct dag_node *node,
                                   const struct node *found, uint32_t set)
{
    for (uint32_t i = 0; i < found->base.input_count; i++) {
        bool listed = false;
        for (uint32_t k = 0; k < node->operand_count; k++)
            listed = listed || brute->places[node->first_place + k] == i;
        value_id value = found->base.inputs[i];
        if (listed || value == GRAPH_NONE)
            continue;
        if (!node->rest || brute_is_inside(brute->graph, set, value) ||
            (node->rest_constant && !graph_is_constant(brute->graph, value)))
            return false;
    }
    return true;
}

static inline void brute_check(struct brute *brute)
{
    const struct dag *dag = brute->dag;
    value_id values[DAG_VALUES];
    bool output[BRUTE_NODES] = { false }; /* of nodes with one result */
    uint32_t set = 0;
    for (uint32_t v = 0; v < DAG_VALUES; v++)
        values[v] = GRAPH_NONE;
    for (uint32_t n = 0; n < dag->node_count; n++)
        set |= 1u << brute->nodes[n];
    if (!brute_values(brute, dag->node_count, values) || !brute_is_convex(brute->graph, set))
        return;
    for (uint32_t v = 0; v < dag->value_count; v++) {
        const struct dag_value *value = &dag->values[v];
        if (value->role == DAG_RESULT && value->output)
            output[brute->nodes[value->node]] = true;
        if (value->role != DAG_INPUT || values[v] == GRAPH_NONE)
            continue;
        if (brute_is_inside(brute->graph, set, values[v]) ||
            (value->constant && !graph_is_constant(brute->graph, values[v])))
            return;
    }
    for (uint32_t n = 0; n < dag->node_count; n++) {
        const struct node *found = &brute->graph->nodes[brute->nodes[n]];
        if (!brute_places_fit(brute, &dag->nodes[n], found) ||
            !brute_rest_fits(brute, &dag->nodes[n], found, set))
            return;
        if (!output[brute->nodes[n]] && brute_leaves(brute->graph, set, found->base.outputs[0]))
            return;
    }
    brute->found[set] = true;
}

/* Every input, or none, as operand k of node n. */
static inline void brute_operands(struct brute *brute, uint32_t n, uint32_t k)
{
    if (n == brute->dag->node_count) {
        brute_check(brute);
        return;
    }
    const struct dag_node *node = &brute->dag->nodes[n];
    if (k == node->operand_count) { /* what is wrong now stays wrong: or this takes for ever */
        value_id values[DAG_VALUES] = { 0 };
        const struct node *found = &brute->graph->nodes[brute->nodes[n]];
        if (brute_places_fit(brute, node, found) && brute_values(brute, n + 1, values))
            brute_operands(brute, n + 1, 0);
        return;
    }
    uint32_t *place = &brute->places[node->first_place + k];
    for (uint32_t i = 0; i < brute->graph->nodes[brute->nodes[n]].base.input_count; i++) {
        *place = i;
        brute_operands(brute, n, k + 1);
    }
    *place = UINT32_MAX;
    brute_operands(brute, n, k + 1);
}

/* Every node of the graph that is not taken yet as node n. */
static inline void brute_match(struct brute *brute, uint32_t n)
{
    if (n == brute->dag->node_count) {
        brute_operands(brute, 0, 0);
        return;
    }
    const struct dag_node *node = &brute->dag->nodes[n];
    for (node_id candidate = 0; candidate < brute->graph->node_count; candidate++) {
        bool taken = false;
        for (uint32_t k = 0; k < n; k++)
            taken = taken || brute->nodes[k] == candidate;
        if (taken ||
            !op_choices_take(node->choices, node->choice_count, &brute->graph->nodes[candidate]))
            continue;
        brute->nodes[n] = candidate;
        brute_match(brute, n + 1);
    }
}

#endif
