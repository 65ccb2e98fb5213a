/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/window.h"

#include <inttypes.h>
#include <string.h>

#include "ops/call.h"

static const int64_t largest = INT32_MAX, most_taps = 1 << 24;

static int64_t product(const int64_t *values, int32_t count)
{
    int64_t result = 1;
    for (int32_t d = 0; d < count; d++)
        result *= values[d];
    return result;
}

collage_status window_read_groups(const struct op_call *call, const struct tensor *x,
                                  const struct tensor *w, struct window_groups *out,
                                  struct error *error)
{
    *out = (struct window_groups){ .count = collage_node_int(call->node, "group", 1) };
    if (x->rank < 3 || w->rank != x->rank)
        return shape_error(error, "weights of rank %d do not fit an input of rank %d", (int)w->rank,
                           (int)x->rank);
    if (out->count < 1 || w->dims[0] % out->count != 0)
        return shape_error(error,
                           "%" PRId64 " output channels do not divide into %" PRId64 " groups",
                           w->dims[0], out->count);
    if (x->dims[1] % out->count != 0 || x->dims[1] / out->count != w->dims[1])
        return shape_error(error,
                           "weights for %" PRId64 " channels in %" PRId64
                           " groups do not fit an input of %" PRId64 " channels",
                           w->dims[1], out->count, x->dims[1]);
    out->in_channels = w->dims[1];
    out->out_channels = w->dims[0] / out->count;
    return COLLAGE_OK;
}

int64_t window_taps(const struct window *window)
{
    return product(window->kernel, window->dims);
}

int64_t window_inputs(const struct window *window)
{
    return product(window->in, window->dims);
}

int64_t window_outputs(const struct window *window)
{
    return product(window->out, window->dims);
}

int64_t window_source(const struct window *window, const int64_t *at, const int64_t *tap)
{
    int64_t source = 0;
    for (int32_t d = 0; d < window->dims; d++) {
        int64_t i = at[d] * window->stride[d] - window->begin[d] + tap[d] * window->dilation[d];
        if (i < 0 || i >= window->in[d])
            return -1;
        source = source * window->in[d] + i;
    }
    return source;
}

bool coordinate_next(int64_t *at, const int64_t *dims, int32_t count)
{
    for (int32_t d = count - 1; d >= 0; d--) {
        if (++at[d] < dims[d])
            return true;
        at[d] = 0;
    }
    return false;
}

/* A list attribute with one element a dimension, or the fallback in each. */
static collage_status read_list(const struct op_call *call, const char *name, int32_t dims,
                                int64_t least, int64_t fallback, int64_t *out, struct error *error)
{
    struct ints list;
    collage_status status = call_ints_attribute(call, name, &list, error);
    if (status != COLLAGE_OK)
        return status;
    if (list.count >= 0 && list.count != dims)
        return shape_error(error, "%s has %d elements, %d are needed", name, (int)list.count,
                           (int)dims);
    for (int32_t d = 0; d < dims; d++) {
        out[d] = list.count < 0 ? fallback : list.values[d];
        if (out[d] < least || out[d] > largest)
            return shape_error(error, "%s %" PRId64 " is not between %" PRId64 " and %" PRId64,
                               name, out[d], least, largest);
    }
    return COLLAGE_OK;
}

static collage_status read_kernel(const struct op_call *call, const int64_t *kernel,
                                  struct window *out, struct error *error)
{
    bool given = collage_node_attribute(call->node, "kernel_shape", COLLAGE_ATTRIBUTE_INTS) != NULL;
    if (!given && !kernel)
        return shape_error(error, "kernel_shape is missing");
    collage_status status = read_list(call, "kernel_shape", out->dims, 1, 1, out->kernel, error);
    int64_t taps = 1;
    for (int32_t d = 0; d < out->dims && status == COLLAGE_OK; d++) {
        if (given && kernel && out->kernel[d] != kernel[d])
            return shape_error(error, "kernel_shape does not fit the weights");
        if (kernel)
            out->kernel[d] = kernel[d];
        if (out->kernel[d] < 1 || out->kernel[d] > most_taps / taps)
            return shape_error(error,
                               "a kernel of %" PRId64 " elements in dimension %d is not "
                               "possible",
                               out->kernel[d], (int)d);
        taps *= out->kernel[d];
    }
    return status;
}

