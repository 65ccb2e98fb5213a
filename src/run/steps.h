/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h: a session's insides, shared by the files that make, run and profile it. */
#ifndef COLLAGE_RUN_STEPS_H
#define COLLAGE_RUN_STEPS_H

#include "run/lanes.h"
#include "run/session.h"

/* A step ready to run. */
struct run_step {
    const collage_backend_api *api; /* NULL: a copy */
    collage_kernel *kernel;
    const void **inputs; /* slices of the session's pointer tables */
    void **outputs;
    uint64_t copy_bytes;
    const char *label; /* "step 3 (Conv+Relu 'conv1' on onednn)" */
    struct lane_wait *waits;
    uint32_t wait_count;
    bool posts; /* somebody waits for it */
};

/* An entry of the pointer tables that each run sets to memory of the caller's. */
struct input_patch {
    const void **entry;
    uint32_t port;
    bool from_output; /* an output of the model that is read again */
};

struct output_patch {
    void **entry;
    uint32_t port;
};

enum { PROFILE_RUNS = 256 };

struct session {
    struct arena *arena;
    struct run_step *steps;
    uint32_t step_count;
    struct input_patch *input_patches;
    struct output_patch *output_patches;
    uint32_t input_patch_count, output_patch_count;
    char *activations; /* aligned to 64 bytes */
    uint64_t activation_bytes, weight_bytes;
    struct lane *lanes; /* 1: the thread that calls session_run does all */
    uint32_t lane_count;
    struct lane_signal runs; /* how many have begun for the lanes' threads */
    uint32_t begin;          /* steps of lane 0 before which that need not be */
    atomic_bool failed, stop;
    /* Clock readings before and after each step, a row a run, the last PROFILE_RUNS of them; NULL:
     * off. stamp: the row of this run. */
    uint64_t *stamps, *stamp;
    uint64_t profiled_runs;
};

/* A kernel's failure, told with the step's label. */
collage_status step_failed(const struct run_step *step, collage_status status,
                           collage_message *message, struct error *error);

/* Compiles a kernel or reorder of the plan; adds to its lane's scratch and the session's weight
 * bytes. */
struct compile_context {
    const struct graph *graph;
    const struct plan *plan;
    struct graph_uses uses;
    struct registry *registry;
    const uint32_t *entries;            /* registry index of each of the plan's backends */
    collage_target target, lane_target; /* of wide steps, and of those of a lane */
};

collage_status compile_step(const struct compile_context *context, struct session *session,
                            uint32_t index, struct error *error);

#endif
