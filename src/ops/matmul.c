/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.c: MatMul with NumPy's rules, and Gemm. */
#include <inttypes.h>

#include "ops/call.h"
#include "ops/multiply.h"
#include "ops/walk.h"

/* A product of two matrices, of any type, and what becomes of the sums: alpha * sum + beta * c. */
struct product {
    const struct tensor *a, *b, *c; /* c may be NULL */
    struct tensor *y;
    int64_t rows, depth, columns;
    int64_t a_start, a_row, a_depth; /* element (i, k) of the left matrix */
    int64_t b_start, b_depth, b_column;
    int64_t c_row, c_column;
    int64_t y_start;
    double alpha, beta;
};

static double finish(const struct product *p, int64_t row, int64_t column, double sum)
{
    double value = p->alpha * sum;
    if (p->c)
        value += p->beta * tensor_get(p->c, row * p->c_row + column * p->c_column);
    return value;
}

static void pack(const void *context, int64_t first, int64_t count, double *panel)
{
    const struct product *p = context;
    const float *b = (const float *)p->b->data + p->b_start + first * p->b_column;
    for (int64_t k = 0; k < p->depth; k++) {
        double *row = panel + k * MULTIPLY_COLUMNS;
        for (int64_t j = 0; j < count; j++)
            row[j] = (double)b[k * p->b_depth + j * p->b_column];
        for (int64_t j = count; j < MULTIPLY_COLUMNS; j++)
            row[j] = 0;
    }
}

static void store(const void *context, int64_t row, int64_t first, int64_t count,
                  const double *sums)
{
    const struct product *p = context;
    float *to = (float *)p->y->data + p->y_start + row * p->columns + first;
    for (int64_t j = 0; j < count; j++)
        to[j] = (float)finish(p, row, first + j, sums[j]);
}

static void multiply_real(const struct product *p)
{
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < p->columns; j++) {
            double sum = 0;
            for (int64_t k = 0; k < p->depth; k++)
                sum += tensor_get(p->a, p->a_start + i * p->a_row + k * p->a_depth) *
                       tensor_get(p->b, p->b_start + k * p->b_depth + j * p->b_column);
            tensor_set(p->y, p->y_start + i * p->columns + j, finish(p, i, j, sum));
        }
}

static void multiply_integer(const struct product *p)
{
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < p->columns; j++) {
            uint64_t sum = 0;
            for (int64_t k = 0; k < p->depth; k++)
                sum +=
                    (uint64_t)tensor_get_int(p->a, p->a_start + i * p->a_row + k * p->a_depth) *
                    (uint64_t)tensor_get_int(p->b, p->b_start + k * p->b_depth + j * p->b_column);
            tensor_set_int(p->y, p->y_start + i * p->columns + j, (int64_t)sum);
        }
}

static collage_status multiply(const struct product *p, struct error *error)
{
    if (p->y->dtype != COLLAGE_FLOAT32) {
        (dtype_is_float(p->y->dtype) ? multiply_real : multiply_integer)(p);
        return COLLAGE_OK;
    }
    struct multiply run = { .rows = p->rows,
                            .depth = p->depth,
                            .columns = p->columns,
                            .left = (const float *)p->a->data + p->a_start,
                            .row_stride = p->a_row,
                            .depth_stride = p->a_depth,
                            .pack = pack,
                            .store = store,
                            .context = p };
    return multiply_run(&run, error);
}

/* ---- MatMul ---- */

/* The batch dimensions of a tensor: all but the last two. */
static struct tensor batch_of(const struct tensor *tensor)
{
    struct tensor batch = *tensor;
    batch.rank = tensor->rank > 2 ? tensor->rank - 2 : 0;
    return batch;
}

/* rows x depth times depth x columns; a vector is one row on the left, one column on the right. */
static void matrix_sizes(const struct tensor *a, const struct tensor *b, struct product *p)
{
    p->rows = a->rank == 1 ? 1 : a->dims[a->rank - 2];
    p->depth = a->dims[a->rank - 1];
    p->columns = b->rank == 1 ? 1 : b->dims[b->rank - 1];
}

