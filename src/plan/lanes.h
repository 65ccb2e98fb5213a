/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h: steps side by side. A plan with lanes says of each step which lane runs it, or that it
 * is wide: then all lanes come together for it, and it has all threads. Who waits for whom follows
 * from the tensors, and so does which memory may be used again; neither is in the plan file. Steps
 * only ever wait for steps before them in the plan: no plan can make lanes wait for each other in a
 * circle.
 */
#ifndef COLLAGE_PLAN_LANES_H
#define COLLAGE_PLAN_LANES_H

#include "plan/plan.h"

enum { PLAN_MOST_LANES = 16 };

/*
 * Which steps have ended when one begins. Tables have a row for each step and a column for each
 * lane; a number n stands for the steps of that lane whose index is below n. Without lanes there is
 * one column.
 */
struct plan_order {
    uint32_t lanes;  /* 1 or more */
    uint32_t *lane;  /* of each step: who runs it; wide ones are lane 0's */
    uint32_t *waits; /* what the step itself has to wait for, of other lanes; 0: nothing */
    uint32_t *ended;
    struct arena *arena;
};

/* Steps may be anything that the reader of plan files lets pass: what a step reads from a later one
 * is not waited for, plan_verify refuses it. */
collage_status plan_order_create(const struct plan *plan, struct plan_order *order,
                                 struct error *error);
void plan_order_free(struct plan_order *order);

/*
 * When each piece of memory is in use, by its root tensor, a row each, in the columns of the order:
 * the first of its steps finds `before` ended, and all have ended when `after` have. Both are
 * arrays of tensor_count * order->lanes numbers of the caller's. A piece that no step touches has
 * an `after` of 0 in all columns.
 */
void plan_order_lives(const struct plan *plan, const struct plan_order *order, uint32_t *before,
                      uint32_t *after);
/* May the second piece lie where the first one was? That it lives later is certain then. */
bool plan_order_is_over(const uint32_t *after_first, const uint32_t *before_second, uint32_t lanes);

/* How many threads a step of a lane has. */
int32_t plan_lane_threads(const struct plan *plan);

/* What a step runs in a lane: it reads and writes the same, in the same layouts. */
struct lane_kernel {
    const char *backend, *version; /* NULL for a copy */
    const char *variant, *implementation;
    const char *schedule; /* NULL: as the backend likes */
    double cost_ns;
    bool given;
    uint32_t inplace_count; /* as collage_kernel_info */
    uint32_t inplace[8];
};

/*
 * Another plan with these steps side by side; memory is planned anew. order: a permutation of the
 * steps that can be executed; lane: of each step of `plan`, below `lanes` or PLAN_WIDE; kernels: of
 * each step of `plan`, for those of a lane. Outputs lie in inputs only where no lane must wait for
 * that.
 */
collage_status plan_with_lanes(const struct plan *plan, const struct graph *graph, uint32_t lanes,
                               const uint32_t *order, const uint32_t *lane,
                               const struct lane_kernel *kernels, struct plan **out,
                               struct error *error);

#endif
