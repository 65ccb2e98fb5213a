/* SPDX-License-Identifier: Apache-2.0 */
/* resize_axis.c: the weights of Resize: nearest, linear and cubic, antialiased or not. */
#include <math.h>
#include <string.h>

#include "ops/resize.h"

static bool is(const char *text, const char *name)
{
    return strcmp(text, name) == 0;
}

/* The axis keeps its size and takes all of the input. */
static bool is_same(const struct resize *r, int32_t d)
{
    return r->scale[d] == 1 && r->in[d] == r->out[d] && r->begin[d] == 0 && r->end[d] == 1;
}

/* With antialiasing a smaller output sees a kernel that is stretched by 1 / scale. */
static double kernel_scale(const struct resize *r, int32_t d)
{
    return r->antialias && r->scale[d] < 1 ? r->scale[d] : 1;
}

/* The kernel reaches `radius` to each side. */
static double reach(const struct resize *r, int32_t d, double radius)
{
    return ceil(radius / kernel_scale(r, d));
}

static double radius_of(const struct resize *r)
{
    return is(r->mode, "linear") ? 1 : 2;
}

/* An axis that keeps its size reads one element. */
int64_t resize_tap_count(const struct resize *r, int32_t d)
{
    if (is(r->mode, "nearest") || is_same(r, d))
        return 1;
    return 2 * (int64_t)reach(r, d, radius_of(r));
}

static double crop(const struct resize *r, int32_t d, double x)
{
    double last = (double)(r->in[d] - 1), begin = r->begin[d] * last;
    double length = (r->end[d] - r->begin[d]) * last;
    return r->out[d] > 1 ? begin + x * length / (double)(r->out[d] - 1) : begin + length / 2;
}

/* The place in the input that output coordinate i of an axis stands for. */
static double original(const struct resize *r, int32_t d, int64_t i)
{
    double x = (double)i, in = (double)r->in[d], out = (double)r->out[d], scale = r->scale[d];
    if (is_same(r, d))
        return x;
    if (is(r->transformation, "tf_crop_and_resize"))
        return crop(r, d, x);
    if (is(r->transformation, "asymmetric"))
        return x / scale;
    if (is(r->transformation, "align_corners"))
        return r->out[d] == 1 ? 0 : x * (in - 1) / (out - 1);
    if (is(r->transformation, "pytorch_half_pixel") && r->out[d] <= 1)
        return 0;
    double half_pixel = (x + 0.5) / scale - 0.5;
    if (is(r->transformation, "half_pixel_symmetric"))
        return in / 2 * (1 - out / (scale * in)) + half_pixel;
    return half_pixel;
}

static double round_coordinate(const char *rounding, double x)
{
    if (is(rounding, "floor"))
        return floor(x);
    if (is(rounding, "ceil"))
        return ceil(x);
    return is(rounding, "round_prefer_ceil") ? floor(x + 0.5) : ceil(x - 0.5);
}

static int64_t clamp(double x, int64_t dim)
{
    return !(x > 0) ? 0 : x >= (double)(dim - 1) ? dim - 1 : (int64_t)x;
}

static double cubic_weight(double distance, double a)
{
    double x = fabs(distance);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double linear_weight(double distance)
{
    double x = fabs(distance);
    return x < 1 ? 1 - x : 0;
}

/* The taps of one output coordinate, at x of the input. */
static void fill_taps(const struct resize *r, int32_t d, double x, int64_t count, int64_t *index,
                      double *weight)
{
    const int64_t before = count / 2 - 1;
    double first = floor(x) - (double)before, scale = kernel_scale(r, d), sum = 0;
    bool linear = is(r->mode, "linear");
    for (int64_t k = 0; k < count; k++) {
        double at = first + (double)k, distance = (at - x) * scale;
        bool outside = at < 0 || at > (double)(r->in[d] - 1);
        index[k] = clamp(at, r->in[d]);
        weight[k] = linear ? linear_weight(distance) : cubic_weight(distance, r->cubic_a);
        if (r->exclude_outside && outside)
            weight[k] = 0;
        sum += weight[k];
    }
    bool normalize = r->exclude_outside || scale < 1;
    for (int64_t k = 0; k < count && normalize && sum != 0; k++)
        weight[k] /= sum;
}

void resize_fill_axis(const struct resize *r, int32_t d, struct resize_axis *axis)
{
    bool crops = is(r->transformation, "tf_crop_and_resize");
    for (int64_t i = 0; i < r->out[d]; i++) {
        double x = original(r, d, i);
        int64_t *index = axis->index + i * axis->count;
        double *weight = axis->weight + i * axis->count;
        if (axis->count == 1) {
            index[0] = clamp(round_coordinate(r->rounding, x), r->in[d]);
            weight[0] = 1;
        } else {
            fill_taps(r, d, x, axis->count, index, weight);
        }
        if (crops && !(x >= 0 && x <= (double)(r->in[d] - 1)))
            index[0] = -1;
    }
}
