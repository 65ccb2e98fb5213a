/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. They differ in what the scores
 * are: logarithms of probabilities, or what becomes that by LogSoftmax along axis 1. The labels are
 * data: they are checked while computing. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/call.h"

enum reduction { NONE, SUM, MEAN };

static collage_status read_reduction(const struct op_call *call, enum reduction *out,
                                     struct error *error)
{
    static const char *const names[] = { [NONE] = "none", [SUM] = "sum", [MEAN] = "mean" };
    const char *wanted = collage_node_string(call->node, "reduction", "mean");
    for (int k = NONE; k <= MEAN; k++)
        if (strcmp(names[k], wanted) == 0) {
            *out = (enum reduction)k;
            return COLLAGE_OK;
        }
    *out = NONE;
    return shape_error(error, "reduction '%.20s' is unknown", wanted);
}

static collage_status check_labels(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *labels = call->inputs[1];
    if (labels->dtype != COLLAGE_INT64 && labels->dtype != COLLAGE_INT32)
        return shape_error(error, "the labels must be of type int64 or int32, not %s",
                           dtype_name(labels->dtype));
    bool fits = labels->rank == x->rank - 1;
    for (int32_t d = 0; d < labels->rank && fits; d++)
        fits = labels->dims[d] == x->dims[d > 0 ? d + 1 : 0];
    return fits ? COLLAGE_OK : shape_error(error, "the labels do not fit the scores");
}

collage_status infer_loss(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *weights = call_input(call, 2);
    const struct tensor scalar = { 0 };
    enum reduction reduction;
    if (x->rank < 2)
        return shape_error(error, "rank %d is below 2", (int)x->rank);
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = check_labels(call, error);
    if (status == COLLAGE_OK)
        status = read_reduction(call, &reduction, error);
    if (status != COLLAGE_OK)
        return status;
    if (weights &&
        (weights->dtype != x->dtype || weights->rank != 1 || weights->dims[0] != x->dims[1]))
        return shape_error(error, "the weights must be %" PRId64 " elements of type %s", x->dims[1],
                           dtype_name(x->dtype));
    call_set_output(call, 0, x->dtype, reduction == NONE ? call->inputs[1] : &scalar);
    call_set_output(call, 1, x->dtype, x);
    return COLLAGE_OK;
}

/* The logarithm of the sum of the exponentials of the scores of all classes. */
static double log_sum(const struct tensor *x, int64_t start, int64_t step)
{
    double greatest = (double)-INFINITY, sum = 0;
    for (int64_t c = 0; c < x->dims[1]; c++) {
        double value = tensor_get(x, start + c * step);
        greatest = value > greatest || isnan(value) ? value : greatest;
    }
    for (int64_t c = 0; c < x->dims[1]; c++)
        sum += exp(tensor_get(x, start + c * step) - greatest);
    return greatest + log(sum);
}

/* Label i and its weight; label -1 and weight 0 if it is to be ignored. */
static collage_status read_label(const struct op_call *call, int64_t i, int64_t *label,
                                 double *weight, struct error *error)
{
    const struct tensor *weights = call_input(call, 2);
    const collage_attribute *ignored =
        collage_node_attribute(call->node, "ignore_index", COLLAGE_ATTRIBUTE_INT);
    int64_t classes = call->inputs[0]->dims[1], value = tensor_get_int(call->inputs[1], i);
    *label = -1;
    *weight = 0;
    if (ignored && value == ignored->i)
        return COLLAGE_OK;
    if (value < 0 || value >= classes)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "label %" PRId64 " is out of range for %" PRId64 " classes", value,
                         classes);
    *label = value;
    *weight = weights ? tensor_get(weights, value) : 1;
    return COLLAGE_OK;
}

static collage_status compute_loss(const struct op_call *call, bool softmax, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    enum reduction reduction;
    collage_status status = read_reduction(call, &reduction, error);
    int64_t count = tensor_elements(call->inputs[1]), inner = dims_product(x, 2, x->rank);
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < count && status == COLLAGE_OK; i++) {
        int64_t start = i / inner * inner * x->dims[1] + i % inner, label;
        double weight, loss = 0;
        status = read_label(call, i, &label, &weight, error);
        if (status == COLLAGE_OK && label >= 0)
            loss = weight * ((softmax ? log_sum(x, start, inner) : 0) -
                             tensor_get(x, start + label * inner));
        if (status == COLLAGE_OK && reduction == NONE)
            tensor_set(&call->outputs[0], i, loss);
        sum += loss;
        weights += weight;
    }
    if (status == COLLAGE_OK && reduction != NONE)
        tensor_set(&call->outputs[0], 0, reduction == MEAN ? sum / weights : sum);
    return status;
}

collage_status compute_negative_log_likelihood_loss(const struct op_call *call, struct error *error)
{
    return compute_loss(call, false, error);
}

static void write_log_probabilities(const struct tensor *x, struct tensor *y)
{
    if (tensor_elements(x) == 0)
        return;
    int64_t classes = x->dims[1], inner = dims_product(x, 2, x->rank);
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t s = 0; s < inner; s++) {
            int64_t start = n * classes * inner + s;
            double all = log_sum(x, start, inner);
            for (int64_t c = 0; c < classes; c++)
                tensor_set(y, start + c * inner, tensor_get(x, start + c * inner) - all);
        }
}

collage_status compute_softmax_cross_entropy_loss(const struct op_call *call, struct error *error)
{
    if (call->output_count > 1 && call->outputs[1].data)
        write_log_probabilities(call->inputs[0], &call->outputs[1]);
    return compute_loss(call, true, error);
}
