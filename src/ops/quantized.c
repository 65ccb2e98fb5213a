/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized.c: products of integers of 8 bits: MatMulInteger and ConvInteger give the sums as they
 * are, modulo 2^32; QLinearMatMul and QLinearConv scale them to 8 bits. Sums are exact: 65025 times
 * the longest possible depth is far below 2^63.
 */
#include <inttypes.h>
#include <math.h>

#include "ops/call.h"
#include "ops/quantize.h"
#include "ops/walk.h"
#include "ops/window.h"

/* A zero point or a scale of an operand: one for all, or one for each of its lines: rows of a left
 * matrix, columns of a right one, output channels of weights. */
struct parameter {
    const struct tensor *tensor; /* NULL: zero */
    int64_t line_step, batch_step;
};

/* The inputs that an operator has, by number; NONE if it has no such input. */
enum { NONE = -1 };
struct inputs {
    int a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
};
static const struct inputs integer_inputs = { 0, NONE, 2, 1, NONE, 3, NONE, NONE, NONE };
static const struct inputs linear_inputs = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

/* What the matrix product and the convolution share. */
struct operands {
    const struct tensor *a, *b, *bias; /* bias may be NULL */
    struct parameter a_scale, a_zero, b_scale, b_zero, y_scale, y_zero;
    bool linear; /* scales the sums */
};

static const struct tensor *input(const struct op_call *call, int k)
{
    return k == NONE ? NULL : call_input(call, (uint32_t)k);
}

static void read_operands(const struct op_call *call, const struct inputs *inputs,
                          struct operands *out)
{
    *out = (struct operands){ .a = input(call, inputs->a),
                              .b = input(call, inputs->b),
                              .bias = input(call, inputs->bias),
                              .a_scale = { .tensor = input(call, inputs->a_scale) },
                              .a_zero = { .tensor = input(call, inputs->a_zero) },
                              .b_scale = { .tensor = input(call, inputs->b_scale) },
                              .b_zero = { .tensor = input(call, inputs->b_zero) },
                              .y_scale = { .tensor = input(call, inputs->y_scale) },
                              .y_zero = { .tensor = input(call, inputs->y_zero) },
                              .linear = inputs->y_scale != NONE };
}

/* ---- checks ---- */

static bool is_byte(collage_dtype dtype)
{
    return dtype == COLLAGE_UINT8 || dtype == COLLAGE_INT8;
}

static collage_status check_operand(const struct tensor *tensor, const struct parameter *zero,
                                    const char *name, struct error *error)
{
    if (!is_byte(tensor->dtype))
        return shape_error(error, "%s must be of type int8 or uint8, not %s", name,
                           dtype_name(tensor->dtype));
    if (zero->tensor && zero->tensor->dtype != tensor->dtype)
        return shape_error(error, "%s is of type %s, its zero point of type %s", name,
                           dtype_name(tensor->dtype), dtype_name(zero->tensor->dtype));
    return COLLAGE_OK;
}

static collage_status check_scales(const struct operands *o, struct error *error)
{
    collage_dtype dtype = o->y_scale.tensor->dtype;
    if (!dtype_is_float(dtype) || dtype == COLLAGE_FLOAT64)
        return shape_error(error, "a scale cannot be of type %s", dtype_name(dtype));
    if (o->a_scale.tensor->dtype != dtype || o->b_scale.tensor->dtype != dtype)
        return shape_error(error, "the scales must be of one type");
    if (!quantize_is_single(o->y_scale.tensor) || !quantize_is_single(o->y_zero.tensor))
        return shape_error(error, "scale and zero point of the output must be scalars");
    if (!is_byte(o->y_zero.tensor->dtype))
        return shape_error(error, "the output cannot be of type %s",
                           dtype_name(o->y_zero.tensor->dtype));
    return COLLAGE_OK;
}

static collage_status check_types(const struct operands *o, struct error *error)
{
    collage_status status = check_operand(o->a, &o->a_zero, "the left operand", error);
    if (status == COLLAGE_OK)
        status = check_operand(o->b, &o->b_zero, "the right operand", error);
    return status == COLLAGE_OK && o->linear ? check_scales(o, error) : status;
}

static collage_dtype output_type(const struct operands *o)
{
    return o->linear ? o->y_zero.tensor->dtype : COLLAGE_INT32;
}

/* ---- sums to outputs ---- */

