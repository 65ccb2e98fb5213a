/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.c: transforms of input and output tiles. In one dimension, with the points +-a, the rows
 * of a pair of points share their even and their odd part.
 */
#include "winograd.h"

#include "epilogue.h"
#include "winograd_multiply.h"

enum { SIDE_MAX = 8, M_MAX = 6 };

/* Constants of F(m): the points, and the coefficients of products of (x^2 - point^2). */
INLINE float point(int m, int k)
{
    const double two[] = WINOGRAD_POINTS_2, four[] = WINOGRAD_POINTS_4, six[] = WINOGRAD_POINTS_6;
    return (float)(m == 2 ? two[k] : m == 4 ? four[k] : six[k]);
}

/* B^T d: from m + 2 inputs of a line to m + 2 elements. */
INLINE void input_line(int m, const vec *d, vec *out)
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

/* A^T e: from m + 2 elements to m results. */
INLINE void output_line(int m, const vec *e, vec *out)
{
    float powers[3] = { 1.0f, 1.0f, 1.0f };
    vec even[3], odd[3];
#pragma GCC unroll 3
    for (int k = 0; k < m / 2; k++) {
        even[k] = e[2 * k + 1] + e[2 * k + 2];
        odd[k] = e[2 * k + 1] - e[2 * k + 2];
    }
#pragma GCC unroll 6
    for (int i = 0; i < m; i++) {
        vec sum = (i % 2 ? odd[0] : even[0]) * powers[0];
#pragma GCC unroll 3
        for (int k = 1; k < m / 2; k++)
            sum = sum + (i % 2 ? odd[k] : even[k]) * powers[k];
        if (i == 0)
            sum = sum + e[0];
        if (i == m - 1)
            sum = sum + e[m + 1];
        out[i] = sum;
#pragma GCC unroll 3
        for (int k = 0; k < m / 2; k++)
            powers[k] *= point(m, k);
    }
}

INLINE void input_tile(int m, const float *from, int64_t row_stride, float *to,
                       int64_t element_stride)
{
    vec half[SIDE_MAX][SIDE_MAX]; /* line by line, transformed along the columns */
    for (int x = 0; x < m + 2; x++) {
        vec d[SIDE_MAX], out[SIDE_MAX];
#pragma GCC unroll 8
        for (int y = 0; y < m + 2; y++)
            d[y] = vec_load(from + y * row_stride + x * LANES);
        input_line(m, d, out);
#pragma GCC unroll 8
        for (int y = 0; y < m + 2; y++)
            half[y][x] = out[y];
    }
    for (int y = 0; y < m + 2; y++) {
        vec out[SIDE_MAX];
        input_line(m, half[y], out);
#pragma GCC unroll 8
        for (int x = 0; x < m + 2; x++)
            vec_store(to + (y * (m + 2) + x) * element_stride, out[x]);
    }
}

/* Where a tile lies. */
struct place {
    int64_t image, y, x;
};

static struct place place_of(const struct winograd_shape *shape, int64_t tile)
{
    int64_t in_image = shape->tile_rows * shape->tile_columns;
    int64_t rest = tile % in_image;
    return (struct place){ tile / in_image, rest / shape->tile_columns * shape->m,
                           rest % shape->tile_columns * shape->m };
}

