/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall.h: what the cost store knows about a plan: what else could run its operators, with the
 * costs that are kept for the plan's machine, threads and library versions. Nothing is measured, no
 * library is opened. In: a plan and its graph. Out: the placement problem as it was, and what the
 * plan's steps are in it.
 */
#ifndef COLLAGE_OPTIMIZE_RECALL_H
#define COLLAGE_OPTIMIZE_RECALL_H

#include "optimize/optimizer.h"
#include "place/rivals.h"

/* All borrowed. */
struct recall_settings {
    const struct graph *graph;
    const struct plan *plan;
    const struct registry *registry;
    const char *cache_directory;
    struct pattern_file *const *pattern_files; /* what else is offered to the backends */
    size_t pattern_file_count;
    const struct given_costs *given; /* NULL: none */
    collage_log_fn log;
    void *user;
};

struct recall {
    struct recall_settings settings;
    struct optimizer optimizer;
    struct registry registry; /* the settings', with the versions that the costs are of */
    struct place_problem problem;
    candidate_id *steps;   /* step by step: its candidate; GRAPH_NONE: it is no kernel, or its
                              backend does not offer it (any more) */
    candidate_id *order;   /* the kernels, for `rivals` */
    uint32_t *order_steps; /* which steps these are */
    size_t order_count;
    struct rivals *rivals;               /* NULL: costs are missing that comparing would need */
    size_t measured, failed, unmeasured; /* candidates, views left out */
    size_t given;                        /* of the first two */
};

/*
 * Costs of backends that the plan does not use are those of the newest version that the store has
 * under the plan's conditions. A kernel whose cost the store does not know has the plan's; so has
 * one whose cost was given when the plan was made, unless it is given now.
 */
collage_status recall_open(const struct recall_settings *settings, struct recall *recall,
                           struct error *error);
/* Also after a failure. */
void recall_close(struct recall *recall);

/* Of a step, as rivals_find: one for each backend of the registry, none found if the step is no
 * kernel or nothing can be compared. */
collage_status recall_find_rivals(struct recall *recall, uint32_t step, struct rival *out,
                                  struct error *error);

#endif
