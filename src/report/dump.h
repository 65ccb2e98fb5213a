/* SPDX-License-Identifier: Apache-2.0 */
/* dump.h: a graph between two stages, as text and as a picture, for people who look for a fault. */
#ifndef COLLAGE_REPORT_DUMP_H
#define COLLAGE_REPORT_DUMP_H

#include "base/text.h"
#include "plan/plan.h"

/* A box an operator, ellipses for what goes in and out; constants are left out. Graphviz source. */
void report_graph_dot(const struct graph *graph, struct text *out);

/* The text form of the graph with a comment behind each node: the step that runs it, and where. It
 * parses to the same graph. */
collage_status report_placed_text(const struct graph *graph, const struct plan *plan,
                                  struct text *out, struct error *error);
/* The picture of a plan, as Graphviz source. */
collage_status report_placed_dot(const struct graph *graph, const struct plan *plan,
                                 struct text *out, struct error *error);

/* Draws Graphviz source as SVG. *drawn is false, and out is left as it is, where Graphviz's plugins
 * are missing, or where it would work for minutes: on more than 2,000 boxes. */
collage_status report_draw(const struct text *dot, size_t boxes, bool *drawn, struct text *out,
                           struct error *error);

#endif
