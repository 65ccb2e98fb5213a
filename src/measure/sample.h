/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.h: times one kernel in this process the way it will run inside the network: its weights as
 * cold, its inputs as warm, its library's threads as awake. Called in worker processes (worker/);
 * checks the result against the reference first.
 */
#ifndef COLLAGE_MEASURE_SAMPLE_H
#define COLLAGE_MEASURE_SAMPLE_H

#include "pattern/candidate.h"
#include "reference/bound.h"
#include "reference/oracle.h"

struct sample_conditions {
    uint64_t working_set_bytes; /* what the rest of the network touches between two runs */
    uint64_t level_2_bytes, last_level_bytes; /* caches of the machine; 0: what the system says */
    double limit_seconds;                     /* for timing, after compiling */
    double tolerance;                         /* relative to the largest value of each output */
    double known_ns;       /* of the fastest known way to do the same; 0: none is known */
    bool quick;            /* a first look: a third of the limit, and 3 samples are enough */
    bool strict;           /* each element within the bound of direct summation, too */
    struct bounds *bounds; /* strict: of the oracle; who samples makes them */
    const char *schedule;  /* of a candidate: to compile it with; NULL: the backend's own choice */
};

/*
 * Compiles the candidate, runs it on the oracle's tensors, checks all that it writes (trial.h),
 * then samples until the 95 % confidence interval of the median is within 2 % of it, or the limit
 * is reached (at least 5 samples, 3 of a long kernel or at a first look, unless 30 limits have
 * passed), at most 200. Where the fastest of 3 samples takes 1.5 times what is known, they are
 * enough; a kernel of which one run takes more than 20 limits, or more than 1 ms and three times
 * what is known, is not sampled: its cost is that run. A failure of the library or a wrong result
 * is not an error: the cost is COST_FAILED with a reason (strings in `arena`); its `error` is then
 * above 0 if it was what the kernel wrote that was wrong. A schedule that the backend does not list
 * is such a failure, too. Errors are ours: out of memory.
 */
collage_status sample_candidate(struct candidate_set *set, candidate_id id,
                                const struct oracle *oracle,
                                const struct sample_conditions *conditions, struct arena *arena,
                                struct cost *cost, struct error *error);

/* The same for a transition: value in layout `from` to layout `to` on a backend that takes
 * Identity. */
collage_status sample_transition(struct candidate_set *set, uint32_t backend, value_id value,
                                 const collage_layout *from, const collage_layout *to,
                                 const struct oracle *oracle,
                                 const struct sample_conditions *conditions, struct arena *arena,
                                 struct cost *cost, struct error *error);

/*
 * Extra time, in nanoseconds and at least 0, that two runs of kernel b take right after a stretch
 * of kernel a of another backend, long enough for b's threads to fall asleep, compared with after a
 * stretch of b: median of the differences of interleaved pairs. Fails if one of the two does.
 */
collage_status sample_switch(struct candidate_set *set, candidate_id a, candidate_id b,
                             const struct oracle *oracle, double *extra_ns, struct error *error);

#endif
