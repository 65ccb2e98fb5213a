/* SPDX-License-Identifier: Apache-2.0 */
/* handles.h: what the opaque types of collage.h hold. */
#ifndef COLLAGE_API_HANDLES_H
#define COLLAGE_API_HANDLES_H

#include "backend/registered.h"
#include "base/text.h"
#include "pipeline.h"
#include "plan/roofline.h"
#include "run/session.h"

/* A user's function that gives costs. */
struct cost_function {
    const char *name, *target;
    char *block; /* the memory of the two */
    collage_cost_fn function;
    void *user;
};

struct collage_context {
    struct error error;
    struct registry *registry;
    struct registry **retired; /* what sessions and strings may still refer to */
    size_t retired_count, retired_capacity;
    struct registered registered;
    struct cost_function *functions; /* the last one is asked first */
    size_t function_count, function_capacity;
    struct device_facts device;
    bool device_known;
    char *registry_file;  /* "": none */
    char *plugin_folders; /* as given */
    char *plugins;        /* the list that workers get: what is registered, and the folders */
    char *listed;         /* the last problem that collage_registered_describe gave */
    char *cache_directory, *worker_program, *solver_program, *peer_directories;
    collage_log_fn log;
    collage_progress_fn progress;
    void *user;
    atomic_bool enough; /* collage_context_finish was called */
    bool trust;         /* code objects of any owner */
    bool described;     /* the libraries have been asked for their versions */
};

struct collage_model {
    struct graph *graph;
    char *path; /* absolute */
    struct arena *arena;
    collage_shape *shapes;
    size_t shape_count;
};

struct collage_plan {
    struct plan *plan;
};

struct collage_session {
    struct session *session;
    struct error error;
    const struct graph *graph;
    const struct plan *plan;
    const void **inputs;
    void **outputs;
    char (*step_ops)[160];
    struct plan_codes codes;
    struct arena *arena; /* of the roofline */
    struct roofline roofline;
};

/* Begins an API call: forgets the last failure. */
struct error *context_begin(collage_context *context);

collage_status model_wrap(struct graph *graph, const char *path, const collage_shape *shapes,
                          size_t shape_count, collage_model **out, struct error *error);

/* Settings of a search with the context's paths, callbacks and registry. */
struct optimizer_settings settings_of(collage_context *context, const collage_model *model);

/* Before a plan runs in other processes: would its code be handed out here? */
collage_status check_codes(const collage_context *context, const struct plan *plan,
                           struct error *error);

/* Gives a report to its reader, whole. */
collage_status hand_over(const struct text *text, collage_write_fn write, void *user,
                         struct error *error);

/* The tensor of ours that a DLTensor shows, checked against what the model wants. `what`: "input"
 * or "output". */
collage_status dltensor_check(const DLTensor *tensor, const struct value *wanted, const char *what,
                              void **data, struct error *error);

#endif
