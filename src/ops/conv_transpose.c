/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_transpose.c: ConvTranspose: each input element adds its weighted window to the output. For
 * float32, what each input position adds is a matrix product: weights [channels out x
 * taps][channels in] times inputs [channels in][positions].
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"
#include "ops/multiply.h"
#include "ops/window.h"

struct transposed {
    struct window window;                      /* `in` and `out` are those of this operator */
    int64_t groups, in_channels, out_channels; /* of one group */
};

/* Sizes and padding of one dimension; see the specification of ConvTranspose. */
static collage_status size_output(const struct op_call *call, struct window *w, int32_t d,
                                  int64_t extra, const struct ints *shape, struct error *error)
{
    const char *automatic = collage_node_string(call->node, "auto_pad", "NOTSET");
    bool upper = strcmp(automatic, "SAME_UPPER") == 0, lower = strcmp(automatic, "SAME_LOWER") == 0;
    int64_t extent = (w->kernel[d] - 1) * w->dilation[d] + 1;
    int64_t full;
    if (w->in[d] < 1 || __builtin_mul_overflow(w->in[d] - 1, w->stride[d], &full) ||
        __builtin_add_overflow(full, extra + extent, &full))
        return shape_error(error, "dimension %d of the input is empty or too large", (int)d);
    if (shape->count < 0 && !upper && !lower) {
        if (strcmp(automatic, "VALID") == 0)
            w->begin[d] = w->end[d] = 0;
        w->out[d] = full - w->begin[d] - w->end[d];
    } else {
        w->out[d] = shape->count >= 0 ? shape->values[d] : w->in[d] * w->stride[d];
        int64_t total;
        if (w->out[d] < 1 || __builtin_sub_overflow(full, w->out[d], &total))
            return shape_error(error, "output_shape of dimension %d is %" PRId64, (int)d,
                               w->out[d]);
        if (total < 0)
            total = 0;
        w->begin[d] = upper ? total / 2 : total - total / 2;
        w->end[d] = total - w->begin[d];
    }
    if (w->out[d] < 1)
        return shape_error(error, "the padding leaves nothing of dimension %d", (int)d);
    return COLLAGE_OK;
}

static collage_status read_sizes(const struct op_call *call, struct window *w, struct error *error)
{
    struct ints shape, extra;
    const char *automatic = collage_node_string(call->node, "auto_pad", "NOTSET");
    if (strcmp(automatic, "NOTSET") != 0 && strcmp(automatic, "VALID") != 0 &&
        strcmp(automatic, "SAME_UPPER") != 0 && strcmp(automatic, "SAME_LOWER") != 0)
        return shape_error(error, "auto_pad '%.20s' is unknown", automatic);
    collage_status status = call_ints_attribute(call, "output_shape", &shape, error);
    if (status == COLLAGE_OK)
        status = call_ints_attribute(call, "output_padding", &extra, error);
    if (status != COLLAGE_OK)
        return status;
    if (shape.count == w->dims + 2) /* some exporters write batch and channels too */
        memmove(shape.values, shape.values + 2, (size_t)w->dims * sizeof shape.values[0]);
    else if (shape.count >= 0 && shape.count != w->dims)
        return shape_error(error, "output_shape has %d elements, %d are needed", (int)shape.count,
                           (int)w->dims);
    if (extra.count >= 0 && extra.count != w->dims)
        return shape_error(error, "output_padding has %d elements, %d are needed", (int)extra.count,
                           (int)w->dims);
    for (int32_t d = 0; d < w->dims && status == COLLAGE_OK; d++) {
        int64_t more = extra.count < 0 ? 0 : extra.values[d];
        if (more < 0 || more > INT32_MAX)
            return shape_error(error, "output_padding is %" PRId64, more);
        status = size_output(call, w, d, more, &shape, error);
    }
    return status;
}

static collage_status read(const struct op_call *call, struct transposed *out, struct error *error)
{
    const struct tensor *x = call->inputs[0], *w = call->inputs[1], *bias = call_input(call, 2);
    if (x->rank < 3 || w->rank != x->rank)
        return shape_error(error, "weights of rank %d do not fit an input of rank %d", (int)w->rank,
                           (int)x->rank);
    out->groups = collage_node_int(call->node, "group", 1);
    if (w->dims[0] != x->dims[1] || out->groups < 1 || x->dims[1] % out->groups != 0)
        return shape_error(error,
                           "weights for %" PRId64 " channels in %" PRId64
                           " groups do not fit an input of %" PRId64 " channels",
                           w->dims[0], out->groups, x->dims[1]);
    out->in_channels = x->dims[1] / out->groups;
    out->out_channels = w->dims[1];
    int64_t channels;
    if (__builtin_mul_overflow(out->groups, w->dims[1], &channels))
        return shape_error(error, "there are too many groups");
    if (bias && (bias->rank != 1 || bias->dims[0] != channels))
        return shape_error(error, "the bias must have %" PRId64 " elements", channels);
    collage_status status = window_read_attributes(call, x, w->dims + 2, &out->window, error);
    return status == COLLAGE_OK ? read_sizes(call, &out->window, error) : status;
}

