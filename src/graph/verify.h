/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLAGE_GRAPH_VERIFY_H
#define COLLAGE_GRAPH_VERIFY_H

#include "graph/graph.h"

/* The invariants of a graph: ids in range, one producer a value, topological order, unique names,
 * arities, sizes, shapes equal to what inference gives anew. Run after every stage in debug builds
 * and tests. */
collage_status graph_verify(const struct graph *graph, struct error *error);

#endif
