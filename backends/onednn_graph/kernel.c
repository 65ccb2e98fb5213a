/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include "memory.h"
#include "partitions.h"
#include "pool.h"
#include "recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a tensor's memory is at each run. */
enum source { SOURCE_FIXED, SOURCE_INPUT, SOURCE_OUTPUT, SOURCE_SCRATCH };

/* A tensor that a partition reads or writes. */
struct port {
    dnnl_graph_tensor_t tensor;
    enum source source;
    uint32_t index;   /* of the sub-graph's inputs or outputs */
    uint64_t offset;  /* in scratch memory */
    const void *last; /* the pointer that the library has */
};

/* The arguments of one partition. */
struct call {
    const_dnnl_graph_tensor_t *inputs, *outputs; /* one array: inputs is its start */
};

struct collage_kernel {
    collage_backend *backend;
    int threads;
    dnnl_stream_t stream;
    struct partitions partitions;
    struct call *calls;      /* one for each partition */
    struct port *ports;      /* by id of the tensor */
    struct numbers *numbers; /* constants of our own */
    collage_kernel_info info;
};

/* ---- compiling ---- */

static uint32_t position_of(uint32_t value, const uint32_t *values, uint32_t count)
{
    uint32_t k = 0;
    while (k < count && values[k] != value)
        k++;
    return k;
}

/* The library wants a writable address even of what it only reads. */
static void *writable(const void *data)
{
    void *address;
    memcpy(&address, &data, sizeof address);
    return address;
}

/* id: a tensor with memory of its own. */
static void find_source(struct port *port, const struct recipe *recipe,
                        const struct memory_span *span, size_t id)
{
    const struct tensor *tensor = &recipe->tensors[id];
    const collage_subgraph *graph = recipe->graph;
    port->last = tensor->data;
    if (tensor->data) {
        port->source = SOURCE_FIXED;
    } else if (tensor->outside) {
        port->source = SOURCE_INPUT;
        port->index = position_of(tensor->value, graph->inputs, graph->input_count);
    } else if (memory_is_scratch(recipe, id)) {
        port->source = SOURCE_SCRATCH;
        port->offset = span->offset;
    } else {
        port->source = SOURCE_OUTPUT;
        port->index = position_of(tensor->value, graph->outputs, graph->output_count);
    }
}

static collage_status make_call(collage_kernel *kernel, size_t index, const struct recipe *recipe,
                                const struct memory_span *spans, collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    const struct partition *partition = &kernel->partitions.items[index];
    struct call *call = &kernel->calls[index];
    size_t count = partition->input_count + partition->output_count;
    call->inputs = calloc(count + 1, sizeof *call->inputs);
    if (!call->inputs)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    call->outputs = call->inputs + partition->input_count;
    for (size_t k = 0; k < count; k++) {
        size_t id = partition->ports[k].id;
        struct port *port = &kernel->ports[id];
        if (!port->tensor) {
            size_t root = partitions_root(&kernel->partitions, id);
            find_source(port, recipe, &spans[root], root);
            dnnl_status_t status =
                library->graph_tensor_create(&port->tensor, &kernel->partitions.tensors[id],
                                             kernel->backend->engine, writable(port->last));
            if (status != dnnl_success)
                return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN Graph makes no tensor: %s",
                            onednn_status_text(status));
        }
        call->inputs[k] = port->tensor;
    }
    return COLLAGE_OK;
}

static collage_status make_calls(collage_kernel *kernel, const struct recipe *recipe,
                                 collage_message *message)
{
    size_t tensors = kernel->partitions.tensor_count;
    struct memory_span *spans = calloc(tensors + 1, sizeof *spans);
    kernel->ports = calloc(tensors + 1, sizeof *kernel->ports);
    kernel->calls = calloc(kernel->partitions.count + 1, sizeof *kernel->calls);
    collage_status status = COLLAGE_ERROR_MEMORY;
    if (spans && kernel->ports && kernel->calls)
        status = memory_place(&kernel->backend->library, &kernel->partitions, recipe, spans,
                              &kernel->info.scratch_bytes, message);
    else
        fail(message, status, "out of memory");
    for (size_t k = 0; k < kernel->partitions.count && status == COLLAGE_OK; k++)
        status = make_call(kernel, k, recipe, spans, message);
    free(spans);
    return status;
}

