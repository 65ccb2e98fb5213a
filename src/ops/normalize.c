/* SPDX-License-Identifier: Apache-2.0 */
/* normalize.c: BatchNormalization (with given statistics), and the operators that take mean and
 * variance of the data: LayerNormalization, RMSNormalization, InstanceNormalization,
 * GroupNormalization. */
#include <inttypes.h>
#include <math.h>

#include "ops/call.h"
#include "ops/walk.h"

static double epsilon_of(const struct op_call *call)
{
    return (double)collage_node_float(call->node, "epsilon", 1e-5f);
}

/* Inputs first .. last are lists of as many elements as x has channels. */
static collage_status check_channel_lists(const struct op_call *call, uint32_t first, uint32_t last,
                                          struct error *error)
{
    const struct tensor *x = call->inputs[0];
    if (x->rank < 2)
        return shape_error(error, "the input has rank %d; at least 2 is needed", (int)x->rank);
    for (uint32_t k = first; k <= last; k++)
        if (call->inputs[k]->rank != 1 || call->inputs[k]->dims[0] != x->dims[1])
            return shape_error(error, "input %" PRIu32 " must have %" PRId64 " elements", k,
                               x->dims[1]);
    return COLLAGE_OK;
}

/* ---- BatchNormalization ---- */

collage_status infer_batch_normalization(const struct op_call *call, struct error *error)
{
    if (collage_node_int(call->node, "training_mode", 0) != 0)
        return shape_error(error, "training_mode is not supported");
    for (uint32_t k = 0; k < 5; k++) { /* the types may differ */
        collage_status status = call_check_type(call, k, TYPES_FLOAT, error);
        if (status != COLLAGE_OK)
            return status;
    }
    collage_status status = check_channel_lists(call, 1, 4, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, call->inputs[0]);
    return status;
}

collage_status compute_batch_normalization(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0];
    int64_t size = dims_product(x, 2, x->rank), i = 0;
    double epsilon = epsilon_of(call);
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t c = 0; c < x->dims[1]; c++) {
            double scale =
                tensor_get(call->inputs[1], c) / sqrt(tensor_get(call->inputs[4], c) + epsilon);
            double bias = tensor_get(call->inputs[2], c), mean = tensor_get(call->inputs[3], c);
            for (int64_t s = 0; s < size; s++, i++)
                tensor_set(&call->outputs[0], i, (tensor_get(x, i) - mean) * scale + bias);
        }
    return COLLAGE_OK;
}

/* ---- moments ---- */

struct moments {
    double mean, inverse_deviation; /* 1 / sqrt(variance + epsilon) */
};

static struct moments moments_of(const struct tensor *x, int64_t start, int64_t count,
                                 double epsilon)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        sum += tensor_get(x, start + i);
    double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) {
        double difference = tensor_get(x, start + i) - mean;
        squares += difference * difference;
    }
    return (struct moments){ mean, 1 / sqrt(squares / (double)count + epsilon) };
}

/* The mean is taken as 0. */
static struct moments root_mean_square(const struct tensor *x, int64_t start, int64_t count,
                                       double epsilon)
{
    double squares = 0;
    for (int64_t i = 0; i < count; i++)
        squares += tensor_get(x, start + i) * tensor_get(x, start + i);
    return (struct moments){ 0, 1 / sqrt(squares / (double)count + epsilon) };
}

/* ---- LayerNormalization, RMSNormalization ---- */

/* The shape that is normalised: the dimensions from the axis on. */
static struct tensor inner_shape(const struct tensor *x, int32_t axis)
{
    struct tensor inner = { .dtype = x->dtype, .rank = x->rank - axis };
    for (int32_t d = axis; d < x->rank; d++)
        inner.dims[d - axis] = x->dims[d];
    return inner;
}

static collage_status infer_inner(const struct op_call *call, int32_t *axis, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, -1, x->rank, axis, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor inner = inner_shape(x, *axis);
    for (uint32_t k = 1; k < call->input_count; k++) {
        status = call_check_type(call, k, TYPES_FLOAT, error);
        if (status != COLLAGE_OK)
            return status;
        if (call->inputs[k] && !broadcasts_to(call->inputs[k], &inner))
            return shape_error(error, "input %" PRIu32 " does not fit the normalised dimensions",
                               k);
    }
    call_set_output(call, 0, x->dtype, x);
    return COLLAGE_OK;
}

