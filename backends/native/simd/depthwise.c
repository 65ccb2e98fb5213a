/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise.c: depthwise convolutions on blocks of channels. A block of R output pixels of a row is
 * summed up in R registers: for each row of the window, its K weights are held in registers, and
 * each input pixel is loaded once and used for all the outputs that it is a part of. Blocks at the
 * border leave out the columns that lie outside.
 */
#include "depthwise.h"

#include "window.h"

enum { R_MAX = 8, K_MAX = 7 };

struct row {
    const struct window_plan *plan;
    const float *from;    /* the first row inside; column 0 */
    const float *weights; /* of that row of the window */
    float *to;
    int64_t count; /* rows of the window inside */
    vec bias;
};

INLINE void store(const struct row *row, int64_t x, const vec *sums, int R, bool border)
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

/* K: columns of the window, S: stride, R: pixels; all constant. */
INLINE void block(const struct row *row, int64_t x, const int K, const int S, const int R,
                  const bool border)
{
    const struct window *window = &row->plan->window;
    int64_t left = x * S - window->pad_left, right = window->width_in - left, begin = -left;
    int64_t stride = window->width_in * LANES;
    int64_t at = left * LANES;
    const float *weights = row->weights;
    vec sums[R_MAX], taps[K_MAX];
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
            vec pixel = vec_load(row->from + (at + c * LANES));
            UNROLL
            for (int kx = 0; kx < K; kx++) {
                if (c >= kx && (c - kx) % S == 0 && (c - kx) / S < R)
                    sums[(c - kx) / S] += pixel * taps[kx];
            }
        }
    }
    store(row, x, sums, R, border);
}

INLINE void whole_row(const struct row *row, const int K, const int S, const int R)
{
    const struct window *window = &row->plan->window;
    for (int64_t x = 0; x < window->width_out; x += R) {
        int64_t left = x * S - window->pad_left;
        if (left >= 0 && left + (R - 1) * S + K <= window->width_in && x + R <= window->width_out)
            block(row, x, K, S, R, false);
        else
            block(row, x, K, S, R, true);
    }
}

/* Any width and stride. */
static void row_any(const struct row *row)
{
    const struct window *window = &row->plan->window;
    int64_t stride = window->stride_width;
    for (int64_t x = 0; x < window->width_out; x += R_MAX) {
        vec sums[R_MAX];
        UNROLL
        for (int r = 0; r < R_MAX; r++)
            sums[r] = row->bias;
        const float *weights = row->weights;
        for (int64_t ky = 0; ky < row->count; ky++) {
            const float *from = row->from + ky * window->width_in * LANES;
            for (int64_t kx = 0; kx < window->kernel_width; kx++, weights += LANES) {
                vec tap = vec_load(weights);
                int64_t column = x * stride - window->pad_left + kx;
                UNROLL
                for (int r = 0; r < R_MAX; r++) {
                    int64_t c = column + r * stride;
                    if (c >= 0 && c < window->width_in)
                        sums[r] += vec_load(from + c * LANES) * tap;
                }
            }
        }
        store(row, x, sums, R_MAX, true);
    }
}

typedef void row_function(const struct row *row);

#define ROW(K, S)                                                                                  \
    static void row_##K##_##S##_7(const struct row *row)                                           \
    {                                                                                              \
        whole_row(row, K, S, 7);                                                                   \
    }                                                                                              \
    static void row_##K##_##S##_8(const struct row *row)                                           \
    {                                                                                              \
        whole_row(row, K, S, 8);                                                                   \
    }

ROW(3, 1)
ROW(3, 2)
ROW(5, 1)
ROW(5, 2)
ROW(7, 1)
ROW(7, 2)

static row_function *choose(const struct window_plan *plan)
{
    static row_function *const rows[3][2][2] = {
        { { row_3_1_7, row_3_1_8 }, { row_3_2_7, row_3_2_8 } },
        { { row_5_1_7, row_5_1_8 }, { row_5_2_7, row_5_2_8 } },
        { { row_7_1_7, row_7_1_8 }, { row_7_2_7, row_7_2_8 } },
    };
    int64_t k = plan->window.kernel_width, s = plan->window.stride_width;
    if (!depthwise_has_blocks(&plan->window))
        return row_any;
    return rows[(k - 3) / 2][s - 1][plan->block == 7 ? 0 : 1];
}

static void rows(const struct window_plan *plan, const void *const *inputs, float *to,
                 float *scratch, int64_t begin, int64_t end)
{
    (void)scratch;
    const struct window *window = &plan->window;
    row_function *function = choose(plan);
    for (int64_t number = begin; number < end; number++) {
        struct window_unit unit = window_unit(plan, number);
        int64_t top = unit.y * window->stride_height - window->pad_top + unit.first;
        int64_t plane = unit.image * plan->blocks_out + unit.group;
        int64_t count = unit.end - unit.first;
        int64_t offset = window_output(plan, unit.image, unit.group, unit.y);
        struct row row = {
            .plan = plan,
            .from = (const float *)inputs[plan->input] +
                    (plane * window->height_in + (count ? top : 0)) * window->width_in * LANES,
            .weights =
                plan->weights + unit.group * plan->unit_weights + unit.first * plan->row_weights,
            .to = to + offset,
            .count = count,
            .bias = window_bias(plan, unit.group),
        };
        function(&row);
        window_end_row(plan, row.to, unit.group, offset, inputs);
    }
}

const struct depthwise_kernels ISA(depthwise_kernels) = { rows };
