/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tensor/tensor.h"

static const struct {
    const char *name;
    collage_dtype dtype;
    size_t size;
} types[] = {
    { "float32", COLLAGE_FLOAT32, 4 },   { "uint8", COLLAGE_UINT8, 1 },
    { "int8", COLLAGE_INT8, 1 },         { "uint16", COLLAGE_UINT16, 2 },
    { "int16", COLLAGE_INT16, 2 },       { "int32", COLLAGE_INT32, 4 },
    { "int64", COLLAGE_INT64, 8 },       { "bool", COLLAGE_BOOL, 1 },
    { "float16", COLLAGE_FLOAT16, 2 },   { "float64", COLLAGE_FLOAT64, 8 },
    { "uint32", COLLAGE_UINT32, 4 },     { "uint64", COLLAGE_UINT64, 8 },
    { "bfloat16", COLLAGE_BFLOAT16, 2 },
};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

size_t dtype_size(collage_dtype dtype)
{
    for (size_t k = 0; k < TYPE_COUNT; k++)
        if (types[k].dtype == dtype)
            return types[k].size;
    return 0;
}

const char *dtype_name(collage_dtype dtype)
{
    for (size_t k = 0; k < TYPE_COUNT; k++)
        if (types[k].dtype == dtype)
            return types[k].name;
    return "?";
}

collage_dtype dtype_parse(const char *name)
{
    for (size_t k = 0; k < TYPE_COUNT; k++)
        if (strcmp(types[k].name, name) == 0)
            return types[k].dtype;
    return COLLAGE_UNDEFINED;
}

bool dtype_is_float(collage_dtype dtype)
{
    return dtype == COLLAGE_FLOAT32 || dtype == COLLAGE_FLOAT64 || dtype == COLLAGE_FLOAT16 ||
           dtype == COLLAGE_BFLOAT16;
}
