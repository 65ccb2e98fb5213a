/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h: where to draw the boxes of a graph: in layers from top to bottom, each below all that
 * it uses (Sugiyama, Tagawa and Toda 1981: long edges get a bend in each layer, layers are ordered
 * by the mean of their neighbours). Plain, and the same every time. In: sizes and edges. Out:
 * places.
 */
#ifndef COLLAGE_REPORT_LAYERS_H
#define COLLAGE_REPORT_LAYERS_H

#include "base/error.h"
#include "base/memory.h"

struct layer_box {
    double width, height; /* in */
    double x, y;          /* out: its centre */
    uint32_t layer;       /* out */
};

struct layer_edge {
    uint32_t from, to;          /* in: from < to, so that there is no circle */
    uint32_t bends, bend_count; /* out: layers' bends[bends] and so on, from top to bottom */
};

struct layer_point {
    double x, y;
};

struct layers {
    struct layer_box *boxes;
    size_t box_count;
    struct layer_edge *edges;
    size_t edge_count;
    struct layer_point *bends; /* out; in the arena */
    double width, height;      /* out: of the whole, from (0, 0) */
};

/* Boxes of a layer do not overlap. Edges have no bends if these would be more than 100,000. */
collage_status layers_arrange(struct layers *layers, struct arena *arena, struct error *error);

#endif
