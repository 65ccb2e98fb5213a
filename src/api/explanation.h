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
    struct explanation explanation; /* of the above */
};

/* node: only the rivals of its step are looked for; GRAPH_NONE: those of all steps. Must stay where
 * it is until explanation_close, which is called also after a failure. */
collage_status explanation_open(const collage_context *context, const collage_model *model,
                                const collage_plan *plan, node_id node,
                                struct explanation_source *source, struct error *error);
void explanation_close(struct explanation_source *source);

#endif
