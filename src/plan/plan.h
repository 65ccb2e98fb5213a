/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: a placement made executable: steps in order, tensors with their layouts and memory, every
 * choice pinned. A plan is data: it is saved as JSON and holds nothing that is executed. It refers
 * to a graph by hash.
 */
#ifndef COLLAGE_PLAN_PLAN_H
#define COLLAGE_PLAN_PLAN_H

#include <jansson.h>

#include "place/place.h"
#include "plan/object.h"

enum plan_step_kind {
    PLAN_KERNEL,  /* a candidate */
    PLAN_REORDER, /* Identity from one layout to another */
    PLAN_COPY, /* plain bytes: a model output that is also a view, an input, a constant or another
                  output; a part that could not be made in its place */
    PLAN_JOIN  /* a Concat whose inputs lie where its output wants them: nothing is done */
};

/* A value in one layout. */
struct plan_tensor {
    value_id value;
    collage_layout layout;
    uint32_t shares; /* index of the tensor whose memory it is, or a part of it (views, in-place
                        outputs; parts, graph/parts.h), or GRAPH_NONE */
    enum plan_place { PLAN_ARENA, PLAN_INPUT, PLAN_OUTPUT, PLAN_CONSTANT } place;
    uint32_t port;          /* PLAN_INPUT, PLAN_OUTPUT: which of the model's */
    uint64_t bytes, offset; /* offset in the activation arena: PLAN_ARENA */
};

#define PLAN_WIDE UINT32_MAX /* no lane: all threads */

struct plan_step {
    enum plan_step_kind kind;
    uint32_t backend; /* index into plan->backends; GRAPH_NONE for a copy */
    node_id *nodes;   /* KERNEL; ascending */
    uint32_t node_count;
    const char *variant;
    uint32_t *inputs, *outputs; /* indices into tensors */
    uint32_t input_count, output_count;
    double cost_ns; /* predicted; 0 if not measured */
    bool given;     /* by the user, not measured: the evidence says so */
    const char *pattern, *implementation;
    const char *schedule; /* KERNEL: how the backend cuts its work (pattern/schedule.h); NULL: as it
                             likes */
    uint32_t lane;        /* below plan->lanes, or PLAN_WIDE; of no meaning without lanes */
};

struct plan_backend {
    const char *name, *version;
};

/* How the plan compares: one row a contestant of the final race. */
struct plan_result {
    const char *name; /* "mix", "onednn", "onnxruntime" */
    const char *note; /* "with reference for Gather"; "" */
    bool chosen;      /* this is the plan */
    double minimum_ns, median_ns, low_ns, high_ns;
    double ratio, ratio_low,
        ratio_high;      /* time of this / time of the plan, paired; > 1: the plan is faster */
    double predicted_ns; /* sum of costs; 0 if standalone */
    double steps_ns; /* sum over the steps of the lower decile of their times in the network; 0: not
                        known */
    double worst_error;  /* of its outputs against the reference, relative to each one's largest
                            value */
    uint64_t peak_bytes; /* resident memory of its process */
};

struct plan {
    struct arena *arena;
    struct hash graph;      /* graph_hash */
    struct hash source;     /* graph->source */
    const char *model_path; /* as given when the plan was made (absolute) */
    collage_shape *shapes;  /* that bound the model */
    size_t shape_count;
    int32_t threads;
    bool strict; /* made of kernels within the bound of direct summation only */
    const char *device, *device_name; /* fingerprint; for people */
    const char *collage_version;
    struct plan_backend *backends;
    uint32_t backend_count;
    struct plan_tensor *tensors;
    uint32_t tensor_count;
    struct plan_step *steps;
    uint32_t step_count;
    uint32_t lanes; /* how many steps may run side by side (lanes.h); 0: none do */
    uint64_t arena_bytes;
    double predicted_ns;
    double bound_ns; /* no placement costs less at the measured costs; 0: not known */
    bool optimal;    /* for the measured costs */
    /* One graph-level library runs the whole model, with its own thread pool and defaults, as it
     * would without us: there is nobody whose threads it could disturb. */
    bool standalone;
    struct plan_result *results;
    uint32_t result_count;
    struct plan_object *objects; /* code beside the plan file */
    uint32_t object_count;
    const char *folder; /* where the objects lie: that of the file that it was read from, or the
                           cache's; NULL: there are none */
    bool needs_code;  /* just made: a kernel is made by a compiler, and the objects are not known */
    json_t *evidence; /* what was measured: counts, seconds, failures, refusals; may be NULL */
};

