/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid_sample.c: GridSample and AffineGrid, of any number of spatial dimensions that fits (the
 * second: 2 or 3). Coordinates are normalized, -1 to 1, and name the last dimension first.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/call.h"

enum { SPATIAL = COLLAGE_MAX_RANK - 2, MOST_TAPS = 4 };
enum mode { NEAREST, LINEAR, CUBIC, MODES };
enum padding { ZEROS, BORDER, REFLECTION, PADDINGS };

static const char *const mode_names[] = { "nearest", "linear", "cubic" };
static const char *const padding_names[] = { "zeros", "border", "reflection" };

struct sampler {
    int mode, padding; /* MODES, PADDINGS: of another name */
    bool align_corners;
    int32_t dims;
    int64_t in[SPATIAL];
};

/* Along one dimension. An index of -1 is in the padding of zeros. */
struct taps {
    int count;
    int64_t index[MOST_TAPS];
    double weight[MOST_TAPS];
};

static int find_name(const struct op_call *call, const char *attribute, const char *fallback,
                     const char *const *names, int count)
{
    const char *text = collage_node_string(call->node, attribute, fallback);
    int k = 0;
    while (k < count && strcmp(text, names[k]) != 0)
        k++;
    return k;
}

static struct sampler read(const struct op_call *call)
{
    const struct tensor *x = call->inputs[0];
    struct sampler s = { .dims = x->rank - 2 };
    s.mode = find_name(call, "mode", "linear", mode_names, MODES);
    s.padding = find_name(call, "padding_mode", "zeros", padding_names, PADDINGS);
    s.align_corners = collage_node_int(call->node, "align_corners", 0) != 0;
    for (int32_t d = 0; d < s.dims; d++)
        s.in[d] = x->dims[2 + d];
    return s;
}

