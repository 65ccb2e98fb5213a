/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/object.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/printable.h"
#include "base/text.h"
#include "plan/plan.h"

enum { MOST_NAME = 255 };

bool plan_object_name_is_plain(const char *name)
{
    const size_t length = strlen(name);
    return length > 0 && length <= MOST_NAME && name[0] != '.' && !strchr(name, '/') &&
           printable_is(name);
}

bool plan_object_hash_is_one(const char *text)
{
    return strlen(text) == SHA256_TEXT - 1 && strspn(text, "0123456789abcdef") == SHA256_TEXT - 1;
}

/* Could nobody but the user or root have written it? `what`: the folder or the file. */
static collage_status check_owner(const struct stat *info, const char *what, const char *name,
                                  struct error *error)
{
    const char *problem = file_owner_problem(info);
    if (!problem)
        return COLLAGE_OK;
    return error_set(error, COLLAGE_ERROR_ARGUMENT,
                     "code object '%s': %s %s: move the plan and its objects to a folder of your "
                     "own, or trust it (--trust)",
                     name, what, problem);
}

static collage_status check_folder(int folder, const char *name, struct error *error)
{
    struct stat info;
    if (fstat(folder, &info) != 0)
        return error_set(error, COLLAGE_ERROR_IO, "code object '%s': %s", name, strerror(errno));
    return check_owner(&info, "the plan's folder", name, error);
}

static collage_status check_file(const struct stat *info, const char *name, bool trust,
                                 struct error *error)
{
    if (!S_ISREG(info->st_mode))
        return error_set(error, COLLAGE_ERROR_IO, "code object '%s' is not a regular file", name);
    if (info->st_size > PLAN_OBJECT_BYTES)
        return error_set(error, COLLAGE_ERROR_FORMAT, "code object '%s' is larger than any: %d MiB",
                         name, PLAN_OBJECT_BYTES >> 20);
    return trust ? COLLAGE_OK : check_owner(info, "the file", name, error);
}

/* Reads `count` bytes and sees that there are no more. */
static collage_status read_whole(int file, const char *name, void *bytes, size_t count,
                                 struct error *error)
{
    char more, *at = bytes;
    for (size_t left = count;;) {
        ssize_t n = read(file, left ? at : &more, left ? left : 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(error, COLLAGE_ERROR_IO, "code object '%s': %s", name,
                             strerror(errno));
        if (n == 0 && left == 0)
            return COLLAGE_OK;
        if (n == 0 || left == 0)
            return error_set(error, COLLAGE_ERROR_IO, "code object '%s' changes while it is read",
                             name);
        at += n;
        left -= (size_t)n;
    }
}

static collage_status check_hash(const struct plan_code *code, const struct plan_object *object,
                                 struct error *error)
{
    char found[SHA256_TEXT];
    sha256_print(code->bytes, code->count, found);
    if (strcmp(found, object->sha256) == 0)
        return COLLAGE_OK;
    return error_set(error, COLLAGE_ERROR_MISMATCH,
                     "code object '%s' is not the one that the plan was made with: its SHA-256 is "
                     "%s, not %s",
                     object->name, found, object->sha256);
}

static collage_status take_file(int file, const struct plan_object *object, bool trust,
                                struct plan_code *out, struct error *error)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return error_set(error, COLLAGE_ERROR_IO, "code object '%s': %s", object->name,
                         strerror(errno));
    collage_status status = check_file(&info, object->name, trust, error);
    if (status != COLLAGE_OK)
        return status;
    struct plan_code code = { memory_alloc((size_t)info.st_size), (size_t)info.st_size };
    if (!code.bytes)
        return error_memory(error);
    status = read_whole(file, object->name, code.bytes, code.count, error);
    if (status == COLLAGE_OK)
        status = check_hash(&code, object, error);
    if (status == COLLAGE_OK)
        *out = code;
    else
        memory_free(code.bytes);
    return status;
}