static int64_t zero_at(const struct parameter *zero, int64_t batch, int64_t line)
{
    if (!zero->tensor)
        return 0;
    return tensor_get_int(zero->tensor, batch * zero->batch_step + line * zero->line_step);
}

static float scale_at(const struct parameter *scale, int64_t batch, int64_t line)
{
    return (float)tensor_get(scale->tensor, batch * scale->batch_step + line * scale->line_step);
}

/* In float32 at each step, as everybody computes it: ties hang on it. Then whole numbers, ties to
 * even, and the zero point; tensor_set keeps them within the type's limits. */
static void store(const struct operands *o, struct tensor *y, int64_t i, int64_t sum, float a_scale,
                  float b_scale)
{
    float product = a_scale * b_scale, scale = product / scale_at(&o->y_scale, 0, 0);
    float scaled = (float)sum * scale;
    double zero = (double)zero_at(&o->y_zero, 0, 0);
    tensor_set(y, i, nearbyint((double)scaled) + zero);
}

/* ---- matrix products ---- */

struct product {
    struct operands operands;
    int64_t rows, depth, columns;
    int64_t a_batch, b_batch; /* which matrices of the operands */
};

/* One element a line: as a vector beside a single matrix, or in the shape of the operand, which is
 * 1 where it does not count. */
static collage_status read_lines(const struct tensor *matrix, bool left, const char *name,
                                 struct parameter *parameter, struct error *error)
{
    const struct tensor *t = parameter->tensor;
    if (!t || quantize_is_single(t))
        return COLLAGE_OK;
    int32_t line = matrix->rank - (left ? 2 : 1);
    bool fits = false;
    if (matrix->rank >= 2 && t->rank == matrix->rank) {
        fits = true;
        for (int32_t d = 0; d < t->rank; d++) {
            bool counts = d < t->rank - 2 || d == line;
            fits = fits && t->dims[d] == (counts ? matrix->dims[d] : 1);
        }
    } else if (matrix->rank == 2 && t->rank == 1) {
        fits = t->dims[0] == matrix->dims[line];
    }
    if (!fits)
        return shape_error(error,
                           "scale and zero point of the %s operand must be scalars or have one "
                           "element for each %s",
                           name, left ? "row" : "column");
    parameter->line_step = 1;
    parameter->batch_step = matrix->dims[line];
    return COLLAGE_OK;
}

static collage_status read_product(const struct op_call *call, const struct inputs *inputs,
                                   struct product *p, struct error *error)
{
    *p = (struct product){ 0 };
    struct operands *o = &p->operands;
    read_operands(call, inputs, o);
    if (o->a->rank < 1 || o->b->rank < 1)
        return shape_error(error, "a scalar cannot be multiplied");
    p->rows = o->a->rank == 1 ? 1 : o->a->dims[o->a->rank - 2];
    p->depth = o->a->dims[o->a->rank - 1];
    p->columns = o->b->rank == 1 ? 1 : o->b->dims[o->b->rank - 1];
    if (o->b->dims[o->b->rank == 1 ? 0 : o->b->rank - 2] != p->depth) {
        char a[160], b[160];
        dims_print(o->a->dims, o->a->rank, a, sizeof a);
        dims_print(o->b->dims, o->b->rank, b, sizeof b);
        return shape_error(error, "shapes %s and %s do not multiply", a, b);
    }
    collage_status status = read_lines(o->a, true, "left", &o->a_scale, error);
    if (status == COLLAGE_OK)
        status = read_lines(o->a, true, "left", &o->a_zero, error);
    if (status == COLLAGE_OK)
        status = read_lines(o->b, false, "right", &o->b_scale, error);
    if (status == COLLAGE_OK)
        status = read_lines(o->b, false, "right", &o->b_zero, error);
    return status;
}

/* The batch dimensions of a tensor: all but the last two. */
static struct tensor batch_of(const struct tensor *tensor)
{
    struct tensor batch = *tensor;
    batch.rank = tensor->rank > 2 ? tensor->rank - 2 : 0;
    return batch;
}

static collage_status broadcast_batches(const struct product *p, struct tensor *out,
                                        struct error *error)
{
    struct tensor a = batch_of(p->operands.a), b = batch_of(p->operands.b);
    const struct tensor *batches[] = { &a, &b };
    *out = (struct tensor){ 0 };
    return broadcast_shape(batches, 2, out, error);
}

