/* SPDX-License-Identifier: Apache-2.0 */
#include "api/registration.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "pattern/backend_text.h"

collage_status registration_look(collage_context *context, const char *target, struct error *error)
{
    if (context->device_known || strcmp(target, "any") == 0)
        return COLLAGE_OK;
    collage_status status = device_facts_read(&context->device, error);
    context->device_known = status == COLLAGE_OK;
    return status;
}

bool registration_fits(const collage_context *context, const struct registered_entry *entry)
{
    return registered_fits(entry, context->device_known ? context->device.name : NULL,
                           context->device_known ? context->device.fingerprint : NULL);
}

void registration_warn(const collage_context *context, const char *what, const char *problem)
{
    char line[1024];
    if (!context->log)
        return;
    const int length = snprintf(line, sizeof line, "%s: %s", what, problem);
    printable_make(line, length >= (int)sizeof line); /* a path may hold anything */
    context->log(context->user, COLLAGE_LOG_WARNING, line);
}

/* ---- from what is registered to a registry ---- */

/* The list of plugins: what is registered for this machine, in its order, then the folders. */
static char *make_list(const collage_context *context, const struct registered *registered)
{
    struct text text = { 0 };
    for (size_t k = 0; k < registered->count; k++) {
        const struct registered_entry *entry = &registered->items[k];
        if (!registration_fits(context, entry))
            continue;
        if (entry->kind == REGISTERED_OFF)
            text_format(&text, "!%s:", entry->name);
        else if (entry->kind == REGISTERED_PLUGIN)
            text_format(&text, "%s:", entry->path);
    }
    text_string(&text, context->plugin_folders);
    if (!text.failed)
        return text.bytes;
    text_free(&text);
    return NULL;
}

