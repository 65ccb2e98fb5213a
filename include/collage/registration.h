/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registration.h: the part of collage.h (which includes it) by which a user says what else there
 * is: backends and files of patterns, for one context or for all that are made later.
 */
#ifndef COLLAGE_REGISTRATION_H
#define COLLAGE_REGISTRATION_H

#include <collage/collage.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How something is added or removed. Zero, or NULL for the whole: for this context only. */
typedef struct collage_registration {
    size_t struct_size;
    bool keep;          /* also for contexts that are made later: it goes into the registry file */
    bool replace;       /* collage_backend_add: instead of the backend that has the name */
    const char *name;   /* collage_backend_add: the name that the plugin must have; NULL: any */
    const char *target; /* only on machines whose name or fingerprint (collage_costs_list) this glob
                           fits; NULL: any */
} collage_registration;

/*
 * Adds the plugin in the file `path`: checked, and refused with COLLAGE_ERROR_FORMAT if it is
 * malformed; COLLAGE_ERROR_ARGUMENT if its name is taken (with `replace`: if it is not). Workers
 * load it by this path, so a backend must be a file; it stays loaded for as long as this process.
 * Plans and sessions that are there stay as they are; the numbers of backends change, the strings
 * of collage_backend_describe stay valid. Since 0.1.
 */
COLLAGE_API collage_status collage_backend_add(collage_context *context, const char *path,
                                               const collage_registration *how);
/* There is no backend of that name any more: what was added is forgotten; what else has the name,
 * such as a plugin of a folder, is switched off. The reference cannot be removed. Since 0.1. */
COLLAGE_API collage_status collage_backend_remove(collage_context *context, const char *name,
                                                  const collage_registration *how);
/* Forgets what was added, replaced or switched off under that name. Since 0.1. */
COLLAGE_API collage_status collage_backend_restore(collage_context *context, const char *name,
                                                   const collage_registration *how);

/* Adds a file of patterns and rules (docs/patterns.md): it is offered whenever candidates are made
 * from then on, and read anew each time. COLLAGE_ERROR_FORMAT as collage_patterns_check. Since 0.1.
 */
COLLAGE_API collage_status collage_patterns_add(collage_context *context, const char *path,
                                                const collage_registration *how);
COLLAGE_API collage_status collage_patterns_remove(collage_context *context, const char *path,
                                                   const collage_registration *how);

typedef struct collage_registered_info {
    size_t struct_size;
    const char *kind;    /* "plugin", "off" or "patterns" */
    const char *target;  /* "any", or the glob */
    const char *name;    /* of the backend; "" for patterns */
    const char *path;    /* "" for what is off */
    const char *problem; /* why it cannot be used: a file that is gone or malformed; "" */
    bool kept;           /* in the registry file */
    bool here;           /* its target fits this machine */
} collage_registered_info;

/* What was added and removed, in the order in which it counts. Strings are valid until the next
 * call with this context. Since 0.1. */
COLLAGE_API size_t collage_registered_count(const collage_context *context);
COLLAGE_API collage_status collage_registered_describe(collage_context *context, size_t index,
                                                       collage_registered_info *info);
/* The registry file's path; "" if there is none. Since 0.1. */
COLLAGE_API const char *collage_registry_file(const collage_context *context);

/* ---- looking at patterns ---- */

/*
 * Reads a file of patterns and rules (docs/patterns.md) and writes a line for each of its entries:
 * kind, name, backends, target, size. COLLAGE_ERROR_FORMAT names file, line and column, and what
 * was expected. Since 0.1.
 */
COLLAGE_API collage_status collage_patterns_check(collage_context *context, const char *path,
                                                  collage_write_fn write, void *user);

/*
 * Writes for each entry of a file of patterns how many sets of nodes of the model it means, and
 * which: their numbers (as collage_measure takes them) and operators. No backend is asked. Errors
 * as above. Since 0.1.
 */
COLLAGE_API collage_status collage_patterns_match(collage_context *context,
                                                  const collage_model *model, const char *path,
                                                  collage_write_fn write, void *user);

#ifdef __cplusplus
}
#endif

#endif
