/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h: the backends of this process: found (plugins checked by ABI version and struct size),
 * described, and, on demand, opened. "reference" is built in and always first. A plugin that is
 * malformed is listed with its problem.
 */
#ifndef COLLAGE_BACKEND_REGISTRY_H
#define COLLAGE_BACKEND_REGISTRY_H

#include "backend/code.h"
#include "graph/graph.h"

struct backend_entry {
    const collage_backend_api *api; /* NULL if the plugin is malformed */
    const char *name;
    const char *file;    /* "" if built in */
    const char *problem; /* "" if none; set by a failed load or open */
    const char *version; /* "" until known: by open here, or from a worker (registry_set_version) */
    bool named;          /* the list of plugins names its file, not a folder */
    bool off;            /* the list says that there shall be no backend of this name */
    void *library;       /* dlopen handle */
    collage_backend *open; /* NULL until registry_open */
};

struct registry {
    struct arena *arena;
    struct backend_entry *entries;
    uint32_t count;
    collage_host host;
    struct code_service *code; /* what stands behind host.make_code */
};

enum { REGISTRY_REFERENCE = 0 };

/* The problem of a backend that is off. */
#define REGISTRY_OFF "switched off; 'collage backends restore' switches it on"

/* plugins: a list (plugin_list.h); "" for the built-in one alone. log may be NULL. */
collage_status registry_create(const char *plugins, collage_log_fn log, void *user,
                               struct registry **out, struct error *error);
void registry_destroy(struct registry *registry); /* closes what is open; plugins stay mapped */

uint32_t registry_find(const struct registry *registry, const char *name); /* UINT32_MAX if none */

/* Is `name` one of the comma-separated names? */
bool registry_list_holds(const char *list, const char *name);
/* COLLAGE_ERROR_ARGUMENT, naming it, if one of the comma-separated names (NULL: none) is unknown.
 */
collage_status registry_check_names(const struct registry *registry, const char *list,
                                    struct error *error);

/* Sets the environment of ALL entries' thread contracts (so that no later library finds another's
 * missing). */
void registry_set_environment(const struct registry *registry, int32_t threads);

/* Opens the library once; later calls return at once. */
collage_status registry_open(struct registry *registry, uint32_t index,
                             const collage_target *target, struct error *error);
/* What a worker found: "" for no problem. False if out of memory: the entry is as it was. */
bool registry_set_version(struct registry *registry, uint32_t index, const char *version,
                          const char *problem);

/* The machine: threads as asked (0: physical cores that this process may run on), ISA by CPUID. */
collage_target registry_host_target(int32_t threads);

#endif
