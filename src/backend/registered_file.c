/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of what is registered:
 *     collage_registry 1
 *     plugin <TAB> TARGET <TAB> NAME <TAB> PATH
 *     off <TAB> TARGET <TAB> NAME
 *     patterns <TAB> TARGET <TAB> PATH
 *     costs <TAB> TARGET <TAB> PATH
 * Empty lines and those that begin with '#' are passed over, and are gone when it is next written.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/registered.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/printable.h"

static const char header[] = "collage_registry 1";

enum { MOST_FIELDS = 4 };

static const struct form {
    const char *word;
    enum registered_kind kind;
    size_t fields; /* with the word */
    const char *expected;
} forms[] = {
    { "plugin", REGISTERED_PLUGIN, 4, "'plugin', target, name and path" },
    { "off", REGISTERED_OFF, 3, "'off', target and name" },
    { "patterns", REGISTERED_PATTERNS, 3, "'patterns', target and path" },
    { "costs", REGISTERED_COSTS, 3, "'costs', target and path" },
};
enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

/* ---- reading ---- */

struct reader {
    const char *path;
    unsigned line;
    struct registered *list;
    struct error *error;
};

static collage_status expected(const struct reader *reader, const char *what)
{
    return error_set(reader->error, COLLAGE_ERROR_FORMAT, "%.200s:%u: expected %s", reader->path,
                     reader->line, what);
}

/* Splits the line at its tabs; more than there is room for is counted, too. */
static size_t split(char *line, char *fields[MOST_FIELDS])
{
    size_t count = 0;
    for (char *field; (field = strsep(&line, "\t"));) {
        if (count < MOST_FIELDS)
            fields[count] = field;
        count++;
    }
    return count;
}

static collage_status read_entry(const struct reader *reader, char *line)
{
    char none[] = "";
    char *fields[MOST_FIELDS];
    for (size_t k = 0; k < MOST_FIELDS; k++)
        fields[k] = none;
    size_t count = split(line, fields), f = 0;
    while (f < FORM_COUNT && strcmp(forms[f].word, fields[0]) != 0)
        f++;
    if (f == FORM_COUNT)
        return expected(reader, "'plugin', 'off', 'patterns' or 'costs'");
    if (count != forms[f].fields)
        return expected(reader, forms[f].expected);
    for (size_t k = 1; k < count; k++)
        if (!fields[k][0] || !printable_is(fields[k]))
            return expected(reader, "printable fields with a tab between them");
    if (strlen(fields[1]) > REGISTERED_TARGET)
        return expected(reader, "a target of at most 200 characters");
    const enum registered_kind kind = forms[f].kind;
    const bool is_file = kind == REGISTERED_PATTERNS || kind == REGISTERED_COSTS;
    const struct registered_entry entry = {
        .kind = kind,
        .target = fields[1],
        .name = is_file ? "" : fields[2],
        .path = kind == REGISTERED_OFF ? "" : fields[count - 1],
        .kept = true,
    };
    if (entry.path[0] && entry.path[0] != '/')
        return expected(reader, "a path that begins with '/'");
    if (kind == REGISTERED_PLUGIN && strchr(entry.path, ':'))
        return expected(reader, "a path without ':'");
    if (!is_file && strchr(entry.name, ':'))
        return expected(reader, "a name without ':'");
    if (reader->list->count >= REGISTERED_ENTRIES)
        return expected(reader, "no more entries");
    return registered_insert(reader->list, reader->list->count, &entry, reader->error);
}

/* text: terminated, and changed. */
static collage_status read_lines(struct reader *reader, char *text)
{
    collage_status status = COLLAGE_OK;
    for (char *line; status == COLLAGE_OK && (line = strsep(&text, "\n"));) {
        reader->line++;
        if (reader->line == 1)
            status =
                strcmp(line, header) == 0 ? COLLAGE_OK : expected(reader, "'collage_registry 1'");
        else if (line[0] && line[0] != '#')
            status = read_entry(reader, line);
    }
    return status;
}

