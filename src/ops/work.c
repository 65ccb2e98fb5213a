/* SPDX-License-Identifier: Apache-2.0 */
/* work.c: what operators do, counted: the functions that ops.def names in its last column but one.
 * They see calls that inference has passed. */
#include <math.h>
#include <string.h>

#include "ops/call.h"

static double elements(const struct tensor *tensor)
{
    return tensor ? (double)tensor_elements(tensor) : 0;
}

static double dim(const struct tensor *tensor, int32_t k)
{
    return k >= 0 && k < tensor->rank ? (double)tensor->dims[k] : 1;
}

static const struct tensor *output(const struct op_call *call)
{
    return call->output_count > 0 ? &call->outputs[0] : NULL;
}

double op_work(const struct op *op, const struct op_call *call)
{
    return op->times * op->count(call);
}

uint64_t op_reads(const struct op *op, const struct op_call *call, uint32_t k)
{
    const struct tensor *input = call_input(call, k);
    if (!input || op->flags & OP_SHAPE)
        return 0;
    uint64_t all = tensor_bytes(input);
    uint64_t written = call->output_count > 0 ? tensor_bytes(&call->outputs[0]) : all;
    return op->flags & OP_PICKS && k == 0 && written < all ? written : all;
}

/* ---- element by element ---- */

double count_nothing(const struct op_call *call)
{
    (void)call;
    return 0;
}

double count_outputs(const struct op_call *call)
{
    return elements(output(call));
}

double count_inputs(const struct op_call *call)
{
    return elements(call_input(call, 0));
}

/* One less than there are inputs; Mean divides besides. */
double count_folds(const struct op_call *call)
{
    const bool divides = strcmp(call->node->op_type, "Mean") == 0;
    return elements(output(call)) * (call->input_count - (divides ? 0.0 : 1.0));
}

/* By exponential and logarithm, but for the powers that are written as Pow: squares, roots. */
double count_power(const struct op_call *call)
{
    const struct tensor *exponent = call_input(call, 1);
    double times = 2.0 * OP_TRANSCENDENTAL;
    if (exponent && exponent->data && tensor_elements(exponent) == 1) {
        double power = fabs(tensor_get(exponent, 0));
        if (power == 0.5 || power == 1 || power == 2)
            times = 1;
        else if (power == 3)
            times = 2;
    }
    return times * elements(output(call));
}

/* ---- sums of products ---- */

/* Of one channel: of the output of a Conv, of the input of a ConvTranspose. There may be none. */
static double filter_elements(const struct tensor *weight)
{
    double channels = dim(weight, 0);
    return channels > 0 ? elements(weight) / channels : 0;
}

/* The number of the weights among the inputs: quantised operators have scales between. */
static const struct tensor *second_operand(const struct op_call *call)
{
    return call->inputs[strncmp(call->node->op_type, "QLinear", 7) == 0 ? 3 : 1];
}

/* Each output element sums over a filter of one output channel. */
double count_conv(const struct op_call *call)
{
    return elements(output(call)) * filter_elements(second_operand(call));
}

/* Each input element is spread over the filters of its channel. */
double count_conv_transpose(const struct op_call *call)
{
    return elements(call->inputs[0]) * filter_elements(call->inputs[1]);
}

double count_matmul(const struct op_call *call)
{
    const struct tensor *a = call->inputs[0];
    return elements(output(call)) * dim(a, a->rank - 1);
}

double count_gemm(const struct op_call *call)
{
    const struct tensor *a = call->inputs[0];
    return elements(output(call)) * dim(a, collage_node_int(call->node, "transA", 0) ? 0 : 1);
}

/* Each step and batch multiplies by both weight matrices. */
double count_recurrent(const struct op_call *call)
{
    const struct tensor *x = call->inputs[0];
    return dim(x, 0) * dim(x, 1) * (elements(call->inputs[1]) + elements(call->inputs[2]));
}

/* ---- windows ---- */

/* What the windows of a pool hold, padding included. */
double count_windows(const struct op_call *call)
{
    struct ints kernel;
    struct error error = { 0 };
    double taps = 1;
    if (call_ints_attribute(call, "kernel_shape", &kernel, &error) != COLLAGE_OK)
        return 0;
    for (int32_t k = 0; k < kernel.count; k++)
        taps *= (double)kernel.values[k];
    return elements(output(call)) * taps;
}

/* LRN: squares of so many channels, and a power of their sum. */
double count_neighbours(const struct op_call *call)
{
    return elements(output(call)) *
           ((double)collage_node_int(call->node, "size", 1) + OP_TRANSCENDENTAL);
}

/* Axis by axis, as many input elements as the mode has weights. */
double count_samples(const struct op_call *call)
{
    const char *mode = collage_node_string(call->node, "mode", "nearest");
    const struct tensor *x = call->inputs[0], *y = output(call);
    double axes = 0;
    for (int32_t d = 0; d < y->rank && d < x->rank; d++)
        axes += x->dims[d] != y->dims[d];
    return strcmp(mode, "nearest") == 0 ? 0
                                        : elements(y) * axes * (strcmp(mode, "cubic") == 0 ? 4 : 2);
}

/* By elimination: a third of the third power is multiplied and added. */
double count_determinant(const struct op_call *call)
{
    const struct tensor *x = call->inputs[0];
    return elements(x) * dim(x, x->rank - 1) * 2 / 3;
}
