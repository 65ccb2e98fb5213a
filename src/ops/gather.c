/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c: operators that look elements up: Gather, GatherElements. Indices are data: they are
 * checked while computing. */
#include <inttypes.h>
#include <string.h>

#include "ops/call.h"
#include "ops/walk.h"

static collage_status check_indices(const struct op_call *call, struct error *error)
{
    collage_dtype dtype = call->inputs[1]->dtype;
    if (dtype != COLLAGE_INT64 && dtype != COLLAGE_INT32)
        return shape_error(error, "the indices must be of type int64 or int32, not %s",
                           dtype_name(dtype));
    return COLLAGE_OK;
}

static collage_status read_index(const struct op_call *call, int64_t i, int64_t dim, int64_t *out,
                                 struct error *error)
{
    int64_t index = tensor_get_int(call->inputs[1], i);
    *out = 0;
    if (index < -dim || index >= dim)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "index %" PRId64 " is out of range for %" PRId64 " elements", index, dim);
    *out = index < 0 ? index + dim : index;
    return COLLAGE_OK;
}

collage_status infer_gather(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    int32_t axis;
    collage_status status = check_indices(call, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, 0, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { .rank = x->rank - 1 + indices->rank };
    if (y.rank > COLLAGE_MAX_RANK)
        return shape_error(error, "rank %d is above %d", (int)y.rank, COLLAGE_MAX_RANK);
    for (int32_t d = 0; d < axis; d++)
        y.dims[d] = x->dims[d];
    for (int32_t d = 0; d < indices->rank; d++)
        y.dims[axis + d] = indices->dims[d];
    for (int32_t d = axis + 1; d < x->rank; d++)
        y.dims[indices->rank + d - 1] = x->dims[d];
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_gather(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int32_t axis;
    collage_status status = call_axis(call, 0, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t outer = dims_product(x, 0, axis), dim = x->dims[axis];
    int64_t count = tensor_elements(call->inputs[1]);
    size_t bytes = (size_t)dims_product(x, axis + 1, x->rank) * dtype_size(x->dtype);
    for (int64_t i = 0; i < count; i++) {
        int64_t index;
        status = read_index(call, i, dim, &index, error);
        if (status != COLLAGE_OK)
            return status;
        for (int64_t o = 0; o < outer && bytes > 0; o++)
            memcpy((char *)y->data + (size_t)(o * count + i) * bytes,
                   (const char *)x->data + (size_t)(o * dim + index) * bytes, bytes);
    }
    return COLLAGE_OK;
}

collage_status infer_gather_elements(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    int32_t axis;
    collage_status status = check_indices(call, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, 0, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    bool fits = indices->rank == x->rank;
    for (int32_t d = 0; d < x->rank && fits; d++)
        fits = d == axis || indices->dims[d] <= x->dims[d];
    if (!fits)
        return shape_error(error, "the indices do not lie within the shape of the data");
    call_set_output(call, 0, x->dtype, indices);
    return COLLAGE_OK;
}

collage_status compute_gather_elements(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int32_t axis;
    collage_status status = call_axis(call, 0, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t strides[COLLAGE_MAX_RANK];
    dense_strides(x->dims, x->rank, strides);
    int64_t along = strides[axis];
    strides[axis] = 0;
    size_t size = dtype_size(y->dtype);
    struct walk walk;
    walk_begin(&walk, y->dims, y->rank);
    walk_add_dense(&walk);
    walk_add(&walk, 0, strides);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++) {
            int64_t index;
            status = read_index(call, walk.at[0] + i, x->dims[axis], &index, error);
            if (status != COLLAGE_OK)
                return status;
            int64_t from = walk.at[1] + i * walk.step[1] + index * along;
            memcpy((char *)y->data + (size_t)(walk.at[0] + i) * size,
                   (const char *)x->data + (size_t)from * size, size);
        }
    return COLLAGE_OK;
}
