/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <sqlite3.h>

enum { BUSY_MILLISECONDS = 20000 };

/* The conditions lead both keys, so that one scan lists what a machine knows of a library. */
static const char schema[] =
    "CREATE TABLE costs ("
    " device TEXT NOT NULL, backend TEXT NOT NULL, version TEXT NOT NULL, threads INTEGER NOT NULL,"
    " working_set_log2 INTEGER NOT NULL, key TEXT NOT NULL,"
    " description TEXT NOT NULL, failed INTEGER NOT NULL,"
    " cost_ns REAL, minimum_ns REAL, low_ns REAL, high_ns REAL, samples INTEGER NOT NULL,"
    " error REAL, weight_bytes INTEGER NOT NULL, scratch_bytes INTEGER NOT NULL,"
    " inplace TEXT NOT NULL, implementation TEXT NOT NULL, reason TEXT NOT NULL,"
    " passes INTEGER NOT NULL,"
    " PRIMARY KEY (device, backend, version, threads, working_set_log2, key)) WITHOUT ROWID;"
    "CREATE TABLE races (key TEXT NOT NULL, contestant INTEGER NOT NULL, failure TEXT NOT NULL,"
    " worst_error REAL, peak_bytes INTEGER NOT NULL, samples BLOB NOT NULL,"
    " steps_ns REAL,"
    " PRIMARY KEY (key, contestant));"
    "CREATE TABLE facts ("
    " device TEXT NOT NULL, backend TEXT NOT NULL, version TEXT NOT NULL, threads INTEGER NOT NULL,"
    " working_set_log2 INTEGER NOT NULL, key TEXT NOT NULL, value REAL NOT NULL,"
    " PRIMARY KEY (device, backend, version, threads, working_set_log2, key)) WITHOUT ROWID;";

/*
 * Since when the store has a cost: measured or taken in. Beside the schema, whose version stays: a
 * store that has no such table gets one, and what is in it by then counts as new. Triggers keep it,
 * whoever writes.
 */
#define KEY_OF(row)                                                                                \
    row ".device, " row ".backend, " row ".version, " row ".threads, " row                         \
        ".working_set_log2, " row ".key"
#define SAME_AS(row)                                                                               \
    " WHERE device = " row ".device AND backend = " row ".backend AND version = " row              \
    ".version AND threads = " row ".threads AND working_set_log2 = " row                           \
    ".working_set_log2 AND key = " row ".key"
/* No "INSERT OR REPLACE": in a trigger the conflict clause of the statement that fired it counts.
 */
#define STAMP(event, name)                                                                         \
    "CREATE TRIGGER IF NOT EXISTS " name " AFTER " event                                           \
    " ON costs BEGIN DELETE FROM ages" SAME_AS("NEW") "; INSERT INTO ages VALUES (" KEY_OF(        \
        "NEW") ", strftime('%s', 'now')); END;"
/* clang-format off */
static const char ages[] =
    "CREATE TABLE IF NOT EXISTS ages ("
    " device TEXT NOT NULL, backend TEXT NOT NULL, version TEXT NOT NULL, threads INTEGER NOT NULL,"
    " working_set_log2 INTEGER NOT NULL, key TEXT NOT NULL, since INTEGER NOT NULL,"
    " PRIMARY KEY (device, backend, version, threads, working_set_log2, key)) WITHOUT ROWID;"
    STAMP("INSERT", "cost_came")
    STAMP("UPDATE", "cost_changed")
    "CREATE TRIGGER IF NOT EXISTS cost_went AFTER DELETE ON costs BEGIN"
    " DELETE FROM ages" SAME_AS("OLD") "; END;"
    "INSERT INTO ages SELECT " KEY_OF("costs") ", strftime('%s', 'now') FROM costs"
    " WHERE NOT EXISTS (SELECT 1 FROM ages);";
/* clang-format on */