/* The graph-level or op-level plan of one placement, transitions inserted, memory planned. */
collage_status plan_build(const struct place_problem *problem, const struct placement *placement,
                          const char *device, struct plan **out, struct error *error);
void plan_destroy(struct plan *plan);

/* Liveness and offsets: tensors that live or may live at the same time do not overlap; 64-byte
 * aligned. */
collage_status plan_memory(struct plan *plan, const struct graph *graph, struct error *error);

/* Invariants: every node once, every tensor made before it is used, layouts parse, shares are
 * legal, no overlap. */
collage_status plan_verify(const struct plan *plan, const struct graph *graph, struct error *error);

/* Is this the graph that the plan was made for? COLLAGE_ERROR_MISMATCH if not. */
collage_status plan_check_graph(const struct plan *plan, const struct graph *graph,
                                struct error *error);

/* JSON, "format": "collage-plan", "version": 1 (docs/plan-format.md). */
collage_status plan_to_json(const struct plan *plan, const struct graph *graph, json_t **out,
                            struct error *error);
/* Hostile input: all is checked; then plan_memory and plan_verify run. graph may be NULL to read
 * the header only (model_path, shapes, threads), steps are then absent. */
collage_status plan_from_json(const json_t *json, const struct graph *graph, struct plan **out,
                              struct error *error);
collage_status plan_save(const struct plan *plan, const struct graph *graph, const char *path,
                         struct error *error);
/* Reads the file (at most 64 MB) as JSON, with errors that name line and column. */
collage_status plan_read(const char *path, json_t **out, struct error *error);
/* Remembers the folder of the file that the plan was read from: its objects lie there. */
collage_status plan_set_folder(struct plan *plan, const char *plan_file, struct error *error);
/* Where the model of a plan that was read from plan_file lies: a relative path in the plan is
 * relative to the plan file. */
collage_status plan_model_path(const json_t *json, const char *plan_file, char *path, size_t size,
                               struct error *error);

/* The tensor whose memory this one lies in, at the end of its chain of shares: itself if none. */
uint32_t plan_tensor_root(const struct plan *plan, uint32_t tensor);
/* The step that writes each tensor, GRAPH_NONE for inputs, constants and views. writers is as long
 * as the tensors. */
void plan_tensor_writers(const struct plan *plan, uint32_t *writers);
/* Where the tensor begins in the one that it shares, in bytes; 0 but for parts. *part: it is one.
 */
uint64_t plan_share_offset(const struct plan *plan, const struct graph *graph,
                           const uint32_t *writers, uint32_t tensor, bool *part);
/* The tensor whose contents this one shows: itself, or what it is a view of. */
uint32_t plan_tensor_owner(const struct plan *plan, const uint32_t *writers, uint32_t tensor);
/* The region that a kernel's step runs, told by its nodes and what it writes: nodes whose results
 * others need, but do not get from here, are copies. Memory from the arena. */
collage_status plan_step_region(const struct plan *plan, const struct plan_step *step,
                                const struct graph *graph, const struct graph_uses *uses,
                                struct arena *arena, struct region *out, struct error *error);
/* "Conv+Add+Relu", "reorder", "copy", "join": what a step does, shortened with "..." after 6
 * operators. */
void plan_step_describe(const struct plan_step *step, const struct graph *graph, char *text,
                        size_t size);

#endif
