/* SPDX-License-Identifier: Apache-2.0 */
/* body.h: the bodies of If and Loop, made from nodes of a graph, and as a graph of their own. */
#ifndef COLLAGE_GRAPH_BODY_H
#define COLLAGE_GRAPH_BODY_H

#include "graph/graph.h"

/* The nodes (in topological order) as a body, the arena's. `inputs`: all that they take from
 * elsewhere, constants too, each once; `outputs`: what they make, or inputs. */
struct body_parts {
    const node_id *nodes;
    const value_id *inputs, *outputs;
    uint32_t node_count, input_count, output_count;
};
collage_status body_make(struct arena *arena, const struct graph *graph,
                         const struct body_parts *parts, const collage_subgraph **out,
                         struct error *error);

/* The body as a graph, whose inputs and outputs are the body's; names are copied. NULL if out of
 * memory. */
struct graph *body_graph(const collage_subgraph *body);

#endif
