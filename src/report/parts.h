/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h: the parts that the reports are put together from. */
#ifndef COLLAGE_REPORT_PARTS_H
#define COLLAGE_REPORT_PARTS_H

#include "report/report.h"

/* What a backend does in a plan. */
struct backend_share {
    uint32_t steps, nodes, reorders;
    double predicted_ns;
};

/* One for each of the plan's backends. */
void report_count_shares(const struct plan *plan, struct backend_share *shares);

/* "#56B4E9": of the plan's backend of that number; text on it is black. */
const char *report_colour(uint32_t backend);

/* Inside a DOT string: quoted, and plain ASCII whatever the name was. most: characters, then
 * "..."; 0: all. */
void report_put_quoted(struct text *out, const char *string, size_t most);

/* Appends a string cut and padded to a width (0: as it is), control characters replaced: names may
 * come from hostile files and must not steer a terminal. */
void report_put(struct text *out, const char *string, size_t width);

/* " 45.1%": how near a time is to the least one; a dash where one of them is not known. */
void report_put_roof(double bound_ns, double time_ns, struct text *out);

/* The row of the plan among its results, NULL if it took part in no race. */
const struct plan_result *report_chosen(const struct plan *plan);

/* "1x64x112x112" of the step's first output; "" if it has none. */
void report_shape(const struct graph *graph, const struct plan *plan, const struct plan_step *step,
                  char *text, size_t size);

/* Was measuring ended before all was measured that was worth it, at the user's wish? */
bool report_ended_early(const struct plan *plan);
/* The lane of a step; PLAN_WIDE also where the plan has no lanes. */
uint32_t report_lane(const struct plan *plan, uint32_t step);
/* "8 of 12 steps run side by side, in 2 lanes of 1 thread each"; nothing if none do. */
void report_lanes_text(const struct plan *plan, struct text *out);

/* How good the placement is, proven: "within 0.10 % of the optimum ...", without a full stop. */
void report_bound_text(const struct plan *plan, struct text *out);

void report_results_text(const struct graph *graph, const struct plan *plan, struct text *out);
void report_steps_text(const struct graph *graph, const struct plan *plan, struct text *out);
collage_status report_placement_text(const struct graph *graph, const struct plan *plan,
                                     struct text *out, struct error *error);
collage_status report_dot(const struct graph *graph, const struct plan *plan, struct text *out,
                          struct error *error);
/* Lays out DOT source and draws it. */
collage_status report_svg(const struct text *dot, struct text *out, struct error *error);

#endif
