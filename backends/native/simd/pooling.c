/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling.c: windows of two dimensions. With channels innermost, the vectors of a window's pixels
 * are taken one after the other. Row-major, the rows of a window become one, padded row first, and
 * then neighbours in that. A maximum is NaN where any element is.
 */
#include "pooling.h"

#include "simd.h"

#define UNROLL _Pragma("GCC unroll 16")

/* The larger, or NaN if one is. */
INLINE vec largest(vec so_far, vec v)
{
    vec larger = vec_max(so_far, v);
#ifdef __AVX512F__
    __mmask16 nan = _mm512_cmp_ps_mask((__m512)so_far, (__m512)so_far, _CMP_UNORD_Q);
    return (vec)_mm512_mask_mov_ps((__m512)larger, nan, (__m512)so_far);
#elif defined __AVX2__
    __m256 nan = _mm256_cmp_ps((__m256)so_far, (__m256)so_far, _CMP_UNORD_Q);
    return (vec)_mm256_blendv_ps((__m256)larger, (__m256)so_far, nan);
#else
    return vec_select(so_far != so_far, so_far, larger);
#endif
}

INLINE vec take(vec so_far, vec v, bool average)
{
    if (average)
        return so_far + v;
    return largest(so_far, v);
}

INLINE float take_one(float so_far, float v, bool average)
{
    if (average)
        return so_far + v;
    return v > so_far || v != v ? v : so_far;
}

INLINE vec nothing(bool average)
{
    return vec_set(average ? 0.0f : -__builtin_inff());
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The taps from *first up to *end lie inside. */
static void taps_inside(int64_t start, int64_t dilation, int64_t taps, int64_t size, int64_t *first,
                        int64_t *end)
{
    *first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    *end = start >= size ? 0 : least(taps, (size - start + dilation - 1) / dilation);
    if (*first > *end)
        *first = *end;
}

/* ---- channels innermost ---- */

/* A row of the output, one vector of channels. */
struct row {
    const struct pooling *pooling;
    const float *from; /* the plane */
    float *to;
    int64_t y, top, first, end; /* rows of the window that lie inside */
    int64_t lanes;
};

INLINE vec load_lanes(const float *from, int64_t lanes, bool whole)
{
    return whole ? vec_load(from) : vec_load_part(from, lanes);
}

INLINE void end_pixel(const struct row *row, int64_t x, vec made, bool average, bool whole)
{
    const struct pooling *p = row->pooling;
    if (average) {
        float count = p->rows[row->y] * p->columns[x];
        made /= vec_set(count > 0.0f ? count : 1.0f);
    }
    if (whole)
        vec_store(row->to + x * p->step, made);
    else
        vec_store_part(row->to + x * p->step, made, row->lanes);
}

INLINE void any_pixel(const struct row *row, int64_t x, bool average, bool whole)
{
    const struct pooling *p = row->pooling;
    int64_t left = x * p->stride_width - p->pad_left, first, end;
    vec made = nothing(average);
    taps_inside(left, p->dilation_width, p->kernel_width, p->width_in, &first, &end);
    for (int64_t ky = row->first; ky < row->end; ky++) {
        int64_t line = (row->top + ky * p->dilation_height) * p->width_in;
        for (int64_t kx = first; kx < end; kx++)
            made = take(made,
                        load_lanes(row->from + (line + left + kx * p->dilation_width) * p->step,
                                   row->lanes, whole),
                        average);
    }
    end_pixel(row, x, made, average, whole);
}

/* A window of K by K that lies inside; K is constant. */
INLINE void inner_pixel(const struct row *row, int64_t x, const int K, bool average, bool whole)
{
    const struct pooling *p = row->pooling;
    int64_t left = x * p->stride_width - p->pad_left, line = p->width_in * p->step;
    const float *from = row->from + (row->top * p->width_in + left) * p->step;
    vec made = load_lanes(from, row->lanes, whole);
    UNROLL
    for (int k = 1; k < K * K; k++)
        made = take(made, load_lanes(from + k / K * line + k % K * p->step, row->lanes, whole),
                    average);
    end_pixel(row, x, made, average, whole);
}

INLINE void whole_row(const struct row *row, const int K, bool average, bool whole)
{
    const struct pooling *p = row->pooling;
    for (int64_t x = 0; x < p->width_out; x++) {
        int64_t left = x * p->stride_width - p->pad_left;
        if (K > 0 && row->end - row->first == K && left >= 0 && left + K <= p->width_in)
            inner_pixel(row, x, K, average, whole);
        else
            any_pixel(row, x, average, whole);
    }
}

INLINE void row_of_kernel(const struct row *row, bool average, bool whole)
{
    const struct pooling *p = row->pooling;
    int64_t side =
        p->kernel_height == p->kernel_width && p->dilation_height == 1 && p->dilation_width == 1
            ? p->kernel_height
            : 0;
    if (side == 2)
        whole_row(row, 2, average, whole);
    else if (side == 3)
        whole_row(row, 3, average, whole);
    else
        whole_row(row, 0, average, whole);
}

static void make_row(const struct row *row)
{
    bool whole = row->lanes == LANES;
    if (row->pooling->average && whole)
        row_of_kernel(row, true, true);
    else if (row->pooling->average)
        row_of_kernel(row, true, false);
    else if (whole)
        row_of_kernel(row, false, true);
    else
        row_of_kernel(row, false, false);
}

/* Lanes of the last block that hold no channel: zeros. */
static void clear_padding(const struct pooling *p, float *to, int64_t lanes)
{
    for (int64_t x = 0; x < p->width_out; x++)
        for (int64_t lane = lanes; lane < LANES; lane++)
            to[x * LANES + lane] = 0.0f;
}

static void channel_rows(const struct pooling *p, const float *from, float *to, int64_t begin,
                         int64_t end)
{
    int64_t planes = p->planes ? p->blocks : 1;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t y = unit % p->height_out, plane = unit / p->height_out;
        struct row row = { .pooling = p, .y = y, .top = y * p->stride_height - p->pad_top };
        taps_inside(row.top, p->dilation_height, p->kernel_height, p->height_in, &row.first,
                    &row.end);
        for (int64_t block = p->planes ? plane % planes : 0; block < p->blocks; block++) {
            int64_t channel = p->planes ? 0 : block * LANES;
            row.from = from + plane * p->height_in * p->width_in * p->step + channel;
            row.to = to + unit * p->width_out * p->step + channel;
            row.lanes = least(LANES, p->channels - block * LANES);
            make_row(&row);
            if (p->planes) {
                clear_padding(p, row.to, row.lanes);
                break;
            }
        }
    }
}

