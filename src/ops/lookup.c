/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c: operators that pick, place or move whole elements: GatherND, OneHot, EyeLike,
 * ReverseSequence, CenterCropPad; and those whose output is as large as their data say: Compress,
 * NonZero, Unique. Of these the data must be constant, for shapes are static. */
#include "ops/lookup.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"
#include "ops/order.h"
#include "ops/walk.h"

/* ---- shared ---- */

collage_status index_read(const struct tensor *indices, int64_t i, int64_t dim, int64_t *out,
                          struct error *error)
{
    int64_t index = tensor_get_int(indices, i);
    *out = 0;
    if (index < -dim || index >= dim)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "index %" PRId64 " is out of range for %" PRId64 " elements", index, dim);
    *out = index < 0 ? index + dim : index;
    return COLLAGE_OK;
}

collage_status index_read_tuple(const struct tensor *indices, int64_t at, int64_t count,
                                const struct tensor *x, int32_t first, int64_t *out,
                                struct error *error)
{
    *out = 0;
    for (int32_t k = 0; k < count; k++) {
        int64_t index;
        collage_status status = index_read(indices, at + k, x->dims[first + k], &index, error);
        if (status != COLLAGE_OK)
            return status;
        *out = *out * x->dims[first + k] + index;
    }
    return COLLAGE_OK;
}

void elements_copy(struct tensor *to, int64_t at, const struct tensor *from, int64_t start,
                   int64_t count)
{
    size_t size = dtype_size(to->dtype);
    memcpy((char *)to->data + (size_t)at * size, (const char *)from->data + (size_t)start * size,
           (size_t)count * size);
}

static collage_status check_constant(const struct op_call *call, uint32_t k, struct error *error)
{
    if (call->inputs[k]->data || tensor_elements(call->inputs[k]) == 0)
        return COLLAGE_OK;
    return shape_error(error,
                       "the shape of the output depends on the data of input %" PRIu32
                       ", which is not constant",
                       k);
}

/* ---- GatherND ---- */

