/* SPDX-License-Identifier: Apache-2.0 */
/* Adding and removing files of patterns; listing all that is registered. */
#include <string.h>

#include "api/given.h"
#include "api/patterns.h"
#include "api/registration.h"
#include "base/file.h"

collage_status collage_patterns_add(collage_context *context, const char *path,
                                    const collage_registration *how)
{
    struct error *error = context_begin(context);
    collage_registration own;
    char *absolute = NULL;
    struct pattern_files files = { 0 };
    struct pattern_file *file = NULL;
    if (!path)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_patterns_add: path is NULL");
    collage_status status = registration_take(context, how, &own, error);
    if (status == COLLAGE_OK)
        status = registration_path(path, true, &absolute, error);
    /* What is not kept is for this run, which will warn when it reads it. */
    if (status == COLLAGE_OK)
        status = own.keep ? pattern_files_load_given(context, &path, 1, &files, error)
                          : pattern_file_load(path, &file, error);
    if (status == COLLAGE_OK)
        status = registration_apply_file(context, &own, ADD_FILE, REGISTERED_PATTERNS, absolute,
                                         NULL, error);
    pattern_files_free(&files);
    pattern_file_destroy(file);
    memory_free(absolute);
    return status;
}

collage_status collage_patterns_remove(collage_context *context, const char *path,
                                       const collage_registration *how)
{
    struct error *error = context_begin(context);
    collage_registration own;
    char *absolute = NULL;
    if (!path)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_patterns_remove: path is NULL");
    collage_status status = registration_take(context, how, &own, error);
    if (status == COLLAGE_OK)
        status = registration_path(path, false, &absolute, error);
    if (status == COLLAGE_OK)
        status = registration_apply_file(context, &own, FORGET_FILE, REGISTERED_PATTERNS, absolute,
                                         NULL, error);
    memory_free(absolute);
    return status;
}

/* ---- listing ---- */

size_t collage_registered_count(const collage_context *context)
{
    return context->registered.count + context->function_count;
}

const char *collage_registry_file(const collage_context *context)
{
    return context->registry_file;
}

/* What keeps it from being used; in context->listed. */
static collage_status find_problem(collage_context *context, const struct registered_entry *entry,
                                   struct error *error)
{
    struct error problem = { 0 };
    struct pattern_file *file = NULL;
    struct given_file *costs = NULL;
    if (entry->kind == REGISTERED_PATTERNS)
        (void)pattern_file_load(entry->path, &file, &problem);
    else if (entry->kind == REGISTERED_COSTS)
        (void)given_file_load(entry->path, &costs, &problem);
    else if (entry->kind == REGISTERED_PLUGIN && !file_exists(entry->path))
        error_set(&problem, COLLAGE_ERROR_IO, "the file is gone");
    pattern_file_destroy(file);
    given_file_destroy(costs);
    memory_free(context->listed);
    context->listed = memory_copy_string(problem.text);
    return context->listed && problem.status != COLLAGE_ERROR_MEMORY ? COLLAGE_OK
                                                                     : error_memory(error);
}

collage_status collage_registered_describe(collage_context *context, size_t index,
                                           collage_registered_info *info)
{
    static const char *const kinds[] = {
        [REGISTERED_PLUGIN] = "plugin",
        [REGISTERED_OFF] = "off",
        [REGISTERED_PATTERNS] = "patterns",
        [REGISTERED_COSTS] = "costs",
    };
    struct error *error = context_begin(context);
    if (index >= collage_registered_count(context) || !info || info->struct_size < sizeof *info)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "nothing is registered as number %zu",
                         index);
    if (index >= context->registered.count) {
        cost_function_describe(context, index - context->registered.count, info);
        return COLLAGE_OK;
    }
    const struct registered_entry *entry = &context->registered.items[index];
    collage_status status = find_problem(context, entry, error);
    if (status != COLLAGE_OK)
        return status;
    *info = (collage_registered_info){ .struct_size = info->struct_size,
                                       .kind = kinds[entry->kind],
                                       .target = entry->target,
                                       .name = entry->name,
                                       .path = entry->path,
                                       .problem = context->listed,
                                       .kept = entry->kept,
                                       .here = registration_fits(context, entry) };
    return COLLAGE_OK;
}
