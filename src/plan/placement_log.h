/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placement_log.h: a placement as a table, in the form of the original project: a CSV file with a
 * line "post_dfs_order,annotation" and then one line a node. post_dfs_order numbers the nodes as a
 * depth-first search from the outputs of the model leaves them, operands in their order; annotation
 * is "GROUP-BACKEND_PATTERN". Nodes of one group are one kernel. Written from a plan, and read as
 * pins (place/pins.h): docs/placement.md.
 */
#ifndef COLLAGE_PLAN_PLACEMENT_LOG_H
#define COLLAGE_PLAN_PLACEMENT_LOG_H

#include "base/text.h"
#include "plan/plan.h"

/* Every node, in the order of the numbers. A view is a group of its own, on "view". */
collage_status placement_log_write(const struct plan *plan, const struct graph *graph,
                                   struct text *out, struct error *error);

/* Adds the groups of the file to the pins. Any of the nodes may be missing. The pattern may be left
 * out ("3-onednn"); otherwise it must be the group's operators, as in a plan: so a file of another
 * model is found out. COLLAGE_ERROR_FORMAT, with the line, if the file is no such table or does not
 * fit the graph. */
collage_status placement_log_read(const char *path, struct pins *pins, struct error *error);

#endif
