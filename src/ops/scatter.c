/* SPDX-License-Identifier: Apache-2.0 */
/* scatter.c: operators that write updates into a copy of a tensor: ScatterElements, ScatterND,
 * TensorScatter. Indices are data: they are checked while computing. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/call.h"
#include "ops/lookup.h"
#include "ops/walk.h"

/* ---- what an update does to an element ---- */

enum reduction { REPLACE, ADD, MULTIPLY, LEAST, GREATEST };

static collage_status read_reduction(const struct op_call *call, enum reduction *out,
                                     struct error *error)
{
    static const struct {
        const char *name;
        enum reduction reduction;
    } names[] = { { "none", REPLACE },
                  { "add", ADD },
                  { "mul", MULTIPLY },
                  { "min", LEAST },
                  { "max", GREATEST } };
    const char *wanted = collage_node_string(call->node, "reduction", "none");
    *out = REPLACE;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (strcmp(names[k].name, wanted) == 0) {
            *out = names[k].reduction;
            return COLLAGE_OK;
        }
    return shape_error(error, "reduction '%.20s' is unknown", wanted);
}

static double combine_reals(enum reduction reduction, double a, double b)
{
    switch (reduction) {
    case ADD:
        return a + b;
    case MULTIPLY:
        return a * b;
    case LEAST: /* NaN wins */
        return isnan(b) || b < a ? b : a;
    case GREATEST:
        return isnan(b) || b > a ? b : a;
    case REPLACE:
        break;
    }
    return b;
}

/* Modulo 2^64, and so, once stored, modulo 2^bits. */
static int64_t combine_integers(enum reduction reduction, int64_t a, int64_t b, bool is_unsigned)
{
    bool less = is_unsigned ? (uint64_t)b < (uint64_t)a : b < a;
    switch (reduction) {
    case ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case MULTIPLY:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case LEAST:
        return less ? b : a;
    case GREATEST:
        return less ? a : b;
    case REPLACE:
        break;
    }
    return b;
}

static void update(struct tensor *y, int64_t at, const struct tensor *updates, int64_t from,
                   enum reduction reduction)
{
    if (reduction == REPLACE)
        elements_copy(y, at, updates, from, 1);
    else if (dtype_is_float(y->dtype))
        tensor_set(y, at, combine_reals(reduction, tensor_get(y, at), tensor_get(updates, from)));
    else
        tensor_set_int(y, at,
                       combine_integers(reduction, tensor_get_int(y, at),
                                        tensor_get_int(updates, from),
                                        dtype_is_unsigned(y->dtype)));
}

static collage_status check_update_type(const struct op_call *call, uint32_t k, struct error *error)
{
    if (call->inputs[k]->dtype == call->inputs[0]->dtype)
        return COLLAGE_OK;
    return shape_error(error, "inputs 0 and %" PRIu32 " are of types %s and %s", k,
                       dtype_name(call->inputs[0]->dtype), dtype_name(call->inputs[k]->dtype));
}

/* ---- ScatterElements ---- */