static collage_status open_in(int folder, const struct plan_object *object, bool trust,
                              struct plan_code *out, struct error *error)
{
    collage_status status = trust ? COLLAGE_OK : check_folder(folder, object->name, error);
    if (status != COLLAGE_OK)
        return status;
    /* A pipe would keep us waiting for its writer. */
    int file = openat(folder, object->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return error_set(error, COLLAGE_ERROR_IO, "code object '%s' cannot be opened: %s",
                         object->name, errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    status = take_file(file, object, trust, out, error);
    close(file);
    return status;
}

collage_status plan_object_open(const char *folder, const struct plan_object *object, bool trust,
                                struct plan_code *out, struct error *error)
{
    *out = (struct plan_code){ 0 };
    if (!plan_object_name_is_plain(object->name))
        return error_set(error, COLLAGE_ERROR_FORMAT, "'%s' is no plain name of a code object",
                         object->name);
    if (!plan_object_hash_is_one(object->sha256))
        return error_set(error, COLLAGE_ERROR_FORMAT, "code object '%s' has no SHA-256",
                         object->name);
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0)
        return error_set(error, COLLAGE_ERROR_IO,
                         "code object '%s': cannot open the folder '%s': %s", object->name, folder,
                         strerror(errno));
    collage_status status = open_in(handle, object, trust, out, error);
    close(handle);
    return status;
}

/* ---- all of a plan ---- */

static collage_status save_one(const struct plan *plan, const struct plan_object *object,
                               const char *folder, bool trust, struct error *error)
{
    struct plan_code code;
    struct text path = { 0 };
    collage_status status = plan_object_open(plan->folder, object, trust, &code, error);
    if (status != COLLAGE_OK)
        return status;
    text_format(&path, "%s%s", folder, object->name);
    status = path.failed ? error_memory(error)
                         : file_write_readable(path.bytes, code.bytes, code.count, error);
    text_free(&path);
    memory_free(code.bytes);
    return status;
}

collage_status plan_codes_save(const struct plan *plan, const char *plan_file, bool trust,
                               struct error *error)
{
    struct text folder = { 0 };
    struct stat here, there;
    collage_status status = COLLAGE_OK;
    if (plan->object_count == 0)
        return status;
    if (!plan->folder)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "the plan has code objects, but it was not read from a file");
    const char *slash = strrchr(plan_file, '/');
    text_append(&folder, slash ? plan_file : "./", slash ? (size_t)(slash - plan_file) + 1 : 2);
    const bool same = !folder.failed && stat(folder.bytes, &here) == 0 &&
                      stat(plan->folder, &there) == 0 && here.st_dev == there.st_dev &&
                      here.st_ino == there.st_ino;
    if (folder.failed)
        status = error_memory(error);
    for (uint32_t k = 0; k < plan->object_count && status == COLLAGE_OK && !same; k++)
        status = save_one(plan, &plan->objects[k], folder.bytes, trust, error);
    text_free(&folder);
    return status;
}

void plan_codes_free(struct plan_codes *codes)
{
    for (uint32_t k = 0; k < codes->count; k++)
        memory_free(codes->items[k].bytes);
    memory_free(codes->items);
    *codes = (struct plan_codes){ 0 };
}

collage_status plan_codes_load(const struct plan *plan, bool trust, struct plan_codes *out,
                               struct error *error)
{
    *out = (struct plan_codes){ 0 };
    if (plan->object_count == 0)
        return COLLAGE_OK;
    if (!plan->folder)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "the plan has code objects, but it was not read from a file");
    out->items = memory_alloc(plan->object_count * sizeof *out->items);
    collage_status status = out->items ? COLLAGE_OK : error_memory(error);
    while (status == COLLAGE_OK && out->count < plan->object_count) {
        status = plan_object_open(plan->folder, &plan->objects[out->count], trust,
                                  &out->items[out->count], error);
        out->count += status == COLLAGE_OK;
    }
    if (status != COLLAGE_OK)
        plan_codes_free(out);
    return status;
}
