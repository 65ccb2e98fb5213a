/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include "model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An input or output: what OpenVINO has to know of it, and the memory it is bound to at present. */
struct port {
    char *name;
    int64_t dims[COLLAGE_MAX_RANK];
    int64_t rank;
    int element_type;
    ov_port_t *theirs; /* of the compiled model */
    const void *bound; /* NULL: nothing yet */
};

struct collage_kernel {
    const collage_backend *backend;
    ov_compiled_model_t *compiled;
    ov_infer_request_t *request;
    struct port *inputs, *outputs;
    uint32_t input_count, output_count;
    uint64_t weight_bytes;
    bool alone;
};

/* ---- ports ---- */

static int element_type(collage_dtype dtype)
{
    static const struct {
        collage_dtype dtype;
        int type;
    } types[] = {
        { COLLAGE_FLOAT32, OV_F32 },  { COLLAGE_INT32, OV_I32 }, { COLLAGE_INT64, OV_I64 },
        { COLLAGE_BOOL, OV_BOOLEAN }, { COLLAGE_INT8, OV_I8 },   { COLLAGE_UINT8, OV_U8 },
    };
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
        if (types[k].dtype == dtype)
            return types[k].type;
    return OV_UNKNOWN;
}

static bool make_ports(const collage_subgraph *subgraph, const uint32_t *values, uint32_t count,
                       struct port **out, uint32_t *out_count)
{
    *out = calloc(count + 1, sizeof **out);
    if (!*out)
        return false;
    for (; *out_count < count; ++*out_count) {
        const collage_value *value = subgraph->values[values[*out_count]];
        struct port *port = &(*out)[*out_count];
        port->name = strdup(value->name);
        if (!port->name)
            return false;
        port->rank = value->rank;
        port->element_type = element_type(value->dtype);
        memcpy(port->dims, value->dims, (size_t)value->rank * sizeof *port->dims);
    }
    return true;
}

static void ports_free(const struct ov_api *ov, struct port *ports, uint32_t count)
{
    for (uint32_t k = 0; ports && k < count; k++) {
        if (ports[k].theirs)
            ov->ov_output_const_port_free(ports[k].theirs);
        free(ports[k].name);
    }
    free(ports);
}

static ov_shape port_shape(struct port *port)
{
    return (ov_shape){ port->rank, port->dims };
}

/* ---- the compiled model's ports ---- */

/* One side of the kernel. */
struct side {
    const char *what;
    ov_status (*count_theirs)(const ov_compiled_model_t *, size_t *);
    ov_status (*by_index)(const ov_compiled_model_t *, size_t, ov_port_t **);
    ov_status (*by_name)(const ov_compiled_model_t *, const char *, ov_port_t **);
    struct port *ports;
    uint32_t count;
};

static bool has_shape(const struct port *port, int type, const ov_shape *shape)
{
    return type == port->element_type && shape->rank == port->rank &&
           (port->rank == 0 ||
            memcmp(shape->dims, port->dims, (size_t)port->rank * sizeof *port->dims) == 0);
}

static collage_status check_port(const struct ov_api *ov, const struct port *port, const char *what,
                                 collage_message *message)
{
    int type = OV_UNKNOWN;
    ov_shape shape = { 0, NULL };
    ov_status code = ov->ov_port_get_element_type(port->theirs, &type);
    if (code == 0)
        code = ov->ov_const_port_get_shape(port->theirs, &shape);
    collage_status status = ov_check(ov, code, port->name, message);
    if (status == COLLAGE_OK && !has_shape(port, type, &shape))
        status = fail(message, COLLAGE_ERROR_MISMATCH,
                      "the %s '%.200s' has another shape or element type for OpenVINO", what,
                      port->name);
    if (shape.dims)
        ov->ov_shape_free(&shape);
    return status;
}

/* A region's model was written by us, in the sub-graph's order; a file has an order of its own. (A
 * port of OpenVINO has several names, if operators that do nothing follow it.) */
static collage_status find_ports(const collage_kernel *kernel, const struct side *side,
                                 collage_message *message)
{
    const struct ov_api *ov = &kernel->backend->ov;
    size_t count = 0;
    collage_status status =
        ov_check(ov, side->count_theirs(kernel->compiled, &count), "cannot count ports", message);
    if (status == COLLAGE_OK && count != side->count)
        return fail(message, COLLAGE_ERROR_MISMATCH,
                    "the model has %zu %ss for OpenVINO, %u for us", count, side->what,
                    side->count);
    for (uint32_t k = 0; k < side->count && status == COLLAGE_OK; k++) {
        struct port *port = &side->ports[k];
        ov_status code = kernel->alone ? side->by_name(kernel->compiled, port->name, &port->theirs)
                                       : side->by_index(kernel->compiled, k, &port->theirs);
        status = code == 0 ? check_port(ov, port, side->what, message)
                           : fail(message, COLLAGE_ERROR_MISMATCH, "OpenVINO knows no %s '%.200s'",
                                  side->what, port->name);
    }
    return status;
}

