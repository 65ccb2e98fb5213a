/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.h: a plan as one page that needs nothing else: the graph to pan and zoom, sums, a table of
 * the steps, and for each step what else could run it. In: the plan and, if known, the
 * alternatives. Out: HTML with style and script inside. A policy in the page forbids all else: no
 * network, no other script.
 */
#ifndef COLLAGE_REPORT_HTML_H
#define COLLAGE_REPORT_HTML_H

#include "report/explain.h"

/* explanation: may be NULL; then the page says that no costs of alternatives are known. */
collage_status report_html(const struct graph *graph, const struct plan *plan,
                           const struct explanation *explanation, struct text *out,
                           struct error *error);

#endif
