/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handles.h"
#include "optimize/known_peaks.h"

void collage_session_destroy(collage_session *session)
{
    if (!session)
        return;
    session_destroy(session->session);
    memory_free(session->inputs);
    memory_free(session->outputs);
    memory_free(session->step_ops);
    plan_codes_free(&session->codes);
    arena_destroy(session->arena);
    memory_free(session);
}

collage_status collage_session_create(collage_context *context, const collage_model *model,
                                      const collage_plan *plan, collage_session **out)
{
    struct error *error = context_begin(context);
    if (!model || !plan || !out)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_session_create: a pointer is NULL");
    *out = NULL;
    collage_session *session = memory_alloc(sizeof *session);
    if (!session)
        return error_memory(error);
    session->graph = model->graph;
    session->plan = plan->plan;
    session->inputs = memory_alloc((model->graph->input_count + 1) * sizeof(void *));
    session->outputs = memory_alloc((model->graph->output_count + 1) * sizeof(void *));
    session->step_ops = memory_alloc((plan->plan->step_count + 1) * sizeof *session->step_ops);
    session->arena = arena_create();
    collage_status status =
        session->inputs && session->outputs && session->step_ops && session->arena
            ? plan_codes_load(plan->plan, context->trust, &session->codes, error)
            : error_memory(error);
    if (status == COLLAGE_OK)
        status = session_create_with(model->graph, plan->plan, &session->codes, context->registry,
                                     &session->session, error);
    if (status == COLLAGE_OK)
        status = plan_roofline(plan->plan, model->graph, NULL, NULL, session->arena,
                               &session->roofline, error);
    if (status != COLLAGE_OK) {
        collage_session_destroy(session);
        return status;
    }
    for (uint32_t k = 0; k < plan->plan->step_count; k++)
        plan_step_describe(&plan->plan->steps[k], model->graph, session->step_ops[k],
                           sizeof *session->step_ops);
    *out = session;
    return COLLAGE_OK;
}

collage_status collage_session_run(collage_session *session, const DLTensor *inputs,
                                   size_t input_count, DLTensor *outputs, size_t output_count)
{
    const struct graph *graph = session->graph;
    struct error *error = &session->error;
    error_clear(error);
    if (input_count != graph->input_count || output_count != graph->output_count)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "the model has %u inputs and %u outputs; %zu and %zu were given",
                         graph->input_count, graph->output_count, input_count, output_count);
    if ((input_count && !inputs) || (output_count && !outputs))
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_session_run: a pointer is NULL");
    for (uint32_t k = 0; k < graph->input_count; k++) {
        void *data;
        collage_status status =
            dltensor_check(&inputs[k], &graph->values[graph->inputs[k]], "input", &data, error);
        if (status != COLLAGE_OK)
            return status;
        session->inputs[k] = data;
    }
    for (uint32_t k = 0; k < graph->output_count; k++) {
        collage_status status = dltensor_check(&outputs[k], &graph->values[graph->outputs[k]],
                                               "output", &session->outputs[k], error);
        if (status != COLLAGE_OK)
            return status;
    }
    return session_run(session->session, session->inputs, session->outputs, error);
}

const char *collage_session_message(const collage_session *session)
{
    return session->error.text;
}

collage_status collage_session_set_profiling(collage_session *session, bool on)
{
    error_clear(&session->error);
    return session_set_profiling(session->session, on, &session->error);
}

size_t collage_session_step_count(const collage_session *session)
{
    return session->plan->step_count;
}

collage_status collage_session_step(const collage_session *session, size_t index,
                                    collage_step_profile *profile)
{
    if (index >= session->plan->step_count || !profile ||
        profile->struct_size < offsetof(collage_step_profile, flop))
        return COLLAGE_ERROR_ARGUMENT;
    const struct plan_step *step = &session->plan->steps[index];
    struct session_profile times = session_step_profile(session->session, (uint32_t)index);
    profile->ops = session->step_ops[index];
    profile->name =
        step->output_count
            ? session->graph->values[session->plan->tensors[step->outputs[0]].value].name
            : "";
    profile->backend =
        step->backend == GRAPH_NONE ? "collage" : session->plan->backends[step->backend].name;
    profile->predicted_ns = step->cost_ns;
    profile->minimum_ns = times.minimum_ns;
    profile->median_ns = times.median_ns;
    if (profile->struct_size >= sizeof *profile) {
        const struct workload *work = &session->roofline.work[index];
        profile->flop = work->flop;
        profile->bytes = (double)(work->weight_bytes + work->activation_bytes);
        profile->bound_ns = session->roofline.bound_ns[index];
    }
    return COLLAGE_OK;
}

collage_status collage_session_find_peaks(collage_context *context, collage_session *session)
{
    struct error *error = context_begin(context);
    struct device_facts here;
    struct cost_store *store = NULL;
    if (!session)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_session_find_peaks: a pointer is NULL");
    collage_status status = device_facts_read(&here, error);
    if (status == COLLAGE_OK)
        status = cost_store_open(context->cache_directory, &store, error);
    const struct peaks_source source = { .store = store,
                                         .device = here.fingerprint,
                                         .measure = true };
    if (status == COLLAGE_OK)
        status = known_peaks_roofline(&source, session->plan, session->graph, session->arena,
                                      &session->roofline, error);
    cost_store_close(store);
    return status;
}

void collage_session_memory(const collage_session *session, uint64_t *activation_bytes,
                            uint64_t *packed_weight_bytes)
{
    session_memory(session->session, activation_bytes, packed_weight_bytes);
}
