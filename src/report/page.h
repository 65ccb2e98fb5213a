/* SPDX-License-Identifier: Apache-2.0 */
/* page.h: what the files that write the page share. */
#ifndef COLLAGE_REPORT_PAGE_H
#define COLLAGE_REPORT_PAGE_H

#include "report/html.h"

struct page {
    const struct graph *graph;
    const struct plan *plan;
    const struct explanation *explanation; /* NULL: nothing is known of alternatives */
    struct arena *arena;
    struct text *out;
    double total_ns; /* of the steps' costs */
};

/* The step's cost in the plan; 0 if it has none. */
double page_cost(const struct page *page, uint32_t step);
double page_share(const struct page *page, uint32_t step); /* percent */
/* "onednn"; "" for a copy. */
const char *page_backend(const struct page *page, uint32_t step);
/* "Conv+Relu", "plain > acdb": what the step does. */
void page_describe(const struct page *page, uint32_t step, char *text, size_t size);
/* The name of the step's first output. */
const char *page_name(const struct page *page, uint32_t step);

/* The graph as an SVG element. */
collage_status page_put_graph(const struct page *page, struct error *error);
/* The object that the script reads: step by step its operators and the alternatives. */
collage_status page_put_data(const struct page *page, struct error *error);
/* Lines of text; NULL ends them. */
extern const char *const page_style[], *const page_script[];

#endif
