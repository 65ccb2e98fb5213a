/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/plugin.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

typedef void (*any_function)(void);

/* A function of the table, for the checks: where it is and what it is called. */
struct table_function {
    size_t offset;
    const char *name;
};

#define FUNCTION(name)                                                                             \
    {                                                                                              \
        offsetof(collage_backend_api, name), #name                                                 \
    }

static const struct table_function required_functions[] = {
    FUNCTION(supports), FUNCTION(open),        FUNCTION(close), FUNCTION(version),
    FUNCTION(compile),  FUNCTION(kernel_info), FUNCTION(run),   FUNCTION(kernel_destroy),
};

static const struct table_function device_functions[] = {
    FUNCTION(device_count),   FUNCTION(device_describe),
    FUNCTION(buffer_create),  FUNCTION(buffer_destroy),
    FUNCTION(copy),           FUNCTION(stream_create),
    FUNCTION(stream_destroy), FUNCTION(stream_synchronize),
};

#undef FUNCTION

enum {
    REQUIRED_BYTES = offsetof(collage_backend_api, kernel_destroy) + sizeof(any_function),
    NAME_BYTES = 32
};

static bool has_function(const collage_backend_api *table, size_t offset)
{
    any_function function;
    memcpy(&function, (const char *)table + offset, sizeof function);
    return function != NULL;
}

static bool name_is_valid(const char *name)
{
    size_t length = name ? strlen(name) : 0;
    return length > 0 && length < NAME_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static collage_status check_functions(const collage_backend_api *table, struct error *error)
{
    size_t count = sizeof required_functions / sizeof required_functions[0];
    for (size_t k = 0; k < count; k++)
        if (!has_function(table, required_functions[k].offset))
            return error_set(error, COLLAGE_ERROR_BACKEND, "the plugin lacks the function '%s'",
                             required_functions[k].name);
    count = sizeof device_functions / sizeof device_functions[0];
    for (size_t k = 1; k < count; k++)
        if (has_function(table, device_functions[k].offset) !=
            has_function(table, device_functions[0].offset))
            return error_set(error, COLLAGE_ERROR_BACKEND,
                             "the plugin has some of the device functions but not all: '%s' and "
                             "'%s' go together",
                             device_functions[0].name, device_functions[k].name);
    return COLLAGE_OK;
}

static collage_status check_description(const collage_backend_api *table, struct error *error)
{
    if (!name_is_valid(table->name))
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "the plugin's name '%.64s' is not 1 to %d characters of [a-z0-9_]",
                         table->name ? table->name : "", NAME_BYTES - 1);
    if (table->kind != COLLAGE_OP_LEVEL && table->kind != COLLAGE_GRAPH_LEVEL)
        return error_set(error, COLLAGE_ERROR_BACKEND, "the plugin's kind %d is unknown",
                         (int)table->kind);
    if (table->kind == COLLAGE_OP_LEVEL && (table->pattern_count == 0 || !table->patterns) &&
        !table->pattern_text)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "the plugin is op-level but lists no pattern and has no pattern_text");
    for (size_t k = 0; k < table->pattern_count; k++)
        if (!table->patterns || !table->patterns[k].name || !table->patterns[k].text)
            return error_set(error, COLLAGE_ERROR_BACKEND,
                             "pattern %zu of the plugin has no name or no text", k);
    for (size_t k = 0; table->environment && table->environment[k]; k++) {
        const char *equals = strchr(table->environment[k], '=');
        if (!equals || equals == table->environment[k] || strlen(table->environment[k]) > 255)
            return error_set(error, COLLAGE_ERROR_BACKEND,
                             "the plugin's environment entry '%.64s' is not NAME=VALUE of at most "
                             "255 characters",
                             table->environment[k]);
    }
    return COLLAGE_OK;
}

collage_status plugin_check_table(struct arena *arena, const collage_backend_api *table,
                                  const collage_backend_api **out, struct error *error)
{
    if (table->struct_size < REQUIRED_BYTES)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "the plugin's table has %zu bytes, at least %d are needed: its "
                         "struct_size is wrong or it was built for another Collage",
                         table->struct_size, (int)REQUIRED_BYTES);
    if (table->abi_major != COLLAGE_ABI_MAJOR)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "the plugin was built for ABI %u.%u, this Collage has %u.%u: rebuild it",
                         table->abi_major, table->abi_minor, COLLAGE_ABI_MAJOR, COLLAGE_ABI_MINOR);
    collage_backend_api *copy = arena_alloc(arena, sizeof *copy);
    if (!copy)
        return error_memory(error);
    memcpy(copy, table, table->struct_size < sizeof *copy ? table->struct_size : sizeof *copy);
    copy->struct_size = sizeof *copy;
    collage_status status = check_functions(copy, error);
    if (status == COLLAGE_OK)
        status = check_description(copy, error);
    *out = status == COLLAGE_OK ? copy : NULL;
    return status;
}

collage_status plugin_load(struct arena *arena, const char *path, const collage_backend_api **out,
                           void **library, struct error *error)
{
    *out = NULL;
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library)
        return error_set(error, COLLAGE_ERROR_BACKEND, "the plugin does not load: %s", dlerror());
    void *symbol = dlsym(*library, COLLAGE_BACKEND_ENTRY_NAME);
    if (!symbol)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "the plugin does not export the function '%s'",
                         COLLAGE_BACKEND_ENTRY_NAME);
    collage_backend_entry_fn entry;
    memcpy(&entry, &symbol, sizeof entry);
    const collage_backend_api *table = entry(COLLAGE_ABI_MAJOR);
    if (!table)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "the plugin does not speak ABI %u: rebuild it with this Collage's headers",
                         COLLAGE_ABI_MAJOR);
    return plugin_check_table(arena, table, out, error);
}