collage_status infer_grid_sample(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *grid = call->inputs[1];
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = call_check_type(call, 1, TYPES_FLOAT, error);
    if (status != COLLAGE_OK)
        return status;
    if (x->rank < 3 || grid->rank != x->rank || grid->dims[0] != x->dims[0] ||
        grid->dims[grid->rank - 1] != x->rank - 2)
        return shape_error(error, "the grid does not fit an input of rank %d", (int)x->rank);
    struct sampler s = read(call);
    if (s.mode == MODES)
        return shape_error(error, "mode '%.20s' is not supported",
                           collage_node_string(call->node, "mode", ""));
    if (s.padding == PADDINGS)
        return shape_error(error, "padding_mode '%.20s' is not supported",
                           collage_node_string(call->node, "padding_mode", ""));
    struct tensor y = { .rank = x->rank, .dims = { x->dims[0], x->dims[1] } };
    for (int32_t d = 0; d < s.dims; d++) {
        if (s.in[d] == 0)
            return shape_error(error, "dimension %d of the input is empty", (int)d);
        y.dims[2 + d] = grid->dims[1 + d];
    }
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

/* -1 and 1 are the centres of the outermost elements, or else their outer edges. */
static double denormalize(const struct sampler *s, int32_t d, double x)
{
    double dim = (double)s->in[d];
    return s->align_corners ? (x + 1) / 2 * (dim - 1) : ((x + 1) * dim - 1) / 2;
}

static double lowest(const struct sampler *s)
{
    return s->align_corners ? 0 : -0.5;
}

static double highest(const struct sampler *s, int32_t d)
{
    return (double)s->in[d] - (s->align_corners ? 1 : 0.5);
}

/* Back and forth between the two ends. */
static double reflect(double x, double low, double high)
{
    double range = high - low;
    if ((x >= low && x <= high) || !(range > 0) || !isfinite(x))
        return isfinite(x) && range > 0 ? x : low;
    double distance = x < low ? low - x : x - high;
    double turns = floor(distance / range), rest = distance - turns * range;
    bool from_low = (x < low) == (fmod(turns, 2) == 0);
    return from_low ? low + rest : high - rest;
}

static double limit(double x, double low, double high)
{
    return !(x > low) ? low : x > high ? high : x;
}

/* Brings a coordinate that lies outside inside, unless what is outside is zero. */
static double bring_inside(const struct sampler *s, int32_t d, double x)
{
    if (x >= lowest(s) && x <= highest(s, d))
        return x;
    if (s->padding == BORDER)
        return limit(x, 0, (double)(s->in[d] - 1));
    return s->padding == REFLECTION ? reflect(x, lowest(s), highest(s, d)) : x;
}

/* The element at a whole coordinate. */
static int64_t element(const struct sampler *s, int32_t d, double x)
{
    double last = (double)(s->in[d] - 1);
    if (s->padding == ZEROS)
        return x >= 0 && x <= last ? (int64_t)x : -1;
    if (s->padding == REFLECTION)
        x = reflect(x, lowest(s), highest(s, d));
    return (int64_t)limit(x, 0, last);
}

static double cubic_weight(double distance)
{
    const double a = -0.75;
    double x = fabs(distance);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static struct taps find_taps(const struct sampler *s, int32_t d, double normalized)
{
    double x = denormalize(s, d, normalized);
    if (s->mode == NEAREST) {
        x = bring_inside(s, d, nearbyint(x)); /* halves: to even */
        return (struct taps){ 1, { element(s, d, x) }, { 1 } };
    }
    x = bring_inside(s, d, x);
    struct taps taps = { .count = s->mode == LINEAR ? 2 : 4 };
    double first = floor(x) - (s->mode == LINEAR ? 0 : 1);
    for (int k = 0; k < taps.count; k++) {
        double at = first + k;
        taps.index[k] = element(s, d, at);
        taps.weight[k] = s->mode == LINEAR ? 1 - fabs(x - at) : cubic_weight(x - at);
    }
    return taps;
}

/* The sum over all combinations of the taps of dimensions d and after. */
static double sum_taps(const struct sampler *s, const struct tensor *x, const struct taps *taps,
                       int32_t d, int64_t base)
{
    if (d == s->dims || d >= SPATIAL) /* the second for the compiler: there are no more */
        return tensor_get(x, base);
    double sum = 0;
    for (int k = 0; k < taps[d].count; k++)
        if (taps[d].index[k] >= 0 && taps[d].weight[k] != 0)
            sum +=
                taps[d].weight[k] * sum_taps(s, x, taps, d + 1, base * s->in[d] + taps[d].index[k]);
    return sum;
}

collage_status compute_grid_sample(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0], *grid = call->inputs[1];
    struct tensor *y = &call->outputs[0];
    struct sampler s = read(call);
    int64_t points = dims_product(y, 2, y->rank), channels = y->dims[1];
    for (int64_t p = 0; p < y->dims[0] * points; p++) {
        int64_t image = p / points, point = p % points;
        struct taps taps[SPATIAL];
        for (int32_t d = 0; d < s.dims; d++)
            taps[d] = find_taps(&s, d, tensor_get(grid, p * s.dims + (s.dims - 1 - d)));
        for (int64_t c = image * channels; c < (image + 1) * channels; c++)
            tensor_set(y, c * points + point, sum_taps(&s, x, taps, 0, c));
    }
    return COLLAGE_OK;
}

/* ---- AffineGrid ---- */

collage_status infer_affine_grid(const struct op_call *call, struct error *error)
{
    const struct tensor *theta = call->inputs[0];
    struct ints size;
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 1, &size, error);
    if (status != COLLAGE_OK)
        return status;
    if (size.count != 4 && size.count != 5)
        return shape_error(error, "size has %d elements, 4 or 5 are needed", (int)size.count);
    int32_t dims = size.count - 2;
    if (theta->rank != 3 || theta->dims[0] != size.values[0] || theta->dims[1] != dims ||
        theta->dims[2] != dims + 1)
        return shape_error(error, "theta must have the shape %" PRId64 "x%dx%d", size.values[0],
                           (int)dims, (int)dims + 1);
    struct tensor y = { .rank = dims + 2, .dims = { size.values[0] } };
    for (int32_t d = 0; d < dims; d++)
        y.dims[1 + d] = size.values[2 + d];
    y.dims[1 + dims] = dims;
    call_set_output(call, 0, theta->dtype, &y);
    return COLLAGE_OK;
}

/* The normalized coordinate of element i of a dimension. */
static double place(int64_t i, int64_t dim, bool align_corners)
{
    if (align_corners)
        return dim > 1 ? 2 * (double)i / (double)(dim - 1) - 1 : 0;
    return (2 * (double)i + 1) / (double)dim - 1;
}

collage_status compute_affine_grid(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *theta = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    bool align_corners = collage_node_int(call->node, "align_corners", 0) != 0;
    int32_t dims = y->rank - 2;
    int64_t points = dims_product(y, 1, 1 + dims);
    for (int64_t p = 0; p < y->dims[0] * points; p++) {
        double at[SPATIAL + 1]; /* the last dimension first, and a 1 */
        int64_t rest = p % points;
        for (int32_t k = 0; k < dims; k++) {
            int64_t dim = y->dims[dims - k];
            at[k] = place(rest % dim, dim, align_corners);
            rest /= dim;
        }
        at[dims] = 1;
        for (int32_t k = 0; k < dims; k++) {
            double sum = 0;
            for (int32_t j = 0; j <= dims; j++)
                sum += at[j] * tensor_get(theta, (p / points * dims + k) * (dims + 1) + j);
            tensor_set(y, p * dims + k, sum);
        }
    }
    return COLLAGE_OK;
}