static collage_status infer_product(const struct op_call *call, const struct inputs *inputs,
                                    struct error *error)
{
    struct product p;
    struct tensor y = { 0 };
    collage_status status = read_product(call, inputs, &p, error);
    if (status == COLLAGE_OK)
        status = check_types(&p.operands, error);
    if (status == COLLAGE_OK)
        status = broadcast_batches(&p, &y, error);
    if (status != COLLAGE_OK)
        return status;
    if (p.operands.a->rank > 1)
        y.dims[y.rank++] = p.rows;
    if (p.operands.b->rank > 1)
        y.dims[y.rank++] = p.columns;
    call_set_output(call, 0, output_type(&p.operands), &y);
    return COLLAGE_OK;
}

static int64_t dot(const struct product *p, int64_t row, int64_t column)
{
    const struct operands *o = &p->operands;
    int64_t a_zero = zero_at(&o->a_zero, p->a_batch, row);
    int64_t b_zero = zero_at(&o->b_zero, p->b_batch, column);
    int64_t a_start = (p->a_batch * p->rows + row) * p->depth;
    int64_t b_start = p->b_batch * p->depth * p->columns + column, sum = 0;
    for (int64_t k = 0; k < p->depth; k++)
        sum += (tensor_get_int(o->a, a_start + k) - a_zero) *
               (tensor_get_int(o->b, b_start + k * p->columns) - b_zero);
    return sum;
}

/* The product of two matrices, to element y_start and those after it. */
static void multiply(const struct product *p, struct tensor *y, int64_t y_start)
{
    const struct operands *o = &p->operands;
    for (int64_t row = 0; row < p->rows; row++)
        for (int64_t column = 0; column < p->columns; column++) {
            int64_t i = y_start + row * p->columns + column, sum = dot(p, row, column);
            if (o->linear)
                store(o, y, i, sum, scale_at(&o->a_scale, p->a_batch, row),
                      scale_at(&o->b_scale, p->b_batch, column));
            else
                tensor_set_int(y, i, sum);
        }
}

static collage_status compute_product(const struct op_call *call, const struct inputs *inputs,
                                      struct error *error)
{
    struct product p;
    struct tensor batch = { 0 };
    collage_status status = read_product(call, inputs, &p, error);
    if (status == COLLAGE_OK)
        status = broadcast_batches(&p, &batch, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor a = batch_of(p.operands.a), b = batch_of(p.operands.b);
    int64_t y_start = 0;
    struct walk walk;
    walk_begin(&walk, batch.dims, batch.rank);
    walk_add_broadcast(&walk, &a);
    walk_add_broadcast(&walk, &b);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++) {
            p.a_batch = walk.at[0] + i * walk.step[0];
            p.b_batch = walk.at[1] + i * walk.step[1];
            multiply(&p, &call->outputs[0], y_start);
            y_start += p.rows * p.columns;
        }
    return COLLAGE_OK;
}

collage_status infer_matmul_integer(const struct op_call *call, struct error *error)
{
    return infer_product(call, &integer_inputs, error);
}

collage_status compute_matmul_integer(const struct op_call *call, struct error *error)
{
    return compute_product(call, &integer_inputs, error);
}

collage_status infer_qlinear_matmul(const struct op_call *call, struct error *error)
{
    return infer_product(call, &linear_inputs, error);
}

collage_status compute_qlinear_matmul(const struct op_call *call, struct error *error)
{
    return compute_product(call, &linear_inputs, error);
}

/* ---- convolutions ---- */

struct convolution {
    struct operands operands;
    struct window window;
    int64_t groups, in_channels, out_channels; /* of one group */
};

/* One element an output channel. */
static collage_status read_channels(int64_t channels, struct parameter *parameter,
                                    struct error *error)
{
    const struct tensor *t = parameter->tensor;
    if (!t || quantize_is_single(t))
        return COLLAGE_OK;
    if (t->rank != 1 || t->dims[0] != channels)
        return shape_error(error,
                           "scale and zero point of the weights must be scalars or vectors of "
                           "%" PRId64,
                           channels);
    parameter->line_step = 1;
    return COLLAGE_OK;
}

