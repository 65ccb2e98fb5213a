/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/manage.h"

#include <stdio.h>
#include <string.h>

#include "cost/store_internal.h"

/*
 * One condition for all. ?4: the operators stand before " -> " in the description, with "+" between
 * them. ?6: lines of "backend version", or of "backend" alone where the version is not known.
 */
#define FILTER                                                                                     \
    " FROM costs WHERE (?1 IS NULL OR backend = ?1) AND (?2 IS NULL OR device = ?2)"               \
    " AND (?3 = 0 OR failed)"                                                                      \
    " AND (?4 IS NULL OR (?4 = 'transition' AND description LIKE 'transition %')"                  \
    " OR instr('+' || substr(description, 1, max(instr(description, ' -> ') - 1, 0)) || '+',"      \
    " '+' || ?4 || '+') > 0)"                                                                      \
    " AND (?5 = 0 OR EXISTS (SELECT 1 FROM ages WHERE ages.device = costs.device"                  \
    " AND ages.backend = costs.backend AND ages.version = costs.version"                           \
    " AND ages.threads = costs.threads AND ages.working_set_log2 = costs.working_set_log2"         \
    " AND ages.key = costs.key AND ages.since <= strftime('%s', 'now') - ?5))"                     \
    " AND (?6 IS NULL OR (instr(?6, char(10) || backend || char(10)) = 0"                          \
    " AND instr(?6, char(10) || backend || ' ' || version || char(10)) = 0))"

static const char list_text[] =
    "SELECT backend, version, threads, working_set_log2, failed, cost_ns, device, description,"
    " reason, strftime('%s', 'now') - (SELECT since FROM ages WHERE ages.device = costs.device"
    " AND ages.backend = costs.backend AND ages.version = costs.version"
    " AND ages.threads = costs.threads AND ages.working_set_log2 = costs.working_set_log2"
    " AND ages.key = costs.key)" FILTER
    " ORDER BY backend, version, description, threads, working_set_log2, device, key";

static const char devices_text[] =
    "SELECT device, count(*)" FILTER " GROUP BY device ORDER BY device";

static const char prune_text[] = "DELETE" FILTER;

/* "\nonednn 3.2.0\ntvm\n" */
static void put_installed(const struct cost_filter *filter, struct text *out)
{
    text_string(out, "\n");
    for (size_t k = 0; k < filter->installed_count; k++) {
        const struct cost_library *library = &filter->installed[k];
        text_format(out, "%s%s%s\n", library->backend, library->version ? " " : "",
                    library->version ? library->version : "");
    }
}

static int bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    return text ? sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT)
                : sqlite3_bind_null(statement, at);
}

static int bind_filter(sqlite3_stmt *statement, const struct cost_filter *filter,
                       const char *installed)
{
    const double most = 1e15; /* seconds: nothing is as old */
    double seconds = filter->older_seconds < most ? filter->older_seconds : most;
    int code = bind_text(statement, 1, filter->backend);
    if (code == SQLITE_OK)
        code = bind_text(statement, 2, filter->device);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(statement, 3, filter->failed);
    if (code == SQLITE_OK)
        code = bind_text(statement, 4, filter->op_type);
    if (code == SQLITE_OK)
        code = sqlite3_bind_double(statement, 5, seconds);
    if (code == SQLITE_OK)
        code = bind_text(statement, 6, installed);
    return code;
}

/* A statement over the costs that fit; finalized by the caller. */
static int prepare(struct cost_store *store, const char *sql, const struct cost_filter *filter,
                   sqlite3_stmt **out)
{
    struct text installed = { 0 };
    if (filter->installed)
        put_installed(filter, &installed);
    if (installed.failed) {
        text_free(&installed);
        return SQLITE_NOMEM;
    }
    int code = sqlite3_prepare_v2(store->database, sql, -1, out, NULL);
    if (code == SQLITE_OK)
        code = bind_filter(*out, filter, installed.bytes);
    text_free(&installed);
    return code;
}

/* ---- list ---- */

/* Appends a column's text, cut and padded to a width (0: as it is). Texts come from libraries and
 * from other machines: they must steer no terminal. */
static void put_text(struct text *out, sqlite3_stmt *row, int column, size_t width)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    text_printable(out, text ? text : "", width);
}

