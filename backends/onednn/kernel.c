/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include "message.h"
#include "primitive.h"
#include "recipe.h"
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGUMENTS = MAX_OPERANDS + 1 }; /* the scratchpad */

/* Where an argument's memory comes from at each run. */
enum source { SOURCE_FIXED, SOURCE_INPUT, SOURCE_OUTPUT, SOURCE_SCRATCH };

struct argument {
    enum source source;
    uint32_t index;   /* of the sub-graph's inputs */
    const void *last; /* the pointer that the library has */
};

struct collage_kernel {
    collage_backend *backend;
    int threads;
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    dnnl_exec_arg_t exec[MAX_ARGUMENTS];
    struct argument arguments[MAX_ARGUMENTS];
    int argument_count;
    struct weights *weights[MAX_OPERANDS];
    size_t weight_count;
    bool sum; /* the output's memory must hold input sum_input before the run */
    uint32_t sum_input;
    size_t sum_bytes;
    collage_kernel_info info;
};

/* ---- compiling ---- */

static uint32_t input_position(const collage_subgraph *graph, uint32_t value)
{
    uint32_t k = 0;
    while (k < graph->input_count && graph->inputs[k] != value)
        k++;
    return k;
}

/* Identity is compiled between any two layouts; all else in the layouts of the variant. */
static bool layouts_fit(const struct recipe *recipe, const collage_variant *variant)
{
    const collage_subgraph *graph = recipe->graph;
    for (uint32_t k = 0; k < graph->input_count; k++) {
        if (strcmp(variant->inputs[k].tag, recipe_tag(recipe, graph->inputs[k])) != 0)
            return false;
    }
    return strcmp(variant->outputs[0].tag, recipe_tag(recipe, graph->outputs[0])) == 0;
}

static collage_status translate(const collage_compile_request *request, struct recipe *recipe,
                                bool *single, collage_message *message)
{
    const collage_subgraph *graph = request->subgraph;
    const collage_variant *variant = request->variant;
    size_t count = 0;
    const struct choice *choices = recipe_choices(graph, &count);
    bool reorder = choices && strcmp(graph->nodes[0]->op_type, "Identity") == 0;
    if (!choices || !variant)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "this operator or variant is not mapped");
    for (size_t k = 0; k < count; k++) {
        if (!threads_match(variant->name, choices[k].name, single) && !reorder)
            continue;
        if (reorder) /* has no variants: small ones run on one thread */
            *single = threads_offers(graph, request->target) > 1;
        if (!recipe_translate(recipe, graph, request->target, &choices[k], variant, message))
            return COLLAGE_ERROR_UNSUPPORTED;
        if (!layouts_fit(recipe, variant))
            return fail(message, COLLAGE_ERROR_ARGUMENT, "the layouts are not those of variant %s",
                        variant->name);
        return COLLAGE_OK;
    }
    return fail(message, COLLAGE_ERROR_UNSUPPORTED, "there is no variant '%.32s'", variant->name);
}

static collage_status bind_constant(collage_kernel *kernel, const collage_compile_request *request,
                                    const struct operand *operand, const_dnnl_memory_desc_t wanted,
                                    void **data, collage_message *message)
{
    struct weight_request weight = {
        .operand = operand,
        .value = request->subgraph->values[operand->value],
        .wanted = wanted,
        .shared = !(request->flags & COLLAGE_COMPILE_UNSHARED),
    };
    uint64_t bytes = 0;
    collage_status status = weights_acquire(
        &kernel->backend->library, kernel->backend->engine, &kernel->backend->weights, &weight,
        &kernel->weights[kernel->weight_count], data, &bytes, message);
    if (status == COLLAGE_OK) {
        kernel->weight_count++;
        kernel->info.weight_bytes += bytes;
    }
    return status;
}

