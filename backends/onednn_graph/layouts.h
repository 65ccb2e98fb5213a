/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layouts.h: the layouts that a sub-graph is offered in: row-major, and with channels last at the
 * border, which is what the library's convolutions and pools like to have.
 */
#ifndef ONEDNN_GRAPH_LAYOUTS_H
#define ONEDNN_GRAPH_LAYOUTS_H

#include <collage/backend.h>

/* Writes the index-th way into `out`; false if there are fewer. */
bool layouts_variant(const collage_subgraph *graph, size_t index, collage_variant *out);

#endif
