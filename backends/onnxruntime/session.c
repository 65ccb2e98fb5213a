/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constants up to this size travel inside the model: ORT's optimiser looks at their values. */
enum { INLINE_BYTES = 1024 };

/* An input or output: what ORT has to know of it, and the memory it is bound to at present. */
struct port {
    char *name;
    int64_t dims[COLLAGE_MAX_RANK];
    size_t rank, bytes;
    int element_type;
    const void *bound; /* NULL: nothing yet */
};

struct collage_kernel {
    const collage_backend *backend;
    OrtSession *session;
    OrtIoBinding *binding;
    struct port *inputs, *outputs;
    uint32_t input_count, output_count;
    uint64_t weight_bytes;
    bool alone;
};

/* ---- tensors over memory that is not ORT's ---- */

/* ORT wants a writable address even of what it only reads. */
static void *writable(const void *data)
{
    void *address;
    memcpy(&address, &data, sizeof address);
    return address;
}

static OrtStatus *wrap(const collage_backend *backend, const struct port *port, const void *data,
                       OrtValue **out)
{
    return backend->ort.CreateTensorWithDataAsOrtValue(backend->memory, writable(data), port->bytes,
                                                       port->dims, port->rank, port->element_type,
                                                       out);
}

static bool port_make(const collage_value *value, struct port *port)
{
    *port = (struct port){ .name = strdup(value->name),
                           .rank = (size_t)value->rank,
                           .bytes = value->bytes,
                           .element_type = (int)value->dtype };
    memcpy(port->dims, value->dims, port->rank * sizeof *port->dims);
    return port->name != NULL;
}

/* ---- options ---- */

struct option {
    const char *key, *value;
};

/*
 * Threads: each session has a pool of its own, which sleeps between runs. A pool shared by all
 * sessions (DisablePerSessionThreads) knows only "always spin" and "never spin":
 * force_spinning_stop does nothing there. Never spinning cost half as much again on MobileNetV2
 * (11.3 instead of 7.3 ms), since every operator wakes the threads anew; spinning on after a run
 * delays whatever library comes next. Waking the pool once a run costs about 10 us.
 *
 * Memory: one arena for the intermediate tensors of all sessions (8 times MobileNetV2: 196 instead
 * of 265 MB), and rewritten weights outside of it, exactly as large as they are.
 */
static const struct option region_options[] = {
    { "session.force_spinning_stop", "1" },
    { "session.use_env_allocators", "1" },
    { "session.use_device_allocator_for_initializers", "1" },
};

/* Without VNNI the library's kernels for uint8 times int8 add pairs of products in 16 bits, which
 * saturate: wrong results. With this, constant weights become uint8, of which it adds up exactly.
 * With VNNI that would only be slower. */
static const struct option exact_products = { "session.x64quantprecision", "1" };

static OrtStatus *set_options(const collage_backend *backend, const collage_target *target,
                              OrtSessionOptions *options)
{
    const struct ort_api *ort = &backend->ort;
    OrtStatus *failed = ort->SetSessionExecutionMode(options, ORT_SEQUENTIAL);
    if (!failed)
        failed = ort->SetSessionGraphOptimizationLevel(options, ORT_OPTIMIZE_ALL);
    if (!failed)
        failed = ort->SetIntraOpNumThreads(options, target->threads);
    size_t count = sizeof region_options / sizeof region_options[0];
    for (size_t k = 0; k < count && !failed; k++)
        failed =
            ort->AddSessionConfigEntry(options, region_options[k].key, region_options[k].value);
    if (!failed && !target->vnni)
        failed = ort->AddSessionConfigEntry(options, exact_products.key, exact_products.value);
    return failed;
}

/* ---- weights: tensors over the host's memory ---- */

/* The constants that the exported model refers to by name. */
struct weights {
    const char **names;
    OrtValue **values;
    size_t count;
};

static void weights_free(const struct ort_api *ort, struct weights *weights)
{
    for (size_t k = 0; k < weights->count; k++)
        ort->ReleaseValue(weights->values[k]);
    free(weights->names);
    free(weights->values);
}

static collage_status weights_wrap(const collage_backend *backend, const collage_subgraph *subgraph,
                                   struct weights *weights, collage_message *message)
{
    weights->names = calloc(subgraph->value_count + 1, sizeof *weights->names);
    weights->values = calloc(subgraph->value_count + 1, sizeof(OrtValue *));
    if (!weights->names || !weights->values)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (uint32_t k = 0; k < subgraph->value_count; k++) {
        const collage_value *value = subgraph->values[k];
        if (!value->data || value->dequantized || value->bytes <= INLINE_BYTES)
            continue;
        struct port shape = { .rank = (size_t)value->rank,
                              .bytes = value->bytes,
                              .element_type = (int)value->dtype };
        memcpy(shape.dims, value->dims, shape.rank * sizeof *shape.dims);
        OrtStatus *failed = wrap(backend, &shape, value->data, &weights->values[weights->count]);
        if (failed)
            return ort_check(&backend->ort, failed, value->name, message);
        weights->names[weights->count++] = value->name;
    }
    return COLLAGE_OK;
}

