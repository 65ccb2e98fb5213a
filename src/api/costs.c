/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handles.h"
#include "base/file.h"
#include "cost/exchange.h"
#include "cost/manage.h"

collage_status collage_costs_export(collage_context *context, const char *path, uint64_t *count)
{
    struct error *error = context_begin(context);
    struct cost_store *store;
    struct text text = { 0 };
    if (!path || !count)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_costs_export: a pointer is NULL");
    collage_status status = cost_store_open(context->cache_directory, &store, error);
    if (status != COLLAGE_OK)
        return status;
    status = cost_store_export(store, &text, count, error);
    cost_store_close(store);
    if (status == COLLAGE_OK)
        status =
            text.failed ? error_memory(error) : file_write(path, text.bytes, text.count, error);
    text_free(&text);
    return status;
}

collage_status collage_costs_import(collage_context *context, const char *path, bool replace,
                                    uint64_t *count)
{
    struct error *error = context_begin(context);
    struct cost_store *store;
    struct mapping file;
    if (!path || !count)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_costs_import: a pointer is NULL");
    collage_status status = file_map(path, &file, error);
    if (status != COLLAGE_OK)
        return status;
    status = cost_store_open(context->cache_directory, &store, error);
    if (status == COLLAGE_OK) {
        status = cost_store_import(store, file.data, file.bytes, path,
                                   replace ? COST_IS_REPLACED : COST_STAYS, count, error);
        cost_store_close(store);
    }
    file_unmap(&file);
    return status;
}

collage_status collage_costs_merge(collage_context *context, const char *path, bool replace,
                                   uint64_t *count)
{
    struct error *error = context_begin(context);
    struct cost_store *store;
    if (!path || !count)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_costs_merge: a pointer is NULL");
    collage_status status = cost_store_open(context->cache_directory, &store, error);
    if (status != COLLAGE_OK)
        return status;
    status =
        cost_store_merge(store, path, replace ? COST_IS_REPLACED : COST_BETTER_WINS, count, error);
    cost_store_close(store);
    return status;
}

/* ---- costs that fit ---- */

/* A filter as the store takes it, and what it points to. */
struct selection {
    struct cost_filter filter;
    struct device_facts here;
    struct cost_library *installed;
};

/* The versions are asked for in a worker, all at once. */
static collage_status find_installed(collage_context *context, struct selection *selection,
                                     struct error *error)
{
    size_t count = collage_backend_count(context);
    selection->installed = memory_alloc((count + 1) * sizeof *selection->installed);
    if (!selection->installed)
        return error_memory(error);
    for (size_t k = 0; k < count; k++) {
        collage_backend_info info = { .struct_size = sizeof info };
        collage_status status = collage_backend_describe(context, k, &info);
        if (status != COLLAGE_OK)
            return status;
        selection->installed[k] =
            (struct cost_library){ .backend = info.name,
                                   .version = info.problem[0] ? NULL : info.version };
    }
    selection->filter.installed = selection->installed;
    selection->filter.installed_count = count;
    return COLLAGE_OK;
}

static collage_status select_costs(collage_context *context, const collage_costs_filter *wanted,
                                   struct selection *selection, struct error *error)
{
    *selection = (struct selection){ .installed = NULL };
    if (!wanted)
        return COLLAGE_OK;
    struct cost_filter *filter = &selection->filter;
    filter->backend = wanted->backend;
    filter->op_type = wanted->op_type;
    filter->device = wanted->device;
    filter->older_seconds = wanted->older_seconds > 0 ? wanted->older_seconds : 0;
    filter->failed = wanted->failed;
    bool here = wanted->device && strcmp(wanted->device, "here") == 0;
    if (!here && !wanted->uninstalled)
        return COLLAGE_OK;
    collage_status status = device_facts_read(&selection->here, error);
    if (status != COLLAGE_OK)
        return status;
    if (here || !filter->device)
        filter->device = selection->here.fingerprint;
    if (strcmp(filter->device, selection->here.fingerprint) != 0)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "what is installed here says nothing about machine '%s'", wanted->device);
    return wanted->uninstalled ? find_installed(context, selection, error) : COLLAGE_OK;
}

static bool asks_for_nothing(const collage_costs_filter *filter)
{
    return !filter->backend && !filter->op_type && !filter->device && !filter->failed &&
           !filter->uninstalled && !(filter->older_seconds > 0);
}

collage_status collage_costs_list(collage_context *context, const collage_costs_filter *filter,
                                  collage_write_fn write, void *user, uint64_t *count)
{
    struct error *error = context_begin(context);
    struct cost_store *store = NULL;
    struct selection selection;
    struct text text = { 0 };
    if (!write || !count || (filter && filter->struct_size < sizeof *filter))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_costs_list: a pointer is NULL or struct_size is not set");
    collage_status status = select_costs(context, filter, &selection, error);
    if (status == COLLAGE_OK)
        status = cost_store_open(context->cache_directory, &store, error);
    if (status == COLLAGE_OK)
        status = cost_store_list(store, &selection.filter, &text, count, error);
    const bool any = status == COLLAGE_OK && *count > 0;
    if (any)
        status = device_facts_read(&selection.here, error);
    if (any && status == COLLAGE_OK)
        status = cost_store_list_devices(store, &selection.filter, &selection.here, &text, error);
    cost_store_close(store);
    if (status == COLLAGE_OK)
        status = hand_over(&text, write, user, error);
    text_free(&text);
    memory_free(selection.installed);
    return status;
}

collage_status collage_costs_prune(collage_context *context, const collage_costs_filter *filter,
                                   uint64_t *removed, uint64_t *left)
{
    struct error *error = context_begin(context);
    struct cost_store *store = NULL;
    struct selection selection;
    if (!filter || !removed || !left || filter->struct_size < sizeof *filter)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_costs_prune: a pointer is NULL or struct_size is not set");
    if (asks_for_nothing(filter))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "which costs are to go? say how old, of which backend, or the like");
    collage_status status = select_costs(context, filter, &selection, error);
    if (status == COLLAGE_OK)
        status = cost_store_open(context->cache_directory, &store, error);
    if (status == COLLAGE_OK)
        status = cost_store_prune(store, &selection.filter, removed, left, error);
    cost_store_close(store);
    memory_free(selection.installed);
    return status;
}
