/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/trial.h"

#include <string.h>

#include "measure/trial_internal.h"
#include "pattern/schedule.h"
#include "tensor/layout.h"

enum {
    TWIN_COPY_LIMIT = 4096, /* smaller constants are shared: they say nothing about caches */
    CACHE_LINE = 64
};

static collage_status backend_error(const char *doing, collage_status status,
                                    const collage_message *message, struct error *error)
{
    const char *text = message->text[0] ? message->text : collage_status_text(status);
    return error_set(error, COLLAGE_ERROR_BACKEND, "%s: %.511s", doing, text);
}

/* ---- compiling ---- */

static collage_status check_layouts(const collage_layout *layouts, const uint32_t *values,
                                    uint32_t count, const collage_subgraph *subgraph,
                                    struct error *error)
{
    for (uint32_t k = 0; k < count; k++) {
        const collage_value *value = subgraph->values[values[k]];
        struct layout_form form;
        if (layouts[k].tag[0] == '!')
            return error_set(error, COLLAGE_ERROR_BACKEND,
                             "layout '%s' of '%s' is private to the backend: it cannot be measured",
                             layouts[k].tag, value->name);
        if (!layout_parse(&layouts[k], value->rank, &form))
            return error_set(error, COLLAGE_ERROR_BACKEND,
                             "layout '%s' does not fit '%s' of rank %d", layouts[k].tag,
                             value->name, value->rank);
    }
    return COLLAGE_OK;
}

static collage_status compile(struct trial *trial, const collage_subgraph *subgraph,
                              collage_kernel **out, struct error *error)
{
    const struct trial_spec *spec = trial->spec;
    collage_variant variant = { .struct_size = sizeof variant,
                                .inputs = trial->input_layouts,
                                .outputs = trial->output_layouts };
    size_t length = strlen(spec->variant);
    if (length >= sizeof variant.name)
        return error_set(error, COLLAGE_ERROR_BACKEND, "variant name '%s' is too long",
                         spec->variant);
    memcpy(variant.name, spec->variant, length + 1);
    if (spec->schedule && !schedule_is_offered(trial->api, trial->spec->subgraph, spec->target,
                                               &variant, spec->schedule))
        return error_set(error, COLLAGE_ERROR_BACKEND, "the backend has no schedule '%s'",
                         spec->schedule);
    /* Never shared: what one candidate packed must not make another look warm, nor stay here. */
    collage_compile_request request = { .struct_size = sizeof request,
                                        .subgraph = subgraph,
                                        .variant = &variant,
                                        .target = spec->target,
                                        .flags = COLLAGE_COMPILE_UNSHARED,
                                        .schedule = spec->schedule };
    collage_message message = { .text = "" };
    *out = NULL;
    collage_status status = trial->api->compile(trial->backend, &request, out, &message);
    if (status != COLLAGE_OK)
        return backend_error("cannot compile", status, &message, error);
    if (!*out)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "cannot compile: the backend gave no kernel");
    return COLLAGE_OK;
}

static collage_status copy_layouts(struct trial *trial, struct error *error)
{
    const struct trial_spec *spec = trial->spec;
    const collage_subgraph *subgraph = spec->subgraph;
    trial->input_layouts = arena_copy(spec->arena, spec->input_layouts,
                                      subgraph->input_count * sizeof *spec->input_layouts);
    trial->output_layouts = arena_copy(spec->arena, spec->output_layouts,
                                       subgraph->output_count * sizeof *spec->output_layouts);
    return trial->input_layouts && trial->output_layouts ? COLLAGE_OK : error_memory(error);
}

static collage_status open_and_compile(struct trial *trial, struct error *error)
{
    const struct trial_spec *spec = trial->spec;
    const collage_subgraph *subgraph = spec->subgraph;
    collage_status status = check_layouts(spec->input_layouts, subgraph->inputs,
                                          subgraph->input_count, subgraph, error);
    if (status == COLLAGE_OK)
        status = check_layouts(spec->output_layouts, subgraph->outputs, subgraph->output_count,
                               subgraph, error);
    if (status == COLLAGE_OK)
        status = registry_open(spec->registry, spec->backend, spec->target, error);
    if (status == COLLAGE_OK)
        status = copy_layouts(trial, error);
    if (status != COLLAGE_OK)
        return status;
    trial->api = spec->registry->entries[spec->backend].api;
    trial->backend = spec->registry->entries[spec->backend].open;
    status = compile(trial, subgraph, &trial->kernels[TRIAL_FIRST], error);
    if (status != COLLAGE_OK)
        return status;
    trial->info = (collage_kernel_info){ .struct_size = sizeof trial->info };
    trial->api->kernel_info(trial->kernels[TRIAL_FIRST], &trial->info);
    trial->info.implementation[sizeof trial->info.implementation - 1] = '\0';
    return COLLAGE_OK;
}

