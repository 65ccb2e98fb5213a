/* SPDX-License-Identifier: Apache-2.0 */
/*
 * light_plan.h: a plan of a whole graph on one backend, without measuring. A graph-level backend
 * must take the graph as one kernel. On an op-level one it is placed, at costs that are made up so
 * that the same kernels are chosen on every machine: as few as possible, in the layouts that are
 * asked for, the reference where the backend has nothing. Every kernel that is chosen is checked by
 * itself; what the library cannot compile is struck out, and the rest is placed again.
 */
#ifndef CONFORM_LIGHT_PLAN_H
#define CONFORM_LIGHT_PLAN_H

#include "plan/plan.h"
#include "reference/oracle.h"

struct light_request {
    const struct graph *graph;
    const struct oracle *oracle;
    struct registry *registry; /* the backend and the reference are open */
    const collage_target *target;
    uint32_t backend;
    bool blocked;     /* layouts with blocks are wanted; else row-major ones */
    double tolerance; /* of a single kernel */
};

/* *struck: how many kernels and reorders the library could not compile. A wrong result is
 * COLLAGE_ERROR_WRONG_RESULT. */
collage_status light_plan(const struct light_request *request, struct plan **out, size_t *struck,
                          struct error *error);

#endif
