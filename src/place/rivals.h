/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rivals.h: what the choices of a placement are worth. For a chosen candidate and each backend: the
 * cheapest way to run the same nodes on that backend while all else stays as it is, and how much
 * more the whole costs then. In: a problem with costs, and a placement. Out: numbers for people;
 * nothing is placed by them.
 */
#ifndef COLLAGE_PLACE_RIVALS_H
#define COLLAGE_PLACE_RIVALS_H

#include "place/place.h"

struct rival {
    bool found;      /* the nodes can be run so; all else is 0 if not */
    bool proven;     /* no way on that backend is cheaper, switches left aside */
    double extra_ns; /* what the whole costs more: kernels, conversions, steps and switches; below
                        0: it would cost less */
    const candidate_id *chosen; /* instead, in order of execution, without views; they live as long
                                   as the `rivals` */
    size_t count;
};

struct rivals;

/*
 * order: the placement's candidates that are no views, in the order of execution; all other nodes
 * are views. Both are borrowed. COLLAGE_ERROR_UNSUPPORTED if this is no placement at the problem's
 * costs (a conversion without a cost, for one).
 */
collage_status rivals_create(const struct place_problem *problem, const candidate_id *order,
                             size_t count, struct rivals **out, struct error *error);
void rivals_destroy(struct rivals *rivals);

/*
 * Of the candidate order[at]: one for each backend of the registry. On its own backend: another
 * way than the chosen one. Where a backend lacks an operator, the reference fills the hole if its
 * cost is known.
 */
collage_status rivals_find(struct rivals *rivals, size_t at, struct rival *out,
                           struct error *error);

#endif
