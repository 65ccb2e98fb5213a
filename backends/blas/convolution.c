/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convolution.c: the family of convolutions. Blocks of pixels are unfolded into a workspace of
 * bounded size (unfold.c) and multiplied by the weights; a pointwise convolution needs no
 * workspace. Channels come first, as in ONNX, or last (NHWC): then the operands change sides.
 */
#include "convolution.h"

#include <stdlib.h>
#include <string.h>

static const struct blas_choice choices[] = {
    { .name = "gemm" },
    { .name = "split", .sharing = BLAS_SPLIT },
    { .name = "gemm/1t", .single = true },
    { .name = "nhwc", .channels = true },
    { .name = "nhwc_split", .sharing = BLAS_SPLIT, .channels = true },
    { .name = "nhwc/1t", .single = true, .channels = true },
};
enum { CHOICES = sizeof choices / sizeof choices[0] };

/* Floats of the workspace when the library shares the work, and for each of our threads; and the
 * least of what a product should have on either side. */
enum { WORK_FLOATS = 2 << 20, PART_FLOATS = 128 << 10, LEAST = 48, ROUND = 16 };

struct convolution_plan {
    struct convolution convolution;
    struct epilogue epilogue;
    const struct blas_choice *choice;
    const struct finish_kernels *finish;
    uint32_t input; /* of the sub-graph */
    struct operand weights;
    struct weights *packed; /* channels last */
    int64_t jobs;           /* images times groups */
    int64_t pixels;         /* of a job */
    int64_t block, blocks;  /* pixels at a time, of a job */
    int64_t chunk, chunks;  /* channels at a time, of a group */
    int64_t work;           /* floats of a workspace; 0: none is needed */
    int32_t threads;
};

/* A call of `run`. */
struct convolution_call {
    const struct blas *blas;
    const struct convolution_plan *plan;
    const void *const *inputs;
    float *to, *work;
    int64_t job, begin, end; /* BLAS_WHOLE: the block at hand */
};

/* ---- describing ---- */

static bool fits(const struct blas_choice *choice, const struct convolution *c,
                 const collage_subgraph *subgraph)
{
    return !choice->channels || subgraph->values[c->weights]->data;
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    (void)target;
    struct convolution convolution;
    struct epilogue epilogue;
    return convolution_read(&convolution, &epilogue, subgraph, why);
}

static void set_layouts(collage_variant *out, const struct convolution *c,
                        const struct epilogue *epilogue, const collage_subgraph *subgraph)
{
    static const char *const tags[] = { [3] = "acb", [4] = "acdb", [5] = "acdeb" };
    uint32_t last = epilogue_tensor_inputs(epilogue) | 1u << operand_of(subgraph, c->input).input;
    for (uint32_t k = 0; k < subgraph->input_count; k++) {
        if (last & 1u << k)
            snprintf(out->inputs[k].tag, sizeof out->inputs[k].tag, "%s", tags[c->rank]);
    }
    snprintf(out->outputs[0].tag, sizeof out->outputs[0].tag, "%s", tags[c->rank]);
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    struct convolution convolution;
    struct epilogue epilogue;
    if (!convolution_read(&convolution, &epilogue, subgraph, NULL))
        return false;
    for (size_t k = 0; k < CHOICES; k++) {
        if (!fits(&choices[k], &convolution, subgraph) ||
            !blas_offers(&choices[k], subgraph, target) || index-- > 0)
            continue;
        snprintf(out->name, sizeof out->name, "%s", choices[k].name);
        if (choices[k].channels)
            set_layouts(out, &convolution, &epilogue, subgraph);
        return true;
    }
    return false;
}

/* ---- compiling ---- */

