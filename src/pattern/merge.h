/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h: larger regions out of a placement: neighbours on one graph-level backend, as one region,
 * so that they can be measured and the placement solved again. */
#ifndef COLLAGE_PATTERN_MERGE_H
#define COLLAGE_PATTERN_MERGE_H

#include "pattern/candidate.h"

/*
 * chosen: the candidates of a placement, in order of execution. Adds, for each graph-level backend:
 * each pair of candidates of which one uses a value of the other (directly or through chosen
 * views), and each maximal group of such candidates, where the union with the views in between is
 * convex. Sets *added to the number of new candidates.
 */
collage_status candidate_set_merge(struct candidate_set *set, const candidate_id *chosen,
                                   size_t count, size_t *added, struct error *error);

#endif
