/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.c: transforms of input and output tiles. In one dimension, with the points +-a, the rows
 * of a pair of points share their even and their odd part.
 */
#include "winograd.h"

#include "epilogue.h"
#include "winograd_multiply.h"

enum { LINE_MAX = WINOGRAD_LINE_MAX, RESULTS_MAX = 8 };

/* Constants of F(m): the points, and the coefficients of products of (x^2 - point^2). */
INLINE float point(int m, int k)
{
    const double two[] = WINOGRAD_POINTS_2, four[] = WINOGRAD_POINTS_4, six[] = WINOGRAD_POINTS_6;
    return (float)(m == 2 ? two[k] : m == 4 ? four[k] : six[k]);
}

INLINE float pair(int m, int k)
{
    const double two[] = WINOGRAD_PAIRS_2, four[] = WINOGRAD_PAIRS_4;
    return (float)(m == 2 ? two[k] : four[k]);
}

/* Of a tile in one dimension (simd/winograd.h). */
INLINE int inputs_of(enum winograd_kind kind, int m)
{
    return kind == WINOGRAD_STRIDED ? 2 * m + 1 : m + 2;
}

INLINE int points_of(enum winograd_kind kind, int m)
{
    return kind == WINOGRAD_PLAIN ? m + 2 : kind == WINOGRAD_STRIDED ? 2 * m + 1 : 2 * (m + 1);
}

INLINE int side_of(enum winograd_kind kind, int m)
{
    return kind == WINOGRAD_PLAIN ? m + 2 : kind == WINOGRAD_STRIDED ? m + 1 : 2 * (m + 1);
}

INLINE int results_of(enum winograd_kind kind, int m)
{
    return kind == WINOGRAD_TRANSPOSED ? 2 * m : m;
}

/* B^T d of F(m, 3). */
INLINE void plain_line(int m, const vec *d, vec *out)
{
    float a = point(m, 0), a2 = a * a;
    if (m == 2) {
        out[0] = d[2] - d[0];
        out[1] = d[2] + d[1];
        out[2] = d[2] - d[1];
        out[3] = d[3] - d[1];
        return;
    }
    float b = point(m, 1), b2 = b * b;
    if (m == 4) {
        vec even_a = d[4] - b2 * d[2], odd_a = d[3] - b2 * d[1];
        vec even_b = d[4] - a2 * d[2], odd_b = d[3] - a2 * d[1];
        out[0] = d[4] - (a2 + b2) * d[2] + (a2 * b2) * d[0];
        out[1] = even_a + a * odd_a;
        out[2] = even_a - a * odd_a;
        out[3] = even_b + b * odd_b;
        out[4] = even_b - b * odd_b;
        out[5] = d[5] - (a2 + b2) * d[3] + (a2 * b2) * d[1];
        return;
    }
    float c = point(m, 2), c2 = c * c;
    float s1 = a2 + b2 + c2, s2 = a2 * b2 + a2 * c2 + b2 * c2, s3 = a2 * b2 * c2;
    out[0] = d[6] - s1 * d[4] + s2 * d[2] - s3 * d[0];
    vec even = d[6] - (b2 + c2) * d[4] + (b2 * c2) * d[2];
    vec odd = d[5] - (b2 + c2) * d[3] + (b2 * c2) * d[1];
    out[1] = even + a * odd;
    out[2] = even - a * odd;
    even = d[6] - (a2 + c2) * d[4] + (a2 * c2) * d[2];
    odd = d[5] - (a2 + c2) * d[3] + (a2 * c2) * d[1];
    out[3] = even + b * odd;
    out[4] = even - b * odd;
    even = d[6] - (a2 + b2) * d[4] + (a2 * b2) * d[2];
    odd = d[5] - (a2 + b2) * d[3] + (a2 * b2) * d[1];
    out[5] = even + c * odd;
    out[6] = even - c * odd;
    out[7] = d[7] - s1 * d[5] + s2 * d[3] - s3 * d[1];
}

