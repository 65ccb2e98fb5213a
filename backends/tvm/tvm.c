/* SPDX-License-Identifier: Apache-2.0 */
/* tvm.c: the plugin's table, and how a kernel comes about. */
#include "tvm.h"
#include "object.h"

#include <stdlib.h>
#include <string.h>

/* Of the kernels that the helper makes: another one, and what was measured and kept is not theirs.
 */
#define KERNELS "1"

#define TVM_ACTIVATION "(Relu|LeakyRelu|Clip|Sigmoid|Tanh|Swish|HardSwish|HardSigmoid|Gelu|Add|Mul)"

/* Rounds of a search; each goes on where the one before it ended. */
enum { ROUNDS = 4 };

static const collage_pattern patterns[] = {
    { "element-wise", TVM_ELEMENTWISE " " TVM_ELEMENTWISE "*7" },
    { "normalisation", "(LayerNormalization|RMSNormalization|Softmax) " TVM_ELEMENTWISE "*3" },
    { "sum and normalisation",
      "(Add|Mul|Div) (LayerNormalization|RMSNormalization|Softmax) " TVM_ELEMENTWISE "*2" },
    { "convolution", "Conv " TVM_ACTIVATION "*4" },
    { "product", "(MatMul|Gemm) " TVM_ACTIVATION "*4" },
};

/* Kernels run on libgomp's threads, as our own do. */
static const char *const environment[] = { "GOMP_SPINCOUNT=2000", "OMP_NUM_THREADS={threads}",
                                           "OMP_DYNAMIC=FALSE", NULL };

static bool supports(const collage_subgraph *subgraph, const collage_target *target,
                     collage_message *why)
{
    return kind_of(subgraph, target, why) != KIND_NONE;
}

/* Channels last: of the result, and of what has its shape or is convolved. */
static void use_channels_last(const collage_subgraph *subgraph, collage_variant *out)
{
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        snprintf(out->inputs[k].tag, sizeof out->inputs[k].tag, "acdb");
    snprintf(out->outputs[0].tag, sizeof out->outputs[0].tag, "acdb");
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    enum kind kind = index == 0 ? kind_of(subgraph, target, NULL) : KIND_NONE;
    if (kind == KIND_NONE)
        return false;
    bool last = kind == KIND_CONVOLUTION || kind == KIND_DEPTHWISE;
    snprintf(out->name, sizeof out->name, "%s", last ? "nhwc" : "plain");
    if (last)
        use_channels_last(subgraph, out);
    if (out->struct_size > offsetof(collage_variant, flags))
        out->flags = COLLAGE_VARIANT_CODE;
    return true;
}

static bool schedule(const collage_subgraph *subgraph, const collage_target *target,
                     const collage_variant *variant, size_t index, collage_schedule *out)
{
    (void)variant;
    if (index >= ROUNDS || kind_of(subgraph, target, NULL) == KIND_NONE)
        return false;
    snprintf(out->text, sizeof out->text, "rounds=%d", (int)index + 1);
    return true;
}

int rounds_of(const char *schedule)
{
    char text[COLLAGE_SCHEDULE_BYTES];
    for (int k = 1; schedule && k <= ROUNDS; k++) {
        snprintf(text, sizeof text, "rounds=%d", k);
        if (strcmp(text, schedule) == 0)
            return k;
    }
    return schedule ? -1 : 0;
}

static void close_backend(collage_backend *backend)
{
    struct tvm *tvm = (struct tvm *)backend;
    if (!tvm)
        return;
    helper_stop(&tvm->helper);
    pool_close(&tvm->base.pool);
    pthread_mutex_destroy(&tvm->base.weights.lock);
    free(tvm);
}

static collage_status open_backend(const collage_host *host, const collage_target *target,
                                   collage_backend **out, collage_message *message)
{
    *out = NULL;
    struct tvm *tvm = calloc(1, sizeof *tvm);
    if (!tvm)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    pthread_mutex_init(&tvm->base.weights.lock, NULL);
    helper_init(&tvm->helper, target->threads);
    tvm->base.host = host;
    collage_status status = place_find(&tvm->place, message);
    if (status != COLLAGE_OK) {
        close_backend(&tvm->base);
        return status;
    }
    if (!pool_open(&tvm->base.pool) && target->threads > 1)
        host->log(host->context, COLLAGE_LOG_WARNING,
                  "TVM's kernels: libgomp.so.1 is not there; they run on one thread");
    *out = &tvm->base;
    return COLLAGE_OK;
}

