/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h: processes that measure. The optimiser never calls a library itself: it sends jobs to
 * worker processes over a socket (one JSON object a line, docs/worker-protocol.md), with time
 * limits. A worker that crashes or hangs is killed and the job fails with that reason; the next job
 * gets a new worker. The oracle travels as a shared memory descriptor.
 */
#ifndef COLLAGE_WORKER_WORKER_H
#define COLLAGE_WORKER_WORKER_H

#include "measure/sample.h"
#include "plan/plan.h"
#include "worker/peer.h"

/* What every worker is started with. Strings and pointers are borrowed: they outlive the worker. */
struct worker_setup {
    const char *program; /* collage-worker */
    const char *plugin_directories;
    const char *model_path; /* NULL: no model (to ask for versions only) */
    const char *case_name;  /* instead of a model: a row of cases/cases.def; NULL: none */
    const collage_shape *shapes;
    size_t shape_count;
    int32_t threads;
    const struct graph *graph;   /* to check that the worker imports the same graph (hash) */
    const struct oracle *oracle; /* NULL: none */
    const char
        *cache_directory; /* for code that kernels need (backend/code.h); NULL: none is made */
    bool trust;           /* code objects of plans: as plan/object.h */
    double job_seconds; /* for compiling and checking one candidate, or opening one library, before
                           it counts as hung; 0: 20 */
    collage_log_fn log;
    void *log_user;
};

struct worker;

/* Starts lazily: the process is spawned at the first job. */
collage_status worker_create(const struct worker_setup *setup, struct worker **out,
                             struct error *error);
void worker_destroy(struct worker *worker); /* kills it */

/* Opens each backend in the worker: versions and problems go into the registry. A backend that
 * crashes gets that as its problem. */
collage_status worker_describe_backends(struct worker *worker, struct registry *registry,
                                        struct error *error);

/* Crash, hang and wrong result come back as a COST_FAILED cost; errors are ours (cannot spawn,
 * ...). */
collage_status worker_measure(struct worker *worker, struct candidate_set *set, candidate_id id,
                              const struct sample_conditions *conditions, struct arena *arena,
                              struct cost *cost, struct error *error);
collage_status worker_measure_transition(struct worker *worker, struct candidate_set *set,
                                         uint32_t backend, value_id value,
                                         const collage_layout *from, const collage_layout *to,
                                         const struct sample_conditions *conditions,
                                         struct arena *arena, struct cost *cost,
                                         struct error *error);
/* Extra time, in nanoseconds, that kernel b takes right after kernel a of another backend, compared
 * with after itself. If a library fails at it, that is logged and the answer is 0. */
collage_status worker_measure_switch(struct worker *worker, struct candidate_set *set,
                                     candidate_id a, candidate_id b, double *extra_ns,
                                     struct error *error);

/* Which code the plan's kernels need: its objects, in the folder of the cache where they lie. */
collage_status worker_find_code(struct worker *worker, struct plan *plan, struct error *error);

/* A contestant of a race runs in a process of its own: a plan, a library alone with its own
 * defaults, or a peer. */
struct contestant {
    const struct plan *plan; /* NULL: standalone, or a peer */
    const struct peer *peer; /* NULL: none; borrowed */
    uint32_t backend;        /* standalone: which */
    bool rests; /* takes no part in further rounds; set while the race runs, by race_more_fn */
    /* Results. failure: "" or why it is out of the race. samples: one a round, memory_alloc'ed;
     * fewer if it rested. */
    char failure[512];
    char about[200]; /* of a peer: what it says it is */
    double *samples;
    size_t sample_count;
    uint64_t peak_bytes;
    double steps_ns; /* of a plan, if profiled: what its steps cost inside the network */
    double *step_ns; /* of each of these steps, if rules say so; memory_alloc'ed; NULL: not known */
    double worst_error; /* of its outputs against the oracle; a contestant beyond
                           TENSOR_PLAN_TOLERANCE is out */
    double again; /* by optimize/heats.c: its time over that of the best session in new processes,
                     the worst of some races; 0: was not asked */
};

typedef bool (*race_progress_fn)(void *user, size_t round, size_t rounds);

/* Asked after each round once there are ten: is another one wanted? spent: by all rounds so far. */
typedef bool (*race_more_fn)(void *user, double spent_seconds);

struct race_rules {
    double seconds;            /* that the rounds should take; for progress, and without `more` */
    race_progress_fn progress; /* may be NULL */
    race_more_fn more;         /* NULL: until `seconds` are over */
    bool profile;              /* time the steps of plans, too, in each round */
    bool each_step;            /* and tell what each takes: the contestants' step_ns */
    void *user;
};

/* Starts all, verifies each against the oracle, then rounds in rotating order: each runs alone (the
 * others stopped with SIGSTOP), one warm-up and then enough runs for a sample. At least 10 rounds,
 * at most 300. */
collage_status race_run(const struct worker_setup *setup, struct registry *registry,
                        struct contestant *contestants, size_t count,
                        const struct race_rules *rules, struct error *error);

/* The main of collage-worker: serves jobs on descriptor 3 until it closes. */
int worker_serve(int argc, char **argv);

#endif
