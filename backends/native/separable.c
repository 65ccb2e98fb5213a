/* SPDX-License-Identifier: Apache-2.0 */
/* separable.c: the family of depthwise separable convolutions: a depthwise one, and a pointwise one
 * behind it, each with what follows it. */
#include "simd/separable.h"

#include <stdlib.h>
#include <string.h>

#include "family.h"

enum { INPUTS_MAX = 31 };

/* The two convolutions as sub-graphs of their own, which lie at `depthwise` and `pointwise`. */
struct parts {
    bool relu;      /* the first node is a Relu, before the depthwise convolution */
    uint32_t input; /* of the whole */
    uint32_t between, before;
    uint32_t inputs[INPUTS_MAX + 1]; /* those of the whole, and what is between the two */
    collage_subgraph depthwise, pointwise;
};

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

static bool is(const collage_node *node, const char *op)
{
    return strcmp(node->op_type, op) == 0;
}

static bool split(struct parts *parts, const collage_subgraph *subgraph, collage_message *why)
{
    *parts = (struct parts){ .relu = is(subgraph->nodes[0], "Relu") };
    const uint32_t first = parts->relu ? 1 : 0;
    uint32_t second = first + 1;
    while (second < subgraph->node_count && !is(subgraph->nodes[second], "Conv"))
        second++;
    if (second >= subgraph->node_count || !is(subgraph->nodes[first], "Conv"))
        return refuse(why, "these are not two convolutions");
    if (subgraph->input_count > INPUTS_MAX)
        return refuse(why, "too many inputs");
    const collage_node *conv = subgraph->nodes[first], *last = subgraph->nodes[second - 1];
    if (conv->input_count < 1 || last->output_count != 1 ||
        subgraph->nodes[second]->input_count < 1 ||
        subgraph->nodes[second]->inputs[0] != last->outputs[0])
        return refuse(why, "the second convolution is not of the first one's result");
    parts->before = parts->input = conv->inputs[0];
    parts->between = last->outputs[0];
    if (parts->relu) {
        const collage_node *relu = subgraph->nodes[0];
        if (relu->input_count != 1 || relu->output_count != 1 ||
            relu->outputs[0] != conv->inputs[0])
            return refuse(why, "the convolution is not of what Relu makes");
        parts->input = relu->inputs[0];
    }
    if (parts->input == COLLAGE_NO_VALUE || subgraph->values[parts->input]->data ||
        !value_is_outside(subgraph, parts->input))
        return refuse(why, "its input is constant");
    memcpy(parts->inputs, subgraph->inputs, subgraph->input_count * sizeof *parts->inputs);
    parts->inputs[subgraph->input_count] = parts->between;
    return true;
}

/* The views point into `parts`: made when it is where it stays. */
static void make_views(struct parts *parts, const collage_subgraph *subgraph)
{
    const uint32_t first = parts->relu ? 1 : 0;
    uint32_t second = first + 1;
    while (!is(subgraph->nodes[second], "Conv"))
        second++;
    parts->depthwise = parts->pointwise = (collage_subgraph){
        .struct_size = sizeof parts->depthwise,
        .values = subgraph->values,
        .value_count = subgraph->value_count,
        .output_count = 1,
        .opset = subgraph->opset,
    };
    parts->depthwise.nodes = subgraph->nodes + first;
    parts->depthwise.node_count = second - first;
    parts->depthwise.inputs = &parts->before;
    parts->depthwise.input_count = 1;
    parts->depthwise.outputs = &parts->between;
    parts->pointwise.nodes = subgraph->nodes + second;
    parts->pointwise.node_count = subgraph->node_count - second;
    parts->pointwise.inputs = parts->inputs;
    parts->pointwise.input_count = subgraph->input_count + 1;
    parts->pointwise.outputs = subgraph->outputs;
    parts->pointwise.output_count = subgraph->output_count;
}

