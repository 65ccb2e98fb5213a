/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Small kernels are offered on one thread, too: waking the others may cost more than they save. */
enum { SMALL_BYTES = 256 * 1024, ALIGNMENT = 64, PAGE = 4096 };

static const struct kernel_choice choices[] = {
    { "plain", false, false },
    { "nhwc", true, false },
    { "plain/1t", false, true },
    { "nhwc/1t", true, true },
};
enum { CHOICES = sizeof choices / sizeof choices[0] };

struct collage_kernel {
    collage_backend *backend;
    struct recipe recipe;
    xnn_operator_t made;
    pthreadpool_t pool;              /* NULL: the calling thread */
    float *constants[RECIPE_INPUTS]; /* copies of constant operands, which may be read beyond */
    uint64_t bytes[RECIPE_INPUTS],
        place[RECIPE_INPUTS]; /* of operands; of their copies in scratch */
    uint64_t scratch_bytes, weight_bytes;
    uint32_t inplace_count, inplace[4];
    const float *last_inputs[RECIPE_INPUTS]; /* what the operator is set up for */
    float *last_output;
    char implementation[64];
};

static bool is_small(const collage_subgraph *subgraph)
{
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        bytes += subgraph->values[v]->bytes;
    return bytes <= SMALL_BYTES;
}

bool kernel_choose(struct recipe *recipe, const collage_subgraph *subgraph,
                   const collage_target *target, size_t index, const struct kernel_choice **out)
{
    for (size_t k = 0; k < CHOICES; k++) {
        *out = &choices[k];
        if (choices[k].single && (target->threads == 1 || !is_small(subgraph)))
            continue;
        if (recipe_read(recipe, subgraph, choices[k].channels_last, NULL) && index-- == 0)
            return true;
    }
    return false;
}

/* ---- compiling ---- */

static collage_status find_pool(collage_backend *backend, int32_t threads, pthreadpool_t *out,
                                collage_message *message)
{
    *out = NULL;
    if (threads <= 1)
        return COLLAGE_OK;
    pthread_mutex_lock(&backend->lock);
    struct pool *pool = backend->pools;
    while (pool && pool->threads != threads)
        pool = pool->next;
    if (!pool) {
        pool = calloc(1, sizeof *pool);
        if (pool) {
            pool->threads = threads;
            pool->pool = backend->library.pool_create((size_t)threads);
        }
        if (pool && pool->pool) {
            pool->next = backend->pools;
            backend->pools = pool;
        } else {
            free(pool);
            pool = NULL;
        }
    }
    pthread_mutex_unlock(&backend->lock);
    if (!pool)
        return fail(message, COLLAGE_ERROR_MEMORY, "XNNPACK's threads cannot be started");
    *out = pool->pool;
    return COLLAGE_OK;
}

/* The library may read that many bytes beyond the end of a tensor. */
static uint64_t padded(uint64_t bytes)
{
    return (bytes + XNN_EXTRA_BYTES + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static collage_status set_operands(collage_kernel *kernel, const collage_subgraph *subgraph,
                                   collage_message *message)
{
    const struct recipe *recipe = &kernel->recipe;
    uint64_t result = subgraph->values[subgraph->outputs[0]]->bytes;
    for (uint32_t k = 0; k < recipe->operand_count; k++) {
        const struct operand *operand = &recipe->operands[k];
        kernel->bytes[k] = subgraph->values[operand->value]->bytes;
        if (!operand->constant) {
            kernel->place[k] = kernel->scratch_bytes;
            kernel->scratch_bytes += padded(kernel->bytes[k]);
            if (recipe->elementwise && kernel->bytes[k] == result) {
                kernel->inplace[(size_t)2 * kernel->inplace_count] = 0;
                kernel->inplace[(size_t)2 * kernel->inplace_count + 1] = operand->input;
                kernel->inplace_count++;
            }
            continue;
        }
        kernel->constants[k] = aligned_alloc(ALIGNMENT, padded(kernel->bytes[k]));
        if (!kernel->constants[k])
            return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
        memset(kernel->constants[k], 0, padded(kernel->bytes[k]));
        memcpy(kernel->constants[k], operand->constant, kernel->bytes[k]);
        kernel->weight_bytes += kernel->bytes[k];
    }
    return COLLAGE_OK;
}

/* To [group][out][y][x][in], from Conv's [group][out][in][y][x] or ConvTranspose's
 * [group][in][out][y][x]. */
static void reorder(float *to, const struct recipe *recipe)
{
    size_t window = (size_t)recipe->window.kernel[0] * recipe->window.kernel[1];
    size_t in = recipe->channels_in, out = recipe->channels_out;
    bool out_first = recipe->order == WEIGHTS_OUT_FIRST;
    for (size_t g = 0; g < recipe->groups; g++) {
        for (size_t o = 0; o < out; o++) {
            for (size_t k = 0; k < window; k++) {
                for (size_t i = 0; i < in; i++) {
                    size_t row = out_first ? (g * out + o) * in + i : (g * in + i) * out + o;
                    *to++ = recipe->weights[row * window + k];
                }
            }
        }
    }
}

static collage_status create(collage_kernel *kernel, collage_message *message)
{
    struct recipe *recipe = &kernel->recipe;
    float *weights = NULL;
    size_t count = recipe->channels_in * recipe->channels_out * recipe->groups;
    if (recipe->order != WEIGHTS_AS_THEY_ARE) {
        count *= (size_t)recipe->window.kernel[0] * recipe->window.kernel[1];
        weights = calloc(count, sizeof *weights);
        if (!weights)
            return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
        reorder(weights, recipe);
        recipe->weights = weights;
    }
    if (recipe->weights)
        kernel->weight_bytes += count * sizeof(float);
    enum xnn_status result = recipe->operation->create(&kernel->backend->library, recipe,
                                                       XNN_FLAG_YIELD_WORKERS, &kernel->made);
    free(weights); /* the library has packed them */
    recipe->weights = recipe->bias = NULL;
    if (result == xnn_status_success)
        return COLLAGE_OK;
    return fail(message,
                result == xnn_status_out_of_memory ? COLLAGE_ERROR_MEMORY
                                                   : COLLAGE_ERROR_UNSUPPORTED,
                "XNNPACK does not make it: %s", library_status_text(result));
}

/* The recipe of a request's variant, and on how many threads it runs. */
static collage_status read_request(collage_kernel *kernel, const collage_compile_request *request,
                                   int32_t *threads, collage_message *message)
{
    if (request->flags & COLLAGE_COMPILE_STANDALONE)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "XNNPACK runs no model by itself");
    for (size_t k = 0; k < CHOICES; k++) {
        if (strcmp(choices[k].name, request->variant->name) != 0)
            continue;
        *threads = choices[k].single ? 1 : request->target->threads;
        snprintf(kernel->implementation, sizeof kernel->implementation, "%.32s %s",
                 request->subgraph->node_count ? request->subgraph->nodes[0]->op_type : "",
                 choices[k].name);
        return recipe_read(&kernel->recipe, request->subgraph, choices[k].channels_last, message)
                   ? COLLAGE_OK
                   : COLLAGE_ERROR_UNSUPPORTED;
    }
    return fail(message, COLLAGE_ERROR_UNSUPPORTED, "there is no variant '%s'",
                request->variant->name);
}

collage_status kernel_compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message)
{
    *out = NULL;
    collage_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->backend = backend;
    int32_t threads = 1;
    collage_status status = read_request(kernel, request, &threads, message);
    if (status == COLLAGE_OK)
        status = find_pool(backend, threads, &kernel->pool, message);
    if (status == COLLAGE_OK)
        status = set_operands(kernel, request->subgraph, message);
    if (status == COLLAGE_OK)
        status = create(kernel, message);
    if (status == COLLAGE_OK)
        *out = kernel;
    else
        kernel_destroy(kernel);
    return status;
}

