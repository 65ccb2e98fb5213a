/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/registration.h"
#include "base/json_text.h"
#include "pattern/backend_text.h"

struct error *context_begin(collage_context *context)
{
    error_clear(&context->error);
    return &context->error;
}

const char *collage_context_message(const collage_context *context)
{
    return context ? context->error.text : "";
}

/* An object of this library, for dladdr. */
static const char anchor;

/* Joins with the folder of this library (that of the program, if linked statically). */
static char *beside_library(const char *relative)
{
    Dl_info info;
    char folder[PATH_MAX];
    if (!dladdr(&anchor, &info) || !info.dli_fname || !realpath(info.dli_fname, folder))
        return memory_copy_string(relative);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    struct text text = { 0 };
    text_format(&text, "%s/%s", folder, relative);
    return text.failed ? NULL : text.bytes;
}

static char *default_cache(void)
{
    const char *set = getenv("COLLAGE_CACHE");
    if (set && *set)
        return memory_copy_string(set);
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    struct text text = { 0 };
    if (xdg && *xdg == '/')
        text_format(&text, "%s/collage", xdg);
    else
        text_format(&text, "%s/.cache/collage", home && *home ? home : "/tmp");
    return text.failed ? NULL : text.bytes;
}

/* What lies beside the library: where it is installed, else where it is in a build tree. */
static char *find_beside(const char *installed, const char *built)
{
    char *place = beside_library(installed);
    if (!place || file_exists(place))
        return place;
    char *other = beside_library(built);
    if (other && !file_exists(other)) { /* a message shall name the usual place */
        memory_free(other);
        return place;
    }
    memory_free(place);
    return other;
}

static char *default_plugins(void)
{
    const char *set = getenv("COLLAGE_PLUGINS");
    return set ? memory_copy_string(set) : find_beside("collage/plugins", "plugins");
}

static char *default_worker(void)
{
    const char *set = getenv("COLLAGE_WORKER");
    if (set && *set)
        return memory_copy_string(set);
    return find_beside(COLLAGE_PROGRAMS_FROM_LIBRARY "/collage-worker", "../bin/collage-worker");
}

static char *default_solver(void)
{
    const char *set = getenv("COLLAGE_SOLVER");
    if (set && *set)
        return memory_copy_string(set);
    return find_beside(COLLAGE_PROGRAMS_FROM_LIBRARY "/collage-solver", "../bin/collage-solver");
}

static char *default_peers(void)
{
    const char *set = getenv("COLLAGE_PEERS");
    return set && *set ? memory_copy_string(set) : find_beside(COLLAGE_PEERS_FROM_LIBRARY, "peers");
}

static char *choose(const char *given, char *(*fallback)(void))
{
    return given ? memory_copy_string(given) : fallback();
}

static char *choose_registry_file(const char *given, const char *cache_directory)
{
    struct text text = { 0 };
    const char *set = given ? given : getenv("COLLAGE_REGISTRY");
    if (set || !cache_directory)
        return memory_copy_string(set ? set : "");
    text_format(&text, "%s/registry", cache_directory);
    return text.failed ? NULL : text.bytes;
}

/* What the caller knows of the options, the rest being defaults. False if that is too little. */
static bool take_options(const collage_context_options *given, collage_context_options *options)
{
    *options = (collage_context_options){ .struct_size = sizeof *options };
    if (!given)
        return true;
    size_t known = given->struct_size < sizeof *options ? given->struct_size : sizeof *options;
    if (known < offsetof(collage_context_options, registry_file))
        return false;
    memcpy(options, given, known);
    return true;
}

collage_status collage_context_create(const collage_context_options *options, collage_context **out)
{
    collage_context_options own;
    if (!out)
        return COLLAGE_ERROR_ARGUMENT;
    *out = NULL;
    if (!take_options(options, &own))
        return COLLAGE_ERROR_ARGUMENT;
    collage_context *context = memory_alloc(sizeof *context);
    if (!context)
        return COLLAGE_ERROR_MEMORY;
    context->log = own.log;
    context->progress = own.progress;
    context->user = own.user;
    context->trust = own.trust;
    context->cache_directory = choose(own.cache_directory, default_cache);
    context->registry_file = choose_registry_file(own.registry_file, context->cache_directory);
    context->plugin_folders = choose(own.plugin_directory, default_plugins);
    context->worker_program = choose(own.worker_program, default_worker);
    context->solver_program = default_solver();
    context->peer_directories = default_peers();
    collage_status status = COLLAGE_ERROR_MEMORY;
    if (context->cache_directory && context->registry_file && context->plugin_folders &&
        context->worker_program && context->solver_program && context->peer_directories)
        status = registration_open(context, &context->error);
    else
        error_memory(&context->error);
    if (status != COLLAGE_OK) {
        if (context->log)
            context->log(context->user, COLLAGE_LOG_ERROR, context->error.text);
        collage_context_destroy(context);
        return status;
    }
    *out = context;
    return COLLAGE_OK;
}