static collage_status read_parameters(struct operands *o, struct error *error)
{
    int64_t channels = o->b->dims[0];
    if ((o->a_scale.tensor && !quantize_is_single(o->a_scale.tensor)) ||
        (o->a_zero.tensor && !quantize_is_single(o->a_zero.tensor)))
        return shape_error(error, "scale and zero point of the input must be scalars");
    if (o->bias &&
        (o->bias->dtype != COLLAGE_INT32 || o->bias->rank != 1 || o->bias->dims[0] != channels))
        return shape_error(error, "the bias must be a vector of %" PRId64 " int32", channels);
    collage_status status = read_channels(channels, &o->b_scale, error);
    return status == COLLAGE_OK ? read_channels(channels, &o->b_zero, error) : status;
}

static collage_status read_convolution(const struct op_call *call, const struct inputs *inputs,
                                       struct convolution *out, struct error *error)
{
    struct window_groups groups;
    *out = (struct convolution){ 0 };
    read_operands(call, inputs, &out->operands);
    const struct tensor *x = out->operands.a, *w = out->operands.b;
    collage_status status = window_read_groups(call, x, w, &groups, error);
    out->groups = groups.count;
    out->in_channels = groups.in_channels;
    out->out_channels = groups.out_channels;
    if (status == COLLAGE_OK)
        status = read_parameters(&out->operands, error);
    return status == COLLAGE_OK ? window_read(call, x, w->dims + 2, &out->window, error) : status;
}

static collage_status infer_convolution(const struct op_call *call, const struct inputs *inputs,
                                        struct error *error)
{
    struct convolution conv;
    collage_status status = read_convolution(call, inputs, &conv, error);
    if (status == COLLAGE_OK)
        status = check_types(&conv.operands, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = *conv.operands.a;
    y.dims[1] = conv.operands.b->dims[0];
    for (int32_t d = 0; d < conv.window.dims; d++)
        y.dims[2 + d] = conv.window.out[d];
    call_set_output(call, 0, output_type(&conv.operands), &y);
    return COLLAGE_OK;
}

/* The padding is what stands for zero: it adds nothing. */
static int64_t sum_at(const struct convolution *conv, int64_t image, int64_t channel,
                      const int64_t *at)
{
    const struct operands *o = &conv->operands;
    int64_t in_size = window_inputs(&conv->window), taps = window_taps(&conv->window);
    int64_t first = (image * conv->groups + channel / conv->out_channels) * conv->in_channels;
    int64_t x_zero = zero_at(&o->a_zero, 0, 0), w_zero = zero_at(&o->b_zero, 0, channel);
    int64_t sum = o->bias ? tensor_get_int(o->bias, channel) : 0;
    int64_t tap[WINDOW_MAX] = { 0 }, t = 0;
    do {
        int64_t source = window_source(&conv->window, at, tap);
        for (int64_t c = 0; c < conv->in_channels && source >= 0; c++)
            sum += (tensor_get_int(o->a, (first + c) * in_size + source) - x_zero) *
                   (tensor_get_int(o->b, (channel * conv->in_channels + c) * taps + t) - w_zero);
        t++;
    } while (coordinate_next(tap, conv->window.kernel, conv->window.dims));
    return sum;
}

static collage_status compute_convolution(const struct op_call *call, const struct inputs *inputs,
                                          struct error *error)
{
    struct convolution conv;
    struct tensor *y = &call->outputs[0];
    collage_status status = read_convolution(call, inputs, &conv, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    const struct operands *o = &conv.operands;
    int64_t i = 0;
    for (int64_t n = 0; n < y->dims[0]; n++)
        for (int64_t channel = 0; channel < y->dims[1]; channel++) {
            int64_t at[WINDOW_MAX] = { 0 };
            do {
                int64_t sum = sum_at(&conv, n, channel, at);
                if (o->linear)
                    store(o, y, i, sum, scale_at(&o->a_scale, 0, 0),
                          scale_at(&o->b_scale, 0, channel));
                else
                    tensor_set_int(y, i, sum);
                i++;
            } while (coordinate_next(at, conv.window.out, conv.window.dims));
        }
    return COLLAGE_OK;
}

collage_status infer_conv_integer(const struct op_call *call, struct error *error)
{
    return infer_convolution(call, &integer_inputs, error);
}

collage_status compute_conv_integer(const struct op_call *call, struct error *error)
{
    return compute_convolution(call, &integer_inputs, error);
}

collage_status infer_qlinear_conv(const struct op_call *call, struct error *error)
{
    return infer_convolution(call, &linear_inputs, error);
}

collage_status compute_qlinear_conv(const struct op_call *call, struct error *error)
{
    return compute_convolution(call, &linear_inputs, error);
}
