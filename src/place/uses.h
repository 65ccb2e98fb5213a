/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uses.h: internal to place/: nodes that may be computed more than once (docs/placement.md). Where
 * candidates have copies of a node, the node itself may be left out, and what the copies read is
 * taken by whoever holds them.
 */
#ifndef COLLAGE_PLACE_USES_H
#define COLLAGE_PLACE_USES_H

#include "place/options.h"

/* Sets the table's uses and copied nodes. Of an option that takes a value, at least one node is a
 * user of it. */
collage_status uses_make(struct place_table *table, struct error *error);
/* An option for each copied node that leaves it out; there is room for them. */
collage_status uses_add_leaving(struct place_table *table, struct error *error);
/* Sets the table's idle uses, by its options. */
collage_status uses_find_idle(struct place_table *table, struct error *error);

#endif
