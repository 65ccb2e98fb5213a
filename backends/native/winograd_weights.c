/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_weights.c: G g G^T for all pairs of channels, in double: only the last rounding counts.
 */
#include "winograd.h"

enum { LINE_MAX = WINOGRAD_LINE_MAX, TAPS_MAX = 4, FINITE_MAX = 7 };

/* From the taps of a line to what its values are multiplied by. */
struct matrix {
    int64_t rows, taps;
    double rows_of[LINE_MAX][TAPS_MAX];
};

/* 0, if wanted, and the pairs; returns how many. */
static int64_t list_points(const double *pairs, int64_t count, bool zero, double points[FINITE_MAX])
{
    int64_t made = 0;
    if (zero)
        points[made++] = 0;
    for (int64_t k = 0; k < count; k++) {
        points[made++] = pairs[k];
        points[made++] = -pairs[k];
    }
    return made;
}

/* Rows of the taps which[0], which[1], ...: the value of their polynomial at each point, over the
 * product of the point's distances from the others; then, if wanted, the point at infinity. */
static void add_rows(struct matrix *matrix, const double *points, int64_t count, const int *which,
                     int taps, bool infinite)
{
    for (int64_t j = 0; j < count; j++) {
        double *row = matrix->rows_of[matrix->rows++];
        double value = 1;
        for (int64_t l = 0; l < count; l++) {
            if (l != j)
                value /= points[j] - points[l];
        }
        for (int t = 0; t < taps; t++) {
            row[which[t]] = value;
            value *= points[j];
        }
    }
    if (infinite)
        matrix->rows_of[matrix->rows++][which[taps - 1]] = 1;
}

static struct matrix make_matrix(enum winograd_kind kind, int64_t m)
{
    static const double two[] = WINOGRAD_POINTS_2, four[] = WINOGRAD_POINTS_4,
                        six[] = WINOGRAD_POINTS_6, pairs_two[] = WINOGRAD_PAIRS_2,
                        pairs_four[] = WINOGRAD_PAIRS_4;
    static const int all[] = { 0, 1, 2 }, outer[] = { 0, 2 }, middle[] = { 1 };
    static const int even[] = { 3, 1 }, odd[] = { 2, 0 }; /* a transposed kernel runs backwards */
    struct matrix matrix = { .taps = kind == WINOGRAD_TRANSPOSED ? 4 : 3 };
    double points[FINITE_MAX];
    if (kind == WINOGRAD_PLAIN) {
        const double *half = m == 2 ? two : m == 4 ? four : six;
        add_rows(&matrix, points, list_points(half, m / 2, true, points), all, 3, true);
        return matrix;
    }
    int64_t count = list_points(m == 2 ? pairs_two : pairs_four, m / 2, false, points);
    bool strided = kind == WINOGRAD_STRIDED;
    add_rows(&matrix, points, count, strided ? outer : even, 2, true);
    add_rows(&matrix, points, count, strided ? middle : odd, strided ? 1 : 2, !strided);
    return matrix;
}

int64_t winograd_weight_floats(const struct winograd_shape *shape, int64_t lanes)
{
    return shape->points * shape->points * shape->taps * shape->in_channels * shape->groups *
           shape->out_blocks * lanes;
}

/* The values' weights in the order of elements, each with its values. */
struct order {
    int64_t count;
    int64_t value[LINE_MAX * LINE_MAX];
};

static struct order make_order(const struct winograd_shape *shape)
{
    struct order order = { .count = 0 };
    for (int64_t element = 0; element < shape->side * shape->side; element++)
        order.count += winograd_values(shape, element, order.value + order.count);
    return order;
}

static void transform(const struct matrix *matrix, const struct order *order, const float *g,
                      float *to, int64_t stride)
{
    double half[LINE_MAX][TAPS_MAX];
    for (int64_t i = 0; i < matrix->rows; i++) {
        for (int64_t x = 0; x < matrix->taps; x++) {
            half[i][x] = 0;
            for (int64_t y = 0; y < matrix->taps; y++)
                half[i][x] += matrix->rows_of[i][y] * (double)g[y * matrix->taps + x];
        }
    }
    for (int64_t k = 0; k < order->count; k++) {
        const double *row = matrix->rows_of[order->value[k] % matrix->rows];
        double sum = 0;
        for (int64_t x = 0; x < matrix->taps; x++)
            sum += half[order->value[k] / matrix->rows][x] * row[x];
        to[k * stride] = (float)sum;
    }
}

void winograd_pack_weights(float *to, const float *from, const void *context)
{
    const struct winograd_pack *pack = context;
    const struct winograd_shape *s = pack->shape;
    const struct matrix matrix = make_matrix(s->kind, s->m);
    const struct order order = make_order(s);
    const int64_t per_block = s->points * s->points * s->taps * s->in_channels * pack->lanes;
    const int64_t blocks = s->groups * s->out_blocks, area = matrix.taps * matrix.taps;
    for (int64_t k = 0; k < s->groups * s->out_channels; k++) {
        int64_t block = k / pack->lanes, first = block / s->panel * s->panel;
        int64_t vectors = blocks - first < s->panel ? blocks - first : s->panel;
        int64_t width = vectors * pack->lanes;
        float *panel = to + first * per_block + (block - first) * pack->lanes + k % pack->lanes;
        for (int64_t c = 0; c < s->in_channels; c++) {
            /* of a ConvTranspose, the input channels are outside */
            int64_t pair =
                s->kind == WINOGRAD_TRANSPOSED ? c * s->out_channels + k : k * s->in_channels + c;
            for (int64_t tap = 0; tap < s->taps; tap++)
                transform(&matrix, &order, from + (pair * s->taps + tap) * area,
                          panel + (tap * s->in_channels + c) * width,
                          s->taps * s->in_channels * width);
        }
    }
}
