/* SPDX-License-Identifier: Apache-2.0 */
/* view.c: operators that give the same elements another shape: Reshape, Flatten, Squeeze,
 * Unsqueeze, Identity; and Dropout, which does nothing while inferring. */
#include <inttypes.h>
#include <string.h>

#include "ops/call.h"

collage_status compute_view(const struct op_call *call, struct error *error)
{
    (void)error;
    tensor_copy_data(&call->outputs[0], call->inputs[0]);
    return COLLAGE_OK;
}

/* Gives the dimension written as -1 the value that makes the number of elements right. */
static collage_status fill_unknown(const struct tensor *from, struct tensor *to, int32_t unknown,
                                   struct error *error)
{
    int64_t have = tensor_elements(from), known = 1;
    for (int32_t d = 0; d < to->rank; d++)
        if (d != unknown && __builtin_mul_overflow(known, to->dims[d], &known))
            return shape_error(error, "the new shape is too large");
    char dims[160];
    dims_print(from->dims, from->rank, dims, sizeof dims);
    if (unknown >= 0) {
        if (known == 0 || have % known != 0)
            return shape_error(error, "%s cannot be reshaped: no value fits the dimension -1",
                               dims);
        to->dims[unknown] = have / known;
        return COLLAGE_OK;
    }
    if (known != have)
        return shape_error(error, "%s has %" PRId64 " elements, the new shape %" PRId64, dims, have,
                           known);
    return COLLAGE_OK;
}

collage_status infer_reshape(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct ints shape;
    collage_status status = call_ints(call, 1, &shape, error);
    if (status != COLLAGE_OK)
        return status;
    if (shape.count > COLLAGE_MAX_RANK)
        return shape_error(error, "rank %d is above %d", (int)shape.count, COLLAGE_MAX_RANK);
    bool allow_zero = collage_node_int(call->node, "allowzero", 0) != 0;
    struct tensor y = { .rank = shape.count };
    int32_t unknown = -1;
    for (int32_t d = 0; d < shape.count; d++) {
        y.dims[d] = shape.values[d];
        if (y.dims[d] == 0 && !allow_zero) {
            if (d >= x->rank)
                return shape_error(error, "dimension %d is 0, but the input has rank %d", (int)d,
                                   (int)x->rank);
            y.dims[d] = x->dims[d];
        }
        if (shape.values[d] == -1 && unknown < 0)
            unknown = d;
        else if (shape.values[d] < 0)
            return shape_error(error, "dimension %d is %" PRId64, (int)d, shape.values[d]);
    }
    status = fill_unknown(x, &y, unknown, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, x->dtype, &y);
    return status;
}

collage_status infer_flatten(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int64_t axis = collage_node_int(call->node, "axis", 1);
    if (axis < -x->rank || axis > x->rank)
        return shape_error(error, "axis %" PRId64 " is out of range for rank %d", axis,
                           (int)x->rank);
    int32_t split = (int32_t)(axis < 0 ? axis + x->rank : axis);
    struct tensor y = { .rank = 2 };
    y.dims[0] = dims_product(x, 0, split);
    y.dims[1] = dims_product(x, split, x->rank);
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

collage_status infer_squeeze(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct ints axes;
    uint32_t set = 0;
    collage_status status = call_ints(call, 1, &axes, error);
    if (status == COLLAGE_OK)
        status = axes_resolve(&axes, x->rank, &set, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { 0 };
    for (int32_t d = 0; d < x->rank; d++) {
        bool drop = axes.count < 0 ? x->dims[d] == 1 : (set >> d & 1) != 0;
        if (drop && x->dims[d] != 1)
            return shape_error(error, "axis %d has %" PRId64 " elements, not 1", (int)d,
                               x->dims[d]);
        if (!drop)
            y.dims[y.rank++] = x->dims[d];
    }
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

collage_status infer_unsqueeze(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct ints axes;
    uint32_t set = 0;
    collage_status status = call_ints(call, 1, &axes, error);
    if (status != COLLAGE_OK)
        return status;
    int32_t rank = x->rank + axes.count;
    if (rank > COLLAGE_MAX_RANK)
        return shape_error(error, "rank %d is above %d", (int)rank, COLLAGE_MAX_RANK);
    status = axes_resolve(&axes, rank, &set, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { .rank = rank };
    for (int32_t d = 0, from = 0; d < rank; d++)
        y.dims[d] = set >> d & 1 ? 1 : x->dims[from++];
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

collage_status infer_dropout(const struct op_call *call, struct error *error)
{
    const struct tensor *training = call_input(call, 2);
    if (training && (training->dtype != COLLAGE_BOOL || tensor_elements(training) != 1))
        return shape_error(error, "training_mode must be a single bool");
    if (training && (!training->data || tensor_get_int(training, 0)))
        return shape_error(error, "training_mode must be constant and false");
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, call->inputs[0]);
    if (status == COLLAGE_OK)
        call_set_output(call, 1, COLLAGE_BOOL, call->inputs[0]);
    return status;
}

collage_status compute_dropout(const struct op_call *call, struct error *error)
{
    if (call->output_count > 1 && call->outputs[1].data)
        memset(call->outputs[1].data, 1, (size_t)tensor_bytes(&call->outputs[1]));
    return compute_view(call, error);
}
