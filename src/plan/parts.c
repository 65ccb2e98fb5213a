/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c: tensors that lie in a part of another one. */
#include "plan/build.h"

#include "graph/parts.h"

static bool reads(const struct plan_step *step, uint32_t tensor)
{
    for (uint32_t k = 0; k < step->input_count; k++)
        if (step->inputs[k] == tensor)
            return true;
    return false;
}

uint64_t plan_share_offset(const struct plan *plan, const struct graph *graph,
                           const uint32_t *writers, uint32_t tensor, bool *part)
{
    const struct plan_tensor *t = &plan->tensors[tensor];
    uint64_t offset = 0;
    *part = false;
    if (t->shares == GRAPH_NONE)
        return 0;
    const struct plan_tensor *whole = &plan->tensors[t->shares];
    bool in_place =
        writers[tensor] != GRAPH_NONE && reads(&plan->steps[writers[tensor]], t->shares);
    if (in_place || t->value >= graph->value_count || whole->value >= graph->value_count ||
        !layout_equal(&t->layout, &whole->layout) ||
        !parts_find(graph, t->value, whole->value, &whole->layout, &offset) ||
        t->bytes > whole->bytes || offset > whole->bytes - t->bytes)
        return 0;
    *part = true;
    return offset;
}

/* Gives numbers to a tensor and, before it, to those whose memory it shares that have none yet. */
static uint32_t number(const struct plan *plan, uint32_t tensor, uint32_t *numbers, uint32_t next,
                       uint32_t *waiting)
{
    uint32_t count = 0;
    for (uint32_t t = tensor; t != GRAPH_NONE && numbers[t] == GRAPH_NONE;
         t = plan->tensors[t].shares)
        waiting[count++] = t;
    while (count > 0)
        numbers[waiting[--count]] = next++;
    return next;
}

static void renumber(const uint32_t *numbers, uint32_t *tensors, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        tensors[k] = numbers[tensors[k]];
}

collage_status plan_order_tensors(struct plan *plan, struct error *error)
{
    uint32_t count = plan->tensor_count, next = 0;
    uint32_t *numbers = memory_alloc(count * sizeof *numbers);
    uint32_t *waiting = memory_alloc(count * sizeof *waiting);
    struct plan_tensor *tensors = arena_array(plan->arena, count, sizeof *tensors);
    collage_status status = numbers && waiting && tensors ? COLLAGE_OK : error_memory(error);
    for (uint32_t t = 0; t < count && !status; t++)
        numbers[t] = GRAPH_NONE;
    for (uint32_t t = 0; t < count && !status; t++)
        next = number(plan, t, numbers, next, waiting);
    for (uint32_t t = 0; t < count && !status; t++) {
        tensors[numbers[t]] = plan->tensors[t];
        if (plan->tensors[t].shares != GRAPH_NONE)
            tensors[numbers[t]].shares = numbers[plan->tensors[t].shares];
    }
    for (uint32_t s = 0; s < plan->step_count && !status; s++) {
        renumber(numbers, plan->steps[s].inputs, plan->steps[s].input_count);
        renumber(numbers, plan->steps[s].outputs, plan->steps[s].output_count);
    }
    if (!status)
        plan->tensors = tensors;
    memory_free(numbers);
    memory_free(waiting);
    return status;
}
