/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/lanes.h"

#include <string.h>

static collage_status copy_plan(const struct plan *plan, const struct graph *graph,
                                struct plan **out, struct error *error)
{
    json_t *json = NULL;
    collage_status status = plan_to_json(plan, graph, &json, error);
    if (status == COLLAGE_OK)
        status = plan_from_json(json, graph, out, error);
    json_decref(json);
    for (uint32_t s = 0; s < plan->step_count && status == COLLAGE_OK; s++)
        (*out)->steps[s].given = plan->steps[s].given; /* said by evidence only */
    if (status == COLLAGE_OK)
        (*out)->needs_code = plan->needs_code; /* no file says it */
    return status;
}

/* ---- libraries ---- */

static uint32_t use_backend(struct plan *plan, const char *name, const char *version)
{
    for (uint32_t b = 0; b < plan->backend_count; b++)
        if (strcmp(plan->backends[b].name, name) == 0)
            return b;
    struct plan_backend *added = &plan->backends[plan->backend_count];
    added->name = arena_string(plan->arena, name);
    added->version = arena_string(plan->arena, version);
    return added->name && added->version ? plan->backend_count++ : GRAPH_NONE;
}

/* Only those that are still in use. */
static bool drop_unused(struct plan *plan)
{
    const struct plan_backend *before = plan->backends;
    plan->backends = arena_array(plan->arena, plan->backend_count, sizeof *plan->backends);
    if (!plan->backends)
        return false;
    plan->backend_count = 0;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        if (step->backend == GRAPH_NONE)
            continue;
        const struct plan_backend *used = &before[step->backend];
        step->backend = use_backend(plan, used->name, used->version);
        if (step->backend == GRAPH_NONE)
            return false;
    }
    return true;
}

/* ---- steps ---- */

static bool set_kernel(struct plan *plan, struct plan_step *step, const struct lane_kernel *kernel)
{
    step->cost_ns = kernel->cost_ns;
    step->given = kernel->given;
    if (!kernel->backend)
        return true;
    step->backend = use_backend(plan, kernel->backend, kernel->version);
    step->variant = arena_string(plan->arena, kernel->variant);
    step->implementation = arena_string(plan->arena, kernel->implementation);
    step->schedule = kernel->schedule ? arena_string(plan->arena, kernel->schedule) : NULL;
    return step->backend != GRAPH_NONE && step->variant && step->implementation &&
           (step->schedule || !kernel->schedule);
}

static bool set_steps(struct plan *plan, const struct plan *from, uint32_t lanes,
                      const uint32_t *order, const uint32_t *lane,
                      const struct lane_kernel *kernels)
{
    struct plan_step *steps = arena_array(plan->arena, plan->step_count, sizeof *steps);
    struct plan_backend *backends =
        arena_array(plan->arena, (size_t)plan->backend_count + plan->step_count, sizeof *backends);
    if (!steps || !backends)
        return false;
    memcpy(backends, plan->backends, plan->backend_count * sizeof *backends);
    plan->backends = backends;
    plan->lanes = lanes;
    for (uint32_t s = 0; s < from->step_count; s++) {
        steps[s] = plan->steps[order[s]];
        steps[s].lane = lane[order[s]];
        if (steps[s].lane != PLAN_WIDE && !set_kernel(plan, &steps[s], &kernels[order[s]]))
            return false;
    }
    plan->steps = steps;
    return drop_unused(plan);
}

/* ---- in place ---- */

/* Else it is a part of what a later Concat gives, and stays one. */
static bool is_in_place(const struct plan_step *step, uint32_t shares)
{
    for (uint32_t k = 0; k < step->input_count && shares != GRAPH_NONE; k++)
        if (step->inputs[k] == shares)
            return true;
    return false;
}

static bool kernel_allows(const struct plan *plan, const struct plan_step *step, uint32_t output,
                          const struct lane_kernel *kernel)
{
    const uint32_t shares = plan->tensors[step->outputs[output]].shares;
    for (size_t k = 0; k < kernel->inplace_count && k < 4; k++)
        if (kernel->inplace[2 * k] == output && kernel->inplace[2 * k + 1] < step->input_count &&
            step->inputs[kernel->inplace[2 * k + 1]] == shares)
            return true;
    return false;
}

static bool reads_root(const struct plan *plan, uint32_t index, uint32_t root)
{
    const struct plan_step *step = &plan->steps[index];
    for (uint32_t k = 0; k < step->input_count; k++)
        if (plan_tensor_root(plan, step->inputs[k]) == root)
            return true;
    return false;
}

/* Has everybody else who reads this memory done so when the step begins, without being waited for?
 */
static bool others_are_over(const struct plan *plan, uint32_t index, uint32_t root)
{
    const uint32_t lane = plan->steps[index].lane;
    bool over = true, certain = lane == PLAN_WIDE;
    for (uint32_t s = index; s-- > 0 && !certain && over;) {
        certain = plan->steps[s].lane == PLAN_WIDE; /* all before it are over */
        over = certain || plan->steps[s].lane == lane || !reads_root(plan, s, root);
    }
    for (uint32_t s = index + 1; s < plan->step_count && over; s++)
        over = !reads_root(plan, s, root);
    return over;
}

/* A lane that writes where another one reads would have to wait for it. Outputs are taken out of
 * the inputs that they lie in, from the last step to the first: those who read an output that lies
 * in an input are users of the input's memory, until they are looked at themselves. */
static void limit_sharing(struct plan *plan, const uint32_t *order,
                          const struct lane_kernel *kernels)
{
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        for (uint32_t o = 0; o < step->output_count; o++) {
            struct plan_tensor *tensor = &plan->tensors[step->outputs[o]];
            if (!is_in_place(step, tensor->shares))
                continue;
            const uint32_t shared = tensor->shares;
            const bool allowed =
                step->lane == PLAN_WIDE || kernel_allows(plan, step, o, &kernels[order[s]]);
            tensor->shares = GRAPH_NONE; /* its own readers do not count */
            if (allowed && others_are_over(plan, s, plan_tensor_root(plan, shared)))
                tensor->shares = shared;
        }
    }
}

collage_status plan_with_lanes(const struct plan *plan, const struct graph *graph, uint32_t lanes,
                               const uint32_t *order, const uint32_t *lane,
                               const struct lane_kernel *kernels, struct plan **out,
                               struct error *error)
{
    struct plan *copy = NULL;
    *out = NULL;
    collage_status status = copy_plan(plan, graph, &copy, error);
    if (status != COLLAGE_OK)
        return status;
    copy->bound_ns = 0; /* is of plans without lanes */
    copy->optimal = false;
    if (set_steps(copy, plan, lanes, order, lane, kernels)) {
        limit_sharing(copy, order, kernels);
        status = plan_memory(copy, graph, error);
        if (status == COLLAGE_OK)
            status = plan_verify(copy, graph, error);
    } else {
        status = error_memory(error);
    }
    if (status == COLLAGE_OK)
        *out = copy;
    else
        plan_destroy(copy);
    return status;
}
