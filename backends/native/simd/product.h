/* SPDX-License-Identifier: Apache-2.0 */
/* product.h: small products of matrices in registers. Only for files of simd/. */
#ifndef NATIVE_SIMD_PRODUCT_H
#define NATIVE_SIMD_PRODUCT_H

#include "simd.h"

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

enum {
    PRODUCT_ROWS = 6,
    PRODUCT_VECTORS = LANES == 16 ? 4 : 2, /* so that the sums fit the registers */
    PRODUCT_COLUMNS = PRODUCT_VECTORS * LANES
};

/* to[rows][vectors] = a[rows][depth] b[depth][vectors], on top of what is there with `add`. */
INLINE void product_tile(const int rows, const int vectors, float *to, int64_t to_row,
                         const float *a, int64_t a_row, const float *b, int64_t b_row,
                         int64_t depth, bool add)
{
    vec sums[PRODUCT_ROWS][PRODUCT_VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < vectors; j++)
            sums[i][j] = add ? vec_load(to + i * to_row + j * LANES) : vec_set(0.0f);
    }
    for (int64_t k = 0; k < depth; k++) {
        vec row[PRODUCT_VECTORS];
        UNROLL
        for (int j = 0; j < vectors; j++)
            row[j] = vec_load(b + k * b_row + j * LANES);
        UNROLL
        for (int i = 0; i < rows; i++) {
            vec left = vec_set(a[i * a_row + k]);
            UNROLL
            for (int j = 0; j < vectors; j++)
                sums[i][j] = sums[i][j] + left * row[j];
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < vectors; j++)
            vec_store(to + i * to_row + j * LANES, sums[i][j]);
    }
}

/* The same for a number of rows that only the caller knows. */
INLINE void product_rows(int rows, const int vectors, float *to, int64_t to_row, const float *a,
                         int64_t a_row, const float *b, int64_t b_row, int64_t depth, bool add)
{
    switch (rows) {
    case 1:
        product_tile(1, vectors, to, to_row, a, a_row, b, b_row, depth, add);
        break;
    case 2:
        product_tile(2, vectors, to, to_row, a, a_row, b, b_row, depth, add);
        break;
    case 3:
        product_tile(3, vectors, to, to_row, a, a_row, b, b_row, depth, add);
        break;
    case 4:
        product_tile(4, vectors, to, to_row, a, a_row, b, b_row, depth, add);
        break;
    case 5:
        product_tile(5, vectors, to, to_row, a, a_row, b, b_row, depth, add);
        break;
    default:
        product_tile(PRODUCT_ROWS, vectors, to, to_row, a, a_row, b, b_row, depth, add);
        break;
    }
}

/* The right operand, in panels of PRODUCT_COLUMNS columns. */
struct product_panels {
    const float *data;
    int64_t step, row; /* from panel to panel, and from row to row */
};

/* to[rows][columns], written in whole vectors. */
static void product(float *to, int64_t to_row, const float *a, int64_t a_row,
                    const struct product_panels *b, int64_t rows, int64_t columns, int64_t depth,
                    bool add)
{
    for (int64_t c = 0; c < columns; c += PRODUCT_COLUMNS) {
        const float *panel = b->data + c / PRODUCT_COLUMNS * b->step;
        int64_t vectors = (columns - c + LANES - 1) / LANES;
        for (int64_t r = 0; r < rows; r += PRODUCT_ROWS) {
            int part = rows - r < PRODUCT_ROWS ? (int)(rows - r) : PRODUCT_ROWS;
            float *out = to + r * to_row + c;
            const float *left = a + r * a_row;
            if (vectors >= PRODUCT_VECTORS)
                product_rows(part, PRODUCT_VECTORS, out, to_row, left, a_row, panel, b->row, depth,
                             add);
            else if (vectors == 1)
                product_rows(part, 1, out, to_row, left, a_row, panel, b->row, depth, add);
            else if (vectors == 2)
                product_rows(part, 2, out, to_row, left, a_row, panel, b->row, depth, add);
            else
                product_rows(part, PRODUCT_VECTORS == 4 ? 3 : PRODUCT_VECTORS, out, to_row, left,
                             a_row, panel, b->row, depth, add);
        }
    }
}

/* Copies columns that are adjacent into panels, zeros behind the last one. */
static void product_pack(float *to, const float *from, int64_t from_row, int64_t rows,
                         int64_t columns)
{
    for (int64_t c = 0; c < columns; c += PRODUCT_COLUMNS) {
        for (int64_t r = 0; r < rows; r++, to += PRODUCT_COLUMNS) {
            for (int64_t k = 0; k < PRODUCT_COLUMNS; k += LANES) {
                int64_t rest = columns - c - k;
                const float *at = from + r * from_row + c + k;
                vec v = vec_set(0.0f);
                if (rest >= LANES)
                    v = vec_load(at);
                else if (rest > 0)
                    v = vec_load_part(at, rest);
                vec_store(to + k, v);
            }
        }
    }
}

/* The same from columns whose rows are adjacent. */
static void product_pack_transposed(float *to, const float *from, int64_t from_column, int64_t rows,
                                    int64_t columns)
{
    for (int64_t c = 0; c < columns; c += PRODUCT_COLUMNS, to += rows * PRODUCT_COLUMNS) {
        for (int64_t k = 0; k < PRODUCT_COLUMNS; k++) {
            const float *column = from + (c + k) * from_column;
            bool there = c + k < columns;
            for (int64_t r = 0; r < rows; r++)
                to[r * PRODUCT_COLUMNS + k] = there ? column[r] : 0.0f;
        }
    }
}

#endif
