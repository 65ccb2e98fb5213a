/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include "../message.h"
#include "primitive.h"
#include "recipe.h"
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ARGUMENTS = MAX_OPERANDS + 1, /* the scratchpad */
    MAX_WEIGHTS = 2 * MAX_OPERANDS,
    MAX_ZEROS = 2, /* an LSTM has two directions */
    SCRATCH_ALIGNMENT = 64
};

/* Where an argument's memory comes from at each run. */
enum source { SOURCE_FIXED, SOURCE_INPUT, SOURCE_OUTPUT, SOURCE_SCRATCH };

struct argument {
    enum source source;
    uint32_t index;   /* of the sub-graph's inputs or outputs */
    uint64_t offset;  /* bytes */
    const void *last; /* the pointer that the library has */
};

struct pass {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t exec[MAX_ARGUMENTS];
    struct argument arguments[MAX_ARGUMENTS];
    int argument_count;
};

struct collage_kernel {
    collage_backend *backend;
    int threads;
    dnnl_stream_t stream;
    struct pass *passes; /* run one after another */
    uint32_t pass_count;
    struct weights *weights[MAX_WEIGHTS];
    size_t weight_count;
    void *zeros[MAX_ZEROS];
    size_t zero_count;
    bool fill; /* the output is filled before the run */
    float fill_value;
    size_t fill_bytes;
    bool sum; /* the output's memory must hold input sum_input before the run */
    uint32_t sum_input;
    size_t sum_bytes;
    collage_kernel_info info;
};

/* ---- compiling ---- */

/* Where the value stands in the list; `count` if it does not. */
static uint32_t position_of(uint32_t value, const uint32_t *values, uint32_t count)
{
    uint32_t k = 0;
    while (k < count && values[k] != value)
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
    for (uint32_t k = 0; k < graph->output_count; k++) {
        if (strcmp(variant->outputs[k].tag, recipe_tag(recipe, graph->outputs[k])) != 0)
            return false;
    }
    return true;
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
    if (kernel->weight_count == MAX_WEIGHTS)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "more than %d constants", MAX_WEIGHTS);
    collage_status status = weights_acquire(
        &kernel->backend->library, kernel->backend->engine, &kernel->backend->weights, &weight,
        &kernel->weights[kernel->weight_count], data, &bytes, message);
    if (status == COLLAGE_OK) {
        kernel->weight_count++;
        kernel->info.weight_bytes += bytes;
    }
    return status;
}

static collage_status add_argument(const collage_kernel *kernel, struct pass *pass, int arg,
                                   const_dnnl_memory_desc_t layout, struct argument argument,
                                   void *data, collage_message *message)
{
    dnnl_exec_arg_t *exec = &pass->exec[pass->argument_count];
    dnnl_status_t status = kernel->backend->library.memory_create(&exec->memory, layout,
                                                                  kernel->backend->engine, data);
    if (status != dnnl_success)
        return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN cannot make a memory object: %s",
                    library_status_text(status));
    exec->arg = arg;
    pass->arguments[pass->argument_count++] = argument;
    return COLLAGE_OK;
}

/* Scratch memory of a pass; the passes use the same. */
static uint64_t take_scratch(collage_kernel *kernel, uint64_t *used, uint64_t bytes)
{
    uint64_t offset = *used;
    *used += (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
    if (*used > kernel->info.scratch_bytes)
        kernel->info.scratch_bytes = *used;
    return offset;
}

static collage_status bind_zeros(collage_kernel *kernel, struct pass *pass,
                                 const struct operand *operand, const_dnnl_memory_desc_t own,
                                 collage_message *message)
{
    size_t bytes = kernel->backend->library.memory_desc_get_size(own);
    if (kernel->zero_count == MAX_ZEROS)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "more than %d left-out operands",
                    MAX_ZEROS);
    void *zeros = calloc(1, bytes);
    if (!zeros)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->zeros[kernel->zero_count++] = zeros;
    struct argument argument = { .source = SOURCE_FIXED };
    return add_argument(kernel, pass, operand->arg, own, argument, zeros, message);
}

