/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: AveragePool, LpPool, MaxPool (with the places of the maxima), and the global ones. */
#include <inttypes.h>
#include <math.h>

#include "ops/call.h"
#include "ops/window.h"

static collage_status infer_pool(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct window window;
    collage_status status = window_read(call, x, NULL, &window, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = *x;
    for (int32_t d = 0; d < window.dims; d++) {
        int64_t extent = (window.kernel[d] - 1) * window.dilation[d] + 1;
        if (window.begin[d] >= extent || window.end[d] >= extent)
            return shape_error(error, "the padding of dimension %d is not smaller than the kernel",
                               (int)d);
        y.dims[2 + d] = window.out[d];
    }
    call_set_output(call, 0, x->dtype, &y);
    call_set_output(call, 1, COLLAGE_INT64, &y); /* only MaxPool may have it */
    return COLLAGE_OK;
}

static collage_status check_power(const struct op_call *call, struct error *error)
{
    int64_t power = collage_node_int(call->node, "p", 2);
    if (power < 1)
        return shape_error(error, "p is %" PRId64 "; at least 1 is needed", power);
    return COLLAGE_OK;
}

collage_status infer_average_pool(const struct op_call *call, struct error *error)
{
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    return status == COLLAGE_OK ? infer_pool(call, error) : status;
}

collage_status infer_lp_pool(const struct op_call *call, struct error *error)
{
    collage_status status = check_power(call, error);
    return status == COLLAGE_OK ? infer_average_pool(call, error) : status;
}

collage_status infer_max_pool(const struct op_call *call, struct error *error)
{
    int64_t order = collage_node_int(call->node, "storage_order", 0);
    if (order != 0 && order != 1)
        return shape_error(error, "storage_order is %" PRId64 "; 0 or 1 is needed", order);
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    return status == COLLAGE_OK ? infer_pool(call, error) : status;
}

/* What a window sees: the number of elements, with and without those of the padding (but never what
 * lies beyond it), their sum and their maximum, and where in the plane that is (-1: nowhere). */
struct seen {
    int64_t elements, with_padding;
    double sum, greatest;
    int64_t place;
};

/* What is asked of the windows. */
struct pooling {
    double (*result)(const struct seen *seen, double power);
    double power;           /* 0: the elements are summed, else the powers of their magnitudes */
    struct tensor *indices; /* becomes the place of the maximum in the whole input, unless NULL */
    bool column_major;      /* places are counted with the first spatial dimension innermost */
};

static bool inside_padding(const struct window *window, const int64_t *at, const int64_t *tap)
{
    for (int32_t d = 0; d < window->dims; d++)
        if (at[d] * window->stride[d] + tap[d] * window->dilation[d] >=
            window->in[d] + window->begin[d] + window->end[d])
            return false;
    return true;
}

static struct seen look(const struct window *window, const struct tensor *x, int64_t plane,
                        const int64_t *at, double power)
{
    struct seen seen = { .greatest = (double)-INFINITY, .place = -1 };
    int64_t tap[WINDOW_MAX] = { 0 };
    do {
        int64_t source = window_source(window, at, tap);
        seen.with_padding += source >= 0 || inside_padding(window, at, tap);
        if (source < 0)
            continue;
        double value = tensor_get(x, plane + source);
        seen.elements++;
        seen.sum += power != 0 ? pow(fabs(value), power) : value;
        if (seen.place < 0 || value > seen.greatest || isnan(value)) {
            seen.greatest = value;
            seen.place = source;
        }
    } while (coordinate_next(tap, window->kernel, window->dims));
    return seen;
}

static double average(const struct seen *seen, double power)
{
    (void)power;
    return seen->elements ? seen->sum / (double)seen->elements : 0;
}

static double average_with_padding(const struct seen *seen, double power)
{
    (void)power;
    return seen->with_padding ? seen->sum / (double)seen->with_padding : 0;
}

static double norm(const struct seen *seen, double power)
{
    return pow(seen->sum, 1 / power);
}

static double greatest(const struct seen *seen, double power)
{
    (void)power;
    return seen->greatest;
}

/* The number of an element of the plane if its first dimension is the innermost. */
static int64_t column_major_place(const struct window *window, int64_t place)
{
    int64_t coordinates[WINDOW_MAX], result = 0;
    for (int32_t d = window->dims - 1; d >= 0; d--) {
        coordinates[d] = place % window->in[d];
        place /= window->in[d];
    }
    for (int32_t d = window->dims - 1; d >= 0; d--)
        result = result * window->in[d] + coordinates[d];
    return result;
}

static int64_t index_of(const struct pooling *pooling, const struct window *window, int64_t plane,
                        int64_t place)
{
    if (place < 0)
        return -1;
    return plane + (pooling->column_major ? column_major_place(window, place) : place);
}

static void slide(const struct window *window, const struct tensor *x, struct tensor *y,
                  const struct pooling *pooling)
{
    int64_t in_size = window_inputs(window), i = 0;
    if (tensor_elements(y) == 0)
        return;
    for (int64_t plane = 0; plane < x->dims[0] * x->dims[1]; plane++) {
        int64_t at[WINDOW_MAX] = { 0 };
        do {
            struct seen seen = look(window, x, plane * in_size, at, pooling->power);
            if (pooling->indices)
                tensor_set_int(pooling->indices, i,
                               index_of(pooling, window, plane * in_size, seen.place));
            tensor_set(y, i++, pooling->result(&seen, pooling->power));
        } while (coordinate_next(at, window->out, window->dims));
    }
}

static collage_status run(const struct op_call *call, const struct pooling *pooling,
                          struct error *error)
{
    struct window window;
    collage_status status = window_read(call, call->inputs[0], NULL, &window, error);
    if (status == COLLAGE_OK)
        slide(&window, call->inputs[0], &call->outputs[0], pooling);
    return status;
}

collage_status compute_average_pool(const struct op_call *call, struct error *error)
{
    bool padding = collage_node_int(call->node, "count_include_pad", 0) != 0;
    return run(call, &(struct pooling){ .result = padding ? average_with_padding : average },
               error);
}

static double power_of(const struct op_call *call)
{
    return (double)collage_node_int(call->node, "p", 2);
}

collage_status compute_lp_pool(const struct op_call *call, struct error *error)
{
    return run(call, &(struct pooling){ .result = norm, .power = power_of(call) }, error);
}

collage_status compute_max_pool(const struct op_call *call, struct error *error)
{
    struct pooling pooling = { .result = greatest };
    if (call->output_count > 1 && call->outputs[1].data)
        pooling.indices = &call->outputs[1];
    pooling.column_major = collage_node_int(call->node, "storage_order", 0) != 0;
    return run(call, &pooling, error);
}

/* ---- global ---- */

collage_status infer_global_pool(const struct op_call *call, struct error *error)
{
    struct tensor y = *call->inputs[0];
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status != COLLAGE_OK)
        return status;
    if (y.rank < 3)
        return shape_error(error, "the input has rank %d; at least 3 is needed", (int)y.rank);
    for (int32_t d = 2; d < y.rank; d++)
        y.dims[d] = 1;
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

collage_status infer_global_lp_pool(const struct op_call *call, struct error *error)
{
    collage_status status = check_power(call, error);
    return status == COLLAGE_OK ? infer_global_pool(call, error) : status;
}

/* `of_nothing` is the result of planes without elements. */
static collage_status compute_global(const struct op_call *call, const struct pooling *pooling,
                                     double of_nothing)
{
    const struct tensor *x = call->inputs[0];
    struct window window = { .dims = x->rank - 2 };
    for (int32_t d = 0; d < window.dims; d++) {
        window.kernel[d] = window.in[d] = x->dims[2 + d];
        window.stride[d] = window.dilation[d] = window.out[d] = 1;
        if (window.in[d] == 0) {
            for (int64_t i = 0; i < tensor_elements(&call->outputs[0]); i++)
                tensor_set(&call->outputs[0], i, of_nothing);
            return COLLAGE_OK;
        }
    }
    slide(&window, x, &call->outputs[0], pooling);
    return COLLAGE_OK;
}

collage_status compute_global_average_pool(const struct op_call *call, struct error *error)
{
    (void)error;
    return compute_global(call, &(struct pooling){ .result = average }, (double)NAN);
}

collage_status compute_global_lp_pool(const struct op_call *call, struct error *error)
{
    (void)error;
    return compute_global(call, &(struct pooling){ .result = norm, .power = power_of(call) }, 0);
}

collage_status compute_global_max_pool(const struct op_call *call, struct error *error)
{
    (void)error;
    return compute_global(call, &(struct pooling){ .result = greatest }, (double)NAN);
}
