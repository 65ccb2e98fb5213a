/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole backend in a hundred lines: float32 Add followed by Relu, or Relu alone, in plain C. The
 * host finds the pattern, asks `supports` about each match, compiles, measures, checks and, where
 * this is the fastest, runs it. docs/backends.md explains it line by line.
 */
#include <collage/backend.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library. A real backend holds a dlopen handle and the library's own objects. */
struct collage_backend {
    int unused;
};

/* One compiled sub-graph: all that `run` needs, since the sub-graph is gone by then. */
struct collage_kernel {
    uint64_t count;           /* elements of the output */
    uint32_t operand_count;   /* 2: Add and Relu; 1: Relu alone */
    const float *constant[2]; /* the operand if it is a constant (outlives the kernel), else NULL */
    uint32_t input[2];        /* otherwise: which of the sub-graph's inputs it is */
};

/* A chain is a pattern, and so is each prefix of it; here we want Add only with its Relu. */
static const collage_pattern patterns[] = { { "add_relu", "Add Relu" }, { "relu", "Relu" } };

static bool refuse(collage_message *why, const char *text)
{
    snprintf(why->text, sizeof why->text, "%s", text);
    return false;
}

/* Called before any library is loaded; says no in words. */
static bool example_supports(const collage_subgraph *subgraph, const collage_target *target,
                             collage_message *why)
{
    (void)target;
    const collage_node *last = subgraph->nodes[subgraph->node_count - 1];
    const collage_node *first = subgraph->nodes[0];
    bool chain = subgraph->node_count == 2 && strcmp(first->op_type, "Add") == 0 &&
                 first->outputs[0] == last->inputs[0]; /* files of patterns may ask about others */
    if (strcmp(last->op_type, "Relu") != 0 || !(chain || subgraph->node_count == 1))
        return refuse(why, "takes Add only with the Relu after it");
    const collage_value *output = subgraph->values[last->outputs[0]];
    if (subgraph->output_count != 1 || subgraph->outputs[0] != last->outputs[0])
        return refuse(why, "the sum is used elsewhere, too");
    for (uint32_t k = 0; k < first->input_count; k++) {
        const collage_value *input = subgraph->values[first->inputs[k]];
        if (input->dtype != COLLAGE_FLOAT32)
            return refuse(why, "takes float32 only");
        if (input->rank != output->rank || input->bytes != output->bytes)
            return refuse(why, "does not broadcast");
    }
    return true;
}

static collage_status example_open(const collage_host *host, const collage_target *target,
                                   collage_backend **out, collage_message *message)
{
    (void)target;
    (void)message;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return COLLAGE_ERROR_MEMORY;
    host->log(host->context, COLLAGE_LOG_DEBUG, "the example is open");
    return COLLAGE_OK;
}

static void example_close(collage_backend *backend)
{
    free(backend);
}

static const char *example_version(const collage_backend *backend)
{
    (void)backend;
    return "1.0"; /* costs and plans are bound to it */
}

static collage_status example_compile(collage_backend *backend,
                                      const collage_compile_request *request, collage_kernel **out,
                                      collage_message *message)
{
    (void)backend;
    const collage_subgraph *subgraph = request->subgraph;
    *out = NULL;
    if ((request->flags & COLLAGE_COMPILE_STANDALONE) ||
        !example_supports(subgraph, request->target, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    collage_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return COLLAGE_ERROR_MEMORY;
    const collage_node *first = subgraph->nodes[0];
    kernel->count = subgraph->values[subgraph->outputs[0]]->bytes / sizeof(float);
    kernel->operand_count = first->input_count;
    for (uint32_t k = 0; k < first->input_count; k++) {
        kernel->constant[k] = subgraph->values[first->inputs[k]]->data;
        for (uint32_t i = 0; i < subgraph->input_count; i++)
            if (subgraph->inputs[i] == first->inputs[k])
                kernel->input[k] = i;
    }
    *out = kernel;
    return COLLAGE_OK;
}

static void example_kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    if (!kernel->constant[0]) { /* output 0 may lie in the memory of the first operand */
        info->inplace_count = 1;
        info->inplace[0] = 0;
        info->inplace[1] = kernel->input[0];
    }
    snprintf(info->implementation, sizeof info->implementation, "plain loop");
}

static collage_status example_run(collage_kernel *kernel, collage_stream *stream,
                                  const void *const *inputs, void *const *outputs, void *scratch,
                                  collage_message *message)
{
    (void)stream;
    (void)scratch;
    (void)message;
    const float *operands[2] = { NULL, NULL };
    for (uint32_t k = 0; k < kernel->operand_count; k++)
        operands[k] = kernel->constant[k] ? kernel->constant[k] : inputs[kernel->input[k]];
    float *out = outputs[0];
    for (uint64_t i = 0; i < kernel->count; i++) {
        float sum = operands[1] ? operands[0][i] + operands[1][i] : operands[0][i];
        out[i] = sum < 0 ? 0 : sum; /* NaN stays NaN */
    }
    return COLLAGE_OK;
}

static void example_kernel_destroy(collage_kernel *kernel)
{
    free(kernel);
}

static const collage_backend_api api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "example",
    .kind = COLLAGE_OP_LEVEL,
    .thread_flags = COLLAGE_THREADS_NONE | COLLAGE_THREADS_QUIET,
    .patterns = patterns,
    .pattern_count = sizeof patterns / sizeof patterns[0],
    .supports = example_supports,
    .open = example_open,
    .close = example_close,
    .version = example_version,
    .compile = example_compile,
    .kernel_info = example_kernel_info,
    .run = example_run,
    .kernel_destroy = example_kernel_destroy,
};

COLLAGE_BACKEND_EXPORT const collage_backend_api *collage_backend_entry(uint32_t host_major);

const collage_backend_api *collage_backend_entry(uint32_t host_major)
{
    return host_major == COLLAGE_ABI_MAJOR ? &api : NULL;
}
