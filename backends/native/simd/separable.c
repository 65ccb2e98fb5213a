/* SPDX-License-Identifier: Apache-2.0 */
/*
 * separable.c: depthwise separable convolutions on blocks of channels. The depthwise results of
 * some rows lie in scratch, in cache, as a blocked tensor of these rows; the pointwise convolution
 * is a product of matrices on them: up to R_MAX pixels x 2 blocks of channels in registers, which
 * AVX-512 has 32 of (28 sums, 2 weights, 1 pixel), AVX2 16.
 */
#include "separable.h"

#include "depthwise_row.h"

DEPTHWISE_ROWS(0)
DEPTHWISE_ROWS(1)

enum { V_MAX = SEPARABLE_VECTORS, R_MAX = LANES == 16 ? 14 : 6 };

static depthwise_function *choose_row(const struct separable *separable)
{
    return separable->relu ? depthwise_choose_1(&separable->depthwise)
                           : depthwise_choose_0(&separable->depthwise);
}

/* Half a vector, for the last block of channels: where the lanes of a vector are made by two units,
 * half of them takes half of the time. */
#if LANES == 16
typedef float half __attribute__((vector_size(32), may_alias));

INLINE half half_of(vec v)
{
    return (half)_mm512_castps512_ps256((__m512)v);
}

INLINE vec half_widen(half h)
{
    return (vec)_mm512_zextps256_ps512((__m256)h);
}
#else
typedef vec half; /* never used */

INLINE half half_of(vec v)
{
    return v;
}

INLINE vec half_widen(half h)
{
    return h;
}
#endif

/* Some pixels times the weights of up to V_MAX blocks. */
struct product {
    const float *from; /* the first pixel of the first block of channels */
    int64_t from_plane, channels;
    const float *weights;
    float *to; /* the first pixel of the first block */
    int64_t to_plane;
    vec bias[V_MAX], low, high;
    bool clamp;
};

INLINE void put(const struct product *product, int v, int r, vec sum)
{
    vec_store(product->to + v * product->to_plane + r * LANES,
              product->clamp ? window_clamp(sum, product->low, product->high) : sum);
}

/* R: pixels, V: blocks, the last of which is half if `part`; constant. */
INLINE void multiply(const struct product *product, const int R, const int V, const bool part)
{
    const int whole = part ? V - 1 : V;
    vec sums[R_MAX][V_MAX];
    half parts[R_MAX];
    const float *from = product->from, *weights = product->weights;
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < whole; v++)
            sums[r][v] = product->bias[v];
        if (part)
            parts[r] = half_of(product->bias[V - 1]);
    }
    for (int64_t left = product->channels; left > 0; left -= LANES, from += product->from_plane) {
        int64_t lanes = left < LANES ? left : LANES;
        for (int64_t c = 0; c < lanes; c++, weights += V * LANES) {
            vec taps[V_MAX];
            UNROLL
            for (int v = 0; v < whole; v++)
                taps[v] = vec_load(weights + v * LANES);
            half tap = half_of(part ? vec_load(weights + whole * LANES) : vec_set(0.0f));
            UNROLL
            for (int r = 0; r < R; r++) {
                vec pixel = vec_set(from[r * LANES + c]);
                UNROLL
                for (int v = 0; v < whole; v++)
                    sums[r][v] += pixel * taps[v];
                if (part)
                    parts[r] += half_of(pixel) * tap;
            }
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < whole; v++)
            put(product, v, r, sums[r][v]);
        if (part)
            put(product, whole, r, half_widen(parts[r]));
    }
}

typedef void multiply_function(const struct product *product);

#define MULTIPLY(R)                                                                                \
    static void multiply_##R##_1(const struct product *product)                                    \
    {                                                                                              \
        multiply(product, R, 1, false);                                                            \
    }                                                                                              \
    static void multiply_##R##_2(const struct product *product)                                    \
    {                                                                                              \
        multiply(product, R, 2, false);                                                            \
    }
#define MULTIPLY_PART(R)                                                                           \
    MULTIPLY(R)                                                                                    \
    static void multiply_##R##_1_part(const struct product *product)                               \
    {                                                                                              \
        multiply(product, R, 1, true);                                                             \
    }                                                                                              \
    static void multiply_##R##_2_part(const struct product *product)                               \
    {                                                                                              \
        multiply(product, R, 2, true);                                                             \
    }

