/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.c: the family of 3x3 convolutions, grouped ones too, by Winograd's minimal filtering,
 * F(2x2) and F(4x4), and of 3x3x3 ones that do so over the two inner axes.
 */
#include "winograd.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNELS_MIN = 16, MAP_MIN = 6, INPUTS_MAX = 32 };

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

/* Are all of an optional list of integers `wanted`? */
static bool all_are(const collage_node *node, const char *name, int64_t wanted)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_INTS);
    for (uint32_t k = 0; a && k < a->count; k++) {
        if (a->ints[k] != wanted)
            return false;
    }
    return true;
}

/* Pads at the beginnings of the spatial axes; the results' shape tells those at the ends. */
static bool read_pads(const collage_node *node, int32_t axes, int64_t pads[3])
{
    const char *automatic = collage_node_string(node, "auto_pad", "NOTSET");
    const collage_attribute *a = collage_node_attribute(node, "pads", COLLAGE_ATTRIBUTE_INTS);
    bool same = strncmp(automatic, "SAME", 4) == 0; /* stride 1: as much on either side */
    bool listed = strcmp(automatic, "NOTSET") == 0 && a;
    if (listed && a->count != 2 * (uint32_t)axes)
        return false;
    for (int32_t d = 0; d < axes; d++) {
        pads[d] = listed ? a->ints[d] : same ? 1 : 0;
        if (pads[d] < 0 || pads[d] > 2)
            return false;
    }
    return true;
}

static bool read_shape(struct winograd_shape *shape, const collage_value *x, const collage_value *w,
                       const collage_value *y, int64_t groups, const int64_t pads[3])
{
    const int32_t rank = x->rank;
    bool deep = rank == 5;
    *shape = (struct winograd_shape){
        .batch = x->dims[0],
        .groups = groups,
        .in_channels = w->dims[1],
        .out_channels = w->dims[0] / groups,
        .taps = deep ? 3 : 1,
        .depth = deep ? x->dims[2] : 1,
        .out_depth = deep ? y->dims[2] : 1,
        .height = x->dims[rank - 2],
        .width = x->dims[rank - 1],
        .out_height = y->dims[rank - 2],
        .out_width = y->dims[rank - 1],
        .pad_front = deep ? pads[0] : 0,
        .pad_top = pads[rank - 4],
        .pad_left = pads[rank - 3],
    };
    for (int32_t d = 2; d < rank; d++) {
        int64_t behind = y->dims[d] + 2 - x->dims[d] - pads[d - 2];
        if (w->dims[d] != 3 || behind < 0 || behind > 2)
            return false;
    }
    return x->dims[0] == y->dims[0] && w->dims[0] == y->dims[1] &&
           w->dims[1] * groups == x->dims[1] && w->dims[0] % groups == 0;
}

/* What a sub-graph is, if it is one that the family takes; fills what does not depend on m. */
static bool read(struct winograd_shape *shape, struct epilogue *epilogue,
                 const collage_subgraph *subgraph, const collage_target *target,
                 collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    int64_t pads[3];
    if (strcmp(node->op_type, "Conv") != 0 || node->input_count < 2 || node->output_count != 1 ||
        node->inputs[0] == COLLAGE_NO_VALUE || node->inputs[1] == COLLAGE_NO_VALUE)
        return refuse(why, "only convolutions");
    if (!all_float32(subgraph, NULL, why))
        return false;
    const collage_value *x = subgraph->values[node->inputs[0]];
    const collage_value *w = subgraph->values[node->inputs[1]];
    const collage_value *y = subgraph->values[node->outputs[0]];
    if (x->data || !w->data || subgraph->input_count > INPUTS_MAX)
        return refuse(why, "the weights are not constant, or the input is");
    if ((x->rank != 4 && x->rank != 5) || w->rank != x->rank || y->rank != x->rank)
        return refuse(why, "only two or three spatial axes");
    int64_t groups = collage_node_int(node, "group", 1);
    if (groups < 1 || groups > w->dims[0] || !all_are(node, "strides", 1) ||
        !all_are(node, "dilations", 1))
        return refuse(why, "only without strides and dilations");
    if (!read_pads(node, x->rank - 2, pads) || !read_shape(shape, x, w, y, groups, pads))
        return refuse(why, "only 3x3 and pads up to 2");
    if (shape->in_channels < CHANNELS_MIN || shape->out_channels < CHANNELS_MIN ||
        shape->out_height < MAP_MIN || shape->out_width < MAP_MIN)
        return refuse(why, "too few channels or too small a map to gain from Winograd");
    const int64_t lanes = isa_lanes(isa_of(target));
    if (groups > 1 && (shape->in_channels % lanes || shape->out_channels % lanes))
        return refuse(why, "the groups are not whole blocks of channels");
    uint32_t bias = node->input_count > 2 ? node->inputs[2] : COLLAGE_NO_VALUE;
    return epilogue_takes(epilogue, subgraph, 1, node->outputs[0], 1, bias, why);
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    struct winograd_shape shape;
    struct epilogue epilogue;
    return read(&shape, &epilogue, subgraph, target, why);
}

/* The index-th tile size; 0: there are no more. F(6x6) is not offered: with inputs of a few units
 * and results clipped to a small range its error passed the tolerance (3e-5; winograd_scale_clip).
 */
