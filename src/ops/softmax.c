/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c: Softmax and LogSoftmax along one axis, CumSum and CumProd. */
#include <math.h>

#include "base/memory.h"
#include "ops/call.h"

collage_status infer_softmax(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int32_t axis;
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, -1, x->rank, &axis, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, x->dtype, x);
    return status;
}

/* The elements start, start + step, ... of x. */
struct line {
    int64_t start, step, count;
};

/* values: room for the line. */
static void softmax_line(const struct tensor *x, struct tensor *y, struct line line, bool logarithm,
                         double *values)
{
    double greatest = (double)-INFINITY, sum = 0;
    for (int64_t i = 0; i < line.count; i++) {
        values[i] = tensor_get(x, line.start + i * line.step);
        greatest = values[i] > greatest || isnan(values[i]) ? values[i] : greatest;
    }
    for (int64_t i = 0; i < line.count; i++) {
        double power = exp(values[i] - greatest);
        sum += power;
        values[i] = logarithm ? values[i] - greatest : power;
    }
    double last = logarithm ? log(sum) : sum;
    for (int64_t i = 0; i < line.count; i++)
        tensor_set(y, line.start + i * line.step, logarithm ? values[i] - last : values[i] / last);
}

/* What is done along a line. */
struct accumulation {
    bool multiplies, exclusive, reverse;
};

static void accumulate_line(const struct tensor *x, struct tensor *y, struct line line,
                            const struct accumulation *how)
{
    double all = how->multiplies ? 1 : 0;
    uint64_t integer_all = how->multiplies ? 1 : 0;
    bool real = dtype_is_float(x->dtype);
    for (int64_t k = 0; k < line.count; k++) {
        int64_t i = line.start + (how->reverse ? line.count - 1 - k : k) * line.step;
        double before = all;
        uint64_t integer_before = integer_all;
        if (real) {
            double value = tensor_get(x, i);
            all = how->multiplies ? all * value : all + value;
            tensor_set(y, i, how->exclusive ? before : all);
        } else {
            uint64_t value = (uint64_t)tensor_get_int(x, i);
            integer_all = how->multiplies ? integer_all * value : integer_all + value;
            tensor_set_int(y, i, (int64_t)(how->exclusive ? integer_before : integer_all));
        }
    }
}

static int64_t line_count(const struct tensor *x, int32_t axis)
{
    return dims_product(x, 0, axis) * dims_product(x, axis + 1, x->rank);
}

static struct line line_at(const struct tensor *x, int32_t axis, int64_t index)
{
    int64_t inner = dims_product(x, axis + 1, x->rank);
    return (struct line){ .start = index / inner * inner * x->dims[axis] + index % inner,
                          .step = inner,
                          .count = x->dims[axis] };
}

static collage_status compute(const struct op_call *call, bool logarithm, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int32_t axis;
    collage_status status = call_axis(call, -1, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    double *values = memory_alloc((size_t)x->dims[axis] * sizeof *values);
    if (!values)
        return error_memory(error);
    int64_t lines = line_count(x, axis);
    for (int64_t k = 0; k < lines; k++)
        softmax_line(x, &call->outputs[0], line_at(x, axis, k), logarithm, values);
    memory_free(values);
    return COLLAGE_OK;
}

collage_status compute_softmax(const struct op_call *call, struct error *error)
{
    return compute(call, false, error);
}

collage_status compute_log_softmax(const struct op_call *call, struct error *error)
{
    return compute(call, true, error);
}

/* ---- CumSum, CumProd ---- */

collage_status infer_cumulative_sum(const struct op_call *call, struct error *error)
{
    const struct tensor *axis = call->inputs[1];
    if ((axis->dtype != COLLAGE_INT64 && axis->dtype != COLLAGE_INT32) ||
        tensor_elements(axis) != 1)
        return shape_error(error, "the axis must be a single integer");
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, call->inputs[0]);
    return status;
}

static collage_status accumulate(const struct op_call *call, bool multiplies, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int32_t axis;
    collage_status status = axis_resolve(tensor_get_int(call->inputs[1], 0), x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    const struct accumulation how = {
        .multiplies = multiplies,
        .exclusive = collage_node_int(call->node, "exclusive", 0) != 0,
        .reverse = collage_node_int(call->node, "reverse", 0) != 0,
    };
    int64_t lines = line_count(x, axis);
    for (int64_t k = 0; k < lines; k++)
        accumulate_line(x, &call->outputs[0], line_at(x, axis, k), &how);
    return COLLAGE_OK;
}

collage_status compute_cumulative_sum(const struct op_call *call, struct error *error)
{
    return accumulate(call, false, error);
}

collage_status compute_cumulative_product(const struct op_call *call, struct error *error)
{
    return accumulate(call, true, error);
}
