/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition.h: the conditions of patterns ("where dim(x, 1) % 16 == 0"): 64-bit arithmetic over
 * properties of matched values. What cannot be computed (a dimension that is not there, a division
 * by zero, an overflow, a value that is left out) makes the whole condition not hold; "&&" and "||"
 * do not look at their right side where the left one decides.
 */
#ifndef COLLAGE_PATTERN_CONDITION_H
#define COLLAGE_PATTERN_CONDITION_H

#include "graph/graph.h"
#include "pattern/scanner.h"

struct condition; /* an expression; belongs to the scanner's arena */

/* The names that a condition may use: the number of the value, or a negative one if there is none.
 */
struct condition_names {
    int32_t (*find)(const void *user, const char *name);
    bool (*is_rest)(const void *user, uint32_t value); /* a list of operands: for count() only */
    const void *user;
};

bool condition_parse(struct scanner *scanner, const struct condition_names *names,
                     const struct condition **out);

/* Calls visit for each value that it reads. */
void condition_visit(const struct condition *condition, void (*visit)(void *user, uint32_t value),
                     void *user);

/* values: by the numbers that `find` gave: a value of the graph, or GRAPH_NONE if it is left out;
 * of a list of operands: their number. */
struct condition_scope {
    const struct graph *graph;
    const struct graph_uses *uses;
    const value_id *values;
};
bool condition_holds(const struct condition *condition, const struct condition_scope *scope);

#endif
