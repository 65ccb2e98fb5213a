/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

#include <stdlib.h>
#include <string.h>

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

/* `count` integers from 0 up to 2^20, or the fallback. False: something else. */
static bool read_ints(const collage_node *node, const char *name, uint32_t count, int64_t fallback,
                      int64_t *out)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_INTS);
    for (uint32_t k = 0; k < count; k++) {
        out[k] = a && k < a->count ? a->ints[k] : fallback;
        if (out[k] < 0 || out[k] > 1 << 20)
            return false;
    }
    return !a || a->count == count;
}

/* The pads at the beginnings; the output's size decides what the ends are. */
static bool read_pads(const collage_node *node, const int64_t in[2], const int64_t out[2],
                      const int64_t kernel[2], const int64_t strides[2], int64_t pads[2])
{
    const char *mode = collage_node_string(node, "auto_pad", "NOTSET");
    bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    int64_t given[4];
    if (!read_ints(node, "pads", 4, 0, given))
        return false;
    for (int d = 0; d < 2; d++) {
        int64_t total = (out[d] - 1) * strides[d] + kernel[d] - in[d];
        if (total < 0)
            total = 0;
        int64_t padded = in[d];
        if (upper || lower) {
            pads[d] = upper ? total / 2 : (total + 1) / 2;
            padded += total;
        } else if (strcmp(mode, "VALID") == 0) {
            pads[d] = 0;
        } else {
            pads[d] = given[d];
            padded += given[d] + given[d + 2];
        }
        if (padded < kernel[d] || out[d] != (padded - kernel[d]) / strides[d] + 1)
            return false;
    }
    return true;
}

/* Fills the values, if the first node is such an operator of four-dimensional float32 tensors, with
 * constant weights. */
static bool read_values(struct window *window, const collage_subgraph *subgraph, const char *op,
                        collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    if (strcmp(node->op_type, op) != 0 || node->input_count < 2 || node->output_count != 1 ||
        node->inputs[0] == COLLAGE_NO_VALUE || node->inputs[1] == COLLAGE_NO_VALUE) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is not among these kernels", node->op_type);
        return false;
    }
    if (!all_float32(subgraph, NULL, why))
        return false;
    if (subgraph->input_count > 32)
        return refuse(why, "too many inputs");
    window->input = node->inputs[0];
    window->weights = node->inputs[1];
    if (node->input_count > 2)
        window->bias = node->inputs[2];
    window->made = node->outputs[0];
    const collage_value *x = subgraph->values[window->input];
    const collage_value *w = subgraph->values[window->weights];
    if (x->rank != 4 || w->rank != 4 || subgraph->values[window->made]->rank != 4)
        return refuse(why, "only convolutions with 2 dimensions");
    if (x->data || !value_is_outside(subgraph, window->input) || !w->data)
        return refuse(why, "the weights are not constant");
    return true;
}

static bool read_geometry(struct window *window, const collage_subgraph *subgraph,
                          const collage_node *node, collage_message *why)
{
    const collage_value *x = subgraph->values[window->input];
    const collage_value *w = subgraph->values[window->weights];
    const collage_value *y = subgraph->values[window->made];
    int64_t kernel[2] = { w->dims[2], w->dims[3] }, in[2] = { x->dims[2], x->dims[3] };
    int64_t out[2] = { y->dims[2], y->dims[3] }, strides[2], dilations[2], pads[2];
    if (!read_ints(node, "strides", 2, 1, strides) ||
        !read_ints(node, "dilations", 2, 1, dilations))
        return refuse(why, "these strides or dilations are not known");
    for (int d = 0; d < 2; d++) {
        if (kernel[d] > WINDOW_SIDE_MAX || strides[d] < 1 || strides[d] > WINDOW_SIDE_MAX)
            return refuse(why, "the kernel or its stride is too large");
        if (dilations[d] != 1 && kernel[d] > 1)
            return refuse(why, "it is dilated");
    }
    if (!read_pads(node, in, out, kernel, strides, pads))
        return refuse(why, "these pads are not known");
    window->batch = x->dims[0];
    window->channels_in = x->dims[1];
    window->channels_out = w->dims[0];
    window->group = collage_node_int(node, "group", 1);
    if (window->group < 1 || window->group > window->channels_in ||
        window->channels_in % window->group || window->channels_out % window->group ||
        w->dims[1] != window->channels_in / window->group || y->dims[0] != window->batch ||
        y->dims[1] != window->channels_out)
        return refuse(why, "the channels do not fit");
    window->height_in = in[0];
    window->width_in = in[1];
    window->height_out = out[0];
    window->width_out = out[1];
    window->kernel_height = kernel[0];
    window->kernel_width = kernel[1];
    window->stride_height = strides[0];
    window->stride_width = strides[1];
    window->pad_top = pads[0];
    window->pad_left = pads[1];
    return true;
}

bool window_read(struct window *window, struct epilogue *epilogue, const collage_subgraph *subgraph,
                 collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    *window = (struct window){ .bias = COLLAGE_NO_VALUE };
    return read_values(window, subgraph, "Conv", why) &&
           read_geometry(window, subgraph, node, why) &&
           epilogue_takes(epilogue, subgraph, 1, window->made, 1, window->bias, why);
}

