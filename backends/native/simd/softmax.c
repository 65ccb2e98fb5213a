/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c: softmax of rows: the largest element, exponentials and their sum, one division. */
#include "softmax.h"

#include "math.h"

static float larger(float a, float b)
{
    return a != a || a > b ? a : b;
}

/* The largest; NaN if there is one. */
static float largest(const float *row, int64_t count)
{
    vec best = vec_set(-INFINITY);
    int64_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        vec x = vec_load(row + k);
        best = vec_select(((x > best) | (x != x)) & ~(best != best), x, best);
    }
    float lanes[LANES];
    vec_store(lanes, best);
    float found = -INFINITY;
    for (int lane = 0; lane < LANES; lane++)
        found = larger(found, lanes[lane]);
    for (; k < count; k++)
        found = larger(found, row[k]);
    return found;
}

static void softmax_row(float *to, const float *from, int64_t count)
{
    float top = largest(from, count);
    vec sums = vec_set(0.0f);
    int64_t whole = count / LANES * LANES;
    for (int64_t k = 0; k < whole; k += LANES) {
        vec e = vec_exp(vec_load(from + k) - top);
        sums = sums + e;
        vec_store(to + k, e);
    }
    float sum = vec_sum(sums);
    if (whole < count) {
        vec e = vec_exp(vec_load_part(from + whole, count - whole) - top);
        vec_store_part(to + whole, e, count - whole);
        for (int64_t k = whole; k < count; k++)
            sum += to[k];
    }
    float scale = 1.0f / sum;
    for (int64_t k = 0; k < whole; k += LANES)
        vec_store(to + k, vec_load(to + k) * scale);
    for (int64_t k = whole; k < count; k++)
        to[k] *= scale;
}

static void rows(float *to, const float *from, int64_t count_of_rows, int64_t count)
{
    for (int64_t r = 0; r < count_of_rows; r++)
        softmax_row(to + r * count, from + r * count, count);
}

const struct softmax_kernels ISA(softmax_kernels) = { rows };
