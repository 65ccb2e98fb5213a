/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dag.h: patterns of any shape, as pattern files have them: nodes and values that refer to each
 * other, what must hold of them, and the order in which a match is looked for. An optional step
 * makes two patterns, one with it and one without: a pattern has several forms, each a struct dag.
 * dag_parse.c makes them from text, dag_plan.c finds the order, dag_match.c matches.
 */
#ifndef COLLAGE_PATTERN_DAG_H
#define COLLAGE_PATTERN_DAG_H

#include "pattern/attribute_test.h"
#include "pattern/condition.h"

enum {
    DAG_NODES = 32,    /* of a form */
    DAG_VALUES = 160,  /* of a form, those without a name included */
    DAG_OPERANDS = 96, /* of all nodes of a form */
    DAG_RESULTS = 16,  /* of a node */
    DAG_CONDITIONS = 32,
    DAG_OPTIONAL_STEPS = 4,
    DAG_STEPS = 20000, /* tries of the matcher, for each node of the graph that it starts from */
};
#define DAG_NONE UINT32_MAX

enum dag_role {
    DAG_INPUT,  /* comes from outside of the match */
    DAG_RESULT, /* of one of its nodes */
    DAG_REST    /* "xs...": the operands of a node that are not listed */
};

struct dag_value {
    const char *name; /* "" if it has none */
    enum dag_role role;
    uint32_t node, result; /* RESULT: whose, and the how-manieth; REST: whose */
    bool constant;         /* INPUT: it must be one */
    bool exact;            /* INPUT: a constant of one element, which is `number` */
    double number;
    bool output; /* RESULT: may be used outside */
};

struct dag_operand {
    uint32_t value; /* DAG_NONE: must be left out */
    bool optional;  /* may be left out */
};

struct dag_node {
    const struct op_choice *choices;
    uint32_t choice_count;
    const struct dag_operand *operands;
    uint32_t operand_count;
    uint32_t first_place; /* of its operands among those of all nodes */
    bool rest;            /* "...": further operands, from outside, constants if rest_constant */
    bool rest_before;     /* "..." on the left: the operands stand anywhere, side by side */
    bool rest_constant;
    uint32_t rest_value;     /* DAG_NONE if it has no name */
    const uint32_t *results; /* values, DAG_NONE: one without a name */
    uint32_t result_count;
};

/* A step of looking for a match: a node of the graph for one of the pattern, or a value for one of
 * its operands. */
struct dag_action {
    enum { DAG_START, DAG_PRODUCER, DAG_USERS, DAG_OPERAND } kind;
    uint32_t node;
    uint32_t operand; /* OPERAND: which */
    uint32_t link;    /* PRODUCER: of this value; USERS: of this one */
};

struct dag_condition {
    const struct condition *condition;
    uint32_t after; /* the action that finds the last of its values; action_count: at the end */
};

struct dag {
    const struct dag_value *values;
    const struct dag_node *nodes;
    const struct dag_action *actions;
    const struct dag_condition *conditions;
    uint32_t value_count, node_count, action_count, condition_count;
};

/* "{" ... "}": all forms of a pattern, at most 16; the arena is the scanner's. False after an
 * error. */
bool dag_parse(struct scanner *scanner, const struct dag **forms, uint32_t *form_count);

/* dag_parse.c to dag_plan.c: fills actions and conditions[].after. False if the nodes are not
 * connected (*connected) or memory ran out. */
bool dag_plan(struct arena *arena, struct dag *dag, struct dag_condition *conditions,
              bool *connected);

/* Called for each match: its nodes, ascending; false stops. A set may come more than once, if its
 * nodes fit in several ways. */
typedef bool (*dag_match_fn)(void *user, const node_id *nodes, uint32_t count);

/* All matches whose last pattern node is `start`, until DAG_STEPS are used up: then *cut_off is
 * set (it is never cleared). They are convex; see docs/patterns.md for what holds of them. */
void dag_match(const struct dag *dag, const struct graph *graph, const struct graph_uses *uses,
               node_id start, dag_match_fn found, void *user, bool *cut_off);

/* Whether the operands of the operator may be in any order. */
bool dag_commutes(const struct op *op);

#endif