/* output = (input - 1) * stride + kernel - both pads + output_padding; what lies beyond the last
 * window is zero, and the pads at the ends need not be known. */
static bool read_transposed_geometry(struct window *window, const collage_subgraph *subgraph,
                                     const collage_node *node, collage_message *why)
{
    const collage_value *x = subgraph->values[window->input];
    const collage_value *w = subgraph->values[window->weights];
    const collage_value *y = subgraph->values[window->made];
    int64_t strides[2], dilations[2], pads[4];
    if (strcmp(collage_node_string(node, "auto_pad", "NOTSET"), "NOTSET") != 0 ||
        collage_node_attribute(node, "output_shape", COLLAGE_ATTRIBUTE_INTS))
        return refuse(why, "auto_pad and output_shape are not known here");
    if (!read_ints(node, "strides", 2, 1, strides) ||
        !read_ints(node, "dilations", 2, 1, dilations) || !read_ints(node, "pads", 4, 0, pads))
        return refuse(why, "these strides, dilations or pads are not known");
    for (int d = 0; d < 2; d++) {
        if (w->dims[2 + d] > WINDOW_SIDE_MAX || strides[d] < 1 || strides[d] > WINDOW_SIDE_MAX)
            return refuse(why, "the kernel or its stride is too large");
        if (dilations[d] != 1 && w->dims[2 + d] > 1)
            return refuse(why, "it is dilated");
        int64_t reach = (x->dims[2 + d] - 1) * strides[d] + w->dims[2 + d];
        int64_t behind = reach - pads[d] - pads[2 + d]; /* without output_padding */
        if (behind < 1 || y->dims[2 + d] < behind || y->dims[2 + d] >= behind + strides[d])
            return refuse(why, "the output's size does not follow from window and pads");
    }
    if (collage_node_int(node, "group", 1) != 1 || w->dims[0] != x->dims[1] ||
        w->dims[1] != y->dims[1] || y->dims[0] != x->dims[0])
        return refuse(why, "it has groups, or the channels do not fit");
    window->batch = x->dims[0];
    window->group = 1;
    window->channels_in = x->dims[1];
    window->channels_out = y->dims[1];
    window->height_in = x->dims[2];
    window->width_in = x->dims[3];
    window->height_out = y->dims[2];
    window->width_out = y->dims[3];
    window->kernel_height = w->dims[2];
    window->kernel_width = w->dims[3];
    window->stride_height = strides[0];
    window->stride_width = strides[1];
    window->pad_top = pads[0];
    window->pad_left = pads[1];
    return true;
}

bool window_read_transposed(struct window *window, struct epilogue *epilogue,
                            const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    *window = (struct window){ .bias = COLLAGE_NO_VALUE };
    return read_values(window, subgraph, "ConvTranspose", why) &&
           read_transposed_geometry(window, subgraph, node, why) &&
           epilogue_takes(epilogue, subgraph, 1, window->made, 1, window->bias, why);
}

/* Blocked: the output, the epilogue's tensors and, if `input`, the Conv's input. */
static void set_layouts(collage_variant *out, const struct window *window,
                        const struct epilogue *epilogue, const collage_subgraph *subgraph,
                        const collage_target *target, bool input)
{
    const char *tag = isa_lanes(isa_of(target)) == 16 ? "aBcd16b" : "aBcd8b";
    uint32_t tensors = epilogue_tensor_inputs(epilogue);
    if (input)
        tensors |= 1u << operand_of(subgraph, window->input).input;
    for (uint32_t k = 0; k < subgraph->input_count; k++) {
        if (tensors & 1u << k)
            snprintf(out->inputs[k].tag, sizeof out->inputs[k].tag, "%s", tag);
    }
    snprintf(out->outputs[0].tag, sizeof out->outputs[0].tag, "%s", tag);
}

bool window_takes(window_reader *read, const collage_subgraph *subgraph,
                  const collage_target *target, collage_message *why)
{
    struct window window;
    struct epilogue epilogue;
    return read(&window, &epilogue, subgraph, target, why);
}

bool window_variant(window_reader *read, const char *name, bool input,
                    const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    struct window window;
    struct epilogue epilogue;
    if (index > 0 || !read(&window, &epilogue, subgraph, target, NULL))
        return false;
    snprintf(out->name, sizeof out->name, "%s", name);
    set_layouts(out, &window, &epilogue, subgraph, target, input);
    return true;
}

void window_describe(collage_kernel *kernel, const char *name)
{
    static const char *const isas[] = { "generic", "avx2", "avx512" };
    const struct window_plan *plan = kernel->state;
    const struct window *window = &plan->window;
    snprintf(kernel->implementation, sizeof kernel->implementation, "%s %lldx%lld s%lld %s", name,
             (long long)window->kernel_height, (long long)window->kernel_width,
             (long long)window->stride_width, isas[kernel->isa]);
}

