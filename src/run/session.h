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
    double minimum_ns, median_ns;
};

/* Strict: a missing backend, another library version or another graph is COLLAGE_ERROR_MISMATCH. */
collage_status session_create(const struct graph *graph, const struct plan *plan,
                              struct registry *registry, struct session **out, struct error *error);
void session_destroy(struct session *session);

/* inputs, outputs: row-major host memory, in the model's order. */
collage_status session_run(struct session *session, const void *const *inputs, void *const *outputs,
                           struct error *error);

void session_set_profiling(struct session *session, bool on); /* starts anew */
/* Of plan->steps[index], over the last 256 profiled runs. */
struct session_profile session_step_profile(const struct session *session, uint32_t index);
void session_memory(const struct session *session, uint64_t *activation_bytes,
                    uint64_t *packed_weight_bytes);

#endif
