/* SPDX-License-Identifier: Apache-2.0 */
/* attribute_hash.h: how attributes enter the hashes of graphs and sub-graphs: sorted by name, so
 * that the order in a file means nothing. */
#ifndef COLLAGE_GRAPH_ATTRIBUTE_HASH_H
#define COLLAGE_GRAPH_ATTRIBUTE_HASH_H

#include "graph/graph.h"

/* False if out of memory. */
bool attribute_hash_all(struct hash_state *state, const collage_node *node);
/* Equal attributes, in whatever order. Names are unique in each node. */
bool attribute_all_equal(const collage_node *a, const collage_node *b);

#endif
