/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_schedule.h: which steps of a plan should run side by side. Each step may run wide, on all
 * threads, or in a lane, on its share of them, at a cost that is known for both; going from one
 * lane to another costs something, too. What comes out is an order and a lane for each step, and
 * how long the whole should take. Finding the best is hard (it is scheduling of malleable tasks
 * with precedence): here a list scheduler places steps, the one that can begin first before all
 * others, and a local search tries which of them should be wide.
 */
#ifndef COLLAGE_PLAN_LANE_SCHEDULE_H
#define COLLAGE_PLAN_LANE_SCHEDULE_H

#include "plan/lanes.h"

struct lane_costs {
    /* Of each step, in ns: with all threads, and with those of a lane; HUGE_VAL: it cannot. */
    const double *wide_ns, *lane_ns;
    double hand_over_ns; /* from a lane to another that is looking out for it */
    double wake_ns;      /* to one that sleeps, as lanes do while a wide step runs */
};

struct lane_schedule {
    uint32_t *order; /* steps of the plan: a permutation that can be executed */
    uint32_t *lane;  /* of each step of the plan; PLAN_WIDE */
    double ns;
    uint32_t in_lanes; /* steps */
};

/* Of `lanes` lanes, 2 to PLAN_MOST_LANES. Deterministic. Memory from the arena. */
collage_status lane_schedule_find(const struct plan *plan, uint32_t lanes,
                                  const struct lane_costs *costs, struct arena *arena,
                                  struct lane_schedule *out, struct error *error);

/* How long a plan takes if its steps take so long: their sum, unless it has lanes. */
collage_status lane_schedule_time(const struct plan *plan, const double *step_ns, double *ns,
                                  struct error *error);

#endif
