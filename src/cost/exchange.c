/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/exchange.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/printable.h"
#include "cost/store_internal.h"

#define FORMAT "collage-costs"
enum { VERSION = 1, TEXT_LIMIT = 4096, INPLACE_LIMIT = 8 };

/* The columns of the table costs, in its order: what a line's members are called and may hold. */
enum column_kind {
    COLUMN_TEXT,   /* no control characters, at most TEXT_LIMIT bytes */
    COLUMN_KEY,    /* 32 hexadecimal digits */
    COLUMN_COUNT,  /* an integer from 0 to 2^53 */
    COLUMN_SMALL,  /* an integer from 0 to 65535 */
    COLUMN_FLAG,   /* a boolean */
    COLUMN_TIME,   /* a finite number from 0 on */
    COLUMN_ERROR,  /* the same, or null for infinite */
    COLUMN_NUMBERS /* text of integers with spaces between; a list in a line */
};

static const struct {
    const char *name;
    enum column_kind kind;
} columns[] = {
    { "device", COLUMN_TEXT },
    { "backend", COLUMN_TEXT },
    { "version", COLUMN_TEXT },
    { "threads", COLUMN_SMALL },
    { "working_set_log2", COLUMN_SMALL },
    { "key", COLUMN_KEY },
    { "description", COLUMN_TEXT },
    { "failed", COLUMN_FLAG },
    { "cost_ns", COLUMN_TIME },
    { "minimum_ns", COLUMN_TIME },
    { "low_ns", COLUMN_TIME },
    { "high_ns", COLUMN_TIME },
    { "samples", COLUMN_COUNT },
    { "error", COLUMN_ERROR },
    { "weight_bytes", COLUMN_COUNT },
    { "scratch_bytes", COLUMN_COUNT },
    { "inplace", COLUMN_NUMBERS },
    { "implementation", COLUMN_TEXT },
    { "reason", COLUMN_TEXT },
    { "passes", COLUMN_COUNT },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- out ---- */

static json_t *list_of(const char *numbers)
{
    json_t *list = json_array();
    char *end;
    for (;; numbers = end) {
        long long number = strtoll(numbers, &end, 10);
        if (end == numbers || !list)
            return list;
        if (json_array_append_new(list, json_integer(number)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
}

static json_t *member_of(sqlite3_stmt *row, int column)
{
    double number;
    switch (columns[column].kind) {
    case COLUMN_TEXT:
    case COLUMN_KEY:
        return json_text((const char *)sqlite3_column_text(row, column));
    case COLUMN_COUNT:
    case COLUMN_SMALL:
        return json_integer(sqlite3_column_int64(row, column));
    case COLUMN_FLAG:
        return json_boolean(sqlite3_column_int(row, column));
    case COLUMN_NUMBERS: {
        const char *text = (const char *)sqlite3_column_text(row, column);
        return list_of(text ? text : "");
    }
    case COLUMN_TIME:
    case COLUMN_ERROR:
        break;
    }
    number = sqlite3_column_double(row, column);
    return isfinite(number) ? json_real(number) : json_null();
}

static bool print_row(sqlite3_stmt *row, struct text *text)
{
    json_t *line = json_object();
    bool fine = line != NULL;
    for (int k = 0; k < COLUMNS && fine; k++)
        fine = json_object_set_new(line, columns[k].name, member_of(row, k)) == 0;
    char *printed = fine ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(line);
    if (!printed)
        return false;
    text_format(text, "%s\n", printed);
    free(printed);
    return !text->failed;
}

collage_status cost_store_export(struct cost_store *store, struct text *text, uint64_t *count,
                                 struct error *error)
{
    static const char query[] =
        "SELECT device, backend, version, threads, working_set_log2, key, description, failed,"
        " cost_ns, minimum_ns, low_ns, high_ns, samples, error, weight_bytes, scratch_bytes,"
        " inplace, implementation, reason, passes FROM costs"
        " ORDER BY device, backend, version, threads, working_set_log2, key";
    sqlite3_stmt *statement = NULL;
    *count = 0;
    text_format(text, "{\"format\":\"" FORMAT "\",\"version\":%d}\n", VERSION);
    int code = sqlite3_prepare_v2(store->database, query, -1, &statement, NULL);
    collage_status status = COLLAGE_OK;
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    for (; code == SQLITE_ROW && status == COLLAGE_OK; code = sqlite3_step(statement)) {
        if (!print_row(statement, text))
            status = error_memory(error);
        ++*count;
    }
    if (status == COLLAGE_OK && code != SQLITE_DONE)
        status = store_error(store, code, error);
    sqlite3_finalize(statement);
    return status;
}

/* ---- in ---- */

static bool is_clean_text(const json_t *json)
{
    const char *text = json_string_value(json);
    return text && json_string_length(json) <= TEXT_LIMIT &&
           strlen(text) == json_string_length(json) && printable_is(text);
}

static bool is_integer(const json_t *json, json_int_t limit)
{
    return json_is_integer(json) && json_integer_value(json) >= 0 &&
           json_integer_value(json) <= limit;
}

static bool is_time(const json_t *json)
{
    return json_is_number(json) && isfinite(json_number_value(json)) &&
           json_number_value(json) >= 0;
}

static bool is_list(const json_t *json)
{
    bool fine = json_is_array(json) && json_array_size(json) <= INPLACE_LIMIT &&
                json_array_size(json) % 2 == 0;
    for (size_t k = 0; fine && k < json_array_size(json); k++)
        fine = is_integer(json_array_get(json, k), UINT32_MAX);
    return fine;
}

static bool is_valid(const json_t *json, enum column_kind kind)
{
    struct hash hash;
    switch (kind) {
    case COLUMN_TEXT:
        return is_clean_text(json);
    case COLUMN_KEY:
        return json_is_string(json) && hash_parse(json_string_value(json), &hash);
    case COLUMN_COUNT:
        return is_integer(json, (json_int_t)1 << 53);
    case COLUMN_SMALL:
        return is_integer(json, 65535);
    case COLUMN_FLAG:
        return json_is_boolean(json);
    case COLUMN_TIME:
        return is_time(json);
    case COLUMN_ERROR:
        return is_time(json) || json_is_null(json);
    case COLUMN_NUMBERS:
        return is_list(json);
    }
    return false;
}

static int bind_list(sqlite3_stmt *statement, int at, const json_t *json)
{
    char text[INPLACE_LIMIT * 12] = "";
    size_t used = 0;
    for (size_t k = 0; k < json_array_size(json); k++)
        used += (size_t)snprintf(text + used, sizeof text - used, k ? " %lld" : "%lld",
                                 (long long)json_integer_value(json_array_get(json, k)));
    return sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
}

static int bind_member(sqlite3_stmt *statement, int at, const json_t *json, enum column_kind kind)
{
    switch (kind) {
    case COLUMN_TEXT:
    case COLUMN_KEY:
        return sqlite3_bind_text(statement, at, json_string_value(json), -1, SQLITE_TRANSIENT);
    case COLUMN_COUNT:
    case COLUMN_SMALL:
        return sqlite3_bind_int64(statement, at, json_integer_value(json));
    case COLUMN_FLAG:
        return sqlite3_bind_int(statement, at, json_is_true(json));
    case COLUMN_NUMBERS:
        return bind_list(statement, at, json);
    case COLUMN_TIME:
    case COLUMN_ERROR:
        break;
    }
    return sqlite3_bind_double(statement, at,
                               json_is_null(json) ? (double)INFINITY : json_number_value(json));
}

#define VALUES " INTO costs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

static const char *const insert_text[] = {
    [COST_STAYS] = "INSERT OR IGNORE" VALUES,
    [COST_IS_REPLACED] = "INSERT OR REPLACE" VALUES,
    [COST_BETTER_WINS] =
        "INSERT" VALUES
        " ON CONFLICT (device, backend, version, threads, working_set_log2, key) DO UPDATE SET"
        " description = excluded.description, failed = excluded.failed, cost_ns = excluded.cost_ns,"
        " minimum_ns = excluded.minimum_ns, low_ns = excluded.low_ns, high_ns = excluded.high_ns,"
        " samples = excluded.samples, error = excluded.error,"
        " weight_bytes = excluded.weight_bytes, scratch_bytes = excluded.scratch_bytes,"
        " inplace = excluded.inplace, implementation = excluded.implementation,"
        " reason = excluded.reason, passes = excluded.passes"
        " WHERE excluded.failed < costs.failed OR (excluded.failed = costs.failed"
        " AND excluded.failed = 0 AND excluded.cost_ns < costs.cost_ns)",
};

struct import {
    struct cost_store *store;
    sqlite3_stmt *insert;
    const char *name;
    size_t line;
    uint64_t *count;
};

static collage_status bad_line(const struct import *import, const char *what, const char *detail,
                               struct error *error)
{
    return error_set(error, COLLAGE_ERROR_FORMAT, "'%s', line %zu: %s%.60s", import->name,
                     import->line, what, detail);
}

static collage_status take_row(struct import *import, const json_t *row, struct error *error)
{
    if (json_object_size(row) > COLUMNS)
        return bad_line(import, "there are unknown members", "", error);
    sqlite3_reset(import->insert);
    for (int k = 0; k < COLUMNS; k++) {
        const json_t *member = json_object_get(row, columns[k].name);
        if (!member || !is_valid(member, columns[k].kind))
            return bad_line(import, member ? "a senseless " : "there is no ", columns[k].name,
                            error);
        int code = bind_member(import->insert, k + 1, member, columns[k].kind);
        if (code != SQLITE_OK)
            return store_error(import->store, code, error);
    }
    int code = sqlite3_step(import->insert);
    if (code != SQLITE_DONE)
        return store_error(import->store, code, error);
    *import->count += (uint64_t)sqlite3_changes(import->store->database);
    return COLLAGE_OK;
}

static collage_status check_header(const struct import *import, const json_t *json,
                                   struct error *error)
{
    const char *format = json_string_value(json_object_get(json, "format"));
    if (!format || strcmp(format, FORMAT) != 0)
        return bad_line(import, "it is no file of costs", "", error);
    if (json_integer_value(json_object_get(json, "version")) != VERSION)
        return bad_line(import, "its version is not known", "", error);
    return COLLAGE_OK;
}

static collage_status take_line(struct import *import, const char *line, size_t length,
                                struct error *error)
{
    json_error_t where;
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &where);
    collage_status status;
    import->line++;
    if (!json_is_object(json))
        status = bad_line(import, json ? "it is no object" : where.text, "", error);
    else if (import->line == 1)
        status = check_header(import, json, error);
    else
        status = take_row(import, json, error);
    json_decref(json);
    return status;
}

static collage_status take_lines(struct import *import, const char *text, size_t size,
                                 struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (size_t at = 0; at < size && status == COLLAGE_OK;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - (text + at)) : size - at;
        status = take_line(import, text + at, length, error);
        at += length + 1;
    }
    if (status == COLLAGE_OK && import->line == 0) {
        import->line = 1;
        status = bad_line(import, "it is empty", "", error);
    }
    return status;
}

collage_status cost_store_import(struct cost_store *store, const char *text, size_t size,
                                 const char *name, enum cost_conflict conflict, uint64_t *count,
                                 struct error *error)
{
    struct import import = { .store = store, .name = name, .count = count };
    *count = 0;
    int code = sqlite3_exec(store->database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return store_error(store, code, error);
    code = sqlite3_prepare_v2(store->database, insert_text[conflict], -1, &import.insert, NULL);
    collage_status status = code == SQLITE_OK ? take_lines(&import, text, size, error)
                                              : store_error(store, code, error);
    sqlite3_finalize(import.insert);
    if (status == COLLAGE_OK) {
        code = sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL);
        status = code == SQLITE_OK ? COLLAGE_OK : store_error(store, code, error);
    }
    if (status != COLLAGE_OK) {
        sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
        *count = 0;
    }
    return status;
}
