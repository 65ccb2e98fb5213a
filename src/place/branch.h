/* SPDX-License-Identifier: Apache-2.0 */
/*
 * branch.h: internal to place/: which options extend a state. Without switch costs the order of
 * independent options does not matter, so it is enough to branch over the options that touch a
 * small set of nodes, chosen so that one of them must come first (docs/placement.md has the proof).
 */
#ifndef COLLAGE_PLACE_BRANCH_H
#define COLLAGE_PLACE_BRANCH_H

#include "place/options.h"

struct brancher {
    const struct place_table *table;
    bool all_orders;     /* every ready option, not only those that must be considered */
    node_id *work;       /* the chosen set of nodes, in order of choice */
    uint32_t *work_mark; /* node by node: equal to `tick` if in work */
    uint32_t *option_mark;
    node_id *sources; /* nodes that need no value that is computed or given */
    uint32_t work_count, source_count, tick;
    uint32_t *ready; /* the result: options */
    uint32_t ready_count;
};

collage_status brancher_make(const struct place_table *table, struct arena *arena,
                             struct brancher *out, struct error *error);
/* Sets ready and ready_count for the state of that key (level.h). */
void brancher_find(struct brancher *brancher, const uint32_t *key);

#endif