/* Races that were run again in new processes (races.h, `again`). Beside the schema, too. */
static const char heats[] =
    "CREATE TABLE IF NOT EXISTS heats (key TEXT NOT NULL, contestant INTEGER NOT NULL,"
    " again REAL NOT NULL, PRIMARY KEY (key, contestant));";

/* Parameters 1 to 6 are the same in all statements: see bind_key. */
#define WHERE_KEY                                                                                  \
    " WHERE device = ?1 AND backend = ?2 AND version = ?3 AND threads = ?4"                        \
    " AND working_set_log2 = ?5 AND key = ?6"

static const char *const statement_text[STATEMENT_COUNT] = {
    [GET_COST] = "SELECT failed, cost_ns, minimum_ns, low_ns, high_ns, samples, error,"
                 " weight_bytes, scratch_bytes, inplace, implementation, reason, passes FROM "
                 "costs" WHERE_KEY,
    [PUT_COST] = "INSERT OR REPLACE INTO costs VALUES"
                 " (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20)",
    [GET_FACT] = "SELECT value FROM facts" WHERE_KEY,
    [PUT_FACT] = "INSERT OR REPLACE INTO facts VALUES (?1,?2,?3,?4,?5,?6,?7)",
};

const char *cost_store_warning(const struct cost_store *store)
{
    return store->warning;
}

collage_status store_error(const struct cost_store *store, int code, struct error *error)
{
    if (code == SQLITE_NOMEM)
        return error_memory(error);
    return error_set(error, COLLAGE_ERROR_IO, "cost store '%s': %s", store->path,
                     store->database ? sqlite3_errmsg(store->database) : sqlite3_errstr(code));
}

static bool is_damage(int code)
{
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

/* ---- opening ---- */

static void close_database(struct cost_store *store)
{
    for (size_t k = 0; k < STATEMENT_COUNT; k++) {
        sqlite3_finalize(store->statements[k]);
        store->statements[k] = NULL;
    }
    sqlite3_close(store->database);
    store->database = NULL;
}

static int run_sql(struct cost_store *store, const char *sql)
{
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL);
}

/* The first column of the first row as text; "" if there is none. */
int store_query_text(struct cost_store *store, const char *sql, char *text, size_t size)
{
    text[0] = '\0';
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const unsigned char *value = sqlite3_column_text(statement, 0);
        snprintf(text, size, "%s", value ? (const char *)value : "");
        code = SQLITE_OK;
    } else if (code == SQLITE_DONE) {
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code;
}

/* Opens the file and makes sure that it is a sound database: SQLITE_CORRUPT or _NOTADB if not. */
static int open_database(struct cost_store *store)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(store->path, &store->database, flags, NULL);
    if (code != SQLITE_OK)
        return code;
    sqlite3_busy_timeout(store->database, BUSY_MILLISECONDS);
    /* In WAL mode, NORMAL makes each commit safe against the death of the process. A power cut may
     * lose the last ones, but does not damage the file. */
    code = run_sql(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    if (code != SQLITE_OK)
        return code;
    char answer[64];
    code = store_query_text(store, "PRAGMA quick_check(1)", answer, sizeof answer);
    if (code == SQLITE_OK && strcmp(answer, "ok") != 0)
        code = SQLITE_CORRUPT;
    return code;
}

/* SQLite's user_version, not 0: follows from the schema, so that nobody has to remember to raise
 * it.
 */
long cost_store_schema_version(void)
{
    return (long)(hash_of(schema, sizeof schema).low & 0x3fffffff) + 1;
}