/* ---- compiling ---- */

static collage_status compile_region(collage_kernel *kernel, const collage_compile_request *request,
                                     OrtSessionOptions *options, collage_message *message)
{
    const collage_backend *backend = kernel->backend;
    const collage_host *host = backend->host;
    struct weights weights = { 0 };
    void *model = NULL;
    size_t bytes = 0;
    collage_status status = ort_check(&backend->ort, set_options(backend, request->target, options),
                                      "session options", message);
    if (status == COLLAGE_OK)
        status = weights_wrap(backend, request->subgraph, &weights, message);
    if (status == COLLAGE_OK && weights.count)
        status = ort_check(
            &backend->ort,
            backend->ort.AddExternalInitializers(
                options, weights.names, (const OrtValue *const *)weights.values, weights.count),
            "weights", message);
    if (status == COLLAGE_OK)
        status = host->export_onnx(host->context, request->subgraph, INLINE_BYTES, &model, &bytes,
                                   message);
    if (status == COLLAGE_OK)
        status = ort_check(&backend->ort,
                           backend->ort.CreateSessionFromArray(backend->env, model, bytes, options,
                                                               &kernel->session),
                           "cannot compile", message);
    if (model)
        host->release(host->context, model);
    weights_free(&backend->ort, &weights);
    return status;
}

/* The library alone, the way its users have it: the file, a pool of its own, default options. */
static collage_status compile_alone(collage_kernel *kernel, const collage_compile_request *request,
                                    OrtSessionOptions *options, collage_message *message)
{
    const struct ort_api *ort = &kernel->backend->ort;
    if (!request->model_path)
        return fail(message, COLLAGE_ERROR_ARGUMENT, "a standalone run needs the model's path");
    OrtStatus *failed = ort->SetIntraOpNumThreads(options, request->target->threads);
    if (!failed)
        failed = ort->CreateSession(kernel->backend->env, request->model_path, options,
                                    &kernel->session);
    return ort_check(ort, failed, "cannot load the model", message);
}

typedef OrtStatus *(*name_function)(const OrtSession *, size_t, OrtAllocator *, char **);

/* Are the session's inputs (or outputs) those of the sub-graph, in whatever order? */
static collage_status check_names(const collage_kernel *kernel, name_function get_name,
                                  size_t session_count, const struct port *ports,
                                  uint32_t port_count, const char *what, collage_message *message)
{
    const struct ort_api *ort = &kernel->backend->ort;
    if (session_count != port_count)
        return fail(message, COLLAGE_ERROR_MISMATCH, "the model has %zu %ss for ORT, %u for us",
                    session_count, what, port_count);
    OrtAllocator *allocator = NULL;
    OrtStatus *failed = ort->GetAllocatorWithDefaultOptions(&allocator);
    for (size_t k = 0; k < session_count && !failed; k++) {
        char *name = NULL;
        failed = get_name(kernel->session, k, allocator, &name);
        if (failed)
            break;
        bool known = false;
        for (uint32_t p = 0; p < port_count && !known; p++)
            known = !strcmp(ports[p].name, name);
        if (!known)
            fail(message, COLLAGE_ERROR_MISMATCH, "ORT has an %s '%.200s' that we do not know",
                 what, name);
        failed = ort->AllocatorFree(allocator, name);
        if (!known) {
            if (failed)
                ort->ReleaseStatus(failed);
            return COLLAGE_ERROR_MISMATCH;
        }
    }
    return ort_check(ort, failed, "cannot list the model's names", message);
}

static collage_status check_ports(const collage_kernel *kernel, collage_message *message)
{
    const struct ort_api *ort = &kernel->backend->ort;
    size_t inputs = 0, outputs = 0;
    OrtStatus *failed = ort->SessionGetInputCount(kernel->session, &inputs);
    if (!failed)
        failed = ort->SessionGetOutputCount(kernel->session, &outputs);
    collage_status status = ort_check(ort, failed, "cannot count inputs and outputs", message);
    if (status == COLLAGE_OK)
        status = check_names(kernel, ort->SessionGetInputName, inputs, kernel->inputs,
                             kernel->input_count, "input", message);
    if (status == COLLAGE_OK)
        status = check_names(kernel, ort->SessionGetOutputName, outputs, kernel->outputs,
                             kernel->output_count, "output", message);
    return status;
}

