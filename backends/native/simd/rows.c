/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: what needs a whole row: softmax, and normalisations. */
#include "rows.h"

#include "math.h"

enum {
    CHUNK = 4096, /* elements summed in float before the sum goes on in double */
    COLUMNS = 4   /* vectors of columns at a time */
};

INLINE vec load(const float *from, int64_t part)
{
    return part >= LANES ? vec_load(from) : vec_load_part(from, part);
}

INLINE void store(float *to, vec v, int64_t part)
{
    if (part >= LANES)
        vec_store(to, v);
    else
        vec_store_part(to, v, part);
}

/* ---- softmax ---- */

/* The largest of a row. NaN may be lost: it comes back with the exponentials. */
static float largest(const float *row, int64_t count)
{
    vec best[4];
    for (int k = 0; k < 4; k++)
        best[k] = vec_set(-INFINITY);
    int64_t k = 0;
    for (; k + 4 * LANES <= count; k += 4 * LANES) {
        for (int u = 0; u < 4; u++)
            best[u] = vec_max(best[u], vec_load(row + k + u * LANES));
    }
    for (; k + LANES <= count; k += LANES)
        best[0] = vec_max(best[0], vec_load(row + k));
    if (k < count) {
        vec rest = vec_load_part(row + k, count - k);
        ivec there = vec_lane_numbers() < (int32_t)(count - k);
        best[1] = vec_max(best[1], vec_select(there, rest, vec_set(-INFINITY)));
    }
    return vec_largest(vec_max(vec_max(best[0], best[1]), vec_max(best[2], best[3])));
}

/* exp(row - top) into `to`, unless it is NULL; their sum. */
static float exponentials(float *to, const float *row, int64_t count, float top)
{
    vec a = vec_set(0.0f), b = a;
    int64_t k = 0;
    for (; k + 2 * LANES <= count; k += 2 * LANES) {
        vec x = vec_exp(vec_load(row + k) - top), y = vec_exp(vec_load(row + k + LANES) - top);
        a = a + x;
        b = b + y;
        if (to) {
            vec_store(to + k, x);
            vec_store(to + k + LANES, y);
        }
    }
    for (; k < count; k += LANES) {
        vec x = vec_exp(load(row + k, count - k) - top);
        ivec beyond = vec_lane_numbers() >= (int32_t)(count - k < LANES ? count - k : LANES);
        a = a + vec_select(beyond, vec_set(0.0f), x);
        if (to)
            store(to + k, x, count - k);
    }
    return vec_sum(a + b);
}

static void softmax(float *to, const float *from, int64_t count)
{
    float scale = 1.0f / exponentials(to, from, count, largest(from, count));
    for (int64_t k = 0; k < count; k += LANES)
        store(to + k, load(to + k, count - k) * scale, count - k);
}

static void log_softmax(float *to, const float *from, int64_t count)
{
    float top = largest(from, count), shift = logf(exponentials(NULL, from, count, top));
    for (int64_t k = 0; k < count; k += LANES)
        store(to + k, load(from + k, count - k) - top - shift, count - k);
}

/* ---- softmax down columns ---- */

/* `part` columns, at most COLUMNS vectors. */
static void column_block(float *to, const float *from, int64_t count, int64_t stride, int64_t part,
                         bool logarithm)
{
    vec top[COLUMNS], sum[COLUMNS];
    for (int u = 0; u < COLUMNS; u++) {
        top[u] = vec_set(-INFINITY);
        sum[u] = vec_set(0.0f);
    }
    for (int64_t r = 0; r < count; r++) {
        for (int u = 0; u * LANES < part; u++)
            top[u] = vec_max(top[u], load(from + r * stride + u * LANES, part - u * LANES));
    }
    for (int64_t r = 0; r < count; r++) {
        for (int u = 0; u * LANES < part; u++) {
            int64_t at = r * stride + u * LANES, rest = part - u * LANES;
            vec x = load(from + at, rest) - top[u], e = vec_exp(x);
            sum[u] = sum[u] + e;
            store(to + at, logarithm ? x : e, rest);
        }
    }
    for (int u = 0; u < COLUMNS; u++)
        sum[u] = logarithm ? (vec)vec_log(sum[u]) : (vec)(1.0f / sum[u]);
    for (int64_t r = 0; r < count; r++) {
        for (int u = 0; u * LANES < part; u++) {
            int64_t at = r * stride + u * LANES, rest = part - u * LANES;
            vec x = load(to + at, rest);
            store(to + at, logarithm ? x - sum[u] : x * sum[u], rest);
        }
    }
}