/* A tile that reaches over the border: the padding is zeros. */
static void copy_border(const struct winograd_shape *shape, const float *plane, int64_t y0,
                        int64_t x0, float *patch)
{
    int64_t side = shape->m + 2;
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

INLINE void input_of(int m, const struct winograd_shape *shape, const float *from, float *to,
                     const struct winograd_tiles *tiles, int64_t begin, int64_t end)
{
    const int64_t side = m + 2, plane = shape->height * shape->width * LANES;
    int64_t pieces = (tiles->count + PIECE_TILES - 1) / PIECE_TILES;
    float patch[SIDE_MAX * SIDE_MAX * LANES];
    for (int64_t p = 0; p < pieces; p++) {
        int64_t first = winograd_piece(tiles->count, p, pieces);
        int64_t count = winograd_piece(tiles->count, p + 1, pieces) - first;
        float *piece = to + first * shape->in_blocks * LANES;
        for (int64_t block = begin; block < end; block++) {
            for (int64_t t = 0; t < count; t++) {
                struct place at = place_of(shape, tiles->first + first + t);
                int64_t y = at.y - shape->pad_top, x = at.x - shape->pad_left;
                int64_t in = (at.image * shape->groups + tiles->group) * shape->in_blocks + block;
                const float *image = from + (in * shape->depth + tiles->plane) * plane;
                float *elements = piece + (block * count + t) * LANES;
                if (y >= 0 && x >= 0 && y + side <= shape->height && x + side <= shape->width) {
                    input_tile(m, image + (y * shape->width + x) * LANES, shape->width * LANES,
                               elements, tiles->element_stride);
                } else {
                    copy_border(shape, image, y, x, patch);
                    input_tile(m, patch, side * LANES, elements, tiles->element_stride);
                }
            }
        }
    }
}

INLINE void output_tile(int m, const float *from, int64_t element_stride, float *to)
{
    vec half[M_MAX][SIDE_MAX];
    for (int x = 0; x < m + 2; x++) {
        vec e[SIDE_MAX], out[M_MAX];
#pragma GCC unroll 8
        for (int y = 0; y < m + 2; y++)
            e[y] = vec_load(from + (y * (m + 2) + x) * element_stride);
        output_line(m, e, out);
#pragma GCC unroll 6
        for (int y = 0; y < m; y++)
            half[y][x] = out[y];
    }
    for (int y = 0; y < m; y++) {
        vec out[M_MAX];
        output_line(m, half[y], out);
#pragma GCC unroll 6
        for (int x = 0; x < m; x++)
            vec_store(to + (y * m + x) * LANES, out[x]);
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

INLINE void output_of(int m, const struct winograd_shape *shape, const float *from, float *to,
                      const struct winograd_tiles *tiles, int64_t block,
                      const struct epilogue *epilogue, const void *const *inputs)
{
    const int64_t plane = shape->out_height * shape->out_width * LANES;
    const int64_t channel = (tiles->group * shape->out_blocks + block) * LANES;
    const bool padded = (block + 1) * LANES > shape->out_channels;
    const bool by_row = epilogue_tensor_inputs(epilogue) != 0;
    const ivec mask = lanes_of(shape, block);
    float results[M_MAX * M_MAX * LANES];
    for (int64_t t = 0; t < tiles->count; t++) {
        struct place at = place_of(shape, tiles->first + t);
        int64_t rows = shape->out_height - at.y, columns = shape->out_width - at.x;
        int64_t out = (at.image * shape->groups + tiles->group) * shape->out_blocks + block;
        int64_t corner = (out * shape->out_depth + tiles->plane) * plane +
                         (at.y * shape->out_width + at.x) * LANES;
        rows = rows < m ? rows : m;
        columns = columns < m ? columns : m;
        output_tile(m, from + t * LANES, tiles->element_stride, results);
        if (!by_row)
            epilogue_blocked(epilogue, results, (int64_t)m * m, channel, 0, inputs);
        for (int64_t y = 0; y < rows; y++) {
            float *row = results + y * m * LANES;
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

static void input(const struct winograd_shape *shape, const float *from, float *to,
                  const struct winograd_tiles *tiles, int64_t begin, int64_t end)
{
    if (shape->m == 2)
        input_of(2, shape, from, to, tiles, begin, end);
    else if (shape->m == 4)
        input_of(4, shape, from, to, tiles, begin, end);
    else
        input_of(6, shape, from, to, tiles, begin, end);
}

static void output(const struct winograd_shape *shape, const float *from, float *to,
                   const struct winograd_tiles *tiles, int64_t block,
                   const struct epilogue *epilogue, const void *const *inputs)
{
    if (shape->m == 2)
        output_of(2, shape, from, to, tiles, block, epilogue, inputs);
    else if (shape->m == 4)
        output_of(4, shape, from, to, tiles, block, epilogue, inputs);
    else
        output_of(6, shape, from, to, tiles, block, epilogue, inputs);
}

const struct winograd_kernels ISA(winograd_kernels) = { PIECE_TILES, multiply, input, output };