static bool read_parts(struct parts *parts, struct window *depthwise, struct window *pointwise,
                       struct epilogue *epilogue, const collage_subgraph *subgraph,
                       collage_message *why)
{
    struct epilogue between;
    if (!split(parts, subgraph, why))
        return false;
    make_views(parts, subgraph);
    if (!window_read(depthwise, &between, &parts->depthwise, why) ||
        !window_read(pointwise, epilogue, &parts->pointwise, why))
        return false;
    if (depthwise->group <= 1 || depthwise->group != depthwise->channels_in ||
        depthwise->group != depthwise->channels_out || !depthwise_has_blocks(depthwise))
        return refuse(why, "the first one is not depthwise, of 3, 5 or 7 columns");
    if (pointwise->group != 1 || pointwise->kernel_height != 1 || pointwise->kernel_width != 1 ||
        pointwise->stride_height != 1 || pointwise->stride_width != 1 ||
        pointwise->height_in != pointwise->height_out ||
        pointwise->width_in != pointwise->width_out)
        return refuse(why, "the second one is not 1x1 on each pixel");
    if (epilogue_tensor_inputs(&between) != 0 ||
        epilogue_tensor_inputs(epilogue) & 1u << subgraph->input_count)
        return refuse(why, "what is between the two is used twice");
    pointwise->input = parts->input;
    return true;
}

static bool read(struct window *window, struct epilogue *epilogue, const collage_subgraph *subgraph,
                 const collage_target *target, collage_message *why)
{
    (void)target;
    struct parts parts;
    struct window depthwise;
    return read_parts(&parts, &depthwise, window, epilogue, subgraph, why);
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    return window_takes(read, subgraph, target, why);
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    return window_variant(read, "separable", true, subgraph, target, index, out);
}

/* As simd/separable.h says. */
static void pack(float *to, const float *from, const void *context)
{
    const struct window_plan *plan = context;
    const struct window *window = &plan->window;
    for (int64_t k = 0; k < window->channels_out; k++) {
        int64_t block = k / plan->lanes, pair = block / SEPARABLE_VECTORS;
        int64_t vectors = plan->blocks_out - pair * SEPARABLE_VECTORS;
        vectors = vectors < SEPARABLE_VECTORS ? vectors : SEPARABLE_VECTORS;
        float *lane = to + pair * plan->unit_weights + block % SEPARABLE_VECTORS * plan->lanes +
                      k % plan->lanes;
        for (int64_t c = 0; c < window->channels_in; c++)
            lane[c * vectors * plan->lanes] = *from++;
    }
}

enum { ROWS, PARALLEL };
enum { BY_ROWS, BY_CHANNELS };
static const char *const parallel_words[] = { "rows", "channels" };

/* Scratch of a thread should stay in the L2 cache beside weights. */
enum { CACHED_FLOATS = 48 * 1024 };

static int64_t choose_rows(const struct window *window, int64_t lanes)
{
    int64_t blocks = (window->channels_in + lanes - 1) / lanes;
    int64_t rows = CACHED_FLOATS / (window->width_out * blocks * lanes);
    return rows < 1 ? 1 : rows > window->height_out ? window->height_out : rows;
}

/* Weights are read once by one thread each where there are more of them than pixels pay for. */
static int64_t choose_parallel(const struct window *window, int32_t threads)
{
    int64_t rows = window->batch * window->height_out;
    return threads > 1 && rows * window->width_out <= 64 * (int64_t)threads ? BY_CHANNELS : BY_ROWS;
}

static void space(const collage_subgraph *subgraph, const collage_target *target,
                  const char *variant_name, int32_t threads, struct schedule_space *out)
{
    (void)variant_name;
    static const int64_t counts[] = { 1, 2, 4, 8 };
    struct window window;
    struct epilogue epilogue;
    if (!read(&window, &epilogue, subgraph, target, NULL))
        return;
    const int64_t own = choose_rows(&window, isa_lanes(isa_of(target)));
    struct schedule_axis *axis = schedule_add_axis(out, "rows", NULL);
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        if (counts[k] != own && counts[k] <= window.height_out)
            schedule_add_value(axis, counts[k]);
    }
    axis = schedule_add_axis(out, "parallel", parallel_words);
    schedule_add_value(axis, choose_parallel(&window, threads) == BY_ROWS ? BY_CHANNELS : BY_ROWS);
}

