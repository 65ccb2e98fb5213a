/* SPDX-License-Identifier: Apache-2.0 */
#include "api/handles.h"
#include "base/file.h"
#include "cost/exchange.h"

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
        status = cost_store_import(store, file.data, file.bytes, path, replace, count, error);
        cost_store_close(store);
    }
    file_unmap(&file);
    return status;
}
