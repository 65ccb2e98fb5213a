/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weight rule splitmix64-affine-1 (docs/networks.md): writes the file of external weights that
 * a benchmark network's metadata describe. The file streams through one small buffer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/message.h"
#include "onnx/onnx.h"

enum { BUFFER_BYTES = 256 * 1024 };

struct filler {
    const Onnx__ModelProto *model;
    const char *path;
    struct file_writer *writer;
    uint64_t seed, written;
    char *buffer;
};

static const char *property(const Onnx__ModelProto *model, const char *key)
{
    for (size_t k = 0; k < model->n_metadata_props; k++)
        if (strcmp(message_string(model->metadata_props[k]->key), key) == 0)
            return message_string(model->metadata_props[k]->value);
    return NULL;
}

static bool parse_u64(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = text ? strtoull(text, &end, 10) : 0;
    return text && text[0] >= '0' && text[0] <= '9' && !*end && errno == 0;
}

/* "SCALE OFFSET" */
static bool parse_affine(const char *text, double *scale, double *offset)
{
    char *end;
    if (!text)
        return false;
    *scale = strtod(text, &end);
    if (end == text || *end != ' ')
        return false;
    text = end + 1;
    *offset = strtod(text, &end);
    return end != text && !*end;
}

static const char *external_entry(const Onnx__TensorProto *tensor, const char *key)
{
    for (size_t k = 0; k < tensor->n_external_data; k++)
        if (strcmp(message_string(tensor->external_data[k]->key), key) == 0)
            return message_string(tensor->external_data[k]->value);
    return NULL;
}

static collage_status malformed(const struct filler *filler, const char *what, struct error *error)
{
    return error_set(error, COLLAGE_ERROR_FORMAT, "'%s': %s does not follow the weight rule",
                     filler->path, what);
}

static collage_status write_zeros(struct filler *filler, uint64_t until, struct error *error)
{
    memset(filler->buffer, 0, BUFFER_BYTES);
    while (filler->written < until) {
        uint64_t left = until - filler->written;
        size_t bytes = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
        collage_status status = file_writer_write(filler->writer, filler->buffer, bytes, error);
        if (status != COLLAGE_OK)
            return status;
        filler->written += bytes;
    }
    return COLLAGE_OK;
}

static collage_status write_elements(struct filler *filler, uint64_t count, uint64_t state,
                                     double scale, double offset, struct error *error)
{
    float *out = (float *)(void *)filler->buffer;
    while (count > 0) {
        size_t some = count < BUFFER_BYTES / 4 ? (size_t)count : BUFFER_BYTES / 4;
        for (size_t n = 0; n < some; n++) {
            double u = (double)(splitmix64(&state) >> 40) * 0x1p-23 - 1.0;
            out[n] = (float)(offset + scale * u);
        }
        collage_status status = file_writer_write(filler->writer, out, some * sizeof *out, error);
        if (status != COLLAGE_OK)
            return status;
        filler->written += some * sizeof *out;
        count -= some;
    }
    return COLLAGE_OK;
}

static collage_status write_tensor(struct filler *filler, const Onnx__TensorProto *tensor,
                                   uint64_t index, struct error *error)
{
    char key[48];
    uint64_t offset, length, bytes;
    double scale, shift;
    struct tensor shape = { .dtype = (collage_dtype)tensor->data_type };
    const char *location = external_entry(tensor, "location");
    const char *file = property(filler->model, "collage.weights.file");
    snprintf(key, sizeof key, "collage.weights.%llu", (unsigned long long)index);
    if (!location || strcmp(location, file) != 0 || tensor->n_dims > COLLAGE_MAX_RANK ||
        shape.dtype != COLLAGE_FLOAT32)
        return malformed(filler, message_string(tensor->name), error);
    shape.rank = (int32_t)tensor->n_dims;
    for (size_t k = 0; k < tensor->n_dims; k++)
        shape.dims[k] = tensor->dims[k];
    if (!tensor_check_size(&shape, &bytes) ||
        !parse_u64(external_entry(tensor, "offset"), &offset) ||
        !parse_u64(external_entry(tensor, "length"), &length) || length != bytes ||
        offset < filler->written || offset % 64 != 0)
        return malformed(filler, message_string(tensor->name), error);
    if (!parse_affine(property(filler->model, key), &scale, &shift))
        return malformed(filler, key, error);
    collage_status status = write_zeros(filler, offset, error);
    if (status != COLLAGE_OK)
        return status;
    return write_elements(filler, bytes / sizeof(float), filler->seed + index, scale, shift, error);
}

