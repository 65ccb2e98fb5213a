/* SPDX-License-Identifier: Apache-2.0 */
/* binary.c: operators of two tensors that broadcast, element by element: arithmetic, comparison,
 * logic. Integer arithmetic is modulo 2^bits; a division by zero gives 0. */
#include <math.h>

#include "ops/call.h"
#include "ops/walk.h"

typedef double (*real_function)(double a, double b);
typedef int64_t (*integer_function)(int64_t a, int64_t b, bool is_unsigned);

static int64_t divide(int64_t a, int64_t b, bool is_unsigned)
{
    if (b == 0)
        return 0;
    if (is_unsigned)
        return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* The sign of C's remainder: that of a. */
static int64_t remainder_of(int64_t a, int64_t b, bool is_unsigned)
{
    if (b == 0)
        return 0;
    if (is_unsigned)
        return (int64_t)((uint64_t)a % (uint64_t)b);
    return b == -1 ? 0 : a % b;
}

static int64_t modulo(int64_t a, int64_t b, bool is_unsigned)
{
    int64_t r = remainder_of(a, b, is_unsigned);
    return !is_unsigned && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* a - floor(a / b) * b: the sign of b, also of 0. */
static double real_modulo(double a, double b)
{
    double r = fmod(a, b);
    if (r == 0)
        return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static int64_t power(int64_t base, int64_t exponent, bool is_unsigned)
{
    if (exponent < 0 && !is_unsigned) /* 1/base^n, towards zero */
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    uint64_t result = 1, factor = (uint64_t)base;
    for (uint64_t n = (uint64_t)exponent; n; n >>= 1) {
        if (n & 1)
            result *= factor;
        factor *= factor;
    }
    return (int64_t)result;
}

static bool less(int64_t a, int64_t b, bool is_unsigned)
{
    return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}

/* name, value for reals, value for integers and bool */
/* clang-format off */
#define BINARY_TABLE(ROW)                                                                          \
    ROW(Add, a + b, (int64_t)((uint64_t)a + (uint64_t)b))                                          \
    ROW(Sub, a - b, (int64_t)((uint64_t)a - (uint64_t)b))                                          \
    ROW(Mul, a * b, (int64_t)((uint64_t)a * (uint64_t)b))                                          \
    ROW(Div, a / b, divide(a, b, is_unsigned))                                                     \
    ROW(PRelu, a < 0 ? a * b : a,                                                                  \
        !is_unsigned && a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a)                          \
    ROW(Equal, a == b, a == b)                                                                     \
    ROW(Less, a < b, less(a, b, is_unsigned))                                                      \
    ROW(LessOrEqual, a <= b, !less(b, a, is_unsigned))                                             \
    ROW(Greater, a > b, less(b, a, is_unsigned))                                                   \
    ROW(GreaterOrEqual, a >= b, !less(a, b, is_unsigned))                                          \
    ROW(And, a != 0 && b != 0, a && b)                                                             \
    ROW(Or, a != 0 || b != 0, a || b)                                                              \
    ROW(Xor, (a != 0) != (b != 0), !a != !b)
/* clang-format on */

static void row_float32(const struct walk *walk, const float *a, const float *b, float *to,
                        real_function function)
{
    int64_t step_a = walk->step[0], step_b = walk->step[1];
    for (int64_t i = 0; i < walk->length; i++)
        to[i] = (float)function((double)a[i * step_a], (double)b[i * step_b]);
}

/* inputs of a float type; the output may be bool */
static void map_real(const struct op_call *call, real_function function)
{
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    struct tensor *y = &call->outputs[0];
    struct walk walk;
    walk_begin(&walk, y->dims, y->rank);
    walk_add_broadcast(&walk, a);
    walk_add_broadcast(&walk, b);
    walk_add_dense(&walk);
    bool fast =
        a->dtype == COLLAGE_FLOAT32 && b->dtype == COLLAGE_FLOAT32 && y->dtype == COLLAGE_FLOAT32;
    while (walk_row(&walk)) {
        if (fast) {
            row_float32(&walk, (const float *)a->data + walk.at[0],
                        (const float *)b->data + walk.at[1], (float *)y->data + walk.at[2],
                        function);
            continue;
        }
        for (int64_t i = 0; i < walk.length; i++)
            tensor_set(y, walk.at[2] + i,
                       function(tensor_get(a, walk.at[0] + i * walk.step[0]),
                                tensor_get(b, walk.at[1] + i * walk.step[1])));
    }
}

static void map_integer(const struct op_call *call, integer_function function)
{
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    struct tensor *y = &call->outputs[0];
    bool is_unsigned = dtype_is_unsigned(a->dtype);
    struct walk walk;
    walk_begin(&walk, y->dims, y->rank);
    walk_add_broadcast(&walk, a);
    walk_add_broadcast(&walk, b);
    walk_add_dense(&walk);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++)
            tensor_set_int(y, walk.at[2] + i,
                           function(tensor_get_int(a, walk.at[0] + i * walk.step[0]),
                                    tensor_get_int(b, walk.at[1] + i * walk.step[1]), is_unsigned));
}

static collage_status map(const struct op_call *call, real_function real, integer_function integer)
{
    if (dtype_is_float(call->inputs[0]->dtype))
        map_real(call, real);
    else
        map_integer(call, integer);
    return COLLAGE_OK;
}

#define ROW(name, real, integer)                                                                   \
    static double real_##name(double a, double b)                                                  \
    {                                                                                              \
        return real;                                                                               \
    }                                                                                              \
    static int64_t integer_##name(int64_t a, int64_t b, bool is_unsigned)                          \
    {                                                                                              \
        (void)is_unsigned;                                                                         \
        return integer;                                                                            \
    }                                                                                              \
    collage_status compute_##name(const struct op_call *call, struct error *error)                 \
    {                                                                                              \
        (void)error;                                                                               \
        return map(call, real_##name, integer_##name);                                             \
    }
BINARY_TABLE(ROW)
#undef ROW

collage_status compute_mod(const struct op_call *call, struct error *error)
{
    (void)error;
    bool c_like = collage_node_int(call->node, "fmod", 0) != 0;
    return map(call, c_like ? fmod : real_modulo, c_like ? remainder_of : modulo);
}

/* The result has the type of the base, whatever the exponent's. */
collage_status compute_pow(const struct op_call *call, struct error *error)
{
    (void)error;
    bool real = dtype_is_float(call->inputs[0]->dtype) || dtype_is_float(call->inputs[1]->dtype);
    if (real)
        map_real(call, pow);
    else
        map_integer(call, power);
    return COLLAGE_OK;
}

static collage_status infer_pair(const struct op_call *call, uint32_t types, collage_dtype result,
                                 struct error *error)
{
    struct tensor shape = { 0 };
    collage_status status = call_check_same_type(call, types, error);
    if (status == COLLAGE_OK)
        status = broadcast_shape(call->inputs, 2, &shape, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, result == COLLAGE_UNDEFINED ? call->inputs[0]->dtype : result,
                        &shape);
    return status;
}

collage_status infer_arithmetic(const struct op_call *call, struct error *error)
{
    return infer_pair(call, TYPES_NUMBER, COLLAGE_UNDEFINED, error);
}

collage_status infer_equality(const struct op_call *call, struct error *error)
{
    return infer_pair(call, TYPES_ANY, COLLAGE_BOOL, error);
}

collage_status infer_order(const struct op_call *call, struct error *error)
{
    return infer_pair(call, TYPES_NUMBER, COLLAGE_BOOL, error);
}

collage_status infer_logic(const struct op_call *call, struct error *error)
{
    return infer_pair(call, TYPES_BOOL, COLLAGE_BOOL, error);
}

collage_status infer_mod(const struct op_call *call, struct error *error)
{
    int64_t like_c = collage_node_int(call->node, "fmod", 0);
    if (like_c != 0 && like_c != 1)
        return shape_error(error, "fmod is neither 0 nor 1");
    return infer_arithmetic(call, error);
}

collage_status infer_pow(const struct op_call *call, struct error *error)
{
    struct tensor shape = { 0 };
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = call_check_type(call, 1, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = broadcast_shape(call->inputs, 2, &shape, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, &shape);
    return status;
}

collage_status infer_prelu(const struct op_call *call, struct error *error)
{
    if (!broadcasts_to(call->inputs[1], call->inputs[0]))
        return shape_error(error, "the slope does not broadcast to the input");
    return infer_arithmetic(call, error);
}