static collage_status bind_variable(collage_kernel *kernel, struct pass *pass,
                                    const collage_subgraph *graph, const struct operand *operand,
                                    const_dnnl_memory_desc_t own, uint64_t *scratch,
                                    collage_message *message)
{
    struct argument argument = { .offset = (uint64_t)operand->offset * sizeof(float) };
    uint32_t output = position_of(operand->value, graph->outputs, graph->output_count);
    if (operand->value == COLLAGE_NO_VALUE) {
        argument.source = SOURCE_SCRATCH;
        argument.offset =
            take_scratch(kernel, scratch, kernel->backend->library.memory_desc_get_size(own));
    } else if (output < graph->output_count) {
        argument.source = SOURCE_OUTPUT;
        argument.index = output;
    } else {
        argument.source = SOURCE_INPUT;
        argument.index = position_of(operand->value, graph->inputs, graph->input_count);
        if (argument.index == graph->input_count)
            return fail(message, COLLAGE_ERROR_ARGUMENT, "an operand is not among the inputs");
    }
    return add_argument(kernel, pass, operand->arg, own, argument, NULL, message);
}

static collage_status
bind_operand(collage_kernel *kernel, struct pass *pass, const collage_compile_request *request,
             const struct operand *operand, const_dnnl_primitive_desc_t descriptor,
             const_dnnl_memory_desc_t own, uint64_t *scratch, collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    const_dnnl_memory_desc_t wanted = own;
    void *data = NULL;
    if (operand->zeros)
        return bind_zeros(kernel, pass, operand, own, message);
    if (!operand->constant)
        return bind_variable(kernel, pass, request->subgraph, operand, own, scratch, message);
    if (operand->any)
        wanted = library->primitive_desc_query_md(descriptor, dnnl_query_exec_arg_md, operand->arg);
    collage_status status = bind_constant(kernel, request, operand, wanted, &data, message);
    if (status != COLLAGE_OK)
        return status;
    struct argument argument = { .source = SOURCE_FIXED };
    return add_argument(kernel, pass, operand->arg, wanted, argument, data, message);
}

static collage_status bind_scratchpad(collage_kernel *kernel, struct pass *pass,
                                      const_dnnl_primitive_desc_t descriptor, uint64_t *scratch,
                                      collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    const_dnnl_memory_desc_t layout =
        library->primitive_desc_query_md(descriptor, dnnl_query_scratchpad_md, 0);
    uint64_t bytes = layout ? library->memory_desc_get_size(layout) : 0;
    if (bytes == 0)
        return COLLAGE_OK;
    struct argument argument = { .source = SOURCE_SCRATCH,
                                 .offset = take_scratch(kernel, scratch, bytes) };
    return add_argument(kernel, pass, DNNL_ARG_SCRATCHPAD, layout, argument, NULL, message);
}

