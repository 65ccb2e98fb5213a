/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h: going through the units of a window_plan, and what happens to their sums. Only for
 * files of simd/ that are compiled for one instruction set.
 */
#ifndef NATIVE_SIMD_WINDOW_H
#define NATIVE_SIMD_WINDOW_H

#include "../window.h"
#include "epilogue.h"

/* Loops of at most so many rounds, known when compiled: what they index becomes registers. */
#define UNROLL _Pragma("GCC unroll 32")

/* The compiler forgets what it knows of a pointer: it would keep what overlaps between the rounds
 * of a loop, and has no registers left to keep it in. */
#define HIDE(pointer) __asm__("" : "+r"(pointer))

/* A unit of work. */
struct window_unit {
    int64_t image, group; /* group: of unit_blocks blocks */
    int64_t y;            /* row of the output */
    int64_t first, end;   /* the rows of the window from `first` up to `end` lie inside */
};

/* Which rows of the window lie inside, for the unit's row. */
static inline void window_clip_rows(const struct window *window, struct window_unit *unit)
{
    int64_t top = unit->y * window->stride_height - window->pad_top;
    unit->first = top < 0 ? -top : 0;
    if (unit->first > window->kernel_height)
        unit->first = window->kernel_height;
    unit->end = window->height_in - top;
    if (unit->end > window->kernel_height)
        unit->end = window->kernel_height;
    if (unit->end < unit->first)
        unit->end = unit->first;
}

static inline struct window_unit window_unit(const struct window_plan *plan, int64_t number)
{
    const struct window *window = &plan->window;
    int64_t groups = plan->units / (window->batch * window->height_out);
    struct window_unit unit = { .y = number % window->height_out };
    number /= window->height_out;
    unit.group = number % groups;
    unit.image = number / groups;
    window_clip_rows(window, &unit);
    return unit;
}

/* Where a block's row of the output begins, in floats. */
static inline int64_t window_output(const struct window_plan *plan, int64_t image, int64_t block,
                                    int64_t y)
{
    const struct window *window = &plan->window;
    return ((image * plan->blocks_out + block) * window->height_out + y) * window->width_out *
           LANES;
}

INLINE vec window_bias(const struct window_plan *plan, int64_t block)
{
    return plan->bias ? vec_load(plan->bias + block * LANES) : vec_set(0.0f);
}

/* Bounds for the sums of some pixels, in registers. */
INLINE vec window_clamp(vec sum, vec low, vec high)
{
    return vec_at_most(vec_at_least(sum, low), high);
}

/* The rest of the epilogue on some finished pixels at `to`, `offset` floats into the output, and
 * zeros into the padding. */
static inline void window_end_pixels(const struct window_plan *plan, float *to, int64_t pixels,
                                     int64_t block, int64_t offset, const void *const *inputs)
{
    if (plan->rest.count)
        epilogue_blocked(&plan->rest, to, pixels, block * LANES, offset, inputs);
    int64_t valid = plan->window.channels_out - block * LANES;
    if (valid >= LANES)
        return;
    int32_t lanes[LANES];
    for (int lane = 0; lane < LANES; lane++)
        lanes[lane] = lane < valid ? -1 : 0;
    ivec mask = *(const ivec_unaligned *)lanes;
    for (int64_t x = 0; x < pixels * LANES; x += LANES)
        vec_store(to + x, vec_select(mask, vec_load(to + x), vec_set(0.0f)));
}

static inline void window_end_row(const struct window_plan *plan, float *to, int64_t block,
                                  int64_t offset, const void *const *inputs)
{
    window_end_pixels(plan, to, plan->window.width_out, block, offset, inputs);
}

#endif
