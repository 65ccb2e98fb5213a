/* SPDX-License-Identifier: Apache-2.0 */
/* Adding, replacing, removing and restoring backends. */
#include <string.h>
#include <sys/stat.h>

#include "api/registration.h"
#include "pattern/backend_text.h"

/* ---- add ---- */

static collage_status check_file(const char *path, struct error *error)
{
    struct stat info;
    if (strchr(path, ':'))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "a plugin cannot be in '%.300s': ':' separates plugins", path);
    return stat(path, &info) == 0 && S_ISREG(info.st_mode)
               ? COLLAGE_OK
               : error_set(error, COLLAGE_ERROR_ARGUMENT, "'%.300s' is not a regular file", path);
}

/* Loads the plugin as a context would; *alone is the caller's, and its entry 1 the plugin. */
static collage_status try_plugin(const collage_context *context, const char *path,
                                 struct registry **alone, struct error *error)
{
    collage_status status = registry_create(path, context->log, context->user, alone, error);
    if (status == COLLAGE_OK)
        status = backend_text_check(*alone, REGISTRY_REFERENCE, error);
    if (status != COLLAGE_OK)
        return status;
    if ((*alone)->count != 2)
        return error_set(error, COLLAGE_ERROR_IO, "cannot open '%.300s'", path);
    const struct backend_entry *entry = &(*alone)->entries[1];
    return entry->api
               ? COLLAGE_OK
               : error_set(error, COLLAGE_ERROR_FORMAT, "'%.200s': %s", path, entry->problem);
}

static bool is_there(const collage_context *context, const char *name, const char **file)
{
    uint32_t found = registry_find(context->registry, name);
    if (found == UINT32_MAX || context->registry->entries[found].off)
        return false;
    *file = context->registry->entries[found].file;
    return true;
}

static collage_status check_name(collage_context *context, const collage_registration *how,
                                 const struct registered_entry *entry, struct error *error)
{
    const char *file = "";
    bool taken = is_there(context, entry->name, &file);
    if (how->name && strcmp(how->name, entry->name) != 0)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "the plugin '%.300s' is '%s', not '%.64s'",
                         entry->path, entry->name, how->name);
    if (!registration_fits(context, entry))
        return COLLAGE_OK; /* who has the name on that machine is not known here */
    if (taken && !how->replace)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "there is a backend '%s' already ('%.300s'): replace it", entry->name,
                         file);
    if (!taken && how->replace)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "there is no backend '%s' that could be replaced: add it", entry->name);
    return COLLAGE_OK;
}

static collage_status set_backend(collage_context *context, const collage_registration *how,
                                  enum registered_kind kind, const char *name, const char *path,
                                  struct error *error)
{
    const struct registration_change change = { .deed = SET_BACKEND,
                                                .entry = { .kind = kind,
                                                           .target =
                                                               how->target ? how->target : "any",
                                                           .name = name,
                                                           .path = path,
                                                           .kept = how->keep } };
    collage_status status =
        kind == REGISTERED_PLUGIN ? check_name(context, how, &change.entry, error) : COLLAGE_OK;
    return status == COLLAGE_OK ? registration_apply(context, &change, NULL, error) : status;
}

collage_status collage_backend_add(collage_context *context, const char *path,
                                   const collage_registration *how)
{
    struct error *error = context_begin(context);
    collage_registration own;
    char *absolute = NULL;
    struct registry *alone = NULL;
    if (!path)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_backend_add: path is NULL");
    collage_status status = registration_take(context, how, &own, error);
    if (status == COLLAGE_OK)
        status = registration_path(path, true, &absolute, error);
    if (status == COLLAGE_OK)
        status = check_file(absolute, error);
    if (status == COLLAGE_OK)
        status = try_plugin(context, absolute, &alone, error);
    if (status == COLLAGE_OK)
        status =
            set_backend(context, &own, REGISTERED_PLUGIN, alone->entries[1].name, absolute, error);
    registry_destroy(alone);
    memory_free(absolute);
    return status;
}

/* ---- remove, restore ---- */

static collage_status forget(collage_context *context, const collage_registration *how,
                             const char *name, bool *found, struct error *error)
{
    const struct registration_change change = {
        .deed = FORGET_BACKEND,
        .entry = { .target = "", .name = name, .path = "", .kept = how->keep },
        .forget_target = how->target
    };
    return registration_apply(context, &change, found, error);
}

static collage_status check_removal(const collage_context *context, const char *name,
                                    struct error *error)
{
    const char *file;
    if (strcmp(name, context->registry->entries[REGISTRY_REFERENCE].name) == 0)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "'%s' stays: all others are checked against it", name);
    return is_there(context, name, &file)
               ? COLLAGE_OK
               : error_set(error, COLLAGE_ERROR_ARGUMENT,
                           "there is no backend '%.64s'; `collage backends` lists them", name);
}

collage_status collage_backend_remove(collage_context *context, const char *name,
                                      const collage_registration *how)
{
    struct error *error = context_begin(context);
    collage_registration own;
    bool found;
    collage_status status = registration_take(context, how, &own, error);
    if (status == COLLAGE_OK && !name)
        status = error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_backend_remove: name is NULL");
    if (status == COLLAGE_OK)
        status = check_removal(context, name, error);
    if (status == COLLAGE_OK)
        status = set_backend(context, &own, REGISTERED_OFF, name, "", error);
    /* Only what was added had the name: there is nothing to be off. */
    if (status == COLLAGE_OK && registry_find(context->registry, name) == UINT32_MAX)
        status = forget(context, &own, name, &found, error);
    return status;
}

collage_status collage_backend_restore(collage_context *context, const char *name,
                                       const collage_registration *how)
{
    struct error *error = context_begin(context);
    collage_registration own;
    bool found = false;
    collage_status status = registration_take(context, how, &own, error);
    if (status == COLLAGE_OK && !name)
        status = error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_backend_restore: name is NULL");
    if (status == COLLAGE_OK)
        status = forget(context, &own, name, &found, error);
    if (status == COLLAGE_OK && !found)
        status = error_set(error, COLLAGE_ERROR_ARGUMENT,
                           "nothing is registered for the name '%.64s'", name);
    return status;
}