/* Of each `step`-th input: the m finite points of F(m, 1) and of F(m, 2). */
INLINE void finite_points(int m, const vec *d, int step, vec *out)
{
    float a = pair(m, 0), a2 = a * a;
    if (m == 2) {
        out[0] = d[step] + a * d[0];
        out[1] = d[step] - a * d[0];
        return;
    }
    float b = pair(m, 1), b2 = b * b;
    vec even_a = d[2 * step] - b2 * d[0], odd_a = d[3 * step] - b2 * d[step];
    vec even_b = d[2 * step] - a2 * d[0], odd_b = d[3 * step] - a2 * d[step];
    out[0] = odd_a + a * even_a;
    out[1] = odd_a - a * even_a;
    out[2] = odd_b + b * even_b;
    out[3] = odd_b - b * even_b;
}

/* The point at infinity of F(m, 2). */
INLINE vec infinite_point(int m, const vec *d, int step)
{
    float a = pair(m, 0), a2 = a * a;
    if (m == 2)
        return d[2 * step] - a2 * d[0];
    float b = pair(m, 1), b2 = b * b;
    return d[4 * step] - (a2 + b2) * d[2 * step] + (a2 * b2) * d[0];
}

/* From the inputs of a line to its values. */
INLINE void input_line(enum winograd_kind kind, int m, const vec *d, vec *out)
{
    if (kind == WINOGRAD_PLAIN) {
        plain_line(m, d, out);
    } else if (kind == WINOGRAD_STRIDED) {
        finite_points(m, d, 2, out);
        out[m] = infinite_point(m, d, 2);
        finite_points(m, d + 1, 2, out + m + 1);
    } else {
        finite_points(m, d, 1, out);
        out[m] = infinite_point(m, d, 1);
        finite_points(m, d + 1, 1, out + m + 1);
        out[2 * m + 1] = infinite_point(m, d + 1, 1);
    }
}

/* A^T e: from elements to m results. The elements of F(m, 3) begin with the point 0. */
INLINE void short_line(bool zero, int m, const vec *e, vec *out)
{
    float powers[3] = { 1.0f, 1.0f, 1.0f };
    vec even[3], odd[3];
    const vec *pairs = e + (zero ? 1 : 0);
#pragma GCC unroll 3
    for (int k = 0; k < m / 2; k++) {
        even[k] = pairs[2 * k] + pairs[2 * k + 1];
        odd[k] = pairs[2 * k] - pairs[2 * k + 1];
    }
#pragma GCC unroll 6
    for (int i = 0; i < m; i++) {
        vec sum = (i % 2 ? odd[0] : even[0]) * powers[0];
#pragma GCC unroll 3
        for (int k = 1; k < m / 2; k++)
            sum = sum + (i % 2 ? odd[k] : even[k]) * powers[k];
        if (zero && i == 0)
            sum = sum + e[0];
        if (i == m - 1)
            sum = sum + pairs[m];
        out[i] = sum;
#pragma GCC unroll 3
        for (int k = 0; k < m / 2; k++)
            powers[k] *= zero ? point(m, k) : pair(m, k);
    }
}

/* From the elements of a line to its results. */
INLINE void output_line(enum winograd_kind kind, int m, const vec *e, vec *out)
{
    if (kind != WINOGRAD_TRANSPOSED) {
        short_line(kind == WINOGRAD_PLAIN, m, e, out);
        return;
    }
    vec even[RESULTS_MAX], odd[RESULTS_MAX];
    short_line(false, m, e, even);
    short_line(false, m, e + m + 1, odd);
#pragma GCC unroll 4
    for (int i = 0; i < m; i++) {
        out[2 * i] = even[i];
        out[2 * i + 1] = odd[i];
    }
}

INLINE void input_tile(enum winograd_kind kind, int m, const float *from, int64_t row_stride,
                       float *to, int64_t stride)
{
    const int inputs = inputs_of(kind, m), points = points_of(kind, m);
    vec half[LINE_MAX][LINE_MAX]; /* line by line, transformed along the columns */
    for (int x = 0; x < inputs; x++) {
        vec d[LINE_MAX], out[LINE_MAX];
#pragma GCC unroll 10
        for (int y = 0; y < inputs; y++)
            d[y] = vec_load(from + y * row_stride + x * LANES);
        input_line(kind, m, d, out);
#pragma GCC unroll 10
        for (int y = 0; y < points; y++)
            half[y][x] = out[y];
    }
    for (int y = 0; y < points; y++) {
        vec out[LINE_MAX];
        input_line(kind, m, half[y], out);
#pragma GCC unroll 10
        for (int x = 0; x < points; x++)
            vec_store(to + (y * points + x) * stride, out[x]);
    }
}

