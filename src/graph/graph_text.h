/* SPDX-License-Identifier: Apache-2.0 */
/* graph_text.h: the text form of a graph (docs/graph-text.md): printed, and parsed again to an
 * equal graph. */
#ifndef COLLAGE_GRAPH_GRAPH_TEXT_H
#define COLLAGE_GRAPH_GRAPH_TEXT_H

#include "base/text.h"
#include "graph/graph.h"

/* Constants of up to 16 elements are printed with their contents, larger ones with shape and hash.
 */
void graph_print(const struct graph *graph, struct text *out);
/* Counts, sizes, operators: what `collage inspect` shows. */
void graph_print_summary(const struct graph *graph, struct text *out);
/* Larger constants become zeros. Errors name line and column. */
collage_status graph_parse(const char *text, struct graph **out, struct error *error);
/* The body of an If or a Loop, "{...}", which ends after *length bytes. It belongs to the arena.
 * Its types are as it says: the node that holds it checks them. */
collage_status graph_parse_body(const char *text, struct arena *arena, size_t *length,
                                const collage_subgraph **out, struct error *error);

#endif