static bool make_ports(const collage_subgraph *subgraph, const uint32_t *values, uint32_t count,
                       struct port **out, uint32_t *out_count)
{
    *out = calloc(count + 1, sizeof **out);
    if (!*out)
        return false;
    for (; *out_count < count; ++*out_count)
        if (!port_make(subgraph->values[values[*out_count]], &(*out)[*out_count]))
            return false;
    return true;
}

static collage_status make_kernel(collage_kernel *kernel, const collage_compile_request *request,
                                  collage_message *message)
{
    const struct ort_api *ort = &kernel->backend->ort;
    const collage_subgraph *subgraph = request->subgraph;
    if (!make_ports(subgraph, subgraph->inputs, subgraph->input_count, &kernel->inputs,
                    &kernel->input_count) ||
        !make_ports(subgraph, subgraph->outputs, subgraph->output_count, &kernel->outputs,
                    &kernel->output_count))
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (uint32_t k = 0; k < subgraph->value_count; k++)
        if (subgraph->values[k]->data && !subgraph->values[k]->dequantized)
            kernel->weight_bytes += subgraph->values[k]->bytes;
    OrtSessionOptions *options = NULL;
    collage_status status =
        ort_check(ort, ort->CreateSessionOptions(&options), "session options", message);
    if (status == COLLAGE_OK)
        status = kernel->alone ? compile_alone(kernel, request, options, message)
                               : compile_region(kernel, request, options, message);
    if (options)
        ort->ReleaseSessionOptions(options);
    if (status == COLLAGE_OK)
        status = check_ports(kernel, message);
    if (status == COLLAGE_OK)
        status = ort_check(ort, ort->CreateIoBinding(kernel->session, &kernel->binding),
                           "cannot bind", message);
    return status;
}

collage_status session_compile(collage_backend *backend, const collage_compile_request *request,
                               collage_kernel **out, collage_message *message)
{
    *out = NULL;
    collage_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->backend = backend;
    kernel->alone = request->flags & COLLAGE_COMPILE_STANDALONE;
    collage_status status = make_kernel(kernel, request, message);
    if (status != COLLAGE_OK) {
        session_destroy(kernel);
        return status;
    }
    *out = kernel;
    return COLLAGE_OK;
}

void session_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->weight_bytes = kernel->weight_bytes;
    snprintf(info->implementation, sizeof info->implementation, "ORT %s%s",
             kernel->backend->version, kernel->alone ? " alone" : "");
}

/* ---- running ---- */

typedef OrtStatus *(*bind_function)(OrtIoBinding *, const char *, const OrtValue *);

static OrtStatus *bind_port(const collage_kernel *kernel, bind_function bind, struct port *port,
                            const void *data)
{
    OrtValue *value = NULL;
    port->bound = NULL;
    OrtStatus *failed = wrap(kernel->backend, port, data, &value);
    if (failed)
        return failed;
    failed = bind(kernel->binding, port->name, value);
    kernel->backend->ort.ReleaseValue(value); /* the binding holds its own */
    if (!failed)
        port->bound = data;
    return failed;
}

/* Binds what lies elsewhere than at the last run: nothing, in the steady state. */
collage_status session_run(collage_kernel *kernel, collage_stream *stream,
                           const void *const *inputs, void *const *outputs, void *scratch,
                           collage_message *message)
{
    (void)stream;
    (void)scratch;
    const struct ort_api *ort = &kernel->backend->ort;
    OrtStatus *failed = NULL;
    for (uint32_t k = 0; k < kernel->input_count && !failed; k++)
        if (kernel->inputs[k].bound != inputs[k])
            failed = bind_port(kernel, ort->BindInput, &kernel->inputs[k], inputs[k]);
    for (uint32_t k = 0; k < kernel->output_count && !failed; k++)
        if (kernel->outputs[k].bound != outputs[k])
            failed = bind_port(kernel, ort->BindOutput, &kernel->outputs[k], outputs[k]);
    if (!failed)
        failed = ort->RunWithBinding(kernel->session, NULL, kernel->binding);
    return failed ? ort_check(ort, failed, "run failed", message) : COLLAGE_OK;
}

static void ports_free(struct port *ports, uint32_t count)
{
    for (uint32_t k = 0; ports && k < count; k++)
        free(ports[k].name);
    free(ports);
}

void session_destroy(collage_kernel *kernel)
{
    if (!kernel)
        return;
    const struct ort_api *ort = &kernel->backend->ort;
    if (kernel->binding)
        ort->ReleaseIoBinding(kernel->binding);
    if (kernel->session)
        ort->ReleaseSession(kernel->session);
    ports_free(kernel->inputs, kernel->input_count);
    ports_free(kernel->outputs, kernel->output_count);
    free(kernel);
}