static collage_status add_argument(collage_kernel *kernel, int arg, const_dnnl_memory_desc_t layout,
                                   struct argument argument, void *data, collage_message *message)
{
    dnnl_exec_arg_t *exec = &kernel->exec[kernel->argument_count];
    dnnl_status_t status = kernel->backend->library.memory_create(&exec->memory, layout,
                                                                  kernel->backend->engine, data);
    if (status != dnnl_success)
        return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN cannot make a memory object: %s",
                    library_status_text(status));
    exec->arg = arg;
    kernel->arguments[kernel->argument_count++] = argument;
    return COLLAGE_OK;
}

static collage_status bind_operand(collage_kernel *kernel, const collage_compile_request *request,
                                   const struct operand *operand,
                                   const_dnnl_primitive_desc_t descriptor,
                                   const_dnnl_memory_desc_t own, collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    struct argument argument = { .source = SOURCE_FIXED };
    void *data = NULL;
    if (operand->constant) {
        const_dnnl_memory_desc_t wanted = own;
        if (operand->any)
            wanted =
                library->primitive_desc_query_md(descriptor, dnnl_query_exec_arg_md, operand->arg);
        collage_status status = bind_constant(kernel, request, operand, wanted, &data, message);
        if (status != COLLAGE_OK)
            return status;
        return add_argument(kernel, operand->arg, wanted, argument, data, message);
    }
    if (operand->value == request->subgraph->outputs[0]) {
        argument.source = SOURCE_OUTPUT;
    } else {
        argument.source = SOURCE_INPUT;
        argument.index = input_position(request->subgraph, operand->value);
        if (argument.index == request->subgraph->input_count)
            return fail(message, COLLAGE_ERROR_ARGUMENT, "an operand is not among the inputs");
    }
    return add_argument(kernel, operand->arg, own, argument, NULL, message);
}

static collage_status bind_scratch(collage_kernel *kernel, const_dnnl_primitive_desc_t descriptor,
                                   collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    const_dnnl_memory_desc_t layout =
        library->primitive_desc_query_md(descriptor, dnnl_query_scratchpad_md, 0);
    kernel->info.scratch_bytes = layout ? library->memory_desc_get_size(layout) : 0;
    if (kernel->info.scratch_bytes == 0)
        return COLLAGE_OK;
    struct argument argument = { .source = SOURCE_SCRATCH };
    return add_argument(kernel, DNNL_ARG_SCRATCHPAD, layout, argument, NULL, message);
}

/* Declares that the output may lie in an input, if that input has its size and is read once. */
static void note_inplace(collage_kernel *kernel, const struct recipe *recipe,
                         const struct primitive *primitive)
{
    const struct library *library = &kernel->backend->library;
    uint32_t value = recipe->inplace_value;
    uint32_t input = input_position(recipe->graph, value);
    const_dnnl_memory_desc_t out = NULL, in = NULL;
    size_t uses = 0;
    for (size_t k = 0; k < recipe->operand_count; k++) {
        if (recipe->operands[k].arg == DNNL_ARG_DST)
            out = primitive->descriptors[k];
        if (recipe->operands[k].value == value) {
            in = primitive->descriptors[k];
            uses++;
        }
    }
    kernel->sum = recipe->choice->sum;
    if (kernel->sum) {
        kernel->sum_input = input;
        kernel->sum_bytes = library->memory_desc_get_size(out);
    } else if (value == COLLAGE_NO_VALUE || input == recipe->graph->input_count || uses != 1 ||
               !library->memory_desc_equal(in, out)) {
        return;
    }
    kernel->info.inplace_count = 1;
    kernel->info.inplace[0] = 0;
    kernel->info.inplace[1] = input;
}