void kernel_describe(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->scratch_bytes = kernel->scratch_bytes;
    info->weight_bytes = kernel->weight_bytes;
    info->inplace_count = kernel->inplace_count;
    memcpy(info->inplace, kernel->inplace, sizeof kernel->inplace);
    snprintf(info->implementation, sizeof info->implementation, "%s", kernel->implementation);
}

void kernel_destroy(collage_kernel *kernel)
{
    if (!kernel)
        return;
    if (kernel->made)
        kernel->backend->library.xnn_delete_operator(kernel->made);
    for (uint32_t k = 0; k < RECIPE_INPUTS; k++)
        free(kernel->constants[k]);
    free(kernel);
}

/* ---- running ---- */

/* May the bytes beyond the end of a tensor be read? They may if they lie in its last page, or if
 * the next one is there: the kernel is asked, which answers instead of a fault. */
static bool is_readable_beyond(const void *data, uint64_t bytes)
{
    const char *end = (const char *)data + bytes;
    if (((uintptr_t)end - 1) / PAGE == ((uintptr_t)end + XNN_EXTRA_BYTES - 1) / PAGE)
        return true;
    char copy[XNN_EXTRA_BYTES];
    struct iovec to = { copy, sizeof copy };
    struct iovec from = { (char *)(uintptr_t)end, sizeof copy }; // NOLINT: only read
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof copy;
}

/* Where the operator reads an operand: where it lies, if that is safe, or in a copy. */
static const float *operand_data(const collage_kernel *kernel, uint32_t k,
                                 const void *const *inputs, void *scratch)
{
    if (kernel->constants[k])
        return kernel->constants[k];
    const void *data = inputs[kernel->recipe.operands[k].input];
    if (is_readable_beyond(data, kernel->bytes[k]))
        return data;
    return memcpy((char *)scratch + kernel->place[k], data, kernel->bytes[k]);
}

collage_status kernel_run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message)
{
    (void)stream;
    const struct library *library = &kernel->backend->library;
    const struct recipe *recipe = &kernel->recipe;
    const float *data[RECIPE_INPUTS] = { NULL };
    for (uint32_t k = 0; k < recipe->operand_count; k++)
        data[k] = operand_data(kernel, k, inputs, scratch);
    enum xnn_status result = xnn_status_success;
    if (memcmp(data, kernel->last_inputs, sizeof data) != 0 || outputs[0] != kernel->last_output) {
        kernel->last_output = NULL; /* should it fail */
        result =
            recipe->operation->setup(library, recipe, kernel->made, data, outputs[0], kernel->pool);
        if (result == xnn_status_success) {
            memcpy(kernel->last_inputs, data, sizeof data);
            kernel->last_output = outputs[0];
        }
    }
    if (result == xnn_status_success)
        result = library->xnn_run_operator(kernel->made, kernel->pool);
    return result == xnn_status_success
               ? COLLAGE_OK
               : fail(message, COLLAGE_ERROR_BACKEND, "XNNPACK: %s", library_status_text(result));
}
