/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise.c: depthwise convolutions on blocks of channels, row by row (depthwise_row.h). */
#include "depthwise_row.h"

DEPTHWISE_ROWS(0)

/* Any width and stride. */
static void row_any(const struct depthwise_row *row)
{
    const struct window *window = &row->plan->window;
    int64_t stride = window->stride_width;
    for (int64_t x = 0; x < window->width_out; x += DEPTHWISE_R_MAX) {
        vec sums[DEPTHWISE_R_MAX];
        UNROLL
        for (int r = 0; r < DEPTHWISE_R_MAX; r++)
            sums[r] = row->bias;
        const float *weights = row->weights;
        for (int64_t ky = 0; ky < row->count; ky++) {
            const float *from = row->from + ky * window->width_in * LANES;
            for (int64_t kx = 0; kx < window->kernel_width; kx++, weights += LANES) {
                vec tap = vec_load(weights);
                int64_t column = x * stride - window->pad_left + kx;
                UNROLL
                for (int r = 0; r < DEPTHWISE_R_MAX; r++) {
                    int64_t c = column + r * stride;
                    if (c >= 0 && c < window->width_in)
                        sums[r] += vec_load(from + c * LANES) * tap;
                }
            }
        }
        depthwise_store(row, x, sums, DEPTHWISE_R_MAX, true);
    }
}

static void rows(const struct window_plan *plan, const void *const *inputs, float *to,
                 float *scratch, int64_t begin, int64_t end)
{
    (void)scratch;
    depthwise_function *function =
        depthwise_has_blocks(&plan->window) ? depthwise_choose_0(plan) : row_any;
    for (int64_t number = begin; number < end; number++) {
        struct window_unit unit = window_unit(plan, number);
        int64_t offset = window_output(plan, unit.image, unit.group, unit.y);
        struct depthwise_row row = depthwise_row(plan, inputs[plan->input], &unit, to + offset);
        function(&row);
        window_end_row(plan, row.to, unit.group, offset, inputs);
    }
}

const struct depthwise_kernels ISA(depthwise_kernels) = { rows };
