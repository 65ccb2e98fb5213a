/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onednn.c: the plugin's table. oneDNN is used op by op: one primitive for an operator and the
 * element-wise operators behind it, in row-major, channels-last and blocked layouts that are kept
 * from kernel to kernel.
 */
#include "../message.h"
#include "kernel.h"
#include "recipe.h"
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTWISE                                                                                \
    "(Relu|LeakyRelu|Elu|Sigmoid|Tanh|Abs|Sqrt|Exp|Log|Mish|Softplus|HardSigmoid|HardSwish|Swish|" \
    "Round|Neg|Reciprocal|Clip|Gelu|Pow|Add|Sub|Mul|Div|Min|Max|Sum|PRelu)"

static const collage_pattern patterns[] = {
    { "convolution", "Conv " ELEMENTWISE "*4" },
    { "padded convolution", "Pad Conv " ELEMENTWISE "*4" },
    { "deconvolution", "ConvTranspose " ELEMENTWISE "*4" },
    { "matmul", "MatMul " ELEMENTWISE "*4" },
    { "transposed matmul", "Transpose MatMul " ELEMENTWISE "*3 Transpose*1" },
    { "matmul transposed", "MatMul " ELEMENTWISE "*3 Transpose" },
    { "gemm", "Gemm " ELEMENTWISE "*4" },
    { "element-wise", ELEMENTWISE " " ELEMENTWISE "*3" },
    { "pooling", "(MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool)" },
    { "padded pooling", "Pad (MaxPool|AveragePool)" },
    { "resampling", "Resize " ELEMENTWISE "*2" },
    { "lstm", "LSTM" },
    { "softmax", "(Softmax|LogSoftmax)" },
    { "normalisation", "(LayerNormalization|BatchNormalization)" },
    { "concat", "Concat" },
    { "reduction", "(ReduceMean|ReduceSum|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|"
                   "ReduceSumSquare)" },
    { "reorder", "(Transpose|Identity|Slice|Split|Gather|Expand|Pad)" },
};

/* GOMP_SPINCOUNT: its idle threads must not steal the cores of the next library. */
static const char *const environment[] = { "GOMP_SPINCOUNT=2000", "OMP_NUM_THREADS={threads}",
                                           "OMP_DYNAMIC=FALSE", NULL };

/* The index-th choice under which the sub-graph translates; NULL if there are fewer. */
static const struct choice *find_choice(struct recipe *recipe, const collage_subgraph *subgraph,
                                        const collage_target *target, size_t index,
                                        collage_message *why)
{
    size_t count = 0;
    const struct choice *choices = recipe_choices(subgraph, &count);
    collage_message *first = why;
    for (size_t k = 0; k < count; k++) {
        bool fits = recipe_translate(recipe, subgraph, target, &choices[k], NULL, first);
        first = NULL; /* the first choice is the least demanding: its reason is the one to give */
        if (fits && index-- == 0)
            return &choices[k];
    }
    return NULL;
}

static bool supports(const collage_subgraph *subgraph, const collage_target *target,
                     collage_message *why)
{
    size_t count = 0;
    if (!recipe_choices(subgraph, &count)) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is not mapped to oneDNN",
             subgraph->node_count ? subgraph->nodes[0]->op_type : "an empty sub-graph");
        return false;
    }
    struct recipe recipe;
    return find_choice(&recipe, subgraph, target, 0, why) != NULL;
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    struct recipe recipe;
    size_t offers = threads_offers(subgraph, target);
    const struct choice *choice = find_choice(&recipe, subgraph, target, index / offers, NULL);
    if (!choice)
        return false;
    threads_name(choice->name, index % offers == 1, out->name, sizeof out->name);
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        snprintf(out->inputs[k].tag, sizeof out->inputs[k].tag, "%s",
                 recipe_tag(&recipe, subgraph->inputs[k]));
    for (uint32_t k = 0; k < subgraph->output_count; k++)
        snprintf(out->outputs[k].tag, sizeof out->outputs[k].tag, "%s",
                 recipe_tag(&recipe, subgraph->outputs[k]));
    return true;
}

static void close_backend(collage_backend *backend)
{
    if (!backend)
        return;
    if (backend->engine)
        backend->library.engine_destroy(backend->engine);
    pthread_mutex_destroy(&backend->weights.lock);
    free(backend);
}

static collage_status open_backend(const collage_host *host, const collage_target *target,
                                   collage_backend **out, collage_message *message)
{
    (void)host;
    *out = NULL;
    collage_backend *backend = calloc(1, sizeof *backend);
    if (!backend)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    pthread_mutex_init(&backend->weights.lock, NULL);
    collage_status status = library_load(&backend->library, message);
    if (status == COLLAGE_OK) {
        library_use_threads(&backend->library, target->threads);
        dnnl_status_t result = backend->library.engine_create(&backend->engine, dnnl_cpu, 0);
        if (result != dnnl_success)
            status = fail(message, COLLAGE_ERROR_BACKEND, "oneDNN finds no CPU: %s",
                          library_status_text(result));
    }
    if (status == COLLAGE_OK)
        *out = backend;
    else
        close_backend(backend);
    return status;
}

static const char *version(const collage_backend *backend)
{
    return backend->library.common.version_text;
}

static const collage_backend_api api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "onednn",
    .kind = COLLAGE_OP_LEVEL,
    .environment = environment,
    .thread_flags = COLLAGE_THREADS_OBEYED | COLLAGE_THREADS_QUIET | COLLAGE_THREADS_CONCURRENT,
    .patterns = patterns,
    .pattern_count = sizeof patterns / sizeof patterns[0],
    .supports = supports,
    .variant = variant,
    .open = open_backend,
    .close = close_backend,
    .version = version,
    .compile = kernel_compile,
    .kernel_info = kernel_describe,
    .run = kernel_run,
    .kernel_destroy = kernel_destroy,
};

COLLAGE_BACKEND_EXPORT const collage_backend_api *collage_backend_entry(uint32_t host_major);

const collage_backend_api *collage_backend_entry(uint32_t host_major)
{
    return host_major == COLLAGE_ABI_MAJOR ? &api : NULL;
}
