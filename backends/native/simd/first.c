/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first.c: convolutions of a few channels that lie row-major, as images do. R output pixels of a
 * row and V blocks of channels are summed up in registers: for each weight of a filter, V vectors
 * of weights times R pixels, each brought into all lanes. The windows are read where they are, or,
 * at the border, from a copy with zeros around it.
 */
#include "first.h"

#include "window.h"

enum { R_MAX = 14 };

/* Rows of the window: of channel c and row ky at from + c * channel + ky * row. */
struct source {
    const float *from; /* the first row inside */
    int64_t channel, row;
    int64_t count; /* rows of the window inside */
};

/* A row of output pixels, of one unit. */
struct row {
    const struct window_plan *plan;
    const void *const *inputs;
    struct source source; /* column 0 */
    const float *weights; /* of the first row inside */
    float *scratch;
    float *to;             /* the output */
    int64_t block, offset; /* the first block of channels, and where its row lies */
    vec bias[FIRST_VECTORS];
};

/* The part of the rows that a block of pixels from column `left` on reaches, zeros outside. */
static struct source copy_border(const struct row *row, int64_t left)
{
    const struct window_plan *plan = row->plan;
    const struct window *window = &plan->window;
    const struct source *source = &row->source;
    const int64_t floats = first_row_floats(plan), reach = first_reach(plan);
    const int64_t begin = left < 0 ? -left : 0;
    const int64_t end = window->width_in - left < reach ? window->width_in - left : reach;
    for (int64_t c = 0; c < window->channels_in; c++) {
        for (int64_t ky = 0; ky < source->count; ky++) {
            const float *from = source->from + c * source->channel + ky * source->row + left;
            float *to = row->scratch + (c * window->kernel_height + ky) * floats;
            for (int64_t k = 0; k < floats; k += LANES)
                vec_store(to + k, vec_set(0.0f));
            for (int64_t k = begin; k < end; k += LANES) {
                int64_t part = end - k < LANES ? end - k : LANES;
                vec_store_part(to + k, vec_load_part(from + k, part), part);
            }
        }
    }
    return (struct source){ row->scratch, window->kernel_height * floats, floats, source->count };
}

INLINE void sum_windows(const struct row *row, const struct source *source, const int64_t S,
                        const int R, const int V, vec sums[R_MAX][FIRST_VECTORS])
{
    const struct window *window = &row->plan->window;
    const float *weights = row->weights;
    for (int64_t ky = 0; ky < source->count; ky++) {
        for (int64_t c = 0; c < window->channels_in; c++) {
            const float *from = source->from + c * source->channel + ky * source->row;
            for (int64_t kx = 0; kx < window->kernel_width; kx++, from++, weights += V * LANES) {
                vec taps[FIRST_VECTORS];
                HIDE(from);
                UNROLL
                for (int v = 0; v < V; v++)
                    taps[v] = vec_load(weights + v * LANES);
                UNROLL
                for (int r = 0; r < R; r++) {
                    vec pixel = vec_set(from[r * S]);
                    UNROLL
                    for (int v = 0; v < V; v++)
                        sums[r][v] += pixel * taps[v];
                }
            }
        }
    }
}

INLINE void make_row(const struct row *row, const int64_t S, const int R, const int V)
{
    const struct window_plan *plan = row->plan;
    const struct window *window = &plan->window;
    const int64_t plane = window->height_out * window->width_out * LANES;
    const vec low = vec_set(plan->low), high = vec_set(plan->high);
    for (int64_t x = 0; x < window->width_out; x += R) {
        int64_t left = x * S - window->pad_left;
        int64_t pixels = window->width_out - x < R ? window->width_out - x : R;
        vec sums[R_MAX][FIRST_VECTORS];
        UNROLL
        for (int r = 0; r < R; r++) {
            UNROLL
            for (int v = 0; v < V; v++)
                sums[r][v] = row->bias[v];
        }
        struct source source = row->source;
        if (left >= 0 && left + first_reach(plan) <= window->width_in)
            source.from += left;
        else
            source = copy_border(row, left);
        sum_windows(row, &source, S, R, V, sums);
        float *to = row->to + row->offset + x * LANES;
        UNROLL
        for (int r = 0; r < R; r++) {
            if (r >= pixels)
                break;
            UNROLL
            for (int v = 0; v < V; v++)
                vec_store(to + v * plane + r * LANES,
                          plan->clamp ? window_clamp(sums[r][v], low, high) : sums[r][v]);
        }
        for (int v = 0; v < V; v++)
            window_end_pixels(plan, to + v * plane, pixels, row->block + v,
                              row->offset + x * LANES + v * plane, row->inputs);
    }
}

