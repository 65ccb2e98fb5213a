/* SPDX-License-Identifier: Apache-2.0 */
/* slice.c: operators that take parts: Slice, Split. */
#include <inttypes.h>

#include "ops/call.h"
#include "ops/walk.h"

/* What Slice takes of each dimension of its input. */
struct slices {
    int64_t start[COLLAGE_MAX_RANK], step[COLLAGE_MAX_RANK], count[COLLAGE_MAX_RANK];
};

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void slice_axis(int64_t dim, int64_t start, int64_t end, int64_t step, struct slices *out,
                       int64_t axis)
{
    /* Beyond these nothing changes, and the arithmetic below cannot overflow. */
    const int64_t far = (int64_t)1 << 41;
    start = clamp(start, -far, far);
    end = clamp(end, -far, far);
    step = clamp(step, -far, far);
    start += start < 0 ? dim : 0;
    end += end < 0 ? dim : 0;
    int64_t count;
    if (step > 0) {
        start = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        count = (end - start + step - 1) / step;
    } else {
        start = clamp(start, 0, dim - 1);
        end = clamp(end, -1, dim - 1);
        count = (start - end - step - 1) / -step;
    }
    out->start[axis] = start;
    out->step[axis] = step;
    out->count[axis] = count > 0 && dim > 0 ? count : 0;
}

static collage_status read_slices(const struct op_call *call, struct slices *out,
                                  struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct ints starts, ends, axes, steps;
    uint32_t set;
    collage_status status = call_ints(call, 1, &starts, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 2, &ends, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 3, &axes, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 4, &steps, error);
    if (status != COLLAGE_OK)
        return status;
    if (axes.count < 0) {
        axes.count = starts.count;
        for (int32_t k = 0; k < axes.count; k++)
            axes.values[k] = k;
    }
    if (ends.count != starts.count || axes.count != starts.count ||
        (steps.count >= 0 && steps.count != starts.count))
        return shape_error(error, "starts, ends, axes and steps are of different lengths");
    status = axes_resolve(&axes, x->rank, &set, error);
    if (status != COLLAGE_OK)
        return status;
    for (int32_t d = 0; d < x->rank; d++)
        slice_axis(x->dims[d], 0, x->dims[d], 1, out, d);
    for (int32_t k = 0; k < starts.count; k++) {
        int64_t step = steps.count < 0 ? 1 : steps.values[k];
        if (step == 0)
            return shape_error(error, "the step of axis %" PRId64 " is 0", axes.values[k]);
        slice_axis(x->dims[axes.values[k]], starts.values[k], ends.values[k], step, out,
                   axes.values[k]);
    }
    return COLLAGE_OK;
}

collage_status infer_slice(const struct op_call *call, struct error *error)
{
    struct slices slices;
    collage_status status = read_slices(call, &slices, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = *call->inputs[0];
    for (int32_t d = 0; d < y.rank; d++)
        y.dims[d] = slices.count[d];
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_slice(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    struct slices slices;
    collage_status status = read_slices(call, &slices, error);
    if (status != COLLAGE_OK)
        return status;
    if (tensor_elements(y) == 0)
        return COLLAGE_OK;
    int64_t strides[COLLAGE_MAX_RANK] = { 0 }, start = 0;
    dense_strides(x->dims, x->rank, strides);
    for (int32_t d = 0; d < x->rank; d++) {
        start += slices.start[d] * strides[d];
        /* A single element needs no step, which may be huge. */
        strides[d] = slices.count[d] == 1 ? 0 : strides[d] * slices.step[d];
    }
    struct walk walk;
    walk_begin(&walk, y->dims, y->rank);
    int32_t to = walk_add_dense(&walk);
    int32_t from = walk_add(&walk, start, strides);
    walk_copy(&walk, y, to, x, from);
    return COLLAGE_OK;
}

/* ---- Split ---- */

/* In equal parts, the last one smaller if need be. */
static collage_status split_evenly(const struct op_call *call, int32_t axis, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int64_t parts = collage_node_int(call->node, "num_outputs", call->output_count);
    if (parts != call->output_count)
        return shape_error(error, "num_outputs is %" PRId64 ", but there are %" PRIu32 " outputs",
                           parts, call->output_count);
    int64_t dim = x->dims[axis], part = (dim + parts - 1) / parts;
    for (uint32_t k = 0; k < call->output_count; k++) {
        struct tensor y = *x;
        int64_t left = dim - (int64_t)k * part;
        if (left < 0 || (left == 0 && dim > 0))
            return shape_error(error, "axis %d of %" PRId64 " elements has no %" PRId64 " parts",
                               (int)axis, dim, parts);
        y.dims[axis] = left < part ? left : part;
        call_set_output(call, k, x->dtype, &y);
    }
    return COLLAGE_OK;
}

collage_status infer_split(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int32_t axis;
    struct ints parts;
    collage_status status = call_axis(call, 0, x->rank, &axis, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 1, &parts, error);
    if (status != COLLAGE_OK)
        return status;
    if (parts.count < 0)
        return split_evenly(call, axis, error);
    if ((uint32_t)parts.count != call->output_count)
        return shape_error(error, "split names %d parts, but there are %" PRIu32 " outputs",
                           (int)parts.count, call->output_count);
    int64_t left = x->dims[axis];
    for (uint32_t k = 0; k < call->output_count; k++) {
        struct tensor y = *x;
        if (parts.values[k] < 0 || parts.values[k] > left)
            return shape_error(error,
                               "the parts do not add up to the %" PRId64 " elements of "
                               "axis %d",
                               x->dims[axis], (int)axis);
        left -= parts.values[k];
        y.dims[axis] = parts.values[k];
        call_set_output(call, k, x->dtype, &y);
    }
    if (left != 0)
        return shape_error(error, "the parts do not add up to the %" PRId64 " elements of axis %d",
                           x->dims[axis], (int)axis);
    return COLLAGE_OK;
}

collage_status compute_split(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int32_t axis;
    collage_status status = call_axis(call, 0, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t strides[COLLAGE_MAX_RANK], start = 0;
    dense_strides(x->dims, x->rank, strides);
    for (uint32_t k = 0; k < call->output_count; k++) {
        struct tensor *y = &call->outputs[k];
        struct walk walk;
        walk_begin(&walk, y->dims, y->rank);
        int32_t to = walk_add_dense(&walk);
        int32_t from = walk_add(&walk, start, strides);
        if (y->data)
            walk_copy(&walk, y, to, x, from);
        start += y->dims[axis] * strides[axis];
    }
    return COLLAGE_OK;
}
