/* SPDX-License-Identifier: Apache-2.0 */
/*
 * singles.h: what kernels of one operator say of those of several: what a fused kernel would
 * replace, whether it can win, and from when on its time is known to be too long.
 */
#ifndef COLLAGE_OPTIMIZE_SINGLES_H
#define COLLAGE_OPTIMIZE_SINGLES_H

#include "pattern/candidate.h"

/* Made of the costs that are measured by then; owned by the caller: singles_free. */
struct singles {
    const struct candidate_set *set;
    double *least;       /* node by node: of its kernels, in ns; HUGE_VAL: none is measured */
    candidate_id *first; /* node by node, and candidate by candidate: the node's kernels, as lists,
                            also those that are not measured */
    candidate_id *next;
};

/* False: out of memory. */
bool singles_create(const struct candidate_set *set, struct singles *out);
void singles_free(struct singles *singles);

/* The sum of what the region's nodes take one by one, in ns; those not known count nothing. */
double singles_price(const struct singles *singles, const struct region *region);

/*
 * How promising it is to fuse with this variant of this backend: by how much it is, by itself,
 * behind the fastest kernel of the costliest of the operators. LAG_HOPELESS: so far that fusing
 * cannot make up for it; LAG_SOME also if it is not known. A variant that none of the operators has
 * by itself is made for them together: LAG_NONE.
 */
enum lag { LAG_NONE, LAG_SOME, LAG_MUCH, LAG_HOPELESS };
enum lag singles_lag(const struct singles *singles, const struct candidate *candidate);

/* The least that is known to do the candidate's work, in ns: kernels of just its nodes, or of each
 * of them. 0: not all of that is known. Needs no memory but the candidate's own. */
double singles_known_ns(const struct candidate_set *set, const struct candidate *candidate);

#endif
