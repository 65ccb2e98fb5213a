/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which a match is looked for: from the last node on, to nodes that make or use what
 * is known by then. Makers come first: a value has one, but may have many users.
 */
#include "pattern/dag.h"

struct planner {
    const struct dag *dag;
    struct dag_action *actions;
    uint32_t count;
    bool done[DAG_NODES];
    uint32_t found_by[DAG_VALUES]; /* the action that makes it known; DAG_NONE: not yet */
};

static void know(struct planner *planner, uint32_t value)
{
    if (value != DAG_NONE && planner->found_by[value] == DAG_NONE)
        planner->found_by[value] = planner->count - 1;
}

static void add_node(struct planner *planner, const struct dag_action *action)
{
    const struct dag_node *node = &planner->dag->nodes[action->node];
    planner->done[action->node] = true;
    planner->actions[planner->count++] = *action;
    for (uint32_t k = 0; k < node->result_count; k++)
        know(planner, node->results[k]);
    for (uint32_t k = 0; k < node->operand_count; k++) {
        planner->actions[planner->count++] =
            (struct dag_action){ .kind = DAG_OPERAND, .node = action->node, .operand = k };
        know(planner, node->operands[k].value);
    }
}

static bool is_known(const struct planner *planner, uint32_t value)
{
    return value != DAG_NONE && planner->found_by[value] != DAG_NONE;
}

/* How good a link is: 0 none, 4 a result of the node that is known. */
static int rate(const struct planner *planner, uint32_t node, struct dag_action *action)
{
    const struct dag_node *candidate = &planner->dag->nodes[node];
    int best = 0;
    for (uint32_t k = 0; k < candidate->result_count; k++)
        if (is_known(planner, candidate->results[k])) {
            *action = (struct dag_action){ .kind = DAG_PRODUCER,
                                           .node = node,
                                           .link = candidate->results[k] };
            return 4;
        }
    for (uint32_t k = 0; k < candidate->operand_count; k++) {
        const struct dag_operand *operand = &candidate->operands[k];
        if (!is_known(planner, operand->value) || operand->optional)
            continue;
        const struct dag_value *value = &planner->dag->values[operand->value];
        int rating = value->role == DAG_RESULT ? 3 : value->constant ? 1 : 2;
        if (rating > best) {
            best = rating;
            *action =
                (struct dag_action){ .kind = DAG_USERS, .node = node, .link = operand->value };
        }
    }
    return best;
}

/* False if no other node is connected to those that are done. */
static bool add_best(struct planner *planner)
{
    struct dag_action best = { .kind = DAG_START };
    int best_rating = 0;
    for (uint32_t n = 0; n < planner->dag->node_count; n++) {
        struct dag_action action = { .kind = DAG_START };
        int rating = planner->done[n] ? 0 : rate(planner, n, &action);
        if (rating > best_rating) {
            best_rating = rating;
            best = action;
        }
    }
    if (best_rating > 0)
        add_node(planner, &best);
    return best_rating > 0;
}

/* ---- when a condition can be tested ---- */

struct latest {
    const struct planner *planner;
    uint32_t after;
};

static void take_later(void *user, uint32_t value)
{
    struct latest *latest = user;
    const struct planner *planner = latest->planner;
    /* How many operands there are besides is known at the end only. */
    uint32_t after =
        planner->dag->values[value].role == DAG_REST ? planner->count : planner->found_by[value];
    /* DAG_NONE: it belongs to an optional step that this form lacks. */
    if (after != DAG_NONE && after > latest->after)
        latest->after = after;
}

bool dag_plan(struct arena *arena, struct dag *dag, struct dag_condition *conditions,
              bool *connected)
{
    uint32_t operands = 0;
    for (uint32_t n = 0; n < dag->node_count; n++)
        operands += dag->nodes[n].operand_count;
    struct planner planner = { .dag = dag,
                               .actions = arena_array(arena, dag->node_count + operands,
                                                      sizeof *planner.actions) };
    *connected = true;
    if (!planner.actions)
        return false;
    for (uint32_t v = 0; v < DAG_VALUES; v++)
        planner.found_by[v] = DAG_NONE;
    const struct dag_action start = { .kind = DAG_START, .node = dag->node_count - 1 };
    add_node(&planner, &start);
    for (uint32_t n = 1; n < dag->node_count && *connected; n++)
        *connected = add_best(&planner);
    if (!*connected)
        return false;
    dag->actions = planner.actions;
    dag->action_count = planner.count;
    for (uint32_t k = 0; k < dag->condition_count; k++) {
        struct latest latest = { &planner, 0 };
        condition_visit(conditions[k].condition, take_later, &latest);
        conditions[k].after = latest.after;
    }
    dag->conditions = conditions;
    return true;
}
