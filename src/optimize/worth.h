/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worth.h: which candidates are worth a measurement. Regions of graph-level libraries overlap, and
 * each costs many runs of what it holds; but most cannot win: where a library was much slower than
 * the best known cover of a large region, it is rarely the fastest in a part of it, and what
 * takes no time cannot be made faster.
 */
#ifndef COLLAGE_OPTIMIZE_WORTH_H
#define COLLAGE_OPTIMIZE_WORTH_H

#include "optimize/optimizer.h"

struct worth {
    size_t node_count;
    double *prices; /* node by node: what the best placement so far pays for it */
    double total;   /* of the prices; 0: there is no placement yet */
    /* [backend * node_count + node]: cost of the smallest measured region around the node on that
     * backend, over the price of the same nodes; and that region's size. Size 0: none yet. */
    double *ratios;
    uint32_t *sizes;
};

/* What is known now: places with the costs so far. Owned by the caller: worth_free. */
collage_status worth_create(struct optimizer *optimizer, struct worth *worth, struct error *error);
void worth_free(struct worth *worth);

bool worth_measuring(const struct worth *worth, const struct candidate *candidate);

/* The price of a placement's nodes: each candidate's cost, spread evenly. */
void worth_price(const struct candidate_set *set, const struct placement *placement,
                 double *prices);

#endif
