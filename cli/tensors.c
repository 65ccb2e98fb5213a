/* SPDX-License-Identifier: Apache-2.0 */
#include "tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READER(name, type)                                                                         \
    static double name(const void *data, size_t index)                                             \
    {                                                                                              \
        return (double)((const type *)data)[index];                                                \
    }
READER(read_float, float)
READER(read_double, double)
READER(read_int8, int8_t)
READER(read_int16, int16_t)
READER(read_int32, int32_t)
READER(read_int64, int64_t)
READER(read_uint8, uint8_t)
READER(read_uint16, uint16_t)
READER(read_uint32, uint32_t)
READER(read_uint64, uint64_t)
#undef READER

static const struct type {
    collage_dtype dtype;
    const char *name;
    DLDataType dl;
    double (*read)(const void *data, size_t index); /* NULL: values are not shown */
} types[] = {
    { COLLAGE_FLOAT32, "float32", { kDLFloat, 32, 1 }, read_float },
    { COLLAGE_FLOAT64, "float64", { kDLFloat, 64, 1 }, read_double },
    { COLLAGE_FLOAT16, "float16", { kDLFloat, 16, 1 }, NULL },
    { COLLAGE_BFLOAT16, "bfloat16", { kDLBfloat, 16, 1 }, NULL },
    { COLLAGE_INT8, "int8", { kDLInt, 8, 1 }, read_int8 },
    { COLLAGE_INT16, "int16", { kDLInt, 16, 1 }, read_int16 },
    { COLLAGE_INT32, "int32", { kDLInt, 32, 1 }, read_int32 },
    { COLLAGE_INT64, "int64", { kDLInt, 64, 1 }, read_int64 },
    { COLLAGE_UINT8, "uint8", { kDLUInt, 8, 1 }, read_uint8 },
    { COLLAGE_UINT16, "uint16", { kDLUInt, 16, 1 }, read_uint16 },
    { COLLAGE_UINT32, "uint32", { kDLUInt, 32, 1 }, read_uint32 },
    { COLLAGE_UINT64, "uint64", { kDLUInt, 64, 1 }, read_uint64 },
    { COLLAGE_BOOL, "bool", { kDLBool, 8, 1 }, read_uint8 },
};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

static const struct type *type_of(collage_dtype dtype)
{
    for (size_t k = 0; k < TYPE_COUNT; k++)
        if (types[k].dtype == dtype)
            return &types[k];
    return NULL;
}

static const char *dl_type_name(DLDataType dl)
{
    for (size_t k = 0; k < TYPE_COUNT; k++)
        if (types[k].dl.code == dl.code && types[k].dl.bits == dl.bits)
            return types[k].name;
    return "another type";
}

static void print_dims(char *text, size_t size, const int64_t *dims, int32_t rank)
{
    size_t used = (size_t)snprintf(text, size, "%s", rank ? "" : "scalar");
    for (int32_t k = 0; k < rank && used < size; k++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%lld", k ? "x" : "", (long long)dims[k]);
}

static size_t element_count(const collage_tensor_info *info)
{
    size_t count = 1;
    for (int32_t k = 0; k < info->rank; k++)
        count *= (size_t)info->dims[k];
    return count;
}

bool tensor_create(struct tensor *tensor, const collage_tensor_info *info)
{
    memset(tensor, 0, sizeof *tensor);
    const struct type *type = type_of(info->dtype);
    if (!type)
        return false;
    tensor->info = *info;
    tensor->bytes = element_count(info) * type->dl.bits / 8;
    size_t rounded = (tensor->bytes / 64 + 1) * 64;
    void *data = aligned_alloc(64, rounded);
    if (!data)
        return false;
    memset(data, 0, rounded);
    int64_t stride = 1;
    for (int32_t k = info->rank - 1; k >= 0; k--) {
        tensor->dims[k] = info->dims[k];
        tensor->strides[k] = stride;
        stride *= info->dims[k];
    }
    tensor->dl = (DLTensor){ .data = data,
                             .device = { kDLCPU, 0 },
                             .ndim = info->rank,
                             .dtype = type->dl,
                             .shape = tensor->dims,
                             .strides = tensor->strides };
    return true;
}

void tensor_free(struct tensor *tensor)
{
    if (tensor->read)
        collage_tensor_free(&tensor->dl);
    else
        free(tensor->dl.data);
    memset(tensor, 0, sizeof *tensor);
}

static bool fits(const DLTensor *dl, const collage_tensor_info *info)
{
    const struct type *type = type_of(info->dtype);
    if (!type || dl->dtype.code != type->dl.code || dl->dtype.bits != type->dl.bits ||
        dl->ndim != info->rank)
        return false;
    for (int32_t k = 0; k < info->rank; k++)
        if (dl->shape[k] != info->dims[k])
            return false;
    return true;
}

int tensor_read(collage_context *context, const char *command, const char *path,
                const collage_tensor_info *info, struct tensor *tensor)
{
    memset(tensor, 0, sizeof *tensor);
    collage_status status = collage_tensor_read(context, path, &tensor->dl);
    if (status != COLLAGE_OK)
        return complain_of(context, status);
    tensor->read = true;
    tensor->info = *info;
    if (fits(&tensor->dl, info))
        return EXIT_OK;
    char has[128], wants[128];
    print_dims(has, sizeof has, tensor->dl.shape, tensor->dl.ndim);
    print_dims(wants, sizeof wants, info->dims, info->rank);
    const struct type *type = type_of(info->dtype);
    complain(command, "--input: '%s' holds %s %s, but input '%s' is %s %s", path, has,
             dl_type_name(tensor->dl.dtype), info->name, wants,
             type ? type->name : "of a type that is not supported");
    tensor_free(tensor);
    return EXIT_BAD_INPUT;
}

void tensor_print_summary(const struct tensor *tensor, FILE *file)
{
    const collage_tensor_info *info = &tensor->info;
    const struct type *type = type_of(info->dtype);
    char name[128], dims[128];
    collage_printable(name, sizeof name, info->name);
    print_dims(dims, sizeof dims, info->dims, info->rank);
    fprintf(file, "%s: %s %s", name, dims, type ? type->name : "?");
    size_t count = element_count(info);
    if (type && type->read && count > 0) {
        double sum = 0, least = HUGE_VAL, most = -HUGE_VAL;
        for (size_t k = 0; k < count; k++) {
            double value = type->read(tensor->dl.data, k);
            sum += value;
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
        fprintf(file, ", mean %.6g, from %.6g to %.6g, starts", sum / (double)count, least, most);
        for (size_t k = 0; k < count && k < 4; k++)
            fprintf(file, " %.6g", type->read(tensor->dl.data, k));
    }
    putc('\n', file);
}