/* ---- buffers ---- */

static collage_status fill_input(const struct trial *trial, uint32_t k, void *to,
                                 struct error *error)
{
    const collage_layout plain = layout_plain();
    return layout_convert(&trial->spec->inputs[k], &plain, to, &trial->input_layouts[k], error);
}

static collage_status allocate_buffers(struct trial *trial, struct error *error)
{
    const struct trial_spec *spec = trial->spec;
    uint32_t inputs = spec->subgraph->input_count, outputs = spec->subgraph->output_count;
    trial->inputs = arena_array(spec->arena, inputs, sizeof *trial->inputs);
    trial->outputs = arena_array(spec->arena, outputs, sizeof *trial->outputs);
    trial->pristine = arena_array(spec->arena, inputs, sizeof *trial->pristine);
    trial->input_pointers = arena_array(spec->arena, inputs, sizeof *trial->input_pointers);
    trial->output_pointers = arena_array(spec->arena, outputs, sizeof *trial->output_pointers);
    if (!trial->inputs || !trial->outputs || !trial->pristine || !trial->input_pointers ||
        !trial->output_pointers)
        return error_memory(error);
    for (uint32_t k = 0; k < inputs; k++) {
        if (!guarded_alloc(&trial->inputs[k],
                           layout_bytes(&trial->input_layouts[k], &spec->inputs[k])))
            return error_memory(error);
        collage_status status = fill_input(trial, k, trial->inputs[k].data, error);
        if (status != COLLAGE_OK)
            return status;
        trial->input_pointers[k] = trial->inputs[k].data;
    }
    for (uint32_t k = 0; k < outputs; k++) {
        if (!guarded_alloc(&trial->outputs[k],
                           layout_bytes(&trial->output_layouts[k], &spec->expected[k])))
            return error_memory(error);
        trial->output_pointers[k] = trial->outputs[k].data;
    }
    if (!guarded_alloc(&trial->scratch, trial->info.scratch_bytes))
        return error_memory(error);
    guarded_poison(&trial->scratch);
    return COLLAGE_OK;
}

collage_status trial_create(const struct trial_spec *spec, struct trial **out, struct error *error)
{
    *out = NULL;
    struct trial *trial = arena_alloc(spec->arena, sizeof *trial);
    if (!trial)
        return error_memory(error);
    trial->spec = spec;
    collage_status status = open_and_compile(trial, error);
    if (status == COLLAGE_OK)
        status = allocate_buffers(trial, error);
    if (status != COLLAGE_OK) {
        trial_destroy(trial);
        return status;
    }
    *out = trial;
    return COLLAGE_OK;
}

void trial_destroy(struct trial *trial)
{
    if (!trial)
        return;
    for (size_t k = 0; k < 2; k++)
        if (trial->kernels[k])
            trial->api->kernel_destroy(trial->kernels[k]);
    for (uint32_t k = 0; trial->inputs && trial->pristine && k < trial->spec->subgraph->input_count;
         k++) {
        guarded_free(&trial->inputs[k]);
        guarded_free(&trial->pristine[k]);
    }
    for (uint32_t k = 0; trial->outputs && k < trial->spec->subgraph->output_count; k++)
        guarded_free(&trial->outputs[k]);
    guarded_free(&trial->scratch);
    for (uint32_t k = 0; trial->constants && k < trial->spec->subgraph->value_count; k++)
        memory_free_aligned(trial->constants[k]);
}

const collage_kernel_info *trial_info(const struct trial *trial)
{
    return &trial->info;
}

uint64_t trial_weight_bytes(const struct trial *trial)
{
    const collage_subgraph *subgraph = trial->spec->subgraph;
    uint64_t constants = 0;
    for (uint32_t k = 0; k < subgraph->value_count; k++)
        if (subgraph->values[k]->data && !subgraph->values[k]->dequantized)
            constants += subgraph->values[k]->bytes;
    return constants > trial->info.weight_bytes ? constants : trial->info.weight_bytes;
}

/* ---- running ---- */

