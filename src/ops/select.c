/* SPDX-License-Identifier: Apache-2.0 */
/* select.c: Clip, Where, Cast, Trilu: each output element is one input element, chosen or
 * converted. */
#include <inttypes.h>

#include "ops/call.h"
#include "ops/walk.h"

/* ---- Clip ---- */

collage_status infer_clip(const struct op_call *call, struct error *error)
{
    for (uint32_t k = 1; k < call->input_count; k++)
        if (call->inputs[k] && tensor_elements(call->inputs[k]) != 1)
            return shape_error(error, "input %" PRIu32 " must be a scalar", k);
    collage_status status = call_check_same_type(call, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, call->inputs[0]);
    return status;
}

static void clip_real(const struct op_call *call, const struct tensor *low,
                      const struct tensor *high)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int64_t count = tensor_elements(y);
    double bottom = low ? tensor_get(low, 0) : 0, top = high ? tensor_get(high, 0) : 0;
    for (int64_t i = 0; i < count; i++) {
        double value = tensor_get(x, i);
        if (low && value < bottom)
            value = bottom;
        if (high && value > top)
            value = top;
        tensor_set(y, i, value);
    }
}

static bool less(int64_t a, int64_t b, bool is_unsigned)
{
    return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}

collage_status compute_clip(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0], *low = call_input(call, 1),
                        *high = call_input(call, 2);
    if (dtype_is_float(x->dtype)) {
        clip_real(call, low, high);
        return COLLAGE_OK;
    }
    bool is_unsigned = dtype_is_unsigned(x->dtype);
    int64_t count = tensor_elements(x);
    for (int64_t i = 0; i < count; i++) {
        int64_t value = tensor_get_int(x, i);
        if (low && less(value, tensor_get_int(low, 0), is_unsigned))
            value = tensor_get_int(low, 0);
        if (high && less(tensor_get_int(high, 0), value, is_unsigned))
            value = tensor_get_int(high, 0);
        tensor_set_int(&call->outputs[0], i, value);
    }
    return COLLAGE_OK;
}

/* ---- Where ---- */

collage_status infer_where(const struct op_call *call, struct error *error)
{
    struct tensor shape = { 0 };
    collage_status status = call_check_type(call, 0, TYPES_BOOL, error);
    if (status == COLLAGE_OK && call->inputs[1]->dtype != call->inputs[2]->dtype)
        status =
            shape_error(error, "inputs 1 and 2 are of types %s and %s",
                        dtype_name(call->inputs[1]->dtype), dtype_name(call->inputs[2]->dtype));
    if (status == COLLAGE_OK)
        status = broadcast_shape(call->inputs, 3, &shape, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[1]->dtype, &shape);
    return status;
}

collage_status compute_where(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *condition = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    bool real = dtype_is_float(y->dtype);
    struct walk walk;
    walk_begin(&walk, y->dims, y->rank);
    for (uint32_t k = 0; k < 3; k++)
        walk_add_broadcast(&walk, call->inputs[k]);
    walk_add_dense(&walk);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++) {
            int k = tensor_get_int(condition, walk.at[0] + i * walk.step[0]) ? 1 : 2;
            int64_t from = walk.at[k] + i * walk.step[k];
            if (real)
                tensor_set(y, walk.at[3] + i, tensor_get(call->inputs[k], from));
            else
                tensor_set_int(y, walk.at[3] + i, tensor_get_int(call->inputs[k], from));
        }
    return COLLAGE_OK;
}

/* ---- Cast ---- */

collage_status infer_cast(const struct op_call *call, struct error *error)
{
    int64_t to = collage_node_int(call->node, "to", 0);
    if (to < 0 || to > COLLAGE_BFLOAT16 || dtype_size((collage_dtype)to) == 0)
        return shape_error(error, "the type %" PRId64 " of attribute 'to' is not supported", to);
    call_set_output(call, 0, (collage_dtype)to, call->inputs[0]);
    return COLLAGE_OK;
}

/* Integers become float32 in one rounding; by way of double it would be two. */
static void cast_from_integer(const struct tensor *x, struct tensor *y, int64_t i)
{
    int64_t value = tensor_get_int(x, i);
    if (y->dtype == COLLAGE_FLOAT32)
        ((float *)y->data)[i] = x->dtype == COLLAGE_UINT64 ? (float)(uint64_t)value : (float)value;
    else if (dtype_is_float(y->dtype))
        tensor_set(y, i, tensor_get(x, i));
    else
        tensor_set_int(y, i, value);
}

collage_status compute_cast(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int64_t count = tensor_elements(y);
    bool real = dtype_is_float(x->dtype);
    for (int64_t i = 0; i < count; i++) {
        if (real)
            tensor_set(y, i, tensor_get(x, i));
        else
            cast_from_integer(x, y, i);
    }
    return COLLAGE_OK;
}

/* ---- Trilu ---- */

collage_status infer_trilu(const struct op_call *call, struct error *error)
{
    const struct tensor *k = call_input(call, 1);
    if (call->inputs[0]->rank < 2)
        return shape_error(error, "rank %d is below 2", (int)call->inputs[0]->rank);
    if (k && (k->dtype != COLLAGE_INT64 || tensor_elements(k) != 1))
        return shape_error(error, "input 1 must be a single int64");
    call_set_output(call, 0, call->inputs[0]->dtype, call->inputs[0]);
    return COLLAGE_OK;
}

collage_status compute_trilu(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0], *k = call_input(call, 1);
    struct tensor *y = &call->outputs[0];
    bool upper = collage_node_int(call->node, "upper", 1) != 0;
    int64_t rows = y->dims[y->rank - 2], columns = y->dims[y->rank - 1];
    int64_t diagonal = k ? tensor_get_int(k, 0) : 0;
    diagonal = diagonal < -rows ? -rows : diagonal > columns ? columns : diagonal;
    int64_t count = tensor_elements(y);
    tensor_copy_data(y, x);
    for (int64_t i = 0; i < count; i++) {
        int64_t row = i / columns % rows, column = i % columns;
        if (upper ? column - row < diagonal : column - row > diagonal)
            tensor_set(y, i, 0);
    }
    return COLLAGE_OK;
}
