/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/importer.h"

static collage_status set_shape(const Onnx__TensorProto *proto, const char *what,
                                struct tensor *tensor, struct error *error)
{
    *tensor = (struct tensor){ .dtype = (collage_dtype)proto->data_type };
    if (!proto->has_data_type || dtype_size(tensor->dtype) == 0)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "tensor '%s' has the element type %d, which is not supported", what,
                         proto->data_type);
    if (proto->n_dims > COLLAGE_MAX_RANK)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "tensor '%s' has %zu dimensions; at most %d are supported", what,
                         proto->n_dims, COLLAGE_MAX_RANK);
    tensor->rank = (int32_t)proto->n_dims;
    for (size_t k = 0; k < proto->n_dims; k++)
        tensor->dims[k] = proto->dims[k];
    uint64_t bytes;
    if (!tensor_check_size(tensor, &bytes))
        return error_set(error, COLLAGE_ERROR_FORMAT, "tensor '%s' has an impossible shape", what);
    return COLLAGE_OK;
}

static bool parse_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && errno == 0;
}

struct place {
    const char *location;
    uint64_t offset, length;
    bool has_length;
};

static collage_status read_place(const Onnx__TensorProto *proto, const char *what,
                                 struct place *place, struct error *error)
{
    *place = (struct place){ 0 };
    for (size_t k = 0; k < proto->n_external_data; k++) {
        const char *key = message_string(proto->external_data[k]->key);
        const char *value = message_string(proto->external_data[k]->value);
        bool ok = true;
        if (strcmp(key, "location") == 0)
            place->location = value;
        else if (strcmp(key, "offset") == 0)
            ok = parse_number(value, &place->offset);
        else if (strcmp(key, "length") == 0)
            ok = place->has_length = parse_number(value, &place->length);
        if (!ok)
            return error_set(error, COLLAGE_ERROR_FORMAT,
                             "tensor '%s': %s '%.40s' of its external data is no number", what, key,
                             value);
    }
    if (!place->location)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "tensor '%s': its external data have no location", what);
    return COLLAGE_OK;
}

/* Says what to do about missing weights where we can make them. */
static void advise(const struct importer *importer, struct error *error)
{
    if (error->status == COLLAGE_ERROR_IO &&
        graph_property(importer->graph, "collage.weights.rule")) {
        size_t used = strlen(error->text);
        const char *advice = ": run `collage weights MODEL` first";
        if (used + strlen(advice) < sizeof error->text)
            memcpy(error->text + used, advice, strlen(advice) + 1);
    }
}

/* Bools other than 0 and 1 would be undefined behaviour later. */
static void normalise_bools(struct tensor *tensor, void *data)
{
    uint8_t *bytes = data;
    for (int64_t i = 0; tensor->dtype == COLLAGE_BOOL && i < tensor_elements(tensor); i++)
        bytes[i] = bytes[i] != 0;
}

static collage_status copy_bytes(struct importer *importer, struct tensor *tensor, const void *data,
                                 struct error *error)
{
    tensor->data = arena_copy(importer->graph->arena, data, (size_t)tensor_bytes(tensor));
    if (!tensor->data)
        return error_memory(error);
    normalise_bools(tensor, tensor->data);
    return COLLAGE_OK;
}

static collage_status use_external(struct importer *importer, const Onnx__TensorProto *proto,
                                   const char *what, struct tensor *tensor, struct error *error)
{
    struct place place;
    collage_status status = read_place(proto, what, &place, error);
    if (status != COLLAGE_OK)
        return status;
    uint64_t bytes = tensor_bytes(tensor);
    if (place.has_length && place.length != bytes)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "tensor '%s' has %llu bytes, but its external data have %llu", what,
                         (unsigned long long)bytes, (unsigned long long)place.length);
    const void *data;
    status = external_range(&importer->external, place.location, place.offset, bytes, &data, error);
    if (status != COLLAGE_OK) {
        advise(importer, error);
        error_prefix(error, "tensor '%s'", what);
        return status;
    }
    if (!data || place.offset % dtype_size(tensor->dtype) != 0 || tensor->dtype == COLLAGE_BOOL)
        return copy_bytes(importer, tensor, data, error);
    tensor->data = (void *)(uintptr_t)data;
    return COLLAGE_OK;
}

/* Elements that lie in one of the typed fields. Narrow types lie in int32_data. */
struct field {
    const void *data;
    size_t count, element_bytes;
};

static struct field typed_field(const Onnx__TensorProto *p, collage_dtype dtype)
{
    switch (dtype) {
    case COLLAGE_FLOAT32:
        return (struct field){ p->float_data, p->n_float_data, 4 };
    case COLLAGE_FLOAT64:
        return (struct field){ p->double_data, p->n_double_data, 8 };
    case COLLAGE_INT64:
        return (struct field){ p->int64_data, p->n_int64_data, 8 };
    case COLLAGE_UINT32:
    case COLLAGE_UINT64:
        return (struct field){ p->uint64_data, p->n_uint64_data, 8 };
    default:
        return (struct field){ p->int32_data, p->n_int32_data, 4 };
    }
}

/* Little-endian: the low bytes of a wide element are the narrow one. */
static collage_status use_typed(struct importer *importer, const Onnx__TensorProto *proto,
                                const char *what, struct tensor *tensor, struct error *error)
{
    struct field field = typed_field(proto, tensor->dtype);
    size_t count = (size_t)tensor_elements(tensor);
    size_t size = dtype_size(tensor->dtype);
    if (field.count != count)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "tensor '%s' has %zu elements, but data of %zu", what, count, field.count);
    char *data = arena_array(importer->graph->arena, count, size);
    if (!data)
        return error_memory(error);
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * size, (const char *)field.data + i * field.element_bytes, size);
    tensor->data = data;
    normalise_bools(tensor, data);
    return COLLAGE_OK;
}

collage_status importer_tensor(struct importer *importer, const Onnx__TensorProto *proto,
                               const char *what, struct tensor *tensor, struct error *error)
{
    collage_status status = set_shape(proto, what, tensor, error);
    if (status != COLLAGE_OK)
        return status;
    if (proto->segment)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "tensor '%s' is stored in segments, which is not supported", what);
    if (proto->has_data_location &&
        proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return use_external(importer, proto, what, tensor, error);
    if (!proto->has_raw_data)
        return use_typed(importer, proto, what, tensor, error);
    if (proto->raw_data.len != tensor_bytes(tensor))
        return error_set(error, COLLAGE_ERROR_FORMAT, "tensor '%s' has %llu bytes, but data of %zu",
                         what, (unsigned long long)tensor_bytes(tensor), proto->raw_data.len);
    return copy_bytes(importer, tensor, proto->raw_data.data, error);
}