static collage_status bind_all(collage_kernel *kernel, const collage_compile_request *request,
                               const struct recipe *recipe, const struct primitive *primitive,
                               collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < recipe->operand_count && status == COLLAGE_OK; k++)
        status = bind_operand(kernel, request, &recipe->operands[k], primitive->descriptor,
                              primitive->descriptors[k], message);
    if (status == COLLAGE_OK)
        status = bind_scratch(kernel, primitive->descriptor, message);
    if (status != COLLAGE_OK)
        return status;
    const char *text = NULL;
    library->primitive_desc_query(primitive->descriptor, dnnl_query_impl_info_str, 0, &text);
    snprintf(kernel->info.implementation, sizeof kernel->info.implementation, "%s",
             text ? text : "");
    note_inplace(kernel, recipe, primitive);
    if (library->stream_create(&kernel->stream, kernel->backend->engine,
                               dnnl_stream_default_flags) != dnnl_success)
        return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN cannot make a stream");
    return COLLAGE_OK;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              struct recipe *recipe, collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    bool single;
    collage_status status = translate(request, recipe, &single, message);
    if (status != COLLAGE_OK)
        return status;
    if (single)
        kernel->threads = 1;
    struct primitive primitive;
    library_use_threads(library, kernel->threads);
    status = primitive_make(library, kernel->backend->engine, recipe, &primitive, message);
    if (status != COLLAGE_OK)
        return status;
    status = bind_all(kernel, request, recipe, &primitive, message);
    if (status == COLLAGE_OK) {
        kernel->primitive = primitive.primitive;
        primitive.primitive = NULL;
    }
    primitive_release(library, &primitive);
    return status;
}

collage_status kernel_compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message)
{
    *out = NULL;
    if (request->flags & COLLAGE_COMPILE_STANDALONE)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "oneDNN does not run whole models");
    collage_kernel *kernel = calloc(1, sizeof *kernel);
    struct recipe *recipe = calloc(1, sizeof *recipe);
    collage_status status = COLLAGE_ERROR_MEMORY;
    if (kernel && recipe) {
        kernel->backend = backend;
        kernel->threads = request->target->threads;
        status = compile(kernel, request, recipe, message);
    } else {
        fail(message, status, "out of memory");
    }
    free(recipe);
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
    for (int k = 0; k < kernel->argument_count; k++)
        library->memory_destroy(kernel->exec[k].memory);
    if (kernel->primitive)
        library->primitive_destroy(kernel->primitive);
    if (kernel->stream)
        library->stream_destroy(kernel->stream);
    for (size_t k = 0; k < kernel->weight_count; k++)
        weights_release(library, &kernel->backend->weights, kernel->weights[k]);
    free(kernel);
}

/* ---- running ---- */

static const void *argument_pointer(const struct argument *argument, const void *const *inputs,
                                    void *const *outputs, const void *scratch)
{
    switch (argument->source) {
    case SOURCE_INPUT:
        return inputs[argument->index];
    case SOURCE_OUTPUT:
        return outputs[0];
    case SOURCE_SCRATCH:
        return scratch;
    default:
        return NULL;
    }
}

static dnnl_status_t set_pointers(collage_kernel *kernel, const void *const *inputs,
                                  void *const *outputs, const void *scratch)
{
    for (int k = 0; k < kernel->argument_count; k++) {
        struct argument *argument = &kernel->arguments[k];
        if (argument->source == SOURCE_FIXED)
            continue;
        const void *pointer = argument_pointer(argument, inputs, outputs, scratch);
        if (pointer == argument->last)
            continue;
        void *writable; /* the library only reads its sources */
        memcpy(&writable, &pointer, sizeof writable);
        dnnl_status_t status =
            kernel->backend->library.memory_set_data_handle(kernel->exec[k].memory, writable);
        if (status != dnnl_success)
            return status;
        argument->last = pointer;
    }
    return dnnl_success;
}

collage_status kernel_run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message)
{
    (void)stream; /* of the host */
    const struct library *library = &kernel->backend->library;
    library_use_threads(library, kernel->threads);
    dnnl_status_t status = set_pointers(kernel, inputs, outputs, scratch);
    if (kernel->sum && outputs[0] != inputs[kernel->sum_input])
        memcpy(outputs[0], inputs[kernel->sum_input], kernel->sum_bytes);
    if (status == dnnl_success)
        status = library->primitive_execute(kernel->primitive, kernel->stream,
                                            kernel->argument_count, kernel->exec);
    if (status == dnnl_success)
        status = library->stream_wait(kernel->stream);
    if (status != dnnl_success)
        return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN failed to run: %s",
                    library_status_text(status));
    return COLLAGE_OK;
}