collage_status infer_gather_nd(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    int64_t batch_dims = collage_node_int(call->node, "batch_dims", 0);
    if (indices->dtype != COLLAGE_INT64)
        return shape_error(error, "the indices must be of type int64, not %s",
                           dtype_name(indices->dtype));
    if (x->rank < 1 || indices->rank < 1)
        return shape_error(error, "the data and the indices must not be scalars");
    if (batch_dims < 0 || batch_dims >= x->rank || batch_dims >= indices->rank)
        return shape_error(error, "batch_dims %" PRId64 " is out of range for ranks %d and %d",
                           batch_dims, (int)x->rank, (int)indices->rank);
    int32_t batch = (int32_t)batch_dims, lead = indices->rank - 1;
    for (int32_t d = 0; d < batch; d++)
        if (x->dims[d] != indices->dims[d])
            return shape_error(error, "the data and the indices differ in dimension %d", (int)d);
    int64_t tuple = indices->dims[lead];
    if (tuple < 1 || tuple > x->rank - batch)
        return shape_error(error, "tuples of %" PRId64 " indices for %d dimensions", tuple,
                           (int)(x->rank - batch));
    int32_t first = batch + (int32_t)tuple; /* of the slices that are gathered */
    struct tensor y = { .rank = lead + x->rank - first };
    if (y.rank > COLLAGE_MAX_RANK)
        return shape_error(error, "rank %d is above %d", (int)y.rank, COLLAGE_MAX_RANK);
    for (int32_t d = 0; d < lead; d++)
        y.dims[d] = indices->dims[d];
    for (int32_t d = first; d < x->rank; d++)
        y.dims[lead + d - first] = x->dims[d];
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_gather_nd(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    if (tensor_elements(&call->outputs[0]) == 0)
        return COLLAGE_OK;
    int32_t batch = (int32_t)collage_node_int(call->node, "batch_dims", 0);
    int32_t lead = indices->rank - 1;
    int32_t first = batch + (int32_t)indices->dims[lead];
    int64_t batches = dims_product(indices, 0, batch);
    int64_t tuples = dims_product(indices, batch, lead);
    int64_t slices = dims_product(x, batch, first), slice = dims_product(x, first, x->rank);
    for (int64_t n = 0; n < batches * tuples; n++) {
        int64_t position;
        collage_status status = index_read_tuple(indices, n * indices->dims[lead],
                                                 indices->dims[lead], x, batch, &position, error);
        if (status != COLLAGE_OK)
            return status;
        elements_copy(&call->outputs[0], n * slice, x, (n / tuples * slices + position) * slice,
                      slice);
    }
    return COLLAGE_OK;
}

/* ---- OneHot ---- */

/* The number of classes, whatever its type; -1 if it is none. */
static int64_t read_depth(const struct tensor *depth)
{
    if (!dtype_is_float(depth->dtype))
        return tensor_get_int(depth, 0); /* a uint64 that is too large becomes negative */
    double value = tensor_get(depth, 0);
    return value >= 0 && value < 0x1p40 ? (int64_t)value : -1;
}

static collage_status one_hot_axis(const struct op_call *call, int32_t *axis, struct error *error)
{
    return call_axis(call, -1, call->inputs[0]->rank + 1, axis, error);
}

collage_status infer_one_hot(const struct op_call *call, struct error *error)
{
    const struct tensor *indices = call->inputs[0], *depth = call->inputs[1],
                        *values = call->inputs[2];
    int32_t axis;
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = call_check_type(call, 1, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = one_hot_axis(call, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    if (depth->rank > 1 || tensor_elements(depth) != 1)
        return shape_error(error, "the depth must be a single number");
    if (values->rank != 1 || values->dims[0] != 2)
        return shape_error(error, "the values must be two");
    if (indices->rank == COLLAGE_MAX_RANK)
        return shape_error(error, "rank %d is above %d", COLLAGE_MAX_RANK + 1, COLLAGE_MAX_RANK);
    status = check_constant(call, 1, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t classes = read_depth(depth);
    if (classes < 0)
        return shape_error(error, "the depth is out of range");
    struct tensor y = { .rank = indices->rank + 1 };
    for (int32_t d = 0; d < y.rank; d++)
        y.dims[d] = d == axis ? classes : indices->dims[d - (d > axis ? 1 : 0)];
    call_set_output(call, 0, values->dtype, &y);
    return COLLAGE_OK;
}

/* The class that element i names, -1 if it names none. */
static int64_t read_class(const struct tensor *indices, int64_t i, int64_t depth)
{
    int64_t index = -1;
    if (dtype_is_float(indices->dtype)) {
        double value = trunc(tensor_get(indices, i));
        if (!(value >= -(double)depth && value < (double)depth))
            return -1;
        index = (int64_t)value;
    } else {
        index = tensor_get_int(indices, i);
        if (index < 0 && dtype_is_unsigned(indices->dtype)) /* a large uint64 */
            return -1;
    }
    if (index < -depth || index >= depth)
        return -1;
    return index < 0 ? index + depth : index;
}

collage_status compute_one_hot(const struct op_call *call, struct error *error)
{
    const struct tensor *indices = call->inputs[0], *values = call->inputs[2];
    struct tensor *y = &call->outputs[0];
    int32_t axis;
    collage_status status = one_hot_axis(call, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t depth = y->dims[axis], count = tensor_elements(indices);
    int64_t inner = dims_product(indices, axis, indices->rank);
    for (int64_t i = 0; i < count; i++) {
        int64_t class = read_class(indices, i, depth);
        for (int64_t c = 0; c < depth; c++)
            elements_copy(y, (i / inner * depth + c) * inner + i % inner, values, c == class, 1);
    }
    return COLLAGE_OK;
}

/* ---- EyeLike ---- */

collage_status infer_eye_like(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int64_t dtype = collage_node_int(call->node, "dtype", x->dtype);
    if (x->rank != 2)
        return shape_error(error, "rank %d is not 2", (int)x->rank);
    if (dtype < 0 || dtype > COLLAGE_BFLOAT16 || dtype_size((collage_dtype)dtype) == 0)
        return shape_error(error, "the type %" PRId64 " of attribute 'dtype' is not supported",
                           dtype);
    call_set_output(call, 0, (collage_dtype)dtype, x);
    return COLLAGE_OK;
}

collage_status compute_eye_like(const struct op_call *call, struct error *error)
{
    (void)error;
    struct tensor *y = &call->outputs[0];
    int64_t diagonal = collage_node_int(call->node, "k", 0), count = tensor_elements(y);
    for (int64_t i = 0; i < count; i++)
        tensor_set(y, i, i % y->dims[1] - i / y->dims[1] == diagonal ? 1 : 0);
    return COLLAGE_OK;
}

/* ---- ReverseSequence ---- */

collage_status infer_reverse_sequence(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *lengths = call->inputs[1];
    int64_t time = collage_node_int(call->node, "time_axis", 0);
    int64_t batch = collage_node_int(call->node, "batch_axis", 1);
    if (x->rank < 2)
        return shape_error(error, "rank %d is below 2", (int)x->rank);
    if (time < 0 || time > 1 || batch != 1 - time)
        return shape_error(error, "time_axis and batch_axis must be 0 and 1, or 1 and 0");
    if (lengths->dtype != COLLAGE_INT64 || lengths->rank != 1 || lengths->dims[0] != x->dims[batch])
        return shape_error(error, "input 1 must be %" PRId64 " elements of type int64",
                           x->dims[batch]);
    call_set_output(call, 0, x->dtype, x);
    return COLLAGE_OK;
}

collage_status compute_reverse_sequence(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *lengths = call->inputs[1];
    if (tensor_elements(x) == 0)
        return COLLAGE_OK;
    bool time_first = collage_node_int(call->node, "time_axis", 0) == 0;
    int64_t steps = x->dims[time_first ? 0 : 1], batch = x->dims[time_first ? 1 : 0];
    int64_t step = time_first ? batch : 1, row = time_first ? 1 : steps;
    int64_t inner = dims_product(x, 2, x->rank);
    for (int64_t b = 0; b < batch; b++) {
        int64_t length = tensor_get_int(lengths, b);
        if (length < 0 || length > steps)
            return error_set(error, COLLAGE_ERROR_ARGUMENT,
                             "length %" PRId64 " is out of range for %" PRId64 " steps", length,
                             steps);
        for (int64_t t = 0; t < steps; t++) {
            int64_t from = t < length ? length - 1 - t : t;
            elements_copy(&call->outputs[0], (t * step + b * row) * inner, x,
                          (from * step + b * row) * inner, inner);
        }
    }
    return COLLAGE_OK;
}

/* ---- CenterCropPad ---- */

collage_status infer_center_crop_pad(const struct op_call *call, struct error *error)
{
    struct tensor y = *call->inputs[0];
    struct ints axes, wanted;
    uint32_t set;
    collage_status status = call_ints_attribute(call, "axes", &axes, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 1, &wanted, error);
    if (status != COLLAGE_OK)
        return status;
    if (axes.count < 0) {
        axes.count = y.rank;
        for (int32_t d = 0; d < y.rank; d++)
            axes.values[d] = d;
    }
    status = axes_resolve(&axes, y.rank, &set, error);
    if (status != COLLAGE_OK)
        return status;
    if (wanted.count != axes.count)
        return shape_error(error, "%d sizes for %d axes", (int)wanted.count, (int)axes.count);
    for (int32_t k = 0; k < axes.count; k++) {
        if (wanted.values[k] < 0)
            return shape_error(error, "size %" PRId64 " is negative", wanted.values[k]);
        y.dims[axes.values[k]] = wanted.values[k];
    }
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_center_crop_pad(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int64_t dims[COLLAGE_MAX_RANK] = { 0 }; /* of what is kept */
    int64_t from[COLLAGE_MAX_RANK] = { 0 }, to[COLLAGE_MAX_RANK] = { 0 };
    int64_t from_start = 0, to_start = 0;
    if (tensor_elements(y) == 0)
        return COLLAGE_OK;
    dense_strides(x->dims, x->rank, from);
    dense_strides(y->dims, y->rank, to);
    for (int32_t d = 0; d < x->rank; d++) {
        int64_t more = y->dims[d] - x->dims[d];
        dims[d] = more > 0 ? x->dims[d] : y->dims[d];
        if (more > 0)
            to_start += more / 2 * to[d];
        else
            from_start += -more / 2 * from[d];
    }
    memset(y->data, 0, (size_t)tensor_bytes(y));
    struct walk walk;
    walk_begin(&walk, dims, x->rank);
    int32_t target = walk_add(&walk, to_start, to);
    int32_t source = walk_add(&walk, from_start, from);
    walk_copy(&walk, y, target, x, source);
    return COLLAGE_OK;
}

/* ---- slices along an axis, or all elements ---- */

struct slices {
    const struct tensor *x;
    int32_t axis; /* -1: the slices are the elements */
    int64_t outer, count, inner;
};

static collage_status read_slices(const struct op_call *call, struct slices *out,
                                  struct error *error)
{
    const struct tensor *x = call->inputs[0];
    const collage_attribute *axis =
        collage_node_attribute(call->node, "axis", COLLAGE_ATTRIBUTE_INT);
    *out =
        (struct slices){ .x = x, .axis = -1, .outer = 1, .count = tensor_elements(x), .inner = 1 };
    if (!axis)
        return COLLAGE_OK;
    collage_status status = axis_resolve(axis->i, x->rank, &out->axis, error);
    if (status != COLLAGE_OK)
        return status;
    out->outer = dims_product(x, 0, out->axis);
    out->count = x->dims[out->axis];
    out->inner = dims_product(x, out->axis + 1, x->rank);
    return COLLAGE_OK;
}

/* The shape of `count` of the slices. */
static struct tensor slices_shape(const struct slices *slices, int64_t count)
{
    struct tensor y = { .rank = 1, .dims = { count } };
    if (slices->axis >= 0) {
        y = *slices->x;
        y.dims[slices->axis] = count;
    }
    return y;
}

/* Slice `from` becomes slice `to` of the `count` of y. */
static void slices_copy(const struct slices *slices, int64_t from, struct tensor *y, int64_t to,
                        int64_t count)
{
    for (int64_t o = 0; o < slices->outer; o++)
        elements_copy(y, (o * count + to) * slices->inner, slices->x,
                      (o * slices->count + from) * slices->inner, slices->inner);
}

/* ---- Compress ---- */

collage_status infer_compress(const struct op_call *call, struct error *error)
{
    const struct tensor *condition = call->inputs[1];
    struct slices slices;
    if (call->inputs[0]->rank < 1)
        return shape_error(error, "the input must not be a scalar");
    if (condition->dtype != COLLAGE_BOOL || condition->rank != 1)
        return shape_error(error, "the condition must be a list of bools");
    collage_status status = read_slices(call, &slices, error);
    if (status == COLLAGE_OK && condition->dims[0] > slices.count)
        status = shape_error(error, "%" PRId64 " conditions for %" PRId64 " slices",
                             condition->dims[0], slices.count);
    if (status == COLLAGE_OK)
        status = check_constant(call, 1, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t count = 0;
    for (int64_t k = 0; k < condition->dims[0]; k++)
        count += tensor_get_int(condition, k);
    struct tensor y = slices_shape(&slices, count);
    call_set_output(call, 0, call->inputs[0]->dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_compress(const struct op_call *call, struct error *error)
{
    const struct tensor *condition = call->inputs[1];
    struct tensor *y = &call->outputs[0];
    struct slices slices;
    collage_status status = read_slices(call, &slices, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    int64_t count = y->dims[slices.axis < 0 ? 0 : slices.axis], to = 0;
    for (int64_t k = 0; k < condition->dims[0]; k++)
        if (tensor_get_int(condition, k))
            slices_copy(&slices, k, y, to++, count);
    return COLLAGE_OK;
}

/* ---- NonZero ---- */

static bool is_zero(const struct tensor *x, int64_t i)
{
    return dtype_is_float(x->dtype) ? tensor_get(x, i) == 0 : tensor_get_int(x, i) == 0;
}

collage_status infer_non_zero(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    collage_status status = check_constant(call, 0, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { .rank = 2, .dims = { x->rank, 0 } };
    int64_t count = tensor_elements(x);
    for (int64_t i = 0; i < count; i++)
        y.dims[1] += is_zero(x, i) ? 0 : 1;
    call_set_output(call, 0, COLLAGE_INT64, &y);
    return COLLAGE_OK;
}

collage_status compute_non_zero(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int64_t count = tensor_elements(x), column = 0;
    for (int64_t i = 0; i < count; i++) {
        if (is_zero(x, i))
            continue;
        int64_t rest = i;
        for (int32_t d = x->rank - 1; d >= 0; d--) {
            tensor_set_int(y, d * y->dims[1] + column, rest % x->dims[d]);
            rest /= x->dims[d];
        }
        column++;
    }
    return COLLAGE_OK;
}

/* ---- Unique ---- */

struct unique {
    struct slices slices;
    int64_t values; /* how many different ones there are */
    int64_t *first; /* of each value: the slice where it occurs first */
    int64_t *value; /* of each slice: the number of its value */
    int64_t *counts;
    int64_t *block; /* the memory of all */
};

static int compare_slices(const void *context, int64_t a, int64_t b)
{
    const struct slices *slices = context;
    for (int64_t o = 0; o < slices->outer; o++)
        for (int64_t i = 0; i < slices->inner; i++) {
            int64_t start = o * slices->count;
            int order = order_elements(slices->x, (start + a) * slices->inner + i,
                                       (start + b) * slices->inner + i);
            if (order != 0)
                return order;
        }
    return 0;
}

/* Numbers the values as they first occur. map: room for a number for each. */
static void renumber(struct unique *unique, int64_t *map)
{
    int64_t next = 0, count = unique->slices.count;
    for (int64_t k = 0; k < count; k++) {
        int64_t value = unique->value[k];
        if (unique->first[value] == k)
            map[value] = next++;
        unique->value[k] = map[value];
    }
    next = 0;
    for (int64_t k = 0; k < count; k++)
        if (unique->value[k] == next)
            unique->first[next++] = k;
}

/* The block is to be freed if all went well. */
static collage_status find_unique(const struct op_call *call, struct unique *out,
                                  struct error *error)
{
    collage_status status = read_slices(call, &out->slices, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t count = out->slices.count;
    if (count > 0 && tensor_elements(call->inputs[0]) == 0)
        return shape_error(error, "the input's slices have no elements");
    out->block = memory_alloc((size_t)count * 5 * sizeof *out->block);
    if (!out->block)
        return error_memory(error);
    int64_t *order = out->block, *spare = order + count;
    out->first = spare + count;
    out->value = out->first + count;
    out->counts = out->value + count;
    out->values = 0;
    order_sort(order, spare, count, compare_slices, &out->slices);
    for (int64_t k = 0; k < count; k++) {
        if (k == 0 || compare_slices(&out->slices, order[k - 1], order[k]) != 0)
            out->first[out->values++] = order[k];
        out->value[order[k]] = out->values - 1;
    }
    if (collage_node_int(call->node, "sorted", 1) == 0)
        renumber(out, spare);
    for (int64_t k = 0; k < count; k++)
        out->counts[out->value[k]]++;
    return COLLAGE_OK;
}

collage_status infer_unique(const struct op_call *call, struct error *error)
{
    int64_t sorted = collage_node_int(call->node, "sorted", 1);
    struct unique unique;
    if (sorted != 0 && sorted != 1)
        return shape_error(error, "sorted is neither 0 nor 1");
    collage_status status = check_constant(call, 0, error);
    if (status == COLLAGE_OK)
        status = find_unique(call, &unique, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = slices_shape(&unique.slices, unique.values);
    struct tensor values = { .rank = 1, .dims = { unique.values } };
    struct tensor slices = { .rank = 1, .dims = { unique.slices.count } };
    call_set_output(call, 0, call->inputs[0]->dtype, &y);
    call_set_output(call, 1, COLLAGE_INT64, &values);
    call_set_output(call, 2, COLLAGE_INT64, &slices);
    call_set_output(call, 3, COLLAGE_INT64, &values);
    memory_free(unique.block);
    return COLLAGE_OK;
}

static void write_list(const struct op_call *call, uint32_t k, const int64_t *list)
{
    if (k >= call->output_count || !call->outputs[k].data)
        return;
    for (int64_t i = 0; i < call->outputs[k].dims[0]; i++)
        tensor_set_int(&call->outputs[k], i, list[i]);
}

collage_status compute_unique(const struct op_call *call, struct error *error)
{
    struct unique unique;
    collage_status status = find_unique(call, &unique, error);
    if (status != COLLAGE_OK)
        return status;
    for (int64_t v = 0; v < unique.values && call->outputs[0].data; v++)
        slices_copy(&unique.slices, unique.first[v], &call->outputs[0], v, unique.values);
    write_list(call, 1, unique.first);
    write_list(call, 2, unique.value);
    write_list(call, 3, unique.counts);
    memory_free(unique.block);
    return COLLAGE_OK;
}
