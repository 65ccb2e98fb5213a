/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/code.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

collage_status code_set_folder(struct code_service *service, const char *folder,
                               struct error *error)
{
    char *copy = memory_copy_string(folder);
    if (!copy)
        return error_memory(error);
    memory_free(service->folder);
    service->folder = copy;
    return COLLAGE_OK;
}

void code_free(struct code_service *service)
{
    memory_free(service->folder);
    memory_free(service->uses);
    *service = (struct code_service){ 0 };
}

void code_begin(struct code_service *service)
{
    if (!service)
        return;
    service->use_count = 0;
    service->lacked = false;
}

/* What is to be had: under which key, and of what it is made. */
struct wish {
    char key[CODE_KEY + 1];
    const char *source; /* NULL: it is not made now */
    const char *const *options;
};

/* No option is a line "named": names and sources have different keys. */
static bool make_key(const char *name, const char *source, const char *const *options,
                     char key[CODE_KEY + 1])
{
    struct text text = { 0 };
    char hash[SHA256_TEXT];
    for (size_t k = 0; !name && options && options[k]; k++)
        text_format(&text, "%s\n", options[k]);
    text_format(&text, "%s\n%s", name ? "named\n" : "", name ? name : source);
    if (!text.failed)
        sha256_print(text.bytes, text.count, hash);
    const bool made = !text.failed;
    text_free(&text);
    if (made)
        snprintf(key, CODE_KEY + 1, "%.*s", CODE_KEY, hash);
    return made;
}

static bool is_of_key(const char *name, const char *key)
{
    return strlen(name) == CODE_NAME - 1 && strncmp(name, key, CODE_KEY) == 0 &&
           name[CODE_KEY] == '-' && strcmp(name + CODE_NAME - 4, ".so") == 0;
}

static collage_status note_use(struct code_service *service, const char *key, const void *bytes,
                               size_t count, struct error *error)
{
    struct code_use use;
    sha256_print(bytes, count, use.sha256);
    snprintf(use.name, sizeof use.name, "%s-%.*s.so", key, CODE_HASH, use.sha256);
    for (size_t k = 0; k < service->use_count; k++)
        if (strcmp(service->uses[k].name, use.name) == 0)
            return COLLAGE_OK;
    if (!memory_grow((void **)&service->uses, &service->use_capacity, service->use_count,
                     sizeof use))
        return error_memory(error);
    service->uses[service->use_count++] = use;
    return COLLAGE_OK;
}

/* ---- of the plan ---- */

static collage_status take_given(const struct code_service *service, const char *key, void **bytes,
                                 size_t *count, struct error *error)
{
    for (size_t k = 0; k < service->object_count; k++) {
        const struct code_object *object = &service->objects[k];
        if (!is_of_key(object->name, key))
            continue;
        *bytes = memory_alloc(object->count);
        if (!*bytes)
            return error_memory(error);
        memcpy(*bytes, object->bytes, object->count);
        *count = object->count;
        return COLLAGE_OK;
    }
    return error_set(error, COLLAGE_ERROR_MISMATCH,
                     "the plan has no code for this kernel: optimize the model again");
}

/* ---- kept ---- */

/* A regular file that only the user or root could have written, whole. NULL: it is none, or there
 * is no memory: then it is made again. */
static void *read_own_file(int folder, const char *name, size_t *count)
{
    struct stat info;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return NULL;
    char *bytes = NULL;
    bool ok = fstat(file, &info) == 0 && S_ISREG(info.st_mode) && !file_owner_problem(&info) &&
              info.st_size > 0 && info.st_size <= COMPILER_OUTPUT;
    if (ok)
        bytes = memory_alloc((size_t)info.st_size);
    *count = 0;
    while (bytes && *count < (size_t)info.st_size) {
        ssize_t n = read(file, bytes + *count, (size_t)info.st_size - *count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        *count += (size_t)n;
    }
    close(file);
    if (bytes && *count == (size_t)info.st_size)
        return bytes;
    memory_free(bytes);
    return NULL;
}

static bool is_whole(const char *name, const void *bytes, size_t count)
{
    char hash[SHA256_TEXT];
    sha256_print(bytes, count, hash);
    return strncmp(name + CODE_KEY + 1, hash, CODE_HASH) == 0;
}

static void *find_kept(DIR *folder, const char *key, size_t *count)
{
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (!is_of_key(entry->d_name, key))
            continue;
        void *bytes = read_own_file(dirfd(folder), entry->d_name, count);
        if (bytes && is_whole(entry->d_name, bytes, *count))
            return bytes;
        memory_free(bytes);
    }
    return NULL;
}

