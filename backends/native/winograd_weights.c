/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_weights.c: G g G^T for all pairs of channels, in double: only the last rounding counts.
 */
#include "winograd.h"

enum { SIDE_MAX = 8, KERNEL = 3 };

/* Row j of G: the value of a polynomial of degree 2 at point j, over the product of the point's
 * distances from the others; the last row is the point at infinity. */
static void make_matrix(int64_t m, double matrix[SIDE_MAX][KERNEL])
{
    static const double two[] = WINOGRAD_POINTS_2, four[] = WINOGRAD_POINTS_4,
                        six[] = WINOGRAD_POINTS_6;
    const double *half = m == 2 ? two : m == 4 ? four : six;
    double points[SIDE_MAX] = { 0 };
    for (int64_t k = 0; k < m / 2; k++) {
        points[2 * k + 1] = half[k];
        points[2 * k + 2] = -half[k];
    }
    for (int64_t j = 0; j <= m; j++) {
        double distance = 1;
        for (int64_t l = 0; l <= m; l++) {
            if (l != j)
                distance *= points[j] - points[l];
        }
        matrix[j][0] = 1 / distance;
        matrix[j][1] = points[j] / distance;
        matrix[j][2] = points[j] * points[j] / distance;
    }
    matrix[m + 1][0] = matrix[m + 1][1] = 0;
    matrix[m + 1][2] = 1;
}

int64_t winograd_weight_floats(const struct winograd_shape *shape, int64_t lanes)
{
    return shape->elements * shape->taps * shape->in_channels * shape->groups * shape->out_blocks *
           lanes;
}

static void transform(double matrix[SIDE_MAX][KERNEL], int64_t side, const float *g, float *to,
                      int64_t element_stride)
{
    double half[SIDE_MAX][KERNEL];
    for (int64_t i = 0; i < side; i++) {
        for (int x = 0; x < KERNEL; x++)
            half[i][x] = matrix[i][0] * (double)g[x] + matrix[i][1] * (double)g[KERNEL + x] +
                         matrix[i][2] * (double)g[2 * KERNEL + x];
    }
    for (int64_t i = 0; i < side; i++) {
        for (int64_t j = 0; j < side; j++)
            to[(i * side + j) * element_stride] =
                (float)(half[i][0] * matrix[j][0] + half[i][1] * matrix[j][1] +
                        half[i][2] * matrix[j][2]);
    }
}

void winograd_pack_weights(float *to, const float *from, const void *context)
{
    const struct winograd_pack *pack = context;
    const struct winograd_shape *s = pack->shape;
    double matrix[SIDE_MAX][KERNEL];
    make_matrix(s->m, matrix);
    int64_t per_block = s->elements * s->taps * s->in_channels * pack->lanes;
    const int64_t blocks = s->groups * s->out_blocks;
    for (int64_t k = 0; k < s->groups * s->out_channels; k++) {
        int64_t block = k / pack->lanes, first = block / s->panel * s->panel;
        int64_t vectors = blocks - first < s->panel ? blocks - first : s->panel;
        int64_t width = vectors * pack->lanes;
        float *panel = to + first * per_block + (block - first) * pack->lanes + k % pack->lanes;
        for (int64_t c = 0; c < s->in_channels; c++) {
            for (int64_t tap = 0; tap < s->taps; tap++)
                transform(matrix, s->m + 2,
                          from + ((k * s->in_channels + c) * s->taps + tap) * KERNEL * KERNEL,
                          panel + (tap * s->in_channels + c) * width,
                          s->taps * s->in_channels * width);
        }
    }
}
