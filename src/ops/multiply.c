/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/multiply.h"

#include <string.h>

#include "base/memory.h"

enum { ROWS_AT_ONCE = 4 };

/* `rows` is a constant at each call, so that the loops over it unroll. */
static inline __attribute__((always_inline)) void
sum_rows(const struct multiply *m, int64_t first_row, const double *panel,
         double (*restrict sums)[MULTIPLY_COLUMNS], const int rows)
{
    memset(sums, 0, (size_t)rows * sizeof *sums);
    const float *left = m->left + first_row * m->row_stride;
    for (int64_t k = 0; k < m->depth; k++) {
        const double *restrict right = panel + k * MULTIPLY_COLUMNS;
        for (int r = 0; r < rows; r++) {
            const double factor = (double)left[r * m->row_stride + k * m->depth_stride];
            for (int j = 0; j < MULTIPLY_COLUMNS; j++)
                sums[r][j] += factor * right[j];
        }
    }
}

/* All rows of one panel. */
static inline __attribute__((always_inline)) void
multiply_panel(const struct multiply *m, int64_t first, int64_t count, const double *panel)
{
    double sums[ROWS_AT_ONCE][MULTIPLY_COLUMNS];
    int64_t row = 0;
    for (; row + ROWS_AT_ONCE <= m->rows; row += ROWS_AT_ONCE) {
        sum_rows(m, row, panel, sums, ROWS_AT_ONCE);
        for (int r = 0; r < ROWS_AT_ONCE; r++)
            m->store(m->context, row + r, first, count, sums[r]);
    }
    for (; row < m->rows; row++) {
        sum_rows(m, row, panel, sums, 1);
        m->store(m->context, row, first, count, sums[0]);
    }
}

typedef void (*panel_function)(const struct multiply *m, int64_t first, int64_t count,
                               const double *panel);

static void panel_plain(const struct multiply *m, int64_t first, int64_t count, const double *panel)
{
    multiply_panel(m, first, count, panel);
}

/* The same code with wider vectors gives the same result: the product of two floats is exact in
 * double, so that it does not matter whether it is fused with the sum. */
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void panel_avx2(const struct multiply *m, int64_t first,
                                                           int64_t count, const double *panel)
{
    multiply_panel(m, first, count, panel);
}

static panel_function choose_panel(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? panel_avx2
                                                                           : panel_plain;
}
#else
static panel_function choose_panel(void)
{
    return panel_plain;
}
#endif

collage_status multiply_run(const struct multiply *m, struct error *error)
{
    size_t bytes = (size_t)m->depth * MULTIPLY_COLUMNS * sizeof(double);
    double *panel = memory_alloc_aligned(bytes);
    if (!panel)
        return error_memory(error);
    if (bytes)
        memset(panel, 0, bytes);
    panel_function run = choose_panel();
    for (int64_t first = 0; first < m->columns; first += MULTIPLY_COLUMNS) {
        int64_t left = m->columns - first;
        int64_t count = left < MULTIPLY_COLUMNS ? left : MULTIPLY_COLUMNS;
        m->pack(m->context, first, count, panel);
        run(m, first, count, panel);
    }
    memory_free_aligned(panel);
    return COLLAGE_OK;
}
