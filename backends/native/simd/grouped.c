/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grouped.c: grouped convolutions on blocks of channels. R output pixels of a row are summed up in
 * R registers. For each row of the window and each input channel of a group, the K weights are held
 * in registers, and each input pixel is brought into all lanes once, for all the outputs that it is
 * a part of: broadcast from memory if the block of output channels lies in one group, or else by
 * a permutation that gives each lane the channel of its own group. Columns outside the map are left
 * out; where they are as the usual padding makes them, that is known when this is compiled.
 */
#include "grouped.h"

#include "window.h"

enum { R_MAX = 14, K_MAX = 5 };

#ifdef __AVX2__
#define PERMUTES true
#else
#define PERMUTES false /* but slowly: not in many forms */
#endif

/* One pixel's channels in the order of an index. */
INLINE vec permute(vec v, ivec index)
{
#ifdef __AVX512F__
    return (vec)_mm512_permutexvar_ps((__m512i)index, (__m512)v);
#elif defined __AVX2__
    return (vec)_mm256_permutevar8x32_ps((__m256)v, (__m256i)index);
#else
    float from[LANES], to[LANES];
    vec_store(from, v);
    for (int lane = 0; lane < LANES; lane++)
        to[lane] = from[index[lane]];
    return vec_load(to);
#endif
}

struct row {
    const struct window_plan *plan;
    const float *from;    /* the first row inside, of the first input block; column 0 */
    const float *weights; /* of that row of the window */
    float *to;
    int64_t count;    /* rows of the window inside */
    int64_t channels; /* of a group */
    vec bias;
    ivec index; /* of each lane's first input channel; if groups share a vector */
};

/* What is known of a block when this is compiled. */
struct form {
    int K, S, R; /* columns of the window, stride, pixels */
    bool mixed;  /* groups share a vector */
    /* How many columns of the input lie outside; -1: as it comes, the block may reach over the end
     * of the row */
    int left, right;
};

/* The columns of a block, for one input channel. */
INLINE void columns(const struct form f, const float *from, ivec index, const vec *taps, vec *sums,
                    int64_t begin, int64_t end)
{
    const int count = (f.R - 1) * f.S + f.K;
    UNROLL
    for (int c = 0; c < count; c++) {
        if (f.left < 0 ? c < begin || c >= end : c < f.left || c >= count - f.right)
            continue;
        vec pixel = f.mixed ? permute(vec_load(from + c * LANES), index) : vec_set(from[c * LANES]);
        UNROLL
        for (int kx = 0; kx < f.K; kx++) {
            if (c >= kx && (c - kx) % f.S == 0 && (c - kx) / f.S < f.R)
                sums[(c - kx) / f.S] += pixel * taps[kx];
        }
    }
}

INLINE void block(const struct row *row, int64_t x, const struct form f)
{
    const struct window_plan *plan = row->plan;
    const struct window *window = &plan->window;
    const int64_t left = x * f.S - window->pad_left, stride = window->width_in * LANES;
    const int64_t per_block = f.mixed ? row->channels : LANES;
    const int64_t plane = window->height_in * stride;
    const float *weights = row->weights;
    vec sums[R_MAX], taps[K_MAX];
    UNROLL
    for (int r = 0; r < f.R; r++)
        sums[r] = row->bias;
    for (int64_t ky = 0; ky < row->count; ky++) {
        int64_t at = ky * stride + left * LANES;
        for (int64_t first = 0; first < row->channels; first += per_block, at += plane) {
            for (int i = 0; i < (int)per_block; i++, weights += f.K * LANES) {
                UNROLL
                for (int kx = 0; kx < f.K; kx++)
                    taps[kx] = vec_load(weights + kx * LANES);
                columns(f, row->from + at + (f.mixed ? 0 : i), row->index + i, taps, sums, -left,
                        window->width_in - left);
            }
        }
    }
    const int64_t inside = window->width_out - x;
    const vec low = vec_set(plan->low), high = vec_set(plan->high);
    float *to = row->to + x * LANES;
    UNROLL
    for (int r = 0; r < f.R; r++) {
        if (f.left >= 0 || r < inside)
            vec_store(to + r * LANES, plan->clamp ? window_clamp(sums[r], low, high) : sums[r]);
    }
}

/* The last block ends with the row, and makes some pixels again. */
INLINE void whole_row(const struct row *row, const int K, const int S, const int R,
                      const bool mixed)
{
    const struct window *window = &row->plan->window;
    const int edge = K == 3; /* pads that are usual */
    for (int64_t x = 0; x < window->width_out; x += R) {
        if (x + R > window->width_out && window->width_out >= R)
            x = window->width_out - R;
        int64_t left = window->pad_left - x * S;
        int64_t right = (R - 1) * S + K - left - window->width_in;
        if (x + R > window->width_out)
            block(row, x, (struct form){ K, S, R, mixed, -1, -1 });
        else if (left <= 0 && right <= 0)
            block(row, x, (struct form){ K, S, R, mixed, 0, 0 });
        else if (edge && left == edge && right <= 0)
            block(row, x, (struct form){ K, S, R, mixed, edge, 0 });
        else if (edge && left <= 0 && right == edge)
            block(row, x, (struct form){ K, S, R, mixed, 0, edge });
        else if (edge && left == edge && right == edge)
            block(row, x, (struct form){ K, S, R, mixed, edge, edge });
        else
            block(row, x, (struct form){ K, S, R, mixed, -1, -1 });
    }
}

