/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd_multiply.h: products of tiles and transformed weights in registers; for winograd.c only.
 * All sums of a piece and a panel stay in registers: AVX-512 has 32 of them (14 x 2 sums, 2
 * weights, 1 tile), AVX2 16, and SSE 16 of half a vector.
 */
#ifndef NATIVE_SIMD_WINOGRAD_MULTIPLY_H
#define NATIVE_SIMD_WINOGRAD_MULTIPLY_H

#include "simd.h"
#include "winograd.h"

#ifdef __AVX512F__
#define PIECE_TILES 14
#elif defined __AVX2__
#define PIECE_TILES 6
#else
#define PIECE_TILES 2
#endif

/* `tiles` and `vectors` are constants where this is used: all loops over them are unrolled. */
INLINE void multiply_piece(const struct winograd_product *product, int tiles, int vectors)
{
    vec sums[PIECE_TILES][WINOGRAD_PANEL];
#pragma GCC unroll 14
    for (int t = 0; t < tiles; t++) {
#pragma GCC unroll 2
        for (int k = 0; k < vectors; k++)
            sums[t][k] = (vec){ 0 };
    }
    for (int64_t term = 0; term < product->term_count; term++) {
        const float *x = product->tiles + product->terms[term].tiles;
        const float *w = product->weights + product->terms[term].weights;
        for (int64_t left = product->channels; left > 0; left -= LANES) {
            int64_t lanes = left < LANES ? left : LANES;
            for (int64_t c = 0; c < lanes; c++) {
                vec weights[WINOGRAD_PANEL];
#pragma GCC unroll 2
                for (int k = 0; k < vectors; k++)
                    weights[k] = vec_load(w + k * LANES);
#pragma GCC unroll 14
                for (int t = 0; t < tiles; t++) {
                    vec tile = vec_set(x[t * LANES + c]);
#pragma GCC unroll 2
                    for (int k = 0; k < vectors; k++)
                        sums[t][k] = sums[t][k] + tile * weights[k];
                }
                w += vectors * LANES;
            }
            x += tiles * LANES;
        }
    }
#pragma GCC unroll 14
    for (int t = 0; t < tiles; t++) {
#pragma GCC unroll 2
        for (int k = 0; k < vectors; k++)
            vec_store(product->results + k * product->result_stride + t * LANES, sums[t][k]);
    }
}

#define MULTIPLY(tiles)                                                                            \
    static void multiply_##tiles##_1(const struct winograd_product *product)                       \
    {                                                                                              \
        multiply_piece(product, tiles, 1);                                                         \
    }                                                                                              \
    static void multiply_##tiles##_2(const struct winograd_product *product)                       \
    {                                                                                              \
        multiply_piece(product, tiles, 2);                                                         \
    }

MULTIPLY(1)
MULTIPLY(2)
#if PIECE_TILES > 2
MULTIPLY(3)
MULTIPLY(4)
MULTIPLY(5)
MULTIPLY(6)
#endif
#if PIECE_TILES > 6
MULTIPLY(7)
MULTIPLY(8)
MULTIPLY(9)
MULTIPLY(10)
MULTIPLY(11)
MULTIPLY(12)
MULTIPLY(13)
MULTIPLY(14)
#endif
#undef MULTIPLY

#define ROW(tiles)                                                                                 \
    {                                                                                              \
        multiply_##tiles##_1, multiply_##tiles##_2                                                 \
    }

static winograd_multiply *multiply(int64_t tiles, int64_t vectors)
{
    static winograd_multiply *const all[PIECE_TILES][WINOGRAD_PANEL] = {
        ROW(1),
        ROW(2),
#if PIECE_TILES > 2
        ROW(3),
        ROW(4),
        ROW(5),
        ROW(6),
#endif
#if PIECE_TILES > 6
        ROW(7),
        ROW(8),
        ROW(9),
        ROW(10),
        ROW(11),
        ROW(12),
        ROW(13),
        ROW(14),
#endif
    };
    return all[tiles - 1][vectors - 1];
}
#undef ROW

#endif
