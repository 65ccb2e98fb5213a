/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xnnpack.c: the plugin's table. XNNPACK is used op by op: its operators for images lie with
 * channels last, so that transitions between layouts decide with the others.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

static const collage_pattern patterns[] = {
    { "convolution", "(Conv|ConvTranspose) (Relu|Clip)*2" },
    { "matmul", "MatMul (Add|Relu|Clip) (Relu|Clip)*2" },
    { "gemm", "Gemm (Relu|Clip)*2" },
    { "pooling", "(MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool) (Relu|Clip)*2" },
    { "binary", "(Add|Sub|Mul|Div) (Relu|Clip)*2" },
    { "element-wise",
      "(Max|Min|Abs|Round|Ceil|Floor|HardSwish|Neg|Sigmoid|Sqrt|Elu|LeakyRelu|PRelu)" },
    { "clamp", "(Relu|Clip) (Relu|Clip)" },
    { "softmax", "Softmax" },
    { "resize", "Resize" },
};

static bool supports(const collage_subgraph *subgraph, const collage_target *target,
                     collage_message *why)
{
    (void)target;
    struct recipe recipe;
    collage_message images = { "" }; /* what is there with channels last only says so */
    if (recipe_read(&recipe, subgraph, false, &images) || recipe_read(&recipe, subgraph, true, why))
        return true;
    if (!strstr(images.text, "channels last only"))
        *why = images;
    return false;
}

/* The layout of channels last for a rank. */
static const char *tag_of(int32_t rank)
{
    return rank == 3 ? "acb" : rank == 4 ? "acdb" : "acdeb";
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    struct recipe recipe;
    const struct kernel_choice *choice = NULL;
    if (!kernel_choose(&recipe, subgraph, target, index, &choice))
        return false;
    snprintf(out->name, sizeof out->name, "%s", choice->name);
    const collage_value *result = subgraph->values[subgraph->outputs[0]];
    for (uint32_t k = 0; k < recipe.operand_count; k++) {
        const struct operand *operand = &recipe.operands[k];
        if (operand->channels_last)
            snprintf(out->inputs[operand->input].tag, sizeof out->inputs[operand->input].tag, "%s",
                     tag_of(subgraph->values[operand->value]->rank));
    }
    if (choice->channels_last)
        snprintf(out->outputs[0].tag, sizeof out->outputs[0].tag, "%s", tag_of(result->rank));
    return true;
}

static void close_backend(collage_backend *backend)
{
    if (!backend)
        return;
    while (backend->pools) {
        struct pool *pool = backend->pools;
        backend->pools = pool->next;
        backend->library.pool_destroy(pool->pool);
        free(pool);
    }
    pthread_mutex_destroy(&backend->lock);
    free(backend);
}

static collage_status open_backend(const collage_host *host, const collage_target *target,
                                   collage_backend **out, collage_message *message)
{
    (void)host;
    (void)target;
    *out = NULL;
    collage_backend *backend = calloc(1, sizeof *backend);
    if (!backend)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    pthread_mutex_init(&backend->lock, NULL);
    collage_status status = library_load(&backend->library, message);
    if (status == COLLAGE_OK)
        *out = backend;
    else
        close_backend(backend);
    return status;
}

static const char *version(const collage_backend *backend)
{
    return backend->library.version_text;
}

static const char *const environment[] = { NULL };

static const collage_backend_api api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "xnnpack",
    .kind = COLLAGE_OP_LEVEL,
    .environment = environment,
    .thread_flags = COLLAGE_THREADS_OBEYED | COLLAGE_THREADS_QUIET,
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