static const char *version(const collage_backend *backend)
{
    return ((const struct tvm *)backend)->place.version;
}

/* ---- compiling ---- */

/* The source that the helper makes; free it. */
static collage_status ask_helper(struct tvm *tvm, const struct source *request, char **source,
                                 collage_message *message)
{
    if (!tvm->place.python[0])
        return fail(message, COLLAGE_ERROR_UNSUPPORTED,
                    "TVM itself is not there, only its version: kernels of plans can be run, but "
                    "none made");
    return helper_ask(&tvm->helper, tvm->place.python, request->text, source, message);
}

/* The object of a request: kept, of the plan, or made now. To be released by the host. */
static collage_status find_object(struct tvm *tvm, const struct source *request, void **bytes,
                                  size_t *count, collage_message *message)
{
    const collage_host *host = tvm->base.host;
    struct source name = { 0 };
    char *source = NULL;
    source_add(&name, "tvm %s kernels " KERNELS "\n", tvm->place.version);
    if (request->text)
        source_add_text(&name, request->text);
    collage_status status =
        request->failed || name.failed
            ? fail(message, COLLAGE_ERROR_MEMORY, "out of memory")
            : host->make_named_code(host->context, name.text, NULL, NULL, bytes, count, message);
    if (status == COLLAGE_OK && !*bytes) {
        status = ask_helper(tvm, request, &source, message);
        if (status == COLLAGE_OK)
            status = host->make_named_code(host->context, name.text, source, NULL, bytes, count,
                                           message);
    }
    free(source);
    source_free(&name);
    return status;
}

static collage_status make(struct tvm *tvm, collage_kernel *kernel,
                           const collage_compile_request *request, collage_message *message)
{
    const collage_host *host = tvm->base.host;
    struct source text = { 0 };
    struct object *object = NULL;
    void *bytes = NULL;
    size_t count = 0;
    enum kind kind = kind_of(request->subgraph, request->target, message);
    if (kind == KIND_NONE)
        return COLLAGE_ERROR_UNSUPPORTED;
    int rounds = request->struct_size > offsetof(collage_compile_request, schedule)
                     ? rounds_of(request->schedule)
                     : 0;
    if (rounds < 0)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "this kernel has no schedule '%s'",
                    request->schedule);
    if (host->struct_size <= offsetof(collage_host, make_named_code) || !host->make_named_code)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "this host has no code made under a name");
    request_write(&text, request, kind, rounds);
    collage_status status = find_object(tvm, &text, &bytes, &count, message);
    source_free(&text);
    if (status != COLLAGE_OK)
        return status;
    status = object_create(bytes, count, kernel, request, &object, message);
    kernel->state = object;
    host->release(host->context, bytes);
    if (status != COLLAGE_OK)
        return status;
    kernel->weight_bytes = object_weight_bytes(object);
    snprintf(kernel->implementation, sizeof kernel->implementation, "%s",
             object_implementation(object));
    return COLLAGE_OK;
}

static void destroy(collage_kernel *kernel)
{
    if (!kernel)
        return;
    object_destroy(kernel->state, kernel);
    free(kernel);
}

static collage_status compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message)
{
    *out = NULL;
    if (request->flags & COLLAGE_COMPILE_STANDALONE)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "TVM runs no model by itself here");
    collage_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->backend = backend;
    kernel->threads = request->target->threads;
    collage_status status = make((struct tvm *)backend, kernel, request, message);
    if (status == COLLAGE_OK)
        *out = kernel;
    else
        destroy(kernel);
    return status;
}

static void kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->scratch_bytes = 0;
    info->weight_bytes = kernel->weight_bytes;
    info->inplace_count = 0;
    snprintf(info->implementation, sizeof info->implementation, "%s", kernel->implementation);
}

static collage_status run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message)
{
    (void)stream;
    (void)scratch;
    return object_run(kernel->state, kernel, inputs, outputs, message);
}

static const collage_backend_api api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "tvm",
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
    .compile = compile,
    .kernel_info = kernel_info,
    .run = run,
    .kernel_destroy = destroy,
    .schedule = schedule,
};

COLLAGE_BACKEND_EXPORT const collage_backend_api *collage_backend_entry(uint32_t host_major);

const collage_backend_api *collage_backend_entry(uint32_t host_major)
{
    return host_major == COLLAGE_ABI_MAJOR ? &api : NULL;
}
