/* SPDX-License-Identifier: Apache-2.0 */
/* region.h: sets of nodes of a graph: their border, convexity, and the cut values between which the
 * graph is a chain. */
#ifndef COLLAGE_GRAPH_REGION_H
#define COLLAGE_GRAPH_REGION_H

#include "graph/graph.h"

/* A set of nodes, ascending ids, and its border. Arrays belong to the arena handed in. */
struct region {
    node_id *nodes;
    uint32_t node_count;
    value_id *inputs; /* not constant, produced outside, in order of first use */
    uint32_t input_count;
    value_id *outputs; /* used outside or model outputs, in order of production */
    uint32_t output_count;
    /* Those of the nodes that are computed for use inside only, ascending: whoever else needs their
     * results makes them again. To what they read, they are outside as well: it is an output. */
    node_id *copies;
    uint32_t copy_count;
    node_id *own; /* all others: the ones that it covers */
    uint32_t own_count;
};

/* Is the node among these, which ascend? */
bool node_list_has(const node_id *nodes, uint32_t count, node_id node);

static inline bool region_has(const struct region *region, node_id node)
{
    return node_list_has(region->nodes, region->node_count, node);
}

/* Does it run the node for all who need its results? */
static inline bool region_covers(const struct region *region, node_id node)
{
    return node_list_has(region->own, region->own_count, node);
}

/* Does some node of the region use a result of that one? */
bool region_uses(const struct region *region, const struct graph *graph,
                 const struct graph_uses *uses, node_id node);
/* nodes: ascending. COLLAGE_ERROR_MEMORY only. */
collage_status region_make(struct arena *arena, const struct graph *graph,
                           const struct graph_uses *uses, const node_id *nodes, uint32_t count,
                           struct region *out, struct error *error);
/* As region_make; copies: ascending, among the nodes. */
collage_status region_make_copying(struct arena *arena, const struct graph *graph,
                                   const struct graph_uses *uses, const node_id *nodes,
                                   uint32_t count, const node_id *copies, uint32_t copy_count,
                                   struct region *out, struct error *error);
/* The region of these nodes that gives exactly these values out: nodes whose results are used
 * elsewhere but are not among them are copies. */
collage_status region_make_giving(struct arena *arena, const struct graph *graph,
                                  const struct graph_uses *uses, const node_id *nodes,
                                  uint32_t count, const value_id *outputs, uint32_t output_count,
                                  struct region *out, struct error *error);

/* No path leaves the set, by a node that it covers, and enters it again: by its nodes and copies,
 * the rest need not be there. (Out of memory, only possible where the set spans more than 4,000
 * nodes, is answered with false: the set is not used then.) */
bool region_is_convex(const struct graph *graph, const struct graph_uses *uses,
                      const struct region *region);

/* Positions p (ascending; 0 and node_count included) such that exactly one non-constant value is
 * alive between node p-1 and node p: cuts[k] .. cuts[k+1] are the segments of the chain. Node order
 * is a property of the graph, so segments are ranges of ids. Alive: some node at or after p uses it
 * (a model output does not stay alive for being one). */
collage_status region_cuts(struct arena *arena, const struct graph *graph,
                           const struct graph_uses *uses, uint32_t **cuts, uint32_t *count,
                           struct error *error);

#endif
