/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking in another store. It is read as what it should be and nothing else: opened for reading,
 * without trust in its schema, its table just as ours; then it goes the way of imported text, which
 * checks every member.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cost/exchange.h"
#include "cost/store_internal.h"

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_empty_or_absent(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 || info.st_size == 0;
}

static bool is_database(const struct mapping *file)
{
    static const char magic[] = "SQLite format 3"; /* with its terminator */
    return file->bytes >= sizeof magic && memcmp(file->data, magic, sizeof magic) == 0;
}

/* As a URI, so that a store that nobody has open is read without any file beside it. */
static void put_uri(struct text *out, const char *path)
{
    struct text log = { 0 };
    text_string(out, "file:");
    for (const char *at = path; *at; at++) {
        if (strchr("%?#", *at))
            text_format(out, "%%%02x", (unsigned)(unsigned char)*at);
        else
            text_append(out, at, 1);
    }
    text_format(&log, "%s-wal", path);
    bool quiet = !log.failed && is_empty_or_absent(log.bytes);
    text_string(out, quiet ? "?mode=ro&immutable=1" : "?mode=ro");
    out->failed = out->failed || log.failed;
    text_free(&log);
}

static int open_to_read(struct cost_store *other, const char *uri)
{
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(uri, &other->database, flags, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(other->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(other->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return code;
}

/* Not even a view that never ends may stand where the table should. */
static bool has_our_table(struct cost_store *store, struct cost_store *other, int *code)
{
    static const char query[] = "SELECT type || ' ' || sql FROM sqlite_schema"
                                " WHERE name = 'costs' AND type IN ('table', 'view')";
    char version[24], ours[2048], theirs[2048];
    *code = store_query_text(other, "PRAGMA user_version", version, sizeof version);
    if (*code == SQLITE_OK)
        *code = store_query_text(store, query, ours, sizeof ours);
    if (*code == SQLITE_OK)
        *code = store_query_text(other, query, theirs, sizeof theirs);
    return *code == SQLITE_OK && strtol(version, NULL, 10) == cost_store_schema_version() &&
           ours[0] != '\0' && strcmp(ours, theirs) == 0;
}

static collage_status read_store(struct cost_store *store, struct cost_store *other,
                                 const char *uri, struct text *text, struct error *error)
{
    uint64_t count = 0;
    char answer[64] = "";
    int code = open_to_read(other, uri);
    if (code == SQLITE_OK)
        code = store_query_text(other, "PRAGMA quick_check(1)", answer, sizeof answer);
    if (code == SQLITE_OK && strcmp(answer, "ok") != 0)
        return error_set(error, COLLAGE_ERROR_FORMAT, "cost store '%s' is damaged", other->path);
    bool same = code == SQLITE_OK && has_our_table(store, other, &code);
    if (code != SQLITE_OK)
        return store_error(other, code, error);
    if (!same)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "'%s' is no cost store of this version of Collage: export its costs there",
                         other->path);
    collage_status status = cost_store_export(other, text, &count, error);
    return status == COLLAGE_OK && text->failed ? error_memory(error) : status;
}

static collage_status merge_store(struct cost_store *store, char *path, enum cost_conflict conflict,
                                  uint64_t *count, struct error *error)
{
    struct cost_store other = { .path = path };
    struct text uri = { 0 }, text = { 0 };
    put_uri(&uri, path);
    collage_status status =
        uri.failed ? error_memory(error) : read_store(store, &other, uri.bytes, &text, error);
    sqlite3_close(other.database);
    if (status == COLLAGE_OK)
        status = cost_store_import(store, text.bytes, text.count, path, conflict, count, error);
    text_free(&uri);
    text_free(&text);
    return status;
}

collage_status cost_store_merge(struct cost_store *store, const char *path,
                                enum cost_conflict conflict, uint64_t *count, struct error *error)
{
    char inside[PATH_MAX], absolute[PATH_MAX];
    struct mapping file;
    *count = 0;
    snprintf(inside, sizeof inside, "%s%s", path, is_folder(path) ? "/costs.sqlite" : "");
    collage_status status = file_map(inside, &file, error);
    if (status != COLLAGE_OK)
        return status;
    if (!is_database(&file))
        status = cost_store_import(store, file.data, file.bytes, path, conflict, count, error);
    else if (realpath(inside, absolute))
        status = merge_store(store, absolute, conflict, count, error);
    else
        status = error_set(error, COLLAGE_ERROR_IO, "cannot open '%s'", inside);
    file_unmap(&file);
    return status;
}
