/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/plugin_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

static const char prefix[] = "collage_", suffix[] = ".so";
enum { PREFIX = sizeof prefix - 1, SUFFIX = sizeof suffix - 1 };

void plugin_list_free(struct plugin_list *list)
{
    for (size_t k = 0; k < list->count; k++)
        memory_free(list->items[k].text);
    memory_free(list->items);
    *list = (struct plugin_list){ 0 };
}

/* Takes the text over; NULL: there was no memory for it. */
static bool add(struct plugin_list *list, struct plugin_item item)
{
    if (!item.text ||
        !memory_grow((void **)&list->items, &list->capacity, list->count, sizeof *list->items)) {
        memory_free(item.text);
        return false;
    }
    list->items[list->count++] = item;
    return true;
}

static char *join(const char *directory, const char *name)
{
    size_t bytes = strlen(directory) + strlen(name) + 2;
    char *path = memory_alloc(bytes);
    if (path)
        snprintf(path, bytes, "%s/%s", directory, name);
    return path;
}

static bool is_plugin_name(const char *name)
{
    size_t length = strlen(name);
    return length > PREFIX + SUFFIX && !strncmp(name, prefix, PREFIX) &&
           !strcmp(name + length - SUFFIX, suffix);
}

const char *plugin_name_of_file(const char *path, size_t *length)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    *length = strlen(name);
    if (is_plugin_name(name)) {
        name += PREFIX;
        *length -= PREFIX + SUFFIX;
    }
    return name;
}

static int compare_items(const void *a, const void *b)
{
    const struct plugin_item *left = a;
    const struct plugin_item *right = b;
    return strcmp(left->text, right->text);
}

static void warn(const collage_host *host, const char *path)
{
    char line[512];
    snprintf(line, sizeof line, "plugins '%.300s': %s", path, strerror(errno));
    host->log(host->context, COLLAGE_LOG_WARNING, line);
}

/* A folder that cannot be read is warned of; a lack of memory does not mean that it is empty. */
static collage_status not_read(const collage_host *host, const char *path, struct error *error)
{
    if (errno == ENOMEM)
        return error_memory(error);
    warn(host, path);
    return COLLAGE_OK;
}

static collage_status add_directory(const char *directory, const collage_host *host,
                                    struct plugin_list *list, struct error *error)
{
    DIR *folder = opendir(directory);
    if (!folder)
        return not_read(host, directory, error);
    size_t first = list->count;
    collage_status status = COLLAGE_OK;
    struct dirent *entry;
    errno = 0;
    while (status == COLLAGE_OK && (entry = readdir(folder))) {
        if (is_plugin_name(entry->d_name) &&
            !add(list, (struct plugin_item){ .text = join(directory, entry->d_name) }))
            status = error_memory(error);
        errno = 0;
    }
    if (status == COLLAGE_OK && errno != 0)
        status = not_read(host, directory, error);
    closedir(folder);
    if (list->count > first)
        qsort(list->items + first, list->count - first, sizeof *list->items, compare_items);
    return status;
}

static collage_status add_part(const char *part, const collage_host *host, struct plugin_list *list,
                               struct error *error)
{
    struct stat info;
    struct plugin_item item = { .off = part[0] == '!' };
    const bool there = !item.off && stat(part, &info) == 0;
    if (!item.off && !there && errno == ENOMEM)
        return error_memory(error);
    item.named = there && !S_ISDIR(info.st_mode);
    if (!item.off && !item.named)
        return add_directory(part, host, list, error);
    item.text = memory_copy_string(item.off ? part + 1 : part);
    return add(list, item) ? COLLAGE_OK : error_memory(error);
}

collage_status plugin_list_make(const char *list, const collage_host *host, struct plugin_list *out,
                                struct error *error)
{
    *out = (struct plugin_list){ 0 };
    char *copy = memory_copy_string(list);
    if (!copy)
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    char *rest = copy;
    for (char *part; status == COLLAGE_OK && (part = strsep(&rest, ":"));)
        if (*part)
            status = add_part(part, host, out, error);
    memory_free(copy);
    return status;
}