collage_status infer_layer_normalization(const struct op_call *call, struct error *error)
{
    int32_t axis;
    collage_status status = infer_inner(call, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t stash = collage_node_int(call->node, "stash_type", COLLAGE_FLOAT32);
    if (stash < 0 || stash > COLLAGE_BFLOAT16 || !dtype_is_float((collage_dtype)stash))
        return shape_error(error, "stash_type %" PRId64 " is not supported", stash);
    struct tensor statistics = *call->inputs[0];
    for (int32_t d = axis; d < statistics.rank; d++)
        statistics.dims[d] = 1;
    call_set_output(call, 1, (collage_dtype)stash, &statistics);
    call_set_output(call, 2, (collage_dtype)stash, &statistics);
    return COLLAGE_OK;
}

collage_status infer_rms_normalization(const struct op_call *call, struct error *error)
{
    int32_t axis;
    return infer_inner(call, &axis, error);
}

/* One row: the dimensions from the axis on. */
static void normalize_row(const struct op_call *call, const struct tensor *inner, int64_t start,
                          struct moments moments)
{
    const struct tensor *x = call->inputs[0], *scale = call->inputs[1], *bias = call_input(call, 2);
    struct walk walk;
    walk_begin(&walk, inner->dims, inner->rank);
    walk_add_dense(&walk);
    walk_add_broadcast(&walk, scale);
    if (bias)
        walk_add_broadcast(&walk, bias);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++) {
            int64_t at = start + walk.at[0] + i;
            double value = (tensor_get(x, at) - moments.mean) * moments.inverse_deviation *
                           tensor_get(scale, walk.at[1] + i * walk.step[1]);
            if (bias)
                value += tensor_get(bias, walk.at[2] + i * walk.step[2]);
            tensor_set(&call->outputs[0], at, value);
        }
}

static collage_status normalize_rows(const struct op_call *call,
                                     struct moments (*measure)(const struct tensor *, int64_t,
                                                               int64_t, double),
                                     struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int32_t axis;
    collage_status status = call_axis(call, -1, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor inner = inner_shape(x, axis);
    int64_t count = tensor_elements(&inner), rows = dims_product(x, 0, axis);
    for (int64_t row = 0; row < rows; row++) {
        struct moments moments = measure(x, row * count, count, epsilon_of(call));
        normalize_row(call, &inner, row * count, moments);
        if (call->output_count > 1 && call->outputs[1].data)
            tensor_set(&call->outputs[1], row, moments.mean);
        if (call->output_count > 2 && call->outputs[2].data)
            tensor_set(&call->outputs[2], row, moments.inverse_deviation);
    }
    return COLLAGE_OK;
}

collage_status compute_layer_normalization(const struct op_call *call, struct error *error)
{
    return normalize_rows(call, moments_of, error);
}

collage_status compute_rms_normalization(const struct op_call *call, struct error *error)
{
    return normalize_rows(call, root_mean_square, error);
}

/* ---- InstanceNormalization, GroupNormalization ---- */

static collage_status infer_channels(const struct op_call *call, struct error *error)
{
    collage_status status = call_check_same_type(call, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = check_channel_lists(call, 1, 2, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, call->inputs[0]);
    return status;
}

collage_status infer_instance_normalization(const struct op_call *call, struct error *error)
{
    return infer_channels(call, error);
}

collage_status infer_group_normalization(const struct op_call *call, struct error *error)
{
    collage_status status = infer_channels(call, error);
    int64_t groups = collage_node_int(call->node, "num_groups", 0);
    if (status == COLLAGE_OK && (groups < 1 || call->inputs[0]->dims[1] % groups != 0))
        return shape_error(error, "%" PRId64 " channels do not divide into %" PRId64 " groups",
                           call->inputs[0]->dims[1], groups);
    return status;
}

static void normalize_groups(const struct op_call *call, int64_t groups)
{
    const struct tensor *x = call->inputs[0];
    int64_t size = dims_product(x, 2, x->rank);
    int64_t channels = groups ? x->dims[1] / groups : 0, i = 0;
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t g = 0; g < groups; g++) {
            struct moments m = moments_of(x, i, channels * size, epsilon_of(call));
            for (int64_t c = g * channels; c < (g + 1) * channels; c++)
                for (int64_t s = 0; s < size; s++, i++)
                    tensor_set(&call->outputs[0], i,
                               (tensor_get(x, i) - m.mean) * m.inverse_deviation *
                                       tensor_get(call->inputs[1], c) +
                                   tensor_get(call->inputs[2], c));
        }
}

collage_status compute_instance_normalization(const struct op_call *call, struct error *error)
{
    (void)error;
    normalize_groups(call, call->inputs[0]->dims[1]);
    return COLLAGE_OK;
}

collage_status compute_group_normalization(const struct op_call *call, struct error *error)
{
    (void)error;
    normalize_groups(call, collage_node_int(call->node, "num_groups", 1));
    return COLLAGE_OK;
}
