/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_graph.h: the conformance cases: small sub-graphs as one line of text (cases.def), made into
 * graphs with example contents and with the reference's result for every value.
 *
 *     x: 1x3x5x5              an input
 *     w = 8x3x3x3             a constant of example contents
 *     v = +8                  the same, all positive ("x: +2x3" for an input)
 *     s = (0.5)  a = [1,-1]   a float32 scalar (or vector), an int64 vector
 *     y = Conv(x, w, , b) pads=[1,1,1,1] group=2 alpha=0.5 auto_pad=SAME_UPPER
 *
 * Statements end with ';'. The last node's first output is the graph's. An attribute is a float if
 * it has a point, an integer if it is digits, else a string.
 */
#ifndef CONFORM_CASE_GRAPH_H
#define CONFORM_CASE_GRAPH_H

#include "graph/region.h"

struct conform_case {
    const char *name, *text;
};

extern const struct conform_case conform_cases[];
extern const size_t conform_case_count;

/* A case with the contents of all its values: tensors[v] for each value of the graph. */
struct case_graph {
    struct graph *graph;
    struct tensor *tensors; /* in the graph's arena */
    struct graph_uses uses;
};

collage_status case_graph_create(const struct conform_case *conform, struct case_graph *out,
                                 struct error *error);
void case_graph_destroy(struct case_graph *made);

/* The sub-graph of nodes [first, first + count), in the graph's arena. */
collage_status case_graph_subgraph(const struct case_graph *made, node_id first, uint32_t count,
                                   struct region *region, const collage_subgraph **out,
                                   struct error *error);

#endif
