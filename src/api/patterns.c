/* SPDX-License-Identifier: Apache-2.0 */
#include "api/patterns.h"

#include <stdio.h>
#include <string.h>

#include "api/registration.h"

/* ---- files that an optimisation takes ---- */

/* The name was met in an entry before this one. */
static bool is_named_before(const struct pattern_file *file, uint32_t entry, const char *name)
{
    for (uint32_t e = 0; e < entry; e++)
        for (uint32_t b = 0; b < file->entries[e].backend_count; b++)
            if (strcmp(file->entries[e].backends[b], name) == 0)
                return true;
    return false;
}

static void warn_of_backend(const collage_context *context, const char *path, const char *name)
{
    char text[160];
    snprintf(text, sizeof text, "there is no backend '%.64s' here; what is for it is left out",
             name);
    registration_warn(context, path, text);
}

/* A file may be for several machines, so this is no error; a slip of the pen should be seen. */
static void warn_of_backends(const collage_context *context, const struct pattern_file *file)
{
    for (uint32_t e = 0; e < file->count; e++)
        for (uint32_t b = 0; b < file->entries[e].backend_count; b++) {
            const char *name = file->entries[e].backends[b];
            if (registry_find(context->registry, name) == UINT32_MAX &&
                !is_named_before(file, e, name))
                warn_of_backend(context, file->path, name);
        }
}

static collage_status load(const collage_context *context, const char *path,
                           struct pattern_files *out, struct error *error)
{
    collage_status status = pattern_file_load(path, &out->items[out->count], error);
    if (status == COLLAGE_OK)
        warn_of_backends(context, out->items[out->count++]);
    return status;
}

