/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.h: what the files of the Winograd family share: winograd_read.c says what it takes,
 * winograd.c describes and compiles, winograd_weights.c transforms weights, winograd_run.c runs.
 */
#ifndef NATIVE_WINOGRAD_H
#define NATIVE_WINOGRAD_H

#include "simd/winograd.h"

#include "family.h"

/* How the work is cut into blocks that fit the L2 cache. */
struct winograd_blocking {
    int64_t tiles;    /* of a plane, in a block */
    int64_t planes;   /* output planes in a block; 1 in 2-D */
    int64_t channels; /* blocks of output channels between two output transforms */
    bool shared;      /* all threads work on one block, each on channels of its own */
    int64_t tile_floats, result_floats; /* of the scratch of a block: transformed tiles, results */
    int64_t tile_stride, result_stride; /* from one value or element to the next */
};

struct winograd {
    const struct winograd_kernels *kernels;
    struct winograd_shape shape;
    struct winograd_blocking blocking;
    struct epilogue epilogue;
    uint32_t input; /* which of the sub-graph's inputs is convolved */
    struct weights *packed;
    const float *weights;
};

/* What a sub-graph is, if it is one that the family takes; fills what does not depend on m. */
bool winograd_read(struct winograd_shape *shape, struct epilogue *epilogue,
                   const collage_subgraph *subgraph, const collage_target *target,
                   collage_message *why);
/* The index-th tile size (m); 0: there are no more. */
int64_t winograd_tile_size(const struct winograd_shape *shape, const struct epilogue *epilogue,
                           size_t index);

/* Floats of transformed weights: panel, element, value, tap, input channel, vector, lane. */
int64_t winograd_weight_floats(const struct winograd_shape *shape, int64_t lanes);

struct winograd_pack {
    const struct winograd_shape *shape;
    int64_t lanes;
};
/* A weights_pack; context: a struct winograd_pack. */
void winograd_pack_weights(float *to, const float *from, const void *context);

/* Axes of schedules (schedule.h). */
enum winograd_axis { WINOGRAD_TILES, WINOGRAD_CHANNELS, WINOGRAD_PARALLEL };
enum winograd_parallel { WINOGRAD_OWN_TILES, WINOGRAD_OWN_CHANNELS };

/* What the shape and the number of threads suggest, but for what the schedule says: -1: nothing. */
void winograd_choose_blocking(struct winograd *winograd, int64_t lanes, int32_t threads,
                              const int64_t *schedule);
/* Around that choice. */
void winograd_list_schedules(const struct winograd *winograd, int64_t lanes, int32_t threads,
                             struct schedule_space *out);
uint64_t winograd_scratch_bytes(const struct winograd *winograd, int32_t threads);
void winograd_run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                  void *scratch);

#endif
