/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/races.h"

#include "cost/store_internal.h"

static collage_status read_record(sqlite3_stmt *row, struct arena *arena,
                                  struct race_record *record, struct error *error)
{
    const unsigned char *failure = sqlite3_column_text(row, 1);
    const void *samples = sqlite3_column_blob(row, 4);
    size_t bytes = (size_t)sqlite3_column_bytes(row, 4);
    *record = (struct race_record){
        .failure = arena_string(arena, failure ? (const char *)failure : ""),
        .samples = arena_copy(arena, samples, bytes),
        .sample_count = bytes / sizeof(double),
        .peak_bytes = (uint64_t)sqlite3_column_int64(row, 3),
        .worst_error = sqlite3_column_double(row, 2),
        .steps_ns = sqlite3_column_double(row, 5),
        .again = sqlite3_column_double(row, 6),
    };
    return record->failure && record->samples ? COLLAGE_OK : error_memory(error);
}

collage_status cost_store_get_race(struct cost_store *store, struct hash key, struct arena *arena,
                                   struct race_record *records, size_t count, bool *found,
                                   struct error *error)
{
    *found = false;
    char text[33];
    hash_print(key, text);
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->database,
                                  "SELECT races.contestant, failure, worst_error, peak_bytes,"
                                  " samples, steps_ns, ifnull(again, 0)"
                                  " FROM races LEFT JOIN heats USING (key, contestant)"
                                  " WHERE races.key = ?1 ORDER BY races.contestant",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
    collage_status status = COLLAGE_OK;
    size_t rows = 0;
    while (code == SQLITE_OK && status == COLLAGE_OK && rows < count &&
           (code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = SQLITE_OK;
        if (sqlite3_column_int64(statement, 0) != (sqlite3_int64)rows)
            break;
        status = read_record(statement, arena, &records[rows++], error);
    }
    if (status == COLLAGE_OK && code != SQLITE_OK && code != SQLITE_DONE)
        status = store_error(store, code, error);
    sqlite3_finalize(statement);
    *found = status == COLLAGE_OK && rows == count;
    return status;
}

static int insert_record(sqlite3_stmt *statement, const char *key, size_t index,
                         const struct race_record *record)
{
    sqlite3_reset(statement);
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)index);
    sqlite3_bind_text(statement, 3, record->failure, -1, SQLITE_STATIC);
    sqlite3_bind_double(statement, 4, record->worst_error);
    sqlite3_bind_int64(statement, 5, (sqlite3_int64)record->peak_bytes);
    if (record->sample_count > 0)
        sqlite3_bind_blob64(statement, 6, record->samples,
                            record->sample_count * sizeof *record->samples, SQLITE_STATIC);
    else
        sqlite3_bind_zeroblob(statement, 6, 0);
    sqlite3_bind_double(statement, 7, record->steps_ns);
    int code = sqlite3_step(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int insert_heat(sqlite3_stmt *statement, const char *key, size_t index,
                       const struct race_record *record)
{
    sqlite3_reset(statement);
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)index);
    sqlite3_bind_double(statement, 3, record->again);
    int code = sqlite3_step(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* One statement, once for each record. */
static int insert_all(struct cost_store *store, const char *sql,
                      int (*insert)(sqlite3_stmt *, const char *, size_t,
                                    const struct race_record *),
                      const char *key, const struct race_record *records, size_t count)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL);
    for (size_t k = 0; k < count && code == SQLITE_OK; k++)
        code = insert(statement, key, k, &records[k]);
    sqlite3_finalize(statement);
    return code;
}

collage_status cost_store_put_race(struct cost_store *store, struct hash key,
                                   const struct race_record *records, size_t count,
                                   struct error *error)
{
    char text[33];
    hash_print(key, text);
    int code = sqlite3_exec(store->database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return store_error(store, code, error);
    code = insert_all(store, "INSERT OR REPLACE INTO races VALUES (?1,?2,?3,?4,?5,?6,?7)",
                      insert_record, text, records, count);
    if (code == SQLITE_OK)
        code = insert_all(store, "INSERT OR REPLACE INTO heats VALUES (?1,?2,?3)", insert_heat,
                          text, records, count);
    if (code == SQLITE_OK)
        code = sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        return COLLAGE_OK;
    collage_status status = store_error(store, code, error);
    (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return status;
}
