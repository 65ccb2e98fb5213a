/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c: Resize: an output element is the sum over all combinations of what its coordinates read
 * along each axis (resize_axis.c). */
#include "ops/resize.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"

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
        /* A float32 product, as in ONNX's own inference: 10 times 0.7 are 7. */
        double size = floor((double)((float)out->in[d] * (float)out->scale[d]));
        if (!(out->scale[d] > 0) || !(size < 0x1p40))
            return shape_error(error, "the scale of axis %" PRId64 " is not possible", d);
        out->out[d] = (int64_t)size;
    }
    return COLLAGE_OK;
}

/* One scale for all axes, the smallest or the largest of those that the sizes ask for. */
static collage_status keep_aspect_ratio(const struct ints *axes, bool larger, struct resize *out,
                                        struct error *error)
{
    double scale = larger ? 0 : (double)INFINITY;
    for (int32_t k = 0; k < axes->count; k++) {
        int64_t d = axes->values[k];
        if (out->in[d] == 0 || out->out[d] == 0)
            return shape_error(error, "axis %" PRId64 " is or becomes empty: it has no ratio", d);
        scale = larger ? fmax(scale, out->scale[d]) : fmin(scale, out->scale[d]);
    }
    for (int32_t k = 0; k < axes->count; k++) {
        int64_t d = axes->values[k];
        double size = floor(scale * (double)out->in[d] + 0.5);
        if (!(size < 0x1p40))
            return shape_error(error, "axis %" PRId64 " becomes too large", d);
        out->scale[d] = scale;
        out->out[d] = (int64_t)size;
    }
    return COLLAGE_OK;
}

static const char *policy_of(const struct op_call *call)
{
    return collage_node_string(call->node, "keep_aspect_ratio_policy", "stretch");
}

static collage_status read_sizes(const struct op_call *call, const struct ints *sizes,
                                 const struct ints *axes, struct resize *out, struct error *error)
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
    bool larger = strcmp(policy_of(call), "not_smaller") == 0;
    if (larger || strcmp(policy_of(call), "not_larger") == 0)
        return keep_aspect_ratio(axes, larger, out, error);
    return COLLAGE_OK;
}

/* First the begins of the axes, then their ends; the data need not be constant. */
static collage_status read_roi(const struct op_call *call, const struct ints *axes,
                               struct resize *out, struct error *error)
{
    const struct tensor *roi = call_input(call, 1);
    if (strcmp(out->transformation, "tf_crop_and_resize") != 0)
        return COLLAGE_OK;
    if (!roi || !dtype_is_float(roi->dtype) || roi->rank != 1 ||
        roi->dims[0] != (int64_t)2 * axes->count)
        return shape_error(error, "roi must be %d floats", 2 * (int)axes->count);
    for (int32_t k = 0; k < axes->count && roi->data; k++) {
        out->begin[axes->values[k]] = tensor_get(roi, k);
        out->end[axes->values[k]] = tensor_get(roi, axes->count + k);
    }
    return COLLAGE_OK;
}

static void read_attributes(const struct op_call *call, struct resize *out)
{
    const collage_node *node = call->node;
    out->mode = collage_node_string(node, "mode", "nearest");
    out->transformation = collage_node_string(node, "coordinate_transformation_mode", "half_pixel");
    out->rounding = collage_node_string(node, "nearest_mode", "round_prefer_floor");
    out->cubic_a = (double)collage_node_float(node, "cubic_coeff_a", -0.75f);
    out->exclude_outside = collage_node_int(node, "exclude_outside", 0) != 0;
    out->antialias = collage_node_int(node, "antialias", 0) != 0;
}

static collage_status read(const struct op_call *call, struct resize *out, struct error *error)
{
    const struct tensor *x = call->inputs[0], *scales = call_input(call, 2);
    struct ints axes, sizes;
    uint32_t set;
    read_attributes(call, out);
    collage_status status = call_ints_attribute(call, "axes", &axes, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 3, &sizes, error);
    for (int32_t d = 0; d < x->rank; d++) {
        out->in[d] = out->out[d] = x->dims[d];
        out->scale[d] = 1;
        out->begin[d] = 0;
        out->end[d] = 1;
        axes.values[d] = axes.count < 0 ? d : axes.values[d];
    }
    axes.count = axes.count < 0 ? x->rank : axes.count;
    if (status == COLLAGE_OK)
        status = axes_resolve(&axes, x->rank, &set, error);
    if (status == COLLAGE_OK)
        status = read_roi(call, &axes, out, error);
    if (status != COLLAGE_OK)
        return status;
    bool has_scales = scales && !(scales->rank == 1 && scales->dims[0] == 0);
    if (has_scales == (sizes.count >= 0 && !(sizes.count == 0 && x->rank > 0)))
        return shape_error(error, "either scales or sizes must be given");
    return has_scales ? read_scales(scales, &axes, out, error)
                      : read_sizes(call, &sizes, &axes, out, error);
}

