/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.c: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: real numbers as integers
 * of 8 or 16 bits, with a scale and the integer that stands for zero. Both are one for the whole
 * tensor, or one for each index of an axis, or one for each block of some indices along an axis.
 */
#include <inttypes.h>
#include <math.h>

#include "ops/call.h"
#include "ops/quantize.h"

enum { X, SCALE, ZERO };

/* ---- which scale belongs to which element ---- */

enum granularity { ONE_FOR_ALL, ONE_PER_INDEX, ONE_PER_BLOCK };

struct scaling {
    enum granularity granularity;
    int64_t along, inner;  /* elements along the axis, and between two of them */
    int64_t block, blocks; /* elements of a block along the axis, and blocks */
};

bool quantize_is_single(const struct tensor *tensor)
{
    return tensor->rank == 0 || (tensor->rank == 1 && tensor->dims[0] == 1);
}

static collage_status check_scale_shape(const struct tensor *x, const struct tensor *scale,
                                        const struct scaling *scaling, int32_t axis,
                                        struct error *error)
{
    if (scaling->granularity == ONE_PER_INDEX) {
        if (scale->rank != 1 || scale->dims[0] != scaling->along)
            return shape_error(error,
                               "without block_size, the scale must be a scalar or a vector of "
                               "%" PRId64,
                               scaling->along);
        return COLLAGE_OK;
    }
    struct tensor wanted = *x;
    wanted.dims[axis] = scaling->blocks;
    if (tensor_same_shape(scale, &wanted))
        return COLLAGE_OK;
    char text[160];
    dims_print(wanted.dims, wanted.rank, text, sizeof text);
    return shape_error(error, "the scales of blocks of %" PRId64 " must be of shape %s",
                       scaling->block, text);
}

