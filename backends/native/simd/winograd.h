/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.h: the kernels of Winograd convolutions: transforms of tiles, and the products between
 * them. Tiles are counted over batch, rows and columns. Of a tile's inputs, the transform makes
 * `points`^2 values for each channel; products add them up to `side`^2 elements; these become its
 * results. Tensors are in blocked layouts of LANES channels. In one dimension, a kind is this:
 *
 *   PLAIN       F(m, 3): m + 2 inputs, values and elements; m results.
 *   STRIDED     stride 2, kernel 3: the even inputs (of the tile, m + 1 of them) are convolved with
 *               the outer taps, F(m, 2), the m odd ones with the middle tap, F(m, 1). Both use the
 *               same m finite points, so their products add up to the same elements: 2m + 1 inputs
 *               and values (first the even inputs', the one at infinity last; then the odd ones'),
 *               m + 1 elements, m results.
 *   TRANSPOSED  stride 2, kernel 4, pad 1: results at even and at odd places are two convolutions
 *               F(m, 2), of which the second begins one input later: m + 2 inputs, 2(m + 1) values
 *               and elements, 2m results.
 */
#ifndef NATIVE_SIMD_WINOGRAD_H
#define NATIVE_SIMD_WINOGRAD_H

#include "../epilogue.h"

/* Points at which tiles are taken apart: 0, plus and minus these, and infinity. Chosen for a small
 * error: with 1 and 2 that of F(4x4) is five times as large. */
#define WINOGRAD_POINTS_2                                                                          \
    {                                                                                              \
        1.0                                                                                        \
    }
#define WINOGRAD_POINTS_4                                                                          \
    {                                                                                              \
        0.625, 1.5                                                                                 \
    }
#define WINOGRAD_POINTS_6                                                                          \
    {                                                                                              \
        0.5, 1.0, 1.75                                                                             \
    }
/* Of kernels of 2 taps: plus and minus these, and infinity. */
#define WINOGRAD_PAIRS_2                                                                           \
    {                                                                                              \
        1.0                                                                                        \
    }
#define WINOGRAD_PAIRS_4                                                                           \
    {                                                                                              \
        0.5, 1.25                                                                                  \
    }

enum {
    WINOGRAD_PANEL = 2,    /* at most so many vectors of output channels in a product */
    WINOGRAD_TAPS = 3,     /* at most, along the depth */
    WINOGRAD_PHASES = 4,   /* at most so many values of an input channel go into an element */
    WINOGRAD_LINE_MAX = 10 /* inputs, values, elements and results of a tile in one dimension */
};

enum winograd_kind { WINOGRAD_PLAIN, WINOGRAD_STRIDED, WINOGRAD_TRANSPOSED };

struct winograd_shape {
    enum winograd_kind kind;
    int64_t m;
    int64_t points, side;      /* values and elements of a tile in one dimension */
    int64_t step_in, step_out; /* inputs and results from one tile to the next */
    int64_t groups, panel;     /* panel: vectors of output channels that a product makes at once */
    int64_t batch;
    int64_t in_channels, out_channels, in_blocks, out_blocks; /* of a group */
    int64_t taps, depth_stride; /* 1, or 3 along the depth of 3-D convolutions */
    int64_t depth, height, width, out_depth, out_height, out_width;
    int64_t pad_front, pad_top, pad_left;
    int64_t tile_rows, tile_columns;
};

/*
 * Some tiles of one plane, in pieces of at most `piece_tiles` of about the same number. Transformed
 * they lie so: value, piece, block of channels, tile of the piece, lane; results of products:
 * element, vector of channels, tile, lane.
 */
struct winograd_tiles {
    int64_t first, count;
    int64_t plane;  /* index of the plane along the depth */
    int64_t group;  /* whose channels */
    int64_t stride; /* floats from one value or element to the next */
};

/* One piece of tiles times one panel of transformed weights, summed over terms. */
struct winograd_product {
    const float *tiles;
    const float *weights; /* channel, vector, lane */
    float *results;
    struct {
        int64_t tiles, weights; /* floats to where a term's begin */
    } terms[WINOGRAD_TAPS * WINOGRAD_PHASES];
    int64_t term_count, channels;
    int64_t result_stride; /* from one vector of channels to the next */
};

typedef void winograd_multiply(const struct winograd_product *product);

struct winograd_kernels {
    int64_t piece_tiles;
    /* of `tiles` tiles (1 ... piece_tiles) and `vectors` vectors (1 ... WINOGRAD_PANEL) */
    winograd_multiply *(*multiply)(int64_t tiles, int64_t vectors);
    /* Channel blocks begin ... end - 1 of a group, of the tiles of an input plane. */
    void (*input)(const struct winograd_shape *shape, const float *from, float *to,
                  const struct winograd_tiles *tiles, int64_t begin, int64_t end);
    /* Tiles of an output plane, of one block of channels of a group. */
    void (*output)(const struct winograd_shape *shape, const float *from, float *to,
                   const struct winograd_tiles *tiles, int64_t block,
                   const struct epilogue *epilogue, const void *const *inputs);
};

/* Which values go into an element, by their indices in a tile; returns how many: the element's
 * terms.
 */
static inline int64_t winograd_values(const struct winograd_shape *shape, int64_t element,
                                      int64_t values[WINOGRAD_PHASES])
{
    const int64_t row = element / shape->side, column = element % shape->side;
    const bool strided = shape->kind == WINOGRAD_STRIDED;
    const int64_t rows = strided && row < shape->m ? 2 : 1;
    const int64_t columns = strided && column < shape->m ? 2 : 1;
    for (int64_t k = 0; k < rows * columns; k++)
        values[k] =
            (row + k / columns * shape->side) * shape->points + column + k % columns * shape->side;
    return rows * columns;
}

/* Where piece `piece` of `pieces` begins. */
static inline int64_t winograd_piece(int64_t count, int64_t piece, int64_t pieces)
{
    return count * piece / pieces;
}

ISA_DECLARE(winograd_kernels, winograd_kernels);

#endif
