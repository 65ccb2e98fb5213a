/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycles.h: internal to place/: convex candidates may wait for each other in a circle; then none
 * of them can be executed first. The program does not know of this: it is told when it happens.
 */
#ifndef COLLAGE_PLACE_CYCLES_H
#define COLLAGE_PLACE_CYCLES_H

#include "place/model.h"

/* Finds cycles among the options that the columns choose, and adds a row against each to the
 * program, and against all others by the same nodes. *found: how many. */
collage_status cycles_cut(struct model *model, const double *columns, uint32_t *found,
                          struct error *error);

#endif
