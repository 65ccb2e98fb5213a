/* SPDX-License-Identifier: Apache-2.0 */
#include "model_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

/* Smaller constants stay inside of the model: the compiler looks at their values. */
static const uint64_t INLINE_BYTES = 1024;
static const uint64_t WORTH_BYTES = 1 << 20;
static const uint64_t ALIGNMENT = 64; /* of weights in the file, as export_onnx lays them out */

static bool is_external(const collage_value *value)
{
    return value->data && !value->dequantized && value->bytes > INLINE_BYTES;
}

bool model_file_is_worth(const collage_subgraph *subgraph)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < subgraph->value_count && bytes < WORTH_BYTES; k++)
        bytes += is_external(subgraph->values[k]) ? subgraph->values[k]->bytes : 0;
    return bytes >= WORTH_BYTES;
}

static bool write_all(int file, const void *data, uint64_t bytes, uint64_t offset)
{
    const unsigned char *from = data;
    while (bytes > 0) {
        size_t part = bytes < (1u << 30) ? (size_t)bytes : 1u << 30;
        ssize_t written = pwrite(file, from, part, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        from += written;
        bytes -= (uint64_t)written;
        offset += (uint64_t)written;
    }
    return true;
}

/* The folder is new and ours alone; a file that is there already is refused all the same. */
static int create(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static bool write_weights(const collage_subgraph *subgraph, const char *path)
{
    int file = create(path);
    if (file < 0)
        return false;
    bool fine = true;
    uint64_t offset = 0;
    for (uint32_t k = 0; k < subgraph->value_count && fine; k++) {
        const collage_value *value = subgraph->values[k];
        if (!is_external(value))
            continue;
        fine = write_all(file, value->data, value->bytes, offset);
        offset += (value->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return close(file) == 0 && fine;
}

static bool write_model(const void *bytes, size_t count, const char *path)
{
    int file = create(path);
    if (file < 0)
        return false;
    bool fine = write_all(file, bytes, count, 0);
    return close(file) == 0 && fine;
}

static bool make_folder(struct model_file *out)
{
    const char *place = getenv("TMPDIR");
    int length = snprintf(out->folder, sizeof out->folder, "%s/collage-openvino-XXXXXX",
                          place && place[0] == '/' ? place : "/tmp");
    if (length < 0 || (size_t)length >= sizeof out->folder)
        errno = ENAMETOOLONG;
    else if (mkdtemp(out->folder)) /* of mode 0700 */
        return true;
    out->folder[0] = '\0';
    return false;
}

collage_status model_file_write(const collage_host *host, const collage_subgraph *subgraph,
                                struct model_file *out, collage_message *message)
{
    void *bytes = NULL;
    size_t count = 0;
    *out = (struct model_file){ .folder = "" };
    collage_status status =
        host->export_onnx(host->context, subgraph, INLINE_BYTES, &bytes, &count, message);
    if (status != COLLAGE_OK)
        return status;
    bool fine = make_folder(out);
    if (fine) {
        snprintf(out->model, sizeof out->model, "%s/model.onnx", out->folder);
        snprintf(out->weights, sizeof out->weights, "%s/collage", out->folder);
        fine = write_weights(subgraph, out->weights) && write_model(bytes, count, out->model);
    }
    if (!fine)
        status = fail(message, COLLAGE_ERROR_IO,
                      "cannot write the weights for OpenVINO to a temporary folder: %s; set TMPDIR "
                      "to one with room for them",
                      strerror(errno));
    host->release(host->context, bytes);
    return status;
}

void model_file_remove(const struct model_file *file)
{
    if (!file->folder[0])
        return;
    unlink(file->model);
    unlink(file->weights);
    rmdir(file->folder);
}