/* A bias first, and bounds next, are applied to sums in registers; the rest to rows in cache. */
static void split_epilogue(struct window_plan *plan)
{
    const struct epilogue *epilogue = &plan->epilogue;
    uint32_t k = 0;
    if (k < epilogue->count && epilogue->steps[k].op == EPILOGUE_ADD_CHANNEL)
        plan->bias = epilogue->steps[k++].channel;
    if (k < epilogue->count &&
        (epilogue->steps[k].op == EPILOGUE_CLIP || epilogue->steps[k].op == EPILOGUE_RELU)) {
        bool relu = epilogue->steps[k].op == EPILOGUE_RELU;
        plan->clamp = true;
        plan->low = relu ? 0.0f : epilogue->steps[k].low;
        plan->high = relu ? __builtin_inff() : epilogue->steps[k].high;
        k++;
    }
    while (k < epilogue->count)
        plan->rest.steps[plan->rest.count++] = epilogue->steps[k++];
}

collage_status window_plan_read(struct window_plan *plan, enum isa isa,
                                const collage_subgraph *subgraph, collage_message *message)
{
    struct window *window = &plan->window;
    bool transposed = strcmp(subgraph->nodes[0]->op_type, "ConvTranspose") == 0;
    if (!(transposed ? window_read_transposed : window_read)(window, &plan->epilogue, subgraph,
                                                             message))
        return COLLAGE_ERROR_UNSUPPORTED;
    collage_status status =
        epilogue_make(&plan->epilogue, subgraph, 1, window->made, 1, window->bias, message);
    if (status != COLLAGE_OK)
        return status;
    split_epilogue(plan);
    plan->lanes = isa_lanes(isa);
    plan->blocks_out = (window->channels_out + plan->lanes - 1) / plan->lanes;
    plan->unit_blocks = 1;
    plan->input = operand_of(subgraph, window->input).input;
    return COLLAGE_OK;
}

collage_status window_compile(collage_kernel *kernel, const collage_compile_request *request,
                              collage_message *message)
{
    struct window_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = plan;
    return window_plan_read(plan, kernel->isa, request->subgraph, message);
}

collage_status window_plan_pack(struct window_plan *plan, collage_kernel *kernel,
                                const collage_compile_request *request, weights_pack *pack,
                                const char *form, collage_message *message)
{
    const struct window *window = &plan->window;
    int64_t groups_of_blocks = (plan->blocks_out + plan->unit_blocks - 1) / plan->unit_blocks;
    plan->unit_weights = plan->row_weights * window->kernel_height;
    char name[96];
    snprintf(name, sizeof name, "%s %lld %lld %lldx%lldx%lldx%lld %lld", form,
             (long long)plan->lanes, (long long)plan->unit_blocks, (long long)window->channels_out,
             (long long)(window->channels_in / window->group), (long long)window->kernel_height,
             (long long)window->kernel_width, (long long)window->group);
    struct weight_request weights = {
        .value = request->subgraph->values[window->weights],
        .form = name,
        .count = (uint64_t)(groups_of_blocks * plan->unit_weights),
        .pack = pack,
        .context = plan,
        .shared = !(request->flags & COLLAGE_COMPILE_UNSHARED),
    };
    kernel->weight_bytes += weights.count * sizeof(float);
    return weights_acquire(&kernel->backend->weights, &weights, &plan->packed, &plan->weights,
                           message);
}

collage_status window_finish(collage_kernel *kernel, const collage_compile_request *request,
                             weights_pack *pack, const char *form, collage_message *message)
{
    struct window_plan *plan = kernel->state;
    const struct window *window = &plan->window;
    int64_t groups_of_blocks = (plan->blocks_out + plan->unit_blocks - 1) / plan->unit_blocks;
    if (plan->units == 0)
        plan->units = window->batch * groups_of_blocks * window->height_out;
    plan->scratch_floats = (plan->scratch_floats + 15) / 16 * 16;
    kernel->scratch_bytes = (uint64_t)(plan->scratch_floats * kernel->threads) * sizeof(float);
    return window_plan_pack(plan, kernel, request, pack, form, message);
}

struct job {
    const struct window_plan *plan;
    const void *const *inputs;
    float *to, *scratch;
};

static void body(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    int64_t begin, end;
    pool_share(job->plan->units, thread, threads, &begin, &end);
    if (begin < end)
        job->plan->rows(job->plan, job->inputs, job->to,
                        job->scratch + thread * job->plan->scratch_floats, begin, end);
}

void window_run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    struct job job = { kernel->state, inputs, outputs[0], scratch };
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

void window_plan_free(struct window_plan *plan, collage_kernel *kernel)
{
    weights_release(&kernel->backend->weights, plan->packed);
    epilogue_free(&plan->epilogue);
}

void window_destroy(collage_kernel *kernel)
{
    struct window_plan *plan = kernel->state;
    if (!plan)
        return;
    window_plan_free(plan, kernel);
    free(plan);
}

int64_t window_choose_block(int64_t width, const int32_t *choices)
{
    int64_t best = 0, least = 0;
    for (; *choices; choices++) {
        int64_t made = (width + *choices - 1) / *choices * *choices;
        if (best == 0 || made < least) {
            best = *choices;
            least = made;
        }
    }
    return best;
}
