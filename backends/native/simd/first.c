/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first.c: convolutions of a few channels that lie row-major, as images do. R output pixels of a
 * row and V blocks of channels are summed up in registers: for each weight of a filter, V vectors
 * of weights times R pixels, each brought into all lanes. The rows of the window are read where
 * they are, or, with padding, from a copy with zeros around it.
 */
#include "first.h"

#include "window.h"

enum { R_MAX = 14 };

/* Rows of the window: of channel c and row ky at from + c * channel + ky * row. */
struct source {
    const float *from; /* the first row inside; what the first pixel's window begins with */
    int64_t channel, row;
    int64_t count; /* rows of the window inside */
};

struct tile {
    const struct window_plan *plan;
    struct source source;
    const float *weights; /* of the first row inside */
    float *to;            /* the row of the unit's first block */
    int64_t plane;        /* floats from block to block of the output */
    vec bias[FIRST_VECTORS];
};

INLINE void make_row(const struct tile *tile, const int64_t S, const int R, const int V)
{
    const struct window_plan *plan = tile->plan;
    const struct window *window = &plan->window;
    const struct source *source = &tile->source;
    const vec low = vec_set(plan->low), high = vec_set(plan->high);
    for (int64_t x = 0; x < window->width_out; x += R) {
        vec sums[R_MAX][FIRST_VECTORS];
        UNROLL
        for (int r = 0; r < R; r++) {
            UNROLL
            for (int v = 0; v < V; v++)
                sums[r][v] = tile->bias[v];
        }
        const float *weights = tile->weights;
        for (int64_t ky = 0; ky < source->count; ky++) {
            for (int64_t c = 0; c < window->channels_in; c++) {
                const float *from = source->from + c * source->channel + ky * source->row + x * S;
                for (int64_t kx = 0; kx < window->kernel_width; kx++, weights += V * LANES) {
                    vec taps[FIRST_VECTORS];
                    UNROLL
                    for (int v = 0; v < V; v++)
                        taps[v] = vec_load(weights + v * LANES);
                    UNROLL
                    for (int r = 0; r < R; r++) {
                        vec pixel = vec_set(from[r * S + kx]);
                        UNROLL
                        for (int v = 0; v < V; v++)
                            sums[r][v] += pixel * taps[v];
                    }
                }
            }
        }
        const int64_t inside = window->width_out - x;
        UNROLL
        for (int r = 0; r < R; r++) {
            if (r >= inside)
                break;
            UNROLL
            for (int v = 0; v < V; v++) {
                float *to = tile->to + v * tile->plane + (x + r) * LANES;
                vec_store(to, plan->clamp ? window_clamp(sums[r][v], low, high) : sums[r][v]);
            }
        }
    }
}

typedef void tile_function(const struct tile *tile);

#define TILE(S, R)                                                                                 \
    static void tile_##S##_##R##_1(const struct tile *tile)                                        \
    {                                                                                              \
        make_row(tile, S, R, 1);                                                                   \
    }                                                                                              \
    static void tile_##S##_##R##_2(const struct tile *tile)                                        \
    {                                                                                              \
        make_row(tile, S, R, 2);                                                                   \
    }
#define ANY(R)                                                                                     \
    static void tile_any_##R##_1(const struct tile *tile)                                          \
    {                                                                                              \
        make_row(tile, tile->plan->window.stride_width, R, 1);                                     \
    }                                                                                              \
    static void tile_any_##R##_2(const struct tile *tile)                                          \
    {                                                                                              \
        make_row(tile, tile->plan->window.stride_width, R, 2);                                     \
    }
#define FUNCTIONS(S, R)                                                                            \
    {                                                                                              \
        tile_##S##_##R##_1, tile_##S##_##R##_2                                                     \
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

static tile_function *choose(const struct window_plan *plan, int64_t vectors)
{
    static tile_function *const functions[5][SIZES][FIRST_VECTORS] = {
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

/* The rows of the window that lie inside, with zeros on either side. */
static void copy_rows(const struct window_plan *plan, const struct source *source, float *to)
{
    const struct window *window = &plan->window;
    const int64_t floats = first_row_floats(plan), left = window->pad_left;
    int64_t width = floats - left < window->width_in ? floats - left : window->width_in;
    for (int64_t c = 0; c < window->channels_in; c++) {
        for (int64_t ky = 0; ky < source->count; ky++) {
            float *row = to + (c * window->kernel_height + ky) * floats;
            if (width <= 0) {
                memset(row, 0, (size_t)floats * sizeof(float));
                continue;
            }
            memset(row, 0, (size_t)left * sizeof(float));
            memcpy(row + left, source->from + c * source->channel + ky * source->row,
                   (size_t)width * sizeof(float));
            memset(row + left + width, 0, (size_t)(floats - left - width) * sizeof(float));
        }
    }
}

static void rows(const struct window_plan *plan, const void *const *inputs, float *to,
                 float *scratch, int64_t begin, int64_t end)
{
    const struct window *window = &plan->window;
    const int64_t area = window->height_in * window->width_in;
    const bool straight = first_reads_straight(plan);
    for (int64_t number = begin; number < end; number++) {
        struct window_unit unit = window_unit(plan, number);
        int64_t first = unit.group * FIRST_VECTORS;
        int64_t vectors = plan->blocks_out - first;
        vectors = vectors < FIRST_VECTORS ? vectors : FIRST_VECTORS;
        int64_t count = unit.end - unit.first;
        int64_t top = count ? unit.y * window->stride_height - window->pad_top + unit.first : 0;
        int64_t offset = window_output(plan, unit.image, first, unit.y);
        struct tile tile = {
            .plan = plan,
            .source = { .from = (const float *)inputs[plan->input] +
                                unit.image * window->channels_in * area + top * window->width_in,
                        .channel = area,
                        .row = window->width_in,
                        .count = count },
            .weights = plan->weights + unit.group * plan->unit_weights +
                       unit.first * plan->row_weights / FIRST_VECTORS * vectors,
            .to = to + offset,
            .plane = window->height_out * window->width_out * LANES,
        };
        for (int64_t v = 0; v < vectors; v++)
            tile.bias[v] = window_bias(plan, first + v);
        if (!straight) {
            copy_rows(plan, &tile.source, scratch);
            tile.source.from = scratch;
            tile.source.row = first_row_floats(plan);
            tile.source.channel = window->kernel_height * tile.source.row;
        }
        choose(plan, vectors)(&tile);
        for (int64_t v = 0; v < vectors; v++)
            window_end_row(plan, tile.to + v * tile.plane, first + v, offset + v * tile.plane,
                           inputs);
    }
}

const struct first_kernels ISA(first_kernels) = { rows };
