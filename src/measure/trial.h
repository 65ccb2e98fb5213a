/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.h: one sub-graph compiled by one backend in this process, with tensors of its own around
 * it: it can be run, and what it writes can be checked against the reference. Whatever a backend
 * may do wrong within its own process short of crashing is found here: wrong numbers, writes beyond
 * a buffer, writes to its inputs, padding that is not zero, in-place pairs that are not safe.
 *
 * Failures are told apart by status: COLLAGE_ERROR_MEMORY is ours; everything else is the
 * backend's.
 */
#ifndef COLLAGE_MEASURE_TRIAL_H
#define COLLAGE_MEASURE_TRIAL_H

#include "backend/registry.h"
#include "base/memory.h"

struct trial_spec {
    struct registry *registry;
    uint32_t backend;
    const collage_target *target;
    const collage_subgraph *subgraph;
    const char *variant;
    const char *schedule;                                 /* NULL: the backend's own choice */
    const collage_layout *input_layouts, *output_layouts; /* as the sub-graph's */
    const struct tensor *inputs, *expected;               /* row-major, as the sub-graph's */
    const double *slack; /* of each output (reference/slack.h); NULL: none */
    double tolerance;    /* for what is beyond it */
    /* Of each output: how far each element may be off (reference/bound.h), or NULL; NULL: of none.
     */
    const float *const *bounds;
    struct arena *arena; /* for small things; outlives the trial */
};

struct trial;

/* Opens the library if need be, compiles, allocates, fills the inputs. The spec is borrowed. */
collage_status trial_create(const struct trial_spec *spec, struct trial **out, struct error *error);
void trial_destroy(struct trial *trial);

const collage_kernel_info *trial_info(const struct trial *trial);
/* Bytes of weights that a run reads: packed ones, or the sub-graph's constants. */
uint64_t trial_weight_bytes(const struct trial *trial);

/*
 * Runs once out of place and once for each in-place pair, checking all there is to check.
 * *worst: the error of the worst output; *first_ns: the time of the first run.
 * COLLAGE_ERROR_WRONG_RESULT if anything is wrong with what was written, COLLAGE_ERROR_UNSUPPORTED
 * if it is right, but beyond a bound.
 */
collage_status trial_check(struct trial *trial, double *worst, double *first_ns,
                           struct error *error);

/* From now on outputs lie in inputs where the kernel allows it. */
collage_status trial_share(struct trial *trial, struct error *error);
bool trial_is_shared(const struct trial *trial);
/* Fills shared inputs again; without them, does nothing. */
void trial_refresh(struct trial *trial);

/* Brings the inputs into the caches, as their producer would have left them. */
void trial_read_inputs(const struct trial *trial);

/* Compiles a second kernel with weights of its own (constants are copied), so that one can be run
 * while the other's weights are cold. */
collage_status trial_compile_twin(struct trial *trial, struct error *error);

enum trial_kernel { TRIAL_FIRST, TRIAL_TWIN };
collage_status trial_run(struct trial *trial, enum trial_kernel which, struct error *error);

/* Have the zones around the buffers been written to? */
collage_status trial_check_guards(const struct trial *trial, struct error *error);

#endif
