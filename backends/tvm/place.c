/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include "../library_path.h"
#include "../message.h"

#include <glob.h>

#ifndef COLLAGE_TVM_BUILT
#define COLLAGE_TVM_BUILT NULL
#endif

static const char variable[] = "COLLAGE_TVM_PYTHON";
static const struct library_place beside = { variable, "tvm", NULL, "version" };

/* Of "... version = '0.27.0.post1'", the word in quotes; or the only word of a line. */
static bool read_version(const char *path, char *version, size_t size)
{
    char line[200], word[200];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        found = sscanf(line, "__version__ = version = '%199[0-9a-zA-Z.+-]'", word) == 1 ||
                sscanf(line, "version %199[0-9a-zA-Z.+-]", word) == 1;
    }
    if (file)
        (void)fclose(file);
    return found && strlen(word) < size && snprintf(version, size, "%s", word) > 0;
}

/* FOLDER/bin/python has its modules in FOLDER/lib/python3*. */
static bool look_beside_python(const char *python, char *version, size_t size)
{
    char pattern[PATH_MAX];
    glob_t found = { 0 };
    const char *slash = strrchr(python, '/');
    int folder = slash ? (int)(slash - python) : 0;
    int written = snprintf(pattern, sizeof pattern,
                           "%.*s/../lib/python3*/site-packages/tvm/_version.py", folder, python);
    bool there = slash && written > 0 && (size_t)written < sizeof pattern &&
                 glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0 &&
                 read_version(found.gl_pathv[0], version, size);
    globfree(&found);
    return there;
}

enum { OLDEST_MINOR = 27 };

static collage_status check_version(const struct place *place, collage_message *message)
{
    int major = 0, minor = 0;
    if (sscanf(place->version, "%d.%d", &major, &minor) == 2 &&
        (major > 0 || minor >= OLDEST_MINOR))
        return COLLAGE_OK;
    return fail(message, COLLAGE_ERROR_BACKEND, "TVM %s is too old: 0.%d is needed", place->version,
                OLDEST_MINOR);
}

collage_status place_find(struct place *place, collage_message *message)
{
    char path[PATH_MAX];
    const char *set = getenv(variable);
    const bool wanted = set && *set;
    const char *python = wanted ? set : COLLAGE_TVM_BUILT;
    memset(place, 0, sizeof *place);
    if (python && strlen(python) < sizeof place->python && access(python, X_OK) == 0 &&
        look_beside_python(python, place->version, sizeof place->version)) {
        snprintf(place->python, sizeof place->python, "%s", python);
        return check_version(place, message);
    }
    if (wanted)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "%.300s is no Python that has TVM (a virtual environment's bin/python), see %s",
                    set, variable);
    if (library_path_beside(&beside, path) &&
        read_version(path, place->version, sizeof place->version))
        return check_version(place, message);
    return fail(message, COLLAGE_ERROR_BACKEND,
                "TVM is not there: tools/setup.sh --tvm installs it, or set %s to a Python that "
                "has it",
                variable);
}
