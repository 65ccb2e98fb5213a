/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transposed.c: R output pixels of a phase and V blocks of channels are summed up in registers, as
 * a product of matrices is: for each tap and input channel, V vectors of weights times R pixels,
 * each brought into all lanes. What lies outside the map is read from a block of zeros.
 */
#include "transposed.h"

#include "window.h"

/* Weights that stay in the L2 cache: all phases of some pixels are made one after the other. */
enum { R_MAX = 14, CACHED_FLOATS = 64 * 1024 };

static const float nothing[LANES];

/* A pixel of a phase. */
struct pixel {
    int64_t image, row, column; /* row and column in its phase */
};

/* A block of pixels. */
struct tile {
    const struct window_plan *plan;
    const float *from;
    const float *weights; /* of the phase */
    struct transposed_axis y, x;
    int64_t pixels; /* at most R */
    bool in_row;    /* they are R neighbours in a row */
    struct pixel pixel[R_MAX];
    vec bias[TRANSPOSED_VECTORS];
    float *results; /* [V][R][LANES] */
};

/* Those behind the last are the last again. */
static void find_pixels(struct tile *tile, int64_t first)
{
    int64_t in_image = first % (tile->y.count * tile->x.count);
    struct pixel at = { .image = first / (tile->y.count * tile->x.count),
                        .row = in_image / tile->x.count,
                        .column = in_image % tile->x.count };
    tile->in_row = tile->pixels == tile->plan->block && at.column + tile->pixels <= tile->x.count;
    for (int64_t r = 0; r < tile->plan->block; r++) {
        tile->pixel[r] = at;
        if (r + 1 >= tile->pixels || ++at.column < tile->x.count)
            continue;
        at.column = 0;
        if (++at.row < tile->y.count)
            continue;
        at.row = 0;
        at.image++;
    }
}

/* Where a pixel's input of a tap is, in the first block of channels; NULL: outside. */
INLINE const float *find_input(const struct tile *tile, const struct pixel *pixel, int64_t ty,
                               int64_t tx)
{
    const struct window *window = &tile->plan->window;
    const int64_t area = window->height_in * window->width_in;
    const int64_t blocks = (window->channels_in + LANES - 1) / LANES;
    int64_t y = tile->y.base + pixel->row - ty, x = tile->x.base + pixel->column - tx;
    if (y < 0 || y >= window->height_in || x < 0 || x >= window->width_in)
        return NULL;
    return tile->from + (pixel->image * blocks * area + y * window->width_in + x) * LANES;
}

/* A tap of neighbours in a row, all of them inside. */
INLINE const float *add_row(const struct tile *tile, const float *from, const float *weights,
                            const int R, const int V, vec sums[R_MAX][TRANSPOSED_VECTORS])
{
    const struct window *window = &tile->plan->window;
    const int64_t plane = window->height_in * window->width_in * LANES;
    for (int64_t left = window->channels_in; left > 0; left -= LANES, from += plane) {
        int64_t lanes = left < LANES ? left : LANES;
        for (int64_t c = 0; c < lanes; c++, weights += V * LANES) {
            vec taps[TRANSPOSED_VECTORS];
            UNROLL
            for (int v = 0; v < V; v++)
                taps[v] = vec_load(weights + v * LANES);
            UNROLL
            for (int r = 0; r < R; r++) {
                vec pixel = vec_set(from[r * LANES + c]);
                UNROLL
                for (int v = 0; v < V; v++)
                    sums[r][v] += pixel * taps[v];
            }
        }
    }
    return weights;
}

/* A tap of any pixels. */
INLINE const float *add_pixels(const struct tile *tile, int64_t ty, int64_t tx,
                               const float *weights, const int R, const int V,
                               vec sums[R_MAX][TRANSPOSED_VECTORS])
{
    const struct window *window = &tile->plan->window;
    const int64_t plane = window->height_in * window->width_in * LANES;
    const float *at[R_MAX];
    int64_t step[R_MAX];
    for (int r = 0; r < R; r++) {
        at[r] = find_input(tile, &tile->pixel[r], ty, tx);
        step[r] = at[r] ? plane : 0;
        if (!at[r])
            at[r] = nothing;
    }
    for (int64_t left = window->channels_in; left > 0; left -= LANES) {
        int64_t lanes = left < LANES ? left : LANES;
        for (int64_t c = 0; c < lanes; c++, weights += V * LANES) {
            vec taps[TRANSPOSED_VECTORS];
            UNROLL
            for (int v = 0; v < V; v++)
                taps[v] = vec_load(weights + v * LANES);
            UNROLL
            for (int r = 0; r < R; r++) {
                vec pixel = vec_set(at[r][c]);
                UNROLL
                for (int v = 0; v < V; v++)
                    sums[r][v] += pixel * taps[v];
            }
        }
        for (int r = 0; r < R; r++)
            at[r] += step[r];
    }
    return weights;
}

INLINE void make_tile(const struct tile *tile, const int R, const int V)
{
    const struct window_plan *plan = tile->plan;
    const float *weights = tile->weights;
    vec sums[R_MAX][TRANSPOSED_VECTORS];
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < V; v++)
            sums[r][v] = tile->bias[v];
    }
    for (int64_t ty = 0; ty < tile->y.taps; ty++) {
        for (int64_t tx = 0; tx < tile->x.taps; tx++) {
            const float *first = find_input(tile, &tile->pixel[0], ty, tx);
            const float *last = find_input(tile, &tile->pixel[R - 1], ty, tx);
            if (tile->in_row && first && last)
                weights = add_row(tile, first, weights, R, V, sums);
            else
                weights = add_pixels(tile, ty, tx, weights, R, V, sums);
        }
    }
    const vec low = vec_set(plan->low), high = vec_set(plan->high);
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < V; v++)
            vec_store(tile->results + (v * R_MAX + r) * LANES,
                      plan->clamp ? window_clamp(sums[r][v], low, high) : sums[r][v]);
    }
}

