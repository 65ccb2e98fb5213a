/* SPDX-License-Identifier: Apache-2.0 */
#include "run/steps.h"

#include <string.h>

#include "graph/subgraph.h"
#include "pattern/schedule.h"
#include "tensor/layout.h"

/* A step on its way to a kernel; all in a temporary arena, gone when the kernel is there. */
struct unit {
    const struct compile_context *context;
    const struct plan_step *step;
    const struct backend_entry *entry;
    const collage_target *target;
    const collage_subgraph *subgraph;
    collage_variant variant;
    struct arena *arena;
    struct error *error;
};

static bool is_wide(const struct plan *plan, const struct plan_step *step)
{
    return plan->lanes == 0 || step->lane == PLAN_WIDE;
}

static collage_status make_subgraph(struct unit *u)
{
    const struct graph *graph = u->context->graph;
    if (u->step->kind == PLAN_REORDER) {
        value_id value = u->context->plan->tensors[u->step->inputs[0]].value;
        return subgraph_make_identity(u->arena, &graph->values[value].tensor, &u->subgraph,
                                      u->error);
    }
    struct region region; /* in the step's own order of inputs and outputs: plan_verify saw to it */
    collage_status status = plan_step_region(u->context->plan, u->step, graph, &u->context->uses,
                                             u->arena, &region, u->error);
    if (status == COLLAGE_OK)
        status = subgraph_make(u->arena, graph, &region, &u->subgraph, u->error);
    return status;
}

static collage_layout *layouts_of(struct unit *u, const uint32_t *tensors, uint32_t count)
{
    collage_layout *layouts = arena_array(u->arena, count, sizeof *layouts);
    for (uint32_t k = 0; k < count && layouts; k++)
        layouts[k] = u->context->plan->tensors[tensors[k]].layout;
    return layouts;
}

static bool all_equal(const collage_layout *a, const collage_layout *b, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (!layout_equal(&a[k], &b[k]))
            return false;
    return true;
}

/* Does the backend itself offer what the plan says? A layout that the kernel does not expect would
 * send it outside its buffers. Reorders have no variants: their two layouts say all. */
static collage_status check_offered(struct unit *u)
{
    enum { MOST_VARIANTS = 1024 };
    const collage_backend_api *api = u->entry->api;
    uint32_t inputs = u->step->input_count, outputs = u->step->output_count;
    collage_layout *offered = arena_array(u->arena, inputs + outputs, sizeof *offered);
    if (!offered)
        return error_memory(u->error);
    for (size_t index = 0; index < MOST_VARIANTS; index++) {
        memset(offered, 0, (inputs + outputs) * sizeof *offered);
        collage_variant variant = { .struct_size = sizeof variant,
                                    .inputs = offered,
                                    .outputs = offered + inputs };
        bool more =
            api->variant ? api->variant(u->subgraph, u->target, index, &variant) : index == 0;
        if (!more)
            break;
        if (strncmp(variant.name, u->variant.name, sizeof variant.name) == 0 &&
            all_equal(variant.inputs, u->variant.inputs, inputs) &&
            all_equal(variant.outputs, u->variant.outputs, outputs))
            return COLLAGE_OK;
    }
    return error_set(u->error, COLLAGE_ERROR_MISMATCH,
                     "the backend does not offer the variant '%s' in these layouts here: "
                     "optimize the model again",
                     u->variant.name);
}

/* A plan may come from anywhere: the backend must know the schedule for this very kernel. */
static collage_status check_schedule(struct unit *u)
{
    if (!u->step->schedule ||
        schedule_is_offered(u->entry->api, u->subgraph, u->target, &u->variant, u->step->schedule))
        return COLLAGE_OK;
    return error_set(u->error, COLLAGE_ERROR_MISMATCH,
                     "the backend does not know the schedule '%s' here: optimize the model again",
                     u->step->schedule);
}

/* Kernels of a lane run while those of others do. */
static collage_status check_lane(struct unit *u)
{
    if (is_wide(u->context->plan, u->step) ||
        (u->entry->api->thread_flags & COLLAGE_THREADS_CONCURRENT))
        return COLLAGE_OK;
    return error_set(u->error, COLLAGE_ERROR_MISMATCH,
                     "its kernels cannot run at the same time as others: optimize the model again");
}

static collage_status check_supported(struct unit *u)
{
    const collage_backend_api *api = u->entry->api;
    collage_message why = { .text = "" };
    if (u->step->kind != PLAN_KERNEL)
        return COLLAGE_OK;
    if (api->kind == COLLAGE_OP_LEVEL && api->supports &&
        !api->supports(u->subgraph, u->target, &why))
        return error_set(u->error, COLLAGE_ERROR_MISMATCH,
                         "the backend does not take it here (%s): optimize the model again",
                         why.text);
    collage_status status = check_offered(u);
    return status == COLLAGE_OK ? check_schedule(u) : status;
}

