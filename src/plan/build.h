/* SPDX-License-Identifier: Apache-2.0 */
/* build.h: what the files of this folder share while they make a plan. */
#ifndef COLLAGE_PLAN_BUILD_H
#define COLLAGE_PLAN_BUILD_H

#include "plan/plan.h"

struct new_step {
    struct plan_step step;
    candidate_id candidate; /* KERNEL only, else GRAPH_NONE */
};

/* An empty plan in its own arena; NULL if out of memory. */
struct plan *plan_create(struct error *error);

/* Lets outputs of kernels lie in inputs that die there, where the kernels are faster so.
 * steps: those of the plan, with their candidates. */
collage_status plan_share_in_place(struct plan *plan, const struct candidate_set *set,
                                   const struct new_step *steps, struct error *error);

/* Numbers the tensors anew, so that those which share memory come after those whose it is; nothing
 * changes if they do. */
collage_status plan_order_tensors(struct plan *plan, struct error *error);

/* The path from the root, without "." and ".." (symbolic links are left alone); "" stays "". NULL
 * if out of memory. */
char *plan_absolute_path(struct arena *arena, const char *path);

#endif
