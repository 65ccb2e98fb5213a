/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tensor/tensor.h"

static const double scale_floor = 1e-30;

/* The largest finite magnitude: an infinite one would hide every other error. */
static double largest(const struct tensor *tensor, int64_t count)
{
    double scale = 0;
    for (int64_t k = 0; k < count; k++) {
        double magnitude = fabs(tensor_get(tensor, k));
        if (isfinite(magnitude) && magnitude > scale)
            scale = magnitude;
    }
    return scale > scale_floor ? scale : scale_floor;
}

static double element_error(double actual, double expected)
{
    if (isnan(expected) && isnan(actual))
        return 0;
    if (!isfinite(expected) || !isfinite(actual))
        return expected == actual ? 0 : (double)INFINITY;
    return fabs(actual - expected);
}

static double integer_error(const struct tensor *actual, const struct tensor *expected, int64_t k)
{
    return tensor_get_int(actual, k) == tensor_get_int(expected, k) ? 0 : (double)INFINITY;
}

struct tensor_difference tensor_compare(const struct tensor *actual, const struct tensor *expected)
{
    struct tensor_difference worst = { 0, 0, 0, 0 };
    if (actual->dtype != expected->dtype || !tensor_same_shape(actual, expected)) {
        worst.error = (double)INFINITY;
        return worst;
    }
    int64_t count = tensor_elements(expected);
    bool real = dtype_is_float(expected->dtype);
    double scale = real ? largest(expected, count) : 1;
    for (int64_t k = 0; k < count; k++) {
        double error = real ? element_error(tensor_get(actual, k), tensor_get(expected, k)) / scale
                            : integer_error(actual, expected, k);
        if (k == 0 || error > worst.error)
            worst = (struct tensor_difference){ error, k, tensor_get(actual, k),
                                                tensor_get(expected, k) };
    }
    return worst;
}
