/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend that says by a rule what it could run: any connected group of element-wise operators,
 * of whatever shape. No combination is listed. The host makes the groups, within the rule's limits;
 * `supports`, the verify function, says yes or no to each; an interpreter runs them, a block of
 * elements at a time, so that what lies between two operators stays in the cache.
 * docs/backends.md explains the parts that all plugins have, with examples/plugin.
 */
#include <collage/backend.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char pattern_text[] =
    "collage_patterns 1\n"
    "rule elementwise {\n"
    "  operators Add, Sub, Mul, Relu, Neg, Abs, Sigmoid, Tanh\n"
    "  fuse (Add|Sub|Mul|Relu|Neg|Abs|Sigmoid|Tanh) -> (Add|Sub|Mul|Relu|Neg|Abs|Sigmoid|Tanh)\n"
    "  nodes 6\n"
    "  outputs 1\n"
    "}\n";

enum { BLOCK = 512, MOST_NODES = 16 };

/* ---- the operators: a loop each ---- */

typedef void (*loop_function)(float *out, const float *a, const float *b, size_t count);

#define LOOP(name, expression)                                                                     \
    static void loop_##name(float *out, const float *a, const float *b, size_t count)              \
    {                                                                                              \
        (void)b;                                                                                   \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = (expression);                                                                 \
    }

LOOP(add, a[i] + b[i])
LOOP(sub, a[i] - b[i])
LOOP(mul, a[i] * b[i])
LOOP(relu, a[i] < 0 ? 0 : a[i]) /* NaN stays NaN */
LOOP(neg, -a[i])
LOOP(abs, fabsf(a[i]))
LOOP(sigmoid, 1 / (1 + expf(-a[i])))
LOOP(tanh, tanhf(a[i]))

static const struct operator_row {
    const char *name;
    uint32_t operands;
    loop_function loop;
} operators[] = {
    { "Add", 2, loop_add },         { "Sub", 2, loop_sub },   { "Mul", 2, loop_mul },
    { "Relu", 1, loop_relu },       { "Neg", 1, loop_neg },   { "Abs", 1, loop_abs },
    { "Sigmoid", 1, loop_sigmoid }, { "Tanh", 1, loop_tanh },
};
enum { OPERATOR_COUNT = sizeof operators / sizeof operators[0] };

static const struct operator_row *find_operator(const char *name)
{
    for (size_t k = 0; k < OPERATOR_COUNT; k++)
        if (strcmp(operators[k].name, name) == 0)
            return &operators[k];
    return NULL;
}

/* ---- verify ---- */

static bool refuse(collage_message *why, const char *text)
{
    snprintf(why->text, sizeof why->text, "%s", text);
    return false;
}

static bool same_shape(const collage_value *a, const collage_value *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

/* Which operators, and how they hang together, the rule has seen to. Files of patterns of a user
 * may ask about anything else. */
static bool supports(const collage_subgraph *subgraph, const collage_target *target,
                     collage_message *why)
{
    (void)target;
    if (subgraph->node_count > MOST_NODES || subgraph->output_count != 1)
        return refuse(why, "takes up to 16 operators with one output");
    const collage_value *output = subgraph->values[subgraph->outputs[0]];
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        const struct operator_row *row = find_operator(node->op_type);
        if (!row || node->input_count != row->operands || node->output_count != 1)
            return refuse(why, "takes element-wise operators only");
        for (uint32_t k = 0; k < node->input_count; k++) {
            const collage_value *input = subgraph->values[node->inputs[k]];
            if (input->dtype != COLLAGE_FLOAT32)
                return refuse(why, "takes float32 only");
            if (!same_shape(input, output))
                return refuse(why, "does not broadcast");
        }
    }
    return true;
}

/* ---- the library and its kernels ---- */

struct collage_backend {
    int unused;
};

/* Where the elements of a value are. */
struct place {
    enum { IS_INPUT, IS_CONSTANT, IS_BLOCK, IS_OUTPUT } kind;
    uint32_t index;        /* of the input, of the block in scratch memory */
    const float *constant; /* outlives the kernel */
};

struct step {
    loop_function loop;
    struct place operands[2], result;
};

struct collage_kernel {
    uint64_t count; /* elements */
    uint32_t step_count;
    struct step steps[MOST_NODES];
};

