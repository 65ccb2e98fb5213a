/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h: what the direct convolutions share (depthwise, grouped, first layers, transposed): the
 * geometry of a 2-D Conv or ConvTranspose, a plan made of it, and running the plan. Results are in
 * blocks of as many channels as a vector has lanes. The unit of work is a row of output pixels of
 * one such block (or of a few neighbouring ones): units are numbered by image, blocks and row, and
 * shared evenly.
 */
#ifndef NATIVE_WINDOW_H
#define NATIVE_WINDOW_H

#include "epilogue.h"

struct window {
    uint32_t input, weights, bias, made; /* values; bias may be COLLAGE_NO_VALUE */
    int64_t batch, group;
    int64_t channels_in, height_in, width_in;
    int64_t channels_out, height_out, width_out;
    int64_t kernel_height, kernel_width, stride_height, stride_width;
    int64_t pad_top, pad_left;
};

enum { WINDOW_SIDE_MAX = 16 }; /* of kernels and strides */

/* Is the first node a 2-D Conv, not dilated, of constant weights, and what follows an epilogue? */
bool window_read(struct window *window, struct epilogue *epilogue, const collage_subgraph *subgraph,
                 collage_message *why);

/* The same of a 2-D ConvTranspose without groups: kernel, strides and pads are its attributes. */
bool window_read_transposed(struct window *window, struct epilogue *epilogue,
                            const collage_subgraph *subgraph, collage_message *why);

/* How a family reads what it takes: as window_read, and refuses what is not for it. */
typedef bool window_reader(struct window *window, struct epilogue *epilogue,
                           const collage_subgraph *subgraph, const collage_target *target,
                           collage_message *why);

/* struct family's `takes` and `variant` of a family with one variant, named like it. `input`: the
 * Conv's input is blocked, too. */
bool window_takes(window_reader *read, const collage_subgraph *subgraph,
                  const collage_target *target, collage_message *why);
bool window_variant(window_reader *read, const char *name, bool input,
                    const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out);

struct window_plan;

/* Makes the rows of the units from begin up to end. `scratch` is this thread's. */
typedef void window_rows(const struct window_plan *plan, const void *const *inputs, float *to,
                         float *scratch, int64_t begin, int64_t end);

/* A compiled convolution. */
struct window_plan {
    struct window window;
    window_rows *rows;
    int64_t lanes;
    int64_t units;          /* of work; 0 before window_finish: a row of blocks each */
    int64_t blocks_out;     /* whole blocks of channels of the output, the last one padded */
    int64_t unit_blocks;    /* blocks of the output that a unit has */
    int64_t block;          /* pixels at a time in a row */
    int64_t row_weights;    /* floats of packed weights for a row of the window */
    int64_t unit_weights;   /* and for all of its rows */
    int64_t scratch_floats; /* of a thread */
    uint32_t input;         /* of the sub-graph */
    const float *weights;
    struct weights *packed;
    struct epilogue epilogue;
    /* The epilogue again: what the sums start from (NULL: 0), bounds for them, and the rest. */
    const float *bias;
    bool clamp;
    float low, high;
    struct epilogue rest;
};

/* kernel->implementation: "NAME 3x3 s1 avx512". */
void window_describe(collage_kernel *kernel, const char *name);

/* kernel->state becomes a plan with all but the numbers that are the family's to choose
 * (rows, units, unit_blocks, block, row_weights, scratch_floats). */
collage_status window_compile(collage_kernel *kernel, const collage_compile_request *request,
                              collage_message *message);
/* Then: packs the weights with pack(to, from, plan), and counts units and scratch. `form` as in
 * weight_request; the geometry is put behind it. */
collage_status window_finish(collage_kernel *kernel, const collage_compile_request *request,
                             weights_pack *pack, const char *form, collage_message *message);

/* The parts of these, for kernels of several convolutions: a zeroed plan is read, given the
 * family's numbers, packed (which adds to kernel->weight_bytes), and freed in the end, read or not.
 */
collage_status window_plan_read(struct window_plan *plan, enum isa isa,
                                const collage_subgraph *subgraph, collage_message *message);
collage_status window_plan_pack(struct window_plan *plan, collage_kernel *kernel,
                                const collage_compile_request *request, weights_pack *pack,
                                const char *form, collage_message *message);
void window_plan_free(struct window_plan *plan, collage_kernel *kernel);

void window_run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch);
void window_destroy(collage_kernel *kernel);

/* The one of `choices` (descending, 0 behind the last) with the least waste in a row. */
int64_t window_choose_block(int64_t width, const int32_t *choices);

#endif
