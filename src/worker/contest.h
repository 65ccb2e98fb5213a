/* SPDX-License-Identifier: Apache-2.0 */
/* contest.h: a contestant of a race, in its own process (race.c is the other side): a plan in a
 * session, or a library alone, with the model's example inputs and the outputs expected of it. */
#ifndef COLLAGE_WORKER_CONTEST_H
#define COLLAGE_WORKER_CONTEST_H

#include <jansson.h>

#include "backend/registry.h"
#include "reference/oracle.h"

struct contest;

/* Copies the oracle's inputs and outputs of the model: graph and oracle may go afterwards. */
collage_status contest_create(const struct graph *graph, const struct oracle *oracle,
                              struct contest **out, struct error *error);
void contest_destroy(struct contest *contest);

/* A plan, and where its code objects lie, if it has any. */
struct contest_source {
    const json_t *json;
    const char *folder;
    bool trust;
};

/* One of the two, once. The graph is borrowed. */
collage_status contest_load_plan(struct contest *contest, const struct graph *graph,
                                 struct registry *registry, const struct contest_source *source,
                                 struct error *error);
/* graph: as imported, not canonical: the library gets the model as the user wrote it. */
collage_status contest_load_library(struct contest *contest, const struct graph *graph,
                                    struct registry *registry, uint32_t backend,
                                    const collage_target *target, const char *model_path,
                                    struct error *error);

/* Runs once and compares. *worst: the error of the worst output. *run_ns: how long it took. */
collage_status contest_verify(struct contest *contest, double *worst, double *run_ns,
                              struct error *error);

/* Warms up (not for 0 seconds), then runs until both `seconds` and `runs` are reached. *median_ns:
 * of these runs. */
collage_status contest_round(struct contest *contest, double warm_seconds, double seconds,
                             size_t runs, double *median_ns, struct error *error);

/* Of a plan: runs it for `seconds`, at least once, with each step timed. *steps_ns: the sum of the
 * steps' costs over all profiles so far, found as costs of kernels are: of three stretches of time
 * the lowest, each the lower decile of the step's calls; with lanes, the time that such steps take
 * side by side. 0 for a library alone.
 * *each_ns: of each step; the contest's, until the next profile; NULL for a library alone. */
collage_status contest_profile(struct contest *contest, double seconds, double *steps_ns,
                               const double **each_ns, uint32_t *count, struct error *error);

#endif
