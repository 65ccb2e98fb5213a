/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h: the lanes of a session: one is the thread that calls session_run, each other one has a
 * thread of its own, made with the session and asleep between runs. A lane runs its steps in order;
 * before a step it waits for those of other lanes that the plan's order (plan/lanes.h) names. Who
 * waits spins for some microseconds, unless it waits for a wide step, whose threads need the cores;
 * then it sleeps.
 */
#ifndef COLLAGE_RUN_LANES_H
#define COLLAGE_RUN_LANES_H

#include <pthread.h>
#include <stdatomic.h>

#include "plan/lanes.h"

struct session;

/* A number that only rises (and wraps around), and those who wait for it. */
struct lane_signal {
    _Alignas(64) _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
};

/* Waits for step `count` of a lane, counted from 1 in its own order. */
struct lane_wait {
    uint32_t lane, count;
    bool asleep; /* without spinning */
};

struct lane {
    struct lane_signal done; /* steps that have ended, in all runs; only those that somebody waits
                                for are posted */
    struct session *session;
    uint32_t *steps; /* of the session, ascending */
    uint32_t step_count;
    char *scratch; /* aligned to 64 bytes */
    uint64_t scratch_bytes;
    pthread_t thread;
    bool has_thread;
    collage_status status; /* of the last run, with the step and the message of its failure */
    uint32_t failed_step;
    collage_message message;
};

/* Divides the steps among session->lanes, which are there but empty; says who waits for whom. */
collage_status lanes_assign(struct session *session, const struct plan *plan, struct error *error);
/* When all memory is there: starts the threads. */
collage_status lanes_start(struct session *session, struct error *error);
/* Ends the threads that were started; none may be running steps. */
void lanes_stop(struct session *session);
/* One run of all steps; pointers are set. */
collage_status lanes_run(struct session *session, struct error *error);

/* Measures, in a fifth of a second, what it takes on this machine until another lane goes on: one
 * that spins, and how much longer one that sleeps. */
collage_status lanes_measure(double *hand_over_ns, double *wake_ns, struct error *error);

#endif