static void destroy(collage_kernel *kernel)
{
    struct convolution_plan *plan = kernel->state;
    if (!plan)
        return;
    epilogue_free(&plan->epilogue);
    weights_release(&kernel->backend->weights, plan->packed);
    free(plan);
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Cuts a job so that each thread has something to do, and its operands stay in its cache. */
static void set_blocks(struct convolution_plan *plan)
{
    const struct convolution *c = &plan->convolution;
    bool split = plan->choice->sharing == BLAS_SPLIT;
    int64_t depth = c->pointwise ? c->channels_in + c->channels_out : c->depth;
    int64_t most = (split ? PART_FLOATS : WORK_FLOATS) / depth;
    most = most < LEAST ? LEAST : most;
    plan->blocks = c->pointwise && !split ? 1 : divide_up(plan->pixels, most);
    plan->chunks = 1;
    if (split) {
        int64_t wanted = divide_up(plan->threads, plan->jobs);
        int64_t whole = divide_up(plan->blocks, wanted) * wanted;
        if (plan->pixels / whole >= LEAST)
            plan->blocks = whole;
        else if (plan->blocks < wanted)
            plan->chunks = divide_up(wanted, plan->blocks);
    }
    plan->block = divide_up(divide_up(plan->pixels, plan->blocks), ROUND) * ROUND;
    plan->block = plan->block > plan->pixels ? plan->pixels : plan->block;
    plan->blocks = divide_up(plan->pixels, plan->block);
    plan->chunk = divide_up(divide_up(c->channels_out, plan->chunks), ROUND) * ROUND;
    plan->chunk = plan->chunk > c->channels_out ? c->channels_out : plan->chunk;
    plan->chunks = divide_up(c->channels_out, plan->chunk);
    plan->work = c->pointwise ? 0 : divide_up(plan->block * c->depth, ROUND) * ROUND;
}

/* From [channels out][channels in][window] to [channels out][window][channels in]. */
static void pack(float *to, const float *from, const void *context)
{
    const struct convolution *c = context;
    int64_t window = c->depth / c->channels_in;
    for (int64_t o = 0; o < c->channels_out * c->groups; o++, from += c->depth, to += c->depth) {
        for (int64_t i = 0; i < c->channels_in; i++) {
            for (int64_t k = 0; k < window; k++)
                to[k * c->channels_in + i] = from[i * window + k];
        }
    }
}

static collage_status set_weights(struct convolution_plan *plan, collage_kernel *kernel,
                                  const collage_compile_request *request, collage_message *message)
{
    const struct convolution *c = &plan->convolution;
    const collage_value *value = request->subgraph->values[c->weights];
    plan->weights = operand_of(request->subgraph, c->weights);
    if (!plan->choice->channels || c->depth == c->channels_in)
        return COLLAGE_OK;
    char form[64];
    snprintf(form, sizeof form, "blas channels last %lldx%lld", (long long)c->channels_in,
             (long long)c->depth);
    struct weight_request weights = { value, form, value->bytes / sizeof(float),
                                      pack,  c,    !(request->flags & COLLAGE_COMPILE_UNSHARED) };
    kernel->weight_bytes = value->bytes;
    return weights_acquire(&kernel->backend->weights, &weights, &plan->packed,
                           &plan->weights.constant, message);
}

static const struct blas_choice *find_choice(const struct convolution *convolution,
                                             const collage_subgraph *subgraph, const char *name)
{
    for (size_t k = 0; k < CHOICES; k++) {
        if (strcmp(choices[k].name, name) == 0 && fits(&choices[k], convolution, subgraph))
            return &choices[k];
    }
    return NULL;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *name, collage_message *message)
{
    const collage_subgraph *subgraph = request->subgraph;
    struct convolution_plan *plan = calloc(1, sizeof *plan);
    kernel->state = plan;
    if (!plan)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    struct convolution *c = &plan->convolution;
    if (!convolution_read(c, &plan->epilogue, subgraph, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    plan->choice = find_choice(c, subgraph, name);
    if (!plan->choice)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "there is no variant '%s'", name);
    plan->threads = plan->choice->single ? 1 : kernel->threads;
    plan->finish = ISA_PICK(kernel->isa, finish_kernels);
    plan->input = operand_of(subgraph, c->input).input;
    plan->jobs = c->batch * c->groups;
    plan->pixels = c->pixels;
    if (plan->choice->channels && c->pointwise && c->groups == 1) {
        plan->jobs = 1; /* images follow each other as pixels do */
        plan->pixels *= c->batch;
    }
    set_blocks(plan);
    bool split = plan->choice->sharing == BLAS_SPLIT;
    kernel->scratch_bytes = (uint64_t)(plan->work * (split ? plan->threads : 1)) * sizeof(float);
    snprintf(kernel->implementation, sizeof kernel->implementation, "%s %s %lldx%lld %.20s",
             plan->choice->name, c->pointwise ? "pointwise" : "im2col", (long long)plan->chunk,
             (long long)plan->block, blas_of(kernel)->library.kernels);
    collage_status status = set_weights(plan, kernel, request, message);
    return status == COLLAGE_OK
               ? epilogue_make(&plan->epilogue, subgraph, 1, c->made, 1, c->bias, message)
               : status;
}

/* ---- running ---- */

/* Pixels [begin, end) and channels [channel, channel + count) of a job. */
struct part {
    int64_t job, begin, end, channel, count;
};

static const float *input_of(const struct convolution_call *call, int64_t job)
{
    const struct convolution *c = &call->plan->convolution;
    const float *input = call->inputs[call->plan->input];
    int64_t size = c->in[0] * c->in[1] * c->in[2] * c->channels_in;
    if (!call->plan->choice->channels)
        return input + job * size;
    return input + job / c->groups * size * c->groups + job % c->groups * c->channels_in;
}

static void unfold(const struct convolution_call *call, const struct part *part, float *work,
                   int64_t first, int64_t last)
{
    const struct unfolding unfolding = { &call->plan->convolution,
                                         input_of(call, part->job),
                                         work,
                                         part->begin,
                                         part->end,
                                         first,
                                         last };
    if (call->plan->choice->channels)
        unfold_pixels(&unfolding);
    else
        unfold_rows(&unfolding);
}

/* Rows of the matrix that `unfold` makes. */
static int64_t unfolded_rows(const struct convolution_call *call, const struct part *part)
{
    return call->plan->choice->channels ? part->end - part->begin : call->plan->convolution.depth;
}

/* Where the part's results begin, in floats. */
static int64_t output_offset(const struct convolution_plan *plan, const struct part *part)
{
    const struct convolution *c = &plan->convolution;
    if (!plan->choice->channels)
        return (part->job * c->channels_out + part->channel) * c->pixels + part->begin;
    int64_t all = c->channels_out * c->groups;
    return (part->job / c->groups * c->pixels + part->begin) * all +
           part->job % c->groups * c->channels_out + part->channel;
}

static void multiply(const struct convolution_call *call, const struct part *part,
                     const float *work)
{
    const struct convolution_plan *plan = call->plan;
    const struct convolution *c = &plan->convolution;
    int64_t pixels = part->end - part->begin, all = c->channels_in * c->groups;
    int64_t group = part->job % c->groups;
    const float *weights = operand_address(&plan->weights, call->inputs) +
                           (group * c->channels_out + part->channel) * c->depth;
    float *to = call->to + output_offset(plan, part);
    if (plan->choice->channels) {
        const float *x = c->pointwise ? input_of(call, part->job) + part->begin * all : work;
        call->blas->library.sgemm(BLAS_ROW_MAJOR, BLAS_PLAIN, BLAS_TRANSPOSED, (int)pixels,
                                  (int)part->count, (int)c->depth, 1.0f, x,
                                  (int)(c->pointwise ? all : c->depth), weights, (int)c->depth,
                                  0.0f, to, (int)(c->channels_out * c->groups));
    } else {
        const float *x = c->pointwise ? input_of(call, part->job) + part->begin : work;
        call->blas->library.sgemm(BLAS_ROW_MAJOR, BLAS_PLAIN, BLAS_PLAIN, (int)part->count,
                                  (int)pixels, (int)c->depth, 1.0f, weights, (int)c->depth, x,
                                  (int)(c->pointwise ? c->pixels : pixels), 0.0f, to,
                                  (int)c->pixels);
    }
}

static void finish(const struct convolution_call *call, const struct part *part)
{
    const struct convolution_plan *plan = call->plan;
    const struct convolution *c = &plan->convolution;
    int64_t offset = output_offset(plan, part), pixels = part->end - part->begin;
    int64_t channel = part->job % c->groups * c->channels_out + part->channel;
    if (plan->epilogue.count == 0)
        return;
    if (plan->choice->channels) {
        struct finish_part rows = { call->to + offset,           pixels, part->count,
                                    c->channels_out * c->groups, offset, channel };
        plan->finish->columns(&plan->epilogue, &rows, call->inputs);
    } else {
        struct finish_part rows = { call->to + offset, part->count, pixels,
                                    c->pixels,         offset,      channel };
        plan->finish->rows(&plan->epilogue, &rows, call->inputs);
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run_parts(void *context, int32_t thread, int32_t threads)
{
    const struct convolution_call *call = context;
    const struct convolution_plan *plan = call->plan;
    const struct convolution *c = &plan->convolution;
    float *work = call->work + thread * plan->work;
    int64_t begin, end, unfolded = -1, each = plan->blocks * plan->chunks;
    pool_share(plan->jobs * each, thread, threads, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t block = unit / plan->chunks;
        struct part part = { .job = unit / each,
                             .begin = block % plan->blocks * plan->block,
                             .channel = unit % plan->chunks * plan->chunk };
        part.end = least(part.begin + plan->block, plan->pixels);
        part.count = least(plan->chunk, c->channels_out - part.channel);
        if (!c->pointwise && block != unfolded)
            unfold(call, &part, work, 0, unfolded_rows(call, &part));
        unfolded = block;
        multiply(call, &part, work);
        finish(call, &part);
    }
}

static struct part block_at_hand(const struct convolution_call *call)
{
    return (struct part){ call->job, call->begin, call->end, 0,
                          call->plan->convolution.channels_out };
}

static void unfold_share(void *context, int32_t thread, int32_t threads)
{
    const struct convolution_call *call = context;
    const struct part part = block_at_hand(call);
    int64_t first, last;
    pool_share(unfolded_rows(call, &part), thread, threads, &first, &last);
    unfold(call, &part, call->work, first, last);
}

static void finish_share(void *context, int32_t thread, int32_t threads)
{
    const struct convolution_call *call = context;
    struct part part = block_at_hand(call);
    int64_t first, last;
    if (call->plan->choice->channels) {
        pool_share(part.end - part.begin, thread, threads, &first, &last);
        part.end = part.begin + last;
        part.begin += first;
    } else {
        pool_share(part.count, thread, threads, &first, &last);
        part.channel = first;
        part.count = last - first;
    }
    finish(call, &part);
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    const struct convolution_plan *plan = kernel->state;
    const struct pool *pool = &kernel->backend->pool;
    struct convolution_call call = { blas_of(kernel), plan, inputs, outputs[0], scratch, 0, 0, 0 };
    if (plan->choice->sharing == BLAS_SPLIT) {
        flavour.use_threads(&call.blas->library, 1);
        pool_run(pool, plan->threads, run_parts, &call);
        return;
    }
    flavour.use_threads(&call.blas->library, plan->threads);
    for (call.job = 0; call.job < plan->jobs; call.job++) {
        for (call.begin = 0; call.begin < plan->pixels; call.begin += plan->block) {
            call.end = least(call.begin + plan->block, plan->pixels);
            const struct part part = block_at_hand(&call);
            if (!plan->convolution.pointwise)
                pool_run(pool, plan->threads, unfold_share, &call);
            multiply(&call, &part, call.work);
            if (plan->epilogue.count > 0)
                pool_run(pool, plan->threads, finish_share, &call);
        }
    }
}

const struct family convolution_family = {
    .name = "convolution",
    .takes = takes,
    .variant = variant,
    .compile = compile,
    .run = run,
    .destroy = destroy,
};
