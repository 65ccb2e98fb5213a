/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onednn_graph.c: the plugin's table. oneDNN's Graph API as a graph-level backend: a region becomes
 * its graph, the library cuts it into partitions with fused kernels, and these run in turn.
 */
#include "kernel.h"
#include "layouts.h"
#include "pool.h"
#include "recipe.h"

#include <stdlib.h>

#define ELEMENTWISE                                                                                \
    "(Relu|LeakyRelu|Elu|Sigmoid|Tanh|Abs|Sqrt|Exp|Log|Mish|Softplus|HardSigmoid|HardSwish|Swish|" \
    "Round|Clip|Gelu|Add|Sub|Mul|Div|Min|Max|PRelu)"

/* What the library fuses, for searches without regions. */
static const char pattern_text[] =
    "collage_patterns 1\n"
    "chain convolution \"Conv " ELEMENTWISE "*4\"\n"
    "chain deconvolution \"ConvTranspose " ELEMENTWISE "*4\"\n"
    "chain matmul \"MatMul " ELEMENTWISE "*4\"\n"
    "chain gemm \"Gemm " ELEMENTWISE "*4\"\n"
    "chain elementwise \"" ELEMENTWISE " " ELEMENTWISE "*3\"\n"
    "chain pooling \"(MaxPool|AveragePool) " ELEMENTWISE "*2\"\n"
    "chain reduction \"(ReduceMean|ReduceSum|ReduceMax|ReduceMin) " ELEMENTWISE "*2\"\n"
    "chain attention \"MatMul (Mul|Div)*1 Add*1 Softmax MatMul Transpose*1 Reshape*1\"\n";

/* GOMP_SPINCOUNT: its idle threads must not steal the cores of the next library. */
static const char *const environment[] = { "GOMP_SPINCOUNT=2000", "OMP_NUM_THREADS={threads}",
                                           "OMP_DYNAMIC=FALSE", NULL };

static bool supports(const collage_subgraph *subgraph, const collage_target *target,
                     collage_message *why)
{
    (void)target;
    struct recipe recipe;
    bool fine = recipe_translate(&recipe, subgraph, why);
    recipe_release(&recipe);
    return fine;
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    (void)target;
    return layouts_variant(subgraph, index, out);
}

static void close_backend(collage_backend *backend)
{
    if (!backend)
        return;
    if (backend->engine)
        backend->library.engine_destroy(backend->engine);
    free(backend);
    pool_trim();
}

/* The engine takes memory from our pool. Compiled partitions belong to their kernels: the library's
 * own cache of them would only keep them alive. */
static dnnl_status_t prepare(collage_backend *backend)
{
    const struct library *library = &backend->library;
    dnnl_graph_allocator_t allocator = NULL;
    dnnl_status_t status = library->graph_set_compiled_partition_cache_capacity(0);
    if (status == dnnl_success)
        status = library->graph_set_constant_tensor_cache(1);
    if (status == dnnl_success)
        status = library->graph_allocator_create(&allocator, pool_take, pool_give);
    if (status == dnnl_success)
        status =
            library->graph_make_engine_with_allocator(&backend->engine, dnnl_cpu, 0, allocator);
    if (allocator)
        library->graph_allocator_destroy(allocator); /* the engine has a copy */
    return status;
}

static collage_status open_backend(const collage_host *host, const collage_target *target,
                                   collage_backend **out, collage_message *message)
{
    (void)host;
    *out = NULL;
    collage_backend *backend = calloc(1, sizeof *backend);
    if (!backend)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    collage_status status = library_load(&backend->library, message);
    if (status == COLLAGE_OK) {
        onednn_use_threads(&backend->library.common, target->threads);
        dnnl_status_t result = prepare(backend);
        if (result != dnnl_success)
            status = fail(message, COLLAGE_ERROR_BACKEND, "oneDNN Graph finds no CPU: %s",
                          onednn_status_text(result));
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
    .name = "onednn_graph",
    .kind = COLLAGE_GRAPH_LEVEL,
    .environment = environment,
    .thread_flags = COLLAGE_THREADS_OBEYED | COLLAGE_THREADS_QUIET | COLLAGE_THREADS_CONCURRENT,
    .supports = supports,
    .variant = variant,
    .open = open_backend,
    .close = close_backend,
    .version = version,
    .compile = kernel_compile,
    .kernel_info = kernel_describe,
    .run = kernel_run,
    .kernel_destroy = kernel_destroy,
    .pattern_text = pattern_text,
};

COLLAGE_BACKEND_EXPORT const collage_backend_api *collage_backend_entry(uint32_t host_major);

const collage_backend_api *collage_backend_entry(uint32_t host_major)
{
    return host_major == COLLAGE_ABI_MAJOR ? &api : NULL;
}
