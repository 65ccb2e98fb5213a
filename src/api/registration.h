/* SPDX-License-Identifier: Apache-2.0 */
/* registration.h: what a context's user has registered, and the registry of backends that follows
 * from it. */
#ifndef COLLAGE_API_REGISTRATION_H
#define COLLAGE_API_REGISTRATION_H

#include "api/handles.h"

/* Reads the registry file, if there is one (what is wrong with it is a warning; a lack of memory is
 * nothing wrong with it, and an error), and makes the context's list of plugins and its registry.
 */
collage_status registration_open(collage_context *context, struct error *error);
void registration_close(collage_context *context);

/* Looks at the machine, so that a target other than "any" can be compared with it: once. */
collage_status registration_look(collage_context *context, const char *target, struct error *error);
/* Does the entry's target fit this machine? registration_look has been called for it. */
bool registration_fits(const collage_context *context, const struct registered_entry *entry);

/* One thing that is to be different. */
struct registration_change {
    enum registration_deed {
        SET_BACKEND,
        FORGET_BACKEND,
        ADD_FILE,
        REPLACE_FILE,
        FORGET_FILE
    } deed;
    struct registered_entry entry; /* borrowed; to forget: its name, or its kind and path */
    const char *forget_target;     /* of what is to be forgotten; NULL: any */
    const char *old_path;          /* of the file that is replaced */
};

/* Changes the context, and the registry file if entry.kept: all or nothing. *found (may be NULL):
 * there was something to forget or replace. */
collage_status registration_apply(collage_context *context,
                                  const struct registration_change *change, bool *found,
                                  struct error *error);

/* What the caller knows of it, the rest being defaults; COLLAGE_ERROR_ARGUMENT if it cannot be.
 * Looks at the machine if its target asks for that. */
collage_status registration_take(collage_context *context, const collage_registration *given,
                                 collage_registration *out, struct error *error);
/* The absolute path of a file; memory_alloc'ed. must_exist: else the path as it would be. */
collage_status registration_path(const char *path, bool must_exist, char **out,
                                 struct error *error);

/* Adds, replaces or forgets a file of patterns or costs, and says if there was nothing to do.
 * absolute: from registration_path; old_path: as well, or NULL. */
collage_status registration_apply_file(collage_context *context, const collage_registration *how,
                                       enum registration_deed deed, enum registered_kind kind,
                                       const char *absolute, const char *old_path,
                                       struct error *error);

/* Logs "WHAT: PROBLEM" as a warning. It needs no memory, which may be what lacks. */
void registration_warn(const collage_context *context, const char *what, const char *problem);

#endif
