/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_path.h: which file a plugin loads its library from. The first of these that is there:
 * what the user names in a variable (even if it is not there: the user shall hear of it), the
 * folder backends/NAME beside the folder of the plugins, where the library was when Collage was
 * built. Else the bare name, for the dynamic linker to find. And what is in that file.
 */
#ifndef COLLAGE_BACKENDS_LIBRARY_PATH_H
#define COLLAGE_BACKENDS_LIBRARY_PATH_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct library_place {
    const char *variable; /* of the environment */
    const char *backend;  /* the plugin's name */
    const char *built;    /* the path known when Collage was built; NULL: none */
    const char *name;     /* of the file, such as libdnnl.so.3 */
};

/* Writes NAME's path in backends/BACKEND beside this plugin's folder; returns whether it is there.
 */
static inline int library_path_beside(const struct library_place *place, char path[PATH_MAX])
{
    static const char anchor; /* an object of this plugin */
    Dl_info info;
    if (!dladdr(&anchor, &info) || !info.dli_fname)
        return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) : 0;
    int length = snprintf(path, PATH_MAX, "%.*s/../backends/%s/%s", folder, info.dli_fname,
                          place->backend, place->name);
    return slash && length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
}

/* The file to load: a string of `place` or of the environment, or in `path`. */
static inline const char *library_path_find(const struct library_place *place, char path[PATH_MAX])
{
    const char *wanted = getenv(place->variable);
    if (wanted && *wanted)
        return wanted;
    if (library_path_beside(place, path))
        return path;
    if (place->built && access(place->built, R_OK) == 0)
        return place->built;
    return place->name;
}

/* A symbol's address, for the pointer to a function at `where`, without the cast that ISO C does
 * not have; returns whether it is there. */
static inline int library_symbol(void *handle, const char *name, void *where)
{
    void *address = dlsym(handle, name);
    memcpy(where, &address, sizeof address);
    return address != NULL;
}

#endif
