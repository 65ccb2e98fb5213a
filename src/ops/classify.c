/* SPDX-License-Identifier: Apache-2.0 */
/* classify.c: IsNaN, IsInf, Shrink: what is done depends on which kind of number an element is. */
#include <math.h>

#include "ops/call.h"

/* ---- IsNaN, IsInf ---- */

collage_status infer_float_test(const struct op_call *call, struct error *error)
{
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, COLLAGE_BOOL, call->inputs[0]);
    return status;
}

collage_status compute_is_nan(const struct op_call *call, struct error *error)
{
    (void)error;
    int64_t count = tensor_elements(&call->outputs[0]);
    for (int64_t i = 0; i < count; i++)
        tensor_set_int(&call->outputs[0], i, isnan(tensor_get(call->inputs[0], i)) ? 1 : 0);
    return COLLAGE_OK;
}

collage_status compute_is_inf(const struct op_call *call, struct error *error)
{
    (void)error;
    bool negative = collage_node_int(call->node, "detect_negative", 1) != 0;
    bool positive = collage_node_int(call->node, "detect_positive", 1) != 0;
    int64_t count = tensor_elements(&call->outputs[0]);
    for (int64_t i = 0; i < count; i++) {
        double value = tensor_get(call->inputs[0], i);
        bool found = isinf(value) && (value < 0 ? negative : positive);
        tensor_set_int(&call->outputs[0], i, found ? 1 : 0);
    }
    return COLLAGE_OK;
}

/* ---- Shrink ---- */

collage_status compute_shrink(const struct op_call *call, struct error *error)
{
    (void)error;
    double bias = (double)collage_node_float(call->node, "bias", 0.0f);
    double limit = (double)collage_node_float(call->node, "lambd", 0.5f);
    int64_t count = tensor_elements(&call->outputs[0]);
    for (int64_t i = 0; i < count; i++) {
        double value = tensor_get(call->inputs[0], i);
        tensor_set(&call->outputs[0], i,
                   value < -limit  ? value + bias
                   : value > limit ? value - bias
                                   : 0);
    }
    return COLLAGE_OK;
}
