/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h: internal to place/: the placement problem as a 0-1 program (docs/placement.md), and what
 * the program's row prices say about options and conversions. Costs of switching are not in it, nor
 * is the order of execution: what it finds may have to be cut off.
 */
#ifndef COLLAGE_PLACE_MODEL_H
#define COLLAGE_PLACE_MODEL_H

#include "place/options.h"
#include "place/program.h"

/* A user takes a value that was made in one layout in another one. */
struct model_route {
    uint32_t use, from, to;
    uint32_t conversion; /* among the conversions; MODEL_NONE: it pays the conversion itself */
    value_id value;
};

/* A conversion that several users may share. */
struct model_conversion {
    value_id value;
    uint32_t from, to;
};

/* Columns: first the options, as in the table; then routes; then conversions. */
struct model {
    const struct place_table *table;
    struct program program;
    uint32_t use_count; /* uses of graph_uses; then one for each value: as a model output */
    uint32_t *made;     /* value by value: the layouts that some option makes it in */
    uint32_t *taken;    /* use by use: the layouts that it is taken in */
    uint32_t *take_row; /* use by use: the first of its rows, one for each layout taken */
    uint32_t *make_row; /* use by use: the first of its rows, one for each layout made */
    struct model_route *routes;
    size_t route_count, route_capacity;
    uint32_t first_conversion; /* its column */
    struct model_conversion *conversions;
    size_t conversion_count, conversion_capacity;
};

#define MODEL_NONE UINT32_MAX

/* Borrows the table. */
collage_status model_make(const struct place_table *table, struct model *out, struct error *error);
void model_free(struct model *model);

/* Row by row: the node that it is about; all that a row ties together lies near it. */
void model_row_nodes(const struct model *model, node_id *nodes);

/* The bounds that these row prices prove become the table's: of the whole, of its options, routes
 * and conversions. Not (*better is false) if what they prove is less than what is known. */
collage_status model_price(const struct model *model, const double *prices,
                           struct place_table *table, bool *better, struct error *error);

#endif