/* How many partitions read or write the memory of a tensor. */
static size_t count_users(const struct partitions *partitions, size_t root)
{
    size_t users = 0;
    for (size_t p = 0; p < partitions->count; p++) {
        const struct partition *partition = &partitions->items[p];
        for (size_t k = 0; k < partition->input_count + partition->output_count; k++)
            users += partitions_root(partitions, partition->ports[k].id) == root;
    }
    return users;
}

/* A result that the library can write over an operand: where one is the caller's and so is the
 * other, both lie alike, and nobody else touches them. */
static void note_inplace(collage_kernel *kernel, size_t from, size_t to)
{
    const struct partitions *partitions = &kernel->partitions;
    const dnnl_graph_logical_tensor_t *in = &partitions->tensors[from];
    const dnnl_graph_logical_tensor_t *out = &partitions->tensors[to];
    const struct port *source = &kernel->ports[from], *result = &kernel->ports[to];
    size_t bytes = (size_t)in->ndims * sizeof in->dims[0];
    if (kernel->info.inplace_count == 4 || source->source != SOURCE_INPUT ||
        result->source != SOURCE_OUTPUT || in->ndims != out->ndims ||
        memcmp(in->dims, out->dims, bytes) != 0 ||
        memcmp(in->layout.strides, out->layout.strides, bytes) != 0 ||
        count_users(partitions, partitions_root(partitions, from)) != 1 ||
        count_users(partitions, partitions_root(partitions, to)) != 1)
        return;
    uint32_t *pair = &kernel->info.inplace[(size_t)2 * kernel->info.inplace_count++];
    pair[0] = result->index;
    pair[1] = source->index;
}

static void note_all_inplace(collage_kernel *kernel)
{
    const struct library *library = &kernel->backend->library;
    for (size_t p = 0; p < kernel->partitions.count; p++) {
        const dnnl_graph_inplace_pair_t *pairs = NULL;
        size_t count = 0;
        if (library->graph_compiled_partition_get_inplace_ports(
                kernel->partitions.items[p].compiled, &count, &pairs) != dnnl_success)
            continue;
        for (size_t k = 0; k < count; k++)
            note_inplace(kernel, pairs[k].input_id, pairs[k].output_id);
    }
}

static void describe(collage_kernel *kernel, const struct recipe *recipe)
{
    size_t operations = 0;
    for (size_t k = 0; k < kernel->partitions.count; k++)
        operations += kernel->partitions.items[k].operations;
    for (size_t id = 0; id < recipe->tensor_count; id++) {
        const struct tensor *tensor = &recipe->tensors[id];
        if (tensor->data && tensor->value != COLLAGE_NO_VALUE)
            kernel->info.weight_bytes += recipe->graph->values[tensor->value]->bytes;
    }
    snprintf(kernel->info.implementation, sizeof kernel->info.implementation,
             "%zu partition%s of %zu operation%s", kernel->partitions.count,
             kernel->partitions.count == 1 ? "" : "s", operations, operations == 1 ? "" : "s");
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              struct recipe *recipe, collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    if (!recipe_translate(recipe, request->subgraph, message))
        return recipe->memory ? COLLAGE_ERROR_MEMORY : COLLAGE_ERROR_UNSUPPORTED;
    onednn_use_threads(&library->common, kernel->threads);
    collage_status status =
        partitions_make(&kernel->partitions, kernel->backend, recipe, request, true, message);
    if (status == COLLAGE_ERROR_UNSUPPORTED) { /* of its kernels, not all read every stride */
        partitions_release(&kernel->partitions, library);
        status =
            partitions_make(&kernel->partitions, kernel->backend, recipe, request, false, message);
    }
    if (status == COLLAGE_OK)
        status = make_calls(kernel, recipe, message);
    if (status != COLLAGE_OK)
        return status;
    if (library->stream_create(&kernel->stream, kernel->backend->engine,
                               dnnl_stream_default_flags) != dnnl_success)
        return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN cannot make a stream");
    note_all_inplace(kernel);
    describe(kernel, recipe);
    kernel->numbers = recipe->numbers;
    recipe->numbers = NULL;
    return COLLAGE_OK;
}

