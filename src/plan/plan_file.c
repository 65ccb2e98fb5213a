/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/build.h"
#include "plan/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

/* ---- paths ---- */

/* Drops "." and "..", and double slashes, in place; path begins with '/'. */
static void normalize(char *path)
{
    char *to = path;
    for (const char *from = path; *from;) {
        while (*from == '/')
            from++;
        size_t length = strcspn(from, "/");
        if (length == 2 && from[0] == '.' && from[1] == '.') {
            while (to > path && *--to != '/')
                ;
        } else if (length > 0 && !(length == 1 && from[0] == '.')) {
            *to++ = '/';
            memmove(to, from, length);
            to += length;
        }
        from += length;
    }
    if (to == path)
        *to++ = '/';
    *to = '\0';
}

char *plan_absolute_path(struct arena *arena, const char *path)
{
    if (path[0] == '\0')
        return arena_string(arena, path);
    char *absolute = NULL;
    if (path[0] == '/') {
        absolute = arena_string(arena, path);
    } else {
        char folder[4096];
        if (!getcwd(folder, sizeof folder))
            return arena_string(arena, path); /* nothing better is known */
        absolute = arena_format(arena, "%s/%s", folder, path);
    }
    if (absolute)
        normalize(absolute);
    return absolute;
}

static bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

/* The path from the plan's folder to a model in or below it, or in or below the folder around it;
 * else, or where symbolic links lead elsewhere, the absolute path. */
static const char *path_from_plan(struct arena *arena, const char *model, const char *plan_file)
{
    const char *absolute = plan_absolute_path(arena, model);
    char *folder = plan_absolute_path(arena, plan_file);
    if (!absolute || !folder)
        return NULL;
    const char *up = "";
    for (int level = 0; level < 2; level++, up = "../") {
        char *slash = strrchr(folder, '/');
        if (!slash)
            break;
        *slash = '\0';
        size_t length = strlen(folder);
        if (strncmp(absolute, folder, length) != 0 || absolute[length] != '/' || length == 0)
            continue;
        char *relative = arena_format(arena, "%s%s", up, absolute + length + 1);
        char *plan_folder = plan_absolute_path(arena, plan_file);
        if (!relative || !plan_folder)
            return NULL;
        *strrchr(plan_folder, '/') = '\0';
        char *joined = arena_format(arena, "%s/%s", plan_folder, relative);
        if (!joined)
            return NULL;
        return same_file(joined, absolute) ? relative : absolute;
    }
    return absolute;
}

collage_status plan_model_path(const json_t *json, const char *plan_file, char *path, size_t size,
                               struct error *error)
{
    const char *model = json_string_value(json_object_get(json_object_get(json, "model"), "path"));
    if (!model || model[0] == '\0')
        return error_set(error, COLLAGE_ERROR_FORMAT, "'%s' does not name its model", plan_file);
    const char *slash = strrchr(plan_file, '/');
    int folder = slash && model[0] != '/' ? (int)(slash - plan_file) + 1 : 0;
    int length = snprintf(path, size, "%.*s%s", folder, plan_file, model);
    if (length < 0 || (size_t)length >= size)
        return error_set(error, COLLAGE_ERROR_FORMAT, "the path of the model in '%s' is too long",
                         plan_file);
    return COLLAGE_OK;
}

collage_status plan_set_folder(struct plan *plan, const char *plan_file, struct error *error)
{
    char folder[PATH_MAX], resolved[PATH_MAX];
    const char *slash = strrchr(plan_file, '/');
    const int length = slash ? (int)(slash - plan_file) + 1 : 0;
    if (length >= PATH_MAX)
        return error_set(error, COLLAGE_ERROR_IO, "the path of the plan is too long");
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? plan_file : ".");
    if (!realpath(folder, resolved)) /* the working directory may change */
        return error_set(error, COLLAGE_ERROR_IO, "cannot find the folder '%s': %s", folder,
                         strerror(errno));
    plan->folder = arena_string(plan->arena, resolved);
    return plan->folder ? COLLAGE_OK : error_memory(error);
}

/* ---- writing ---- */

static void write_value(struct text *text, const json_t *json)
{
    char *dumped = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    if (dumped)
        text_string(text, dumped);
    else
        text->failed = true;
    free(dumped);
}

/* A member a line, and in its lists an item a line: readable, and short in a diff. */
static void write_plan(struct text *text, json_t *json)
{
    const char *key;
    json_t *value;
    const char *separator = "{\n";
    json_object_foreach(json, key, value)
    {
        text_format(text, "%s\"%s\": ", separator, key);
        separator = ",\n";
        if (!json_is_array(value) || json_array_size(value) == 0) {
            write_value(text, value);
            continue;
        }
        for (size_t k = 0; k < json_array_size(value); k++) {
            text_string(text, k ? ",\n  " : "[\n  ");
            write_value(text, json_array_get(value, k));
        }
        text_string(text, "\n]");
    }
    text_string(text, "\n}\n");
}

static collage_status save(const struct plan *plan, const char *path, json_t *json,
                           struct arena *arena, struct text *text, struct error *error)
{
    const char *model = path_from_plan(arena, plan->model_path, path);
    json_t *object = json_object_get(json, "model");
    if (!model || json_object_set_new(object, "path", json_string(model)) != 0)
        return error_memory(error);
    write_plan(text, json);
    if (text->failed)
        return error_memory(error);
    return file_write(path, text->bytes, text->count, error);
}

collage_status plan_save(const struct plan *plan, const struct graph *graph, const char *path,
                         struct error *error)
{
    json_t *json;
    collage_status status = plan_to_json(plan, graph, &json, error);
    if (status != COLLAGE_OK)
        return status;
    struct text text = { 0 };
    struct arena *arena = arena_create();
    status = arena ? save(plan, path, json, arena, &text, error) : error_memory(error);
    text_free(&text);
    arena_destroy(arena);
    json_decref(json);
    return status;
}

/* ---- reading ---- */

collage_status plan_read(const char *path, json_t **out, struct error *error)
{
    enum { MOST_BYTES = 64 << 20 };
    *out = NULL;
    struct mapping file;
    collage_status status = file_map(path, &file, error);
    if (status != COLLAGE_OK)
        return status;
    if (file.bytes > MOST_BYTES) {
        status = error_set(error, COLLAGE_ERROR_FORMAT, "'%s' is larger than any plan", path);
    } else {
        json_error_t problem = { .text = "the file is empty" };
        *out =
            file.bytes ? json_loadb(file.data, file.bytes, JSON_REJECT_DUPLICATES, &problem) : NULL;
        if (!*out)
            status =
                error_set(error, COLLAGE_ERROR_FORMAT, "'%s' is no plan: line %d column %d: %s",
                          path, problem.line, problem.column, problem.text);
    }
    file_unmap(&file);
    return status;
}