static collage_status open_backend(const collage_host *host, const collage_target *target,
                                   collage_backend **out, collage_message *message)
{
    (void)host;
    (void)target;
    (void)message;
    *out = calloc(1, sizeof **out);
    return *out ? COLLAGE_OK : COLLAGE_ERROR_MEMORY;
}

static void close_backend(collage_backend *backend)
{
    free(backend);
}

static const char *version(const collage_backend *backend)
{
    (void)backend;
    return "1.0";
}

/* A value is the output, a constant, an input, or the result of the node with that number. */
static struct place place_of(const collage_subgraph *subgraph, uint32_t value)
{
    if (value == subgraph->outputs[0])
        return (struct place){ .kind = IS_OUTPUT };
    if (subgraph->values[value]->data)
        return (struct place){ .kind = IS_CONSTANT, .constant = subgraph->values[value]->data };
    for (uint32_t i = 0; i < subgraph->input_count; i++)
        if (subgraph->inputs[i] == value)
            return (struct place){ .kind = IS_INPUT, .index = i };
    uint32_t node = 0;
    while (node < subgraph->node_count && subgraph->nodes[node]->outputs[0] != value)
        node++;
    return (struct place){ .kind = IS_BLOCK, .index = node };
}

static collage_status compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message)
{
    (void)backend;
    const collage_subgraph *subgraph = request->subgraph;
    *out = NULL;
    if ((request->flags & COLLAGE_COMPILE_STANDALONE) ||
        !supports(subgraph, request->target, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    collage_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return COLLAGE_ERROR_MEMORY;
    kernel->count = subgraph->values[subgraph->outputs[0]]->bytes / sizeof(float);
    kernel->step_count = subgraph->node_count;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        struct step *step = &kernel->steps[n];
        step->loop = find_operator(node->op_type)->loop;
        step->result = place_of(subgraph, node->outputs[0]);
        for (uint32_t k = 0; k < node->input_count; k++)
            step->operands[k] = place_of(subgraph, node->inputs[k]);
        if (node->input_count == 1)
            step->operands[1] = step->operands[0];
    }
    *out = kernel;
    return COLLAGE_OK;
}

static void kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->scratch_bytes = kernel->step_count * BLOCK * sizeof(float);
    snprintf(info->implementation, sizeof info->implementation, "interpreter, %u operators",
             kernel->step_count);
}

static collage_status run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message)
{
    (void)stream;
    (void)message;
    float *blocks = scratch, *output = outputs[0];
    for (uint64_t at = 0; at < kernel->count; at += BLOCK) {
        size_t count = kernel->count - at < BLOCK ? (size_t)(kernel->count - at) : BLOCK;
        for (uint32_t s = 0; s < kernel->step_count; s++) {
            const struct step *step = &kernel->steps[s];
            const float *operands[2];
            for (int k = 0; k < 2; k++) {
                const struct place *place = &step->operands[k];
                operands[k] = place->kind == IS_INPUT ? (const float *)inputs[place->index] + at
                              : place->kind == IS_CONSTANT ? place->constant + at
                              : place->kind == IS_BLOCK    ? blocks + place->index * BLOCK
                                                           : output + at;
            }
            step->loop(step->result.kind == IS_OUTPUT ? output + at
                                                      : blocks + step->result.index * BLOCK,
                       operands[0], operands[1], count);
        }
    }
    return COLLAGE_OK;
}

static void kernel_destroy(collage_kernel *kernel)
{
    free(kernel);
}

static const collage_backend_api api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "elementwise",
    .kind = COLLAGE_OP_LEVEL,
    .thread_flags = COLLAGE_THREADS_NONE | COLLAGE_THREADS_QUIET,
    .supports = supports,
    .open = open_backend,
    .close = close_backend,
    .version = version,
    .compile = compile,
    .kernel_info = kernel_info,
    .run = run,
    .kernel_destroy = kernel_destroy,
    .pattern_text = pattern_text,
};

COLLAGE_BACKEND_EXPORT const collage_backend_api *collage_backend_entry(uint32_t host_major);

const collage_backend_api *collage_backend_entry(uint32_t host_major)
{
    return host_major == COLLAGE_ABI_MAJOR ? &api : NULL;
}