static void columns(float *to, const float *from, int64_t count, int64_t stride, int64_t begin,
                    int64_t end, bool logarithm)
{
    for (int64_t c = begin; c < end; c += COLUMNS * LANES)
        column_block(to + c, from + c, count, stride,
                     end - c < COLUMNS * LANES ? end - c : COLUMNS * LANES, logarithm);
}

/* ---- normalisations ---- */

/* Of at most CHUNK elements: the sum of (x - shift), or of its squares. */
INLINE float sum_chunk(const float *x, int64_t count, float shift, bool squares)
{
    vec sums[4];
    for (int u = 0; u < 4; u++)
        sums[u] = vec_set(0.0f);
    int64_t k = 0;
    for (; k + 4 * LANES <= count; k += 4 * LANES) {
        for (int u = 0; u < 4; u++) {
            vec v = vec_load(x + k + u * LANES) - shift;
            sums[u] = squares ? sums[u] + v * v : sums[u] + v;
        }
    }
    for (; k < count; k += LANES) {
        vec v = load(x + k, count - k) - shift;
        ivec beyond = vec_lane_numbers() >= (int32_t)(count - k < LANES ? count - k : LANES);
        v = vec_select(beyond, vec_set(0.0f), v);
        sums[0] = squares ? sums[0] + v * v : sums[0] + v;
    }
    return vec_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

static double sum_of(const float *x, int64_t count)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k += CHUNK)
        sum += (double)sum_chunk(x + k, count - k < CHUNK ? count - k : CHUNK, 0.0f, false);
    return sum;
}

static double squares_of(const float *x, int64_t count, float shift)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k += CHUNK)
        sum += (double)sum_chunk(x + k, count - k < CHUNK ? count - k : CHUNK, shift, true);
    return sum;
}

static float inverse_deviation(const float *x, int64_t count, float mean, float epsilon)
{
    return (float)(1 / sqrt(squares_of(x, count, mean) / (double)count + (double)epsilon));
}

static void scale_row(float *to, const float *from, int64_t count, float mean, float factor,
                      const float *scale, const float *bias)
{
    int64_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        vec v = (vec_load(from + k) - mean) * factor * vec_load(scale + k);
        if (bias)
            v = v + vec_load(bias + k);
        vec_store(to + k, v);
    }
    if (k < count) {
        vec v = (load(from + k, count - k) - mean) * factor * load(scale + k, count - k);
        if (bias)
            v = v + load(bias + k, count - k);
        vec_store_part(to + k, v, count - k);
    }
}

static void layer_norm(float *to, const float *from, int64_t count, float epsilon,
                       const float *scale, const float *bias)
{
    float mean = (float)(sum_of(from, count) / (double)count);
    scale_row(to, from, count, mean, inverse_deviation(from, count, mean, epsilon), scale, bias);
}

static void rms_norm(float *to, const float *from, int64_t count, float epsilon, const float *scale,
                     const float *bias)
{
    scale_row(to, from, count, 0.0f, inverse_deviation(from, count, 0.0f, epsilon), scale, bias);
}

static void group_norm(float *to, const float *from, int64_t channels, int64_t size, float epsilon,
                       const float *scale, const float *bias)
{
    int64_t count = channels * size;
    float mean = (float)(sum_of(from, count) / (double)count);
    float factor = inverse_deviation(from, count, mean, epsilon);
    for (int64_t c = 0; c < channels; c++) {
        const float f = factor * scale[c], b = bias[c];
        const float *row = from + c * size;
        float *out = to + c * size;
        int64_t k = 0;
        for (; k + LANES <= size; k += LANES)
            vec_store(out + k, (vec_load(row + k) - mean) * f + b);
        if (k < size)
            vec_store_part(out + k, (vec_load_part(row + k, size - k) - mean) * f + b, size - k);
    }
}

const struct rows_kernels ISA(rows_kernels) = { softmax,  log_softmax, layer_norm,
                                                rms_norm, group_norm,  columns };
