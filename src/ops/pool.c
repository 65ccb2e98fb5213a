/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: AveragePool, MaxPool, GlobalAveragePool, GlobalMaxPool. */
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
    return COLLAGE_OK;
}

collage_status infer_average_pool(const struct op_call *call, struct error *error)
{
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    return status == COLLAGE_OK ? infer_pool(call, error) : status;
}

collage_status infer_max_pool(const struct op_call *call, struct error *error)
{
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    return status == COLLAGE_OK ? infer_pool(call, error) : status;
}

/* What a window sees: the number of elements, with and without those of the padding (but never what
 * lies beyond it), their sum and their maximum. */
struct seen {
    int64_t elements, with_padding;
    double sum, greatest;
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
                        const int64_t *at)
{
    struct seen seen = { 0, 0, 0, (double)-INFINITY };
    int64_t tap[WINDOW_MAX] = { 0 };
    do {
        int64_t source = window_source(window, at, tap);
        seen.with_padding += source >= 0 || inside_padding(window, at, tap);
        if (source < 0)
            continue;
        double value = tensor_get(x, plane + source);
        seen.elements++;
        seen.sum += value;
        if (value > seen.greatest || isnan(value))
            seen.greatest = value;
    } while (coordinate_next(tap, window->kernel, window->dims));
    return seen;
}

static double average(const struct seen *seen)
{
    return seen->elements ? seen->sum / (double)seen->elements : 0;
}

static double average_with_padding(const struct seen *seen)
{
    return seen->with_padding ? seen->sum / (double)seen->with_padding : 0;
}

static double greatest(const struct seen *seen)
{
    return seen->greatest;
}

static void slide(const struct window *window, const struct tensor *x, struct tensor *y,
                  double (*result)(const struct seen *))
{
    int64_t in_size = window_inputs(window), i = 0;
    if (tensor_elements(y) == 0)
        return;
    for (int64_t plane = 0; plane < x->dims[0] * x->dims[1]; plane++) {
        int64_t at[WINDOW_MAX] = { 0 };
        do {
            struct seen seen = look(window, x, plane * in_size, at);
            tensor_set(y, i++, result(&seen));
        } while (coordinate_next(at, window->out, window->dims));
    }
}

collage_status compute_average_pool(const struct op_call *call, struct error *error)
{
    struct window window;
    collage_status status = window_read(call, call->inputs[0], NULL, &window, error);
    bool padding = collage_node_int(call->node, "count_include_pad", 0) != 0;
    if (status == COLLAGE_OK)
        slide(&window, call->inputs[0], &call->outputs[0],
              padding ? average_with_padding : average);
    return status;
}

collage_status compute_max_pool(const struct op_call *call, struct error *error)
{
    struct window window;
    collage_status status = window_read(call, call->inputs[0], NULL, &window, error);
    if (status == COLLAGE_OK)
        slide(&window, call->inputs[0], &call->outputs[0], greatest);
    return status;
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

static collage_status compute_global(const struct op_call *call,
                                     double (*result)(const struct seen *))
{
    const struct tensor *x = call->inputs[0];
    struct window window = { .dims = x->rank - 2 };
    for (int32_t d = 0; d < window.dims; d++) {
        window.kernel[d] = window.in[d] = x->dims[2 + d];
        window.stride[d] = window.dilation[d] = window.out[d] = 1;
        if (window.in[d] == 0) { /* the mean and the maximum of nothing */
            for (int64_t i = 0; i < tensor_elements(&call->outputs[0]); i++)
                tensor_set(&call->outputs[0], i, (double)NAN);
            return COLLAGE_OK;
        }
    }
    slide(&window, x, &call->outputs[0], result);
    return COLLAGE_OK;
}

collage_status compute_global_average_pool(const struct op_call *call, struct error *error)
{
    (void)error;
    return compute_global(call, average);
}

collage_status compute_global_max_pool(const struct op_call *call, struct error *error)
{
    (void)error;
    return compute_global(call, greatest);
}
