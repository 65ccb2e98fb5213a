/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.h: costs as text, to take them to another store: one JSON object a line, after a line
 * that says what it is (docs/measuring.md). Costs say which machine, library and conditions they
 * hold for, so a store may hold those of many machines.
 */
#ifndef COLLAGE_COST_EXCHANGE_H
#define COLLAGE_COST_EXCHANGE_H

#include "base/text.h"
#include "cost/store.h"

/* Appends all costs, ordered by their keys: equal stores give equal text. *count: how many. */
collage_status cost_store_export(struct cost_store *store, struct text *text, uint64_t *count,
                                 struct error *error);

/* What becomes of a cost that the store has already. */
enum cost_conflict {
    COST_STAYS,
    COST_IS_REPLACED,
    COST_BETTER_WINS /* a measured one over a failure, then the lower one: of measurements at
                        several times the lowest counts */
};

/*
 * Takes costs in, all or none. The text may be hostile: every member is checked; an error names
 * the line. `name` is the file's, for messages. *count: how many were new or replaced.
 */
collage_status cost_store_import(struct cost_store *store, const char *text, size_t size,
                                 const char *name, enum cost_conflict conflict, uint64_t *count,
                                 struct error *error);

/* Takes in another store, its folder, or a file of exported costs, all or none: opened for reading
 * only, and checked like imported text. */
collage_status cost_store_merge(struct cost_store *store, const char *path,
                                enum cost_conflict conflict, uint64_t *count, struct error *error);

#endif