/* Declares that the output may lie in an input, if that input has its size and is read once. */
static void note_inplace(collage_kernel *kernel, const struct recipe *recipe,
                         const struct primitive *primitive)
{
    const struct library *library = &kernel->backend->library;
    uint32_t value = recipe->inplace_value;
    uint32_t input = position_of(value, recipe->graph->inputs, recipe->graph->input_count);
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

/* The output is filled whole, its padding too: the recipe sees to that. */
static void note_fill(collage_kernel *kernel, const struct recipe *recipe)
{
    uint64_t elements = 1;
    const struct operand *to = &recipe->operands[recipe->operand_count - 1];
    const char *block = to->tag + strspn(to->tag, "abcdefB");
    int64_t size = strtoll(block, NULL, 10);
    for (int d = 0; d < to->rank; d++) {
        int64_t dim = to->part ? to->within[d] : to->dims[d];
        elements *= (uint64_t)(d == 1 && size > 0 ? (dim + size - 1) / size * size : dim);
    }
    kernel->fill = recipe->fill;
    kernel->fill_value = recipe->fill_value;
    kernel->fill_bytes = elements * sizeof(float);
}

static collage_status bind_all(collage_kernel *kernel, struct pass *pass,
                               const collage_compile_request *request, const struct recipe *recipe,
                               const struct primitive *primitive, collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    collage_status status = COLLAGE_OK;
    uint64_t scratch = 0;
    for (size_t k = 0; k < recipe->operand_count && status == COLLAGE_OK; k++)
        status = bind_operand(kernel, pass, request, &recipe->operands[k], primitive->descriptor,
                              primitive->descriptors[k], &scratch, message);
    if (status == COLLAGE_OK)
        status = bind_scratchpad(kernel, pass, primitive->descriptor, &scratch, message);
    if (status != COLLAGE_OK)
        return status;
    const char *text = NULL;
    library->primitive_desc_query(primitive->descriptor, dnnl_query_impl_info_str, 0, &text);
    snprintf(kernel->info.implementation, sizeof kernel->info.implementation, "%s",
             text ? text : "");
    note_inplace(kernel, recipe, primitive);
    if (recipe->fill)
        note_fill(kernel, recipe);
    return COLLAGE_OK;
}

static collage_status compile_pass(collage_kernel *kernel, struct pass *pass,
                                   const collage_compile_request *request,
                                   const struct recipe *recipe, collage_message *message)
{
    const struct library *library = &kernel->backend->library;
    struct primitive primitive;
    collage_status status =
        primitive_make(library, kernel->backend->engine, recipe, &primitive, message);
    if (status != COLLAGE_OK)
        return status;
    status = bind_all(kernel, pass, request, recipe, &primitive, message);
    if (status == COLLAGE_OK) {
        pass->primitive = primitive.primitive;
        primitive.primitive = NULL;
    }
    primitive_release(library, &primitive);
    return status;
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
    if (recipe->pass_count == 0)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "there is nothing to run");
    kernel->passes = calloc(recipe->pass_count, sizeof *kernel->passes);
    if (!kernel->passes)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->pass_count = recipe->pass_count;
    library_use_threads(library, kernel->threads);
    for (uint32_t k = 0; k < kernel->pass_count; k++) {
        if (k > 0 && !recipe_next_pass(recipe))
            return COLLAGE_ERROR_UNSUPPORTED;
        status = compile_pass(kernel, &kernel->passes[k], request, recipe, message);
        if (status != COLLAGE_OK)
            return status;
    }
    if (library->stream_create(&kernel->stream, kernel->backend->engine,
                               dnnl_stream_default_flags) != dnnl_success)
        return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN cannot make a stream");
    return COLLAGE_OK;
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
    for (uint32_t p = 0; p < kernel->pass_count; p++) {
        struct pass *pass = &kernel->passes[p];
        for (int k = 0; k < pass->argument_count; k++)
            library->memory_destroy(pass->exec[k].memory);
        if (pass->primitive)
            library->primitive_destroy(pass->primitive);
    }
    free(kernel->passes);
    for (size_t k = 0; k < kernel->zero_count; k++)
        free(kernel->zeros[k]);
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
    const void *base = NULL;
    switch (argument->source) {
    case SOURCE_INPUT:
        base = inputs[argument->index];
        break;
    case SOURCE_OUTPUT:
        base = outputs[argument->index];
        break;
    case SOURCE_SCRATCH:
        base = scratch;
        break;
    case SOURCE_FIXED:
        break;
    }
    return base ? (const char *)base + argument->offset : NULL;
}

static dnnl_status_t set_pointers(const struct library *library, struct pass *pass,
                                  const void *const *inputs, void *const *outputs,
                                  const void *scratch)
{
    for (int k = 0; k < pass->argument_count; k++) {
        struct argument *argument = &pass->arguments[k];
        if (argument->source == SOURCE_FIXED)
            continue;
        const void *pointer = argument_pointer(argument, inputs, outputs, scratch);
        if (pointer == argument->last)
            continue;
        void *writable; /* the library only reads its sources */
        memcpy(&writable, &pointer, sizeof writable);
        dnnl_status_t status = library->memory_set_data_handle(pass->exec[k].memory, writable);
        if (status != dnnl_success)
            return status;
        argument->last = pointer;
    }
    return dnnl_success;
}

static void fill_output(const collage_kernel *kernel, float *output)
{
    if (kernel->fill_value == 0.0f) {
        memset(output, 0, kernel->fill_bytes);
        return;
    }
    for (size_t k = 0; k < kernel->fill_bytes / sizeof *output; k++)
        output[k] = kernel->fill_value;
}

collage_status kernel_run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message)
{
    (void)stream; /* of the host */
    const struct library *library = &kernel->backend->library;
    library_use_threads(library, kernel->threads);
    if (kernel->sum && outputs[0] != inputs[kernel->sum_input])
        memcpy(outputs[0], inputs[kernel->sum_input], kernel->sum_bytes);
    if (kernel->fill)
        fill_output(kernel, outputs[0]);
    dnnl_status_t status = dnnl_success;
    for (uint32_t k = 0; k < kernel->pass_count && status == dnnl_success; k++) {
        struct pass *pass = &kernel->passes[k];
        status = set_pointers(library, pass, inputs, outputs, scratch);
        if (status == dnnl_success)
            status = library->primitive_execute(pass->primitive, kernel->stream,
                                                pass->argument_count, pass->exec);
    }
    if (status == dnnl_success)
        status = library->stream_wait(kernel->stream);
    if (status != dnnl_success)
        return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN failed to run: %s",
                    library_status_text(status));
    return COLLAGE_OK;
}