collage_status infer_matmul(const struct op_call *call, struct error *error)
{
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    collage_status status = call_check_same_type(call, TYPES_NUMBER, error);
    if (status != COLLAGE_OK)
        return status;
    if (a->rank < 1 || b->rank < 1)
        return shape_error(error, "a scalar cannot be multiplied");
    struct product p = { 0 };
    matrix_sizes(a, b, &p);
    if (b->dims[b->rank == 1 ? 0 : b->rank - 2] != p.depth) {
        char x[128], y[128];
        dims_print(a->dims, a->rank, x, sizeof x);
        dims_print(b->dims, b->rank, y, sizeof y);
        return shape_error(error, "shapes %s and %s do not multiply", x, y);
    }
    struct tensor y = { 0 }, batch_a = batch_of(a), batch_b = batch_of(b);
    const struct tensor *batches[] = { &batch_a, &batch_b };
    status = broadcast_shape(batches, 2, &y, error);
    if (status != COLLAGE_OK)
        return status;
    if (a->rank > 1)
        y.dims[y.rank++] = p.rows;
    if (b->rank > 1)
        y.dims[y.rank++] = p.columns;
    call_set_output(call, 0, a->dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_matmul(const struct op_call *call, struct error *error)
{
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    struct product p = { .a = a, .b = b, .y = &call->outputs[0], .alpha = 1 };
    matrix_sizes(a, b, &p);
    p.a_row = p.depth;
    p.a_depth = 1;
    p.b_depth = p.columns;
    p.b_column = 1;
    struct tensor batch = { 0 }, batch_a = batch_of(a), batch_b = batch_of(b);
    const struct tensor *batches[] = { &batch_a, &batch_b };
    collage_status status = broadcast_shape(batches, 2, &batch, error);
    if (status != COLLAGE_OK)
        return status;
    struct walk walk;
    walk_begin(&walk, batch.dims, batch.rank);
    walk_add_broadcast(&walk, &batch_a);
    walk_add_broadcast(&walk, &batch_b);
    while (walk_row(&walk) && status == COLLAGE_OK)
        for (int64_t i = 0; i < walk.length && status == COLLAGE_OK; i++) {
            p.a_start = (walk.at[0] + i * walk.step[0]) * p.rows * p.depth;
            p.b_start = (walk.at[1] + i * walk.step[1]) * p.depth * p.columns;
            status = multiply(&p, error);
            p.y_start += p.rows * p.columns;
        }
    return status;
}

/* ---- Gemm ---- */

static collage_status read_gemm(const struct op_call *call, struct product *p, struct error *error)
{
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    if (a->rank != 2 || b->rank != 2)
        return shape_error(error, "the inputs have ranks %d and %d, not 2", (int)a->rank,
                           (int)b->rank);
    bool turn_a = collage_node_int(call->node, "transA", 0) != 0;
    bool turn_b = collage_node_int(call->node, "transB", 0) != 0;
    *p = (struct product){ .a = a, .b = b, .c = call_input(call, 2), .y = &call->outputs[0] };
    p->rows = a->dims[turn_a];
    p->depth = a->dims[!turn_a];
    p->columns = b->dims[!turn_b];
    if (b->dims[turn_b] != p->depth)
        return shape_error(error, "%" PRId64 " columns on the left, %" PRId64 " rows on the right",
                           p->depth, b->dims[turn_b]);
    p->a_row = turn_a ? 1 : a->dims[1];
    p->a_depth = turn_a ? a->dims[1] : 1;
    p->b_depth = turn_b ? 1 : b->dims[1];
    p->b_column = turn_b ? b->dims[1] : 1;
    p->alpha = (double)collage_node_float(call->node, "alpha", 1);
    p->beta = (double)collage_node_float(call->node, "beta", 1);
    return COLLAGE_OK;
}

collage_status infer_gemm(const struct op_call *call, struct error *error)
{
    struct product p;
    collage_status status = call_check_same_type(call, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read_gemm(call, &p, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { .rank = 2, .dims = { p.rows, p.columns } };
    if (p.c && !broadcasts_to(p.c, &y))
        return shape_error(error, "input 2 does not broadcast to %" PRId64 "x%" PRId64, p.rows,
                           p.columns);
    call_set_output(call, 0, call->inputs[0]->dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_gemm(const struct op_call *call, struct error *error)
{
    struct product p;
    collage_status status = read_gemm(call, &p, error);
    if (status != COLLAGE_OK)
        return status;
    if (p.c && p.c->rank > 0 && p.c->dims[p.c->rank - 1] != 1)
        p.c_column = 1;
    if (p.c && p.c->rank > 1 && p.c->dims[0] != 1)
        p.c_row = p.c->dims[1];
    return multiply(&p, error);
}
