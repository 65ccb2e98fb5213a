/* SPDX-License-Identifier: Apache-2.0 */
/* page.h: what the files that write the page share. */
#ifndef COLLAGE_REPORT_PAGE_H
#define COLLAGE_REPORT_PAGE_H

#include "report/html.h"
#include "report/layers.h"

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

/* "#56B4E9": of the step's backend. */
const char *page_colour(const struct page *page, uint32_t step);
/* "Step 3: Conv+Relu on onednn, 23.4 us, 12.3 %": what is read aloud, and shown by the browser. */
void page_put_label(const struct page *page, uint32_t step);
/* A line from box to box, and its layout where that is not row-major. */
void page_put_edge(struct text *out, const struct layers *layers, size_t index, const char *class,
                   const collage_layout *label);

/* Runs of steps on one backend, one after another. */
uint32_t page_count_runs(const struct page *page);
/* The graph with a box for each of these: a part of that element. */
collage_status page_put_folded(const struct page *page, struct error *error);
/* Each step's time in the order of running. */
void page_put_strip(const struct page *page);
/* How the search converged, if the plan's evidence says so. */
collage_status page_put_convergence(const struct page *page, struct error *error);

/* The graph as an SVG element. */
collage_status page_put_graph(const struct page *page, struct error *error);
/* The object that the script reads: step by step its operators and the alternatives. */
collage_status page_put_data(const struct page *page, struct error *error);
/* Lines of text; NULL ends them. */
extern const char *const page_style[], *const page_script[];

#endif