collage_status kernel_compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message)
{
    *out = NULL;
    collage_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->backend = backend;
    kernel->threads = request->target->threads;
    struct recipe recipe;
    collage_status status = compile(kernel, request, &recipe, message);
    recipe_release(&recipe);
    if (status == COLLAGE_OK)
        *out = kernel;
    else
        kernel_destroy(kernel);
    return status;
}

void kernel_describe(const collage_kernel *kernel, collage_kernel_info *info)
{
    size_t size = info->struct_size; /* the host's view of the struct */
    memcpy(info, &kernel->info, size < sizeof *info ? size : sizeof *info);
    info->struct_size = size;
}

void kernel_destroy(collage_kernel *kernel)
{
    if (!kernel)
        return;
    const struct library *library = &kernel->backend->library;
    for (size_t k = 0; kernel->ports && k < kernel->partitions.tensor_count; k++)
        if (kernel->ports[k].tensor)
            library->graph_tensor_destroy(kernel->ports[k].tensor);
    for (size_t k = 0; kernel->calls && k < kernel->partitions.count; k++)
        free(kernel->calls[k].inputs);
    free(kernel->calls);
    free(kernel->ports);
    partitions_release(&kernel->partitions, library);
    if (kernel->stream)
        library->stream_destroy(kernel->stream);
    while (kernel->numbers) {
        struct numbers *next = kernel->numbers->next;
        free(kernel->numbers);
        kernel->numbers = next;
    }
    free(kernel);
    pool_trim();
}

/* ---- running ---- */

/* Tells the library of what lies elsewhere than at the last run. */
static dnnl_status_t set_pointers(collage_kernel *kernel, const void *const *inputs,
                                  void *const *outputs, const void *scratch)
{
    const struct library *library = &kernel->backend->library;
    for (size_t k = 0; k < kernel->partitions.tensor_count; k++) {
        struct port *port = &kernel->ports[k];
        if (!port->tensor || port->source == SOURCE_FIXED)
            continue;
        const void *pointer = port->source == SOURCE_INPUT ? inputs[port->index]
                              : port->source == SOURCE_OUTPUT
                                  ? outputs[port->index]
                                  : (const char *)scratch + port->offset;
        if (pointer == port->last)
            continue;
        dnnl_status_t status =
            library->graph_tensor_set_data_handle(port->tensor, writable(pointer));
        if (status != dnnl_success)
            return status;
        port->last = pointer;
    }
    return dnnl_success;
}

collage_status kernel_run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message)
{
    (void)stream; /* of the host */
    const struct library *library = &kernel->backend->library;
    onednn_use_threads(&library->common, kernel->threads);
    dnnl_status_t status = set_pointers(kernel, inputs, outputs, scratch);
    for (size_t k = 0; k < kernel->partitions.count && status == dnnl_success; k++) {
        const struct partition *partition = &kernel->partitions.items[k];
        status = library->graph_compiled_partition_execute(
            partition->compiled, kernel->stream, partition->input_count, kernel->calls[k].inputs,
            partition->output_count, kernel->calls[k].outputs);
    }
    if (status == dnnl_success)
        status = library->stream_wait(kernel->stream);
    if (status != dnnl_success)
        return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN Graph failed to run: %s",
                    onednn_status_text(status));
    return COLLAGE_OK;
}