typedef void row_function(const struct row *row);

#define TILE(S, R)                                                                                 \
    static void row_##S##_##R##_1(const struct row *row)                                           \
    {                                                                                              \
        make_row(row, S, R, 1);                                                                    \
    }                                                                                              \
    static void row_##S##_##R##_2(const struct row *row)                                           \
    {                                                                                              \
        make_row(row, S, R, 2);                                                                    \
    }
#define ANY(R)                                                                                     \
    static void row_any_##R##_1(const struct row *row)                                             \
    {                                                                                              \
        make_row(row, row->plan->window.stride_width, R, 1);                                       \
    }                                                                                              \
    static void row_any_##R##_2(const struct row *row)                                             \
    {                                                                                              \
        make_row(row, row->plan->window.stride_width, R, 2);                                       \
    }
#define FUNCTIONS(S, R)                                                                            \
    {                                                                                              \
        row_##S##_##R##_1, row_##S##_##R##_2                                                       \
    }
#if LANES == 16
#define TILES(S)                                                                                   \
    TILE(S, 14)                                                                                    \
    TILE(S, 8)                                                                                     \
    TILE(S, 7)
#define BLOCKS(S)                                                                                  \
    {                                                                                              \
        FUNCTIONS(S, 14), FUNCTIONS(S, 8), FUNCTIONS(S, 7)                                         \
    }
static const int64_t sizes[] = FIRST_BLOCKS_16;
ANY(14)
ANY(8)
ANY(7)
#else
#define TILES(S)                                                                                   \
    TILE(S, 6)                                                                                     \
    TILE(S, 5)                                                                                     \
    TILE(S, 4)
#define BLOCKS(S)                                                                                  \
    {                                                                                              \
        FUNCTIONS(S, 6), FUNCTIONS(S, 5), FUNCTIONS(S, 4)                                          \
    }
static const int64_t sizes[] = FIRST_BLOCKS_8;
ANY(6)
ANY(5)
ANY(4)
#endif
enum { SIZES = sizeof sizes / sizeof sizes[0] - 1 };

TILES(1)
TILES(2)
TILES(4)
TILES(16)

static row_function *choose(const struct window_plan *plan, int64_t vectors)
{
    static row_function *const functions[5][SIZES][FIRST_VECTORS] = {
        BLOCKS(1), BLOCKS(2), BLOCKS(4), BLOCKS(16), BLOCKS(any),
    };
    static const int64_t strides[4] = { 1, 2, 4, 16 };
    int stride = 0, size = 0;
    while (stride < 4 && strides[stride] != plan->window.stride_width)
        stride++;
    while (size < SIZES - 1 && sizes[size] != plan->block)
        size++;
    return functions[stride][size][vectors - 1];
}

static void rows(const struct window_plan *plan, const void *const *inputs, float *to,
                 float *scratch, int64_t begin, int64_t end)
{
    const struct window *window = &plan->window;
    const int64_t area = window->height_in * window->width_in;
    for (int64_t number = begin; number < end; number++) {
        struct window_unit unit = window_unit(plan, number);
        int64_t block = unit.group * FIRST_VECTORS;
        int64_t vectors = plan->blocks_out - block;
        vectors = vectors < FIRST_VECTORS ? vectors : FIRST_VECTORS;
        int64_t count = unit.end - unit.first;
        int64_t top = count ? unit.y * window->stride_height - window->pad_top + unit.first : 0;
        struct row row = {
            .plan = plan,
            .inputs = inputs,
            .source = { .from = (const float *)inputs[plan->input] +
                                unit.image * window->channels_in * area + top * window->width_in,
                        .channel = area,
                        .row = window->width_in,
                        .count = count },
            .weights = plan->weights + unit.group * plan->unit_weights +
                       unit.first * plan->row_weights / FIRST_VECTORS * vectors,
            .scratch = scratch,
            .to = to,
            .block = block,
            .offset = window_output(plan, unit.image, block, unit.y),
        };
        for (int64_t v = 0; v < vectors; v++)
            row.bias[v] = window_bias(plan, block + v);
        choose(plan, vectors)(&row);
    }
}

const struct first_kernels ISA(first_kernels) = { rows };