/* *other: the file is of another format, and was left as it is. */
static collage_status prepare_schema(struct cost_store *store, bool *other, struct error *error)
{
    *other = false;
    char version[16];
    int code = run_sql(store, "BEGIN IMMEDIATE");
    if (code == SQLITE_OK)
        code = store_query_text(store, "PRAGMA user_version", version, sizeof version);
    if (code == SQLITE_OK && strcmp(version, "0") == 0) {
        char set_version[64];
        snprintf(set_version, sizeof set_version, "PRAGMA user_version = %ld",
                 cost_store_schema_version());
        code = run_sql(store, schema);
        if (code == SQLITE_OK)
            code = run_sql(store, set_version);
    } else if (code == SQLITE_OK && strtol(version, NULL, 10) != cost_store_schema_version()) {
        run_sql(store, "ROLLBACK");
        *other = true;
        return COLLAGE_OK;
    }
    if (code == SQLITE_OK)
        code = run_sql(store, ages);
    if (code == SQLITE_OK)
        code = run_sql(store, heats);
    if (code == SQLITE_OK)
        code = run_sql(store, "COMMIT");
    for (size_t k = 0; k < STATEMENT_COUNT && code == SQLITE_OK; k++)
        code = sqlite3_prepare_v3(store->database, statement_text[k], -1, SQLITE_PREPARE_PERSISTENT,
                                  &store->statements[k], NULL);
    if (code == SQLITE_OK)
        return COLLAGE_OK;
    collage_status status = store_error(store, code, error);
    run_sql(store, "ROLLBACK");
    return status;
}

/* Renames the file; its write-ahead log is of no use without it. what: "was damaged". */
static collage_status set_aside(struct cost_store *store, const char *suffix, const char *what,
                                struct error *error)
{
    size_t size = strlen(store->path) + 16;
    char *name = memory_alloc(size);
    if (!name)
        return error_memory(error);
    snprintf(name, size, "%s.%s", store->path, suffix);
    collage_status status = COLLAGE_OK;
    if (rename(store->path, name) != 0)
        status =
            error_set(error, COLLAGE_ERROR_IO, "cost store '%s' %s and cannot be set aside: %s",
                      store->path, what, strerror(errno));
    else
        snprintf(store->warning, sizeof store->warning,
                 "the cost store %s; it is now '%s', and costs are measured anew", what, name);
    static const char *const companions[] = { "-wal", "-shm" };
    for (size_t k = 0; k < 2 && status == COLLAGE_OK; k++) {
        snprintf(name, size, "%s%s", store->path, companions[k]);
        unlink(name);
    }
    memory_free(name);
    return status;
}

static collage_status open_file(struct cost_store *store, struct error *error)
{
    bool other = false;
    int code = open_database(store);
    if (is_damage(code)) {
        close_database(store);
        collage_status status = set_aside(store, "damaged", "was damaged", error);
        if (status != COLLAGE_OK)
            return status;
        code = open_database(store);
    }
    if (code != SQLITE_OK)
        return store_error(store, code, error);
    collage_status status = prepare_schema(store, &other, error);
    if (status != COLLAGE_OK || !other)
        return status;
    close_database(store);
    status = set_aside(store, "old", "was made by another version of Collage", error);
    code = status == COLLAGE_OK ? open_database(store) : SQLITE_OK;
    if (code != SQLITE_OK)
        return store_error(store, code, error);
    return status == COLLAGE_OK ? prepare_schema(store, &other, error) : status;
}

/* One process at a time opens, so that two do not both set a damaged file aside. */
static collage_status open_locked(struct cost_store *store, const char *directory,
                                  struct error *error)
{
    size_t size = strlen(directory) + 32;
    char *lock_path = memory_alloc(size);
    store->path = memory_alloc(size);
    if (!lock_path || !store->path) {
        memory_free(lock_path);
        return error_memory(error);
    }
    snprintf(store->path, size, "%s/costs.sqlite", directory);
    snprintf(lock_path, size, "%s/costs.lock", directory);
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    memory_free(lock_path);
    if (lock < 0)
        return error_set(
            error, COLLAGE_ERROR_IO,
            "cannot write in the cache directory '%s': %s; set COLLAGE_CACHE to another", directory,
            strerror(errno));
    while (flock(lock, LOCK_EX) != 0 && errno == EINTR)
        ;
    collage_status status = open_file(store, error);
    close(lock);
    return status;
}

