/* SPDX-License-Identifier: Apache-2.0 */
/* norms.c: normalisations without parameters that are data: LpNormalization,
 * MeanVarianceNormalization, LRN. */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "ops/call.h"
#include "ops/walk.h"

/* ---- LpNormalization ---- */

collage_status infer_lp_normalization(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int64_t p = collage_node_int(call->node, "p", 2);
    int32_t axis;
    if (p != 1 && p != 2)
        return shape_error(error, "p is %" PRId64 ", neither 1 nor 2", p);
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, -1, x->rank, &axis, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, x->dtype, x);
    return status;
}

/* A norm of 0 gives 0. */
static void normalize_line(const struct tensor *x, struct tensor *y, int64_t start, int64_t step,
                           int64_t count, int64_t p)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        double value = tensor_get(x, start + k * step);
        sum += p == 1 ? fabs(value) : value * value;
    }
    double norm = p == 1 ? sum : sqrt(sum);
    for (int64_t k = 0; k < count; k++) {
        int64_t at = start + k * step;
        tensor_set(y, at, norm == 0 ? 0 : tensor_get(x, at) / norm);
    }
}

collage_status compute_lp_normalization(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int32_t axis;
    collage_status status = call_axis(call, -1, x->rank, &axis, error);
    if (status != COLLAGE_OK || tensor_elements(x) == 0)
        return status;
    int64_t p = collage_node_int(call->node, "p", 2), count = x->dims[axis];
    int64_t outer = dims_product(x, 0, axis), inner = dims_product(x, axis + 1, x->rank);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            normalize_line(x, &call->outputs[0], o * count * inner + i, inner, count, p);
    return COLLAGE_OK;
}

/* ---- MeanVarianceNormalization ---- */

/* The axes over which mean and variance are taken, as bits: batch and image by default, all if the
 * list is empty, as for the reductions that the operator stands for. */
static collage_status read_axes(const struct op_call *call, uint32_t *set, struct error *error)
{
    static const struct ints usual = { 3, { 0, 2, 3 } };
    int32_t rank = call->inputs[0]->rank;
    struct ints axes;
    collage_status status = call_ints_attribute(call, "axes", &axes, error);
    *set = (1u << rank) - 1;
    if (status != COLLAGE_OK || axes.count == 0)
        return status;
    if (axes.count < 0)
        axes = usual;
    return axes_resolve(&axes, rank, set, error);
}

collage_status infer_mean_variance_normalization(const struct op_call *call, struct error *error)
{
    uint32_t set;
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read_axes(call, &set, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, call->inputs[0]);
    return status;
}

enum pass { SUM, SUM_OF_SQUARES, RESULT };

/* One pass over x. Its sums become means, its sums of squared differences deviations. */
static void normalize_pass(const struct op_call *call, enum pass pass, struct tensor *mean,
                           struct tensor *deviation)
{
    const struct tensor *x = call->inputs[0];
    double *means = mean->data, *deviations = deviation->data;
    int64_t sums = tensor_elements(mean);
    double count = sums > 0 ? (double)tensor_elements(x) / (double)sums : 0;
    struct walk walk;
    walk_begin(&walk, x->dims, x->rank);
    walk_add_dense(&walk);
    walk_add_broadcast(&walk, mean);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++) {
            int64_t at = walk.at[0] + i, s = walk.at[1] + i * walk.step[1];
            double value = tensor_get(x, at), difference = value - means[s];
            if (pass == SUM)
                means[s] += value;
            else if (pass == SUM_OF_SQUARES)
                deviations[s] += difference * difference;
            else
                tensor_set(&call->outputs[0], at, difference / (deviations[s] + 1e-9));
        }
    for (int64_t s = 0; s < sums; s++) {
        if (pass == SUM)
            means[s] /= count;
        else if (pass == SUM_OF_SQUARES)
            deviations[s] = sqrt(deviations[s] / count);
    }
}

collage_status compute_mean_variance_normalization(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    uint32_t set;
    collage_status status = read_axes(call, &set, error);
    if (status != COLLAGE_OK || tensor_elements(x) == 0)
        return status;
    struct tensor mean = { .dtype = COLLAGE_FLOAT64, .rank = x->rank };
    for (int32_t d = 0; d < x->rank; d++)
        mean.dims[d] = set >> d & 1 ? 1 : x->dims[d];
    struct tensor deviation = mean;
    size_t sums = (size_t)tensor_elements(&mean);
    double *block = memory_alloc(2 * sums * sizeof *block);
    if (!block)
        return error_memory(error);
    mean.data = block;
    deviation.data = block + sums;
    normalize_pass(call, SUM, &mean, &deviation);
    normalize_pass(call, SUM_OF_SQUARES, &mean, &deviation);
    normalize_pass(call, RESULT, &mean, &deviation);
    memory_free(block);
    return COLLAGE_OK;
}

/* ---- LRN ---- */

collage_status infer_lrn(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    if (x->rank < 2)
        return shape_error(error, "rank %d is below 2", (int)x->rank);
    if (collage_node_int(call->node, "size", 0) < 1)
        return shape_error(error, "size must be given and be at least 1");
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, x->dtype, x);
    return status;
}

/* The sum of squares of element s of the channels around c. start: of channel 0. */
static double sum_around(const struct tensor *x, int64_t start, int64_t c, int64_t inner,
                         int64_t size)
{
    int64_t before = (size - 1) / 2, after = size / 2, channels = x->dims[1];
    int64_t first = c > before ? c - before : 0;
    int64_t end = after < channels - c ? c + after + 1 : channels;
    double sum = 0;
    for (int64_t k = first; k < end; k++) {
        double value = tensor_get(x, start + k * inner);
        sum += value * value;
    }
    return sum;
}

collage_status compute_lrn(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[0];
    if (tensor_elements(x) == 0)
        return COLLAGE_OK;
    int64_t size = collage_node_int(call->node, "size", 1);
    double alpha = (double)collage_node_float(call->node, "alpha", 0.0001f);
    double beta = (double)collage_node_float(call->node, "beta", 0.75f);
    double bias = (double)collage_node_float(call->node, "bias", 1.0f);
    int64_t channels = x->dims[1], inner = dims_product(x, 2, x->rank);
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t s = 0; s < inner; s++) {
                int64_t start = n * channels * inner + s, at = start + c * inner;
                double sum = sum_around(x, start, c, inner, size);
                tensor_set(&call->outputs[0], at,
                           tensor_get(x, at) / pow(bias + alpha / (double)size * sum, beta));
            }
    return COLLAGE_OK;
}
