/* SPDX-License-Identifier: Apache-2.0 */
/* determinant.c: Det: the determinants of square matrices, by elimination with partial pivoting. */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "ops/call.h"

collage_status infer_det(const struct op_call *call, struct error *error)
{
    struct tensor y = *call->inputs[0];
    if (y.rank < 2)
        return shape_error(error, "rank %d is below 2", (int)y.rank);
    y.rank -= 2;
    if (y.dims[y.rank] != y.dims[y.rank + 1])
        return shape_error(error, "matrices of %" PRId64 " x %" PRId64 " are not square",
                           y.dims[y.rank], y.dims[y.rank + 1]);
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, y.dtype, &y);
    return status;
}

/* The row from k on whose element of column k is the greatest; one that is NaN, so that it stays.
 */
static int64_t find_pivot(const double *matrix, int64_t size, int64_t k)
{
    int64_t best = k;
    for (int64_t r = k + 1; r < size; r++) {
        double value = fabs(matrix[r * size + k]), greatest = fabs(matrix[best * size + k]);
        if (!isnan(greatest) && !(value <= greatest))
            best = r;
    }
    return best;
}

/* Overwrites the matrix. */
static double determinant(double *matrix, int64_t size)
{
    double result = 1;
    for (int64_t k = 0; k < size; k++) {
        int64_t pivot = find_pivot(matrix, size, k);
        for (int64_t c = k; c < size && pivot != k; c++) {
            double moved = matrix[k * size + c];
            matrix[k * size + c] = matrix[pivot * size + c];
            matrix[pivot * size + c] = moved;
        }
        double diagonal = matrix[k * size + k];
        if (diagonal == 0)
            return 0;
        result *= pivot == k ? diagonal : -diagonal;
        for (int64_t r = k + 1; r < size; r++) {
            double factor = matrix[r * size + k] / diagonal;
            for (int64_t c = k + 1; c < size; c++)
                matrix[r * size + c] -= factor * matrix[k * size + c];
        }
    }
    return result;
}

collage_status compute_det(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int64_t count = tensor_elements(y), size = x->dims[x->rank - 1];
    if (count == 0)
        return COLLAGE_OK;
    double *matrix = memory_alloc((size_t)(size * size) * sizeof *matrix);
    if (!matrix)
        return error_memory(error);
    for (int64_t n = 0; n < count; n++) {
        for (int64_t i = 0; i < size * size; i++)
            matrix[i] = tensor_get(x, n * size * size + i);
        tensor_set(y, n, determinant(matrix, size));
    }
    memory_free(matrix);
    return COLLAGE_OK;
}
