/* SPDX-License-Identifier: Apache-2.0 */
/* element.c: single elements as numbers, whatever the tensor's type. */
#include <math.h>
#include <string.h>

#include "tensor/tensor.h"

/* The small float formats: bits of the stored significand, and the exponent of 1.0's binade and of
 * the smallest normal number. */
struct small_float {
    int significand_bits, bias;
};
static const struct small_float half = { 10, 15 }, brain = { 7, 127 };

static double small_to_double(uint16_t bits, struct small_float format)
{
    int exponent_bits = 15 - format.significand_bits;
    int exponent = bits >> format.significand_bits & ((1 << exponent_bits) - 1);
    int significand = bits & ((1 << format.significand_bits) - 1);
    double magnitude;
    if (exponent == (1 << exponent_bits) - 1)
        magnitude = significand ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(significand, 1 - format.bias - format.significand_bits);
    else
        magnitude = ldexp(significand + (1 << format.significand_bits),
                          exponent - format.bias - format.significand_bits);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* Rounds once, to nearest even. */
static uint16_t small_from_double(double value, struct small_float format)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)(0x7fff >> format.significand_bits << format.significand_bits);
    if (isnan(value))
        return (uint16_t)(sign | infinity | 1 << (format.significand_bits - 1));
    double magnitude = fabs(value);
    if (magnitude == 0)
        return sign;
    if (isinf(magnitude))
        return sign | infinity;
    int exponent = ilogb(magnitude);
    if (exponent < 1 - format.bias)
        exponent = 1 - format.bias;
    if (exponent > format.bias)
        return sign | infinity;
    /* In units of the last place; a carry into the next binade comes out right in the encoding. */
    int units = (int)nearbyint(ldexp(magnitude, format.significand_bits - exponent));
    int code = units + ((exponent + format.bias - 1) << format.significand_bits);
    return (uint16_t)(sign | (code < infinity ? code : infinity));
}

#define LOAD(type)                                                                                 \
    type value;                                                                                    \
    memcpy(&value, (const char *)tensor->data + (size_t)index * sizeof value, sizeof value)

double tensor_get(const struct tensor *tensor, int64_t index)
{
    switch (tensor->dtype) {
    case COLLAGE_FLOAT32: {
        LOAD(float);
        return (double)value;
    }
    case COLLAGE_FLOAT64: {
        LOAD(double);
        return value;
    }
    case COLLAGE_FLOAT16: {
        LOAD(uint16_t);
        return small_to_double(value, half);
    }
    case COLLAGE_BFLOAT16: {
        LOAD(uint16_t);
        return small_to_double(value, brain);
    }
    case COLLAGE_UINT64: {
        LOAD(uint64_t);
        return (double)value;
    }
    default:
        return (double)tensor_get_int(tensor, index);
    }
}

int64_t tensor_get_int(const struct tensor *tensor, int64_t index)
{
    switch (tensor->dtype) {
    case COLLAGE_BOOL: {
        LOAD(uint8_t);
        return value != 0;
    }
    case COLLAGE_UINT8: {
        LOAD(uint8_t);
        return value;
    }
    case COLLAGE_INT8: {
        LOAD(int8_t);
        return value;
    }
    case COLLAGE_UINT16: {
        LOAD(uint16_t);
        return value;
    }
    case COLLAGE_INT16: {
        LOAD(int16_t);
        return value;
    }
    case COLLAGE_UINT32: {
        LOAD(uint32_t);
        return value;
    }
    case COLLAGE_INT32: {
        LOAD(int32_t);
        return value;
    }
    case COLLAGE_UINT64: /* modulo 2^64 */
    case COLLAGE_INT64: {
        LOAD(int64_t);
        return value;
    }
    default:
        return 0;
    }
}

void tensor_set_int(struct tensor *tensor, int64_t index, int64_t value)
{
    if (tensor->dtype == COLLAGE_BOOL)
        value = value != 0;
    /* The low bytes of a little-endian integer are its value modulo 2^bits. */
    size_t size = dtype_size(tensor->dtype);
    memcpy((char *)tensor->data + (size_t)index * size, &value, size);
}

/* Towards zero, at most the limits; NaN gives 0. */
static int64_t clamp(double value, int64_t low, int64_t high)
{
    if (isnan(value))
        return 0;
    if (value <= (double)low)
        return low;
    if (value >= (double)high)
        return high;
    return (int64_t)value;
}

static int64_t to_integer(double value, collage_dtype dtype)
{
    switch (dtype) {
    case COLLAGE_BOOL:
        return value != 0;
    case COLLAGE_UINT8:
        return clamp(value, 0, UINT8_MAX);
    case COLLAGE_INT8:
        return clamp(value, INT8_MIN, INT8_MAX);
    case COLLAGE_UINT16:
        return clamp(value, 0, UINT16_MAX);
    case COLLAGE_INT16:
        return clamp(value, INT16_MIN, INT16_MAX);
    case COLLAGE_UINT32:
        return clamp(value, 0, UINT32_MAX);
    case COLLAGE_INT32:
        return clamp(value, INT32_MIN, INT32_MAX);
    case COLLAGE_UINT64:
        if (value >= 0x1p64)
            return -1; /* the largest, as bits */
        return value >= 0x1p63 ? (int64_t)(uint64_t)value : clamp(value, 0, INT64_MAX);
    default:
        return clamp(value, INT64_MIN, INT64_MAX);
    }
}

void tensor_set(struct tensor *tensor, int64_t index, double value)
{
    char *to = (char *)tensor->data + (size_t)index * dtype_size(tensor->dtype);
    switch (tensor->dtype) {
    case COLLAGE_FLOAT32: {
        float narrow = (float)value;
        memcpy(to, &narrow, sizeof narrow);
        return;
    }
    case COLLAGE_FLOAT64:
        memcpy(to, &value, sizeof value);
        return;
    case COLLAGE_FLOAT16:
    case COLLAGE_BFLOAT16: {
        uint16_t bits = small_from_double(value, tensor->dtype == COLLAGE_FLOAT16 ? half : brain);
        memcpy(to, &bits, sizeof bits);
        return;
    }
    default:
        tensor_set_int(tensor, index, to_integer(value, tensor->dtype));
    }
}