/* ---- row-major ---- */

/* The rows of the window become one, with its padding. */
INLINE void join_rows(const struct pooling *p, const float *from, float *joined, int64_t y,
                      bool average)
{
    int64_t top = y * p->stride_height - p->pad_top, first, end;
    float empty = average ? 0.0f : -__builtin_inff();
    taps_inside(top, p->dilation_height, p->kernel_height, p->height_in, &first, &end);
    for (int64_t x = 0; x < p->pad_left && x < p->padded; x++)
        joined[x] = empty;
    for (int64_t x = p->pad_left + p->width_in; x < p->padded; x++)
        joined[x] = empty;
    joined += p->pad_left;
    int64_t begin = top * p->width_in, line = p->dilation_height * p->width_in;
    for (int64_t x = 0; x < p->width_in; x += LANES) {
        int64_t lanes = least(LANES, p->width_in - x);
        vec made = nothing(average);
        for (int64_t ky = first; ky < end; ky++)
            made = take(made, load_lanes(from + (begin + ky * line + x), lanes, lanes == LANES),
                        average);
        vec_store_part(joined + x, made, lanes);
    }
}

/* LANES elements, 1 or 2 apart. */
INLINE vec load_apart(const float *from, const int stride)
{
    if (stride == 1)
        return vec_load(from);
    vec low = vec_load(from), high = vec_load(from + LANES);
#if LANES == 16
    return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                   30);
#else
    return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
#endif
}

/* joined has 2 * LANES floats more than the last window needs. */
INLINE void join_columns(const struct pooling *p, const float *joined, float *to, int64_t y,
                         bool average, const int stride)
{
    for (int64_t x = 0; x < p->width_out; x += LANES) {
        int64_t lanes = least(LANES, p->width_out - x);
        const float *from = joined + x * stride;
        vec made = load_apart(from, stride);
        for (int64_t kx = 1; kx < p->kernel_width; kx++)
            made = take(made, load_apart(from + kx * p->dilation_width, stride), average);
        if (average) {
            vec count = vec_load_part(p->columns + x, lanes) * p->rows[y];
            made /= vec_if_less(vec_set(0.0f), count, count, vec_set(1.0f));
        }
        vec_store_part(to + x, made, lanes);
    }
}

INLINE void join_columns_any(const struct pooling *p, const float *joined, float *to, int64_t y,
                             bool average)
{
    for (int64_t x = 0; x < p->width_out; x++) {
        const float *from = joined + x * p->stride_width;
        float made = from[0];
        for (int64_t kx = 1; kx < p->kernel_width; kx++)
            made = take_one(made, from[kx * p->dilation_width], average);
        if (average) {
            float count = p->rows[y] * p->columns[x];
            made /= count > 0.0f ? count : 1.0f;
        }
        to[x] = made;
    }
}

INLINE void plain_row(const struct pooling *p, const float *from, float *to, float *scratch,
                      int64_t y, bool average)
{
    join_rows(p, from, scratch, y, average);
    if (p->stride_width == 1 && p->width_out > 1)
        join_columns(p, scratch, to, y, average, 1);
    else if (p->stride_width == 2 && p->width_out > 1)
        join_columns(p, scratch, to, y, average, 2);
    else
        join_columns_any(p, scratch, to, y, average);
}

static void pool_rows(const struct pooling *p, const float *from, float *to, float *scratch,
                      int64_t begin, int64_t end)
{
    if (p->blocks) {
        channel_rows(p, from, to, begin, end);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t y = unit % p->height_out;
        const float *plane = from + unit / p->height_out * p->height_in * p->width_in;
        if (p->average)
            plain_row(p, plane, to + unit * p->width_out, scratch, y, true);
        else
            plain_row(p, plane, to + unit * p->width_out, scratch, y, false);
    }
}

const struct pooling_kernels ISA(pooling_kernels) = { pool_rows };