collage_status infer_conv_transpose(const struct op_call *call, struct error *error)
{
    struct transposed conv;
    collage_status status = call_check_same_type(call, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read(call, &conv, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = *call->inputs[0];
    y.dims[1] = conv.groups * conv.out_channels;
    for (int32_t d = 0; d < conv.window.dims; d++)
        y.dims[2 + d] = conv.window.out[d];
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

/* Where tap `tap` of the input position `at` lands in the output plane; -1: in the padding. */
static int64_t target(const struct window *w, const int64_t *at, const int64_t *tap)
{
    int64_t index = 0;
    for (int32_t d = 0; d < w->dims; d++) {
        int64_t i = at[d] * w->stride[d] + tap[d] * w->dilation[d] - w->begin[d];
        if (i < 0 || i >= w->out[d])
            return -1;
        index = index * w->out[d] + i;
    }
    return index;
}

/* A group of an image: what it reads, and the sums of its output planes. */
struct group {
    const struct transposed *conv;
    const struct tensor *x, *weights;
    int64_t x_start, weights_start; /* of its first channel */
    double *sums;
};

static void locate(int64_t index, const int64_t *dims, int32_t count, int64_t *at)
{
    for (int32_t d = count - 1; d >= 0; d--) {
        at[d] = index % dims[d];
        index /= dims[d];
    }
}

static void pack(const void *context, int64_t first, int64_t count, double *panel)
{
    const struct group *g = context;
    int64_t size = window_inputs(&g->conv->window);
    const float *x = (const float *)g->x->data + g->x_start + first;
    for (int64_t c = 0; c < g->conv->in_channels; c++)
        for (int64_t j = 0; j < MULTIPLY_COLUMNS; j++)
            panel[c * MULTIPLY_COLUMNS + j] = j < count ? (double)x[c * size + j] : 0;
}

/* A row is one tap of one output channel. */
static void scatter(const void *context, int64_t row, int64_t first, int64_t count,
                    const double *values)
{
    const struct group *g = context;
    const struct window *w = &g->conv->window;
    int64_t taps = window_taps(w), tap[WINDOW_MAX], at[WINDOW_MAX];
    double *plane = g->sums + row / taps * window_outputs(w);
    locate(row % taps, w->kernel, w->dims, tap);
    locate(first, w->in, w->dims, at);
    for (int64_t j = 0; j < count; j++) {
        int64_t to = target(w, at, tap);
        if (to >= 0)
            plane[to] += values[j];
        coordinate_next(at, w->in, w->dims);
    }
}

static collage_status run_float32(const struct group *g, struct error *error)
{
    int64_t rows = g->conv->out_channels * window_taps(&g->conv->window);
    struct multiply multiply = { .rows = rows,
                                 .depth = g->conv->in_channels,
                                 .columns = window_inputs(&g->conv->window),
                                 .left = (const float *)g->weights->data + g->weights_start,
                                 .row_stride = 1,
                                 .depth_stride = rows,
                                 .pack = pack,
                                 .store = scatter,
                                 .context = g };
    return multiply_run(&multiply, error);
}

static collage_status run_any_type(const struct group *g)
{
    int64_t rows = g->conv->out_channels * window_taps(&g->conv->window);
    int64_t size = window_inputs(&g->conv->window);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < size; i++) {
            double value = 0;
            for (int64_t c = 0; c < g->conv->in_channels; c++)
                value += tensor_get(g->x, g->x_start + c * size + i) *
                         tensor_get(g->weights, g->weights_start + c * rows + row);
            scatter(g, row, i, 1, &value);
        }
    return COLLAGE_OK;
}

static collage_status run_group(const struct op_call *call, const struct group *g, int64_t image,
                                int64_t index, struct error *error)
{
    const struct tensor *bias = call_input(call, 2);
    struct tensor *y = &call->outputs[0];
    int64_t channels = g->conv->out_channels, size = window_outputs(&g->conv->window);
    for (int64_t m = 0; m < channels; m++)
        for (int64_t s = 0; s < size; s++)
            g->sums[m * size + s] = bias ? tensor_get(bias, index * channels + m) : 0;
    collage_status status = y->dtype == COLLAGE_FLOAT32 ? run_float32(g, error) : run_any_type(g);
    int64_t start = (image * g->conv->groups + index) * channels * size;
    for (int64_t k = 0; k < channels * size; k++)
        tensor_set(y, start + k, g->sums[k]);
    return status;
}

collage_status compute_conv_transpose(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *weights = call->inputs[1];
    struct transposed conv;
    collage_status status = read(call, &conv, error);
    if (status != COLLAGE_OK || tensor_elements(&call->outputs[0]) == 0)
        return status;
    int64_t in_size = window_inputs(&conv.window), out_size = window_outputs(&conv.window);
    int64_t taps = window_taps(&conv.window);
    struct group g = { .conv = &conv, .x = x, .weights = weights };
    g.sums = memory_alloc((size_t)(conv.out_channels * out_size) * sizeof *g.sums);
    if (!g.sums)
        return error_memory(error);
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t k = 0; k < conv.groups && status == COLLAGE_OK; k++) {
            g.x_start = (n * conv.groups + k) * conv.in_channels * in_size;
            g.weights_start = k * conv.in_channels * conv.out_channels * taps;
            status = run_group(call, &g, n, k, error);
        }
    memory_free(g.sums);
    return status;
}
