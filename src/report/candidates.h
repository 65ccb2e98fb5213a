/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.h: how reports name candidates and list those that cover a node. */
#ifndef COLLAGE_REPORT_CANDIDATES_H
#define COLLAGE_REPORT_CANDIDATES_H

#include "base/text.h"
#include "pattern/candidate.h"

/* "Conv+Add+Relu", shortened with "..." after 6 operators. */
void report_operators(const struct graph *graph, const node_id *nodes, uint32_t count, char *text,
                      size_t size);
/* "12", "12-14, 20": shortened with "..." after 6 ranges. nodes: ascending. */
void report_node_ids(const node_id *nodes, uint32_t count, char *text, size_t size);
/* "acdb plain > acdb"; "row-major" if all are; shortened with "..." after 6 of a side. */
void report_layouts(const struct candidate *candidate, char *text, size_t size);
/* "640 B", "12.0 KiB", "3.4 MiB"; "-" for 0. */
void report_bytes(uint64_t bytes, char *text, size_t size);

struct candidate_table {
    const struct candidate_set *set;
    node_id node;
    candidate_id chosen;        /* is marked; GRAPH_NONE: none */
    const double *prices;       /* node by node: what the plan pays for it; NULL: it is not told */
    const char *const *origins; /* by candidate: where its cost comes from; NULL: it is not told */
};

/* Those that were measured, then those that failed and why, how many were not measured, and why
 * backends refused the node. */
collage_status report_candidates_text(const struct candidate_table *table, struct text *out,
                                      struct error *error);

#endif