/* ---- checking ---- */

static collage_status check_name(const char *what, const char *text, const char *const *names,
                                 struct error *error)
{
    for (; *names; names++)
        if (strcmp(text, *names) == 0)
            return COLLAGE_OK;
    return shape_error(error, "%s '%.30s' is not supported", what, text);
}

static collage_status check_names(const struct op_call *call, const struct resize *r,
                                  struct error *error)
{
    static const char *const modes[] = { "nearest", "linear", "cubic", NULL };
    static const char *const transformations[] = {
        "half_pixel",    "half_pixel_symmetric", "asymmetric", "pytorch_half_pixel",
        "align_corners", "tf_crop_and_resize",   NULL
    };
    static const char *const roundings[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                             "ceil", NULL };
    static const char *const policies[] = { "stretch", "not_larger", "not_smaller", NULL };
    collage_status status = check_name("mode", r->mode, modes, error);
    if (status == COLLAGE_OK)
        status =
            check_name("coordinate_transformation_mode", r->transformation, transformations, error);
    if (status == COLLAGE_OK)
        status = check_name("nearest_mode", r->rounding, roundings, error);
    if (status == COLLAGE_OK)
        status = check_name("keep_aspect_ratio_policy", policy_of(call), policies, error);
    if (status == COLLAGE_OK && r->antialias && strcmp(r->mode, "nearest") == 0)
        return shape_error(error, "antialias is not possible with the mode 'nearest'");
    return status;
}

collage_status infer_resize(const struct op_call *call, struct error *error)
{
    struct resize resize;
    read_attributes(call, &resize);
    collage_status status = check_names(call, &resize, error);
    if (status == COLLAGE_OK)
        status = call_check_type(call, 0, TYPES_NUMBER, error);
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

/* ---- computing ---- */

/* The sum over all combinations of what coordinates at[d .. rank) read. */
static double sum_taps(const struct tensor *x, const struct resize_axis *axes, const int64_t *at,
                       int32_t d, int64_t base)
{
    if (d == x->rank)
        return tensor_get(x, base);
    const int64_t *index = axes[d].index + at[d] * axes[d].count;
    const double *weight = axes[d].weight + at[d] * axes[d].count;
    double sum = 0;
    for (int64_t k = 0; k < axes[d].count; k++)
        if (weight[k] != 0)
            sum += weight[k] * sum_taps(x, axes, at, d + 1, base * x->dims[d] + index[k]);
    return sum;
}

static bool is_outside(const struct resize_axis *axes, const int64_t *at, int32_t rank)
{
    for (int32_t d = 0; d < rank; d++)
        if (axes[d].index[at[d] * axes[d].count] < 0)
            return true;
    return false;
}

static void compute_elements(const struct tensor *x, struct tensor *y,
                             const struct resize_axis *axes, double extrapolation)
{
    int64_t count = tensor_elements(y), at[COLLAGE_MAX_RANK] = { 0 };
    for (int64_t i = 0; i < count; i++) {
        bool outside = is_outside(axes, at, y->rank);
        tensor_set(y, i, outside ? extrapolation : sum_taps(x, axes, at, 0, 0));
        for (int32_t d = y->rank - 1; d >= 0 && ++at[d] == y->dims[d]; d--)
            at[d] = 0;
    }
}

collage_status compute_resize(const struct op_call *call, struct error *error)
{
    struct tensor *y = &call->outputs[0];
    struct resize resize;
    struct resize_axis axes[COLLAGE_MAX_RANK] = { { 0 } };
    collage_status status = read(call, &resize, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    int64_t total = 0, start = 0;
    for (int32_t d = 0; d < y->rank; d++) {
        axes[d].count = resize_tap_count(&resize, d);
        total += y->dims[d] * axes[d].count;
    }
    int64_t *indices = memory_alloc((size_t)total * sizeof *indices);
    double *weights = memory_alloc((size_t)total * sizeof *weights);
    for (int32_t d = 0; d < y->rank && indices && weights; d++) {
        axes[d].index = indices + start;
        axes[d].weight = weights + start;
        resize_fill_axis(&resize, d, &axes[d]);
        start += y->dims[d] * axes[d].count;
    }
    if (indices && weights)
        compute_elements(call->inputs[0], y, axes,
                         (double)collage_node_float(call->node, "extrapolation_value", 0));
    else
        status = error_memory(error);
    memory_free(indices);
    memory_free(weights);
    return status;
}
