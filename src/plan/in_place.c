/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/build.h"

/* The last step that reads the contents of each tensor, its views included; 0 if none does (a step
 * that reads what an earlier one wrote is never the first). */
static void find_last_reads(const struct plan *plan, const uint32_t *writers, uint32_t *last_reads)
{
    for (uint32_t s = 0; s < plan->step_count; s++)
        for (uint32_t k = 0; k < plan->steps[s].input_count; k++)
            last_reads[plan_tensor_owner(plan, writers, plan->steps[s].inputs[k])] = s;
}

/* Memory that several tensors have parts of: who reads what in it is not told by the last reads. */
static void find_divided(const struct plan *plan, bool *divided)
{
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        if (plan->tensors[t].shares != GRAPH_NONE &&
            plan->tensors[t].bytes != plan->tensors[plan->tensors[t].shares].bytes)
            divided[plan_tensor_root(plan, t)] = true;
    for (uint32_t s = 0; s < plan->step_count; s++)
        if (plan->steps[s].kind == PLAN_JOIN)
            divided[plan_tensor_root(plan, plan->steps[s].outputs[0])] = true;
}

/* What is known before anything is shared in place. */
struct uses {
    uint32_t *writers, *last_reads;
    bool *divided; /* at each root */
};

/* May this output lie in that input? Only in activation memory that nobody else reads, now or
 * later. */
static bool is_safe(const struct plan *plan, const struct uses *uses, uint32_t step_index,
                    uint32_t input, uint32_t output)
{
    const struct plan_step *step = &plan->steps[step_index];
    const struct plan_tensor *to = &plan->tensors[step->outputs[output]];
    uint32_t from = step->inputs[input];
    uint32_t root = plan_tensor_root(plan, from);
    const struct plan_tensor *memory = &plan->tensors[root];
    if (to->place != PLAN_ARENA || to->shares != GRAPH_NONE || to->bytes == 0 ||
        memory->place != PLAN_ARENA || memory->bytes < to->bytes || uses->divided[root] ||
        uses->last_reads[plan_tensor_owner(plan, uses->writers, from)] != step_index)
        return false;
    for (uint32_t k = 0; k < step->input_count; k++)
        if (k != input && plan_tensor_root(plan, step->inputs[k]) == root)
            return false;
    for (uint32_t k = 0; k < step->output_count; k++)
        if (plan_tensor_root(plan, step->outputs[k]) == root)
            return false;
    return true;
}

static void share_step(struct plan *plan, const struct cost *cost, const struct uses *uses,
                       uint32_t step_index)
{
    const struct plan_step *step = &plan->steps[step_index];
    for (size_t k = 0; k < cost->inplace_count && k < 4; k++) {
        uint32_t output = cost->inplace[2 * k], input = cost->inplace[2 * k + 1];
        if (output < step->output_count && input < step->input_count &&
            is_safe(plan, uses, step_index, input, output))
            plan->tensors[step->outputs[output]].shares = step->inputs[input];
    }
}

collage_status plan_share_in_place(struct plan *plan, const struct candidate_set *set,
                                   const struct new_step *steps, struct error *error)
{
    struct uses uses = { .writers = memory_alloc(plan->tensor_count * sizeof *uses.writers),
                         .last_reads = memory_alloc(plan->tensor_count * sizeof *uses.last_reads),
                         .divided = memory_alloc(plan->tensor_count * sizeof *uses.divided) };
    collage_status status = COLLAGE_OK;
    if (uses.writers && uses.last_reads && uses.divided) {
        plan_tensor_writers(plan, uses.writers);
        find_last_reads(plan, uses.writers, uses.last_reads);
        find_divided(plan, uses.divided);
        for (uint32_t s = 0; s < plan->step_count; s++)
            if (steps[s].candidate != GRAPH_NONE)
                share_step(plan, &set->items[steps[s].candidate].cost, &uses, s);
    } else {
        status = error_memory(error);
    }
    memory_free(uses.writers);
    memory_free(uses.last_reads);
    memory_free(uses.divided);
    return status;
}