static collage_status load_given(const collage_context *context, const char *const *paths,
                                 size_t count, struct pattern_files *out, struct error *error)
{
    for (size_t k = 0; k < count; k++) {
        if (!paths[k])
            return error_set(error, COLLAGE_ERROR_ARGUMENT, "pattern_files: a name is NULL");
        collage_status status = load(context, paths[k], out, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

static collage_status make_room(const char *const *paths, size_t count, size_t registered,
                                struct pattern_files *out, struct error *error)
{
    *out = (struct pattern_files){ .count = 0 };
    if ((!paths && count > 0) || count > 1024)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "pattern_files: a pointer is NULL, or there are more than 1024");
    out->items = memory_alloc((count + registered + 1) * sizeof(struct pattern_file *));
    return out->items ? COLLAGE_OK : error_memory(error);
}

collage_status pattern_files_load_given(const collage_context *context, const char *const *paths,
                                        size_t count, struct pattern_files *out,
                                        struct error *error)
{
    collage_status status = make_room(paths, count, 0, out, error);
    return status == COLLAGE_OK ? load_given(context, paths, count, out, error) : status;
}

collage_status pattern_files_load(const collage_context *context, const char *const *paths,
                                  size_t count, struct pattern_files *out, struct error *error)
{
    const struct registered *registered = &context->registered;
    collage_status status = make_room(paths, count, registered->count, out, error);
    for (size_t k = 0; k < registered->count && status == COLLAGE_OK; k++) {
        const struct registered_entry *entry = &registered->items[k];
        struct error problem = { 0 };
        if (entry->kind != REGISTERED_PATTERNS || !registration_fits(context, entry))
            continue;
        if (load(context, entry->path, out, &problem) == COLLAGE_ERROR_MEMORY)
            status = error_memory(error);
        else if (problem.status != COLLAGE_OK)
            registration_warn(context, "registered patterns are left out", problem.text);
    }
    return status == COLLAGE_OK ? load_given(context, paths, count, out, error) : status;
}

void pattern_files_free(struct pattern_files *files)
{
    for (size_t k = 0; k < files->count; k++)
        pattern_file_destroy(files->items[k]);
    memory_free(files->items);
    *files = (struct pattern_files){ .count = 0 };
}

/* ---- looking at a file ---- */

static const char *kind_name(enum pattern_entry_kind kind)
{
    static const char *const names[] = {
        [ENTRY_PATTERN] = "pattern", [ENTRY_CHAIN] = "chain", [ENTRY_RULE] = "rule"
    };
    return names[kind];
}

static void print_entry(const struct pattern_entry *entry, struct text *text)
{
    text_format(text, "%s %s: ", kind_name(entry->kind), entry->name);
    if (entry->kind == ENTRY_PATTERN)
        text_format(text, "%u operators, forms: %u", entry->forms[0].node_count, entry->form_count);
    else if (entry->kind == ENTRY_RULE)
        text_format(text, "%u operators, pairs: %u, up to %u nodes", entry->rule.operator_count,
                    entry->rule.pair_count, entry->rule.nodes);
    else
        text_string(text, "a chain");
    text_string(text, "; target: ");
    pattern_entry_print_target(entry, text);
    text_string(text, "; backends:");
    for (uint32_t k = 0; k < entry->backend_count; k++)
        text_format(text, " %s", entry->backends[k]);
    text_string(text, "\n");
}

collage_status collage_patterns_check(collage_context *context, const char *path,
                                      collage_write_fn write, void *user)
{
    struct error *error = context_begin(context);
    struct pattern_files files;
    struct text text = { 0 };
    if (!path || !write)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_patterns_check: a pointer is NULL");
    collage_status status = pattern_files_load_given(context, &path, 1, &files, error);
    if (status == COLLAGE_OK) {
        for (uint32_t k = 0; k < files.items[0]->count; k++)
            print_entry(&files.items[0]->entries[k], &text);
        text_format(&text, "%u entries are well-formed.\n", files.items[0]->count);
        status = hand_over(&text, write, user, error);
    }
    text_free(&text);
    pattern_files_free(&files);
    return status;
}

/* What the sets of one entry are written to. */
struct listing {
    const struct graph *graph;
    struct text sets;
    size_t count;
};

static bool list_set(void *user, const node_id *nodes, uint32_t count)
{
    struct listing *listing = user;
    text_string(&listing->sets, " ");
    for (uint32_t k = 0; k < count; k++)
        text_format(&listing->sets, " #%u", nodes[k]);
    text_string(&listing->sets, " ");
    for (uint32_t k = 0; k < count; k++)
        text_format(&listing->sets, " %s", listing->graph->nodes[nodes[k]].op->name);
    text_string(&listing->sets, "\n");
    listing->count++;
    return !listing->sets.failed;
}

static collage_status match_entry(const struct pattern_entry *entry, const struct graph *graph,
                                  const struct graph_uses *uses, struct text *text, size_t *total,
                                  struct error *error)
{
    struct listing listing = { .graph = graph };
    bool cut_off = false;
    collage_status status =
        pattern_entry_match(entry, graph, uses, list_set, &listing, &cut_off, error);
    if (status == COLLAGE_OK && listing.sets.failed)
        status = error_memory(error);
    text_format(text, "%s %s: %zu matches%s\n", kind_name(entry->kind), entry->name, listing.count,
                cut_off ? ", and there may be more: a limit was reached" : "");
    if (status == COLLAGE_OK && listing.count > 0)
        text_append(text, listing.sets.bytes, listing.sets.count);
    text_free(&listing.sets);
    *total += listing.count;
    return status;
}

static collage_status match_all(const struct pattern_file *file, const struct graph *graph,
                                struct text *text, struct error *error)
{
    struct graph_uses uses;
    size_t total = 0;
    collage_status status = graph_uses_build(graph, &uses, error);
    if (status != COLLAGE_OK)
        return status;
    for (uint32_t k = 0; k < file->count && status == COLLAGE_OK; k++)
        status = match_entry(&file->entries[k], graph, &uses, text, &total, error);
    text_format(text, "%u entries, %zu matches.\n", file->count, total);
    graph_uses_free(&uses);
    return status;
}

collage_status collage_patterns_match(collage_context *context, const collage_model *model,
                                      const char *path, collage_write_fn write, void *user)
{
    struct error *error = context_begin(context);
    struct pattern_files files;
    struct text text = { 0 };
    if (!model || !path || !write)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_patterns_match: a pointer is NULL");
    collage_status status = pattern_files_load_given(context, &path, 1, &files, error);
    if (status == COLLAGE_OK)
        status = match_all(files.items[0], model->graph, &text, error);
    if (status == COLLAGE_OK)
        status = hand_over(&text, write, user, error);
    text_free(&text);
    pattern_files_free(&files);
    return status;
}
