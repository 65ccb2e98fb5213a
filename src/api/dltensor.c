/* SPDX-License-Identifier: Apache-2.0 */
/* Between DLPack's tensors and ours. */
#include <string.h>

#include "api/handles.h"
#include "tensor/npy.h"

struct dlpack_type {
    collage_dtype dtype;
    DLDataType type;
};

static const struct dlpack_type dlpack_types[] = {
    { COLLAGE_FLOAT32, { kDLFloat, 32, 1 } }, { COLLAGE_FLOAT64, { kDLFloat, 64, 1 } },
    { COLLAGE_FLOAT16, { kDLFloat, 16, 1 } }, { COLLAGE_BFLOAT16, { kDLBfloat, 16, 1 } },
    { COLLAGE_INT8, { kDLInt, 8, 1 } },       { COLLAGE_INT16, { kDLInt, 16, 1 } },
    { COLLAGE_INT32, { kDLInt, 32, 1 } },     { COLLAGE_INT64, { kDLInt, 64, 1 } },
    { COLLAGE_UINT8, { kDLUInt, 8, 1 } },     { COLLAGE_UINT16, { kDLUInt, 16, 1 } },
    { COLLAGE_UINT32, { kDLUInt, 32, 1 } },   { COLLAGE_UINT64, { kDLUInt, 64, 1 } },
    { COLLAGE_BOOL, { kDLBool, 8, 1 } },
};

static bool same_type(DLDataType a, DLDataType b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

static collage_dtype dtype_of(DLDataType type)
{
    for (size_t k = 0; k < sizeof dlpack_types / sizeof *dlpack_types; k++)
        if (same_type(dlpack_types[k].type, type))
            return dlpack_types[k].dtype;
    return COLLAGE_UNDEFINED;
}

static DLDataType type_of(collage_dtype dtype)
{
    for (size_t k = 0; k < sizeof dlpack_types / sizeof *dlpack_types; k++)
        if (dlpack_types[k].dtype == dtype)
            return dlpack_types[k].type;
    return (DLDataType){ kDLOpaqueHandle, 0, 0 };
}

static bool is_dense(const DLTensor *tensor)
{
    if (!tensor->strides)
        return true;
    int64_t stride = 1;
    for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
        if (tensor->shape[d] > 1 && tensor->strides[d] != stride)
            return false;
        stride *= tensor->shape[d];
    }
    return true;
}

static collage_status read_shape(const DLTensor *tensor, struct tensor *out, const char *what,
                                 const char *name, struct error *error)
{
    if (tensor->ndim < 0 || tensor->ndim > COLLAGE_MAX_RANK || (tensor->ndim && !tensor->shape))
        return error_set(error, COLLAGE_ERROR_SHAPE, "%s '%s': rank %d; at most %d", what, name,
                         tensor->ndim, COLLAGE_MAX_RANK);
    if (tensor->device.device_type != kDLCPU)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "%s '%s' is not in host memory", what,
                         name);
    *out = (struct tensor){ .dtype = dtype_of(tensor->dtype), .rank = tensor->ndim };
    for (int32_t d = 0; d < tensor->ndim; d++)
        out->dims[d] = tensor->shape[d];
    if (!is_dense(tensor))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "%s '%s' is not dense and row-major: copy it first", what, name);
    out->data = tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
    return COLLAGE_OK;
}

collage_status dltensor_check(const DLTensor *tensor, const struct value *wanted, const char *what,
                              void **data, struct error *error)
{
    struct tensor given;
    collage_status status = read_shape(tensor, &given, what, wanted->name, error);
    if (status != COLLAGE_OK)
        return status;
    const struct tensor *shape = &wanted->tensor;
    if (given.dtype != shape->dtype || !tensor_same_shape(&given, shape)) {
        char have[96];
        char want[96];
        dims_print(given.dims, given.rank, have, sizeof have);
        dims_print(shape->dims, shape->rank, want, sizeof want);
        return error_set(error, COLLAGE_ERROR_SHAPE, "%s '%s' is %s %s; the model wants %s %s",
                         what, wanted->name, dtype_name(given.dtype), have,
                         dtype_name(shape->dtype), want);
    }
    if (!given.data && tensor_bytes(shape) > 0)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "%s '%s' has no data", what, wanted->name);
    if ((uintptr_t)given.data % dtype_size(shape->dtype) != 0)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "%s '%s' is not aligned to its elements: copy it first", what,
                         wanted->name);
    *data = given.data;
    return COLLAGE_OK;
}

/* Shape and strides of a tensor read from a file, in one block that `shape` points to. */
collage_status collage_tensor_read(collage_context *context, const char *path, DLTensor *tensor)
{
    struct error *error = context_begin(context);
    if (!path || !tensor)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_tensor_read: a pointer is NULL");
    struct tensor read;
    collage_status status = npy_read(path, &read, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t *dims = memory_alloc((size_t)2 * COLLAGE_MAX_RANK * sizeof *dims);
    if (!dims) {
        memory_free_aligned(read.data);
        return error_memory(error);
    }
    int64_t *strides = dims + COLLAGE_MAX_RANK;
    int64_t stride = 1;
    for (int32_t d = read.rank - 1; d >= 0; d--) {
        dims[d] = read.dims[d];
        strides[d] = stride;
        stride *= read.dims[d];
    }
    *tensor = (DLTensor){ .data = read.data,
                          .device = { kDLCPU, 0 },
                          .ndim = read.rank,
                          .dtype = type_of(read.dtype),
                          .shape = dims,
                          .strides = strides };
    return COLLAGE_OK;
}

void collage_tensor_free(DLTensor *tensor)
{
    if (!tensor)
        return;
    memory_free_aligned(tensor->data);
    memory_free(tensor->shape);
    *tensor = (DLTensor){ 0 };
}

collage_status collage_tensor_write(collage_context *context, const char *path,
                                    const DLTensor *tensor)
{
    struct error *error = context_begin(context);
    if (!path || !tensor)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_tensor_write: a pointer is NULL");
    struct tensor given;
    collage_status status = read_shape(tensor, &given, "tensor", path, error);
    if (status != COLLAGE_OK)
        return status;
    if (!given.data && tensor_bytes(&given) > 0)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "'%s': the tensor has no data", path);
    return npy_write(path, &given, error);
}
