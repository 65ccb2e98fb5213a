/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c: Min, Max, Sum and Mean of any number of tensors that broadcast. */
#include <math.h>

#include "base/memory.h"
#include "ops/call.h"
#include "ops/walk.h"

struct fold {
    double (*real)(double a, double b);
    bool greatest; /* integers: the greater of the two, else the smaller */
    bool mean;
};

static double add(double a, double b)
{
    return a + b;
}

/* NaN wins, as in NumPy. */
static double smaller(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}

static double greater(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static void fold_real(const struct op_call *call, const struct fold *fold, double *sums)
{
    struct tensor *y = &call->outputs[0];
    for (uint32_t k = 0; k < call->input_count; k++) {
        const struct tensor *x = call->inputs[k];
        struct walk walk;
        walk_begin(&walk, y->dims, y->rank);
        walk_add_dense(&walk);
        walk_add_broadcast(&walk, x);
        while (walk_row(&walk))
            for (int64_t i = 0; i < walk.length; i++) {
                double value = tensor_get(x, walk.at[1] + i * walk.step[1]);
                double *sum = &sums[walk.at[0] + i];
                *sum = k == 0 ? value : fold->real(*sum, value);
            }
    }
    double divisor = fold->mean ? call->input_count : 1;
    int64_t count = tensor_elements(y);
    for (int64_t i = 0; i < count; i++)
        tensor_set(y, i, sums[i] / divisor);
}

static void fold_integer(const struct op_call *call, const struct fold *fold)
{
    struct tensor *y = &call->outputs[0];
    bool is_unsigned = dtype_is_unsigned(y->dtype);
    for (uint32_t k = 0; k < call->input_count; k++) {
        const struct tensor *x = call->inputs[k];
        struct walk walk;
        walk_begin(&walk, y->dims, y->rank);
        walk_add_dense(&walk);
        walk_add_broadcast(&walk, x);
        while (walk_row(&walk))
            for (int64_t i = 0; i < walk.length; i++) {
                int64_t new = tensor_get_int(x, walk.at[1] + i * walk.step[1]);
                int64_t old = tensor_get_int(y, walk.at[0] + i);
                bool is_greater = is_unsigned ? (uint64_t) new > (uint64_t)old : new > old;
                if (k == 0 || (new != old &&is_greater == fold->greatest))
                    tensor_set_int(y, walk.at[0] + i, new);
            }
    }
}

static collage_status run(const struct op_call *call, const struct fold *fold, struct error *error)
{
    if (!dtype_is_float(call->outputs[0].dtype)) {
        fold_integer(call, fold);
        return COLLAGE_OK;
    }
    double *sums = memory_alloc((size_t)tensor_elements(&call->outputs[0]) * sizeof *sums);
    if (!sums)
        return error_memory(error);
    fold_real(call, fold, sums);
    memory_free(sums);
    return COLLAGE_OK;
}

collage_status compute_Min(const struct op_call *call, struct error *error)
{
    return run(call, &(struct fold){ smaller, false, false }, error);
}

collage_status compute_Max(const struct op_call *call, struct error *error)
{
    return run(call, &(struct fold){ greater, true, false }, error);
}

collage_status compute_Sum(const struct op_call *call, struct error *error)
{
    return run(call, &(struct fold){ add, false, false }, error);
}

collage_status compute_Mean(const struct op_call *call, struct error *error)
{
    return run(call, &(struct fold){ add, false, true }, error);
}

static collage_status infer(const struct op_call *call, uint32_t types, struct error *error)
{
    struct tensor shape = { 0 };
    collage_status status = call_check_same_type(call, types, error);
    if (status == COLLAGE_OK)
        status = broadcast_shape(call->inputs, call->input_count, &shape, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, &shape);
    return status;
}

collage_status infer_fold(const struct op_call *call, struct error *error)
{
    return infer(call, TYPES_NUMBER, error);
}

collage_status infer_fold_float(const struct op_call *call, struct error *error)
{
    return infer(call, TYPES_FLOAT, error);
}
