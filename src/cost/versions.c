/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cost/store_internal.h"

static const char query[] = "SELECT DISTINCT version FROM costs WHERE device = ?1 AND backend = ?2"
                            " AND threads = ?3 AND working_set_log2 = ?4";

static int bind_conditions(sqlite3_stmt *statement, const struct cost_conditions *conditions)
{
    int code = sqlite3_bind_text(statement, 1, conditions->device, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 2, conditions->backend, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(statement, 3, conditions->threads);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 4, conditions->working_set_log2);
    return code;
}

/* 1.10 comes after 1.9. */
static bool take_newest(sqlite3_stmt *row, struct arena *arena, const char **version)
{
    const char *text = (const char *)sqlite3_column_text(row, 0);
    if (!text || (*version)[0] == '\0' || strverscmp(text, *version) > 0)
        *version = arena_string(arena, text ? text : "");
    return *version != NULL;
}

collage_status cost_store_find_version(struct cost_store *store,
                                       const struct cost_conditions *conditions,
                                       struct arena *arena, const char **version,
                                       struct error *error)
{
    sqlite3_stmt *statement = NULL;
    collage_status status = COLLAGE_OK;
    *version = "";
    int code = sqlite3_prepare_v2(store->database, query, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = bind_conditions(statement, conditions);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    for (; code == SQLITE_ROW && status == COLLAGE_OK; code = sqlite3_step(statement))
        if (!take_newest(statement, arena, version)) {
            *version = "";
            status = error_memory(error);
        }
    if (status == COLLAGE_OK && code != SQLITE_DONE)
        status = store_error(store, code, error);
    sqlite3_finalize(statement);
    return status;
}
