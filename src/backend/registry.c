/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/registry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "backend/machine.h"
#include "backend/plugin.h"
#include "backend/plugin_list.h"
#include "backend/reference_backend.h"
#include "onnx/onnx.h"

/* ---- the host's services ---- */

struct host_context {
    collage_log_fn log;
    void *user;
    struct code_service code;
};

static void host_log(void *context, collage_log_level level, const char *line)
{
    const struct host_context *host = context;
    if (host->log)
        host->log(host->user, level, line);
}

static collage_status host_export_onnx(void *context, const collage_subgraph *subgraph,
                                       uint64_t inline_limit, void **bytes, size_t *count,
                                       collage_message *message)
{
    (void)context;
    return onnx_export(subgraph, inline_limit, bytes, count, message);
}

static void host_release(void *context, void *bytes)
{
    (void)context;
    memory_free(bytes);
}

static collage_status host_make_code(void *context, const char *source, const char *const *options,
                                     void **bytes, size_t *count, collage_message *message)
{
    struct host_context *host = context;
    struct error error = { 0 };
    collage_status status = code_get(&host->code, source, options, bytes, count, &error);
    return status == COLLAGE_OK ? status : message_set(message, status, "%s", error.text);
}

static collage_status host_make_named_code(void *context, const char *name, const char *source,
                                           const char *const *options, void **bytes, size_t *count,
                                           collage_message *message)
{
    struct host_context *host = context;
    struct error error = { 0 };
    collage_status status =
        code_get_named(&host->code, name, source, options, bytes, count, &error);
    return status == COLLAGE_OK ? status : message_set(message, status, "%s", error.text);
}

static bool make_host(struct registry *registry, collage_log_fn log, void *user)
{
    struct host_context *context = arena_alloc(registry->arena, sizeof *context);
    if (!context)
        return false;
    *context = (struct host_context){ .log = log, .user = user };
    registry->code = &context->code;
    registry->host = (collage_host){ .struct_size = sizeof registry->host,
                                     .context = context,
                                     .log = host_log,
                                     .export_onnx = host_export_onnx,
                                     .release = host_release,
                                     .make_code = host_make_code,
                                     .make_named_code = host_make_named_code };
    return true;
}

/* ---- the entries ---- */

/* The name of a plugin that cannot tell its own. */
static const char *name_of_file(struct arena *arena, const char *path)
{
    size_t length;
    const char *name = plugin_name_of_file(path, &length);
    return arena_format(arena, "%.*s", (int)length, name);
}

/* Was the name switched off in one of the first `count` parts of the list? */
static bool is_off(const struct plugin_list *list, size_t count, const char *name, size_t length)
{
    for (size_t k = 0; k < count; k++)
        if (list->items[k].off && strlen(list->items[k].text) == length &&
            strncmp(list->items[k].text, name, length) == 0)
            return true;
    return false;
}

/* Who has the name keeps it: whoever is named in the list replaces those that a folder holds. */
static void check_name(const struct registry *registry, const struct plugin_list *list,
                       size_t index, struct backend_entry *entry, struct error *problem)
{
    const char *name = entry->api->name;
    uint32_t found = registry_find(registry, name);
    if (is_off(list, index, name, strlen(name))) {
        error_set(problem, COLLAGE_ERROR_BACKEND, REGISTRY_OFF);
        entry->off = true;
    } else if (found != UINT32_MAX && registry->entries[found].api &&
               registry->entries[found].named && !list->items[index].named) {
        error_set(problem, COLLAGE_ERROR_BACKEND, "replaced by '%.300s'",
                  registry->entries[found].file);
    } else if (found != UINT32_MAX && registry->entries[found].api) {
        error_set(problem, COLLAGE_ERROR_BACKEND,
                  "a backend of the name '%s' is there already: give the plugin another name",
                  name);
        entry->api = NULL; /* listed by its file's name */
    }
}

