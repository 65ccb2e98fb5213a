/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A panel of the right matrix is multiplied by blocks of rows of the left one, a slice of the depth
 * at a time, so that what the inner loop reads stays in the cache; a tile of sums stays in
 * registers for the whole slice. Vectors are GCC's and clang's own, which they split where the
 * machine's are narrower.
 */
#include "ops/multiply.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"

enum { LANES = 4, TILE_ROWS = 6, TILE_VECTORS = 2, TILE_COLUMNS = LANES * TILE_VECTORS };
enum { DEPTH_SLICE = 256 };

/* Lies wherever a double may. */
typedef double vector
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

/* sums[r][j] += the sum over k of left[k][r] * right[k][j], a tile. */
static inline __attribute__((always_inline)) void add_tile(int64_t depth, const double *left,
                                                           const double *right, double *sums)
{
    vector tile[TILE_ROWS][TILE_VECTORS] = { 0 };
    for (int64_t k = 0; k < depth; k++) {
        const vector *row = (const vector *)(right + k * MULTIPLY_COLUMNS);
        for (int r = 0; r < TILE_ROWS; r++)
            for (int v = 0; v < TILE_VECTORS; v++)
                tile[r][v] += left[k * TILE_ROWS + r] * row[v];
    }
    for (int r = 0; r < TILE_ROWS; r++)
        for (int v = 0; v < TILE_VECTORS; v++)
            ((vector *)(sums + (ptrdiff_t)r * MULTIPLY_COLUMNS))[v] += tile[r][v];
}

/* All tiles of a block of rows. */
static inline __attribute__((always_inline)) void
add_block(int64_t depth, int64_t columns, const double *left, const double *right, double *sums)
{
    for (int64_t j = 0; j < columns; j += TILE_COLUMNS)
        add_tile(depth, left, right + j, sums + j);
}

typedef void (*block_function)(int64_t depth, int64_t columns, const double *left,
                               const double *right, double *sums);

static void block_plain(int64_t depth, int64_t columns, const double *left, const double *right,
                        double *sums)
{
    add_block(depth, columns, left, right, sums);
}

/* The same code with wider vectors gives the same result: the product of two floats is exact in
 * double, so that it does not matter whether it is fused with the sum. */
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void
block_avx2(int64_t depth, int64_t columns, const double *left, const double *right, double *sums)
{
    add_block(depth, columns, left, right, sums);
}

static block_function choose_block(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? block_avx2
                                                                           : block_plain;
}
#else
static block_function choose_block(void)
{
    return block_plain;
}
#endif

/* A block of the left matrix as left[k][r], in double; rows that are not there are zero. */
static void pack_left(const struct multiply *m, int64_t first_row, int64_t first_k, int64_t depth,
                      double *left)
{
    for (int64_t r = 0; r < TILE_ROWS; r++) {
        int64_t row = first_row + r;
        for (int64_t k = 0; k < depth; k++)
            left[k * TILE_ROWS + r] =
                row < m->rows
                    ? (double)m->left[row * m->row_stride + (first_k + k) * m->depth_stride]
                    : 0;
    }
}

/* The sums of all rows of one panel. */
static void multiply_panel(const struct multiply *m, int64_t columns, const double *panel,
                           double *sums, block_function add)
{
    double left[DEPTH_SLICE * TILE_ROWS];
    for (int64_t k = 0; k < m->depth; k += DEPTH_SLICE) {
        int64_t depth = m->depth - k < DEPTH_SLICE ? m->depth - k : DEPTH_SLICE;
        for (int64_t row = 0; row < m->rows; row += TILE_ROWS) {
            pack_left(m, row, k, depth, left);
            add(depth, columns, left, panel + k * MULTIPLY_COLUMNS, sums + row * MULTIPLY_COLUMNS);
        }
    }
}

collage_status multiply_run(const struct multiply *m, struct error *error)
{
    int64_t row_blocks = (m->rows + TILE_ROWS - 1) / TILE_ROWS;
    size_t sums_bytes = (size_t)row_blocks * TILE_ROWS * MULTIPLY_COLUMNS * sizeof(double);
    double *panel = memory_alloc_aligned((size_t)m->depth * MULTIPLY_COLUMNS * sizeof(double));
    double *sums = memory_alloc_aligned(sums_bytes);
    collage_status status = panel && sums ? COLLAGE_OK : error_memory(error);
    block_function add = choose_block();
    for (int64_t first = 0; first < m->columns && status == COLLAGE_OK; first += MULTIPLY_COLUMNS) {
        int64_t left = m->columns - first;
        int64_t count = left < MULTIPLY_COLUMNS ? left : MULTIPLY_COLUMNS;
        m->pack(m->context, first, count, panel);
        if (sums_bytes)
            memset(sums, 0, sums_bytes);
        multiply_panel(m, count, panel, sums, add);
        for (int64_t row = 0; row < m->rows; row++)
            m->store(m->context, row, first, count, sums + row * MULTIPLY_COLUMNS);
    }
    memory_free_aligned(panel);
    memory_free_aligned(sums);
    return status;
}
