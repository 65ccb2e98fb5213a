/* SPDX-License-Identifier: Apache-2.0 */
#include "run/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/steps.h"

/* ---- making ---- */

/* Opens what the plan names, in the versions it names. */
static collage_status open_backends(struct compile_context *c, uint32_t *entries,
                                    struct error *error)
{
    registry_set_environment(c->registry, c->plan->threads); /* before any library is loaded */
    for (uint32_t k = 0; k < c->plan->backend_count; k++) {
        const struct plan_backend *wanted = &c->plan->backends[k];
        entries[k] = registry_find(c->registry, wanted->name);
        if (entries[k] == UINT32_MAX)
            return error_set(error, COLLAGE_ERROR_MISMATCH,
                             "the plan uses the backend '%s', which is not here: install its "
                             "plugin, or optimize the model again",
                             wanted->name);
        collage_status status = registry_open(c->registry, entries[k], &c->target, error);
        if (status != COLLAGE_OK)
            return status;
        const char *found = c->registry->entries[entries[k]].version;
        if (strcmp(found, wanted->version) != 0)
            return error_set(error, COLLAGE_ERROR_MISMATCH,
                             "the plan was made with %s %s, but %s is installed: optimize the "
                             "model again",
                             wanted->name, wanted->version, found);
    }
    return COLLAGE_OK;
}

static const char *label_step(struct session *session, const struct compile_context *c,
                              uint32_t index)
{
    const struct plan_step *step = &c->plan->steps[index];
    char what[128];
    plan_step_describe(step, c->graph, what, sizeof what);
    const char *name = step->node_count > 0
                           ? c->graph->nodes[step->nodes[0]].base.name
                           : c->graph->values[c->plan->tensors[step->inputs[0]].value].name;
    return arena_format(session->arena, "step %u (%s '%.80s'%s%s)", index, what, name ? name : "",
                        step->backend == GRAPH_NONE ? "" : " on ",
                        step->backend == GRAPH_NONE ? "" : c->plan->backends[step->backend].name);
}

