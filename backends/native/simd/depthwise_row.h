/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_row.h: a row of outputs of a depthwise convolution on a block of channels. A block of R
 * output pixels is summed up in R registers: for each row of the window, its K weights are held in
 * registers, and each input pixel is loaded once and used for all the outputs that it is a part of.
 * Blocks at the border leave out the columns that lie outside. Only for files of simd/ that are
 * compiled for one instruction set. DEPTHWISE_ROWS(relu) defines the functions.
 */
#ifndef NATIVE_SIMD_DEPTHWISE_ROW_H
#define NATIVE_SIMD_DEPTHWISE_ROW_H

#include "depthwise.h"
#include "window.h"

enum { DEPTHWISE_R_MAX = 8, DEPTHWISE_K_MAX = 7 };

struct depthwise_row {
    const struct window_plan *plan;
    const float *from;    /* the first row inside; column 0 */
    const float *weights; /* of that row of the window */
    float *to;
    int64_t count; /* rows of the window inside */
    vec bias;
};

/* What the row `unit` of an output needs, and where it goes. unit.group: the block of channels. */
INLINE struct depthwise_row depthwise_row(const struct window_plan *plan, const float *from,
                                          const struct window_unit *unit, float *to)
{
    const struct window *window = &plan->window;
    int64_t top = unit->y * window->stride_height - window->pad_top + unit->first;
    int64_t plane = unit->image * plan->blocks_out + unit->group;
    int64_t count = unit->end - unit->first;
    return (struct depthwise_row){
        .plan = plan,
        .from = from + (plane * window->height_in + (count ? top : 0)) * window->width_in * LANES,
        .weights =
            plan->weights + unit->group * plan->unit_weights + unit->first * plan->row_weights,
        .to = to,
        .count = count,
        .bias = window_bias(plan, unit->group),
    };
}

INLINE void depthwise_store(const struct depthwise_row *row, int64_t x, const vec *sums, int R,
                            bool border)
{
    const struct window_plan *plan = row->plan;
    float *to = row->to + x * LANES;
    int64_t inside = plan->window.width_out - x;
    vec low = vec_set(plan->low), high = vec_set(plan->high);
    bool clamp = plan->clamp;
    UNROLL
    for (int r = 0; r < R; r++) {
        if (!border || r < inside)
            vec_store(to + r * LANES, clamp ? window_clamp(sums[r], low, high) : sums[r]);
    }
}

INLINE vec depthwise_pixel(const float *from, const bool relu)
{
    vec pixel = vec_load(from);
    return relu ? vec_at_least(pixel, vec_set(0.0f)) : pixel;
}

/* K: columns of the window, S: stride, R: pixels, relu: of the input; all constant. */
INLINE void depthwise_block(const struct depthwise_row *row, int64_t x, const int K, const int S,
                            const int R, const bool relu, const bool border)
{
    const struct window *window = &row->plan->window;
    int64_t left = x * S - window->pad_left, right = window->width_in - left, begin = -left;
    int64_t stride = window->width_in * LANES;
    int64_t at = left * LANES;
    const float *weights = row->weights;
    vec sums[DEPTHWISE_R_MAX], taps[DEPTHWISE_K_MAX];
    UNROLL
    for (int r = 0; r < R; r++)
        sums[r] = row->bias;
    for (int64_t ky = 0; ky < row->count; ky++, at += stride, weights += K * LANES) {
        UNROLL
        for (int kx = 0; kx < K; kx++)
            taps[kx] = vec_load(weights + kx * LANES);
        UNROLL
        for (int c = 0; c < (R - 1) * S + K; c++) {
            if (border && (c < begin || c >= right))
                continue;
            vec pixel = depthwise_pixel(row->from + (at + c * LANES), relu);
            UNROLL
            for (int kx = 0; kx < K; kx++) {
                if (c >= kx && (c - kx) % S == 0 && (c - kx) / S < R)
                    sums[(c - kx) / S] += pixel * taps[kx];
            }
        }
    }
    depthwise_store(row, x, sums, R, border);
}

INLINE void depthwise_whole(const struct depthwise_row *row, const int K, const int S, const int R,
                            const bool relu)
{
    const struct window *window = &row->plan->window;
    for (int64_t x = 0; x < window->width_out; x += R) {
        int64_t left = x * S - window->pad_left;
        if (left >= 0 && left + (R - 1) * S + K <= window->width_in && x + R <= window->width_out)
            depthwise_block(row, x, K, S, R, relu, false);
        else
            depthwise_block(row, x, K, S, R, relu, true);
    }
}

typedef void depthwise_function(const struct depthwise_row *row);

#define DEPTHWISE_ROW(K, S, relu)                                                                  \
    static void row_##K##_##S##_7_##relu(const struct depthwise_row *row)                          \
    {                                                                                              \
        depthwise_whole(row, K, S, 7, relu);                                                       \
    }                                                                                              \
    static void row_##K##_##S##_8_##relu(const struct depthwise_row *row)                          \
    {                                                                                              \
        depthwise_whole(row, K, S, 8, relu);                                                       \
    }

/* Functions for windows with depthwise_has_blocks, and depthwise_choose_RELU, which picks one.
 * relu: 0 or 1, before the convolution. */
#define DEPTHWISE_ROWS(relu)                                                                       \
    DEPTHWISE_ROW(3, 1, relu)                                                                      \
    DEPTHWISE_ROW(3, 2, relu)                                                                      \
    DEPTHWISE_ROW(5, 1, relu)                                                                      \
    DEPTHWISE_ROW(5, 2, relu)                                                                      \
    DEPTHWISE_ROW(7, 1, relu)                                                                      \
    DEPTHWISE_ROW(7, 2, relu)                                                                      \
    static depthwise_function *depthwise_choose_##relu(const struct window_plan *plan)             \
    {                                                                                              \
        static depthwise_function *const rows[3][2][2] = {                                         \
            { { row_3_1_7_##relu, row_3_1_8_##relu }, { row_3_2_7_##relu, row_3_2_8_##relu } },    \
            { { row_5_1_7_##relu, row_5_1_8_##relu }, { row_5_2_7_##relu, row_5_2_8_##relu } },    \
            { { row_7_1_7_##relu, row_7_1_8_##relu }, { row_7_2_7_##relu, row_7_2_8_##relu } },    \
        };                                                                                         \
        int64_t k = plan->window.kernel_width, s = plan->window.stride_width;                      \
        return rows[(k - 3) / 2][s - 1][plan->block == 7 ? 0 : 1];                                 \
    }

#endif