collage_status trial_run(struct trial *trial, enum trial_kernel which, struct error *error)
{
    collage_message message;
    message.text[0] = '\0';
    collage_status status = trial->api->run(trial->kernels[which], NULL, trial->input_pointers,
                                            trial->output_pointers, trial->scratch.data, &message);
    return status == COLLAGE_OK ? COLLAGE_OK : backend_error("cannot run", status, &message, error);
}

void trial_read_inputs(const struct trial *trial)
{
    for (uint32_t k = 0; k < trial->spec->subgraph->input_count; k++) {
        const volatile unsigned char *bytes = trial->inputs[k].data;
        for (uint64_t at = 0; at < trial->inputs[k].bytes; at += CACHE_LINE)
            (void)bytes[at];
    }
}

/* ---- sharing memory of inputs and outputs ---- */

/* A pristine copy of each input that is written over. */
static collage_status keep_pristine(struct trial *trial, uint32_t input, struct error *error)
{
    struct guarded *copy = &trial->pristine[input];
    if (copy->data)
        return COLLAGE_OK;
    if (!guarded_alloc(copy, trial->inputs[input].bytes))
        return error_memory(error);
    return fill_input(trial, input, copy->data, error);
}

collage_status trial_share_pair(struct trial *trial, uint32_t pair, struct error *error)
{
    const uint32_t *both = trial->info.inplace + 2 * (size_t)pair;
    uint32_t output = both[0], input = both[1];
    collage_status status = keep_pristine(trial, input, error);
    if (status == COLLAGE_OK) {
        trial->output_pointers[output] = trial->inputs[input].data;
        trial->shared = true;
    }
    return status;
}

void trial_unshare(struct trial *trial)
{
    trial_refresh(trial);
    for (uint32_t k = 0; k < trial->spec->subgraph->output_count; k++)
        trial->output_pointers[k] = trial->outputs[k].data;
    trial->shared = false;
}

bool trial_writes_over(const struct trial *trial, uint32_t input)
{
    for (uint32_t k = 0; k < trial->spec->subgraph->output_count; k++)
        if (trial->output_pointers[k] == trial->inputs[input].data)
            return true;
    return false;
}

collage_status trial_share(struct trial *trial, struct error *error)
{
    for (uint32_t pair = 0; pair < trial->info.inplace_count; pair++) {
        const uint32_t *both = trial->info.inplace + 2 * (size_t)pair;
        uint32_t output = both[0], input = both[1];
        if (trial->output_pointers[output] != trial->outputs[output].data ||
            trial_writes_over(trial, input))
            continue; /* an alternative to a pair that is taken */
        collage_status status = trial_share_pair(trial, pair, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

bool trial_is_shared(const struct trial *trial)
{
    return trial->shared;
}

void trial_refresh(struct trial *trial)
{
    for (uint32_t k = 0; trial->shared && k < trial->spec->subgraph->input_count; k++)
        if (trial->pristine[k].data)
            memcpy(trial->inputs[k].data, trial->pristine[k].data, (size_t)trial->inputs[k].bytes);
}

/* ---- the twin ---- */

/* The sub-graph with copies of its larger constants. */
static collage_status copy_constants(struct trial *trial, collage_subgraph *copy,
                                     struct error *error)
{
    const collage_subgraph *subgraph = trial->spec->subgraph;
    struct arena *arena = trial->spec->arena;
    const collage_value **values = arena_array(arena, subgraph->value_count, sizeof *values);
    trial->constants = arena_array(arena, subgraph->value_count, sizeof *trial->constants);
    if (!values || !trial->constants)
        return error_memory(error);
    for (uint32_t k = 0; k < subgraph->value_count; k++) {
        values[k] = subgraph->values[k];
        if (!values[k]->data || values[k]->bytes <= TWIN_COPY_LIMIT)
            continue;
        collage_value *value = arena_copy(arena, values[k], sizeof *value);
        trial->constants[k] = memory_alloc_aligned((size_t)values[k]->bytes);
        if (!value || !trial->constants[k])
            return error_memory(error);
        memcpy(trial->constants[k], values[k]->data, (size_t)values[k]->bytes);
        value->data = trial->constants[k];
        value->share_key = 0;
        values[k] = value;
    }
    *copy = *subgraph;
    copy->values = values;
    return COLLAGE_OK;
}

collage_status trial_compile_twin(struct trial *trial, struct error *error)
{
    collage_subgraph copy;
    collage_status status = copy_constants(trial, &copy, error);
    return status == COLLAGE_OK ? compile(trial, &copy, &trial->kernels[TRIAL_TWIN], error)
                                : status;
}
