/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: runs a plan. Everything is compiled, packed and allocated when the session is made; a
 * run sets the pointers of the caller's tensors and calls the kernels in order: no allocation, no
 * lock, no system call of ours.
 */
#ifndef COLLAGE_RUN_SESSION_H
#define COLLAGE_RUN_SESSION_H

#include "plan/plan.h"

struct session;

struct session_profile {
    double minimum_ns, decile_ns, median_ns; /* decile: a tenth of the runs were faster */
};

/*
 * Strict: a missing backend, another library version or another graph is COLLAGE_ERROR_MISMATCH.
 * The plan is one that plan_build or plan_from_json gave for this graph; it is not needed
 * afterwards, the graph and the registry are. Sessions of one registry are made by one thread at a
 * time; once made, they share nothing, and each may run in a thread of its own.
 */
collage_status session_create(const struct graph *graph, const struct plan *plan,
                              struct registry *registry, struct session **out, struct error *error);
/* The same; kernels get the code that the plan brought along, and no other. `codes` as
 * plan_codes_load gave it; not needed afterwards. */
collage_status session_create_with(const struct graph *graph, const struct plan *plan,
                                   const struct plan_codes *codes, struct registry *registry,
                                   struct session **out, struct error *error);
void session_destroy(struct session *session);

/* inputs, outputs: row-major host memory, in the model's order, none overlapping an output. Outputs
 * are written and read while the plan runs; after a failure their contents are undefined. */
collage_status session_run(struct session *session, const void *const *inputs, void *const *outputs,
                           struct error *error);

/* Starts anew; memory for the last 256 runs is allocated here. */
collage_status session_set_profiling(struct session *session, bool on, struct error *error);
/* Of plan->steps[index], over the last 256 profiled runs. */
struct session_profile session_step_profile(const struct session *session, uint32_t index);
void session_memory(const struct session *session, uint64_t *activation_bytes,
                    uint64_t *packed_weight_bytes);

#endif
