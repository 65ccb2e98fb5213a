/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern_file.h: files of patterns and rules (docs/patterns.md), which say for backends that are
 * there already what else could run as one kernel. In: the text; out: entries, and for a graph the
 * sets of nodes that they mean. What comes of a set is the backend's word and a measurement.
 */
#ifndef COLLAGE_PATTERN_PATTERN_FILE_H
#define COLLAGE_PATTERN_PATTERN_FILE_H

#include "base/text.h"
#include "pattern/dag.h"
#include "pattern/pattern.h"
#include "pattern/rule.h"

enum {
    PATTERN_FILE_BYTES = 256 * 1024, /* of a file */
    PATTERN_FILE_ENTRIES = 256,
    PATTERN_ENTRY_SETS = 4096 /* different ones of an entry in a graph */
};

enum pattern_entry_kind { ENTRY_PATTERN, ENTRY_CHAIN, ENTRY_RULE };

struct pattern_entry {
    enum pattern_entry_kind kind;
    const char *name;
    const char *const *backends; /* names, whether there or not */
    uint32_t backend_count;
    uint32_t target;            /* bits of what the target must have, see pattern_entry_fits */
    const char *const *devices; /* globs, all of which the device must fit */
    uint32_t device_count;
    const struct dag *forms; /* PATTERN */
    uint32_t form_count;
    struct pattern *chain; /* CHAIN */
    struct rule rule;      /* RULE */
};

struct pattern_file {
    struct arena *arena;
    const char *path;
    struct pattern_entry *entries;
    uint32_t count;
};

/* path: for messages. text: not terminated, may be NULL if length is 0. COLLAGE_ERROR_FORMAT names
 * path, line and column, and what was expected. */
collage_status pattern_file_parse(const char *path, const char *text, size_t length,
                                  struct pattern_file **out, struct error *error);
/* The same, for the text of a backend's own: it is for `backend`, and names no other. */
collage_status pattern_file_parse_own(const char *path, const char *backend, const char *text,
                                      size_t length, struct pattern_file **out,
                                      struct error *error);
collage_status pattern_file_load(const char *path, struct pattern_file **out, struct error *error);
void pattern_file_destroy(struct pattern_file *file);

/* What entries may be meant for: the target, and the name and the fingerprint of the machine (NULL:
 * not known; no glob fits). */
struct pattern_target {
    const collage_target *target;
    const char *device, *fingerprint;
};

/* Is the entry meant for that backend and that target? */
bool pattern_entry_fits(const struct pattern_entry *entry, const char *backend,
                        const struct pattern_target *target);
/* Appends "cpu avx2"; "any". */
void pattern_entry_print_target(const struct pattern_entry *entry, struct text *text);

/* Each set of nodes that the entry means in the graph, once; ascending, convex; false stops. The
 * prefixes of chains are among them. */
typedef bool (*pattern_set_fn)(void *user, const node_id *nodes, uint32_t count);

/* *cut_off: a limit was reached, there may be more. COLLAGE_ERROR_MEMORY only. */
collage_status pattern_entry_match(const struct pattern_entry *entry, const struct graph *graph,
                                   const struct graph_uses *uses, pattern_set_fn found, void *user,
                                   bool *cut_off, struct error *error);

#endif
