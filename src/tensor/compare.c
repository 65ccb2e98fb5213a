/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tensor/tensor.h"

static const double scale_floor = 1e-30;

double tensor_largest(const struct tensor *tensor)
{
    double scale = 0;
    int64_t count = tensor_elements(tensor);
    for (int64_t k = 0; k < count; k++) {
        double magnitude = fabs(tensor_get(tensor, k));
        if (isfinite(magnitude) && magnitude > scale)
            scale = magnitude;
    }
    return scale;
}

static double element_error(double actual, double expected, double slack)
{
    if (isnan(expected) && isnan(actual))
        return 0;
    if (!isfinite(expected) || !isfinite(actual))
        return expected == actual ? 0 : (double)INFINITY;
    double error = fabs(actual - expected) - slack;
    return error > 0 ? error : 0;
}

static double integer_error(const struct tensor *actual, const struct tensor *expected, int64_t k,
                            double slack)
{
    if (tensor_get_int(actual, k) == tensor_get_int(expected, k))
        return 0;
    bool near = slack > 0 && fabs(tensor_get(actual, k) - tensor_get(expected, k)) <= slack;
    return near ? 0 : (double)INFINITY;
}

struct tensor_difference tensor_compare(const struct tensor *actual, const struct tensor *expected)
{
    return tensor_compare_within(actual, expected, 0);
}

struct tensor_difference tensor_compare_within(const struct tensor *actual,
                                               const struct tensor *expected, double slack)
{
    struct tensor_difference worst = { 0, 0, 0, 0 };
    if (actual->dtype != expected->dtype || !tensor_same_shape(actual, expected)) {
        worst.error = (double)INFINITY;
        return worst;
    }
    int64_t count = tensor_elements(expected);
    bool real = dtype_is_float(expected->dtype);
    double scale = real ? fmax(tensor_largest(expected), scale_floor) : 1;
    for (int64_t k = 0; k < count; k++) {
        double error =
            real ? element_error(tensor_get(actual, k), tensor_get(expected, k), slack) / scale
                 : integer_error(actual, expected, k, slack);
        if (k == 0 || error > worst.error)
            worst = (struct tensor_difference){ error, k, tensor_get(actual, k),
                                                tensor_get(expected, k) };
    }
    return worst;
}
