/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c: Resize: nearest, linear and cubic. Every axis is treated alike: an output coordinate
 * reads one, two or four input coordinates with weights; an output element is the sum over all
 * combinations. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"
#include "ops/walk.h"

enum { MOST_TAPS = 4 };

struct taps {
    int64_t index[MOST_TAPS];
    double weight[MOST_TAPS];
};

struct resize {
    int64_t in[COLLAGE_MAX_RANK], out[COLLAGE_MAX_RANK];
    double scale[COLLAGE_MAX_RANK];
};

/* ---- sizes ---- */

static collage_status read_scales(const struct tensor *scales, const struct ints *axes,
                                  struct resize *out, struct error *error)
{
    if (!dtype_is_float(scales->dtype) || scales->rank != 1 || scales->dims[0] != axes->count)
        return shape_error(error, "scales must be %d floats", (int)axes->count);
    if (!scales->data)
        return shape_error(error, "scales must be constant: the output's shape depends on it");
    for (int32_t k = 0; k < axes->count; k++) {
        int64_t d = axes->values[k];
        out->scale[d] = tensor_get(scales, k);
        double size = floor((double)out->in[d] * out->scale[d]);
        if (!(out->scale[d] > 0) || !(size < 0x1p40))
            return shape_error(error, "the scale of axis %" PRId64 " is not possible", d);
        out->out[d] = (int64_t)size;
    }
    return COLLAGE_OK;
}

static collage_status read_sizes(const struct ints *sizes, const struct ints *axes,
                                 struct resize *out, struct error *error)
{
    if (sizes->count != axes->count)
        return shape_error(error, "sizes must be %d integers", (int)axes->count);
    for (int32_t k = 0; k < axes->count; k++) {
        int64_t d = axes->values[k];
        if (sizes->values[k] < 0 || (out->in[d] == 0 && sizes->values[k] > 0))
            return shape_error(error, "axis %" PRId64 " cannot have %" PRId64 " elements", d,
                               sizes->values[k]);
        out->out[d] = sizes->values[k];
        out->scale[d] = out->in[d] ? (double)sizes->values[k] / (double)out->in[d] : 1;
    }
    return COLLAGE_OK;
}

static collage_status read(const struct op_call *call, struct resize *out, struct error *error)
{
    const struct tensor *x = call->inputs[0], *scales = call_input(call, 2);
    struct ints axes, sizes;
    uint32_t set;
    collage_status status = call_ints_attribute(call, "axes", &axes, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 3, &sizes, error);
    for (int32_t d = 0; d < x->rank; d++) {
        out->in[d] = out->out[d] = x->dims[d];
        out->scale[d] = 1;
        axes.values[d] = axes.count < 0 ? d : axes.values[d];
    }
    axes.count = axes.count < 0 ? x->rank : axes.count;
    if (status == COLLAGE_OK)
        status = axes_resolve(&axes, x->rank, &set, error);
    if (status != COLLAGE_OK)
        return status;
    bool has_scales = scales && !(scales->rank == 1 && scales->dims[0] == 0);
    if (has_scales == (sizes.count >= 0 && !(sizes.count == 0 && x->rank > 0)))
        return shape_error(error, "either scales or sizes must be given");
    return has_scales ? read_scales(scales, &axes, out, error)
                      : read_sizes(&sizes, &axes, out, error);
}

static bool one_of(const char *text, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(text, *names) == 0)
            return true;
    return false;
}

static const char *const modes[] = { "nearest", "linear", "cubic", NULL };
static const char *const transformations[] = { "half_pixel",    "half_pixel_symmetric",
                                               "asymmetric",    "pytorch_half_pixel",
                                               "align_corners", NULL };
static const char *const roundings[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
                                         NULL };

static const char *transformation_of(const struct op_call *call)
{
    return collage_node_string(call->node, "coordinate_transformation_mode", "half_pixel");
}

static const char *mode_of(const struct op_call *call)
{
    return collage_node_string(call->node, "mode", "nearest");
}

static const char *rounding_of(const struct op_call *call)
{
    return collage_node_string(call->node, "nearest_mode", "round_prefer_floor");
}

static const char *policy_of(const struct op_call *call)
{
    return collage_node_string(call->node, "keep_aspect_ratio_policy", "stretch");
}