static collage_status find_all_ports(const collage_kernel *kernel, collage_message *message)
{
    const struct ov_api *ov = &kernel->backend->ov;
    const struct side inputs = { "input",
                                 ov->ov_compiled_model_inputs_size,
                                 ov->ov_compiled_model_input_by_index,
                                 ov->ov_compiled_model_input_by_name,
                                 kernel->inputs,
                                 kernel->input_count };
    const struct side outputs = { "output",
                                  ov->ov_compiled_model_outputs_size,
                                  ov->ov_compiled_model_output_by_index,
                                  ov->ov_compiled_model_output_by_name,
                                  kernel->outputs,
                                  kernel->output_count };
    collage_status status = find_ports(kernel, &inputs, message);
    return status == COLLAGE_OK ? find_ports(kernel, &outputs, message) : status;
}

/* ---- compiling ---- */

static collage_status read_bytes(const collage_backend *backend, const collage_subgraph *subgraph,
                                 ov_model_t **model, collage_message *message)
{
    const collage_host *host = backend->host;
    void *bytes = NULL;
    size_t count = 0;
    collage_status status =
        host->export_onnx(host->context, subgraph, UINT64_MAX, &bytes, &count, message);
    if (status == COLLAGE_OK)
        status = ov_check(&backend->ov,
                          backend->ov.ov_core_read_model_from_memory_buffer(backend->core, bytes,
                                                                            count, NULL, model),
                          "cannot read the sub-graph", message);
    if (bytes)
        host->release(host->context, bytes);
    return status;
}

static collage_status read_region(const collage_backend *backend, const collage_subgraph *subgraph,
                                  ov_model_t **model, collage_message *message)
{
    if (!model_file_is_worth(subgraph))
        return read_bytes(backend, subgraph, model, message);
    struct model_file file;
    collage_status status = model_file_write(backend->host, subgraph, &file, message);
    if (status == COLLAGE_OK)
        status = ov_check(&backend->ov,
                          backend->ov.ov_core_read_model(backend->core, file.model, NULL, model),
                          "cannot read the sub-graph", message);
    model_file_remove(&file);
    return status;
}

/* Symbolic dimensions of the file become those that we were asked for: a static model is what a
 * user compiles who knows his shapes, and it is faster. */
static collage_status fix_shapes(collage_kernel *kernel, ov_model_t *model,
                                 collage_message *message)
{
    const struct ov_api *ov = &kernel->backend->ov;
    uint32_t count = kernel->input_count;
    if (!ov->ov_model_is_dynamic(model) || count == 0)
        return COLLAGE_OK;
    const char **names = calloc(count, sizeof *names);
    ov_partial_shape *shapes = calloc(count, sizeof *shapes);
    ov_dimension *dims = calloc((size_t)count * COLLAGE_MAX_RANK, sizeof *dims);
    collage_status status = COLLAGE_ERROR_MEMORY;
    if (!names || !shapes || !dims) {
        fail(message, status, "out of memory");
    } else {
        for (uint32_t k = 0; k < count; k++) {
            const struct port *port = &kernel->inputs[k];
            ov_dimension *row = dims + (size_t)k * COLLAGE_MAX_RANK;
            for (int64_t d = 0; d < port->rank; d++)
                row[d] = (ov_dimension){ port->dims[d], port->dims[d] };
            names[k] = port->name;
            shapes[k] = (ov_partial_shape){ { port->rank, port->rank }, row };
        }
        status = ov_check(ov, ov->ov_model_reshape(model, names, shapes, count),
                          "cannot give the model its shapes", message);
    }
    free(names);
    free(shapes);
    free(dims);
    return status;
}

static collage_status read_file(collage_kernel *kernel, const collage_compile_request *request,
                                ov_model_t **model, collage_message *message)
{
    const collage_backend *backend = kernel->backend;
    if (!request->model_path)
        return fail(message, COLLAGE_ERROR_ARGUMENT, "a standalone run needs the model's path");
    ov_status code =
        backend->ov.ov_core_read_model(backend->core, request->model_path, NULL, model);
    collage_status status = ov_check(&backend->ov, code, "cannot load the model", message);
    return status == COLLAGE_OK ? fix_shapes(kernel, *model, message) : status;
}

/*
 * A region: exactly the threads of the target, whatever kind of core they get, free to move; one
 * request at a time. EXECUTION_MODE_HINT keeps float32 from being computed in less (bf16 with AMX,
 * quantised activations), INFERENCE_PRECISION_HINT says the same once more.
 */
static ov_status compile_region(const collage_kernel *kernel, const ov_model_t *model,
                                const char *threads, ov_compiled_model_t **out)
{
    const collage_backend *backend = kernel->backend;
    const char *const options[] = {
        "INFERENCE_NUM_THREADS",    threads,   "NUM_STREAMS",         "1",
        "PERFORMANCE_HINT",         "LATENCY", "EXECUTION_MODE_HINT", "ACCURACY",
        "INFERENCE_PRECISION_HINT", "f32",     "ENABLE_CPU_PINNING",  "NO",
        "ENABLE_HYPER_THREADING",   "YES",
    };
    const char *const *o = options;
    return backend->ov.ov_core_compile_model(
        backend->core, model, "CPU", sizeof options / sizeof options[0], out, o[0], o[1], o[2],
        o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11], o[12], o[13]);
}

