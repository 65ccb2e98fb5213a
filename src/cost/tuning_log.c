/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/tuning_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "pattern/schedule.h"

enum {
    LINE_BYTES = 1024,
    NAME_BYTES = 256, /* of versions and machines */
    MOST_BYTES = 64 << 20,
    MOST_RECORDS = 1 << 20,
    MOST_THREADS = 4096
};

#define MOST_NS UINT64_C(1000000000000000)

static const char header[] = "collage_tuning 1";
static const char columns[] = "# backend\tversion\tdevice\tthreads\tkey\tns\tschedule";

enum column { BACKEND, VERSION, DEVICE, THREADS, KEY, NS, SCHEDULE, COLUMNS };

collage_status tuning_log_create(struct tuning_log **out, struct error *error)
{
    struct tuning_log *log = memory_alloc(sizeof *log);
    if (log)
        log->arena = arena_create();
    *out = log;
    if (log && log->arena)
        return COLLAGE_OK;
    memory_free(log);
    *out = NULL;
    return error_memory(error);
}

void tuning_log_destroy(struct tuning_log *log)
{
    if (!log)
        return;
    arena_destroy(log->arena);
    memory_free(log->records);
    memory_free(log);
}

/* ---- records in order ---- */

static int compare(const struct tuning_record *a, const struct tuning_record *b)
{
    if (!hash_equal(a->key, b->key))
        return a->key.high != b->key.high ? (a->key.high < b->key.high ? -1 : 1)
                                          : (a->key.low < b->key.low ? -1 : 1);
    int order = strcmp(a->device, b->device);
    if (!order)
        order = strcmp(a->backend, b->backend);
    if (!order)
        order = strcmp(a->version, b->version);
    return order ? order : (a->threads > b->threads) - (a->threads < b->threads);
}

/* Where the record is, or would be. */
static size_t find(const struct tuning_log *log, const struct tuning_record *record, bool *found)
{
    size_t low = 0, high = log->count;
    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        int order = compare(&log->records[middle], record);
        *found = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return *found ? high : low;
}

static struct tuning_record wanted(struct hash key, const struct cost_conditions *conditions)
{
    return (struct tuning_record){ .backend = conditions->backend,
                                   .version = conditions->version ? conditions->version : "",
                                   .device = conditions->device,
                                   .threads = conditions->threads,
                                   .key = key };
}

const struct tuning_record *tuning_log_find(const struct tuning_log *log, struct hash key,
                                            const struct cost_conditions *conditions)
{
    const struct tuning_record record = wanted(key, conditions);
    bool found;
    size_t at = find(log, &record, &found);
    return found ? &log->records[at] : NULL;
}

void tuning_log_remove(struct tuning_log *log, struct hash key,
                       const struct cost_conditions *conditions)
{
    const struct tuning_record record = wanted(key, conditions);
    bool found;
    size_t at = find(log, &record, &found);
    if (!found)
        return;
    log->count--;
    memmove(log->records + at, log->records + at + 1, (log->count - at) * sizeof *log->records);
}

static collage_status insert(struct tuning_log *log, const struct tuning_record *record, size_t at,
                             bool found, struct error *error)
{
    struct tuning_record copy = *record;
    copy.backend = arena_string(log->arena, record->backend);
    copy.version = arena_string(log->arena, record->version);
    copy.device = arena_string(log->arena, record->device);
    copy.schedule = arena_string(log->arena, record->schedule);
    if (!copy.backend || !copy.version || !copy.device || !copy.schedule)
        return error_memory(error);
    if (!found &&
        !memory_grow((void **)&log->records, &log->capacity, log->count, sizeof *log->records))
        return error_memory(error);
    if (!found) {
        memmove(log->records + at + 1, log->records + at, (log->count - at) * sizeof *log->records);
        log->count++;
    }
    log->records[at] = copy;
    return COLLAGE_OK;
}

static bool is_name(const char *text)
{
    return text[0] && strnlen(text, NAME_BYTES) < NAME_BYTES && printable_is(text);
}

collage_status tuning_log_put(struct tuning_log *log, const struct tuning_record *record,
                              struct error *error)
{
    bool found;
    if (!is_name(record->backend) || !is_name(record->version) || !is_name(record->device))
        return COLLAGE_OK;
    size_t at = find(log, record, &found);
    return insert(log, record, at, found, error);
}

/* ---- reading ---- */

struct line {
    const char *path;
    size_t number;
    struct error *error;
};

#define WRONG(line, ...)                                                                           \
    wrong_line(line, error_set((line)->error, COLLAGE_ERROR_FORMAT, __VA_ARGS__))

/* What is wrong stands in the error: says where. */
static collage_status wrong_line(const struct line *line, collage_status status)
{
    error_prefix(line->error, "%s:%zu", line->path, line->number);
    return status;
}

