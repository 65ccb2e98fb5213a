/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blas.c: the plugin's table, for whichever library it is built (flavour.h). Matrix products and
 * convolutions are calls of a CBLAS; what follows them, biases and activations, is computed here.
 */
#include "blas.h"

#include <stdlib.h>
#include <string.h>

#define ACTIVATION "(Relu|LeakyRelu|Clip|Sigmoid|Tanh|Swish|HardSwish|HardSigmoid|Gelu|Add|Mul)"

static const collage_pattern patterns[] = {
    { "convolution", "Conv " ACTIVATION "*4" },
    { "matmul", "MatMul " ACTIVATION "*4" },
    { "transposed matmul", "Transpose MatMul " ACTIVATION "*3 Transpose*1" },
    { "matmul transposed", "MatMul Transpose" },
    { "gemm", "Gemm " ACTIVATION "*4" },
};

static const struct family *find_family(const collage_subgraph *subgraph,
                                        const collage_target *target, collage_message *why)
{
    bool convolution = subgraph->node_count && strcmp(subgraph->nodes[0]->op_type, "Conv") == 0;
    const struct family *family = convolution ? &convolution_family : &product_family;
    return family->takes(subgraph, target, why) ? family : NULL;
}

static bool supports(const collage_subgraph *subgraph, const collage_target *target,
                     collage_message *why)
{
    return find_family(subgraph, target, why) != NULL;
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    const struct family *family = find_family(subgraph, target, NULL);
    return family && family->variant(subgraph, target, index, out);
}

static void close_backend(collage_backend *backend)
{
    if (!backend)
        return;
    pool_close(&backend->pool);
    pthread_mutex_destroy(&backend->weights.lock);
    free(backend);
}

static collage_status open_backend(const collage_host *host, const collage_target *target,
                                   collage_backend **out, collage_message *message)
{
    *out = NULL;
    struct blas *blas = calloc(1, sizeof *blas);
    if (!blas)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    pthread_mutex_init(&blas->base.weights.lock, NULL);
    collage_status status = library_load(&blas->library, message);
    if (status != COLLAGE_OK) {
        close_backend(&blas->base);
        return status;
    }
    flavour.use_threads(&blas->library, target->threads);
    if (!pool_open(&blas->base.pool) && target->threads > 1)
        host->log(
            host->context, COLLAGE_LOG_WARNING,
            "BLAS: libgomp.so.1 is not there; what the library does not do runs on one thread");
    *out = &blas->base;
    return COLLAGE_OK;
}

static const char *version(const collage_backend *backend)
{
    return ((const struct blas *)backend)->library.version_text;
}

static void destroy(collage_kernel *kernel)
{
    if (!kernel)
        return;
    if (kernel->family)
        kernel->family->destroy(kernel);
    free(kernel);
}

static collage_status compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message)
{
    *out = NULL;
    if (request->flags & COLLAGE_COMPILE_STANDALONE)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "%s runs no model by itself",
                    flavour.title);
    collage_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->family = find_family(request->subgraph, request->target, message);
    kernel->backend = backend;
    kernel->threads = request->target->threads;
    kernel->isa = isa_of(request->target);
    collage_status status =
        kernel->family ? kernel->family->compile(kernel, request, request->variant->name, message)
                       : COLLAGE_ERROR_UNSUPPORTED;
    if (status == COLLAGE_OK)
        *out = kernel;
    else
        destroy(kernel);
    return status;
}

static void kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->scratch_bytes = kernel->scratch_bytes;
    info->weight_bytes = kernel->weight_bytes;
    info->inplace_count = 0;
    snprintf(info->implementation, sizeof info->implementation, "%s", kernel->implementation);
}

static collage_status run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message)
{
    (void)stream;
    (void)message;
    kernel->family->run(kernel, inputs, outputs, scratch);
    return COLLAGE_OK;
}

/* The environment is the flavour's: filled in when the host asks for the table. */
static collage_backend_api api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .kind = COLLAGE_OP_LEVEL,
    .thread_flags = COLLAGE_THREADS_OBEYED | COLLAGE_THREADS_QUIET,
    .patterns = patterns,
    .pattern_count = sizeof patterns / sizeof patterns[0],
    .supports = supports,
    .variant = variant,
    .open = open_backend,
    .close = close_backend,
    .version = version,
    .compile = compile,
    .kernel_info = kernel_info,
    .run = run,
    .kernel_destroy = destroy,
};

COLLAGE_BACKEND_EXPORT const collage_backend_api *collage_backend_entry(uint32_t host_major);

const collage_backend_api *collage_backend_entry(uint32_t host_major)
{
    api.name = flavour.name;
    api.environment = flavour.environment;
    return host_major == COLLAGE_ABI_MAJOR ? &api : NULL;
}
