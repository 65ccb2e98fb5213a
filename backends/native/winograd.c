/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.c: the family of 3x3 convolutions, grouped ones too, by Winograd's minimal filtering,
 * F(2x2), F(4x4) and F(6x6), and of 3x3x3 ones that do so over the two inner axes; with strides of
 * 2 and transposed 4x4 ones by phases, which are convolutions with fewer taps.
 */
#include "winograd.h"

#include <stdlib.h>
#include <string.h>

/* What the variants of a kind are called, in front of the tile's size. */
static const char *const kind_names[] = {
    [WINOGRAD_PLAIN] = "winograd_f",
    [WINOGRAD_STRIDED] = "winograd_s2_f",
    [WINOGRAD_TRANSPOSED] = "winograd_t2_f",
};

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    struct winograd_shape shape;
    struct epilogue epilogue;
    return winograd_read(&shape, &epilogue, subgraph, target, why);
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    struct winograd_shape shape;
    struct epilogue epilogue;
    if (!winograd_read(&shape, &epilogue, subgraph, target, NULL))
        return false;
    const int64_t tile = winograd_tile_size(&shape, &epilogue, index);
    if (tile == 0)
        return false;
    snprintf(out->name, sizeof out->name, "%s%d", kind_names[shape.kind], (int)tile);
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
    snprintf(form, sizeof form, "winograd %d %d %d %dx%dx%dx%d", (int)shape->kind, (int)shape->m,
             (int)pack.lanes, (int)shape->groups, (int)shape->out_channels, (int)shape->in_channels,
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

/* The shape of a variant, of which `winograd_read` gave what does not depend on it. */
static void complete_shape(struct winograd_shape *shape, const char *name, int64_t lanes)
{
    const int64_t m = shape->m = name[strlen(name) - 1] - '0';
    const bool strided = shape->kind == WINOGRAD_STRIDED;
    const bool transposed = shape->kind == WINOGRAD_TRANSPOSED;
    shape->points = strided ? 2 * m + 1 : transposed ? 2 * (m + 1) : m + 2;
    shape->side = strided ? m + 1 : shape->points;
    shape->step_in = strided ? 2 * m : m;
    shape->step_out = transposed ? 2 * m : m;
    shape->in_blocks = (shape->in_channels + lanes - 1) / lanes;
    shape->out_blocks = (shape->out_channels + lanes - 1) / lanes;
    shape->panel = shape->groups > 1 && shape->out_blocks % WINOGRAD_PANEL ? 1 : WINOGRAD_PANEL;
    shape->tile_rows = (shape->out_height + shape->step_out - 1) / shape->step_out;
    shape->tile_columns = (shape->out_width + shape->step_out - 1) / shape->step_out;
}

static void space(const collage_subgraph *subgraph, const collage_target *target, const char *name,
                  int32_t threads, struct schedule_space *out)
{
    const enum isa isa = isa_of(target);
    struct winograd winograd = { .kernels = ISA_PICK(isa, winograd_kernels) };
    if (!winograd_read(&winograd.shape, &winograd.epilogue, subgraph, target, NULL))
        return;
    complete_shape(&winograd.shape, name, isa_lanes(isa));
    winograd_list_schedules(&winograd, isa_lanes(isa), threads, out);
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *name, collage_message *message)
{
    static const char *const isas[] = { "generic", "avx2", "avx512" };
    static const char *const windows[] = {
        [WINOGRAD_PLAIN] = "3x3", [WINOGRAD_STRIDED] = "3x3 s2", [WINOGRAD_TRANSPOSED] = "4x4 t2"
    };
    const collage_subgraph *subgraph = request->subgraph;
    const collage_node *node = subgraph->nodes[0];
    const int64_t lanes = isa_lanes(kernel->isa);
    struct winograd *winograd = calloc(1, sizeof *winograd);
    if (!winograd)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = winograd;
    struct winograd_shape *shape = &winograd->shape;
    if (!winograd_read(shape, &winograd->epilogue, subgraph, request->target, message))
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
             "winograd F(%dx%d,%s) %s tiles=%d%s", (int)shape->m, (int)shape->m,
             windows[shape->kind], isas[kernel->isa], (int)winograd->blocking.tiles,
             winograd->blocking.shared ? " shared" : "");
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