/* *bytes is NULL if nothing is kept. The folder must be the user's own: what lies in it is run. */
static collage_status take_kept(const struct code_service *service, const char *key, void **bytes,
                                size_t *count, struct error *error)
{
    struct stat info;
    collage_status status = file_make_directory(service->folder, error);
    if (status != COLLAGE_OK)
        return status;
    DIR *folder = opendir(service->folder);
    if (!folder || fstat(dirfd(folder), &info) != 0)
        status = error_system(error, "open", service->folder);
    else if (file_owner_problem(&info))
        status = error_set(error, COLLAGE_ERROR_UNSUPPORTED, "no code is kept in '%.300s': it %s",
                           service->folder, file_owner_problem(&info));
    else
        *bytes = find_kept(folder, key, count);
    if (folder)
        closedir(folder);
    return status;
}

/* ---- made ---- */

static collage_status make(struct code_service *service, const struct wish *wish, void **bytes,
                           size_t *count, struct error *error)
{
    char hash[SHA256_TEXT], path[COMPILER_PATH];
    if (!service->compiler_known)
        compiler_find(&service->compiler);
    service->compiler_known = true;
    if (service->failure.status != COLLAGE_OK)
        return error_set(error, service->failure.status, "%s", service->failure.text);
    collage_status status = compiler_run(&service->compiler, service->folder, wish->source,
                                         wish->options, bytes, count, error);
    if (status == COLLAGE_ERROR_UNSUPPORTED)
        error_set(&service->failure, status, "%s", error->text);
    if (status != COLLAGE_OK)
        return status;
    sha256_print(*bytes, *count, hash);
    int written =
        snprintf(path, sizeof path, "%s/%s-%.*s.so", service->folder, wish->key, CODE_HASH, hash);
    status = written > 0 && (size_t)written < sizeof path
                 ? file_write_private(path, *bytes, *count, error)
                 : error_set(error, COLLAGE_ERROR_IO, "the path '%s' is too long", service->folder);
    if (status != COLLAGE_OK) {
        memory_free(*bytes);
        *bytes = NULL;
    }
    return status;
}

static collage_status find_or_make(struct code_service *service, const struct wish *wish,
                                   void **bytes, size_t *count, struct error *error)
{
    if (service->only_objects)
        return take_given(service, wish->key, bytes, count, error);
    if (!service->folder)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "no code is made here");
    collage_status status = take_kept(service, wish->key, bytes, count, error);
    if (status == COLLAGE_OK && !*bytes && wish->source)
        status = make(service, wish, bytes, count, error);
    return status;
}

static collage_status get(struct code_service *service, const struct wish *wish, void **bytes,
                          size_t *count, struct error *error)
{
    struct error own = { 0 };
    *bytes = NULL;
    *count = 0;
    collage_status status = find_or_make(service, wish, bytes, count, &own);
    if (status == COLLAGE_OK && *bytes)
        status = note_use(service, wish->key, *bytes, *count, &own);
    if (status == COLLAGE_OK)
        return COLLAGE_OK;
    service->lacked = true;
    memory_free(*bytes);
    *bytes = NULL;
    return error_set(error, status, "%s", own.text);
}

collage_status code_get(struct code_service *service, const char *source,
                        const char *const *options, void **bytes, size_t *count,
                        struct error *error)
{
    struct wish wish = { .source = source, .options = options };
    *bytes = NULL;
    if (!make_key(NULL, source, options, wish.key))
        return error_memory(error);
    return get(service, &wish, bytes, count, error);
}

collage_status code_get_named(struct code_service *service, const char *name, const char *source,
                              const char *const *options, void **bytes, size_t *count,
                              struct error *error)
{
    struct wish wish = { .source = source, .options = options };
    *bytes = NULL;
    if (!make_key(name, NULL, NULL, wish.key))
        return error_memory(error);
    return get(service, &wish, bytes, count, error);
}
