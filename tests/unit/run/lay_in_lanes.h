/* SPDX-License-Identifier: Apache-2.0 */
/* lay_in_lanes.h: a plan's steps side by side, for the tests of run. */
#ifndef COLLAGE_TESTS_LAY_IN_LANES_H
#define COLLAGE_TESTS_LAY_IN_LANES_H

#include "base/hash.h"
#include "plan/lane_schedule.h"
#include "unit/run/fake.h"

/* The plan with lanes, as the optimizer makes it, for costs drawn at random. Takes the plan. */
static inline struct plan *lay_in_lanes(struct plan *plan, const struct graph *graph,
                                        uint64_t *seed, uint32_t *in_lanes)
{
    struct arena *arena = arena_create();
    double *costs = arena_array(arena, plan->step_count, sizeof *costs);
    struct lane_kernel *kernels = arena_array(arena, plan->step_count, sizeof *kernels);
    struct lane_schedule schedule;
    struct plan *laned = NULL;
    struct error error = { 0 };
    plan->threads = 2;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        costs[s] = step->kind == PLAN_JOIN ? 0 : 10000 + (double)(splitmix64(seed) >> 48);
        kernels[s] = (struct lane_kernel){ .variant = step->variant, .implementation = "" };
        if (step->backend == GRAPH_NONE)
            continue;
        kernels[s].backend = plan->backends[step->backend].name;
        kernels[s].version = plan->backends[step->backend].version;
        kernels[s].inplace_count = step->kind == PLAN_KERNEL && splitmix64(seed) >> 63;
    }
    const struct lane_costs lane_costs = { costs, costs, 100, 1000 };
    OK(lane_schedule_find(plan, 2, &lane_costs, arena, &schedule, &error));
    *in_lanes += schedule.in_lanes;
    for (uint32_t s = 0; s < plan->step_count; s++) /* only what shares now is allowed */
        if (plan->steps[s].output_count != 1 || plan->steps[s].input_count == 0 ||
            plan->tensors[plan->steps[s].outputs[0]].shares != plan->steps[s].inputs[0])
            kernels[s].inplace_count = 0;
    if (plan_with_lanes(plan, graph, 2, schedule.order, schedule.lane, kernels, &laned, &error) !=
        COLLAGE_OK)
        fail_msg("%s", error.text);
    plan_destroy(plan);
    arena_destroy(arena);
    return laned;
}

#endif
