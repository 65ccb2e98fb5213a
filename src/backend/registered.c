/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/registered.h"

#include <fnmatch.h>
#include <string.h>

#include "base/memory.h"

void registered_free(struct registered *list)
{
    for (size_t k = 0; k < list->count; k++)
        memory_free(list->items[k].block);
    memory_free(list->items);
    *list = (struct registered){ 0 };
}

bool registered_fits(const struct registered_entry *entry, const char *device_name,
                     const char *fingerprint)
{
    return strcmp(entry->target, "any") == 0 ||
           (device_name && fnmatch(entry->target, device_name, 0) == 0) ||
           (fingerprint && fnmatch(entry->target, fingerprint, 0) == 0);
}

collage_status registered_insert(struct registered *list, size_t at,
                                 const struct registered_entry *entry, struct error *error)
{
    if (list->count >= REGISTERED_ENTRIES)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "more than %d entries are registered",
                         REGISTERED_ENTRIES);
    const size_t target = strlen(entry->target) + 1, name = strlen(entry->name) + 1,
                 path = strlen(entry->path) + 1;
    struct registered_entry copy = *entry;
    copy.block = memory_alloc(target + name + path);
    if (!copy.block ||
        !memory_grow((void **)&list->items, &list->capacity, list->count, sizeof *list->items)) {
        memory_free(copy.block);
        return error_memory(error);
    }
    copy.target = memcpy(copy.block, entry->target, target);
    copy.name = memcpy(copy.block + target, entry->name, name);
    copy.path = memcpy(copy.block + target + name, entry->path, path);
    memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof *list->items);
    list->items[at] = copy;
    list->count++;
    return COLLAGE_OK;
}

collage_status registered_copy(const struct registered *from, struct registered *out,
                               struct error *error)
{
    *out = (struct registered){ 0 };
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < from->count && status == COLLAGE_OK; k++)
        status = registered_insert(out, k, &from->items[k], error);
    if (status != COLLAGE_OK)
        registered_free(out);
    return status;
}

static void remove_at(struct registered *list, size_t at)
{
    memory_free(list->items[at].block);
    list->count--;
    memmove(list->items + at, list->items + at + 1, (list->count - at) * sizeof *list->items);
}

static bool is_backend(const struct registered_entry *entry)
{
    return entry->kind == REGISTERED_PLUGIN || entry->kind == REGISTERED_OFF;
}

static bool has_target(const struct registered_entry *entry, const char *target)
{
    return !target || strcmp(entry->target, target) == 0;
}

/* Those from `first` on. */
static bool forget_backend(struct registered *list, size_t first, const char *name,
                           const char *target)
{
    bool found = false;
    for (size_t k = list->count; k-- > first;)
        if (is_backend(&list->items[k]) && has_target(&list->items[k], target) &&
            strcmp(list->items[k].name, name) == 0) {
            remove_at(list, k);
            found = true;
        }
    return found;
}

bool registered_forget_backend(struct registered *list, const char *name, const char *target)
{
    return forget_backend(list, 0, name, target);
}

collage_status registered_set_backend(struct registered *list, const struct registered_entry *entry,
                                      struct error *error)
{
    collage_status status = registered_insert(list, 0, entry, error);
    if (status == COLLAGE_OK)
        forget_backend(list, 1, entry->name, entry->target);
    return status;
}

/* SIZE_MAX: it is not there. target NULL: any. */
static size_t find_file(const struct registered *list, enum registered_kind kind, const char *path,
                        const char *target)
{
    for (size_t k = 0; k < list->count; k++)
        if (list->items[k].kind == kind && has_target(&list->items[k], target) &&
            strcmp(list->items[k].path, path) == 0)
            return k;
    return SIZE_MAX;
}

collage_status registered_add_file(struct registered *list, const struct registered_entry *entry,
                                   struct error *error)
{
    const size_t at = find_file(list, entry->kind, entry->path, entry->target);
    if (at == SIZE_MAX)
        return registered_insert(list, list->count, entry, error);
    list->items[at].kept = list->items[at].kept || entry->kept;
    return COLLAGE_OK;
}

collage_status registered_replace_file(struct registered *list, const char *old_path,
                                       const struct registered_entry *entry, bool *found,
                                       struct error *error)
{
    const size_t at = find_file(list, entry->kind, old_path, entry->target);
    *found = at != SIZE_MAX;
    if (!*found)
        return COLLAGE_OK;
    collage_status status = registered_insert(list, at, entry, error);
    if (status == COLLAGE_OK)
        remove_at(list, at + 1);
    /* It may have been there beside the old one. */
    for (size_t k = list->count; status == COLLAGE_OK && k-- > 0;)
        if (k != at && list->items[k].kind == entry->kind &&
            has_target(&list->items[k], entry->target) &&
            strcmp(list->items[k].path, entry->path) == 0)
            remove_at(list, k);
    return status;
}

bool registered_forget_file(struct registered *list, enum registered_kind kind, const char *path,
                            const char *target)
{
    bool found = false;
    for (size_t at; (at = find_file(list, kind, path, target)) != SIZE_MAX; found = true)
        remove_at(list, at);
    return found;
}