collage_status infer_resize(const struct op_call *call, struct error *error)
{
    if (!one_of(mode_of(call), modes))
        return shape_error(error, "mode '%.20s' is not supported", mode_of(call));
    if (!one_of(transformation_of(call), transformations))
        return shape_error(error, "coordinate_transformation_mode '%.30s' is not supported",
                           transformation_of(call));
    if (!one_of(rounding_of(call), roundings))
        return shape_error(error, "nearest_mode '%.20s' is not supported", rounding_of(call));
    if (collage_node_int(call->node, "antialias", 0) != 0)
        return shape_error(error, "antialias is not supported");
    if (strcmp(policy_of(call), "stretch") != 0)
        return shape_error(error, "keep_aspect_ratio_policy '%.20s' is not supported",
                           policy_of(call));
    struct resize resize;
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = read(call, &resize, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = *call->inputs[0];
    for (int32_t d = 0; d < y.rank; d++)
        y.dims[d] = resize.out[d];
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

/* ---- coordinates ---- */

/* The place in the input that output coordinate i of an axis stands for. */
static double original(const char *transformation, const struct resize *r, int32_t d, int64_t i)
{
    double x = (double)i, in = (double)r->in[d], out = (double)r->out[d], scale = r->scale[d];
    if (scale == 1 && r->in[d] == r->out[d])
        return x;
    if (strcmp(transformation, "asymmetric") == 0)
        return x / scale;
    if (strcmp(transformation, "align_corners") == 0)
        return r->out[d] == 1 ? 0 : x * (in - 1) / (out - 1);
    if (strcmp(transformation, "pytorch_half_pixel") == 0 && r->out[d] <= 1)
        return 0;
    double half_pixel = (x + 0.5) / scale - 0.5;
    if (strcmp(transformation, "half_pixel_symmetric") == 0)
        return in / 2 * (1 - out / (scale * in)) + half_pixel;
    return half_pixel;
}

static double round_coordinate(const char *rounding, double x)
{
    if (strcmp(rounding, "floor") == 0)
        return floor(x);
    if (strcmp(rounding, "ceil") == 0)
        return ceil(x);
    return strcmp(rounding, "round_prefer_ceil") == 0 ? floor(x + 0.5) : ceil(x - 0.5);
}

static int64_t clamp(double x, int64_t dim)
{
    return x <= 0 ? 0 : x >= (double)(dim - 1) ? dim - 1 : (int64_t)x;
}

static double cubic_weight(double distance, double a)
{
    double x = fabs(distance);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static struct taps cubic_taps(const struct op_call *call, double x, int64_t dim)
{
    struct taps taps;
    double a = (double)collage_node_float(call->node, "cubic_coeff_a", -0.75f), sum = 0;
    bool exclude = collage_node_int(call->node, "exclude_outside", 0) != 0;
    for (int k = 0; k < 4; k++) {
        double at = floor(x) - 1 + k;
        bool outside = at < 0 || at > (double)(dim - 1);
        taps.index[k] = clamp(at, dim);
        taps.weight[k] = exclude && outside ? 0 : cubic_weight(x - at, a);
        sum += taps.weight[k];
    }
    for (int k = 0; k < 4 && exclude; k++)
        taps.weight[k] /= sum;
    return taps;
}

static struct taps linear_taps(double x, int64_t dim)
{
    double below = floor(x);
    return (struct taps){ .index = { clamp(below, dim), clamp(below + 1, dim) },
                          .weight = { 1 - (x - below), x - below } };
}

/* An axis that keeps its size reads one element. */
static void fill_axis(const struct op_call *call, const struct resize *r, int32_t d,
                      struct taps *taps, int *count)
{
    const char *mode = mode_of(call);
    bool same = r->scale[d] == 1 && r->in[d] == r->out[d];
    bool nearest = same || strcmp(mode, "nearest") == 0, linear = strcmp(mode, "linear") == 0;
    *count = nearest ? 1 : linear ? 2 : 4;
    for (int64_t i = 0; i < r->out[d]; i++) {
        double x = original(transformation_of(call), r, d, i);
        if (nearest)
            taps[i] =
                (struct taps){ .index = { clamp(round_coordinate(rounding_of(call), x), r->in[d]) },
                               .weight = { 1 } };
        else
            taps[i] = linear ? linear_taps(x, r->in[d]) : cubic_taps(call, x, r->in[d]);
    }
}

/* The sum over all combinations of the taps of the axes d .. rank. */
static double sum_taps(const struct tensor *x, const struct taps *const *taps, const int *counts,
                       int32_t d, int64_t base)
{
    if (d == x->rank)
        return tensor_get(x, base);
    double sum = 0;
    for (int k = 0; k < counts[d]; k++)
        if (taps[d]->weight[k] != 0)
            sum += taps[d]->weight[k] *
                   sum_taps(x, taps, counts, d + 1, base * x->dims[d] + taps[d]->index[k]);
    return sum;
}

static void compute_elements(const struct tensor *x, struct tensor *y, struct taps *const *axes,
                             const int *counts)
{
    int64_t count = tensor_elements(y), index[COLLAGE_MAX_RANK] = { 0 };
    for (int64_t i = 0; i < count; i++) {
        const struct taps *taps[COLLAGE_MAX_RANK];
        for (int32_t d = 0; d < y->rank; d++)
            taps[d] = &axes[d][index[d]];
        tensor_set(y, i, sum_taps(x, taps, counts, 0, 0));
        for (int32_t d = y->rank - 1; d >= 0 && ++index[d] == y->dims[d]; d--)
            index[d] = 0;
    }
}

collage_status compute_resize(const struct op_call *call, struct error *error)
{
    struct tensor *y = &call->outputs[0];
    struct resize resize;
    collage_status status = read(call, &resize, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    int64_t total = 0;
    for (int32_t d = 0; d < y->rank; d++)
        total += y->dims[d];
    struct taps *memory = memory_alloc((size_t)total * sizeof *memory);
    if (!memory)
        return error_memory(error);
    struct taps *axes[COLLAGE_MAX_RANK], *at = memory;
    int counts[COLLAGE_MAX_RANK];
    for (int32_t d = 0; d < y->rank; d++) {
        axes[d] = at;
        at += y->dims[d];
        fill_axis(call, &resize, d, axes[d], &counts[d]);
    }
    compute_elements(call->inputs[0], y, axes, counts);
    memory_free(memory);
    return COLLAGE_OK;
}
