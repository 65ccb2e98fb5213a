/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.h: neighbours in a placement that are to run on one graph-level backend become one region:
 * as large as it can be without a circle, in which a region would have to wait for itself.
 */
#ifndef COLLAGE_PLACE_FUSE_H
#define COLLAGE_PLACE_FUSE_H

#include "place/pins.h"

#define FUSE_ALONE UINT32_MAX

/*
 * chosen: candidates that cover every node once, in an order of execution. homes: for each of them
 * the graph-level backend that it is to run on, or FUSE_ALONE. Two with the same home of which one
 * uses a value of the other come into one group, unless a path leads from one to the other over
 * somebody who is in neither. Views (FUSE_ALONE) that lie between two with the same home, and that
 * this backend takes and pins (NULL: none) leave open, get that home and come along.
 *
 * groups: for each the place in `chosen` of the first one of its group. If each group is contracted
 * to one node, the graph has no circle; so each group is convex.
 */
collage_status fuse_neighbours(const struct candidate_set *set, const struct pins *pins,
                               const candidate_id *chosen, size_t count, uint32_t *homes,
                               uint32_t *groups, struct error *error);

#endif
