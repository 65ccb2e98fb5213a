/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_graph.h: one table of small sub-graphs (*.def), each a line of text. The
 * conformance tests run it on every backend and hold the results against the reference; `collage
 * bench-ops` times it. A case becomes a graph with example contents and with the reference's result
 * for every value.
 *
 *     x: 1x3x5x5              an input; "x: int64 3x4" of another type, "x: bool" a scalar
 *     w = 8x3x3x3             a constant of example contents (of a type: "w = int64 8")
 *     v = +8                  the same, all positive, or true ("x: +2x3" for an input)
 *     u = *0.1 8x3            the same, a tenth of it
 *     s = (0.5)  a = [1,-1]   a float32 scalar (or vector), an int64 vector
 *     i = <1>                 an int64 scalar
 *     y = Conv(x, w, , b) pads=[1,1,1,1] group=2 alpha=0.5 auto_pad=SAME_UPPER
 *     y, , z = LSTM(x, w, r)  several outputs, one of them left out
 *
 * Statements end with ';'. The last node's outputs are the graph's; a last statement of names alone
 * names more of them: "...; z = Relu(y); y". An attribute is a float if it
 * has a point, an integer if it is digits, else a string; 'in quotes' it is a string with any
 * signs. Bodies are in braces, in the text form of graphs (docs/graph-text.md).
 */
#ifndef COLLAGE_CASES_CASE_GRAPH_H
#define COLLAGE_CASES_CASE_GRAPH_H

#include "graph/region.h"

struct operator_case {
    const char *name, *text;
    bool large; /* a layer of a real network: to be timed, not tested */
};

extern const struct operator_case operator_cases[];
extern const size_t operator_case_count;

const struct operator_case *operator_case_find(const char *name); /* NULL if there is none */

/* A case with the contents of all its values: tensors[v] for each value of the graph. */
struct case_graph {
    struct graph *graph;
    struct tensor *tensors; /* in the graph's arena */
    struct graph_uses uses;
};

/* The graph with the contents of its inputs and constants; computed values have no data. */
collage_status case_graph_parse(const struct operator_case *row, struct case_graph *out,
                                struct error *error);
/* The same, and the reference's result for each computed value. */
collage_status case_graph_create(const struct operator_case *row, struct case_graph *out,
                                 struct error *error);
void case_graph_destroy(struct case_graph *made);

/* The sub-graph of nodes [first, first + count), in the graph's arena. */
collage_status case_graph_subgraph(const struct case_graph *made, node_id first, uint32_t count,
                                   struct region *region, const collage_subgraph **out,
                                   struct error *error);

#endif