/* Cuts at the tabs. False: not that many columns. */
static bool cut(char *text, char *fields[COLUMNS])
{
    for (size_t k = 0; k < COLUMNS; k++) {
        char *tab = strchr(text, '\t');
        fields[k] = text;
        if (!tab != (k == COLUMNS - 1))
            return false;
        if (!tab)
            return true;
        *tab = '\0';
        text = tab + 1;
    }
    return false;
}

/* Digits only, from 1 to `most`. */
static bool take_number(const char *text, uint64_t most, uint64_t *out)
{
    size_t length = strlen(text);
    if (length == 0 || length > 18 || strspn(text, "0123456789") != length)
        return false;
    *out = strtoull(text, NULL, 10);
    return *out >= 1 && *out <= most;
}

static collage_status read_record(struct tuning_log *log, const struct line *line, char *text)
{
    static const char *const names[] = { "backend", "version", "device" };
    char *fields[COLUMNS];
    struct tuning_record record = { 0 };
    uint64_t threads, ns;
    if (!cut(text, fields))
        return WRONG(line, "a record has %d fields with tabs between", COLUMNS);
    for (size_t k = BACKEND; k <= DEVICE; k++)
        if (!is_name(fields[k]))
            return WRONG(line, "the %s is not 1 to %d printable characters", names[k],
                         NAME_BYTES - 1);
    if (!take_number(fields[THREADS], MOST_THREADS, &threads))
        return WRONG(line, "the number of threads is not from 1 to %d", MOST_THREADS);
    if (!hash_parse(fields[KEY], &record.key))
        return WRONG(line, "the key is not 32 hexadecimal digits");
    if (!take_number(fields[NS], MOST_NS, &ns))
        return WRONG(line, "the time is no whole number of nanoseconds");
    if (!schedule_is_text(fields[SCHEDULE]))
        return WRONG(line, "the schedule is not 1 to %d printable characters",
                     COLLAGE_SCHEDULE_BYTES - 1);
    record.backend = fields[BACKEND];
    record.version = fields[VERSION];
    record.device = fields[DEVICE];
    record.threads = (int32_t)threads;
    record.ns = (double)ns;
    record.schedule = fields[SCHEDULE];
    bool found;
    size_t at = find(log, &record, &found);
    if (found && log->records[at].ns <= record.ns)
        return COLLAGE_OK;
    if (log->count >= MOST_RECORDS)
        return WRONG(line, "more than %d records", MOST_RECORDS);
    return insert(log, &record, at, found, line->error);
}

static collage_status read_lines(struct tuning_log *log, struct line *line, const char *bytes,
                                 size_t count)
{
    char text[LINE_BYTES];
    collage_status status = COLLAGE_OK;
    for (size_t at = 0; (at < count || line->number == 0) && !status;) {
        const char *end = count > at ? memchr(bytes + at, '\n', count - at) : NULL;
        size_t length = end ? (size_t)(end - bytes) - at : count - at;
        line->number++;
        if (length >= sizeof text || (length && memchr(bytes + at, '\0', length)))
            return WRONG(line, "this is no line of text of at most %d bytes", LINE_BYTES - 1);
        if (length)
            memcpy(text, bytes + at, length);
        text[length] = '\0';
        at += length + 1;
        if (line->number == 1 && strcmp(text, header) != 0)
            return WRONG(line, "this is no tuning log: its first line is not '%s'", header);
        if (line->number > 1 && text[0] && text[0] != '#')
            status = read_record(log, line, text);
    }
    return status;
}

collage_status tuning_log_read(struct tuning_log *log, const char *path, bool may_be_missing,
                               struct error *error)
{
    struct mapping file;
    struct error own = { 0 }; /* so that there is one to say the line in */
    if (may_be_missing && !file_exists(path))
        return COLLAGE_OK;
    collage_status status = file_map(path, &file, &own);
    if (status)
        return error_set(error, status, "%s", own.text);
    struct line line = { .path = path, .error = &own };
    if (file.bytes > MOST_BYTES)
        status = error_set(&own, COLLAGE_ERROR_FORMAT, "'%s' is too large for a tuning log", path);
    else
        status = read_lines(log, &line, file.data, file.bytes);
    file_unmap(&file);
    return status ? error_set(error, status, "%s", own.text) : COLLAGE_OK;
}

/* ---- writing ---- */

collage_status tuning_log_write(const struct tuning_log *log, const char *path, struct error *error)
{
    struct text text = { 0 };
    text_format(&text, "%s\n%s\n", header, columns);
    for (size_t k = 0; k < log->count; k++) {
        const struct tuning_record *record = &log->records[k];
        char key[33];
        hash_print(record->key, key);
        text_format(&text, "%s\t%s\t%s\t%d\t%s\t%.0f\t%s\n", record->backend, record->version,
                    record->device, record->threads, key, fmax(ceil(record->ns), 1),
                    record->schedule);
    }
    collage_status status =
        text.failed ? error_memory(error) : file_write(path, text.bytes, text.count, error);
    text_free(&text);
    return status;
}
