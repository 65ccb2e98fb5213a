/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registered.h: what a user has registered: plugins, backends that shall be off, files of patterns
 * and of costs, each for one kind of machine or for any. A list in memory, and the same as a text
 * file, one line an entry (docs/backends.md). Of what is said about one name the first entry holds.
 */
#ifndef COLLAGE_BACKEND_REGISTERED_H
#define COLLAGE_BACKEND_REGISTERED_H

#include "base/error.h"
#include "base/text.h"

enum registered_kind { REGISTERED_PLUGIN, REGISTERED_OFF, REGISTERED_PATTERNS, REGISTERED_COSTS };

enum {
    REGISTERED_BYTES = 1 << 20, /* of a file */
    REGISTERED_ENTRIES = 1024,
    REGISTERED_TARGET = 200 /* characters: fnmatch needs no memory for so few, which it may lack */
};

struct registered_entry {
    enum registered_kind kind;
    const char *target; /* a glob for the machine's name or fingerprint; "any" */
    const char *name;   /* of the backend; "" for files of patterns and costs */
    const char *path;   /* absolute; "" if it is off */
    bool kept;          /* it is in the file */
    char *block;        /* in a list: the memory of the three */
};

struct registered {
    struct registered_entry *items;
    size_t count, capacity;
};

void registered_free(struct registered *list);
/* A copy of the entry at that place. */
collage_status registered_insert(struct registered *list, size_t at,
                                 const struct registered_entry *entry, struct error *error);
collage_status registered_copy(const struct registered *from, struct registered *out,
                               struct error *error);

/* Does the target hold on that machine? Both are NULL if it is not known: then only "any" does. */
bool registered_fits(const struct registered_entry *entry, const char *device_name,
                     const char *fingerprint);

/* ---- changes ---- */

/* A plugin, or that a backend is off: instead of what was said about that name and target. */
collage_status registered_set_backend(struct registered *list, const struct registered_entry *entry,
                                      struct error *error);
/* Forgets what is said about a backend; target NULL: for any target. False if there was nothing. */
bool registered_forget_backend(struct registered *list, const char *name, const char *target);
/* A file of patterns or costs: at the end, unless it is there already. */
collage_status registered_add_file(struct registered *list, const struct registered_entry *entry,
                                   struct error *error);
/* The same, in the place of another file of its kind and target, if that is there (*found). */
collage_status registered_replace_file(struct registered *list, const char *old_path,
                                       const struct registered_entry *entry, bool *found,
                                       struct error *error);
/* target NULL: for any target. */
bool registered_forget_file(struct registered *list, enum registered_kind kind, const char *path,
                            const char *target);

/* ---- the file ---- */

/* A file that is missing is an empty list. It is read only if nobody but the user or root may write
 * it (COLLAGE_ERROR_ARGUMENT); COLLAGE_ERROR_FORMAT names file, line and what was expected. */
collage_status registered_read(const char *path, struct registered *out, struct error *error);
/* All or nothing, readable and writable by the user only; makes the folder if it is missing. */
collage_status registered_write(const char *path, const struct registered *list,
                                struct error *error);

/* Between these two nobody else changes the file. *lock: for registered_unlock. */
collage_status registered_lock(const char *path, int *lock, struct error *error);
void registered_unlock(int lock);

#endif
