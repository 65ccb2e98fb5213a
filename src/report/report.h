/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: what people and scripts read: tables, JSON, Graphviz pictures. */
#ifndef COLLAGE_REPORT_REPORT_H
#define COLLAGE_REPORT_REPORT_H

#include "base/text.h"
#include "plan/plan.h"

/* Text: the comparison, then operators by backend and the steps. JSON: plan_to_json's object. HTML:
 * the page without alternatives (report/html.h has it with them). */
collage_status report_plan(const struct graph *graph, const struct plan *plan,
                           collage_format format, struct text *out, struct error *error);
/* The comparison alone (results of a race): text or JSON. */
collage_status report_results(const struct graph *graph, const struct plan *plan,
                              collage_format format, struct text *out, struct error *error);

#endif
