/* SPDX-License-Identifier: Apache-2.0 */
/* subgraph.h: a region as the plugin ABI shows it (collage_subgraph), and its canonical hash. */
#ifndef COLLAGE_GRAPH_SUBGRAPH_H
#define COLLAGE_GRAPH_SUBGRAPH_H

#include "graph/region.h"

/* All memory from the arena; inputs and outputs in the region's order. Constants keep pointing into
 * the graph. */
collage_status subgraph_make(struct arena *arena, const struct graph *graph,
                             const struct region *region, const collage_subgraph **out,
                             struct error *error);

/* A single Identity node over one value of that shape: what a reorder between layouts is to a
 * backend. */
collage_status subgraph_make_identity(struct arena *arena, const struct tensor *shape,
                                      const collage_subgraph **out, struct error *error);

/* Operators, attributes, wiring, shapes, types, and which inputs are constants; contents only of
 * constants that are integers of more than 16 bits or have at most 64 elements, and of no scales.
 * No names: equal blocks of a network have equal hashes. */
struct hash subgraph_hash(const collage_subgraph *subgraph);

/* "Conv+Add+Relu": the operators in order, shortened with "..." after 6. */
void subgraph_describe(const collage_subgraph *subgraph, char *text, size_t size);

#endif