static collage_status write_all(struct filler *filler, struct error *error)
{
    uint64_t index = 0, count, bytes;
    const Onnx__GraphProto *graph = filler->model->graph;
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; status == COLLAGE_OK && k < graph->n_initializer; k++)
        if (graph->initializer[k]->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
            status = write_tensor(filler, graph->initializer[k], index++, error);
    if (status != COLLAGE_OK)
        return status;
    if (!parse_u64(property(filler->model, "collage.weights.count"), &count) || count != index)
        return malformed(filler, "collage.weights.count", error);
    if (!parse_u64(property(filler->model, "collage.weights.bytes"), &bytes) ||
        bytes != filler->written)
        return malformed(filler, "collage.weights.bytes", error);
    return COLLAGE_OK;
}

/* ---- where the files go ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* directory/name; directory NULL: beside the model. memory_free'd by the caller. */
static char *target_path(const char *model_path, const char *directory, const char *name)
{
    const char *folder = directory ? directory : model_path;
    size_t length = directory ? strlen(directory) : (size_t)(base_name(model_path) - model_path);
    const char *slash = directory && length && directory[length - 1] != '/' ? "/" : "";
    size_t size = length + strlen(name) + 2;
    char *path = memory_alloc(size);
    if (path)
        snprintf(path, size, "%.*s%s%s", (int)length, folder, slash, name);
    return path;
}

static collage_status check_rule(struct filler *filler, struct error *error)
{
    const char *rule = property(filler->model, "collage.weights.rule");
    const char *file = property(filler->model, "collage.weights.file");
    if (!filler->model->graph || !rule || strcmp(rule, "splitmix64-affine-1") != 0)
        return error_set(
            error, COLLAGE_ERROR_UNSUPPORTED,
            "'%s' does not state the weight rule splitmix64-affine-1: it needs its own "
            "weights file",
            filler->path);
    if (!file || !file[0] || file[0] == '.' || strchr(file, '/') || strlen(file) > 200 ||
        strcmp(file, base_name(filler->path)) == 0)
        return malformed(filler, "collage.weights.file", error);
    if (!parse_u64(property(filler->model, "collage.weights.seed"), &filler->seed))
        return malformed(filler, "collage.weights.seed", error);
    return COLLAGE_OK;
}

static collage_status fill_file(struct filler *filler, const char *directory, struct error *error)
{
    char *path =
        target_path(filler->path, directory, property(filler->model, "collage.weights.file"));
    filler->buffer = memory_alloc_aligned(BUFFER_BYTES);
    collage_status status = path && filler->buffer ? file_writer_open(path, &filler->writer, error)
                                                   : error_memory(error);
    if (status == COLLAGE_OK)
        status = write_all(filler, error);
    if (status == COLLAGE_OK)
        status = file_writer_commit(filler->writer, error);
    else
        file_writer_abort(filler->writer);
    memory_free_aligned(filler->buffer);
    memory_free(path);
    return status;
}

static collage_status copy_model(const struct filler *filler, const struct mapping *file,
                                 const char *directory, struct error *error)
{
    char *path = target_path(filler->path, directory, base_name(filler->path));
    collage_status status =
        path ? file_write(path, file->data, file->bytes, error) : error_memory(error);
    memory_free(path);
    return status;
}

collage_status onnx_weights_fill(const char *model_path, const char *directory,
                                 uint64_t *bytes_written, struct error *error)
{
    struct mapping file;
    struct filler filler = { .path = model_path };
    Onnx__ModelProto *model = NULL;
    collage_status status = file_map(model_path, &file, error);
    if (status == COLLAGE_OK)
        status = message_unpack_model(file.data, file.bytes, model_path, &model, error);
    filler.model = model;
    if (status == COLLAGE_OK)
        status = check_rule(&filler, error);
    if (status == COLLAGE_OK)
        status = fill_file(&filler, directory, error);
    if (status == COLLAGE_OK && directory)
        status = copy_model(&filler, &file, directory, error);
    if (status == COLLAGE_OK && bytes_written)
        *bytes_written = filler.written;
    message_free_model(model);
    file_unmap(&file);
    return status;
}