static bool is_own_input(const struct plan_step *step, uint32_t tensor)
{
    for (uint32_t k = 0; k < step->input_count; k++)
        if (step->inputs[k] == tensor)
            return true;
    return false;
}

/* An output may lie in an input only where the kernel itself says so. What it shares else, it is a
 * part of (plan_verify). */
static collage_status check_in_place(struct unit *u, const collage_kernel_info *info)
{
    for (uint32_t o = 0; o < u->step->output_count; o++) {
        uint32_t shares = u->context->plan->tensors[u->step->outputs[o]].shares;
        bool allowed = shares == GRAPH_NONE || !is_own_input(u->step, shares);
        for (size_t k = 0; k < info->inplace_count && k < 4 && !allowed; k++)
            allowed = info->inplace[2 * k] == o &&
                      info->inplace[2 * k + 1] < u->step->input_count &&
                      u->step->inputs[info->inplace[2 * k + 1]] == shares;
        if (!allowed)
            return error_set(u->error, COLLAGE_ERROR_MISMATCH,
                             "the kernel cannot write output %u into its input here: optimize the "
                             "model again",
                             o);
    }
    return COLLAGE_OK;
}

static collage_status compile(struct unit *u, struct session *session, struct run_step *out)
{
    const collage_backend_api *api = u->entry->api;
    collage_compile_request request = { .struct_size = sizeof request,
                                        .subgraph = u->subgraph,
                                        .variant = &u->variant,
                                        .target = u->target,
                                        .schedule = u->step->schedule };
    if (u->context->plan->standalone) {
        request.flags = COLLAGE_COMPILE_STANDALONE;
        request.model_path = u->context->graph->path;
    }
    collage_message message = { .text = "" };
    collage_status status = api->compile(u->entry->open, &request, &out->kernel, &message);
    if (status == COLLAGE_OK && !out->kernel)
        status = message_set(&message, COLLAGE_ERROR_BACKEND, "compiles to nothing");
    message.text[sizeof message.text - 1] = '\0';
    if (status != COLLAGE_OK)
        return error_from_message(u->error, status, u->entry->name, &message);
    out->api = api; /* from here on session_destroy frees the kernel */
    collage_kernel_info info = { .struct_size = sizeof info };
    api->kernel_info(out->kernel, &info);
    struct lane *lane = &session->lanes[is_wide(u->context->plan, u->step) ? 0 : u->step->lane];
    if (info.scratch_bytes > lane->scratch_bytes)
        lane->scratch_bytes = info.scratch_bytes;
    if (api->kind == COLLAGE_OP_LEVEL)
        session->weight_bytes += info.weight_bytes;
    return check_in_place(u, &info);
}

static collage_status compile_unit(struct unit *u, struct session *session, struct run_step *out)
{
    collage_status status = make_subgraph(u);
    if (status != COLLAGE_OK)
        return status;
    size_t length = strlen(u->step->variant);
    u->variant.struct_size = sizeof u->variant;
    u->variant.inputs = layouts_of(u, u->step->inputs, u->step->input_count);
    u->variant.outputs = layouts_of(u, u->step->outputs, u->step->output_count);
    if (!u->variant.inputs || !u->variant.outputs)
        return error_memory(u->error);
    if (length >= sizeof u->variant.name)
        return error_set(u->error, COLLAGE_ERROR_FORMAT, "the variant's name is too long");
    memcpy(u->variant.name, u->step->variant, length + 1);
    status = check_lane(u);
    if (status == COLLAGE_OK)
        status = check_supported(u);
    return status == COLLAGE_OK ? compile(u, session, out) : status;
}

collage_status compile_step(const struct compile_context *context, struct session *session,
                            uint32_t index, struct error *error)
{
    const struct plan_step *step = &context->plan->steps[index];
    struct error own = { 0 };
    struct unit unit = { .context = context,
                         .step = step,
                         .entry = &context->registry->entries[context->entries[step->backend]],
                         .target = is_wide(context->plan, step) ? &context->target
                                                                : &context->lane_target,
                         .arena = arena_create(),
                         .error = &own };
    collage_status status =
        unit.arena ? compile_unit(&unit, session, &session->steps[index]) : error_memory(&own);
    arena_destroy(unit.arena);
    if (status == COLLAGE_OK)
        return status;
    if (status != COLLAGE_ERROR_MEMORY)
        error_prefix(&own, "%s", session->steps[index].label);
    return error_set(error, status, "%s", own.text);
}
