/* SPDX-License-Identifier: Apache-2.0 */
/* Adding, replacing and removing what gives costs: functions, and files. */
#include <string.h>

#include "api/given.h"
#include "api/registration.h"
#include "base/printable.h"

/* ---- functions ---- */

/* The place of the name; the count of functions: there is none. */
static size_t find_function(const collage_context *context, const char *name)
{
    size_t k = 0;
    while (k < context->function_count && strcmp(context->functions[k].name, name) != 0)
        k++;
    return k;
}

static collage_status check_function(const collage_context *context, const char *name,
                                     const collage_registration *how, struct error *error)
{
    const bool taken = find_function(context, name) < context->function_count;
    if (!name[0] || !printable_is(name) || strlen(name) > REGISTERED_TARGET)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "the name of a cost function is 1 to %d printable characters",
                         REGISTERED_TARGET);
    if (how->keep)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "the cost function '%.64s' cannot be kept for later: give a file", name);
    if (taken && !how->replace)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "there is a cost function '%.64s' already: replace it", name);
    if (!taken && how->replace)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "there is no cost function '%.64s' that could be replaced: add it", name);
    return COLLAGE_OK;
}

/* At its old place, if it had one. */
static collage_status set_function(collage_context *context, struct cost_function function,
                                   struct error *error)
{
    const size_t name = strlen(function.name) + 1, target = strlen(function.target) + 1;
    function.block = memory_alloc(name + target);
    if (!function.block || !memory_grow((void **)&context->functions, &context->function_capacity,
                                        context->function_count, sizeof *context->functions)) {
        memory_free(function.block);
        return error_memory(error);
    }
    const size_t at = find_function(context, function.name);
    function.name = memcpy(function.block, function.name, name);
    function.target = memcpy(function.block + name, function.target, target);
    if (at < context->function_count)
        memory_free(context->functions[at].block);
    else
        context->function_count++;
    context->functions[at] = function;
    return COLLAGE_OK;
}

collage_status collage_cost_function_add(collage_context *context, const char *name,
                                         collage_cost_fn function, void *user,
                                         const collage_registration *how)
{
    struct error *error = context_begin(context);
    collage_registration own;
    if (!name || !function)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_cost_function_add: a pointer is NULL");
    collage_status status = registration_take(context, how, &own, error);
    if (status == COLLAGE_OK)
        status = check_function(context, name, &own, error);
    const struct cost_function made = {
        .name = name, .target = own.target ? own.target : "any", .function = function, .user = user
    };
    return status == COLLAGE_OK ? set_function(context, made, error) : status;
}

collage_status collage_cost_function_remove(collage_context *context, const char *name)
{
    struct error *error = context_begin(context);
    if (!name)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_cost_function_remove: name is NULL");
    const size_t at = find_function(context, name);
    if (at == context->function_count)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "there is no cost function '%.64s'", name);
    memory_free(context->functions[at].block);
    context->function_count--;
    memmove(context->functions + at, context->functions + at + 1,
            (context->function_count - at) * sizeof *context->functions);
    return COLLAGE_OK;
}

/* Does its target fit? registration_look was called when it was added. */
static bool function_fits(const collage_context *context, const struct cost_function *function)
{
    const struct registered_entry entry = { .target = function->target };
    return registration_fits(context, &entry);
}

void cost_function_describe(const collage_context *context, size_t index,
                            collage_registered_info *info)
{
    const struct cost_function *function = &context->functions[index];
    *info = (collage_registered_info){ .struct_size = info->struct_size,
                                       .kind = "function",
                                       .target = function->target,
                                       .name = function->name,
                                       .path = "",
                                       .problem = "",
                                       .here = function_fits(context, function) };
}

/* ---- files ---- */

/* A backend of another machine may not be here. */
static collage_status check_file(const collage_context *context, const char *path,
                                 const collage_registration *how, struct error *error)
{
    const struct registered_entry entry = { .target = how->target ? how->target : "any" };
    struct given_file *file;
    collage_status status = given_file_load(path, &file, error);
    if (status == COLLAGE_OK && registration_fits(context, &entry))
        status = given_file_check_backends(file, context->registry, error);
    given_file_destroy(file);
    return status;
}

collage_status collage_costs_add(collage_context *context, const char *path,
                                 const collage_registration *how)
{
    struct error *error = context_begin(context);
    collage_registration own;
    char *absolute = NULL, *old = NULL;
    if (!path)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_costs_add: path is NULL");
    collage_status status = registration_take(context, how, &own, error);
    if (status == COLLAGE_OK && own.replace && !own.name)
        status = error_set(error, COLLAGE_ERROR_ARGUMENT,
                           "collage_costs_add: `name` must say which file is to be replaced");
    if (status == COLLAGE_OK)
        status = registration_path(path, true, &absolute, error);
    if (status == COLLAGE_OK && own.replace)
        status = registration_path(own.name, false, &old, error);
    if (status == COLLAGE_OK)
        status = check_file(context, path, &own, error);
    if (status == COLLAGE_OK)
        status = registration_apply_file(context, &own, own.replace ? REPLACE_FILE : ADD_FILE,
                                         REGISTERED_COSTS, absolute, old, error);
    memory_free(absolute);
    memory_free(old);
    return status;
}

collage_status collage_costs_remove(collage_context *context, const char *path,
                                    const collage_registration *how)
{
    struct error *error = context_begin(context);
    collage_registration own;
    char *absolute = NULL;
    if (!path)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_costs_remove: path is NULL");
    collage_status status = registration_take(context, how, &own, error);
    if (status == COLLAGE_OK)
        status = registration_path(path, false, &absolute, error);
    if (status == COLLAGE_OK)
        status = registration_apply_file(context, &own, FORGET_FILE, REGISTERED_COSTS, absolute,
                                         NULL, error);
    memory_free(absolute);
    return status;
}

/* ---- what a search asks ---- */

static collage_status load_file(const collage_context *context, const char *path,
                                struct given_costs *out, struct error *error)
{
    struct error problem = { 0 };
    struct given_file *file;
    collage_status status = given_file_load(path, &file, &problem);
    if (status == COLLAGE_ERROR_MEMORY)
        return error_memory(error);
    if (status == COLLAGE_OK)
        out->items[out->count++] = (struct given_source){ .name = path, .file = file };
    else
        registration_warn(context, "registered costs are left out", problem.text);
    return COLLAGE_OK;
}

collage_status given_costs_load(const collage_context *context, struct given_costs *out,
                                struct error *error)
{
    const struct registered *registered = &context->registered;
    *out = (struct given_costs){ 0 };
    out->items = memory_alloc((context->function_count + registered->count + 1) *
                              sizeof(struct given_source));
    if (!out->items)
        return error_memory(error);
    for (size_t k = context->function_count; k-- > 0;) {
        const struct cost_function *function = &context->functions[k];
        if (function_fits(context, function))
            out->items[out->count++] = (struct given_source){ .name = function->name,
                                                              .function = function->function,
                                                              .user = function->user };
    }
    collage_status status = COLLAGE_OK;
    for (size_t k = registered->count; k-- > 0 && status == COLLAGE_OK;) {
        const struct registered_entry *entry = &registered->items[k];
        if (entry->kind == REGISTERED_COSTS && registration_fits(context, entry))
            status = load_file(context, entry->path, out, error);
    }
    return status;
}

void given_costs_free(struct given_costs *given)
{
    for (size_t k = 0; k < given->count; k++)
        given_file_destroy(given->items[k].file);
    memory_free(given->items);
    *given = (struct given_costs){ 0 };
}
