/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/npy.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };

/* bfloat16 is what NumPy writes for the type of the ml_dtypes package. */
static const struct {
    const char *text;
    collage_dtype dtype;
} types[] = { { "<f4", COLLAGE_FLOAT32 }, { "|u1", COLLAGE_UINT8 },  { "|i1", COLLAGE_INT8 },
              { "<u2", COLLAGE_UINT16 },  { "<i2", COLLAGE_INT16 },  { "<i4", COLLAGE_INT32 },
              { "<i8", COLLAGE_INT64 },   { "|b1", COLLAGE_BOOL },   { "<f2", COLLAGE_FLOAT16 },
              { "<f8", COLLAGE_FLOAT64 }, { "<u4", COLLAGE_UINT32 }, { "<u8", COLLAGE_UINT64 },
              { "<V2", COLLAGE_BFLOAT16 } };
enum { TYPE_COUNT = sizeof types / sizeof types[0], LARGEST_HEADER = 65536 };

/* Where the value of 'key' begins in the header's dictionary, which is terminated; NULL if absent.
 */
static const char *find_key(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    while (*at == ' ')
        at++;
    if (*at++ != ':')
        return NULL;
    while (*at == ' ')
        at++;
    return at;
}

static bool parse_dtype(const char *at, collage_dtype *dtype)
{
    if (!at || *at != '\'')
        return false;
    for (size_t k = 0; k < TYPE_COUNT; k++) {
        size_t length = strlen(types[k].text);
        if (strncmp(at + 1, types[k].text, length) == 0 && at[1 + length] == '\'') {
            *dtype = types[k].dtype;
            return true;
        }
    }
    return false;
}

static bool parse_shape(const char *at, struct tensor *tensor)
{
    if (!at || *at++ != '(')
        return false;
    for (;;) {
        while (*at == ' ' || *at == ',')
            at++;
        if (*at == ')')
            return true;
        if (!isdigit((unsigned char)*at) || tensor->rank == COLLAGE_MAX_RANK)
            return false;
        char *end;
        long long dim = strtoll(at, &end, 10); /* saturates; refused by the check of the size */
        tensor->dims[tensor->rank++] = dim;
        at = end;
    }
}

/* Finds the header's text and the start of the data; false if the file does not hold them. */
static bool split(const struct mapping *file, const char **header, size_t *header_bytes,
                  size_t *data_at)
{
    const unsigned char *bytes = file->data;
    if (file->bytes < 10 || memcmp(bytes, magic, sizeof magic) != 0 || bytes[6] < 1 || bytes[6] > 3)
        return false;
    size_t start = 10;
    uint32_t length = bytes[8] | (uint32_t)bytes[9] << 8;
    if (bytes[6] > 1) {
        if (file->bytes < 12)
            return false;
        start = 12;
        length |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
    }
    if (length > LARGEST_HEADER || length > file->bytes - start)
        return false;
    *header = (const char *)bytes + start;
    *header_bytes = length;
    *data_at = start + length;
    return true;
}

static collage_status parse_header(const char *path, const char *text, struct tensor *tensor,
                                   struct error *error)
{
    const char *order = find_key(text, "fortran_order");
    if (!parse_dtype(find_key(text, "descr"), &tensor->dtype))
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "'%s': the element type is not supported (little-endian numbers and bool "
                         "are)",
                         path);
    if (!order || !parse_shape(find_key(text, "shape"), tensor))
        return error_set(error, COLLAGE_ERROR_FORMAT, "'%s': the .npy header is malformed", path);
    if (strncmp(order, "False", 5) != 0 && tensor->rank > 1)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "'%s' is in Fortran order; save it with numpy.ascontiguousarray", path);
    return COLLAGE_OK;
}

static collage_status read_data(const char *path, const struct mapping *file, size_t data_at,
                                struct tensor *tensor, struct error *error)
{
    uint64_t bytes;
    if (!tensor_check_size(tensor, &bytes))
        return error_set(error, COLLAGE_ERROR_FORMAT, "'%s': the shape is too large", path);
    if (bytes > file->bytes - data_at)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "'%s' is truncated: the shape needs %" PRIu64 " bytes, there are %zu",
                         path, bytes, file->bytes - data_at);
    tensor->data = memory_alloc_aligned((size_t)bytes);
    if (!tensor->data)
        return error_memory(error);
    if (bytes)
        memcpy(tensor->data, (const char *)file->data + data_at, (size_t)bytes);
    if (tensor->dtype == COLLAGE_BOOL)
        for (uint64_t k = 0; k < bytes; k++)
            ((uint8_t *)tensor->data)[k] = ((uint8_t *)tensor->data)[k] != 0;
    return COLLAGE_OK;
}

collage_status npy_read(const char *path, struct tensor *tensor, struct error *error)
{
    *tensor = (struct tensor){ 0 };
    struct mapping file;
    collage_status status = file_map(path, &file, error);
    if (status != COLLAGE_OK)
        return status;
    const char *header;
    size_t header_bytes, data_at;
    if (!split(&file, &header, &header_bytes, &data_at)) {
        file_unmap(&file);
        return error_set(error, COLLAGE_ERROR_FORMAT, "'%s' is not a .npy file", path);
    }
    char *text = memory_alloc(header_bytes + 1);
    if (!text) {
        file_unmap(&file);
        return error_memory(error);
    }
    memcpy(text, header, header_bytes);
    struct tensor read = { 0 };
    status = parse_header(path, text, &read, error);
    if (status == COLLAGE_OK)
        status = read_data(path, &file, data_at, &read, error);
    if (status == COLLAGE_OK)
        *tensor = read;
    memory_free(text);
    file_unmap(&file);
    return status;
}

/* Format 1.0; the header is padded so that the data begin at a multiple of 64 bytes. */
static size_t make_header(const struct tensor *tensor, const char *type, char header[512])
{
    memcpy(header, magic, sizeof magic);
    header[6] = 1;
    header[7] = 0;
    int used =
        snprintf(header + 10, 400, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int32_t d = 0; d < tensor->rank; d++)
        used += snprintf(header + 10 + used, 400 - (size_t)used, "%" PRId64 ",%s", tensor->dims[d],
                         d + 1 < tensor->rank ? " " : "");
    used += snprintf(header + 10 + used, 400 - (size_t)used, "), }");
    size_t total = (10 + (size_t)used + 1 + 63) / 64 * 64;
    memset(header + 10 + used, ' ', total - 10 - (size_t)used);
    header[total - 1] = '\n';
    header[8] = (char)((total - 10) & 0xff);
    header[9] = (char)((total - 10) >> 8);
    return total;
}

collage_status npy_write(const char *path, const struct tensor *tensor, struct error *error)
{
    const char *type = NULL;
    for (size_t k = 0; k < TYPE_COUNT; k++)
        if (types[k].dtype == tensor->dtype)
            type = types[k].text;
    uint64_t bytes;
    if (!type || !tensor_check_size(tensor, &bytes))
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "'%s': not a tensor that can be written",
                         path);
    char header[512];
    size_t header_bytes = make_header(tensor, type, header);
    struct file_writer *writer;
    collage_status status = file_writer_open(path, &writer, error);
    if (status != COLLAGE_OK)
        return status;
    status = file_writer_write(writer, header, header_bytes, error);
    if (status == COLLAGE_OK)
        status = file_writer_write(writer, tensor->data, (size_t)bytes, error);
    if (status != COLLAGE_OK) {
        file_writer_abort(writer);
        return status;
    }
    return file_writer_commit(writer, error);
}
