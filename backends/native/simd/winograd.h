/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.h: the kernels of Winograd convolutions F(m x m, 3 x 3): transforms of tiles, and the
 * products between them. Tiles are counted over batch, rows and columns;
 * a tile has (m + 2)^2 elements. Tensors are in blocked layouts of LANES channels.
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

enum { WINOGRAD_PANEL = 2 }; /* at most so many vectors of output channels in a product */

struct winograd_shape {
    int64_t m, elements;
    int64_t groups, panel; /* panel: vectors of output channels that a product makes at once */
    int64_t batch;
    int64_t in_channels, out_channels, in_blocks, out_blocks; /* of a group */
    int64_t taps; /* 1, or 3 along the depth of 3-D convolutions */
    int64_t depth, height, width, out_depth, out_height, out_width;
    int64_t pad_front, pad_top, pad_left;
    int64_t tile_rows, tile_columns;
};

/*
 * Some tiles of one plane, in pieces of at most `piece_tiles` of about the same number. Transformed
 * they lie so: element, piece, block of channels, tile of the piece, lane; results of products:
 * element, vector of channels, tile, lane.
 */
struct winograd_tiles {
    int64_t first, count;
    int64_t plane;          /* index of the plane along the depth */
    int64_t group;          /* whose channels */
    int64_t element_stride; /* floats from one element to the next */
};

/* One piece of tiles times one panel of transformed weights. */
struct winograd_product {
    const float *tiles;
    const float *weights; /* channel, vector, lane */
    float *results;
    int64_t tile_tap_stride, weight_tap_stride;
    int64_t taps, channels;
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

/* Where piece `piece` of `pieces` begins. */
static inline int64_t winograd_piece(int64_t count, int64_t piece, int64_t pieces)
{
    return count * piece / pieces;
}

ISA_DECLARE(winograd_kernels, winograd_kernels);

#endif