static collage_status open_in_memory(struct cost_store *store, struct error *error)
{
    store->path = memory_copy_string(":memory:");
    return store->path ? open_file(store, error) : error_memory(error);
}

static collage_status make_directory(const char *directory, struct error *error)
{
    struct error own = { 0 };
    collage_status status = file_make_directory(directory, &own);
    if (status == COLLAGE_ERROR_IO)
        return error_set(error, status, "%s; set COLLAGE_CACHE to another", own.text);
    return status == COLLAGE_OK ? status : error_set(error, status, "%s", own.text);
}

collage_status cost_store_open(const char *directory, struct cost_store **out, struct error *error)
{
    *out = NULL;
    struct cost_store *store = memory_alloc(sizeof *store);
    if (!store)
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    if (directory) {
        status = make_directory(directory, error);
        if (status == COLLAGE_OK)
            status = open_locked(store, directory, error);
    } else {
        status = open_in_memory(store, error);
    }
    if (status != COLLAGE_OK) {
        cost_store_close(store);
        return status;
    }
    *out = store;
    return COLLAGE_OK;
}

void cost_store_close(struct cost_store *store)
{
    if (!store)
        return;
    close_database(store);
    memory_free(store->path);
    memory_free(store);
}

/* ---- reading and writing ---- */

static int bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    return sqlite3_bind_text(statement, at, text ? text : "", -1, SQLITE_TRANSIENT);
}

/* One line: what a library says may hold anything, but is shown, exported and taken in again. */
static int bind_line(sqlite3_stmt *statement, int at, const char *text)
{
    char line[1024];
    collage_printable(line, sizeof line, text ? text : "");
    return bind_text(statement, at, line);
}

static sqlite3_stmt *bind_key(struct cost_store *store, enum statement which, const char *key,
                              const struct cost_conditions *conditions)
{
    sqlite3_stmt *statement = store->statements[which];
    bind_text(statement, 1, conditions->device);
    bind_text(statement, 2, conditions->backend);
    bind_text(statement, 3, conditions->version);
    sqlite3_bind_int(statement, 4, conditions->threads);
    sqlite3_bind_int64(statement, 5, conditions->working_set_log2);
    bind_text(statement, 6, key);
    return statement;
}

static void release(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

static void print_inplace(const struct cost *cost, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k < 2 * cost->inplace_count && k < 8 && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, k ? " %u" : "%u", cost->inplace[k]);
}

static void parse_inplace(const char *text, struct cost *cost)
{
    uint32_t count = 0;
    char *end;
    for (; count < 8; count++, text = end) {
        unsigned long value = strtoul(text, &end, 10);
        if (end == text || value > UINT32_MAX)
            break;
        cost->inplace[count] = (uint32_t)value;
    }
    cost->inplace_count = count / 2;
}

static const char *column_string(sqlite3_stmt *statement, int at, struct arena *arena)
{
    const unsigned char *text = sqlite3_column_text(statement, at);
    return arena_string(arena, text ? (const char *)text : "");
}

static bool read_cost(sqlite3_stmt *row, struct arena *arena, struct cost *cost)
{
    cost->state = sqlite3_column_int(row, 0) ? COST_FAILED : COST_MEASURED;
    double *const numbers[] = { &cost->cost_ns, &cost->minimum_ns, &cost->low_ns, &cost->high_ns };
    for (int k = 0; k < 4; k++)
        *numbers[k] = sqlite3_column_double(row, 1 + k);
    cost->sample_count = (uint32_t)sqlite3_column_int64(row, 5);
    cost->error = sqlite3_column_double(row, 6);
    cost->weight_bytes = (uint64_t)sqlite3_column_int64(row, 7);
    cost->scratch_bytes = (uint64_t)sqlite3_column_int64(row, 8);
    const unsigned char *inplace = sqlite3_column_text(row, 9);
    parse_inplace(inplace ? (const char *)inplace : "", cost);
    cost->implementation = column_string(row, 10, arena);
    cost->reason = column_string(row, 11, arena);
    cost->passes = (uint32_t)sqlite3_column_int64(row, 12);
    return cost->implementation && cost->reason;
}

