/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/external.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_COUNT_LIMIT = 4096 };

collage_status external_open(const char *model_path, struct external_files *files,
                             struct error *error)
{
    char folder[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(model_path, '/');
    size_t length = slash ? (size_t)(slash - model_path) + 1 : 0;
    if (length >= sizeof folder - 1)
        return error_set(error, COLLAGE_ERROR_IO, "the path '%s' is too long", model_path);
    memcpy(folder, model_path, length);
    memcpy(folder + length, ".", 2);
    if (!realpath(folder, real))
        return error_set(error, COLLAGE_ERROR_IO, "cannot find the folder of '%s'", model_path);
    files->folder = memory_copy_string(strcmp(real, "/") == 0 ? "" : real);
    return files->folder ? COLLAGE_OK : error_memory(error);
}

/* Relative, and no component "..". */
static bool is_inside(const char *location)
{
    if (location[0] == '/' || location[0] == '\0')
        return false;
    for (const char *at = location; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return false;
    }
    return true;
}

static collage_status resolve(const struct external_files *files, const char *location,
                              char real[PATH_MAX], struct error *error)
{
    char joined[PATH_MAX];
    if (!files->folder || !is_inside(location))
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "external data '%s' must be a relative path inside the model's folder",
                         location);
    int length = snprintf(joined, sizeof joined, "%s/%s", files->folder, location);
    if (length < 0 || (size_t)length >= sizeof joined)
        return error_set(error, COLLAGE_ERROR_FORMAT, "the path of external data is too long");
    if (!realpath(joined, real))
        return error_set(error, COLLAGE_ERROR_IO, "the weights file '%s' is missing", joined);
    size_t prefix = strlen(files->folder);
    if (strncmp(real, files->folder, prefix) != 0 || real[prefix] != '/')
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "external data '%s' lead out of the model's folder", location);
    return COLLAGE_OK;
}

static collage_status map_file(struct external_files *files, const char *location,
                               struct error *error)
{
    char real[PATH_MAX];
    struct stat info;
    collage_status status = resolve(files, location, real, error);
    if (status != COLLAGE_OK)
        return status;
    if (files->count == FILE_COUNT_LIMIT)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "more than %d external data files",
                         FILE_COUNT_LIMIT);
    if (!memory_grow((void **)&files->mappings, &files->capacity, files->count,
                     sizeof *files->mappings) ||
        !name_map_add(&files->indices, location, (uint32_t)files->count))
        return error_memory(error);
    status = file_map(real, &files->mappings[files->count], error);
    if (status != COLLAGE_OK)
        return status;
    files->count++;
    if (stat(real, &info) != 0)
        return error_set(error, COLLAGE_ERROR_IO, "cannot read '%s'", real);
    hash_string(files->identity, location);
    hash_u64(files->identity, (uint64_t)info.st_size);
    hash_u64(files->identity, (uint64_t)info.st_mtim.tv_sec);
    hash_u64(files->identity, (uint64_t)info.st_mtim.tv_nsec);
    return COLLAGE_OK;
}

collage_status external_range(struct external_files *files, const char *location, uint64_t offset,
                              uint64_t bytes, const void **data, struct error *error)
{
    uint32_t index = name_map_find(&files->indices, location);
    if (index == NAME_MAP_NONE) {
        collage_status status = map_file(files, location, error);
        if (status != COLLAGE_OK)
            return status;
        index = (uint32_t)files->count - 1;
    }
    const struct mapping *mapping = &files->mappings[index];
    if (offset > mapping->bytes || bytes > mapping->bytes - offset)
        return error_set(
            error, COLLAGE_ERROR_FORMAT,
            "the weights file '%s' is too short: %zu bytes, but %llu from byte %llu on "
            "are needed",
            location, mapping->bytes, (unsigned long long)bytes, (unsigned long long)offset);
    *data = mapping->data ? (const char *)mapping->data + offset : NULL;
    return COLLAGE_OK;
}

void external_close(struct external_files *files)
{
    name_map_free(&files->indices);
    memory_free((void *)(uintptr_t)files->folder);
    files->folder = NULL;
}