#if LANES == 16
#define FUNCTIONS(R)                                                                               \
    {                                                                                              \
        { multiply_##R##_1, multiply_##R##_2 },                                                    \
        {                                                                                          \
            multiply_##R##_1_part, multiply_##R##_2_part                                           \
        }                                                                                          \
    }
MULTIPLY_PART(1)
MULTIPLY_PART(2)
MULTIPLY_PART(3)
MULTIPLY_PART(4)
MULTIPLY_PART(5)
MULTIPLY_PART(6)
MULTIPLY_PART(7)
MULTIPLY_PART(8)
MULTIPLY_PART(9)
MULTIPLY_PART(10)
MULTIPLY_PART(11)
MULTIPLY_PART(12)
MULTIPLY_PART(13)
MULTIPLY_PART(14)
static multiply_function *const functions[R_MAX][2][V_MAX] = {
    FUNCTIONS(1),  FUNCTIONS(2),  FUNCTIONS(3),  FUNCTIONS(4),  FUNCTIONS(5),
    FUNCTIONS(6),  FUNCTIONS(7),  FUNCTIONS(8),  FUNCTIONS(9),  FUNCTIONS(10),
    FUNCTIONS(11), FUNCTIONS(12), FUNCTIONS(13), FUNCTIONS(14),
};
#else
#define FUNCTIONS(R)                                                                               \
    {                                                                                              \
        {                                                                                          \
            multiply_##R##_1, multiply_##R##_2                                                     \
        }                                                                                          \
    }
MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(3)
MULTIPLY(4)
MULTIPLY(5)
MULTIPLY(6)
static multiply_function *const functions[R_MAX][1][V_MAX] = { FUNCTIONS(1), FUNCTIONS(2),
                                                               FUNCTIONS(3), FUNCTIONS(4),
                                                               FUNCTIONS(5), FUNCTIONS(6) };
#endif

/* Some pixels of an image, of which there are depthwise results. */
struct pixels {
    const float *from; /* the first one's */
    int64_t from_plane;
    int64_t image, first, count; /* the first one's number in the image */
};

/* The outputs of a pair of blocks for the pixels from `begin` up to `end`, at most R_MAX. */
static void make_piece(const struct separable *separable, const struct pixels *pixels, int64_t pair,
                       int64_t begin, int64_t end, const void *const *inputs, float *to)
{
    const struct window_plan *plan = &separable->plan;
    const int64_t plane = plan->window.height_out * plan->window.width_out * LANES;
    const int64_t first = pair * V_MAX, left = plan->blocks_out - first;
    const int64_t vectors = left < V_MAX ? left : V_MAX;
    int64_t offset = window_output(plan, pixels->image, first, 0) + (pixels->first + begin) * LANES;
    struct product product = { .from = pixels->from + begin * LANES,
                               .from_plane = pixels->from_plane,
                               .channels = plan->window.channels_in,
                               .weights = plan->weights + pair * plan->unit_weights,
                               .to = to + offset,
                               .to_plane = plane,
                               .low = vec_set(plan->low),
                               .high = vec_set(plan->high),
                               .clamp = plan->clamp };
    for (int64_t v = 0; v < vectors; v++)
        product.bias[v] = window_bias(plan, first + v);
    const bool part =
        LANES == 16 && plan->window.channels_out - (first + vectors - 1) * LANES <= LANES / 2;
    functions[end - begin - 1][part][vectors - 1](&product);
    for (int64_t v = 0; v < vectors; v++, offset += plane)
        window_end_pixels(plan, to + offset, end - begin, first + v, offset, inputs);
}

/* The depthwise results of `rows` rows of a block, from row y on. */
static void make_rows(const struct separable *separable, depthwise_function *function,
                      const float *from, int64_t image, int64_t block, int64_t y, int64_t rows,
                      float *to)
{
    const struct window_plan *depthwise = &separable->depthwise;
    struct window_unit unit = { .image = image, .group = block, .y = y };
    for (; unit.y < y + rows; unit.y++, to += depthwise->window.width_out * LANES) {
        window_clip_rows(&depthwise->window, &unit);
        struct depthwise_row row = depthwise_row(depthwise, from, &unit, to);
        function(&row);
        if (depthwise->rest.count)
            epilogue_blocked(&depthwise->rest, to, depthwise->window.width_out, block * LANES, 0,
                             NULL);
    }
}

static void rows(const struct window_plan *plan, const void *const *inputs, float *to,
                 float *scratch, int64_t begin, int64_t end)
{
    const struct separable *separable = (const struct separable *)plan;
    const struct window *window = &plan->window;
    const int64_t pairs = (plan->blocks_out + V_MAX - 1) / V_MAX;
    depthwise_function *function = choose_row(separable);
    for (int64_t count; begin < end; begin += count) {
        const int64_t image = begin / window->height_out, y = begin % window->height_out;
        count = plan->block < end - begin ? plan->block : end - begin;
        count = count < window->height_out - y ? count : window->height_out - y;
        struct pixels pixels = { .from = scratch,
                                 .from_plane = count * window->width_out * LANES,
                                 .image = image,
                                 .first = y * window->width_out,
                                 .count = count * window->width_out };
        for (int64_t block = 0; block < separable->depthwise.blocks_out; block++)
            make_rows(separable, function, inputs[plan->input], image, block, y, count,
                      scratch + block * pixels.from_plane);
        const int64_t pieces = (pixels.count + R_MAX - 1) / R_MAX;
        for (int64_t pair = 0; pair < pairs; pair++) {
            for (int64_t k = 0; k < pieces; k++)
                make_piece(separable, &pixels, pair, pixels.count * k / pieces,
                           pixels.count * (k + 1) / pieces, inputs, to);
        }
    }
}

static void blocks(const struct separable *separable, const void *const *inputs, float *all,
                   float *to, int64_t begin, int64_t end)
{
    (void)to;
    const struct window *window = &separable->plan.window;
    const int64_t plane = window->height_out * window->width_out * LANES;
    depthwise_function *function = choose_row(separable);
    for (int64_t number = begin; number < end; number++)
        make_rows(separable, function, inputs[separable->plan.input],
                  number / separable->depthwise.blocks_out,
                  number % separable->depthwise.blocks_out, 0, window->height_out,
                  all + number * plane);
}

static void products(const struct separable *separable, const void *const *inputs, float *all,
                     float *to, int64_t begin, int64_t end)
{
    const struct window *window = &separable->plan.window;
    const int64_t count = window->height_out * window->width_out;
    const int64_t pieces = separable->pieces;
    for (int64_t number = begin; number < end; number++) {
        const int64_t piece = number % pieces, image = number / pieces % window->batch;
        struct pixels pixels = { .from =
                                     all + image * separable->depthwise.blocks_out * count * LANES,
                                 .from_plane = count * LANES,
                                 .image = image,
                                 .count = count };
        make_piece(separable, &pixels, number / pieces / window->batch, count * piece / pieces,
                   count * (piece + 1) / pieces, inputs, to);
    }
}

const struct separable_kernels ISA(separable_kernels) = { rows, blocks, products, R_MAX };