static collage_status add_plugin(struct registry *registry, const struct plugin_list *list,
                                 size_t index, struct error *error)
{
    const char *path = list->items[index].text;
    struct error problem = { 0 };
    struct backend_entry entry = { .named = list->items[index].named, .version = "" };
    size_t length;
    const char *name = plugin_name_of_file(path, &length);
    collage_status status = COLLAGE_OK;
    if (is_off(list, index, name, length)) { /* not even loaded: that may be why it is off */
        error_set(&problem, COLLAGE_ERROR_BACKEND, REGISTRY_OFF);
        entry.off = true;
    } else {
        status = plugin_load(registry->arena, path, &entry.api, &entry.library, &problem);
    }
    if (status == COLLAGE_ERROR_MEMORY)
        return error_memory(error);
    if (entry.api)
        check_name(registry, list, index, &entry, &problem);
    entry.problem = arena_string(registry->arena, problem.text);
    entry.file = arena_string(registry->arena, path);
    entry.name = entry.api ? arena_string(registry->arena, entry.api->name)
                           : name_of_file(registry->arena, path);
    if (problem.status != COLLAGE_OK)
        entry.api = NULL;
    if (!entry.problem || !entry.file || !entry.name)
        return error_memory(error);
    registry->entries[registry->count++] = entry;
    return COLLAGE_OK;
}

static collage_status add_entries(struct registry *registry, const char *plugins,
                                  struct error *error)
{
    struct plugin_list list;
    collage_status status = plugin_list_make(plugins, &registry->host, &list, error);
    if (status == COLLAGE_OK) {
        registry->entries = arena_array(registry->arena, list.count + 1, sizeof *registry->entries);
        if (!registry->entries)
            status = error_memory(error);
    }
    if (status == COLLAGE_OK) {
        const collage_backend_api *reference = reference_backend();
        registry->entries[REGISTRY_REFERENCE] = (struct backend_entry){
            .api = reference, .name = reference->name, .file = "", .problem = "", .version = ""
        };
        registry->count = 1;
    }
    for (size_t k = 0; status == COLLAGE_OK && k < list.count; k++)
        if (!list.items[k].off)
            status = add_plugin(registry, &list, k, error);
    plugin_list_free(&list);
    return status;
}

collage_status registry_create(const char *plugins, collage_log_fn log, void *user,
                               struct registry **out, struct error *error)
{
    *out = NULL;
    struct registry *registry = memory_alloc(sizeof *registry);
    if (!registry)
        return error_memory(error);
    registry->arena = arena_create();
    collage_status status = registry->arena && make_host(registry, log, user)
                                ? add_entries(registry, plugins, error)
                                : error_memory(error);
    if (status != COLLAGE_OK) {
        registry_destroy(registry);
        return status;
    }
    *out = registry;
    return COLLAGE_OK;
}

void registry_destroy(struct registry *registry)
{
    if (!registry)
        return;
    for (uint32_t k = 0; k < registry->count; k++)
        if (registry->entries[k].open)
            registry->entries[k].api->close(registry->entries[k].open);
    if (registry->code)
        code_free(registry->code);
    if (registry->arena)
        arena_destroy(registry->arena);
    memory_free(registry);
}

uint32_t registry_find(const struct registry *registry, const char *name)
{
    uint32_t malformed = UINT32_MAX;
    for (uint32_t k = 0; k < registry->count; k++) {
        if (strcmp(registry->entries[k].name, name) != 0)
            continue;
        if (registry->entries[k].api)
            return k;
        malformed = malformed == UINT32_MAX ? k : malformed;
    }
    return malformed;
}

/* ---- the thread contract ---- */

/* Too late for libgomp if it is loaded already: it has read its variables. */
static void warn_if_too_late(const struct registry *registry, const char *backend, const char *name)
{
    if (strncmp(name, "GOMP_", 5) != 0)
        return;
    void *libgomp = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!libgomp)
        return;
    dlclose(libgomp);
    char line[512];
    snprintf(
        line, sizeof line,
        "libgomp was loaded before %.128s could be set for backend %.32s: its idle threads may "
        "spin; set %.128s before starting this program",
        name, backend, name);
    registry->host.log(registry->host.context, COLLAGE_LOG_WARNING, line);
}

