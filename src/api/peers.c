/* SPDX-License-Identifier: Apache-2.0 */
#include "api/peers.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { PEERS_MAX = 64, WORDS_MAX = 64 };

struct finder {
    struct arena *arena;
    const char *folders;
    struct peer *peers;
    size_t count;
    struct error *error;
};

/* What the file of a peer is called: NAME_peer.py, which Python runs, or the program NAME_peer. */
static const char *const endings[] = { "_peer.py", "_peer" };
enum { ENDING_COUNT = sizeof endings / sizeof endings[0] };

static bool has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

/* "torch" of "folder/torch_peer.py". */
static char *peer_name(struct finder *finder, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = arena_string(finder->arena, slash ? slash + 1 : path);
    for (size_t k = 0; name && k < ENDING_COUNT; k++)
        if (has_ending(name, endings[k])) {
            name[strlen(name) - strlen(endings[k])] = '\0';
            break;
        }
    return name;
}

/* ---- adding ---- */

static collage_status add(struct finder *finder, const char *path, char **arguments)
{
    if (finder->count == PEERS_MAX)
        return error_set(finder->error, COLLAGE_ERROR_ARGUMENT, "more than %d peers", PEERS_MAX);
    const char *name = peer_name(finder, path);
    if (!name)
        return error_memory(finder->error);
    finder->peers[finder->count++] = (struct peer){ .name = name, .arguments = arguments };
    return COLLAGE_OK;
}

/* $COLLAGE_PYTHON, or `python` in the script's folder, or python3. */
static char *find_python(struct finder *finder, const char *script)
{
    const char *set = getenv("COLLAGE_PYTHON");
    if (set && *set)
        return arena_string(finder->arena, set);
    const char *slash = strrchr(script, '/');
    char *beside = arena_format(finder->arena, "%.*s/python", slash ? (int)(slash - script) : 1,
                                slash ? script : ".");
    if (!beside || access(beside, X_OK) == 0)
        return beside;
    return arena_string(finder->arena, "python3");
}

/* -B: no compiled copies of modules beside the scripts. */
static collage_status add_file(struct finder *finder, const char *path)
{
    char **arguments = arena_array(finder->arena, 4, sizeof *arguments);
    char *copy = arena_string(finder->arena, path);
    bool script = has_ending(path, ".py");
    char *python = script ? find_python(finder, path) : copy;
    char *option = arena_string(finder->arena, "-B");
    if (!arguments || !copy || !python || !option)
        return error_memory(finder->error);
    arguments[0] = python;
    arguments[1] = script ? option : NULL;
    arguments[2] = script ? copy : NULL;
    return add(finder, path, arguments);
}

/* Words between blanks; nothing is quoted. */
static collage_status add_command(struct finder *finder, const char *command)
{
    char **words = arena_array(finder->arena, WORDS_MAX + 1, sizeof *words);
    char *rest = arena_string(finder->arena, command), *word;
    size_t count = 0;
    if (!words || !rest)
        return error_memory(finder->error);
    while ((word = strsep(&rest, " ")) != NULL) {
        if (!*word)
            continue;
        if (count == WORDS_MAX)
            return error_set(finder->error, COLLAGE_ERROR_ARGUMENT,
                             "a peer's command has more than %d words", WORDS_MAX);
        words[count++] = word;
    }
    if (strchr(words[0], '/') && access(words[0], X_OK) != 0)
        return error_set(finder->error, COLLAGE_ERROR_ARGUMENT,
                         "the peer '%s' is no program that can be run", words[0]);
    return add(finder, words[0], words);
}

/* ---- folders ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct peer *)a)->name, ((const struct peer *)b)->name);
}

/* An empty folder, or none, adds nobody. */
static collage_status scan_folder(struct finder *finder, const char *folder)
{
    const size_t first = finder->count;
    collage_status status = COLLAGE_OK;
    DIR *directory = opendir(folder);
    for (struct dirent *entry;
         directory && status == COLLAGE_OK && (entry = readdir(directory)) != NULL;)
        for (size_t k = 0; k < ENDING_COUNT && status == COLLAGE_OK; k++) {
            if (!has_ending(entry->d_name, endings[k]))
                continue;
            const char *path = arena_format(finder->arena, "%s/%s", folder, entry->d_name);
            status = path ? add_file(finder, path) : error_memory(finder->error);
        }
    if (directory)
        closedir(directory);
    qsort(finder->peers + first, finder->count - first, sizeof *finder->peers, by_name);
    return status;
}

