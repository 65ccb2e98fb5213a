/* SPDX-License-Identifier: Apache-2.0 */
#include "api/explanation.h"

#include "optimize/known_peaks.h"

static bool is_asked_for(const struct plan_step *step, enum explanation_part part, node_id node)
{
    if (part != EXPLAIN_NODE)
        return part == EXPLAIN_ALL;
    for (uint32_t k = 0; k < step->node_count; k++)
        if (step->nodes[k] == node)
            return true;
    return false;
}

static collage_status find_rivals(struct explanation_source *source, const struct plan *plan,
                                  enum explanation_part part, node_id node, struct error *error)
{
    size_t backends = source->recall.registry.count;
    source->rivals = memory_alloc((plan->step_count * backends + 1) * sizeof *source->rivals);
    if (!source->rivals)
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    for (uint32_t s = 0; s < plan->step_count && status == COLLAGE_OK; s++)
        if (is_asked_for(&plan->steps[s], part, node))
            status = recall_find_rivals(&source->recall, s, source->rivals + s * backends, error);
    return status;
}

static collage_status find_roofline(struct explanation_source *source, const struct graph *graph,
                                    const struct plan *plan, bool measure, struct error *error)
{
    const struct optimizer *optimizer = &source->recall.optimizer;
    const struct peaks_source peaks = { .store = optimizer->store,
                                        .device = plan->device,
                                        .measure = measure };
    return known_peaks_roofline(&peaks, plan, graph, optimizer->arena, &source->roofline, error);
}

collage_status explanation_open(const collage_context *context, const collage_model *model,
                                const collage_plan *plan, enum explanation_part part, node_id node,
                                struct explanation_source *source, struct error *error)
{
    struct optimizer_settings taken = { 0 };
    *source = (struct explanation_source){ .rivals = NULL };
    collage_status status = search_files_load(context, NULL, 0, &source->files, &taken, error);
    if (status != COLLAGE_OK)
        return status;
    const struct recall_settings settings = { .graph = model->graph,
                                              .plan = plan->plan,
                                              .registry = context->registry,
                                              .cache_directory = context->cache_directory,
                                              .pattern_files = taken.pattern_files,
                                              .pattern_file_count = taken.pattern_file_count,
                                              .given = taken.given,
                                              .log = context->log,
                                              .user = context->user };
    status = recall_open(&settings, &source->recall, error);
    if (status == COLLAGE_OK)
        status = find_rivals(source, plan->plan, part, node, error);
    if (status == COLLAGE_OK)
        status = find_roofline(source, model->graph, plan->plan, part == EXPLAIN_ROOFLINE, error);
    if (status != COLLAGE_OK)
        return status;
    const struct recall *recall = &source->recall;
    source->explanation = (struct explanation){ .graph = model->graph,
                                                .plan = plan->plan,
                                                .set = recall->optimizer.set,
                                                .steps = recall->steps,
                                                .rivals = source->rivals,
                                                .comparable = recall->rivals != NULL,
                                                .measured = recall->measured,
                                                .failed = recall->failed,
                                                .unmeasured = recall->unmeasured,
                                                .given = recall->given,
                                                .roofline = &source->roofline };
    return COLLAGE_OK;
}

void explanation_close(struct explanation_source *source)
{
    recall_close(&source->recall);
    search_files_free(&source->files);
    memory_free(source->rivals);
    source->rivals = NULL;
}
