/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convolution.c: Conv with any number of spatial dimensions. For float32, each group of each image
 * is a matrix product: weights [channels out][channels in x taps] times the inputs that each output
 * position sees [channels in x taps][positions], packed a few positions at a time.
 */
#include <inttypes.h>

#include "ops/call.h"
#include "ops/multiply.h"
#include "ops/window.h"

struct convolution {
    struct window window;
    int64_t groups, in_channels, out_channels; /* of one group */
};

static collage_status read(const struct op_call *call, struct convolution *out, struct error *error)
{
    const struct tensor *x = call->inputs[0], *w = call->inputs[1], *bias = call_input(call, 2);
    struct window_groups groups;
    collage_status status = window_read_groups(call, x, w, &groups, error);
    if (status != COLLAGE_OK)
        return status;
    if (bias && (bias->rank != 1 || bias->dims[0] != w->dims[0]))
        return shape_error(error, "the bias must have %" PRId64 " elements", w->dims[0]);
    out->groups = groups.count;
    out->in_channels = groups.in_channels;
    out->out_channels = groups.out_channels;
    return window_read(call, x, w->dims + 2, &out->window, error);
}

collage_status infer_conv(const struct op_call *call, struct error *error)
{
    struct convolution conv;
    collage_status status = call_check_same_type(call, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read(call, &conv, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = *call->inputs[0];
    y.dims[1] = call->inputs[1]->dims[0];
    for (int32_t d = 0; d < conv.window.dims; d++)
        y.dims[2 + d] = conv.window.out[d];
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

/* One group of one image. */
struct product {
    const struct convolution *conv;
    const float *x, *bias; /* bias may be NULL */
    float *y;
    int64_t in_size, out_size;
};

/* Positions of a panel, side by side in one row of the output, that read inputs `step` apart;
 * source -1: in the padding. */
struct run {
    int64_t first, count, source, step;
};
enum { RUNS_MAX = 3 * MULTIPLY_COLUMNS };

static void add_run(struct run *runs, int *found, struct run run)
{
    if (run.count > 0)
        runs[(*found)++] = run;
}

/* How many of the positions start, start + stride, ... are below `limit`; at most `count`. */
static int64_t count_below(int64_t start, int64_t stride, int64_t limit, int64_t count)
{
    int64_t below = limit > start ? (limit - start - 1) / stride + 1 : 0;
    return below < count ? below : count;
}

/* The runs of one row of the output: padding, inputs, padding. at: of the first position. */
static void add_row_runs(const struct window *window, const int64_t *at, const int64_t *tap,
                         int64_t first, int64_t count, struct run *runs, int *found)
{
    const int32_t last = window->dims - 1;
    int64_t index = 0, i = 0;
    bool inside = true;
    for (int32_t d = 0; d <= last; d++) {
        i = at[d] * window->stride[d] + tap[d] * window->dilation[d] - window->begin[d];
        inside = inside && (d == last || (i >= 0 && i < window->in[d]));
        index = index * window->in[d] + i;
    }
    int64_t stride = window->stride[last];
    int64_t before = inside ? count_below(i, stride, 0, count) : count;
    int64_t end = inside ? count_below(i, stride, window->in[last], count) : count;
    add_run(runs, found, (struct run){ first, before, -1, 0 });
    add_run(runs, found,
            (struct run){ first + before, end - before, index + before * stride, stride });
    add_run(runs, found, (struct run){ first + end, count - end, -1, 0 });
}

/* The runs of a panel, for one tap: of the output positions from `first` on. */
static int find_runs(const struct window *window, int64_t first, int64_t count, const int64_t *tap,
                     struct run *runs)
{
    const int32_t last = window->dims - 1;
    int found = 0;
    for (int64_t j = 0; j < count;) {
        int64_t at[WINDOW_MAX] = { 0 }, rest = first + j;
        for (int32_t d = last; d >= 0; d--) {
            at[d] = rest % window->out[d];
            rest /= window->out[d];
        }
        int64_t row_left = window->out[last] - at[last];
        int64_t in_row = row_left < count - j ? row_left : count - j;
        add_row_runs(window, at, tap, j, in_row, runs, &found);
        j += in_row;
    }
    return found;
}

static void copy_runs(const struct run *runs, int count, const float *plane, double *row)
{
    for (int k = 0; k < count; k++) {
        const struct run *run = &runs[k];
        double *to = row + run->first;
        if (run->source < 0)
            for (int64_t j = 0; j < run->count; j++)
                to[j] = 0;
        else if (run->step == 1)
            for (int64_t j = 0; j < run->count; j++)
                to[j] = (double)plane[run->source + j];
        else
            for (int64_t j = 0; j < run->count; j++)
                to[j] = (double)plane[run->source + j * run->step];
    }
}

static void pack(const void *context, int64_t first, int64_t count, double *panel)
{
    const struct product *p = context;
    const struct window *window = &p->conv->window;
    struct run runs[RUNS_MAX];
    int64_t tap[WINDOW_MAX] = { 0 }, taps = window_taps(window), t = 0;
    do {
        int found = find_runs(window, first, count, tap, runs);
        for (int64_t c = 0; c < p->conv->in_channels; c++) {
            double *row = panel + (c * taps + t) * MULTIPLY_COLUMNS;
            copy_runs(runs, found, p->x + c * p->in_size, row);
            for (int64_t j = count; j < MULTIPLY_COLUMNS; j++)
                row[j] = 0;
        }
        t++;
    } while (coordinate_next(tap, window->kernel, window->dims));
}

static void store(const void *context, int64_t row, int64_t first, int64_t count,
                  const double *sums)
{
    const struct product *p = context;
    double bias = p->bias ? (double)p->bias[row] : 0;
    float *to = p->y + row * p->out_size + first;
    for (int64_t j = 0; j < count; j++)
        to[j] = (float)(sums[j] + bias);
}

static collage_status compute_float32(const struct op_call *call, const struct convolution *conv,
                                      struct error *error)
{
    const struct tensor *x = call->inputs[0], *bias = call_input(call, 2);
    int64_t depth = conv->in_channels * window_taps(&conv->window);
    struct product p = { .conv = conv,
                         .in_size = window_inputs(&conv->window),
                         .out_size = window_outputs(&conv->window) };
    collage_status status = COLLAGE_OK;
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t g = 0; g < conv->groups && status == COLLAGE_OK; g++) {
            int64_t channel = g * conv->out_channels;
            p.x = (const float *)x->data + (n * conv->groups + g) * conv->in_channels * p.in_size;
            p.y = (float *)call->outputs[0].data +
                  (n * conv->groups + g) * conv->out_channels * p.out_size;
            p.bias = bias ? (const float *)bias->data + channel : NULL;
            struct multiply multiply = { .rows = conv->out_channels,
                                         .depth = depth,
                                         .columns = p.out_size,
                                         .left =
                                             (const float *)call->inputs[1]->data + channel * depth,
                                         .row_stride = depth,
                                         .depth_stride = 1,
                                         .pack = pack,
                                         .store = store,
                                         .context = &p };
            status = multiply_run(&multiply, error);
        }
    return status;
}

/* The sum at one output position, for types other than float32. */
static double sum_at(const struct op_call *call, const struct convolution *conv, int64_t image,
                     int64_t channel, const int64_t *at)
{
    const struct tensor *x = call->inputs[0], *w = call->inputs[1], *bias = call_input(call, 2);
    const struct window *window = &conv->window;
    int64_t in_size = window_inputs(window), taps = window_taps(window);
    int64_t group = channel / conv->out_channels;
    double sum = bias ? tensor_get(bias, channel) : 0;
    int64_t tap[WINDOW_MAX] = { 0 }, t = 0;
    do {
        int64_t source = window_source(window, at, tap);
        for (int64_t c = 0; c < conv->in_channels && source >= 0; c++)
            sum +=
                tensor_get(w, (channel * conv->in_channels + c) * taps + t) *
                tensor_get(x, ((image * conv->groups + group) * conv->in_channels + c) * in_size +
                                  source);
        t++;
    } while (coordinate_next(tap, window->kernel, window->dims));
    return sum;
}

collage_status compute_conv(const struct op_call *call, struct error *error)
{
    struct convolution conv;
    struct tensor *y = &call->outputs[0];
    collage_status status = read(call, &conv, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    if (y->dtype == COLLAGE_FLOAT32)
        return compute_float32(call, &conv, error);
    int64_t i = 0;
    for (int64_t n = 0; n < y->dims[0]; n++)
        for (int64_t channel = 0; channel < y->dims[1]; channel++) {
            int64_t at[WINDOW_MAX] = { 0 };
            do
                tensor_set(y, i++, sum_at(call, &conv, n, channel, at));
            while (coordinate_next(at, conv.window.out, conv.window.dims));
        }
    return COLLAGE_OK;
}
