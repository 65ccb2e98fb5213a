/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidate_cost.h: internal to optimize/: where the cost of one candidate comes from: the user,
 * the tuning log's schedule, the store, or a measurement, which the store then keeps. Which
 * candidates are measured, and when, is measure_candidates.c's and tune.c's to say; what these and
 * others share is in optimizer.h (optimizer_find_cost and its neighbours).
 */
#ifndef COLLAGE_OPTIMIZE_CANDIDATE_COST_H
#define COLLAGE_OPTIMIZE_CANDIDATE_COST_H

#include "optimize/optimizer.h"

/* What is known: found out before, given (which is taken for what it is), or stored, with the
 * schedule of the tuning log if it has one that has not failed. Else COST_UNKNOWN, with the
 * schedule to measure with. */
collage_status candidate_cost_known(struct optimizer *optimizer, candidate_id id, struct cost *cost,
                                    struct error *error);

/* Measures with cost->schedule, and if that fails, as the backend likes; keeps what came out.
 * quick: a first look (sample.h). */
collage_status candidate_cost_measure(struct optimizer *optimizer, candidate_id id, bool quick,
                                      struct cost *cost, struct error *error);

#endif