collage_status infer_scatter_elements(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    enum reduction reduction;
    int32_t axis;
    if (indices->dtype != COLLAGE_INT64 && indices->dtype != COLLAGE_INT32)
        return shape_error(error, "the indices must be of type int64 or int32, not %s",
                           dtype_name(indices->dtype));
    collage_status status = check_update_type(call, 2, error);
    if (status == COLLAGE_OK)
        status = read_reduction(call, &reduction, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, 0, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    if (!tensor_same_shape(indices, call->inputs[2]))
        return shape_error(error, "the indices and the updates differ in shape");
    bool fits = indices->rank == x->rank;
    for (int32_t d = 0; d < x->rank && fits; d++)
        fits = d == axis || indices->dims[d] <= x->dims[d];
    if (!fits)
        return shape_error(error, "the indices do not lie within the shape of the data");
    call_set_output(call, 0, x->dtype, x);
    return COLLAGE_OK;
}

collage_status compute_scatter_elements(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    struct tensor *y = &call->outputs[0];
    enum reduction reduction;
    int32_t axis;
    collage_status status = read_reduction(call, &reduction, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, 0, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    tensor_copy_data(y, x);
    int64_t strides[COLLAGE_MAX_RANK] = { 0 };
    dense_strides(x->dims, x->rank, strides);
    int64_t along = strides[axis];
    strides[axis] = 0;
    struct walk walk;
    walk_begin(&walk, indices->dims, indices->rank);
    walk_add_dense(&walk);
    walk_add(&walk, 0, strides);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++) {
            int64_t from = walk.at[0] + i, index;
            status = index_read(indices, from, x->dims[axis], &index, error);
            if (status != COLLAGE_OK)
                return status;
            update(y, walk.at[1] + i * walk.step[1] + index * along, call->inputs[2], from,
                   reduction);
        }
    return COLLAGE_OK;
}

/* ---- ScatterND ---- */

/* The updates are of the shape of the indices, with the slice of x in the place of the tuple. */
static bool updates_fit(const struct tensor *updates, const struct tensor *indices,
                        const struct tensor *x, int32_t tuple)
{
    int32_t lead = indices->rank - 1;
    if (updates->rank != lead + x->rank - tuple)
        return false;
    for (int32_t d = 0; d < lead; d++)
        if (updates->dims[d] != indices->dims[d])
            return false;
    for (int32_t d = tuple; d < x->rank; d++)
        if (updates->dims[lead + d - tuple] != x->dims[d])
            return false;
    return true;
}

collage_status infer_scatter_nd(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    enum reduction reduction;
    if (indices->dtype != COLLAGE_INT64)
        return shape_error(error, "the indices must be of type int64, not %s",
                           dtype_name(indices->dtype));
    if (x->rank < 1 || indices->rank < 1)
        return shape_error(error, "the data and the indices must not be scalars");
    int64_t tuple = indices->dims[indices->rank - 1];
    if (tuple > x->rank)
        return shape_error(error, "tuples of %" PRId64 " indices for rank %d", tuple, (int)x->rank);
    if (!updates_fit(call->inputs[2], indices, x, (int32_t)tuple))
        return shape_error(error, "the updates do not fit the data and the indices");
    collage_status status = check_update_type(call, 2, error);
    if (status == COLLAGE_OK)
        status = read_reduction(call, &reduction, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, x->dtype, x);
    return status;
}

collage_status compute_scatter_nd(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    struct tensor *y = &call->outputs[0];
    enum reduction reduction;
    collage_status status = read_reduction(call, &reduction, error);
    if (status != COLLAGE_OK)
        return status;
    tensor_copy_data(y, x);
    if (tensor_elements(call->inputs[2]) == 0)
        return COLLAGE_OK;
    int64_t tuple = indices->dims[indices->rank - 1];
    int64_t tuples = dims_product(indices, 0, indices->rank - 1);
    int64_t slice = dims_product(x, (int32_t)tuple, x->rank);
    for (int64_t n = 0; n < tuples; n++) {
        int64_t position;
        status = index_read_tuple(indices, n * tuple, tuple, x, 0, &position, error);
        if (status != COLLAGE_OK)
            return status;
        for (int64_t i = 0; i < slice; i++)
            update(y, position * slice + i, call->inputs[2], n * slice + i, reduction);
    }
    return COLLAGE_OK;
}

/* ---- TensorScatter ---- */

static collage_status check_cache(const struct op_call *call, int32_t axis, struct error *error)
{
    const struct tensor *x = call->inputs[0], *more = call->inputs[1],
                        *starts = call_input(call, 2);
    if (axis == 0)
        return shape_error(error, "the axis must not be the batch's");
    bool fits = more->rank == x->rank;
    for (int32_t d = 0; d < x->rank && fits; d++)
        fits = d == axis ? more->dims[d] <= x->dims[d] : more->dims[d] == x->dims[d];
    if (!fits)
        return shape_error(error, "the update does not fit the cache");
    if (starts &&
        (starts->dtype != COLLAGE_INT64 || starts->rank != 1 || starts->dims[0] != x->dims[0]))
        return shape_error(error, "input 2 must be %" PRId64 " elements of type int64", x->dims[0]);
    return COLLAGE_OK;
}

collage_status infer_tensor_scatter(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    const char *mode = collage_node_string(call->node, "mode", "linear");
    int32_t axis;
    if (strcmp(mode, "linear") != 0 && strcmp(mode, "circular") != 0)
        return shape_error(error, "mode '%.20s' is neither 'linear' nor 'circular'", mode);
    collage_status status = check_update_type(call, 1, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, -2, x->rank, &axis, error);
    if (status == COLLAGE_OK)
        status = check_cache(call, axis, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, x->dtype, x);
    return status;
}

/* Where the update of a sample begins, in [0, cache). */
static collage_status read_start(const struct op_call *call, int64_t sample, int64_t cache,
                                 int64_t length, int64_t *out, struct error *error)
{
    const struct tensor *starts = call_input(call, 2);
    bool circular = strcmp(collage_node_string(call->node, "mode", "linear"), "circular") == 0;
    *out = starts ? tensor_get_int(starts, sample) : 0;
    if (circular) {
        *out %= cache;
        *out += *out < 0 ? cache : 0;
    } else if (*out < 0 || *out > cache - length) {
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "%" PRId64 " elements from %" PRId64 " on do not fit a cache of %" PRId64,
                         length, *out, cache);
    }
    return COLLAGE_OK;
}

collage_status compute_tensor_scatter(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *more = call->inputs[1];
    struct tensor *y = &call->outputs[0];
    int32_t axis;
    collage_status status = call_axis(call, -2, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    tensor_copy_data(y, x);
    if (tensor_elements(more) == 0)
        return COLLAGE_OK;
    int64_t cache = x->dims[axis], length = more->dims[axis];
    int64_t outer = dims_product(x, 0, axis), of_sample = dims_product(x, 1, axis);
    int64_t inner = dims_product(x, axis + 1, x->rank);
    for (int64_t o = 0; o < outer; o++) {
        int64_t start;
        status = read_start(call, o / of_sample, cache, length, &start, error);
        if (status != COLLAGE_OK)
            return status;
        for (int64_t k = 0; k < length; k++)
            elements_copy(y, (o * cache + (start + k) % cache) * inner, more,
                          (o * length + k) * inner, inner);
    }
    return COLLAGE_OK;
}
