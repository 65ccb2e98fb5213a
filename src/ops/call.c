/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

collage_status shape_error(struct error *error, const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return error_set(error, COLLAGE_ERROR_SHAPE, "%s", text);
}

bool dtype_is_int(collage_dtype dtype)
{
    return dtype_size(dtype) != 0 && !dtype_is_float(dtype) && dtype != COLLAGE_BOOL;
}

bool dtype_is_unsigned(collage_dtype dtype)
{
    return dtype == COLLAGE_UINT8 || dtype == COLLAGE_UINT16 || dtype == COLLAGE_UINT32 ||
           dtype == COLLAGE_UINT64;
}

int64_t dims_product(const struct tensor *tensor, int32_t from, int32_t to)
{
    int64_t product = 1;
    for (int32_t d = from; d < to; d++)
        product *= tensor->dims[d];
    return product;
}

const struct tensor *call_input(const struct op_call *call, uint32_t k)
{
    return k < call->input_count ? call->inputs[k] : NULL;
}

static uint32_t type_bit(collage_dtype dtype)
{
    if (dtype_is_float(dtype))
        return TYPES_FLOAT;
    return dtype == COLLAGE_BOOL ? TYPES_BOOL : TYPES_INT;
}

collage_status call_check_type(const struct op_call *call, uint32_t k, uint32_t types,
                               struct error *error)
{
    const struct tensor *input = call_input(call, k);
    if (!input || type_bit(input->dtype) & types)
        return COLLAGE_OK;
    return shape_error(error, "input %" PRIu32 " cannot be of type %s", k,
                       dtype_name(input->dtype));
}

collage_status call_check_same_type(const struct op_call *call, uint32_t types, struct error *error)
{
    collage_status status = call_check_type(call, 0, types, error);
    for (uint32_t k = 1; k < call->input_count && status == COLLAGE_OK; k++)
        if (call->inputs[k] && call->inputs[k]->dtype != call->inputs[0]->dtype)
            status =
                shape_error(error, "inputs 0 and %" PRIu32 " are of types %s and %s", k,
                            dtype_name(call->inputs[0]->dtype), dtype_name(call->inputs[k]->dtype));
    return status;
}

void call_set_output(const struct op_call *call, uint32_t k, collage_dtype dtype,
                     const struct tensor *shape)
{
    if (k >= call->output_count)
        return;
    void *data = call->outputs[k].data;
    call->outputs[k] = *shape;
    call->outputs[k].dtype = dtype;
    call->outputs[k].data = data;
}

collage_status axis_resolve(int64_t axis, int32_t rank, int32_t *out, struct error *error)
{
    *out = 0;
    if (axis < -rank || axis >= rank)
        return shape_error(error, "axis %" PRId64 " is out of range for rank %d", axis, (int)rank);
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return COLLAGE_OK;
}

collage_status call_axis(const struct op_call *call, int64_t fallback, int32_t rank, int32_t *out,
                         struct error *error)
{
    return axis_resolve(collage_node_int(call->node, "axis", fallback), rank, out, error);
}

collage_status call_ints(const struct op_call *call, uint32_t k, struct ints *out,
                         struct error *error)
{
    const struct tensor *input = call_input(call, k);
    out->count = -1;
    if (!input)
        return COLLAGE_OK;
    if (input->dtype != COLLAGE_INT64 && input->dtype != COLLAGE_INT32)
        return shape_error(error, "input %" PRIu32 " must be of type int64, not %s", k,
                           dtype_name(input->dtype));
    int64_t count = tensor_elements(input);
    if (input->rank > 1 || count > INTS_MAX)
        return shape_error(error, "input %" PRIu32 " must be a list of at most %d integers", k,
                           INTS_MAX);
    if (!input->data && count > 0)
        return shape_error(error,
                           "input %" PRIu32 " must be constant: the output's shape "
                           "depends on it",
                           k);
    for (int64_t i = 0; i < count; i++)
        out->values[i] = tensor_get_int(input, i);
    out->count = (int32_t)count;
    return COLLAGE_OK;
}

collage_status call_ints_attribute(const struct op_call *call, const char *name, struct ints *out,
                                   struct error *error)
{
    const collage_attribute *attribute =
        collage_node_attribute(call->node, name, COLLAGE_ATTRIBUTE_INTS);
    out->count = -1;
    if (!attribute)
        return COLLAGE_OK;
    if (attribute->count > INTS_MAX)
        return shape_error(error, "attribute '%s' has more than %d elements", name, INTS_MAX);
    for (uint32_t i = 0; i < attribute->count; i++)
        out->values[i] = attribute->ints[i];
    out->count = (int32_t)attribute->count;
    return COLLAGE_OK;
}

collage_status axes_resolve(struct ints *axes, int32_t rank, uint32_t *set, struct error *error)
{
    *set = 0;
    for (int32_t k = 0; k < axes->count; k++) {
        int32_t axis;
        collage_status status = axis_resolve(axes->values[k], rank, &axis, error);
        if (status != COLLAGE_OK)
            return status;
        if (*set & 1u << axis)
            return shape_error(error, "axis %d is named twice", (int)axis);
        *set |= 1u << axis;
        axes->values[k] = axis;
    }
    return COLLAGE_OK;
}

void tensor_copy_data(struct tensor *to, const struct tensor *from)
{
    size_t bytes = (size_t)tensor_bytes(to);
    if (bytes)
        memcpy(to->data, from->data, bytes);
}