/* Any width and stride. */
INLINE void row_any(const struct row *row, const bool mixed)
{
    enum { R = 7 };
    const struct window_plan *plan = row->plan;
    const struct window *window = &plan->window;
    const int64_t stride = window->stride_width, per_block = mixed ? row->channels : LANES;
    const vec low = vec_set(plan->low), high = vec_set(plan->high);
    for (int64_t x = 0; x < window->width_out; x += R) {
        vec sums[R];
        UNROLL
        for (int r = 0; r < R; r++)
            sums[r] = row->bias;
        const float *weights = row->weights;
        for (int64_t k = 0; k < row->count * row->channels; k++) {
            const int64_t ky = k / row->channels, channel = k % row->channels;
            const float *from = row->from + (channel / per_block * window->height_in + ky) *
                                                window->width_in * LANES;
            const int i = (int)(channel % per_block);
            for (int64_t kx = 0; kx < window->kernel_width; kx++, weights += LANES) {
                vec tap = vec_load(weights);
                int64_t column = x * stride - window->pad_left + kx;
                UNROLL
                for (int r = 0; r < R; r++) {
                    int64_t c = column + r * stride;
                    if (c < 0 || c >= window->width_in)
                        continue;
                    vec pixel = mixed ? permute(vec_load(from + c * LANES), row->index + i)
                                      : vec_set(from[c * LANES + i]);
                    sums[r] += pixel * tap;
                }
            }
        }
        for (int r = 0; r < R && x + r < window->width_out; r++)
            vec_store(row->to + (x + r) * LANES,
                      plan->clamp ? window_clamp(sums[r], low, high) : sums[r]);
    }
}

typedef void row_function(const struct row *row);

#define ROW(K, S, R)                                                                               \
    static void whole_##K##_##S##_##R(const struct row *row)                                       \
    {                                                                                              \
        whole_row(row, K, S, R, false);                                                            \
    }                                                                                              \
    static void mixed_##K##_##S##_##R(const struct row *row)                                       \
    {                                                                                              \
        if (PERMUTES)                                                                              \
            whole_row(row, K, S, R, true);                                                         \
    }
#define FUNCTIONS(K, S, R)                                                                         \
    {                                                                                              \
        whole_##K##_##S##_##R, mixed_##K##_##S##_##R                                               \
    }

#if LANES == 16
#define ROWS(K, S)                                                                                 \
    ROW(K, S, 14)                                                                                  \
    ROW(K, S, 8)                                                                                   \
    ROW(K, S, 7)
#define BLOCKS(K, S)                                                                               \
    {                                                                                              \
        FUNCTIONS(K, S, 14), FUNCTIONS(K, S, 8), FUNCTIONS(K, S, 7)                                \
    }
static const int64_t sizes[] = GROUPED_BLOCKS_16;
#else
#define ROWS(K, S)                                                                                 \
    ROW(K, S, 8)                                                                                   \
    ROW(K, S, 7)
#define BLOCKS(K, S)                                                                               \
    {                                                                                              \
        FUNCTIONS(K, S, 8), FUNCTIONS(K, S, 7)                                                     \
    }
static const int64_t sizes[] = GROUPED_BLOCKS_8;
#endif
enum { SIZES = sizeof sizes / sizeof sizes[0] - 1 };

ROWS(3, 1)
ROWS(3, 2)
ROWS(5, 1)
ROWS(5, 2)

static void any_whole(const struct row *row)
{
    row_any(row, false);
}

static void any_mixed(const struct row *row)
{
    row_any(row, true);
}

static row_function *choose(const struct window_plan *plan, bool mixed)
{
    static row_function *const rows[2][2][SIZES][2] = {
        { BLOCKS(3, 1), BLOCKS(3, 2) },
        { BLOCKS(5, 1), BLOCKS(5, 2) },
    };
    int64_t k = plan->window.kernel_width, s = plan->window.stride_width;
    int size = 0;
    while (size < SIZES && sizes[size] != plan->block)
        size++;
    if ((k != 3 && k != 5) || s > 2 || size == SIZES || (mixed && !PERMUTES))
        return mixed ? any_mixed : any_whole;
    return rows[(k - 3) / 2][s - 1][size][mixed];
}

static void rows(const struct window_plan *plan, const void *const *inputs, float *to,
                 float *scratch, int64_t begin, int64_t end)
{
    (void)scratch;
    const struct window *window = &plan->window;
    const int64_t channels = window->channels_in / window->group;
    const int64_t made = window->channels_out / window->group;
    const int64_t blocks_in = (window->channels_in + LANES - 1) / LANES;
    const bool mixed = made < LANES;
    row_function *function = choose(plan, mixed);
    ivec lanes = vec_lane_numbers();
    for (int64_t number = begin; number < end; number++) {
        struct window_unit unit = window_unit(plan, number);
        int64_t count = unit.end - unit.first;
        int64_t top = count ? unit.y * window->stride_height - window->pad_top + unit.first : 0;
        int64_t first = mixed ? unit.group : unit.group * LANES / made * channels / LANES;
        int64_t offset = window_output(plan, unit.image, unit.group, unit.y);
        struct row row = {
            .plan = plan,
            .from = (const float *)inputs[plan->input] +
                    ((unit.image * blocks_in + first) * window->height_in + top) *
                        window->width_in * LANES,
            .weights =
                plan->weights + unit.group * plan->unit_weights + unit.first * plan->row_weights,
            .to = to + offset,
            .count = count,
            .channels = channels,
            .bias = window_bias(plan, unit.group),
            .index = lanes & ivec_set(mixed ? -(int32_t)made : 0), /* a power of two */
        };
        function(&row);
        window_end_row(plan, row.to, unit.group, offset, inputs);
    }
}

const struct grouped_kernels ISA(grouped_kernels) = { rows };
