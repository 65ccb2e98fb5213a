/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h: rules of pattern files: which operators a backend takes, and which of them it may run
 * together with one that uses their result. From a rule and a graph come all connected convex sets
 * of such nodes, up to a number of nodes; or, of a rule for whole sets, for each node the largest
 * one that nothing but this node's result leaves.
 */
#ifndef COLLAGE_PATTERN_RULE_H
#define COLLAGE_PATTERN_RULE_H

#include "pattern/attribute_test.h"

enum {
    RULE_NODES = 16,         /* most of a set */
    RULE_WHOLE_NODES = 64,   /* of a whole one */
    RULE_SETS = 2000,        /* of a rule in a graph, the smallest first */
    RULE_STEPS = 2000,       /* tries for each node and number of nodes */
    RULE_ALL_STEPS = 1000000 /* tries in all */
};

struct rule_pair {
    const struct op_choice *producers, *consumers;
    uint32_t producer_count, consumer_count;
};

struct rule {
    const struct op_choice *operators;
    const struct rule_pair *pairs;
    uint32_t operator_count, pair_count;
    uint32_t nodes;   /* at most so many in a set */
    uint32_t outputs; /* at most so many values leave a set; 0: any number */
    uint32_t whole;   /* at most so many nodes in a whole set, instead of all connected ones; 0 */
};

/* "{" ... "}"; the arena is the scanner's. False after an error. */
bool rule_parse(struct scanner *scanner, struct rule *out);

/* Each set once, nodes ascending; false stops. */
typedef bool (*rule_set_fn)(void *user, const node_id *nodes, uint32_t count);

/* *cut_off is set if a limit was reached (it is never cleared). COLLAGE_ERROR_MEMORY only. */
collage_status rule_grow(const struct rule *rule, const struct graph *graph,
                         const struct graph_uses *uses, rule_set_fn found, void *user,
                         bool *cut_off, struct error *error);

#endif
