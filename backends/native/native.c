/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.c: the plugin's table. Our own kernels, for what the libraries leave: other algorithms
 * (Winograd) and fusions that they do not have. Families of kernels (family.h) take sub-graphs;
 * each variant of each family is a candidate.
 */
#include "family.h"

#include <stdlib.h>
#include <string.h>

#define ACTIVATION "(Relu|LeakyRelu|Clip|Sigmoid|Tanh|Swish|HardSwish|HardSigmoid|Gelu|Add|Mul)"

/* One of a program (program.h); each may be followed by others. */
#define ELEMENTWISE                                                                                \
    "(Abs|Neg|Sqrt|Reciprocal|Exp|Log|Relu|LeakyRelu|Sigmoid|Tanh|Swish|HardSwish|HardSigmoid|"    \
    "Erf|Elu|Add|Sub|Mul|Div|Min|Max|PRelu|Where|Gelu|Clip|Pow)"

/* What needs a whole row (rows.c). */
#define ROWS                                                                                       \
    "(Softmax|LogSoftmax|LayerNormalization|RMSNormalization|GroupNormalization|"                  \
    "InstanceNormalization)"

static const collage_pattern patterns[] = {
    { "convolution", "Conv " ACTIVATION "*4" },
    { "separable convolution", "Conv " ACTIVATION "*2 Conv " ACTIVATION "*3" },
    { "separable convolution of Relu", "Relu Conv " ACTIVATION "*2 Conv " ACTIVATION "*3" },
    { "transposed convolution", "ConvTranspose " ACTIVATION "*4" },
    { "elementwise", ELEMENTWISE " " ELEMENTWISE "*7" },
    { "attention",
      "(MatMul|Transpose|Mul) MatMul*1 (Mul|Div|Add|Where)*3 Softmax MatMul Transpose*1" },
    { "attention operator", "Attention" },
    { "lookup", "Gather Add*3" },
    { "rotary", "RotaryEmbedding" },
    { "moves", "(Concat|Split|Slice|Pad|Transpose|Resize)" },
    { "pool", "(MaxPool|AveragePool|GlobalMaxPool|GlobalAveragePool)" },
    { "rows", ROWS " " ELEMENTWISE "*3" },
    { "scores", "(Add|Mul|Div|Where|Sub) (Add|Mul|Div|Where|Sub)*2 (Softmax|LogSoftmax)" },
    { "sum and norm", "(Add|Mul) (Add|Mul)*2 " ROWS " " ELEMENTWISE "*3" },
};

/* Graphs of element-wise operators that only one result leaves, and sums of lookups: what chains
 * have no words for. */
#define ALL                                                                                        \
    "Abs, Neg, Sqrt, Reciprocal, Exp, Log, Relu, LeakyRelu, Sigmoid, Tanh, Swish, HardSwish, "     \
    "HardSigmoid, Erf, Elu, Add, Sub, Mul, Div, Min, Max, PRelu, Where, Gelu, Clip, Pow\n"

static const char pattern_text[] =
    "collage_patterns 1\n"
    "rule cell {\n"
    "  operators " ALL "  fuse " ELEMENTWISE " -> " ELEMENTWISE "\n"
    "  whole 48\n"
    "}\n"
    "pattern two_lookups { y = Add(Gather(a, i), Gather(b, j)) }\n"
    "pattern two_lookups_and_more { y = Add(Add(Gather(a, i), Gather(b, j)), c) }\n"
    "pattern three_lookups { y = Add(Add(Gather(a, i), Gather(b, j)), Gather(c, k)) }\n";

/* The same as oneDNN's plugin asks for: both use libgomp's threads. */
static const char *const environment[] = { "GOMP_SPINCOUNT=2000", "OMP_NUM_THREADS={threads}",
                                           "OMP_DYNAMIC=FALSE", NULL };

/* Sub-graphs whose tensors are smaller than this are offered on one thread, too. */
enum { SMALL_BYTES = 256 * 1024, NAME_BYTES = sizeof(((collage_variant *)0)->name) };
static const char single[] = "/1t";

static size_t offers(const collage_subgraph *subgraph, const collage_target *target)
{
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        bytes += subgraph->values[v]->bytes;
    return target->threads > 1 && bytes <= SMALL_BYTES ? 2 : 1;
}

static bool supports(const collage_subgraph *subgraph, const collage_target *target,
                     collage_message *why)
{
    for (size_t f = 0; f < family_count; f++) {
        if (families[f]->takes(subgraph, target, why))
            return true;
    }
    return false;
}

/* Layouts and name as the family gives them, nothing of those asked for before; false: it has fewer
 * variants. */
static bool family_variant(const struct family *family, const collage_subgraph *subgraph,
                           const collage_target *target, size_t index, collage_variant *out)
{
    memset(out->inputs, 0, subgraph->input_count * sizeof *out->inputs);
    memset(out->outputs, 0, subgraph->output_count * sizeof *out->outputs);
    if (out->struct_size > offsetof(collage_variant, flags))
        out->flags = 0;
    if (family->variant)
        return family->variant(subgraph, target, index, out);
    snprintf(out->name, sizeof out->name, "%s", family->name);
    return index == 0;
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    size_t offered = offers(subgraph, target), wanted = index / offered;
    for (size_t f = 0; f < family_count; f++) {
        if (!families[f]->takes(subgraph, target, NULL))
            continue;
        for (size_t k = 0; family_variant(families[f], subgraph, target, k, out); k++) {
            if (wanted-- > 0)
                continue;
            if (families[f]->indirect &&
                out->struct_size > offsetof(collage_variant, flags)) /* else an older host's */
                out->flags |= COLLAGE_VARIANT_INDIRECT;
            if (index % offered == 1)
                strncat(out->name, single, sizeof out->name - strlen(out->name) - 1);
            return true;
        }
    }
    return false;
}

