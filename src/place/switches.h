/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switches.h: internal to place/: the cost of switching backends in the 0-1 program. It depends on
 * the order of execution, which the program does not know; so the program holds less than it:
 * what a path of the graph costs, and what earlier answers were found to cost.
 */
#ifndef COLLAGE_PLACE_SWITCHES_H
#define COLLAGE_PLACE_SWITCHES_H

#include "place/model.h"

struct switches {
    uint32_t rest;       /* column: what is paid beyond the path, as a share of `scale` */
    uint32_t first, end; /* columns: going from a backend to another on an edge of the path */
    double scale;
};

/* Adds columns and rows. scale: no placement is wanted that pays more for switching. */
collage_status switches_add(struct model *model, double scale, struct switches *out,
                            struct error *error);

/* Adds a row: whoever chooses options of the same nodes and backends as these columns do pays for
 * switching what these do, if it is true that they cost at least cost_ns in all orders. */
collage_status switches_cut(struct model *model, const struct switches *switches,
                            const double *columns, double cost_ns, struct error *error);

#endif
