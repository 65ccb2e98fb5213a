/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.h: why a plan is as it is, and what a node would cost elsewhere. In: a plan and what is
 * known of the alternatives, as plain data that optimize/ has gathered. Out: text for a terminal.
 */
#ifndef COLLAGE_REPORT_EXPLAIN_H
#define COLLAGE_REPORT_EXPLAIN_H

#include "base/text.h"
#include "place/rivals.h"
#include "plan/roofline.h"

/* All borrowed. */
struct explanation {
    const struct graph *graph;
    const struct plan *plan;
    const struct candidate_set *set; /* with costs where they are known; its registry has the
                                        versions that these are of */
    const candidate_id *steps;       /* step by step: its candidate, or GRAPH_NONE */
    const struct rival *rivals; /* [step * registry->count + backend]; of the steps in question */
    bool comparable;            /* the rivals were looked for */
    size_t measured, failed, unmeasured; /* candidates, views left out */
    size_t given;                        /* of the first two: by the user */
    const struct roofline *roofline;     /* of the plan; NULL: not known */
};

/* What a step costs by what is known now, 0 if that is nothing: one in a lane what it cost there
 * when the plan was made. */
double report_step_cost(const struct explanation *explanation, uint32_t step);

/* The best way to run a kernel's operators on another backend than its own; NULL if none is known.
 */
const struct rival *report_best_rival(const struct explanation *explanation, uint32_t step,
                                      uint32_t *backend);

/* The least time that it could take; 0 if that is not known. */
double report_step_bound(const struct explanation *explanation, uint32_t step);

/* Step by step the best other backend and by how much; why the whole plan won; the comparison. */
collage_status report_explain_plan(const struct explanation *explanation, struct text *out,
                                   struct error *error);
/* Why the node runs where it does; all candidates that cover it; refusals and failures. */
collage_status report_explain_node(const struct explanation *explanation, node_id node,
                                   struct text *out, struct error *error);

/* What `collage measure` prints. */
struct measured_node {
    const struct candidate_set *set; /* with costs */
    node_id node;
    const char *const *origins; /* by candidate: where its cost comes from ("store", "now") */
    const char *device_name;
};

collage_status report_measured_node(const struct measured_node *measured, struct text *out,
                                    struct error *error);

#endif