typedef void tile_function(const struct tile *tile);

#define TILE(R)                                                                                    \
    static void tile_##R##_1(const struct tile *tile)                                              \
    {                                                                                              \
        make_tile(tile, R, 1);                                                                     \
    }                                                                                              \
    static void tile_##R##_2(const struct tile *tile)                                              \
    {                                                                                              \
        make_tile(tile, R, 2);                                                                     \
    }
#define FUNCTIONS(R)                                                                               \
    {                                                                                              \
        tile_##R##_1, tile_##R##_2                                                                 \
    }
#if LANES == 16
TILE(14)
TILE(8)
TILE(7)
static const int64_t sizes[] = TRANSPOSED_BLOCKS_16;
static tile_function *const functions[][TRANSPOSED_VECTORS] = { FUNCTIONS(14), FUNCTIONS(8),
                                                                FUNCTIONS(7) };
#else
TILE(6)
TILE(5)
TILE(4)
static const int64_t sizes[] = TRANSPOSED_BLOCKS_8;
static tile_function *const functions[][TRANSPOSED_VECTORS] = { FUNCTIONS(6), FUNCTIONS(5),
                                                                FUNCTIONS(4) };
#endif
enum { SIZES = sizeof functions / sizeof functions[0] };

static tile_function *choose(const struct window_plan *plan, int64_t vectors)
{
    int size = 0;
    while (size < SIZES - 1 && sizes[size] != plan->block)
        size++;
    return functions[size][vectors - 1];
}

/* Puts the results where they belong, and ends them. */
static void scatter(const struct tile *tile, float *to, int64_t first, int64_t vectors,
                    const void *const *inputs)
{
    const struct window_plan *plan = tile->plan;
    const struct window *window = &plan->window;
    const int64_t plane = window->height_out * window->width_out * LANES;
    const bool by_pixel = epilogue_tensor_inputs(&plan->rest) != 0;
    for (int64_t v = 0; v < vectors && !by_pixel; v++)
        window_end_pixels(plan, tile->results + v * R_MAX * LANES, tile->pixels, first + v, 0,
                          inputs);
    for (int64_t r = 0; r < tile->pixels; r++) {
        const struct pixel *pixel = &tile->pixel[r];
        int64_t y = tile->y.first + pixel->row * window->stride_height;
        int64_t x = tile->x.first + pixel->column * window->stride_width;
        int64_t offset = window_output(plan, pixel->image, first, y) + x * LANES;
        for (int64_t v = 0; v < vectors; v++, offset += plane) {
            vec_store(to + offset, vec_load(tile->results + (v * R_MAX + r) * LANES));
            if (by_pixel)
                window_end_pixels(plan, to + offset, 1, first + v, offset, inputs);
        }
    }
}

static void units(const struct window_plan *plan, const void *const *inputs, float *to,
                  float *scratch, int64_t begin, int64_t end)
{
    (void)scratch;
    const struct window *window = &plan->window;
    const int64_t phases = window->stride_height * window->stride_width;
    const int64_t pairs = (plan->blocks_out + TRANSPOSED_VECTORS - 1) / TRANSPOSED_VECTORS;
    const int64_t tiles = plan->units / (pairs * phases);
    const bool phases_first = plan->unit_weights <= CACHED_FLOATS;
    struct transposed_axis ys[TRANSPOSED_STRIDE_MAX], xs[TRANSPOSED_STRIDE_MAX];
    float results[TRANSPOSED_VECTORS * R_MAX * LANES];
    for (int64_t p = 0; p < window->stride_height; p++)
        ys[p] = transposed_axis(p, window->stride_height, window->kernel_height, window->pad_top,
                                window->height_out);
    for (int64_t p = 0; p < window->stride_width; p++)
        xs[p] = transposed_axis(p, window->stride_width, window->kernel_width, window->pad_left,
                                window->width_out);
    for (int64_t number = begin; number < end; number++) {
        int64_t pair = number / (phases * tiles), in_pair = number % (phases * tiles);
        int64_t phase = phases_first ? in_pair % phases : in_pair / tiles;
        int64_t block = phases_first ? in_pair / phases : in_pair % tiles;
        int64_t first = pair * TRANSPOSED_VECTORS, vectors = plan->blocks_out - first;
        vectors = vectors < TRANSPOSED_VECTORS ? vectors : TRANSPOSED_VECTORS;
        struct tile tile = { .plan = plan,
                             .from = inputs[plan->input],
                             .y = ys[phase / window->stride_width],
                             .x = xs[phase % window->stride_width],
                             .results = results };
        int64_t pixel = block * plan->block;
        tile.pixels = window->batch * tile.y.count * tile.x.count - pixel;
        tile.pixels = tile.pixels < plan->block ? tile.pixels : plan->block;
        if (tile.x.count <= 0 || tile.y.count <= 0 || tile.pixels <= 0)
            continue;
        find_pixels(&tile, pixel);
        for (int64_t v = 0; v < vectors; v++)
            tile.bias[v] = window_bias(plan, first + v);
        tile.weights = plan->weights + pair * plan->unit_weights +
                       transposed_begin(&tile.y, &tile.x, window->kernel_width) *
                           window->channels_in * vectors * LANES;
        choose(plan, vectors)(&tile);
        scatter(&tile, to, first, vectors, inputs);
    }
}

const struct transposed_kernels ISA(transposed_kernels) = { units };
