/* SPDX-License-Identifier: Apache-2.0 */
/* unary.c: operators of one tensor, element by element. */
#include <math.h>
#include <string.h>

#include "ops/call.h"

typedef double (*real_function)(double x, double alpha, double beta);
typedef int64_t (*integer_function)(int64_t x, bool is_unsigned);

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* Comparisons are written so that NaN stays NaN. */
static double limit(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static double sign_of(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

/*
 * REAL: name, default of alpha, default of beta, value for real x. BOTH: and value for an integer
 * x; `is_unsigned` says how to read it. Defaults that are not whole are float32 in the
 * specification.
 */
/* clang-format off */
#define UNARY_TABLE(REAL, BOTH)                                                                    \
    BOTH(Abs, 0, 0, fabs(x), is_unsigned || x >= 0 ? x : (int64_t)(0 - (uint64_t)x))               \
    BOTH(Neg, 0, 0, -x, (int64_t)(0 - (uint64_t)x))                                                \
    BOTH(Relu, 0, 0, x < 0 ? 0 : x, is_unsigned || x >= 0 ? x : 0)                                 \
    BOTH(Sign, 0, 0, sign_of(x), x == 0 ? 0 : is_unsigned || x > 0 ? 1 : -1)                       \
    REAL(Acos, 0, 0, acos(x))                                                                      \
    REAL(Acosh, 0, 0, acosh(x))                                                                    \
    REAL(Asin, 0, 0, asin(x))                                                                      \
    REAL(Asinh, 0, 0, asinh(x))                                                                    \
    REAL(Atan, 0, 0, atan(x))                                                                      \
    REAL(Atanh, 0, 0, atanh(x))                                                                    \
    REAL(Ceil, 0, 0, ceil(x))                                                                      \
    REAL(Celu, 1, 0, x < 0 ? alpha * expm1(x / alpha) : x)                                         \
    REAL(Cos, 0, 0, cos(x))                                                                        \
    REAL(Cosh, 0, 0, cosh(x))                                                                      \
    REAL(Elu, 1, 0, x < 0 ? alpha * expm1(x) : x)                                                  \
    REAL(Erf, 0, 0, erf(x))                                                                        \
    REAL(Exp, 0, 0, exp(x))                                                                        \
    REAL(Floor, 0, 0, floor(x))                                                                    \
    REAL(HardSigmoid, 0.2f, 0.5f, limit(alpha * x + beta, 0, 1))                                   \
    REAL(HardSwish, 0, 0, x * limit(x / 6 + 0.5, 0, 1))                                            \
    REAL(LeakyRelu, 0.01f, 0, x < 0 ? alpha * x : x)                                               \
    REAL(Log, 0, 0, log(x))                                                                        \
    REAL(Mish, 0, 0, x * tanh(softplus(x)))                                                        \
    REAL(Reciprocal, 0, 0, 1 / x)                                                                  \
    REAL(Round, 0, 0, nearbyint(x))                                                                \
    REAL(Sigmoid, 0, 0, sigmoid(x))                                                                \
    REAL(Sin, 0, 0, sin(x))                                                                        \
    REAL(Sinh, 0, 0, sinh(x))                                                                      \
    REAL(Softplus, 0, 0, softplus(x))                                                              \
    REAL(Softsign, 0, 0, x / (1 + fabs(x)))                                                        \
    REAL(Sqrt, 0, 0, sqrt(x))                                                                      \
    REAL(Swish, 1, 0, x * sigmoid(alpha * x))                                                      \
    REAL(Tan, 0, 0, tan(x))                                                                        \
    REAL(Tanh, 0, 0, tanh(x))                                                                      \
    REAL(ThresholdedRelu, 1, 0, x <= alpha ? 0 : x)
/* clang-format on */

static collage_status map_real(const struct op_call *call, real_function function, double alpha,
                               double beta)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int64_t count = tensor_elements(y);
    if (y->dtype == COLLAGE_FLOAT32) {
        const float *from = x->data;
        float *to = y->data;
        for (int64_t i = 0; i < count; i++)
            to[i] = (float)function((double)from[i], alpha, beta);
        return COLLAGE_OK;
    }
    for (int64_t i = 0; i < count; i++)
        tensor_set(y, i, function(tensor_get(x, i), alpha, beta));
    return COLLAGE_OK;
}

static collage_status map(const struct op_call *call, real_function real, integer_function integer,
                          float alpha, float beta)
{
    const struct tensor *x = call->inputs[0];
    if (dtype_is_float(x->dtype))
        return map_real(call, real, (double)collage_node_float(call->node, "alpha", alpha),
                        (double)collage_node_float(call->node, "beta", beta));
    struct tensor *y = &call->outputs[0];
    int64_t count = tensor_elements(y);
    bool is_unsigned = dtype_is_unsigned(x->dtype);
    for (int64_t i = 0; i < count && integer; i++)
        tensor_set_int(y, i, integer(tensor_get_int(x, i), is_unsigned));
    return COLLAGE_OK;
}

#define REAL_FUNCTION(name, default_alpha, default_beta, real)                                     \
    static double real_##name(double x, double alpha, double beta)                                 \
    {                                                                                              \
        (void)alpha, (void)beta;                                                                   \
        return real;                                                                               \
    }
#define REAL(name, default_alpha, default_beta, real)                                              \
    REAL_FUNCTION(name, default_alpha, default_beta, real)                                         \
    collage_status compute_##name(const struct op_call *call, struct error *error)                 \
    {                                                                                              \
        (void)error;                                                                               \
        return map(call, real_##name, NULL, default_alpha, default_beta);                          \
    }
#define BOTH(name, default_alpha, default_beta, real, integer)                                     \
    REAL_FUNCTION(name, default_alpha, default_beta, real)                                         \
    static int64_t integer_##name(int64_t x, bool is_unsigned)                                     \
    {                                                                                              \
        (void)is_unsigned;                                                                         \
        return integer;                                                                            \
    }                                                                                              \
    collage_status compute_##name(const struct op_call *call, struct error *error)                 \
    {                                                                                              \
        (void)error;                                                                               \
        return map(call, real_##name, integer_##name, default_alpha, default_beta);                \
    }
UNARY_TABLE(REAL, BOTH)
#undef REAL_FUNCTION
#undef REAL
#undef BOTH

/* Selu has defaults of its own, and a gamma. */
static double real_selu(double x, double alpha, double gamma)
{
    return gamma * (x <= 0 ? alpha * expm1(x) : x);
}

collage_status compute_Selu(const struct op_call *call, struct error *error)
{
    (void)error;
    return map_real(call, real_selu,
                    (double)collage_node_float(call->node, "alpha", 1.67326319217681884765625f),
                    (double)collage_node_float(call->node, "gamma", 1.05070102214813232421875f));
}

static double real_gelu_erf(double x, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return 0.5 * x * (1 + erf(x * M_SQRT1_2));
}

static double real_gelu_tanh(double x, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

collage_status infer_gelu(const struct op_call *call, struct error *error)
{
    const char *how = collage_node_string(call->node, "approximate", "none");
    if (strcmp(how, "none") != 0 && strcmp(how, "tanh") != 0)
        return shape_error(error, "approximate '%.20s' is neither 'none' nor 'tanh'", how);
    return infer_float(call, error);
}

collage_status compute_gelu(const struct op_call *call, struct error *error)
{
    (void)error;
    bool exact = strcmp(collage_node_string(call->node, "approximate", "none"), "none") == 0;
    return map_real(call, exact ? real_gelu_erf : real_gelu_tanh, 0, 0);
}

collage_status compute_Not(const struct op_call *call, struct error *error)
{
    (void)error;
    int64_t count = tensor_elements(&call->outputs[0]);
    for (int64_t i = 0; i < count; i++)
        tensor_set_int(&call->outputs[0], i, !tensor_get_int(call->inputs[0], i));
    return COLLAGE_OK;
}

static collage_status infer_same(const struct op_call *call, uint32_t types, struct error *error)
{
    collage_status status = call_check_type(call, 0, types, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, call->inputs[0]);
    return status;
}

collage_status infer_float(const struct op_call *call, struct error *error)
{
    return infer_same(call, TYPES_FLOAT, error);
}

collage_status infer_number(const struct op_call *call, struct error *error)
{
    return infer_same(call, TYPES_NUMBER, error);
}

collage_status infer_bool(const struct op_call *call, struct error *error)
{
    return infer_same(call, TYPES_BOOL, error);
}

collage_status infer_identity(const struct op_call *call, struct error *error)
{
    return infer_same(call, TYPES_ANY, error);
}