void collage_context_destroy(collage_context *context)
{
    if (!context)
        return;
    registration_close(context);
    memory_free(context->cache_directory);
    memory_free(context->worker_program);
    memory_free(context->solver_program);
    memory_free(context->peer_directories);
    memory_free(context);
}

void collage_context_finish(collage_context *context)
{
    if (context)
        atomic_store(&context->enough, true);
}

size_t collage_backend_count(const collage_context *context)
{
    return context->registry->count;
}

/* Asks all libraries at once, in a worker: none is loaded into the caller's process. */
static collage_status describe_all(collage_context *context, struct error *error)
{
    struct worker_setup setup = { .program = context->worker_program,
                                  .plugin_directories = context->plugins,
                                  .threads = registry_host_target(0).threads,
                                  .log = context->log,
                                  .log_user = context->user };
    struct worker *worker;
    collage_status status = worker_create(&setup, &worker, error);
    if (status != COLLAGE_OK)
        return status;
    status = worker_describe_backends(worker, context->registry, error);
    worker_destroy(worker);
    context->described = status == COLLAGE_OK;
    return status;
}

static const char *origin_of(const collage_context *context, const struct backend_entry *entry)
{
    for (size_t k = 0; entry->named && k < context->registered.count; k++)
        if (context->registered.items[k].kind == REGISTERED_PLUGIN &&
            strcmp(context->registered.items[k].path, entry->file) == 0)
            return context->registered.items[k].kept ? "registered" : "added";
    return !entry->file[0] ? "built in" : entry->named ? "added" : "folder";
}

static collage_status count_patterns(const struct backend_entry *entry, size_t *count,
                                     struct error *error)
{
    struct pattern_file *file = NULL;
    *count = entry->api ? entry->api->pattern_count : 0;
    collage_status status = entry->api ? backend_text_parse(entry->api, &file, error) : COLLAGE_OK;
    if (file)
        *count += file->count;
    pattern_file_destroy(file);
    return status;
}

collage_status collage_backend_describe(collage_context *context, size_t index,
                                        collage_backend_info *info)
{
    struct error *error = context_begin(context);
    if (index >= context->registry->count || !info ||
        info->struct_size < offsetof(collage_backend_info, origin))
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "there is no backend number %zu", index);
    if (!context->described) {
        collage_status status = describe_all(context, error);
        if (status != COLLAGE_OK)
            return status;
    }
    const struct backend_entry *entry = &context->registry->entries[index];
    info->name = entry->name;
    info->kind = !entry->api                               ? ""
                 : entry->api->kind == COLLAGE_GRAPH_LEVEL ? "graph-level"
                                                           : "op-level";
    info->version = entry->version;
    info->file = entry->file;
    info->problem = entry->problem;
    if (info->struct_size < sizeof *info)
        return COLLAGE_OK;
    info->origin = origin_of(context, entry);
    return count_patterns(entry, &info->patterns, error);
}

static bool add_backend(json_t *list, const collage_backend_info *info)
{
    json_t *row = json_pack("{s:o, s:s, s:o, s:o, s:o, s:s, s:I}", "name", json_text(info->name),
                            "kind", info->kind, "version", json_text(info->version), "file",
                            json_text(info->file), "problem", json_text(info->problem), "origin",
                            info->origin, "patterns", (json_int_t)info->patterns);
    return json_array_append_new(list, row) == 0;
}

collage_status collage_backends_report(collage_context *context, collage_write_fn write, void *user)
{
    struct error *error = context_begin(context);
    struct text text = { 0 };
    collage_status status = COLLAGE_OK;
    if (!write)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_backends_report: write is NULL");
    json_t *list = json_array();
    for (size_t k = 0; k < context->registry->count && status == COLLAGE_OK; k++) {
        collage_backend_info info = { .struct_size = sizeof info };
        status = collage_backend_describe(context, k, &info);
        if (status == COLLAGE_OK && !add_backend(list, &info))
            status = error_memory(error);
    }
    if (status == COLLAGE_OK)
        status = json_put(list, JSON_INDENT(2), &text) ? hand_over(&text, write, user, error)
                                                       : error_memory(error);
    json_decref(list);
    text_free(&text);
    return status;
}
