/* SPDX-License-Identifier: Apache-2.0 */
/* top.c: TopK and Hardmax: the greatest elements along an axis. NaN counts as the greatest of all.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "ops/call.h"
#include "ops/lookup.h"
#include "ops/order.h"

/* The elements start, start + step, ... of x. */
struct line {
    const struct tensor *x;
    int64_t start, step;
    bool descending;
};

/* ---- TopK ---- */

collage_status infer_top_k(const struct op_call *call, struct error *error)
{
    struct tensor y = *call->inputs[0];
    struct ints k;
    int32_t axis;
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = call_axis(call, -1, y.rank, &axis, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 1, &k, error);
    if (status != COLLAGE_OK)
        return status;
    if (k.count != 1)
        return shape_error(error, "k must be a single integer");
    if (k.values[0] < 0 || k.values[0] > y.dims[axis])
        return shape_error(error, "k is %" PRId64 ", of %" PRId64 " elements", k.values[0],
                           y.dims[axis]);
    y.dims[axis] = k.values[0];
    call_set_output(call, 0, y.dtype, &y);
    call_set_output(call, 1, COLLAGE_INT64, &y);
    return COLLAGE_OK;
}

static int compare_in_line(const void *context, int64_t a, int64_t b)
{
    const struct line *line = context;
    int order = order_elements(line->x, line->start + a * line->step, line->start + b * line->step);
    return line->descending ? -order : order;
}

static void write_top(const struct op_call *call, const struct line *line, int64_t to, int64_t k,
                      const int64_t *positions)
{
    struct tensor *values = &call->outputs[0];
    struct tensor *indices = call->output_count > 1 ? &call->outputs[1] : NULL;
    for (int64_t n = 0; n < k; n++) {
        int64_t at = to + n * line->step;
        if (values->data)
            elements_copy(values, at, line->x, line->start + positions[n] * line->step, 1);
        if (indices && indices->data)
            tensor_set_int(indices, at, positions[n]);
    }
}

/* Sorted also if `sorted` is 0, which leaves the order open. */
collage_status compute_top_k(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *y = &call->outputs[0];
    int32_t axis;
    collage_status status = call_axis(call, -1, x->rank, &axis, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    int64_t count = x->dims[axis], k = y->dims[axis];
    int64_t outer = dims_product(x, 0, axis), inner = dims_product(x, axis + 1, x->rank);
    int64_t *positions = memory_alloc((size_t)count * 2 * sizeof *positions);
    if (!positions)
        return error_memory(error);
    struct line line = { .x = x,
                         .step = inner,
                         .descending = collage_node_int(call->node, "largest", 1) != 0 };
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            line.start = o * count * inner + i;
            order_sort(positions, positions + count, count, compare_in_line, &line);
            write_top(call, &line, o * k * inner + i, k, positions);
        }
    memory_free(positions);
    return COLLAGE_OK;
}

/* ---- Hardmax ---- */

/* 1 at the first of the greatest elements, 0 elsewhere. */
collage_status compute_hardmax(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    int32_t axis;
    collage_status status = call_axis(call, -1, x->rank, &axis, error);
    if (status != COLLAGE_OK || tensor_elements(x) == 0)
        return status;
    int64_t count = x->dims[axis], outer = dims_product(x, 0, axis);
    int64_t inner = dims_product(x, axis + 1, x->rank);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t start = o * count * inner + i, best = 0;
            for (int64_t k = 1; k < count; k++)
                if (order_elements(x, start + k * inner, start + best * inner) > 0)
                    best = k;
            for (int64_t k = 0; k < count; k++)
                tensor_set(y, start + k * inner, k == best ? 1 : 0);
        }
    return COLLAGE_OK;
}
