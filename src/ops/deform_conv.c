/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deform_conv.c: DeformConv, of images: a convolution whose taps are moved by offsets, which are
 * data. A tap reads between elements, linearly; what lies outside the image is zero.
 */
#include <inttypes.h>
#include <math.h>

#include "ops/call.h"
#include "ops/window.h"

enum { X, W, OFFSET, BIAS, MASK };

struct deformed {
    struct window window;
    int64_t offset_groups, taps;
    int64_t in_channels, out_channels; /* of a group */
    int64_t moved_channels;            /* of an offset group */
};

static collage_status read_groups(const struct op_call *call, struct deformed *out,
                                  struct error *error)
{
    const struct tensor *x = call->inputs[X], *w = call->inputs[W];
    struct window_groups groups;
    collage_status status = window_read_groups(call, x, w, &groups, error);
    if (status != COLLAGE_OK)
        return status;
    out->offset_groups = collage_node_int(call->node, "offset_group", 1);
    if (out->offset_groups < 1 || x->dims[1] % out->offset_groups != 0)
        return shape_error(error, "%" PRId64 " offset groups do not fit %" PRId64 " channels",
                           out->offset_groups, x->dims[1]);
    out->in_channels = groups.in_channels;
    out->out_channels = groups.out_channels;
    out->moved_channels = x->dims[1] / out->offset_groups;
    return COLLAGE_OK;
}

static collage_status read(const struct op_call *call, struct deformed *out, struct error *error)
{
    const struct tensor *x = call->inputs[X], *w = call->inputs[W];
    if (x->rank != 4 || w->rank != 4)
        return shape_error(error, "an input and weights of the ranks %d and %d are not supported",
                           (int)x->rank, (int)w->rank);
    collage_status status = read_groups(call, out, error);
    if (status == COLLAGE_OK)
        status = window_read(call, x, w->dims + 2, &out->window, error);
    if (status == COLLAGE_OK)
        out->taps = window_taps(&out->window);
    return status;
}

/* Input k has `planes` numbers for each tap of each offset group, for each place of the output. */
static collage_status check_plan(const struct op_call *call, uint32_t k, int64_t planes,
                                 const struct deformed *conv, struct error *error)
{
    const struct tensor *plan = call_input(call, k);
    int64_t channels;
    if (!plan)
        return COLLAGE_OK;
    if (plan->rank != 4 || plan->dims[0] != call->inputs[X]->dims[0] ||
        __builtin_mul_overflow(conv->offset_groups, conv->taps * planes, &channels) ||
        plan->dims[1] != channels || plan->dims[2] != conv->window.out[0] ||
        plan->dims[3] != conv->window.out[1])
        return shape_error(error, "input %" PRIu32 " does not fit the taps and the output", k);
    return COLLAGE_OK;
}

collage_status infer_deform_conv(const struct op_call *call, struct error *error)
{
    struct deformed conv = { 0 };
    collage_status status = call_check_same_type(call, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read(call, &conv, error);
    if (status == COLLAGE_OK)
        status = check_plan(call, OFFSET, 2, &conv, error);
    if (status == COLLAGE_OK)
        status = check_plan(call, MASK, 1, &conv, error);
    if (status != COLLAGE_OK)
        return status;
    const struct tensor *x = call->inputs[X], *bias = call_input(call, BIAS);
    int64_t channels = call->inputs[W]->dims[0];
    if (bias && (bias->rank != 1 || bias->dims[0] != channels))
        return shape_error(error, "the bias must have %" PRId64 " elements", channels);
    struct tensor y = { .rank = 4,
                        .dims = { x->dims[0], channels, conv.window.out[0], conv.window.out[1] } };
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

static double element(const struct window *w, const struct tensor *x, int64_t plane, double row,
                      double column)
{
    if (!(row >= 0 && row < (double)w->in[0] && column >= 0 && column < (double)w->in[1]))
        return 0;
    return tensor_get(x, plane + (int64_t)row * w->in[1] + (int64_t)column);
}

static double between(const struct window *w, const struct tensor *x, int64_t plane, double row,
                      double column)
{
    double top = floor(row), left = floor(column), sum = 0;
    for (int k = 0; k < 4; k++) {
        double r = top + (k < 2 ? 0 : 1), c = left + k % 2;
        double value = element(w, x, plane, r, c);
        if (value != 0) /* a place at infinity has no weights */
            sum += (1 - fabs(row - r)) * (1 - fabs(column - c)) * value;
    }
    return sum;
}

/* Tap `tap` of channel c of image n, for the output at `at`, whose number in its plane is `place`:
 * masked, not yet weighted. */
static double read_tap(const struct op_call *call, const struct deformed *conv, int64_t n,
                       int64_t c, const int64_t *at, int64_t place, int64_t tap)
{
    const struct tensor *x = call->inputs[X], *mask = call_input(call, MASK);
    const struct window *w = &conv->window;
    int64_t outputs = window_outputs(w);
    int64_t moved = (n * conv->offset_groups + c / conv->moved_channels) * conv->taps + tap;
    int64_t taps[2] = { tap / w->kernel[1], tap % w->kernel[1] };
    double position[2];
    for (int d = 0; d < 2; d++)
        position[d] = (double)(at[d] * w->stride[d] - w->begin[d] + taps[d] * w->dilation[d]) +
                      tensor_get(call->inputs[OFFSET], (moved * 2 + d) * outputs + place);
    double value = between(w, x, (n * x->dims[1] + c) * window_inputs(w), position[0], position[1]);
    return mask ? value * tensor_get(mask, moved * outputs + place) : value;
}

static double convolve(const struct op_call *call, const struct deformed *conv, int64_t n,
                       int64_t m, const int64_t *at, int64_t place)
{
    const struct tensor *weights = call->inputs[W], *bias = call_input(call, BIAS);
    double sum = bias ? tensor_get(bias, m) : 0;
    if (conv->out_channels < 1)
        return sum;
    int64_t first = m / conv->out_channels * conv->in_channels;
    for (int64_t c = 0; c < conv->in_channels; c++)
        for (int64_t tap = 0; tap < conv->taps; tap++)
            sum += tensor_get(weights, (m * conv->in_channels + c) * conv->taps + tap) *
                   read_tap(call, conv, n, first + c, at, place, tap);
    return sum;
}

collage_status compute_deform_conv(const struct op_call *call, struct error *error)
{
    struct tensor *y = &call->outputs[0];
    struct deformed conv = { 0 };
    collage_status status = read(call, &conv, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    int64_t i = 0;
    for (int64_t n = 0; n < y->dims[0]; n++)
        for (int64_t m = 0; m < y->dims[1]; m++) {
            int64_t at[WINDOW_MAX] = { 0 }, place = 0;
            do {
                tensor_set(y, i++, convolve(call, &conv, n, m, at, place++));
            } while (coordinate_next(at, conv.window.out, conv.window.dims));
        }
    return COLLAGE_OK;
}