collage_status window_read_attributes(const struct op_call *call, const struct tensor *x,
                                      const int64_t *kernel, struct window *out,
                                      struct error *error)
{
    *out = (struct window){ .dims = x->rank - 2 };
    if (out->dims < 1)
        return shape_error(error, "the input has rank %d; at least 3 is needed", (int)x->rank);
    int64_t pads[2 * WINDOW_MAX];
    collage_status status = read_kernel(call, kernel, out, error);
    if (status == COLLAGE_OK)
        status = read_list(call, "strides", out->dims, 1, 1, out->stride, error);
    if (status == COLLAGE_OK)
        status = read_list(call, "dilations", out->dims, 1, 1, out->dilation, error);
    if (status == COLLAGE_OK)
        status = read_list(call, "pads", 2 * out->dims, 0, 0, pads, error);
    if (status != COLLAGE_OK)
        return status;
    for (int32_t d = 0; d < out->dims; d++) {
        out->in[d] = x->dims[2 + d];
        out->begin[d] = pads[d];
        out->end[d] = pads[out->dims + d];
    }
    return COLLAGE_OK;
}

/* SAME: as many outputs as strides fit; the padding is shared out, an odd one goes to one side. */
static void pad_same(struct window *window, int32_t d, int64_t extent, bool upper)
{
    int64_t in = window->in[d], stride = window->stride[d];
    window->out[d] = in / stride + (in % stride != 0);
    int64_t total = in > 0 ? (window->out[d] - 1) * stride + extent - in : 0;
    total = total > 0 ? total : 0;
    window->begin[d] = upper ? total / 2 : total - total / 2;
    window->end[d] = total - window->begin[d];
}

static collage_status size_output(struct window *window, int32_t d, int64_t extent, bool ceiling,
                                  struct error *error)
{
    int64_t room = window->in[d] + window->begin[d] + window->end[d] - extent;
    int64_t stride = window->stride[d];
    if (room < 0)
        return shape_error(error,
                           "the kernel (%" PRId64 ") is larger than the padded input "
                           "(%" PRId64 ") in dimension %d",
                           extent, room + extent, (int)d);
    window->out[d] = room / stride + 1;
    /* A last window that hangs over the end counts only if it begins before the end padding. */
    if (ceiling && room % stride != 0 && window->out[d] * stride < window->in[d] + window->begin[d])
        window->out[d]++;
    return COLLAGE_OK;
}

collage_status window_read(const struct op_call *call, const struct tensor *x,
                           const int64_t *kernel, struct window *out, struct error *error)
{
    collage_status status = window_read_attributes(call, x, kernel, out, error);
    if (status != COLLAGE_OK)
        return status;
    const char *automatic = collage_node_string(call->node, "auto_pad", "NOTSET");
    bool upper = strcmp(automatic, "SAME_UPPER") == 0, lower = strcmp(automatic, "SAME_LOWER") == 0;
    bool valid = strcmp(automatic, "VALID") == 0;
    if (!upper && !lower && !valid && strcmp(automatic, "NOTSET") != 0)
        return shape_error(error, "auto_pad '%.20s' is unknown", automatic);
    bool ceiling = collage_node_int(call->node, "ceil_mode", 0) != 0;
    for (int32_t d = 0; d < out->dims && status == COLLAGE_OK; d++) {
        int64_t extent = (out->kernel[d] - 1) * out->dilation[d] + 1;
        if (valid)
            out->begin[d] = out->end[d] = 0;
        if (upper || lower)
            pad_same(out, d, extent, upper);
        else
            status = size_output(out, d, extent, ceiling, error);
    }
    return status;
}
