/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roofline.h: what each step of a plan has to do, and the least time in which the machine could.
 * In: a plan, and the machine's peaks on as many threads as its steps run on. Out: figures step by
 * step, with which a time (predicted, or measured in a run) is compared.
 */
#ifndef COLLAGE_PLAN_ROOFLINE_H
#define COLLAGE_PLAN_ROOFLINE_H

#include "graph/work.h"
#include "measure/peaks.h"
#include "plan/plan.h"

struct roofline {
    bool known;            /* are the peaks? */
    struct peaks peaks;    /* on all the plan's threads */
    struct workload *work; /* step by step; a join has nothing to do */
    double *bound_ns;      /* step by step; 0: not known, or nothing is to be done */
    uint32_t step_count;
};

/* wide: on the plan's threads; lane: on those of one lane, of no meaning if the plan has no lanes;
 * NULL both: not known. Arrays belong to the arena. COLLAGE_ERROR_MEMORY only, of a plan that
 * verifies. */
collage_status plan_roofline(const struct plan *plan, const struct graph *graph,
                             const struct peaks *wide, const struct peaks *lane,
                             struct arena *arena, struct roofline *out, struct error *error);

#endif
