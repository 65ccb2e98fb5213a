/* SPDX-License-Identifier: Apache-2.0 */
/* search.h: internal to optimize/: what the searches by single operators share. */
#ifndef COLLAGE_OPTIMIZE_SEARCH_H
#define COLLAGE_OPTIMIZE_SEARCH_H

#include "optimize/optimizer.h"

/*
 * homes: candidate by candidate of the placement the graph-level backend that it is to run on, or
 * FUSE_ALONE (place/fuse.h). Neighbours with one home become one region of it, which takes their
 * place. What holds nothing but views and shapes, and what the backend does not take as one, stays
 * as it is; if `measure`, also that whose kernel fails. The cost of the placement is known only if
 * all of its candidates have one.
 */
collage_status search_join(struct optimizer *optimizer, uint32_t *homes, bool measure,
                           struct placement *placement, struct error *error);

/* Gives the candidate a cost if it has none, from the store or measured, whatever the time. */
collage_status search_measure(struct optimizer *optimizer, candidate_id id, struct error *error);

/* Is the candidate a pinned group? Those stay as they are. */
bool search_is_pinned(const struct optimizer *optimizer, candidate_id id);

/* The second level: moves groups of the placement to a graph-level backend, as long as that makes
 * the whole faster. */
collage_status search_second_level(struct optimizer *optimizer, struct placement *placement,
                                   struct error *error);

#endif
