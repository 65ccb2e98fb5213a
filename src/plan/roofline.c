/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/roofline.h"

static bool is_constant(const struct plan *plan, const struct graph *graph, uint32_t tensor)
{
    return graph->values[plan->tensors[tensor].value].kind == VALUE_CONSTANT;
}

/* All that a copy or a reorder reads it writes, too. */
static struct workload moving_work(const struct plan *plan, const struct graph *graph,
                                   const struct plan_step *step)
{
    struct workload work = { 0 };
    for (uint32_t k = 0; k < step->input_count; k++) {
        uint64_t bytes = tensor_bytes(&graph->values[plan->tensors[step->inputs[k]].value].tensor);
        *(is_constant(plan, graph, step->inputs[k]) ? &work.weight_bytes
                                                    : &work.activation_bytes) += bytes;
    }
    for (uint32_t k = 0; k < step->output_count; k++)
        work.activation_bytes +=
            tensor_bytes(&graph->values[plan->tensors[step->outputs[k]].value].tensor);
    return work;
}

static collage_status find_work(const struct plan *plan, const struct graph *graph,
                                struct arena *arena, struct workload *out, struct error *error)
{
    struct graph_uses uses;
    uint64_t *scratch = memory_alloc((graph->value_count + 1) * sizeof *scratch);
    if (!scratch)
        return error_memory(error);
    const uint64_t touched = graph_touched_bytes(graph);
    collage_status status = graph_uses_build(graph, &uses, error);
    for (uint32_t s = 0; s < plan->step_count && status == COLLAGE_OK; s++) {
        const struct plan_step *step = &plan->steps[s];
        struct region region;
        if (step->kind == PLAN_KERNEL) {
            status = plan_step_region(plan, step, graph, &uses, arena, &region, error);
            if (status == COLLAGE_OK)
                out[s] = region_workload(graph, &region, scratch);
        } else if (step->kind != PLAN_JOIN) {
            out[s] = moving_work(plan, graph, step);
        }
        out[s].working_set_bytes = touched;
    }
    graph_uses_free(&uses);
    memory_free(scratch);
    return status;
}

collage_status plan_roofline(const struct plan *plan, const struct graph *graph,
                             const struct peaks *wide, const struct peaks *lane,
                             struct arena *arena, struct roofline *out, struct error *error)
{
    *out = (struct roofline){ .known = wide != NULL, .step_count = plan->step_count };
    out->work = arena_array(arena, (size_t)plan->step_count + 1, sizeof *out->work);
    out->bound_ns = arena_array(arena, (size_t)plan->step_count + 1, sizeof *out->bound_ns);
    if (!out->work || !out->bound_ns)
        return error_memory(error);
    collage_status status = find_work(plan, graph, arena, out->work, error);
    if (status != COLLAGE_OK || !wide)
        return status;
    out->peaks = *wide;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const bool in_lane = lane && plan->lanes && plan->steps[s].lane != PLAN_WIDE;
        out->bound_ns[s] = peaks_bound_ns(in_lane ? lane : wide, &out->work[s]);
    }
    return COLLAGE_OK;
}
