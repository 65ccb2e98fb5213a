/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/reference_backend.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ops/attribute.h"
#include "tensor/layout.h"

/* Every operator is a pattern of one node. */
static const collage_pattern reference_patterns[] = {
#define OP(name, ...) { #name, #name },
#include "ops/ops.def"
#undef OP
};

struct collage_backend {
    collage_target target;
};

/* An argument of the node: its tensor, and where its memory comes from. */
enum argument_source {
    FROM_CONSTANT, /* tensor.data is set for good */
    FROM_PORT,     /* of the sub-graph's inputs or outputs: set at each run */
    FROM_SCRATCH,  /* an output that nobody uses: written all the same */
    LEFT_OUT
};

struct argument {
    enum argument_source source;
    uint32_t port;
    uint64_t offset; /* FROM_SCRATCH */
};

struct collage_kernel {
    struct arena *arena;
    const struct op *op;
    collage_node node; /* our copy of the sub-graph's */
    struct op_call call;
    struct argument *inputs, *outputs;
    struct tensor *input_tensors; /* what call.inputs points to, where not left out */
    collage_layout from, to;      /* reorder */
    bool reorder;
    uint64_t scratch_bytes;
};

static bool reference_supports(const collage_subgraph *subgraph, const collage_target *target,
                               collage_message *why)
{
    (void)target;
    if (subgraph->node_count != 1) {
        message_set(why, COLLAGE_ERROR_UNSUPPORTED, "the reference takes one operator at a time");
        return false;
    }
    if (!op_find(subgraph->nodes[0]->op_type)) {
        message_set(why, COLLAGE_ERROR_UNSUPPORTED, "unknown operator %s",
                    subgraph->nodes[0]->op_type);
        return false;
    }
    return true;
}

static collage_status reference_open(const collage_host *host, const collage_target *target,
                                     collage_backend **out, collage_message *message)
{
    (void)host;
    *out = memory_alloc(sizeof **out);
    if (!*out)
        return message_set(message, COLLAGE_ERROR_MEMORY, "out of memory");
    (*out)->target = *target;
    return COLLAGE_OK;
}

static void reference_close(collage_backend *backend)
{
    memory_free(backend);
}

#define TEXT(x)                           #x
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

static const char *reference_version(const collage_backend *backend)
{
    (void)backend;
    return VERSION_TEXT(COLLAGE_VERSION_MAJOR, COLLAGE_VERSION_MINOR, COLLAGE_VERSION_PATCH);
}

/* ---- compiling: copies of what the node says, since the sub-graph goes away ---- */

static bool copy_node(struct collage_kernel *kernel, const collage_node *node)
{
    struct arena *arena = kernel->arena;
    const collage_attribute *attributes =
        attribute_copy_all(arena, node->attributes, node->attribute_count);
    if (!attributes)
        return false;
    kernel->node = (collage_node){ .op_type = kernel->op->name,
                                   .name = arena_string(arena, node->name ? node->name : ""),
                                   .input_count = node->input_count,
                                   .output_count = node->output_count,
                                   .attributes = attributes,
                                   .attribute_count = node->attribute_count };
    return kernel->node.name != NULL;
}

static uint32_t find_port(const uint32_t *ports, uint32_t count, uint32_t value)
{
    for (uint32_t k = 0; k < count; k++)
        if (ports[k] == value)
            return k;
    return UINT32_MAX;
}

static void copy_shape(const collage_value *value, struct tensor *tensor)
{
    tensor->dtype = value->dtype;
    tensor->rank = value->rank;
    for (int32_t d = 0; d < value->rank && d < COLLAGE_MAX_RANK; d++)
        tensor->dims[d] = value->dims[d];
}

/* The contents of a constant are only read: tensors are not const because outputs are not. */
static void *constant_data(const void *data)
{
    void *address;
    memcpy(&address, &data, sizeof address);
    return address;
}

