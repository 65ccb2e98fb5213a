/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h: what the passes share that recognise an operator where exporters have spelt it out. A
 * match grows from its last node towards the inputs; every node taken is noted, so that in the end
 * match_is_closed can say whether anything else needs a value from inside.
 *
 * Products are compared as lists of factors and one number (match_product), so that the order in
 * which an exporter multiplied, and whether it divided by 2 or multiplied by 0.5, does not matter.
 */
#ifndef COLLAGE_CANON_MATCH_H
#define COLLAGE_CANON_MATCH_H

#include "graph/graph.h"

enum { MATCH_NODES = 24, MATCH_FACTORS = 4 };

struct matcher {
    struct graph *graph;
    struct graph_uses uses;     /* as before the pass: stale entries only make it more careful */
    size_t node_count;          /* before the pass: nodes that it adds come behind */
    node_id nodes[MATCH_NODES]; /* taken by the match that is being tried */
    uint32_t count;
};

/* A product of values and one number. */
struct product {
    double number;
    value_id values[MATCH_FACTORS];
    uint32_t count;
};

collage_status match_begin(struct matcher *matcher, struct graph *graph, struct error *error);
/* Frees; compacts the graph if the pass changed it. */
collage_status match_end(struct matcher *matcher, collage_status status, bool changed,
                         struct error *error);

/* Starts a match at a node; NULL if it was removed or is of another operator. */
const collage_node *match_start(struct matcher *matcher, node_id last, const char *op);
/* The node that makes a value, if it is one of that operator; it is taken then. */
const collage_node *match_producer(struct matcher *matcher, value_id value, const char *op);
/* The only user of a value, if it is one of that operator and the value is no model output. Not
 * taken. */
node_id match_only_user(const struct matcher *matcher, value_id value, const char *op);
/* No value made inside, but for the outputs of `last`, is used outside or is a model output. */
bool match_is_closed(const struct matcher *matcher, node_id last);

/* A constant of one element. */
bool match_number(const struct graph *graph, value_id value, double *number);
/* Such a constant, equal to `wanted` up to the rounding of a float32. */
bool match_is_number(const struct graph *graph, value_id value, double wanted);
bool match_is_close(double number, double wanted);

/* The factors of the value that the matched node makes, or that only one node uses: Mul, Div by a
 * number and powers of 2 and 3 are taken apart and the nodes taken. False if there are too many. */
bool match_product(struct matcher *matcher, value_id value, struct product *out);
/* The product is that number times these values, in any order. */
bool match_is_product(const struct product *product, double number, const value_id *values,
                      uint32_t count);
/* For 1 + v (an Add with the number 1): v; else GRAPH_NONE. */
value_id match_one_plus(struct matcher *matcher, value_id value);
value_id match_other_operand(const collage_node *node, value_id one);

/* Puts a node of operator `op` in the place of `last`: it gets its name and its first output. */
collage_status match_replace(struct matcher *matcher, node_id last, const char *op,
                             const value_id *inputs, uint32_t input_count,
                             const collage_attribute *attributes, uint32_t attribute_count,
                             struct error *error);
/* float32, and both of one shape. */
bool match_same_float32(const struct graph *graph, value_id a, value_id b);

#endif
