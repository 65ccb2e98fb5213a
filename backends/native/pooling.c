/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling.c: the family of MaxPool, AveragePool, GlobalMaxPool and GlobalAveragePool of two
 * dimensions, row-major, with channels last and in blocks of channels.
 */
#include "simd/pooling.h"

#include <stdlib.h>
#include <string.h>

#include "boxes.h"

static const char *const names[BOXES_LAYOUTS] = { "pool", "pool_nhwc", "pool_blocked" };

struct state {
    const struct pooling_kernels *kernels;
    struct pooling pooling;
    uint32_t input;
};

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

static const struct row {
    const char *op_type;
    bool average, global;
} rows[] = { { "MaxPool", false, false },
             { "AveragePool", true, false },
             { "GlobalMaxPool", false, true },
             { "GlobalAveragePool", true, true } };

/* `count` integers from `least` up to 2^20, or the fallback. */
static bool read_ints(const collage_node *node, const char *name, uint32_t count, int64_t fallback,
                      int64_t least, int64_t *out)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_INTS);
    for (uint32_t k = 0; k < count; k++) {
        out[k] = a && k < a->count ? a->ints[k] : fallback;
        if (out[k] < least || out[k] > 1 << 20)
            return false;
    }
    return !a || a->count == count;
}

/* One direction of the windows. */
struct side {
    int64_t in, out, kernel, stride, dilation, before, after;
};

/* What is padded before and after; an output that is larger than both allow is refused. */
static bool read_pads(const collage_node *node, struct side sides[2])
{
    const char *mode = collage_node_string(node, "auto_pad", "NOTSET");
    bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    bool ceil = collage_node_int(node, "ceil_mode", 0) != 0;
    int64_t given[4];
    if (!read_ints(node, "pads", 4, 0, 0, given))
        return false;
    for (int d = 0; d < 2; d++) {
        struct side *s = &sides[d];
        int64_t extent = (s->kernel - 1) * s->dilation + 1;
        int64_t total = (s->out - 1) * s->stride + extent - s->in;
        total = total < 0 ? 0 : total;
        if (upper || lower) {
            s->before = upper ? total / 2 : (total + 1) / 2;
            s->after = total - s->before;
        } else if (strcmp(mode, "NOTSET") == 0) {
            s->before = given[d];
            s->after = given[d + 2];
        }
        int64_t padded = s->in + s->before + s->after;
        int64_t most = (padded - extent + (ceil ? s->stride - 1 : 0)) / s->stride + 1;
        if (padded < extent || s->out > most || s->before >= extent)
            return false;
    }
    return true;
}

static bool read_sides(const collage_subgraph *subgraph, const struct row *row,
                       struct side sides[2], collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    const collage_value *x = subgraph->values[node->inputs[0]];
    const collage_value *y = subgraph->values[node->outputs[0]];
    int64_t kernel[2], strides[2], dilations[2];
    for (int d = 0; d < 2; d++)
        kernel[d] = x->dims[2 + d];
    if (!row->global && (!collage_node_attribute(node, "kernel_shape", COLLAGE_ATTRIBUTE_INTS) ||
                         !read_ints(node, "kernel_shape", 2, 1, 1, kernel)))
        return refuse(why, "the kernel is not known");
    if (!read_ints(node, "strides", 2, 1, 1, strides) ||
        !read_ints(node, "dilations", 2, 1, 1, dilations))
        return refuse(why, "these strides or dilations are not known");
    for (int d = 0; d < 2; d++)
        sides[d] = (struct side){ .in = x->dims[2 + d],
                                  .out = y->dims[2 + d],
                                  .kernel = kernel[d],
                                  .stride = strides[d],
                                  .dilation = dilations[d] };
    if (!row->global && !read_pads(node, sides))
        return refuse(why, "the output's size does not follow from the window");
    for (int d = 0; d < 2; d++) {
        if (sides[d].kernel > POOLING_SIDE_MAX && sides[d].kernel != sides[d].in)
            return refuse(why, "the window is too large");
    }
    return true;
}

/* The node's row; NULL: it is none of these. */
static const struct row *read(const collage_subgraph *subgraph, struct side sides[2],
                              collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    const struct row *row = NULL;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0] && subgraph->node_count == 1; k++) {
        if (strcmp(node->op_type, rows[k].op_type) == 0)
            row = &rows[k];
    }
    if (!row || node->input_count != 1 || node->inputs[0] == COLLAGE_NO_VALUE) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is not among these kernels", node->op_type);
        return NULL;
    }
    if (node->output_count != 1 || subgraph->output_count != 1 || subgraph->input_count != 1) {
        refuse(why, "the places of the largest elements are wanted, or nothing is computed");
        return NULL;
    }
    if (!all_float32(subgraph, NULL, why))
        return NULL;
    if (subgraph->values[node->inputs[0]]->rank != 4) {
        refuse(why, "only windows of 2 dimensions");
        return NULL;
    }
    return read_sides(subgraph, row, sides, why) ? row : NULL;
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    (void)target;
    struct side sides[2];
    return read(subgraph, sides, why) != NULL;
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    struct side sides[2];
    if (index >= BOXES_LAYOUTS || !read(subgraph, sides, NULL))
        return false;
    int64_t block = isa_lanes(isa_of(target));
    snprintf(out->name, sizeof out->name, "%s", names[index]);
    boxes_tag((enum boxes_layout)index, 4, block, &out->inputs[0]);
    boxes_tag((enum boxes_layout)index, 4, block, &out->outputs[0]);
    return true;
}