static int64_t tile_size(size_t index)
{
    return index == 0 ? 4 : index == 1 ? 2 : 0;
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    struct winograd_shape shape;
    struct epilogue epilogue;
    if (!read(&shape, &epilogue, subgraph, target, NULL) || !tile_size(index))
        return false;
    snprintf(out->name, sizeof out->name, "winograd_f%d", (int)tile_size(index));
    collage_layout layout;
    int lanes = (int)isa_lanes(isa_of(target));
    snprintf(layout.tag, sizeof layout.tag, shape.taps == 3 ? "aBcde%db" : "aBcd%db", lanes);
    uint32_t tensors = epilogue_tensor_inputs(&epilogue);
    for (uint32_t k = 0; k < subgraph->input_count; k++) {
        if (subgraph->inputs[k] == subgraph->nodes[0]->inputs[0] || (tensors >> k & 1))
            out->inputs[k] = layout;
    }
    out->outputs[0] = layout;
    return true;
}

/* The output may lie in a tensor that the epilogue reads, unless it is convolved as well. */
static void announce_in_place(collage_kernel *kernel, const struct winograd *winograd,
                              uint32_t input_count)
{
    uint32_t tensors = epilogue_tensor_inputs(&winograd->epilogue);
    for (uint32_t k = 0; k < input_count && kernel->inplace_count < 4; k++) {
        if ((tensors >> k & 1) && k != winograd->input) {
            uint32_t *pair = &kernel->inplace[(size_t)2 * kernel->inplace_count++];
            pair[0] = 0;
            pair[1] = k;
        }
    }
}

static collage_status acquire(struct winograd *winograd, const collage_kernel *kernel,
                              const collage_compile_request *request, collage_message *message)
{
    const collage_subgraph *subgraph = request->subgraph;
    const struct winograd_shape *shape = &winograd->shape;
    char form[64];
    struct winograd_pack pack = { shape, isa_lanes(kernel->isa) };
    snprintf(form, sizeof form, "winograd %d %d %dx%dx%dx%d", (int)shape->m, (int)pack.lanes,
             (int)shape->groups, (int)shape->out_channels, (int)shape->in_channels,
             (int)shape->taps);
    struct weight_request wanted = {
        .value = subgraph->values[subgraph->nodes[0]->inputs[1]],
        .form = form,
        .count = (uint64_t)winograd_weight_floats(shape, pack.lanes),
        .pack = winograd_pack_weights,
        .context = &pack,
        .shared = !(request->flags & COLLAGE_COMPILE_UNSHARED),
    };
    return weights_acquire(&kernel->backend->weights, &wanted, &winograd->packed,
                           &winograd->weights, message);
}

/* The shape of a variant, of which `read` gave what does not depend on it. */
static void complete_shape(struct winograd_shape *shape, const char *name, int64_t lanes)
{
    shape->m = name[strlen(name) - 1] - '0';
    shape->elements = (shape->m + 2) * (shape->m + 2);
    shape->in_blocks = (shape->in_channels + lanes - 1) / lanes;
    shape->out_blocks = (shape->out_channels + lanes - 1) / lanes;
    shape->panel = shape->groups > 1 && shape->out_blocks % WINOGRAD_PANEL ? 1 : WINOGRAD_PANEL;
    shape->tile_rows = (shape->out_height + shape->m - 1) / shape->m;
    shape->tile_columns = (shape->out_width + shape->m - 1) / shape->m;
}

static void space(const collage_subgraph *subgraph, const collage_target *target, const char *name,
                  int32_t threads, struct schedule_space *out)
{
    const enum isa isa = isa_of(target);
    struct winograd winograd = { .kernels = ISA_PICK(isa, winograd_kernels) };
    if (!read(&winograd.shape, &winograd.epilogue, subgraph, target, NULL))
        return;
    complete_shape(&winograd.shape, name, isa_lanes(isa));
    winograd_list_schedules(&winograd, isa_lanes(isa), threads, out);
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *name, collage_message *message)
{
    static const char *const isas[] = { "generic", "avx2", "avx512" };
    const collage_subgraph *subgraph = request->subgraph;
    const collage_node *node = subgraph->nodes[0];
    const int64_t lanes = isa_lanes(kernel->isa);
    struct winograd *winograd = calloc(1, sizeof *winograd);
    if (!winograd)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = winograd;
    struct winograd_shape *shape = &winograd->shape;
    if (!read(shape, &winograd->epilogue, subgraph, request->target, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    complete_shape(shape, name, lanes);
    winograd->kernels = ISA_PICK(kernel->isa, winograd_kernels);
    winograd->input = operand_of(subgraph, node->inputs[0]).input;
    collage_status status =
        epilogue_make(&winograd->epilogue, subgraph, 1, node->outputs[0], 1,
                      node->input_count > 2 ? node->inputs[2] : COLLAGE_NO_VALUE, message);
    if (status == COLLAGE_OK)
        status = acquire(winograd, kernel, request, message);
    if (status != COLLAGE_OK)
        return status;
    winograd_choose_blocking(winograd, lanes, kernel->threads, kernel->schedule);
    kernel->scratch_bytes = winograd_scratch_bytes(winograd, kernel->threads);
    kernel->weight_bytes = (uint64_t)winograd_weight_floats(shape, lanes) * sizeof(float);
    announce_in_place(kernel, winograd, subgraph->input_count);
    snprintf(kernel->implementation, sizeof kernel->implementation,
             "winograd F(%dx%d,3x3) %s tiles=%d%s", (int)shape->m, (int)shape->m, isas[kernel->isa],
             (int)winograd->blocking.tiles, winograd->blocking.shared ? " shared" : "");
    return COLLAGE_OK;
}

static void destroy(collage_kernel *kernel)
{
    struct winograd *winograd = kernel->state;
    if (!winograd)
        return;
    epilogue_free(&winograd->epilogue);
    weights_release(&kernel->backend->weights, winograd->packed);
    free(winograd);
}

extern const struct family winograd_family;
const struct family winograd_family = { .name = "winograd",
                                        .indirect = true,
                                        .takes = takes,
                                        .variant = variant,
                                        .space = space,
                                        .compile = compile,
                                        .run = winograd_run,
                                        .destroy = destroy };
