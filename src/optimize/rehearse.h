/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearse.h: internal to optimize/: what kernels take inside the network. A kernel is measured
 * alone, in conditions like those of the network; where that was wrong, the plan's own steps tell.
 */
#ifndef COLLAGE_OPTIMIZE_REHEARSE_H
#define COLLAGE_OPTIMIZE_REHEARSE_H

#include "optimize/optimizer.h"

/*
 * Runs the plan of a placement for a moment, with its steps timed. A kernel whose step took another
 * time than its cost has the time of the step as its cost from then on, in this run and in later
 * ones. *news: some cost has changed. *steps_ns: what the steps take together; HUGE_VAL if that
 * could not be found out: the plan fails, the machine is too unsteady, or there is no time. A plan
 * that was rehearsed before is not run again; *steps_ns is then what was found.
 */
collage_status rehearse(struct optimizer *optimizer, const struct plan *plan,
                        const struct placement *placement, bool *news, double *steps_ns,
                        struct error *error);

/* Turns the cost of a kernel alone into that inside the network, if a rehearsal found one: it was
 * measured, and not given. */
collage_status rehearsed_cost(struct optimizer *optimizer, candidate_id id, struct cost *cost,
                              struct error *error);

#endif
