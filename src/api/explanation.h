/* SPDX-License-Identifier: Apache-2.0 */
/* explanation.h: gathers what reports tell about the alternatives to a plan. */
#ifndef COLLAGE_API_EXPLANATION_H
#define COLLAGE_API_EXPLANATION_H

#include "api/search_files.h"
#include "optimize/recall.h"
#include "report/explain.h"

struct explanation_source {
    struct search_files files;
    struct recall recall;
    struct rival *rivals;
    struct roofline roofline;       /* known, if the store has the peaks of the plan's machine */
    struct explanation explanation; /* of the above */
};

/* What is asked about a plan. */
enum explanation_part {
    EXPLAIN_ALL,     /* also the rivals of each step */
    EXPLAIN_NODE,    /* the rivals of the node's step */
    EXPLAIN_ROOFLINE /* no rivals; the peaks are measured if they are not known */
};

/* node: EXPLAIN_NODE. Must stay where it is until explanation_close, which is called also after a
 * failure. */
collage_status explanation_open(const collage_context *context, const collage_model *model,
                                const collage_plan *plan, enum explanation_part part, node_id node,
                                struct explanation_source *source, struct error *error);
void explanation_close(struct explanation_source *source);

#endif