/* Both plans, but for packed weights. */
static collage_status make_plans(struct separable *separable, const collage_kernel *kernel,
                                 const struct parts *parts, const collage_subgraph *subgraph,
                                 collage_message *message)
{
    struct window_plan *plan = &separable->plan, *depthwise = &separable->depthwise;
    collage_status status = window_plan_read(depthwise, kernel->isa, &parts->depthwise, message);
    if (status == COLLAGE_OK)
        status = window_plan_read(plan, kernel->isa, &parts->pointwise, message);
    if (status != COLLAGE_OK)
        return status;
    separable->relu = parts->relu;
    depthwise->block = window_choose_block(depthwise->window.width_out, depthwise_blocks);
    depthwise->row_weights = depthwise->window.kernel_width * depthwise->lanes;
    plan->window.input = parts->input;
    plan->input = operand_of(subgraph, parts->input).input;
    plan->rows = ISA_PICK(kernel->isa, separable_kernels)->rows;
    plan->unit_blocks = SEPARABLE_VECTORS;
    plan->row_weights = plan->window.channels_in * SEPARABLE_VECTORS * plan->lanes;
    return COLLAGE_OK;
}

static void set_schedule(struct separable *separable, const collage_kernel *kernel)
{
    struct window_plan *plan = &separable->plan;
    const struct window *window = &plan->window;
    const int64_t pixels = window->height_out * window->width_out;
    const int64_t made = ISA_PICK(kernel->isa, separable_kernels)->pixels;
    const int64_t parallel = kernel->schedule[PARALLEL] >= 0
                                 ? kernel->schedule[PARALLEL]
                                 : choose_parallel(window, kernel->threads);
    plan->block =
        kernel->schedule[ROWS] > 0 ? kernel->schedule[ROWS] : choose_rows(window, plan->lanes);
    plan->units = window->batch * window->height_out;
    plan->scratch_floats =
        plan->block * window->width_out * separable->depthwise.blocks_out * plan->lanes;
    if (parallel == BY_CHANNELS)
        separable->pieces = (pixels + made - 1) / made;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant_name, collage_message *message)
{
    (void)variant_name;
    struct parts parts;
    struct window first, second;
    struct epilogue epilogue;
    struct separable *separable = calloc(1, sizeof *separable);
    if (!separable)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = separable;
    if (!read_parts(&parts, &first, &second, &epilogue, request->subgraph, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    collage_status status = make_plans(separable, kernel, &parts, request->subgraph, message);
    if (status != COLLAGE_OK)
        return status;
    set_schedule(separable, kernel);
    status = window_plan_pack(&separable->depthwise, kernel, request, depthwise_pack, "depthwise",
                              message);
    if (status == COLLAGE_OK)
        status = window_finish(kernel, request, pack, "separable", message);
    if (status != COLLAGE_OK)
        return status;
    if (separable->pieces) /* all depthwise results, of all threads */
        kernel->scratch_bytes =
            (uint64_t)(separable->plan.units * second.width_out * separable->depthwise.blocks_out *
                       separable->plan.lanes) *
            sizeof(float);
    static const char *const isas[] = { "generic", "avx2", "avx512" };
    snprintf(kernel->implementation, sizeof kernel->implementation, "separable %lldx%lld s%lld %s",
             (long long)first.kernel_height, (long long)first.kernel_width,
             (long long)first.stride_width, isas[kernel->isa]);
    return COLLAGE_OK;
}

struct job {
    const struct separable *separable;
    separable_part *part;
    int64_t units;
    const void *const *inputs;
    float *all, *to;
};

static void body(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    int64_t begin, end;
    pool_share(job->units, thread, threads, &begin, &end);
    if (begin < end)
        job->part(job->separable, job->inputs, job->all, job->to, begin, end);
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    const struct separable *separable = kernel->state;
    if (!separable->pieces) {
        window_run(kernel, inputs, outputs, scratch);
        return;
    }
    const struct separable_kernels *kernels = ISA_PICK(kernel->isa, separable_kernels);
    const struct window_plan *plan = &separable->plan;
    const int64_t batch = plan->window.batch;
    struct job job = { separable, kernels->blocks, batch * separable->depthwise.blocks_out,
                       inputs,    scratch,         outputs[0] };
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
    job.part = kernels->products;
    job.units =
        (plan->blocks_out + SEPARABLE_VECTORS - 1) / SEPARABLE_VECTORS * batch * separable->pieces;
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

static void destroy(collage_kernel *kernel)
{
    struct separable *separable = kernel->state;
    if (!separable)
        return;
    window_plan_free(&separable->plan, kernel);
    window_plan_free(&separable->depthwise, kernel);
    free(separable);
}

extern const struct family separable_family;
const struct family separable_family = { .name = "separable",
                                         .takes = takes,
                                         .variant = variant,
                                         .space = space,
                                         .compile = compile,
                                         .run = run,
                                         .destroy = destroy };