static collage_status read_scaling(const struct op_call *call, struct scaling *out,
                                   struct error *error)
{
    const struct tensor *x = call->inputs[X], *scale = call->inputs[SCALE];
    *out = (struct scaling){ .block = collage_node_int(call->node, "block_size", 0) };
    if (out->block < 0)
        return shape_error(error, "block_size %" PRId64 " is negative", out->block);
    if (quantize_is_single(scale))
        return COLLAGE_OK;
    int32_t axis = 0;
    /* A vector has one axis, whatever the attribute says: its default would be out of range. */
    collage_status status = x->rank == 1 ? COLLAGE_OK : call_axis(call, 1, x->rank, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    out->granularity = out->block == 0 ? ONE_PER_INDEX : ONE_PER_BLOCK;
    out->along = x->dims[axis];
    out->inner = dims_product(x, axis + 1, x->rank);
    if (out->block > 0)
        out->blocks = out->along / out->block + (out->along % out->block != 0);
    return check_scale_shape(x, scale, out, axis, error);
}

static collage_status check_zero_shape(const struct op_call *call, struct error *error)
{
    const struct tensor *scale = call->inputs[SCALE], *zero = call_input(call, ZERO);
    if (!zero || tensor_same_shape(scale, zero) ||
        (quantize_is_single(scale) && quantize_is_single(zero)))
        return COLLAGE_OK;
    return shape_error(error, "the zero point must have the shape of the scale");
}

/* The index of the scale and of the zero point of element i. */
static int64_t scale_index(const struct scaling *scaling, int64_t i)
{
    if (scaling->granularity == ONE_FOR_ALL)
        return 0;
    int64_t inner = i % scaling->inner, along = i / scaling->inner % scaling->along;
    if (scaling->granularity == ONE_PER_INDEX)
        return along;
    int64_t outer = i / scaling->inner / scaling->along;
    return (outer * scaling->blocks + along / scaling->block) * scaling->inner + inner;
}

/* ---- types ---- */

/* float64 is not among the types of these operators. */
static bool is_real(collage_dtype dtype)
{
    return dtype_is_float(dtype) && dtype != COLLAGE_FLOAT64;
}

static bool is_small_int(collage_dtype dtype)
{
    return dtype == COLLAGE_UINT8 || dtype == COLLAGE_INT8 || dtype == COLLAGE_UINT16 ||
           dtype == COLLAGE_INT16;
}

/* The type that an attribute names; COLLAGE_UNDEFINED if there is none. */
static collage_status read_type(const struct op_call *call, const char *name, collage_dtype *out,
                                struct error *error)
{
    int64_t type = collage_node_int(call->node, name, COLLAGE_UNDEFINED);
    *out = COLLAGE_UNDEFINED;
    if (type == COLLAGE_UNDEFINED)
        return COLLAGE_OK;
    if (type < 0 || type > COLLAGE_BFLOAT16 || dtype_size((collage_dtype)type) == 0)
        return shape_error(error, "the type %" PRId64 " of attribute '%s' is not supported", type,
                           name);
    *out = (collage_dtype)type;
    return COLLAGE_OK;
}

static double round_to(double value, collage_dtype dtype)
{
    double room = 0; /* for one element of any type */
    struct tensor one = { .dtype = dtype, .data = &room };
    tensor_set(&one, 0, value);
    return tensor_get(&one, 0);
}

/* Whole numbers, ties to even; tensor_set then keeps them within the type's limits. The quotient is
 * rounded to its own type first: that may make a tie of what was none. */
static double quantize(double x, double scale, double zero, collage_dtype precision)
{
    double quotient = round_to(round_to(x, precision) / round_to(scale, precision), precision);
    return nearbyint(quotient) + zero;
}

/* ---- QuantizeLinear ---- */

/* The type in which x is divided by the scale. */
static collage_status read_precision(const struct op_call *call, collage_dtype *out,
                                     struct error *error)
{
    collage_status status = read_type(call, "precision", out, error);
    if (status != COLLAGE_OK)
        return status;
    if (*out == COLLAGE_UNDEFINED)
        *out = call->inputs[SCALE]->dtype;
    if (*out == COLLAGE_INT32) /* a quotient of integers is a real number all the same */
        *out = COLLAGE_FLOAT64;
    return dtype_is_float(*out)
               ? COLLAGE_OK
               : shape_error(error, "precision %s is no type of real numbers", dtype_name(*out));
}

static collage_status quantized_type(const struct op_call *call, collage_dtype *out,
                                     struct error *error)
{
    const struct tensor *zero = call_input(call, ZERO);
    collage_status status = read_type(call, "output_dtype", out, error);
    if (status != COLLAGE_OK)
        return status;
    if (zero && *out != COLLAGE_UNDEFINED && *out != zero->dtype)
        return shape_error(error, "output_dtype is %s, but the zero point is of type %s",
                           dtype_name(*out), dtype_name(zero->dtype));
    if (zero)
        *out = zero->dtype;
    else if (*out == COLLAGE_UNDEFINED)
        *out = COLLAGE_UINT8;
    return is_small_int(*out)
               ? COLLAGE_OK
               : shape_error(error, "quantizing to %s is not possible", dtype_name(*out));
}

collage_status infer_quantize_linear(const struct op_call *call, struct error *error)
{
    struct scaling scaling;
    collage_dtype type = COLLAGE_UNDEFINED, precision = COLLAGE_UNDEFINED;
    for (uint32_t k = X; k <= SCALE; k++) {
        collage_dtype dtype = call->inputs[k]->dtype;
        if (!is_real(dtype) && dtype != COLLAGE_INT32)
            return shape_error(error, "input %" PRIu32 " cannot be of type %s", k,
                               dtype_name(dtype));
    }
    collage_status status = read_scaling(call, &scaling, error);
    if (status == COLLAGE_OK)
        status = check_zero_shape(call, error);
    if (status == COLLAGE_OK)
        status = read_precision(call, &precision, error);
    if (status == COLLAGE_OK)
        status = quantized_type(call, &type, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, type, call->inputs[X]);
    return status;
}

collage_status compute_quantize_linear(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[X], *zero = call_input(call, ZERO);
    struct tensor *y = &call->outputs[0];
    struct scaling scaling;
    collage_dtype precision = COLLAGE_UNDEFINED;
    collage_status status = read_scaling(call, &scaling, error);
    if (status == COLLAGE_OK)
        status = read_precision(call, &precision, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t count = tensor_elements(y);
    for (int64_t i = 0; i < count; i++) {
        int64_t k = scale_index(&scaling, i);
        tensor_set(y, i,
                   quantize(tensor_get(x, i), tensor_get(call->inputs[SCALE], k),
                            zero ? tensor_get(zero, k) : 0, precision));
    }
    return COLLAGE_OK;
}

/* ---- DequantizeLinear ---- */

static collage_status dequantized_type(const struct op_call *call, collage_dtype *out,
                                       struct error *error)
{
    collage_status status = read_type(call, "output_dtype", out, error);
    if (status != COLLAGE_OK)
        return status;
    if (*out == COLLAGE_UNDEFINED)
        *out = call->inputs[SCALE]->dtype;
    return is_real(*out)
               ? COLLAGE_OK
               : shape_error(error, "dequantizing to %s is not possible", dtype_name(*out));
}

collage_status infer_dequantize_linear(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[X], *zero = call_input(call, ZERO);
    struct scaling scaling;
    collage_dtype type = COLLAGE_UNDEFINED;
    if (!is_small_int(x->dtype) && x->dtype != COLLAGE_INT32)
        return shape_error(error, "input 0 cannot be of type %s", dtype_name(x->dtype));
    if (!is_real(call->inputs[SCALE]->dtype))
        return shape_error(error, "the scale cannot be of type %s",
                           dtype_name(call->inputs[SCALE]->dtype));
    if (zero && zero->dtype != x->dtype)
        return shape_error(error, "inputs 0 and 2 are of types %s and %s", dtype_name(x->dtype),
                           dtype_name(zero->dtype));
    collage_status status = read_scaling(call, &scaling, error);
    if (status == COLLAGE_OK)
        status = check_zero_shape(call, error);
    if (status == COLLAGE_OK)
        status = dequantized_type(call, &type, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, type, x);
    return status;
}

collage_status compute_dequantize_linear(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[X], *zero = call_input(call, ZERO);
    struct tensor *y = &call->outputs[0];
    struct scaling scaling;
    collage_status status = read_scaling(call, &scaling, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t count = tensor_elements(y);
    for (int64_t i = 0; i < count; i++) {
        int64_t k = scale_index(&scaling, i);
        int64_t difference = tensor_get_int(x, i) - (zero ? tensor_get_int(zero, k) : 0);
        tensor_set(y, i, (double)difference * tensor_get(call->inputs[SCALE], k));
    }
    return COLLAGE_OK;
}

/* ---- DynamicQuantizeLinear ---- */

collage_status infer_dynamic_quantize_linear(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[X], scalar = { .rank = 0 };
    if (x->dtype != COLLAGE_FLOAT32)
        return shape_error(error, "the input must be of type float32, not %s",
                           dtype_name(x->dtype));
    call_set_output(call, 0, COLLAGE_UINT8, x);
    call_set_output(call, 1, COLLAGE_FLOAT32, &scalar);
    call_set_output(call, 2, COLLAGE_UINT8, &scalar);
    return COLLAGE_OK;
}

/* Writes to an output, if it is wanted. */
static void put(const struct op_call *call, uint32_t output, int64_t i, double value)
{
    if (output < call->output_count && call->outputs[output].data)
        tensor_set(&call->outputs[output], i, value);
}

/* Scale and zero point are float32 at each step, as the specification's own graph has it: what is
 * rounded to integers hangs on their last bits. */
collage_status compute_dynamic_quantize_linear(const struct op_call *call, struct error *error)
{
    (void)error;
    const struct tensor *x = call->inputs[X];
    int64_t count = tensor_elements(x);
    const float limit = 255, *values = x->data;
    float low = 0, high = 0;
    for (int64_t i = 0; i < count; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    /* Nothing but zeros: any scale will do. */
    float scale = low == high ? 1 : (high - low) / limit;
    float zero = -low / scale;
    zero = nearbyintf(zero < 0 ? 0 : zero > limit ? limit : zero);
    put(call, 1, 0, (double)scale);
    put(call, 2, 0, (double)zero);
    for (int64_t i = 0; i < count; i++)
        put(call, 0, i, quantize((double)values[i], (double)scale, (double)zero, COLLAGE_FLOAT32));
    return COLLAGE_OK;
}