/* Which tile it is. */
struct place {
    int64_t image, y, x;
};

static struct place place_of(const struct winograd_shape *shape, int64_t tile)
{
    int64_t in_image = shape->tile_rows * shape->tile_columns;
    int64_t rest = tile % in_image;
    return (struct place){ tile / in_image, rest / shape->tile_columns,
                           rest % shape->tile_columns };
}

/* A tile that reaches over the border: the padding is zeros. */
static void copy_border(const struct winograd_shape *shape, const float *plane, int64_t y0,
                        int64_t x0, int64_t side, float *patch)
{
    for (int64_t y = 0; y < side; y++) {
        for (int64_t x = 0; x < side; x++) {
            bool inside =
                y0 + y >= 0 && y0 + y < shape->height && x0 + x >= 0 && x0 + x < shape->width;
            vec d = { 0 };
            if (inside)
                d = vec_load(plane + ((y0 + y) * shape->width + x0 + x) * LANES);
            vec_store(patch + (y * side + x) * LANES, d);
        }
    }
}

INLINE void input_of(enum winograd_kind kind, int m, const struct winograd_shape *shape,
                     const float *from, float *to, const struct winograd_tiles *tiles,
                     int64_t begin, int64_t end)
{
    const int64_t side = inputs_of(kind, m), plane = shape->height * shape->width * LANES;
    int64_t pieces = (tiles->count + PIECE_TILES - 1) / PIECE_TILES;
    float patch[LINE_MAX * LINE_MAX * LANES];
    for (int64_t p = 0; p < pieces; p++) {
        int64_t first = winograd_piece(tiles->count, p, pieces);
        int64_t count = winograd_piece(tiles->count, p + 1, pieces) - first;
        float *piece = to + first * shape->in_blocks * LANES;
        for (int64_t block = begin; block < end; block++) {
            for (int64_t t = 0; t < count; t++) {
                struct place at = place_of(shape, tiles->first + first + t);
                int64_t y = at.y * shape->step_in - shape->pad_top;
                int64_t x = at.x * shape->step_in - shape->pad_left;
                int64_t in = (at.image * shape->groups + tiles->group) * shape->in_blocks + block;
                const float *image = from + (in * shape->depth + tiles->plane) * plane;
                float *elements = piece + (block * count + t) * LANES;
                if (y >= 0 && x >= 0 && y + side <= shape->height && x + side <= shape->width) {
                    input_tile(kind, m, image + (y * shape->width + x) * LANES,
                               shape->width * LANES, elements, tiles->stride);
                } else {
                    copy_border(shape, image, y, x, side, patch);
                    input_tile(kind, m, patch, side * LANES, elements, tiles->stride);
                }
            }
        }
    }
}

INLINE void output_tile(enum winograd_kind kind, int m, const float *from, int64_t stride,
                        float *to)
{
    const int side = side_of(kind, m), results = results_of(kind, m);
    vec half[RESULTS_MAX][LINE_MAX];
    for (int x = 0; x < side; x++) {
        vec e[LINE_MAX], out[RESULTS_MAX];
#pragma GCC unroll 10
        for (int y = 0; y < side; y++)
            e[y] = vec_load(from + (y * side + x) * stride);
        output_line(kind, m, e, out);
#pragma GCC unroll 8
        for (int y = 0; y < results; y++)
            half[y][x] = out[y];
    }
    for (int y = 0; y < results; y++) {
        vec out[RESULTS_MAX];
        output_line(kind, m, half[y], out);
#pragma GCC unroll 8
        for (int x = 0; x < results; x++)
            vec_store(to + (y * results + x) * LANES, out[x]);
    }
}

