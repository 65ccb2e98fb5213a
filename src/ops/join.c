/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: operators that put tensors together or repeat one: Concat, Tile, Expand. */
#include <inttypes.h>

#include "ops/call.h"
#include "ops/walk.h"

collage_status infer_concat(const struct op_call *call, struct error *error)
{
    struct tensor y = *call->inputs[0];
    int32_t axis;
    collage_status status = call_check_same_type(call, TYPES_ANY, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, INT64_MAX, y.rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    for (uint32_t k = 1; k < call->input_count; k++) {
        const struct tensor *x = call->inputs[k];
        bool fits = x->rank == y.rank;
        for (int32_t d = 0; d < y.rank && fits; d++)
            fits = d == axis || x->dims[d] == y.dims[d];
        if (!fits) {
            char a[128], b[128];
            dims_print(call->inputs[0]->dims, call->inputs[0]->rank, a, sizeof a);
            dims_print(x->dims, x->rank, b, sizeof b);
            return shape_error(error, "shapes %s and %s do not join along axis %d", a, b,
                               (int)axis);
        }
        if (__builtin_add_overflow(y.dims[axis], x->dims[axis], &y.dims[axis]))
            return shape_error(error, "the output is too large");
    }
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_concat(const struct op_call *call, struct error *error)
{
    struct tensor *y = &call->outputs[0];
    int32_t axis;
    collage_status status = call_axis(call, INT64_MAX, y->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t strides[COLLAGE_MAX_RANK], start = 0;
    dense_strides(y->dims, y->rank, strides);
    for (uint32_t k = 0; k < call->input_count; k++) {
        const struct tensor *x = call->inputs[k];
        struct walk walk;
        walk_begin(&walk, x->dims, x->rank);
        int32_t from = walk_add_dense(&walk);
        int32_t to = walk_add(&walk, start, strides);
        walk_copy(&walk, y, to, x, from);
        start += x->dims[axis] * strides[axis];
    }
    return COLLAGE_OK;
}

/* ---- Tile ---- */

collage_status infer_tile(const struct op_call *call, struct error *error)
{
    struct tensor y = *call->inputs[0];
    struct ints repeats;
    collage_status status = call_ints(call, 1, &repeats, error);
    if (status != COLLAGE_OK)
        return status;
    if (repeats.count != y.rank)
        return shape_error(error, "%d repeats for rank %d", (int)repeats.count, (int)y.rank);
    for (int32_t d = 0; d < y.rank; d++)
        if (repeats.values[d] < 0 ||
            __builtin_mul_overflow(y.dims[d], repeats.values[d], &y.dims[d]))
            return shape_error(error, "axis %d cannot be repeated %" PRId64 " times", (int)d,
                               repeats.values[d]);
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_tile(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    if (tensor_elements(y) == 0)
        return COLLAGE_OK;
    int64_t strides[COLLAGE_MAX_RANK] = { 0 };
    int64_t size = (int64_t)dtype_size(y->dtype);
    dense_strides(x->dims, x->rank, strides);
    int64_t count = tensor_elements(y);
    int64_t index[COLLAGE_MAX_RANK] = { 0 };
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0;
        for (int32_t d = 0; d < y->rank; d++)
            from += index[d] % x->dims[d] * strides[d];
        const char *source = (const char *)x->data + from * size;
        char *target = (char *)y->data + i * size;
        for (int64_t b = 0; b < size; b++)
            target[b] = source[b];
        for (int32_t d = y->rank - 1; d >= 0 && ++index[d] == y->dims[d]; d--)
            index[d] = 0;
    }
    return COLLAGE_OK;
}

/* ---- Expand ---- */

collage_status infer_expand(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct ints shape;
    collage_status status = call_ints(call, 1, &shape, error);
    if (status != COLLAGE_OK)
        return status;
    if (shape.count > COLLAGE_MAX_RANK)
        return shape_error(error, "rank %d is above %d", (int)shape.count, COLLAGE_MAX_RANK);
    struct tensor wanted = { .rank = shape.count }, y = { 0 };
    for (int32_t d = 0; d < shape.count; d++) {
        if (shape.values[d] < 0)
            return shape_error(error, "dimension %d is %" PRId64, (int)d, shape.values[d]);
        wanted.dims[d] = shape.values[d];
    }
    const struct tensor *both[] = { x, &wanted };
    status = broadcast_shape(both, 2, &y, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, x->dtype, &y);
    return status;
}

collage_status compute_expand(const struct op_call *call, struct error *error)
{
    (void)error;
    struct tensor *y = &call->outputs[0];
    struct walk walk;
    walk_begin(&walk, y->dims, y->rank);
    int32_t to = walk_add_dense(&walk);
    int32_t from = walk_add_broadcast(&walk, call->inputs[0]);
    walk_copy(&walk, y, to, call->inputs[0], from);
    return COLLAGE_OK;
}