/* "3 d", "5 h", "12 min" */
static void put_age(struct text *out, sqlite3_stmt *row, int column)
{
    sqlite3_int64 seconds = sqlite3_column_int64(row, column);
    if (sqlite3_column_type(row, column) == SQLITE_NULL || seconds < 0)
        text_format(out, " %7s", "-");
    else if (seconds < 3600)
        text_format(out, " %3d min", (int)(seconds / 60));
    else if (seconds < 48LL * 3600)
        text_format(out, " %5d h", (int)(seconds / 3600));
    else
        text_format(out, " %5lld d", (long long)(seconds / (24LL * 3600)));
}

static void put_row(struct text *out, sqlite3_stmt *row)
{
    put_text(out, row, 0, 12);
    text_string(out, " ");
    put_text(out, row, 1, 10);
    text_format(out, " %3d %4d", sqlite3_column_int(row, 2), sqlite3_column_int(row, 3));
    if (sqlite3_column_int(row, 4))
        text_format(out, " %10s", "failed");
    else
        text_format(out, " %10.2f", sqlite3_column_double(row, 5) / 1e3);
    put_age(out, row, 9);
    text_string(out, "  ");
    put_text(out, row, 6, 8);
    text_string(out, "  ");
    put_text(out, row, 7, 0);
    if (sqlite3_column_int(row, 4)) {
        text_string(out, ": ");
        put_text(out, row, 8, 0);
    }
    text_string(out, "\n");
}

collage_status cost_store_list(struct cost_store *store, const struct cost_filter *filter,
                               struct text *out, uint64_t *count, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    *count = 0;
    int code = prepare(store, list_text, filter, &statement);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    for (; code == SQLITE_ROW && !out->failed; code = sqlite3_step(statement)) {
        if (*count == 0)
            text_string(out, "backend      version    thr  set  cost [us]     age  machine"
                             "   what\n");
        put_row(out, statement);
        ++*count;
    }
    collage_status status = COLLAGE_OK;
    if (out->failed)
        status = error_memory(error);
    else if (code != SQLITE_DONE)
        status = store_error(store, code, error);
    sqlite3_finalize(statement);
    return status;
}

collage_status cost_store_list_devices(struct cost_store *store, const struct cost_filter *filter,
                                       const struct device_facts *here, struct text *out,
                                       struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = prepare(store, devices_text, filter, &statement);
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *device = (const char *)sqlite3_column_text(statement, 0);
        text_string(out, "machine ");
        put_text(out, statement, 0, 0);
        text_format(out, ": costs: %lld", (long long)sqlite3_column_int64(statement, 1));
        if (device && strcmp(device, here->fingerprint) == 0)
            text_format(out, "; this one, %s", here->name);
        text_string(out, "\n");
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    if (out->failed)
        return error_memory(error);
    return code == SQLITE_DONE ? COLLAGE_OK : store_error(store, code, error);
}

/* ---- prune ---- */

static int remove_costs(struct cost_store *store, const struct cost_filter *filter,
                        uint64_t *removed, uint64_t *left)
{
    sqlite3_stmt *statement = NULL;
    char answer[32];
    int code = prepare(store, prune_text, filter, &statement);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    code = code == SQLITE_DONE ? SQLITE_OK : code;
    sqlite3_finalize(statement);
    if (code != SQLITE_OK)
        return code;
    *removed = (uint64_t)sqlite3_changes(store->database);
    code = store_query_text(store, "SELECT count(*) FROM costs", answer, sizeof answer);
    unsigned long long number = 0;
    if (code == SQLITE_OK && sscanf(answer, "%llu", &number) == 1)
        *left = number;
    return code;
}

collage_status cost_store_prune(struct cost_store *store, const struct cost_filter *filter,
                                uint64_t *removed, uint64_t *left, struct error *error)
{
    *removed = *left = 0;
    int code = sqlite3_exec(store->database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return store_error(store, code, error);
    code = remove_costs(store, filter, removed, left);
    if (code == SQLITE_OK)
        code = sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        return COLLAGE_OK;
    *removed = 0;
    collage_status status = store_error(store, code, error);
    (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return status;
}
