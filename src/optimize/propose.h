/* SPDX-License-Identifier: Apache-2.0 */
/*
 * propose.h: regions of graph-level libraries that a placement gives reason to try. What is
 * proposed beforehand follows a fixed scheme (pattern/regions.c); here what was measured speaks:
 * nodes that a library is hoped to run for less than is paid for them may be one region; a chosen
 * region may take a neighbour in, or do without the nodes in which the library is slow. Only what
 * could make the placement cheaper becomes a candidate.
 */
#ifndef COLLAGE_OPTIMIZE_PROPOSE_H
#define COLLAGE_OPTIMIZE_PROPOSE_H

#include "optimize/optimizer.h"

struct proposals {
    size_t made;      /* new regions, now candidates without a cost */
    size_t dismissed; /* not even the optimist's estimate is below what is paid now */
};

/* Adds candidates to the optimizer's set, for its enabled backends. The placement's candidates have
 * costs. */
collage_status propose_regions(struct optimizer *optimizer, const struct placement *placement,
                               struct proposals *out, struct error *error);

#endif