static collage_status bind_inputs(struct collage_kernel *kernel, const collage_subgraph *subgraph,
                                  collage_message *message)
{
    const collage_node *node = subgraph->nodes[0];
    const struct tensor **pointers =
        arena_array(kernel->arena, node->input_count + 1, sizeof *pointers);
    kernel->inputs = arena_array(kernel->arena, node->input_count + 1, sizeof *kernel->inputs);
    kernel->input_tensors =
        arena_array(kernel->arena, node->input_count + 1, sizeof *kernel->input_tensors);
    if (!pointers || !kernel->inputs || !kernel->input_tensors)
        return message_set(message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (uint32_t k = 0; k < node->input_count; k++) {
        struct argument *argument = &kernel->inputs[k];
        argument->source = LEFT_OUT;
        if (node->inputs[k] == COLLAGE_NO_VALUE)
            continue;
        const collage_value *value = subgraph->values[node->inputs[k]];
        copy_shape(value, &kernel->input_tensors[k]);
        pointers[k] = &kernel->input_tensors[k];
        argument->port = find_port(subgraph->inputs, subgraph->input_count, node->inputs[k]);
        argument->source = argument->port == UINT32_MAX ? FROM_CONSTANT : FROM_PORT;
        if (argument->source == FROM_CONSTANT)
            kernel->input_tensors[k].data = constant_data(value->data);
    }
    kernel->call.inputs = pointers;
    kernel->call.input_count = node->input_count;
    return COLLAGE_OK;
}

static collage_status bind_outputs(struct collage_kernel *kernel, const collage_subgraph *subgraph,
                                   collage_message *message)
{
    const collage_node *node = subgraph->nodes[0];
    kernel->outputs = arena_array(kernel->arena, node->output_count + 1, sizeof *kernel->outputs);
    kernel->call.outputs =
        arena_array(kernel->arena, node->output_count + 1, sizeof *kernel->call.outputs);
    if (!kernel->outputs || !kernel->call.outputs)
        return message_set(message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (uint32_t k = 0; k < node->output_count; k++) {
        struct argument *argument = &kernel->outputs[k];
        argument->source = LEFT_OUT;
        if (node->outputs[k] == COLLAGE_NO_VALUE)
            continue;
        copy_shape(subgraph->values[node->outputs[k]], &kernel->call.outputs[k]);
        argument->port = find_port(subgraph->outputs, subgraph->output_count, node->outputs[k]);
        argument->source = argument->port == UINT32_MAX ? FROM_SCRATCH : FROM_PORT;
        if (argument->source == FROM_SCRATCH) {
            argument->offset = kernel->scratch_bytes;
            kernel->scratch_bytes += (tensor_bytes(&kernel->call.outputs[k]) + 63) / 64 * 64;
        }
    }
    kernel->call.output_count = node->output_count;
    return COLLAGE_OK;
}

/* Row-major only, except that Identity goes from any layout to any other. */
static collage_status check_layouts(struct collage_kernel *kernel,
                                    const collage_compile_request *request,
                                    collage_message *message)
{
    const collage_variant *variant = request->variant;
    const collage_subgraph *subgraph = request->subgraph;
    if (!variant)
        return COLLAGE_OK;
    if (!strcmp(kernel->op->name, "Identity") && subgraph->input_count == 1 &&
        subgraph->output_count == 1) {
        kernel->from = variant->inputs[0];
        kernel->to = variant->outputs[0];
        kernel->reorder = !layout_equal(&kernel->from, &kernel->to);
        if (kernel->reorder && (!layout_bytes(&kernel->from, &kernel->input_tensors[0]) ||
                                !layout_bytes(&kernel->to, &kernel->input_tensors[0])))
            return message_set(message, COLLAGE_ERROR_UNSUPPORTED,
                               "cannot convert layout '%.23s' to '%.23s'", kernel->from.tag,
                               kernel->to.tag);
        return COLLAGE_OK;
    }
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        if (!layout_is_plain(&variant->inputs[k]))
            return message_set(message, COLLAGE_ERROR_UNSUPPORTED,
                               "the reference is row-major only");
    for (uint32_t k = 0; k < subgraph->output_count; k++)
        if (!layout_is_plain(&variant->outputs[k]))
            return message_set(message, COLLAGE_ERROR_UNSUPPORTED,
                               "the reference is row-major only");
    return COLLAGE_OK;
}

static void reference_kernel_destroy(collage_kernel *kernel)
{
    if (!kernel)
        return;
    arena_destroy(kernel->arena);
    memory_free(kernel);
}

static collage_status reference_compile(collage_backend *backend,
                                        const collage_compile_request *request,
                                        collage_kernel **out, collage_message *message)
{
    *out = NULL;
    if (request->flags & COLLAGE_COMPILE_STANDALONE)
        return message_set(message, COLLAGE_ERROR_UNSUPPORTED,
                           "the reference has no session of its own to run a model alone");
    if (!reference_supports(request->subgraph, &backend->target, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    collage_kernel *kernel = memory_alloc(sizeof *kernel);
    if (!kernel)
        return message_set(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->arena = arena_create();
    kernel->op = op_find(request->subgraph->nodes[0]->op_type);
    collage_status status = COLLAGE_OK;
    if (!kernel->arena || !copy_node(kernel, request->subgraph->nodes[0]))
        status = message_set(message, COLLAGE_ERROR_MEMORY, "out of memory");
    if (status == COLLAGE_OK)
        status = bind_inputs(kernel, request->subgraph, message);
    if (status == COLLAGE_OK)
        status = bind_outputs(kernel, request->subgraph, message);
    if (status == COLLAGE_OK)
        status = check_layouts(kernel, request, message);
    if (status != COLLAGE_OK) {
        reference_kernel_destroy(kernel);
        return status;
    }
    kernel->call.node = &kernel->node;
    *out = kernel;
    return COLLAGE_OK;
}

static void reference_kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->scratch_bytes = kernel->scratch_bytes;
    snprintf(info->implementation, sizeof info->implementation, "%s",
             kernel->reorder ? "reference reorder" : "reference");
}

static collage_status reference_run(collage_kernel *kernel, collage_stream *stream,
                                    const void *const *inputs, void *const *outputs, void *scratch,
                                    collage_message *message)
{
    (void)stream;
    struct error error = { 0 };
    for (uint32_t k = 0; k < kernel->call.input_count; k++)
        if (kernel->inputs[k].source == FROM_PORT)
            kernel->input_tensors[k].data = constant_data(inputs[kernel->inputs[k].port]);
    for (uint32_t k = 0; k < kernel->call.output_count; k++) {
        const struct argument *argument = &kernel->outputs[k];
        if (argument->source == FROM_PORT)
            kernel->call.outputs[k].data = outputs[argument->port];
        else if (argument->source == FROM_SCRATCH)
            kernel->call.outputs[k].data = (char *)scratch + argument->offset;
    }
    collage_status status = kernel->reorder
                                ? layout_convert(&kernel->input_tensors[0], &kernel->from,
                                                 kernel->call.outputs[0].data, &kernel->to, &error)
                                : kernel->op->compute(&kernel->call, &error);
    return status == COLLAGE_OK ? COLLAGE_OK : message_set(message, status, "%s", error.text);
}

static const collage_backend_api reference_api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "reference",
    .kind = COLLAGE_OP_LEVEL,
    .thread_flags = COLLAGE_THREADS_NONE | COLLAGE_THREADS_QUIET | COLLAGE_THREADS_CONCURRENT,
    .patterns = reference_patterns,
    .pattern_count = sizeof reference_patterns / sizeof reference_patterns[0],
    .supports = reference_supports,
    .open = reference_open,
    .close = reference_close,
    .version = reference_version,
    .compile = reference_compile,
    .kernel_info = reference_kernel_info,
    .run = reference_run,
    .kernel_destroy = reference_kernel_destroy,
};

const collage_backend_api *reference_backend(void)
{
    return &reference_api;
}