/* Replaces the first "{threads}" of value. */
static void expand_threads(const char *value, int32_t threads, char *out, size_t size)
{
    static const char mark[] = "{threads}";
    const char *at = strstr(value, mark);
    if (at)
        snprintf(out, size, "%.*s%d%s", (int)(at - value), value, threads, at + strlen(mark));
    else
        snprintf(out, size, "%s", value);
}

static void set_variable(const struct registry *registry, const char *backend,
                         const char *assignment, int32_t threads)
{
    char name[256], value[512];
    const char *equals = strchr(assignment, '=');
    snprintf(name, sizeof name, "%.*s", (int)(equals - assignment), assignment);
    if (getenv(name))
        return;
    warn_if_too_late(registry, backend, name);
    expand_threads(equals + 1, threads, value, sizeof value);
    if (setenv(name, value, 0) != 0)
        registry->host.log(registry->host.context, COLLAGE_LOG_WARNING,
                           "out of memory while setting the environment of a backend");
}

void registry_set_environment(const struct registry *registry, int32_t threads)
{
    for (uint32_t k = 0; k < registry->count; k++) {
        const struct backend_entry *entry = &registry->entries[k];
        if (!entry->api || !entry->api->environment)
            continue;
        for (size_t v = 0; entry->api->environment[v]; v++)
            set_variable(registry, entry->name, entry->api->environment[v], threads);
    }
}

/* ---- the library ---- */

collage_status registry_open(struct registry *registry, uint32_t index,
                             const collage_target *target, struct error *error)
{
    struct backend_entry *entry = &registry->entries[index];
    if (entry->open)
        return COLLAGE_OK;
    if (!entry->api || entry->problem[0])
        return error_set(error, COLLAGE_ERROR_BACKEND, "backend %s: %s", entry->name,
                         entry->problem);
    collage_message message = { "" };
    collage_backend *backend = NULL;
    collage_status status = entry->api->open(&registry->host, target, &backend, &message);
    message.text[sizeof message.text - 1] = '\0';
    if (status == COLLAGE_OK && !backend)
        status = message_set(&message, COLLAGE_ERROR_BACKEND, "opens without a handle");
    if (status == COLLAGE_ERROR_MEMORY) /* no problem of the library: there may be more later */
        return error_from_message(error, status, entry->name, &message);
    if (status != COLLAGE_OK) {
        const char *problem = arena_string(
            registry->arena, message.text[0] ? message.text : "the library does not open");
        if (!problem)
            return error_memory(error);
        entry->problem = problem;
        return error_set(error, status, "backend %s: %s", entry->name, problem);
    }
    const char *version = entry->api->version(backend);
    version = arena_string(registry->arena, version ? version : "");
    if (!version) {
        entry->api->close(backend);
        return error_memory(error);
    }
    entry->version = version;
    entry->open = backend;
    return COLLAGE_OK;
}

bool registry_set_version(struct registry *registry, uint32_t index, const char *version,
                          const char *problem)
{
    const char *version_copy = arena_string(registry->arena, version);
    const char *problem_copy = arena_string(registry->arena, problem);
    if (!version_copy || !problem_copy)
        return false;
    registry->entries[index].version = version_copy;
    registry->entries[index].problem = problem_copy;
    return true;
}

/* ---- the machine ---- */

#if defined(__x86_64__)
/* AVX-VNNI, which compilers know by name only since GCC 12: leaf 7, sub-leaf 1, EAX bit 4. With
 * AVX2 in use, the system saves its registers. */
static bool has_avx_vnni(void)
{
    enum { LEAF = 7, AVX_VNNI = 1 << 4 };
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__builtin_cpu_supports("avx2") || !__get_cpuid_count(LEAF, 0, &a, &b, &c, &d) || a < 1)
        return false;
    return __get_cpuid_count(LEAF, 1, &a, &b, &c, &d) && (a & AVX_VNNI) != 0;
}
#endif

collage_target registry_host_target(int32_t threads)
{
    collage_target target = { .struct_size = sizeof target,
                              .threads = threads > 0 ? threads : machine_usable_cores() };
#if defined(__x86_64__)
    target.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    target.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    target.vnni = __builtin_cpu_supports("avx512vnni") || has_avx_vnni();
#endif
    return target;
}