/* Its folder, too: who may write there may put another file in its place. */
static collage_status check_folder(const char *path, struct error *error)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    struct stat info;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (stat(folder[0] ? folder : "/", &info) != 0)
        return error_system(error, "read", path);
    const char *problem = file_owner_problem(&info);
    return problem
               ? error_set(error, COLLAGE_ERROR_ARGUMENT, "'%.300s': its folder %s", path, problem)
               : COLLAGE_OK;
}

static collage_status check_file(const char *path, const struct stat *info, struct error *error)
{
    if (!S_ISREG(info->st_mode) || info->st_size > REGISTERED_BYTES)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "'%.300s' is no registry: it is not a file of at most %d bytes", path,
                         REGISTERED_BYTES);
    const char *problem = file_owner_problem(info);
    return problem ? error_set(error, COLLAGE_ERROR_ARGUMENT, "'%.300s' %s", path, problem)
                   : check_folder(path, error);
}

static collage_status take_bytes(const char *path, int file, size_t bytes, char **out,
                                 struct error *error)
{
    char *text = memory_alloc(bytes + 1);
    if (!text)
        return error_memory(error);
    size_t have = 0;
    ssize_t n = 1;
    while (have < bytes && n != 0) {
        n = read(file, text + have, bytes - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            collage_status status = error_system(error, "read", path);
            memory_free(text);
            return status;
        }
        have += (size_t)n;
    }
    text[have] = '\0';
    *out = text;
    return COLLAGE_OK;
}

/* What is checked is what is read: the file is opened once. */
static collage_status read_open(const char *path, int file, struct registered *out,
                                struct error *error)
{
    struct stat info;
    char *text = NULL;
    if (fstat(file, &info) != 0)
        return error_system(error, "read", path);
    collage_status status = check_file(path, &info, error);
    if (status == COLLAGE_OK)
        status = take_bytes(path, file, (size_t)info.st_size, &text, error);
    if (status == COLLAGE_OK && strlen(text) != (size_t)info.st_size)
        status =
            error_set(error, COLLAGE_ERROR_FORMAT, "'%.300s' is no registry: it is not text", path);
    struct reader reader = { .path = path, .list = out, .error = error };
    if (status == COLLAGE_OK)
        status = read_lines(&reader, text);
    memory_free(text);
    return status;
}

collage_status registered_read(const char *path, struct registered *out, struct error *error)
{
    *out = (struct registered){ 0 };
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would keep us waiting */
    if (file < 0)
        return errno == ENOENT || errno == ENOTDIR ? COLLAGE_OK : error_system(error, "read", path);
    collage_status status = read_open(path, file, out, error);
    close(file);
    if (status != COLLAGE_OK)
        registered_free(out);
    return status;
}

/* ---- writing ---- */

static void print_entry(const struct registered_entry *entry, struct text *text)
{
    text_format(text, "%s\t%s", forms[entry->kind].word, entry->target);
    if (entry->name[0])
        text_format(text, "\t%s", entry->name);
    if (entry->path[0])
        text_format(text, "\t%s", entry->path);
    text_string(text, "\n");
}

collage_status registered_write(const char *path, const struct registered *list,
                                struct error *error)
{
    struct text text = { 0 };
    text_format(&text, "%s\n", header);
    for (size_t k = 0; k < list->count; k++)
        if (list->items[k].kept)
            print_entry(&list->items[k], &text);
    collage_status status =
        text.failed ? error_memory(error) : file_write_private(path, text.bytes, text.count, error);
    text_free(&text);
    return status;
}

collage_status registered_lock(const char *path, int *lock, struct error *error)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash && slash > path ? (int)(slash - path) : 1,
             slash ? path : ".");
    collage_status status = file_make_directory(folder, error);
    if (status != COLLAGE_OK)
        return status;
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0)
        return error_system(error, "open the folder", folder);
    while (flock(*lock, LOCK_EX) != 0)
        if (errno != EINTR) {
            status = error_system(error, "lock the folder", folder);
            close(*lock);
            return status;
        }
    return COLLAGE_OK;
}

void registered_unlock(int lock)
{
    close(lock); /* which releases it */
}