static collage_status each_folder(struct finder *finder)
{
    char *rest = arena_string(finder->arena, finder->folders), *folder;
    if (!rest)
        return error_memory(finder->error);
    collage_status status = COLLAGE_OK;
    while (status == COLLAGE_OK && (folder = strsep(&rest, ":")) != NULL)
        if (*folder)
            status = scan_folder(finder, folder);
    return status;
}

/* folder NULL: all of them. */
static collage_status add_folder(struct finder *finder, const char *folder)
{
    const size_t first = finder->count;
    collage_status status = folder ? scan_folder(finder, folder) : each_folder(finder);
    if (status == COLLAGE_OK && finder->count == first)
        return error_set(finder->error, COLLAGE_ERROR_ARGUMENT,
                         "there are no peers in '%s'; COLLAGE_PEERS says where they are",
                         folder ? folder : finder->folders);
    return status;
}

/* The peers of all folders, by name, for a message. */
static collage_status set_unknown(struct finder *finder, const char *name)
{
    struct text known = { 0 };
    struct error ignored = { 0 };
    struct finder others = { .arena = finder->arena,
                             .folders = finder->folders,
                             .error = &ignored };
    others.peers = arena_array(finder->arena, PEERS_MAX, sizeof *others.peers);
    if (others.peers)
        (void)each_folder(&others);
    for (size_t k = 0; k < others.count; k++)
        text_format(&known, "%s%s", k ? ", " : "; there are ", others.peers[k].name);
    error_set(finder->error, COLLAGE_ERROR_ARGUMENT, "there is no peer '%.60s' in '%.120s'%.200s",
              name, finder->folders,
              known.bytes && !known.failed ? known.bytes : "; COLLAGE_PEERS says where they are");
    text_free(&known);
    return COLLAGE_ERROR_ARGUMENT;
}

static collage_status add_named(struct finder *finder, const char *name)
{
    char *rest = arena_string(finder->arena, finder->folders), *folder;
    if (!rest)
        return error_memory(finder->error);
    while ((folder = strsep(&rest, ":")) != NULL)
        for (size_t k = 0; *folder && k < ENDING_COUNT; k++) {
            const char *path = arena_format(finder->arena, "%s/%s%s", folder, name, endings[k]);
            if (!path)
                return error_memory(finder->error);
            if (access(path, R_OK) == 0)
                return add_file(finder, path);
        }
    return set_unknown(finder, name);
}

/* ---- the list ---- */

static collage_status add_item(struct finder *finder, const char *item)
{
    struct stat info;
    if (!item[strspn(item, " ")])
        return error_set(finder->error, COLLAGE_ERROR_ARGUMENT,
                         "a name is missing in the list of peers");
    if (strcmp(item, "all") == 0)
        return add_folder(finder, NULL);
    if (!strchr(item, '/'))
        return add_named(finder, item);
    if (stat(item, &info) != 0)
        return add_command(finder, item);
    if (S_ISDIR(info.st_mode))
        return add_folder(finder, item);
    if (has_ending(item, ".py"))
        return add_file(finder, item);
    return access(item, X_OK) == 0 ? add_file(finder, item)
                                   : error_set(finder->error, COLLAGE_ERROR_ARGUMENT,
                                               "the peer '%s' is no program that can be run", item);
}

collage_status peers_find(const char *list, const char *folders, struct arena *arena,
                          struct peer **peers, size_t *count, struct error *error)
{
    struct finder finder = { .arena = arena, .folders = folders, .error = error };
    finder.peers = arena_array(arena, PEERS_MAX, sizeof *finder.peers);
    char *rest = list && *list ? arena_string(arena, list) : NULL, *item;
    if (!finder.peers || (list && *list && !rest))
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    while (status == COLLAGE_OK && (item = strsep(&rest, ",")) != NULL)
        status = add_item(&finder, item);
    *peers = finder.peers;
    *count = finder.count;
    return status;
}
