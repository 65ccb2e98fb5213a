/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

void plan_destroy(struct plan *plan)
{
    if (!plan)
        return;
    json_decref(plan->evidence);
    arena_destroy(plan->arena); /* the plan itself lies in it */
}

collage_status plan_check_graph(const struct plan *plan, const struct graph *graph,
                                struct error *error)
{
    struct hash hash = graph_hash(graph);
    if (hash_equal(hash, (struct hash){ 0 }))
        return error_memory(error); /* what graph_hash gives then */
    if (hash_equal(hash, plan->graph))
        return COLLAGE_OK;
    return error_set(error, COLLAGE_ERROR_MISMATCH,
                     "the plan was made for another model or other shapes than '%s': optimize it "
                     "again",
                     graph->path && graph->path[0] ? graph->path : graph->name);
}

uint32_t plan_tensor_root(const struct plan *plan, uint32_t tensor)
{
    while (plan->tensors[tensor].shares != GRAPH_NONE)
        tensor = plan->tensors[tensor].shares;
    return tensor;
}

void plan_tensor_writers(const struct plan *plan, uint32_t *writers)
{
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        writers[t] = GRAPH_NONE;
    for (uint32_t s = 0; s < plan->step_count; s++)
        for (uint32_t k = 0; k < plan->steps[s].output_count; k++)
            writers[plan->steps[s].outputs[k]] = s;
}

uint32_t plan_tensor_owner(const struct plan *plan, const uint32_t *writers, uint32_t tensor)
{
    while (writers[tensor] == GRAPH_NONE && plan->tensors[tensor].shares != GRAPH_NONE)
        tensor = plan->tensors[tensor].shares;
    return tensor;
}

collage_status plan_step_region(const struct plan *plan, const struct plan_step *step,
                                const struct graph *graph, const struct graph_uses *uses,
                                struct arena *arena, struct region *out, struct error *error)
{
    value_id *values = arena_array(arena, step->output_count, sizeof *values);
    if (!values)
        return error_memory(error);
    for (uint32_t k = 0; k < step->output_count; k++)
        values[k] = plan->tensors[step->outputs[k]].value;
    return region_make_giving(arena, graph, uses, step->nodes, step->node_count, values,
                              step->output_count, out, error);
}

void plan_step_describe(const struct plan_step *step, const struct graph *graph, char *text,
                        size_t size)
{
    enum { SHOWN = 6 };
    size_t used = 0;
    if (step->kind != PLAN_KERNEL) {
        snprintf(text, size, "%s",
                 step->kind == PLAN_REORDER ? "reorder"
                 : step->kind == PLAN_JOIN  ? "join"
                                            : "copy");
        return;
    }
    snprintf(text, size, "nothing");
    for (uint32_t k = 0; k < step->node_count && used < size; k++) {
        const char *op = k < SHOWN ? graph->nodes[step->nodes[k]].base.op_type : "...";
        int n = snprintf(text + used, size - used, "%s%s", k ? "+" : "", op);
        if (n < 0 || k == SHOWN)
            break;
        used += (size_t)n;
    }
}
