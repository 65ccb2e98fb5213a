/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c: operators that make one number of many, along some axes. */
#include <math.h>

#include "ops/call.h"
#include "ops/walk.h"

/* ---- what is done with the numbers ---- */

struct reducer {
    double initial;
    double (*step)(double result, double x);
    double (*finish)(double result, int64_t count); /* NULL: as it is */
    /* Integers, exactly; NULL: as reals. */
    int64_t (*integer_step)(int64_t result, int64_t x, bool is_unsigned);
    bool integer_from_first; /* the first element is the initial value, else `initial` */
    bool integer_mean;
};

static double add(double result, double x)
{
    return result + x;
}

static double add_absolute(double result, double x)
{
    return result + fabs(x);
}

static double add_square(double result, double x)
{
    return result + x * x;
}

static double multiply(double result, double x)
{
    return result * x;
}

static double greater(double result, double x)
{
    return isnan(x) || x > result ? x : result;
}

static double smaller(double result, double x)
{
    return isnan(x) || x < result ? x : result;
}

/* log(exp(a) + exp(b)) */
static double add_exponentials(double a, double b)
{
    if (a == b)
        return isinf(a) ? a : a + M_LN2;
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

static double divide_by_count(double result, int64_t count)
{
    return result / (double)count;
}

static double square_root(double result, int64_t count)
{
    (void)count;
    return sqrt(result);
}

static double logarithm(double result, int64_t count)
{
    (void)count;
    return log(result);
}

static int64_t integer_add(int64_t result, int64_t x, bool is_unsigned)
{
    (void)is_unsigned;
    return (int64_t)((uint64_t)result + (uint64_t)x);
}

static int64_t integer_add_absolute(int64_t result, int64_t x, bool is_unsigned)
{
    return (int64_t)((uint64_t)result + (!is_unsigned && x < 0 ? 0 - (uint64_t)x : (uint64_t)x));
}

static int64_t integer_add_square(int64_t result, int64_t x, bool is_unsigned)
{
    (void)is_unsigned;
    return (int64_t)((uint64_t)result + (uint64_t)x * (uint64_t)x);
}

static int64_t integer_multiply(int64_t result, int64_t x, bool is_unsigned)
{
    (void)is_unsigned;
    return (int64_t)((uint64_t)result * (uint64_t)x);
}

static int64_t integer_greater(int64_t result, int64_t x, bool is_unsigned)
{
    return (is_unsigned ? (uint64_t)x > (uint64_t)result : x > result) ? x : result;
}

static int64_t integer_smaller(int64_t result, int64_t x, bool is_unsigned)
{
    return (is_unsigned ? (uint64_t)x < (uint64_t)result : x < result) ? x : result;
}

/* ---- shapes ---- */

/* The axes that are reduced, as bits. */
static collage_status read_axes(const struct op_call *call, uint32_t *set, struct error *error)
{
    int32_t rank = call->inputs[0]->rank;
    struct ints axes;
    collage_status status = call_ints(call, 1, &axes, error);
    if (status != COLLAGE_OK)
        return status;
    if (axes.count <= 0) {
        bool none = collage_node_int(call->node, "noop_with_empty_axes", 0) != 0;
        *set = none ? 0 : (1u << rank) - 1;
        return COLLAGE_OK;
    }
    return axes_resolve(&axes, rank, set, error);
}

/* Whether a reduced axis stays, with one element. */
static void set_reduced_output(const struct op_call *call, uint32_t set, collage_dtype dtype)
{
    const struct tensor *x = call->inputs[0];
    bool keep = collage_node_int(call->node, "keepdims", 1) != 0;
    struct tensor y = { 0 };
    for (int32_t d = 0; d < x->rank; d++)
        if (!(set >> d & 1))
            y.dims[y.rank++] = x->dims[d];
        else if (keep)
            y.dims[y.rank++] = 1;
    call_set_output(call, 0, dtype, &y);
}

static collage_status infer(const struct op_call *call, uint32_t types, struct error *error)
{
    uint32_t set = 0;
    collage_status status = call_check_type(call, 0, types, error);
    if (status == COLLAGE_OK)
        status = read_axes(call, &set, error);
    if (status == COLLAGE_OK)
        set_reduced_output(call, set, call->inputs[0]->dtype);
    return status;
}

collage_status infer_reduce(const struct op_call *call, struct error *error)
{
    return infer(call, TYPES_NUMBER, error);
}

collage_status infer_reduce_extreme(const struct op_call *call, struct error *error)
{
    return infer(call, TYPES_ANY, error);
}

/* ---- computing ---- */

/* Begins a walk over the axes of x whose bit in `set` is `member`. */
static void begin_part(struct walk *walk, const struct tensor *x, uint32_t set, bool member,
                       int64_t start)
{
    int64_t strides[COLLAGE_MAX_RANK], dims[COLLAGE_MAX_RANK] = { 0 },
                                       own[COLLAGE_MAX_RANK] = { 0 };
    int32_t rank = 0;
    dense_strides(x->dims, x->rank, strides);
    for (int32_t d = 0; d < x->rank; d++)
        if ((set >> d & 1) == member) {
            dims[rank] = x->dims[d];
            own[rank++] = strides[d];
        }
    walk_begin(walk, dims, rank);
    walk_add(walk, start, own);
}

static double reduce_real(const struct reducer *reducer, const struct tensor *x, uint32_t set,
                          int64_t start)
{
    double result = reducer->initial;
    int64_t count = 0;
    struct walk walk;
    begin_part(&walk, x, set, true, start);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++, count++)
            result = reducer->step(result, tensor_get(x, walk.at[0] + i * walk.step[0]));
    return reducer->finish ? reducer->finish(result, count) : result;
}

