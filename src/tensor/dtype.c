/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tensor/tensor.h"

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [COLLAGE_FLOAT32] = { "float32", 4 },   [COLLAGE_UINT8] = { "uint8", 1 },
    [COLLAGE_INT8] = { "int8", 1 },         [COLLAGE_UINT16] = { "uint16", 2 },
    [COLLAGE_INT16] = { "int16", 2 },       [COLLAGE_INT32] = { "int32", 4 },
    [COLLAGE_INT64] = { "int64", 8 },       [COLLAGE_BOOL] = { "bool", 1 },
    [COLLAGE_FLOAT16] = { "float16", 2 },   [COLLAGE_FLOAT64] = { "float64", 8 },
    [COLLAGE_UINT32] = { "uint32", 4 },     [COLLAGE_UINT64] = { "uint64", 8 },
    [COLLAGE_BFLOAT16] = { "bfloat16", 2 },
};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

size_t dtype_size(collage_dtype dtype)
{
    return (unsigned)dtype < TYPE_COUNT ? types[dtype].size : 0;
}

const char *dtype_name(collage_dtype dtype)
{
    return dtype_size(dtype) ? types[dtype].name : "?";
}

collage_dtype dtype_parse(const char *name)
{
    for (size_t k = 0; k < TYPE_COUNT; k++)
        if (types[k].name && strcmp(types[k].name, name) == 0)
            return (collage_dtype)k;
    return COLLAGE_UNDEFINED;
}

bool dtype_is_float(collage_dtype dtype)
{
    return dtype == COLLAGE_FLOAT32 || dtype == COLLAGE_FLOAT64 || dtype == COLLAGE_FLOAT16 ||
           dtype == COLLAGE_BFLOAT16;
}