/* How many elements of each window count: those inside, or those in the padding as well. */
static float *count_elements(const struct side *side, bool padding)
{
    float *counts = calloc((size_t)side->out, sizeof *counts);
    for (int64_t x = 0; x < side->out && counts; x++) {
        int64_t low = padding ? -side->before : 0;
        int64_t high = padding ? side->in + side->after : side->in;
        for (int64_t k = 0; k < side->kernel; k++) {
            int64_t at = x * side->stride - side->before + k * side->dilation;
            counts[x] += at >= low && at < high ? 1.0f : 0.0f;
        }
    }
    return counts;
}

static void set_layout(struct pooling *p, enum boxes_layout layout, int64_t lanes)
{
    if (layout == BOXES_PLAIN) {
        /* the last vector of a row reads beyond the last window */
        int64_t reach = (p->width_out + lanes) * p->stride_width +
                        (p->kernel_width - 1) * p->dilation_width + 2 * lanes;
        int64_t row = p->pad_left + p->width_in;
        p->padded = ((reach > row ? reach : row) + 15) / 16 * 16;
        p->units = p->batch * p->channels * p->height_out;
        return;
    }
    p->blocks = (p->channels + lanes - 1) / lanes;
    p->planes = layout == BOXES_BLOCKED;
    p->step = p->planes ? lanes : p->channels;
    p->units = p->batch * (p->planes ? p->blocks : 1) * p->height_out;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant_name, collage_message *message)
{
    const collage_subgraph *subgraph = request->subgraph;
    const collage_node *node = subgraph->nodes[0];
    struct state *state = calloc(1, sizeof *state);
    struct side sides[2];
    if (!state)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = state;
    const struct row *row = read(subgraph, sides, message);
    if (!row)
        return COLLAGE_ERROR_UNSUPPORTED;
    struct pooling *p = &state->pooling;
    const int64_t *dims = subgraph->values[node->inputs[0]]->dims;
    bool padding = collage_node_int(node, "count_include_pad", 0) != 0;
    *p = (struct pooling){
        .average = row->average,
        .batch = dims[0],
        .channels = dims[1],
        .height_in = sides[0].in,
        .width_in = sides[1].in,
        .height_out = sides[0].out,
        .width_out = sides[1].out,
        .kernel_height = sides[0].kernel,
        .kernel_width = sides[1].kernel,
        .stride_height = sides[0].stride,
        .stride_width = sides[1].stride,
        .dilation_height = sides[0].dilation,
        .dilation_width = sides[1].dilation,
        .pad_top = sides[0].before,
        .pad_left = sides[1].before,
        .rows = row->average ? count_elements(&sides[0], padding) : NULL,
        .columns = row->average ? count_elements(&sides[1], padding) : NULL,
    };
    if (row->average && (!p->rows || !p->columns))
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    enum boxes_layout layout = BOXES_PLAIN;
    while (layout + 1 < BOXES_LAYOUTS && strcmp(names[layout], variant_name) != 0)
        layout++;
    set_layout(p, layout, isa_lanes(kernel->isa));
    state->kernels = ISA_PICK(kernel->isa, pooling_kernels);
    kernel->scratch_bytes = (uint64_t)(p->padded * kernel->threads) * sizeof(float);
    snprintf(kernel->implementation, sizeof kernel->implementation, "%s %lldx%lld s%lld",
             row->average ? "average" : "largest", (long long)p->kernel_height,
             (long long)p->kernel_width, (long long)p->stride_width);
    return COLLAGE_OK;
}

struct job {
    const struct state *state;
    const float *from;
    float *to, *scratch;
};

static void body(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    const struct pooling *p = &job->state->pooling;
    int64_t begin, end;
    pool_share(p->units, thread, threads, &begin, &end);
    if (begin < end)
        job->state->kernels->rows(p, job->from, job->to, job->scratch + thread * p->padded, begin,
                                  end);
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    struct job job = { kernel->state, inputs[0], outputs[0], scratch };
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

static void destroy(collage_kernel *kernel)
{
    struct state *state = kernel->state;
    if (!state)
        return;
    free(state->pooling.rows);
    free(state->pooling.columns);
    free(state);
}

extern const struct family pooling_family;
const struct family pooling_family = { .name = "pool",
                                       .takes = takes,
                                       .variant = variant,
                                       .compile = compile,
                                       .run = run,
                                       .destroy = destroy };