static collage_status make_steps(struct session *session, const struct compile_context *c,
                                 struct error *error)
{
    const struct plan *plan = c->plan;
    session->steps = arena_array(session->arena, plan->step_count, sizeof *session->steps);
    if (!session->steps)
        return error_memory(error);
    session->step_count = plan->step_count;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        struct run_step *step = &session->steps[s];
        step->label = label_step(session, c, s);
        if (!step->label)
            return error_memory(error);
        if (plan->steps[s].kind == PLAN_COPY) {
            step->copy_bytes = plan->tensors[plan->steps[s].outputs[0]].bytes;
            continue;
        }
        if (plan->steps[s].kind == PLAN_JOIN) /* there is nothing to do */
            continue;
        collage_status status = compile_step(c, session, s, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

/* Touched here, so that no run pays for the page faults. */
static char *make_memory(uint64_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    char *memory = memory_alloc_aligned((size_t)bytes);
    if (memory)
        memset(memory, 0, (size_t)bytes);
    return memory;
}

static char *arena_address(const struct session *session, const struct plan_tensor *tensor)
{
    return session->activations + (tensor->bytes ? tensor->offset : 0);
}

/* Where a tensor lies, NULL if the caller brings its memory with each run. */
static const void *address_of(const struct session *session, const struct compile_context *c,
                              uint32_t tensor)
{
    const struct plan_tensor *root = &c->plan->tensors[plan_tensor_root(c->plan, tensor)];
    if (root->place == PLAN_ARENA)
        return arena_address(session, &c->plan->tensors[tensor]);
    return root->place == PLAN_CONSTANT ? c->graph->values[root->value].tensor.data : NULL;
}

static void fill_step(struct session *session, const struct compile_context *c, uint32_t index)
{
    const struct plan_step *from = &c->plan->steps[index];
    struct run_step *step = &session->steps[index];
    for (uint32_t k = 0; k < from->input_count; k++) {
        const struct plan_tensor *root =
            &c->plan->tensors[plan_tensor_root(c->plan, from->inputs[k])];
        step->inputs[k] = address_of(session, c, from->inputs[k]);
        if (root->place == PLAN_INPUT || root->place == PLAN_OUTPUT)
            session->input_patches[session->input_patch_count++] =
                (struct input_patch){ &step->inputs[k], root->port, root->place == PLAN_OUTPUT };
    }
    for (uint32_t k = 0; k < from->output_count; k++) {
        const struct plan_tensor *root =
            &c->plan->tensors[plan_tensor_root(c->plan, from->outputs[k])];
        step->outputs[k] = root->place == PLAN_ARENA
                               ? arena_address(session, &c->plan->tensors[from->outputs[k]])
                               : NULL;
        if (root->place == PLAN_OUTPUT)
            session->output_patches[session->output_patch_count++] =
                (struct output_patch){ &step->outputs[k], root->port };
    }
}

static collage_status make_pointers(struct session *session, const struct compile_context *c,
                                    struct error *error)
{
    size_t inputs = 0, outputs = 0;
    for (uint32_t s = 0; s < c->plan->step_count; s++) {
        inputs += c->plan->steps[s].input_count;
        outputs += c->plan->steps[s].output_count;
    }
    struct arena *arena = session->arena;
    const void **input_table = arena_array(arena, inputs, sizeof *input_table);
    void **output_table = arena_array(arena, outputs, sizeof *output_table);
    session->input_patches = arena_array(arena, inputs, sizeof *session->input_patches);
    session->output_patches = arena_array(arena, outputs, sizeof *session->output_patches);
    if (!input_table || !output_table || !session->input_patches || !session->output_patches)
        return error_memory(error);
    for (uint32_t s = 0; s < c->plan->step_count; s++) {
        session->steps[s].inputs = input_table;
        session->steps[s].outputs = output_table;
        input_table += c->plan->steps[s].input_count;
        output_table += c->plan->steps[s].output_count;
        fill_step(session, c, s);
    }
    return COLLAGE_OK;
}

static collage_status make(struct session *session, struct compile_context *c, struct error *error)
{
    uint32_t *entries = arena_array(session->arena, c->plan->backend_count, sizeof *entries);
    if (!entries)
        return error_memory(error);
    c->entries = entries;
    collage_status status = open_backends(c, entries, error);
    if (status == COLLAGE_OK)
        status = graph_uses_build(c->graph, &c->uses, error);
    if (status == COLLAGE_OK)
        status = make_steps(session, c, error);
    if (status != COLLAGE_OK)
        return status;
    session->activation_bytes = c->plan->arena_bytes;
    session->activations = make_memory(session->activation_bytes);
    if (!session->activations)
        return error_memory(error);
    for (uint32_t l = 0; l < session->lane_count; l++) {
        session->lanes[l].scratch = make_memory(session->lanes[l].scratch_bytes);
        if (!session->lanes[l].scratch)
            return error_memory(error);
    }
    status = make_pointers(session, c, error);
    if (status == COLLAGE_OK && session->lane_count > 1)
        status = lanes_assign(session, c->plan, error);
    return status == COLLAGE_OK ? lanes_start(session, error) : status;
}

/* A session with its lanes, which have nothing yet; NULL if out of memory. */
static struct session *session_alloc(const struct plan *plan)
{
    struct session *session = memory_alloc_aligned(sizeof *session);
    if (!session)
        return NULL;
    memset(session, 0, sizeof *session);
    session->lane_count = plan->lanes ? plan->lanes : 1;
    session->arena = arena_create();
    session->lanes = memory_alloc_aligned(session->lane_count * sizeof *session->lanes);
    if (session->arena && session->lanes) {
        memset(session->lanes, 0, session->lane_count * sizeof *session->lanes);
        return session;
    }
    arena_destroy(session->arena);
    memory_free_aligned(session->lanes);
    memory_free_aligned(session);
    return NULL;
}

collage_status session_create(const struct graph *graph, const struct plan *plan,
                              struct registry *registry, struct session **out, struct error *error)
{
    *out = NULL;
    collage_status status = plan_check_graph(plan, graph, error);
    if (status != COLLAGE_OK)
        return status;
    struct session *session = session_alloc(plan);
    if (!session)
        return error_memory(error);
    struct compile_context context = { .graph = graph,
                                       .plan = plan,
                                       .registry = registry,
                                       .target = registry_host_target(plan->threads),
                                       .lane_target =
                                           registry_host_target(plan_lane_threads(plan)) };
    status = make(session, &context, error);
    graph_uses_free(&context.uses);
    if (status != COLLAGE_OK) {
        session_destroy(session);
        return status;
    }
    *out = session;
    return COLLAGE_OK;
}

collage_status session_create_with(const struct graph *graph, const struct plan *plan,
                                   const struct plan_codes *codes, struct registry *registry,
                                   struct session **out, struct error *error)
{
    struct code_service *service = registry->code;
    *out = NULL;
    if (!service)
        return session_create(graph, plan, registry, out, error);
    struct code_object *objects = memory_alloc(codes->count * sizeof *objects);
    if (!objects)
        return error_memory(error);
    for (uint32_t k = 0; k < codes->count; k++)
        objects[k] = (struct code_object){ plan->objects[k].name, codes->items[k].bytes,
                                           codes->items[k].count };
    service->objects = objects;
    service->object_count = codes->count;
    service->only_objects = true;
    collage_status status = session_create(graph, plan, registry, out, error);
    service->only_objects = false;
    service->object_count = 0;
    service->objects = NULL;
    memory_free(objects);
    return status;
}

void session_destroy(struct session *session)
{
    if (!session)
        return;
    lanes_stop(session);
    for (uint32_t s = 0; s < session->step_count; s++)
        if (session->steps[s].api)
            session->steps[s].api->kernel_destroy(session->steps[s].kernel);
    memory_free_aligned(session->activations);
    for (uint32_t l = 0; l < session->lane_count; l++)
        memory_free_aligned(session->lanes[l].scratch);
    memory_free_aligned(session->lanes);
    memory_free(session->stamps);
    arena_destroy(session->arena);
    memory_free_aligned(session);
}

/* ---- running ---- */

static void set_pointers(struct session *session, const void *const *inputs, void *const *outputs)
{
    for (uint32_t k = 0; k < session->input_patch_count; k++) {
        const struct input_patch *patch = &session->input_patches[k];
        *patch->entry = patch->from_output ? outputs[patch->port] : inputs[patch->port];
    }
    for (uint32_t k = 0; k < session->output_patch_count; k++)
        *session->output_patches[k].entry = outputs[session->output_patches[k].port];
}

collage_status step_failed(const struct run_step *step, collage_status status,
                           collage_message *message, struct error *error)
{
    message->text[sizeof message->text - 1] = '\0';
    return error_set(error, status, "%s: %s", step->label,
                     message->text[0] ? message->text : collage_status_text(status));
}

/* Each reading ends one step and begins the next. */
static void put_stamp(uint64_t *stamp, uint32_t step)
{
    stamp[2 * (size_t)step] = clock_ns();
    if (step > 0)
        stamp[2 * (size_t)step - 1] = stamp[2 * (size_t)step];
}

static collage_status run_in_order(struct session *session, struct error *error)
{
    collage_message message;
    message.text[0] = '\0';
    for (uint32_t s = 0; s < session->step_count; s++) {
        struct run_step *step = &session->steps[s];
        if (session->stamp)
            put_stamp(session->stamp, s);
        if (!step->api) {
            if (step->copy_bytes)
                memcpy(step->outputs[0], step->inputs[0], step->copy_bytes);
            continue;
        }
        collage_status status = step->api->run(step->kernel, NULL, step->inputs, step->outputs,
                                               session->lanes[0].scratch, &message);
        if (status != COLLAGE_OK)
            return step_failed(step, status, &message, error);
    }
    if (session->stamp && session->step_count > 0)
        session->stamp[2 * (size_t)session->step_count - 1] = clock_ns();
    return COLLAGE_OK;
}

collage_status session_run(struct session *session, const void *const *inputs, void *const *outputs,
                           struct error *error)
{
    session->stamp = NULL;
    if (session->stamps)
        session->stamp = session->stamps +
                         session->profiled_runs % PROFILE_RUNS * 2 * (uint64_t)session->step_count;
    set_pointers(session, inputs, outputs);
    collage_status status =
        session->lane_count > 1 ? lanes_run(session, error) : run_in_order(session, error);
    if (status == COLLAGE_OK && session->stamp)
        session->profiled_runs++;
    return status;
}

void session_memory(const struct session *session, uint64_t *activation_bytes,
                    uint64_t *packed_weight_bytes)
{
    uint64_t scratch = 0;
    for (uint32_t l = 0; l < session->lane_count; l++)
        scratch += session->lanes[l].scratch_bytes;
    if (activation_bytes)
        *activation_bytes = session->activation_bytes + scratch;
    if (packed_weight_bytes)
        *packed_weight_bytes = session->weight_bytes;
}