static collage_status make_registry(collage_context *context, const char *list,
                                    struct registry **out, struct error *error)
{
    collage_status status = registry_create(list, context->log, context->user, out, error);
    if (status == COLLAGE_OK)
        status = backend_text_check(*out, REGISTRY_REFERENCE, error);
    if (status != COLLAGE_OK) {
        registry_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- opening ---- */

static collage_status read_file(collage_context *context, struct error *error)
{
    struct error problem = { 0 };
    struct registered *registered = &context->registered;
    collage_status status = context->registry_file[0]
                                ? registered_read(context->registry_file, registered, &problem)
                                : COLLAGE_OK;
    if (status == COLLAGE_ERROR_MEMORY)
        return error_memory(error);
    if (status != COLLAGE_OK)
        registration_warn(context, "what is registered is ignored", problem.text);
    status = COLLAGE_OK;
    for (size_t k = 0; k < registered->count && status == COLLAGE_OK; k++)
        status = registration_look(context, registered->items[k].target, error);
    return status;
}

collage_status registration_open(collage_context *context, struct error *error)
{
    collage_status status = read_file(context, error);
    if (status != COLLAGE_OK)
        return status;
    context->plugins = make_list(context, &context->registered);
    return context->plugins ? make_registry(context, context->plugins, &context->registry, error)
                            : error_memory(error);
}

void registration_close(collage_context *context)
{
    registry_destroy(context->registry);
    for (size_t k = 0; k < context->retired_count; k++)
        registry_destroy(context->retired[k]);
    memory_free(context->retired);
    registered_free(&context->registered);
    memory_free(context->plugins);
    memory_free(context->plugin_folders);
    memory_free(context->registry_file);
    memory_free(context->listed);
    for (size_t k = 0; k < context->function_count; k++)
        memory_free(context->functions[k].block);
    memory_free(context->functions);
}

/* ---- changing ---- */

static collage_status change_list(const struct registration_change *change, struct registered *list,
                                  bool *found, struct error *error)
{
    const struct registered_entry *entry = &change->entry;
    bool was_there = false;
    collage_status status = COLLAGE_OK;
    switch (change->deed) {
    case SET_BACKEND:
        status = registered_set_backend(list, entry, error);
        break;
    case FORGET_BACKEND:
        was_there = registered_forget_backend(list, entry->name, change->forget_target);
        break;
    case ADD_FILE:
        status = registered_add_file(list, entry, error);
        break;
    case REPLACE_FILE:
        status = registered_replace_file(list, change->old_path, entry, &was_there, error);
        break;
    case FORGET_FILE:
        was_there = registered_forget_file(list, entry->kind, entry->path, change->forget_target);
        break;
    }
    *found = *found || was_there;
    return status;
}

/* The file as it is now, not as it was when the context was made. One that cannot be read is not
 * written over. */
static collage_status change_file(const char *path, const struct registration_change *change,
                                  bool *found, struct error *error)
{
    int lock;
    struct registered list = { 0 };
    if (!path[0])
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "there is no registry file that could keep it");
    collage_status status = registered_lock(path, &lock, error);
    if (status != COLLAGE_OK)
        return status;
    status = registered_read(path, &list, error);
    if (status == COLLAGE_OK)
        status = change_list(change, &list, found, error);
    if (status == COLLAGE_OK)
        status = registered_write(path, &list, error);
    registered_free(&list);
    registered_unlock(lock);
    return status;
}

/* What would come of the change; nothing of the context is changed yet. */
struct next {
    struct registered registered;
    char *plugins;
    struct registry *registry; /* NULL: the same as before */
};

static collage_status make_next(collage_context *context, const struct registration_change *change,
                                struct next *next, bool *found, struct error *error)
{
    bool backends = change->deed == SET_BACKEND || change->deed == FORGET_BACKEND;
    collage_status status = registered_copy(&context->registered, &next->registered, error);
    if (status == COLLAGE_OK)
        status = change_list(change, &next->registered, found, error);
    if (status != COLLAGE_OK || !backends)
        return status;
    next->plugins = make_list(context, &next->registered);
    if (!next->plugins || !memory_grow((void **)&context->retired, &context->retired_capacity,
                                       context->retired_count, sizeof *context->retired))
        return error_memory(error);
    return make_registry(context, next->plugins, &next->registry, error);
}

static void next_free(struct next *next)
{
    registered_free(&next->registered);
    memory_free(next->plugins);
    registry_destroy(next->registry);
}

static void take_next(collage_context *context, struct next *next)
{
    registered_free(&context->registered);
    context->registered = next->registered;
    if (!next->registry)
        return;
    context->retired[context->retired_count++] = context->registry; /* there is room */
    context->registry = next->registry;
    memory_free(context->plugins);
    context->plugins = next->plugins;
    context->described = false;
}

collage_status registration_apply(collage_context *context,
                                  const struct registration_change *change, bool *found,
                                  struct error *error)
{
    bool any = false;
    struct next next = { 0 };
    collage_status status = make_next(context, change, &next, &any, error);
    if (status == COLLAGE_OK && change->entry.kept)
        status = change_file(context->registry_file, change, &any, error);
    if (status == COLLAGE_OK)
        take_next(context, &next);
    else
        next_free(&next);
    if (found)
        *found = any;
    return status;
}

collage_status registration_apply_file(collage_context *context, const collage_registration *how,
                                       enum registration_deed deed, enum registered_kind kind,
                                       const char *absolute, const char *old_path,
                                       struct error *error)
{
    const struct registration_change change = { .deed = deed,
                                                .entry = { .kind = kind,
                                                           .target =
                                                               how->target ? how->target : "any",
                                                           .name = "",
                                                           .path = absolute,
                                                           .kept = how->keep },
                                                .forget_target = how->target,
                                                .old_path = old_path };
    bool found = false;
    collage_status status = registration_apply(context, &change, &found, error);
    if (status == COLLAGE_OK && deed != ADD_FILE && !found)
        status = error_set(error, COLLAGE_ERROR_ARGUMENT, "'%.300s' is not registered",
                           deed == REPLACE_FILE ? old_path : absolute);
    return status;
}

/* ---- what a caller gives ---- */

collage_status registration_take(collage_context *context, const collage_registration *given,
                                 collage_registration *out, struct error *error)
{
    *out = (collage_registration){ .struct_size = sizeof *out };
    if (given && given->struct_size < sizeof *out)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_registration: struct_size is not set");
    if (given)
        *out = *given;
    if (!out->target)
        return COLLAGE_OK;
    if (!out->target[0] || !printable_is(out->target) || strlen(out->target) > REGISTERED_TARGET)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "a target is a glob of at most %d characters for the name of a machine, "
                         "or 'any'",
                         REGISTERED_TARGET);
    return registration_look(context, out->target, error);
}

collage_status registration_path(const char *path, bool must_exist, char **out, struct error *error)
{
    char real[PATH_MAX];
    struct text text = { 0 };
    *out = NULL;
    if (realpath(path, real)) {
        text_string(&text, real);
    } else if (must_exist || errno == ENOMEM) {
        return error_system(error, "open", path);
    } else { /* it may be gone, and is known by this name */
        if (path[0] != '/' && !getcwd(real, sizeof real))
            return error_system(error, "tell the folder of", path);
        if (path[0] != '/')
            text_format(&text, "%s/", real);
        text_string(&text, path);
    }
    if (text.failed) {
        text_free(&text);
        return error_memory(error);
    }
    if (!printable_is(text.bytes)) {
        text_free(&text);
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "a path with characters that are not printable cannot be registered");
    }
    *out = text.bytes;
    return COLLAGE_OK;
}