/* The family that has a variant of this name (without "/1t") for this sub-graph. */
static const struct family *find_family(const collage_subgraph *subgraph,
                                        const collage_target *target, const char *name)
{
    size_t tags = subgraph->input_count + subgraph->output_count;
    collage_layout *layouts = calloc(tags ? tags : 1, sizeof *layouts);
    const struct family *found = NULL;
    if (!layouts)
        return NULL;
    for (size_t f = 0; f < family_count && !found; f++) {
        if (!families[f]->takes(subgraph, target, NULL))
            continue;
        collage_variant out = { .struct_size = sizeof out,
                                .inputs = layouts,
                                .outputs = layouts + subgraph->input_count };
        for (size_t k = 0; family_variant(families[f], subgraph, target, k, &out); k++) {
            if (strcmp(out.name, name) == 0)
                found = families[f];
        }
    }
    free(layouts);
    return found;
}

/* The variant's name without "/1t"; says how many threads run it. */
static int32_t base_name(const collage_variant *variant_given, const collage_target *target,
                         char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s", variant_given->name);
    size_t length = strlen(name), suffix = strlen(single);
    bool alone = length > suffix && strcmp(name + length - suffix, single) == 0;
    if (alone)
        name[length - suffix] = 0;
    return alone ? 1 : target->threads;
}

static struct schedule_space space_of(const struct family *family, const collage_subgraph *subgraph,
                                      const collage_target *target, const char *name,
                                      int32_t threads)
{
    struct schedule_space space = { .count = 0 };
    if (family->space)
        family->space(subgraph, target, name, threads, &space);
    return space;
}

static bool schedule(const collage_subgraph *subgraph, const collage_target *target,
                     const collage_variant *given, size_t index, collage_schedule *out)
{
    char name[NAME_BYTES];
    int32_t threads = base_name(given, target, name);
    const struct family *family = find_family(subgraph, target, name);
    if (!family)
        return false;
    const struct schedule_space space = space_of(family, subgraph, target, name, threads);
    return schedule_text(&space, index, out->text, sizeof out->text);
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
    *out = calloc(1, sizeof **out);
    if (!*out)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    (*out)->host = host;
    pthread_mutex_init(&(*out)->weights.lock, NULL);
    if (!pool_open(&(*out)->pool) && target->threads > 1)
        host->log(host->context, COLLAGE_LOG_WARNING,
                  "native: libgomp.so.1 is not there; kernels run on one thread");
    return COLLAGE_OK;
}

static const char *version(const collage_backend *backend)
{
    (void)backend;
    return "1";
}

static void destroy(collage_kernel *kernel)
{
    if (!kernel)
        return;
    if (kernel->family)
        kernel->family->destroy(kernel);
    free(kernel);
}

/* A request of an older host ends before the schedule. */
static const char *schedule_of(const collage_compile_request *request)
{
    return request->struct_size > offsetof(collage_compile_request, schedule) ? request->schedule
                                                                              : NULL;
}

static collage_status compile_family(collage_kernel *kernel, const collage_compile_request *request,
                                     const char *name, collage_message *message)
{
    const char *text = schedule_of(request);
    if (!kernel->family)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "there is no variant '%s'", name);
    const struct schedule_space space =
        space_of(kernel->family, request->subgraph, request->target, name, kernel->threads);
    if (!schedule_read(&space, text, kernel->schedule))
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "'%s' has no schedule '%.95s'", name, text);
    return kernel->family->compile(kernel, request, name, message);
}

static collage_status compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message)
{
    *out = NULL;
    if (request->flags & COLLAGE_COMPILE_STANDALONE)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "these kernels run no model by themselves");
    char name[NAME_BYTES];
    collage_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->threads = base_name(request->variant, request->target, name);
    kernel->family = find_family(request->subgraph, request->target, name);
    kernel->backend = backend;
    kernel->isa = isa_of(request->target);
    collage_status status = compile_family(kernel, request, name, message);
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
    info->inplace_count = kernel->inplace_count;
    memcpy(info->inplace, kernel->inplace, sizeof info->inplace);
    snprintf(info->implementation, sizeof info->implementation, "%s", kernel->implementation);
}

static collage_status run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message)
{
    (void)stream;
    if (kernel->family->check && !kernel->family->check(kernel, inputs, message))
        return COLLAGE_ERROR_ARGUMENT;
    kernel->family->run(kernel, inputs, outputs, scratch);
    return COLLAGE_OK;
}

static const collage_backend_api api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "native",
    .kind = COLLAGE_OP_LEVEL,
    .environment = environment,
    .thread_flags = COLLAGE_THREADS_OBEYED | COLLAGE_THREADS_QUIET | COLLAGE_THREADS_CONCURRENT,
    .patterns = patterns,
    .pattern_count = sizeof patterns / sizeof patterns[0],
    .pattern_text = pattern_text,
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
