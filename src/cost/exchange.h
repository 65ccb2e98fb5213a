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

/*
 * Takes costs in, all or none. The text may be hostile: every member is checked; an error names
 * the line. `name` is the file's, for messages. Costs that the store has already stay, unless
 * `replace`. *count: how many were new or replaced.
 */
collage_status cost_store_import(struct cost_store *store, const char *text, size_t size,
                                 const char *name, bool replace, uint64_t *count,
                                 struct error *error);

#endif