/* All lanes, or zeros behind the last channel. */
static ivec lanes_of(const struct winograd_shape *shape, int64_t block)
{
    ivec mask;
    for (int lane = 0; lane < LANES; lane++)
        mask[lane] = block * LANES + lane < shape->out_channels ? -1 : 0;
    return mask;
}

INLINE void output_of(enum winograd_kind kind, int m, const struct winograd_shape *shape,
                      const float *from, float *to, const struct winograd_tiles *tiles,
                      int64_t block, const struct epilogue *epilogue, const void *const *inputs)
{
    const int64_t made = results_of(kind, m); /* in one dimension */
    const int64_t plane = shape->out_height * shape->out_width * LANES;
    const int64_t channel = (tiles->group * shape->out_blocks + block) * LANES;
    const bool padded = (block + 1) * LANES > shape->out_channels;
    const bool by_row = epilogue_tensor_inputs(epilogue) != 0;
    const ivec mask = lanes_of(shape, block);
    float results[RESULTS_MAX * RESULTS_MAX * LANES];
    for (int64_t t = 0; t < tiles->count; t++) {
        struct place at = place_of(shape, tiles->first + t);
        int64_t top = at.y * made, left = at.x * made;
        int64_t rows = shape->out_height - top, columns = shape->out_width - left;
        int64_t out = (at.image * shape->groups + tiles->group) * shape->out_blocks + block;
        int64_t corner = (out * shape->out_depth + tiles->plane) * plane +
                         (top * shape->out_width + left) * LANES;
        rows = rows < made ? rows : made;
        columns = columns < made ? columns : made;
        output_tile(kind, m, from + t * LANES, tiles->stride, results);
        if (!by_row)
            epilogue_blocked(epilogue, results, made * made, channel, 0, inputs);
        for (int64_t y = 0; y < rows; y++) {
            float *row = results + y * made * LANES;
            int64_t offset = corner + y * shape->out_width * LANES;
            if (by_row)
                epilogue_blocked(epilogue, row, columns, channel, offset, inputs);
            for (int64_t x = 0; x < columns; x++) {
                vec v = vec_load(row + x * LANES);
                if (padded)
                    v = vec_select(mask, v, vec_set(0.0f));
                vec_store(to + offset + x * LANES, v);
            }
        }
    }
}

/* `call` with kind and m as constants: all loops over tiles are made for them. */
#define FOR_EACH_SIZE(call, ...)                                                                   \
    do {                                                                                           \
        if (shape->kind == WINOGRAD_STRIDED && shape->m == 2)                                      \
            call(WINOGRAD_STRIDED, 2, __VA_ARGS__);                                                \
        else if (shape->kind == WINOGRAD_STRIDED)                                                  \
            call(WINOGRAD_STRIDED, 4, __VA_ARGS__);                                                \
        else if (shape->kind == WINOGRAD_TRANSPOSED && shape->m == 2)                              \
            call(WINOGRAD_TRANSPOSED, 2, __VA_ARGS__);                                             \
        else if (shape->kind == WINOGRAD_TRANSPOSED)                                               \
            call(WINOGRAD_TRANSPOSED, 4, __VA_ARGS__);                                             \
        else if (shape->m == 2)                                                                    \
            call(WINOGRAD_PLAIN, 2, __VA_ARGS__);                                                  \
        else if (shape->m == 4)                                                                    \
            call(WINOGRAD_PLAIN, 4, __VA_ARGS__);                                                  \
        else                                                                                       \
            call(WINOGRAD_PLAIN, 6, __VA_ARGS__);                                                  \
    } while (0)

static void input(const struct winograd_shape *shape, const float *from, float *to,
                  const struct winograd_tiles *tiles, int64_t begin, int64_t end)
{
    FOR_EACH_SIZE(input_of, shape, from, to, tiles, begin, end);
}

static void output(const struct winograd_shape *shape, const float *from, float *to,
                   const struct winograd_tiles *tiles, int64_t block,
                   const struct epilogue *epilogue, const void *const *inputs)
{
    FOR_EACH_SIZE(output_of, shape, from, to, tiles, block, epilogue, inputs);
}

const struct winograd_kernels ISA(winograd_kernels) = { PIECE_TILES, multiply, input, output };
