/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c: Shape, Size and Range. */
#include <inttypes.h>
#include <math.h>

#include "ops/call.h"

/* ---- Shape, Size ---- */

static int32_t clamp_axis(int64_t axis, int32_t rank)
{
    if (axis < 0)
        axis = axis < -rank ? 0 : axis + rank;
    return (int32_t)(axis > rank ? rank : axis);
}

collage_status infer_shape(const struct op_call *call, struct error *error)
{
    (void)error;
    int32_t rank = call->inputs[0]->rank;
    int32_t start = clamp_axis(collage_node_int(call->node, "start", 0), rank);
    int32_t end = clamp_axis(collage_node_int(call->node, "end", rank), rank);
    struct tensor y = { .rank = 1, .dims = { end > start ? end - start : 0 } };
    call_set_output(call, 0, COLLAGE_INT64, &y);
    return COLLAGE_OK;
}

collage_status compute_shape(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int32_t start = clamp_axis(collage_node_int(call->node, "start", 0), x->rank);
    for (int64_t d = 0; d < y->dims[0]; d++)
        tensor_set_int(y, d, x->dims[start + d]);
    return COLLAGE_OK;
}

collage_status infer_size(const struct op_call *call, struct error *error)
{
    (void)error;
    struct tensor y = { 0 };
    call_set_output(call, 0, COLLAGE_INT64, &y);
    return COLLAGE_OK;
}

collage_status compute_size(const struct op_call *call, struct error *error)
{
    (void)error;
    tensor_set_int(&call->outputs[0], 0, tensor_elements(call->inputs[0]));
    return COLLAGE_OK;
}

/* ---- Range ---- */

static int64_t integer_range_count(int64_t start, int64_t end, int64_t step)
{
    /* In unsigned arithmetic, where no difference overflows. */
    bool up = step > 0;
    if (up ? start >= end : start <= end)
        return 0;
    uint64_t distance = up ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    uint64_t stride = up ? (uint64_t)step : 0 - (uint64_t)step;
    uint64_t count = (distance - 1) / stride + 1;
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

collage_status infer_range(const struct op_call *call, struct error *error)
{
    const struct tensor *start = call->inputs[0], *end = call->inputs[1], *step = call->inputs[2];
    collage_status status = call_check_same_type(call, TYPES_NUMBER, error);
    if (status != COLLAGE_OK)
        return status;
    for (uint32_t k = 0; k < 3; k++) {
        if (tensor_elements(call->inputs[k]) != 1)
            return shape_error(error, "input %" PRIu32 " must be a scalar", k);
        if (!call->inputs[k]->data)
            return shape_error(error,
                               "input %" PRIu32 " must be constant: the output's shape "
                               "depends on it",
                               k);
    }
    struct tensor y = { .rank = 1 };
    if (tensor_get(step, 0) == 0)
        return shape_error(error, "the step is 0");
    if (dtype_is_float(start->dtype)) {
        double count = ceil((tensor_get(end, 0) - tensor_get(start, 0)) / tensor_get(step, 0));
        if (!(count < 0x1p40))
            return shape_error(error, "the output is too large");
        y.dims[0] = count > 0 ? (int64_t)count : 0;
    } else {
        y.dims[0] = integer_range_count(tensor_get_int(start, 0), tensor_get_int(end, 0),
                                        tensor_get_int(step, 0));
    }
    call_set_output(call, 0, start->dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_range(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *start = call->inputs[0], *step = call->inputs[2];
    struct tensor *y = &call->outputs[0];
    bool real = dtype_is_float(y->dtype);
    uint64_t first = (uint64_t)tensor_get_int(start, 0), by = (uint64_t)tensor_get_int(step, 0);
    for (int64_t i = 0; i < y->dims[0]; i++) {
        if (real)
            tensor_set(y, i, tensor_get(start, 0) + (double)i * tensor_get(step, 0));
        else
            tensor_set_int(y, i, (int64_t)(first + (uint64_t)i * by));
    }
    return COLLAGE_OK;
}