static int64_t reduce_integer(const struct reducer *reducer, const struct tensor *x, uint32_t set,
                              int64_t start)
{
    bool is_unsigned = dtype_is_unsigned(x->dtype);
    int64_t result = reducer->integer_from_first ? 0 : (int64_t)reducer->initial, count = 0;
    struct walk walk;
    begin_part(&walk, x, set, true, start);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++, count++) {
            int64_t value = tensor_get_int(x, walk.at[0] + i * walk.step[0]);
            result = reducer->integer_from_first && count == 0
                         ? value
                         : reducer->integer_step(result, value, is_unsigned);
        }
    if (!reducer->integer_mean || count == 0)
        return result;
    return is_unsigned ? (int64_t)((uint64_t)result / (uint64_t)count) : result / count;
}

/* Of no integers: the limit of the type that every element would replace. */
static void set_extreme_of_nothing(const struct reducer *reducer, struct tensor *y, int64_t i)
{
    if (y->dtype == COLLAGE_BOOL)
        tensor_set_int(y, i, reducer->initial > 0);
    else
        tensor_set(y, i, reducer->initial);
}

static collage_status run(const struct op_call *call, const struct reducer *reducer,
                          struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    uint32_t set = 0;
    collage_status status = read_axes(call, &set, error);
    if (status != COLLAGE_OK)
        return status;
    bool integer = !dtype_is_float(x->dtype) && reducer->integer_step;
    bool nothing = integer && reducer->integer_from_first && tensor_elements(x) == 0;
    int64_t out = 0;
    struct walk walk;
    begin_part(&walk, x, set, false, 0);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++, out++) {
            int64_t start = walk.at[0] + i * walk.step[0];
            if (nothing)
                set_extreme_of_nothing(reducer, y, out);
            else if (integer)
                tensor_set_int(y, out, reduce_integer(reducer, x, set, start));
            else
                tensor_set(y, out, reduce_real(reducer, x, set, start));
        }
    return COLLAGE_OK;
}

/* clang-format off */
#define REDUCE_TABLE(ROW)                                                                          \
    ROW(ReduceL1, 0, add_absolute, NULL, integer_add_absolute, false, false)                       \
    ROW(ReduceL2, 0, add_square, square_root, NULL, false, false)                                  \
    ROW(ReduceLogSum, 0, add, logarithm, NULL, false, false)                                       \
    ROW(ReduceLogSumExp, (double)-INFINITY, add_exponentials, NULL, NULL, false, false)            \
    ROW(ReduceMax, (double)-INFINITY, greater, NULL, integer_greater, true, false)                 \
    ROW(ReduceMean, 0, add, divide_by_count, integer_add, false, true)                             \
    ROW(ReduceMin, (double)INFINITY, smaller, NULL, integer_smaller, true, false)                  \
    ROW(ReduceProd, 1, multiply, NULL, integer_multiply, false, false)                             \
    ROW(ReduceSum, 0, add, NULL, integer_add, false, false)                                        \
    ROW(ReduceSumSquare, 0, add_square, NULL, integer_add_square, false, false)
/* clang-format on */

#define ROW(name, ...)                                                                             \
    collage_status compute_##name(const struct op_call *call, struct error *error)                 \
    {                                                                                              \
        static const struct reducer reducer = { __VA_ARGS__ };                                     \
        return run(call, &reducer, error);                                                         \
    }
REDUCE_TABLE(ROW)
#undef ROW

/* ---- ArgMax, ArgMin ---- */

collage_status infer_arg(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int32_t axis;
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, 0, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    if (x->dims[axis] == 0)
        return shape_error(error, "axis %d is empty", (int)axis);
    set_reduced_output(call, 1u << axis, COLLAGE_INT64);
    return COLLAGE_OK;
}

/* a < b, b < a or neither, exactly. */
static int compare(const struct tensor *x, int64_t a, int64_t b)
{
    if (dtype_is_float(x->dtype)) {
        double p = tensor_get(x, a), q = tensor_get(x, b);
        return (p > q) - (p < q);
    }
    int64_t p = tensor_get_int(x, a), q = tensor_get_int(x, b);
    if (dtype_is_unsigned(x->dtype))
        return ((uint64_t)p > (uint64_t)q) - ((uint64_t)p < (uint64_t)q);
    return (p > q) - (p < q);
}

static collage_status compute_arg(const struct op_call *call, int sign, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int32_t axis;
    collage_status status = call_axis(call, 0, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    bool last = collage_node_int(call->node, "select_last_index", 0) != 0;
    int64_t inner = dims_product(x, axis + 1, x->rank), count = tensor_elements(y);
    for (int64_t i = 0; i < count; i++) {
        int64_t start = i / inner * inner * x->dims[axis] + i % inner, best = 0;
        for (int64_t k = 1; k < x->dims[axis]; k++) {
            int order = sign * compare(x, start + k * inner, start + best * inner);
            if (order > 0 || (order == 0 && last))
                best = k;
        }
        tensor_set_int(y, i, best);
    }
    return COLLAGE_OK;
}

collage_status compute_ArgMax(const struct op_call *call, struct error *error)
{
    return compute_arg(call, 1, error);
}

collage_status compute_ArgMin(const struct op_call *call, struct error *error)
{
    return compute_arg(call, -1, error);
}