/* The library alone: its defaults but for the number of threads and the precision. */
static ov_status compile_alone(const collage_kernel *kernel, const ov_model_t *model,
                               const char *threads, ov_compiled_model_t **out)
{
    const collage_backend *backend = kernel->backend;
    return backend->ov.ov_core_compile_model(backend->core, model, "CPU", 4, out,
                                             "INFERENCE_NUM_THREADS", threads,
                                             "INFERENCE_PRECISION_HINT", "f32");
}

static collage_status make_request(collage_kernel *kernel, const collage_compile_request *request,
                                   collage_message *message)
{
    const struct ov_api *ov = &kernel->backend->ov;
    ov_model_t *model = NULL;
    char threads[16];
    snprintf(threads, sizeof threads, "%d", (int)request->target->threads);
    collage_status status = kernel->alone
                                ? read_file(kernel, request, &model, message)
                                : read_region(kernel->backend, request->subgraph, &model, message);
    if (status == COLLAGE_OK)
        status = ov_check(ov,
                          (kernel->alone ? compile_alone : compile_region)(kernel, model, threads,
                                                                           &kernel->compiled),
                          "cannot compile", message);
    if (model)
        ov->ov_model_free(model);
    if (status == COLLAGE_OK)
        status = find_all_ports(kernel, message);
    if (status == COLLAGE_OK)
        status = ov_check(
            ov, ov->ov_compiled_model_create_infer_request(kernel->compiled, &kernel->request),
            "cannot make a request", message);
    return status;
}

static collage_status make_kernel(collage_kernel *kernel, const collage_compile_request *request,
                                  collage_message *message)
{
    const collage_subgraph *subgraph = request->subgraph;
    if (!make_ports(subgraph, subgraph->inputs, subgraph->input_count, &kernel->inputs,
                    &kernel->input_count) ||
        !make_ports(subgraph, subgraph->outputs, subgraph->output_count, &kernel->outputs,
                    &kernel->output_count))
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (uint32_t k = 0; k < subgraph->value_count; k++)
        if (subgraph->values[k]->data && !subgraph->values[k]->dequantized)
            kernel->weight_bytes += subgraph->values[k]->bytes;
    return make_request(kernel, request, message);
}

collage_status request_compile(collage_backend *backend, const collage_compile_request *request,
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
        request_destroy(kernel);
        return status;
    }
    *out = kernel;
    return COLLAGE_OK;
}

void request_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->weight_bytes = kernel->weight_bytes;
    snprintf(info->implementation, sizeof info->implementation, "OpenVINO %s%s",
             kernel->backend->version, kernel->alone ? " alone" : "");
}

/* ---- running ---- */

/* OpenVINO wants a writable address even of what it only reads. */
static void *writable(const void *data)
{
    void *address;
    memcpy(&address, &data, sizeof address);
    return address;
}

static ov_status bind_port(const collage_kernel *kernel, struct port *port, const void *data)
{
    const struct ov_api *ov = &kernel->backend->ov;
    ov_tensor_t *tensor = NULL;
    port->bound = NULL;
    ov_status code = ov->ov_tensor_create_from_host_ptr(port->element_type, port_shape(port),
                                                        writable(data), &tensor);
    if (code == 0)
        code = ov->ov_infer_request_set_tensor_by_const_port(kernel->request, port->theirs, tensor);
    if (tensor)
        ov->ov_tensor_free(tensor); /* the request holds its own */
    if (code == 0)
        port->bound = data;
    return code;
}

/* Binds what lies elsewhere than at the last run: nothing, in the steady state. */
collage_status request_run(collage_kernel *kernel, collage_stream *stream,
                           const void *const *inputs, void *const *outputs, void *scratch,
                           collage_message *message)
{
    (void)stream;
    (void)scratch;
    const struct ov_api *ov = &kernel->backend->ov;
    ov_status code = 0;
    for (uint32_t k = 0; k < kernel->input_count && code == 0; k++)
        if (kernel->inputs[k].bound != inputs[k])
            code = bind_port(kernel, &kernel->inputs[k], inputs[k]);
    for (uint32_t k = 0; k < kernel->output_count && code == 0; k++)
        if (kernel->outputs[k].bound != outputs[k])
            code = bind_port(kernel, &kernel->outputs[k], outputs[k]);
    if (code == 0)
        code = ov->ov_infer_request_infer(kernel->request);
    return ov_check(ov, code, "run failed", message);
}

void request_destroy(collage_kernel *kernel)
{
    if (!kernel)
        return;
    const struct ov_api *ov = &kernel->backend->ov;
    if (kernel->request)
        ov->ov_infer_request_free(kernel->request);
    if (kernel->compiled)
        ov->ov_compiled_model_free(kernel->compiled);
    ports_free(ov, kernel->inputs, kernel->input_count);
    ports_free(ov, kernel->outputs, kernel->output_count);
    free(kernel);
}