collage_status cost_store_get(struct cost_store *store, struct hash key,
                              const struct cost_conditions *conditions, struct arena *arena,
                              struct cost *cost, struct error *error)
{
    *cost = (struct cost){ .state = COST_UNKNOWN, .implementation = "", .reason = "" };
    char text[33];
    hash_print(key, text);
    sqlite3_stmt *statement = bind_key(store, GET_COST, text, conditions);
    int code = sqlite3_step(statement);
    collage_status status = COLLAGE_OK;
    if (code == SQLITE_ROW) {
        if (!read_cost(statement, arena, cost))
            status = error_memory(error);
    } else if (code != SQLITE_DONE) {
        status = store_error(store, code, error);
    }
    release(statement);
    return status;
}

collage_status cost_store_put(struct cost_store *store, struct hash key,
                              const struct cost_conditions *conditions, const char *description,
                              const struct cost *cost, struct error *error)
{
    char text[33], inplace[128];
    hash_print(key, text);
    print_inplace(cost, inplace, sizeof inplace);
    sqlite3_stmt *statement = bind_key(store, PUT_COST, text, conditions);
    bind_text(statement, 7, description);
    sqlite3_bind_int(statement, 8, cost->state == COST_FAILED);
    const double numbers[] = { cost->cost_ns, cost->minimum_ns, cost->low_ns, cost->high_ns };
    for (int k = 0; k < 4; k++)
        sqlite3_bind_double(statement, 9 + k, numbers[k]);
    sqlite3_bind_int64(statement, 13, cost->sample_count);
    sqlite3_bind_double(statement, 14, isnan(cost->error) ? (double)INFINITY : cost->error);
    sqlite3_bind_int64(statement, 15, (sqlite3_int64)cost->weight_bytes);
    sqlite3_bind_int64(statement, 16, (sqlite3_int64)cost->scratch_bytes);
    bind_text(statement, 17, inplace);
    bind_text(statement, 18, cost->implementation);
    bind_line(statement, 19, cost->reason);
    sqlite3_bind_int64(statement, 20, cost->passes);
    int code = sqlite3_step(statement);
    collage_status status = code == SQLITE_DONE ? COLLAGE_OK : store_error(store, code, error);
    release(statement);
    return status;
}

collage_status cost_store_get_fact(struct cost_store *store, const char *key,
                                   const struct cost_conditions *conditions, bool *found,
                                   double *value, struct error *error)
{
    *found = false;
    *value = 0;
    sqlite3_stmt *statement = bind_key(store, GET_FACT, key, conditions);
    int code = sqlite3_step(statement);
    collage_status status = COLLAGE_OK;
    if (code == SQLITE_ROW) {
        *found = true;
        *value = sqlite3_column_double(statement, 0);
    } else if (code != SQLITE_DONE) {
        status = store_error(store, code, error);
    }
    release(statement);
    return status;
}

collage_status cost_store_put_fact(struct cost_store *store, const char *key,
                                   const struct cost_conditions *conditions, double value,
                                   struct error *error)
{
    if (!isfinite(value))
        return error_set(error, COLLAGE_ERROR_INTERNAL, "fact '%s' is not a number", key);
    sqlite3_stmt *statement = bind_key(store, PUT_FACT, key, conditions);
    sqlite3_bind_double(statement, 7, value);
    int code = sqlite3_step(statement);
    collage_status status = code == SQLITE_DONE ? COLLAGE_OK : store_error(store, code, error);
    release(statement);
    return status;
}
