/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/peer_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_text.h"
#include "base/text.h"
#include "reference/slack.h"
#include "tensor/npy.h"

enum { HEADER_LIMIT = 1 << 16 }; /* bytes of a .npy file beyond its data */

struct peer_files {
    const struct graph *graph;
    const struct oracle *oracle;
    char directory[PATH_MAX - 64]; /* "" until it is made */
};

static void make_path(const struct peer_files *files, const char *kind, uint32_t index,
                      char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s-%u.npy", files->directory, kind, index);
}

static collage_status make_directory(struct peer_files *files, struct error *error)
{
    const char *place = getenv("TMPDIR");
    char pattern[sizeof files->directory];
    int length = snprintf(pattern, sizeof pattern, "%s/collage-peers-XXXXXX",
                          place && *place == '/' ? place : "/tmp");
    if (length < 0 || (size_t)length >= sizeof pattern || !mkdtemp(pattern))
        return error_set(error, COLLAGE_ERROR_IO, "cannot make a folder for peers in '%s': %s",
                         place && *place == '/' ? place : "/tmp", strerror(errno));
    memcpy(files->directory, pattern, sizeof pattern);
    return COLLAGE_OK;
}

collage_status peer_files_create(const struct graph *graph, const struct oracle *oracle,
                                 struct peer_files **out, struct error *error)
{
    *out = NULL;
    struct peer_files *files = memory_alloc(sizeof *files);
    if (!files)
        return error_memory(error);
    files->graph = graph;
    files->oracle = oracle;
    collage_status status = make_directory(files, error);
    for (uint32_t k = 0; k < graph->input_count && status == COLLAGE_OK; k++) {
        struct tensor tensor = oracle_value(oracle, graph->inputs[k]);
        char path[PATH_MAX];
        make_path(files, "input", k, path);
        status = npy_write(path, &tensor, error);
    }
    if (status != COLLAGE_OK) {
        peer_files_destroy(files);
        return status;
    }
    *out = files;
    return COLLAGE_OK;
}

void peer_files_destroy(struct peer_files *files)
{
    if (!files)
        return;
    DIR *directory = files->directory[0] ? opendir(files->directory) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory) {
        closedir(directory);
        rmdir(files->directory);
    }
    memory_free(files);
}

/* ---- what a peer is told ---- */

static json_t *describe(const struct peer_files *files, const char *kind, const value_id *ids,
                        uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < count && list; k++) {
        const struct value *value = &files->graph->values[ids[k]];
        char path[PATH_MAX];
        make_path(files, kind, k, path);
        json_t *shape = json_array();
        for (int32_t d = 0; d < value->tensor.rank; d++)
            (void)json_array_append_new(shape, json_integer(value->tensor.dims[d]));
        json_t *item = json_pack("{s:o, s:s, s:o, s:s}", "name", json_text(value->name), "dtype",
                                 dtype_name(value->tensor.dtype), "shape", shape, "file", path);
        if (!item || json_array_append_new(list, item) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

json_t *peer_files_describe_inputs(const struct peer_files *files)
{
    return describe(files, "input", files->graph->inputs, files->graph->input_count);
}

json_t *peer_files_describe_outputs(const struct peer_files *files)
{
    return describe(files, "output", files->graph->outputs, files->graph->output_count);
}

void peer_files_clear_outputs(const struct peer_files *files)
{
    for (uint32_t k = 0; k < files->graph->output_count; k++) {
        char path[PATH_MAX];
        make_path(files, "output", k, path);
        unlink(path);
    }
}

/* ---- what it wrote ---- */

static collage_status read_output(const char *path, const char *name, const struct tensor *expected,
                                  struct tensor *actual, struct error *error)
{
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return error_set(error, COLLAGE_ERROR_WRONG_RESULT, "wrote no file with output '%s'", name);
    if ((uint64_t)info.st_size > tensor_bytes(expected) + HEADER_LIMIT)
        return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                         "wrong result: the file with output '%s' is too large", name);
    struct error ignored = { 0 }; /* it would name a file that is gone when it is read */
    if (npy_read(path, actual, &ignored) != COLLAGE_OK)
        return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                         "wrong result: the file with output '%s' is no row-major .npy file", name);
    if (actual->dtype == expected->dtype && tensor_same_shape(actual, expected))
        return COLLAGE_OK;
    char is[128], wanted[128];
    dims_print(actual->dims, actual->rank, is, sizeof is);
    dims_print(expected->dims, expected->rank, wanted, sizeof wanted);
    memory_free_aligned(actual->data);
    return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                     "wrong result: output '%s' is %s %s, not %s %s", name, is,
                     dtype_name(actual->dtype), wanted, dtype_name(expected->dtype));
}

static collage_status compare_output(const struct peer_files *files, uint32_t k, double slack,
                                     double *worst, struct error *error)
{
    const char *name = files->graph->values[files->graph->outputs[k]].name;
    const struct tensor expected = oracle_value(files->oracle, files->graph->outputs[k]);
    struct tensor actual = { .data = NULL };
    char path[PATH_MAX];
    make_path(files, "output", k, path);
    collage_status status = read_output(path, name, &expected, &actual, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor_difference difference = tensor_compare_within(&actual, &expected, slack);
    memory_free_aligned(actual.data);
    if (!(difference.error <= *worst))
        *worst = difference.error;
    if (difference.error <= TENSOR_PLAN_TOLERANCE)
        return COLLAGE_OK;
    return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                     "wrong result: output '%s' differs by %.2g of its largest value at "
                     "element %lld (%.9g, expected %.9g)",
                     name, difference.error, (long long)difference.index, difference.actual,
                     difference.expected);
}

collage_status peer_files_compare(const struct peer_files *files, double *worst,
                                  struct error *error)
{
    const struct graph *graph = files->graph;
    const struct slack_values values = slack_values_of(files->oracle);
    double *slack = memory_alloc(graph->output_count * sizeof *slack);
    *worst = 0;
    if (!slack)
        return error_memory(error);
    collage_status status = slack_find(graph, NULL, &values, slack, error);
    for (uint32_t k = 0; k < graph->output_count && status == COLLAGE_OK; k++)
        status = compare_output(files, k, slack[k], worst, error);
    memory_free(slack);
    return status;
}
