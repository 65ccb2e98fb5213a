/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise.c: the family of depthwise convolutions, one filter for each channel. */
#include "simd/depthwise.h"

#include "family.h"

static bool read(struct window *window, struct epilogue *epilogue, const collage_subgraph *subgraph,
                 const collage_target *target, collage_message *why)
{
    (void)target;
    if (!window_read(window, epilogue, subgraph, why))
        return false;
    if (window->group > 1 && window->group == window->channels_in &&
        window->group == window->channels_out)
        return true;
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "it is not depthwise");
    return false;
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    return window_takes(read, subgraph, target, why);
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    return window_variant(read, "depthwise", true, subgraph, target, index, out);
}

/* [blocks][kernel_height][kernel_width][lanes] */
void depthwise_pack(float *to, const float *from, const void *context)
{
    const struct window_plan *plan = context;
    int64_t taps = plan->window.kernel_height * plan->window.kernel_width;
    for (int64_t c = 0; c < plan->window.channels_out; c++) {
        float *block = to + c / plan->lanes * plan->unit_weights + c % plan->lanes;
        for (int64_t tap = 0; tap < taps; tap++)
            block[tap * plan->lanes] = from[c * taps + tap];
    }
}

const int32_t depthwise_blocks[] = { 8, 7, 0 };

enum { BLOCK };

/* The pixels of a block, where the kernels have a choice. */
static void space(const collage_subgraph *subgraph, const collage_target *target,
                  const char *variant_name, int32_t threads, struct schedule_space *out)
{
    (void)variant_name;
    (void)threads;
    struct window window;
    struct epilogue epilogue;
    if (!read(&window, &epilogue, subgraph, target, NULL))
        return;
    struct schedule_axis *axis = schedule_add_axis(out, "block", NULL);
    int64_t own = window_choose_block(window.width_out, depthwise_blocks);
    for (size_t k = 0; depthwise_blocks[k] && depthwise_has_blocks(&window); k++) {
        if (depthwise_blocks[k] != own)
            schedule_add_value(axis, depthwise_blocks[k]);
    }
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant_name, collage_message *message)
{
    (void)variant_name;
    collage_status status = window_compile(kernel, request, message);
    if (status != COLLAGE_OK)
        return status;
    struct window_plan *plan = kernel->state;
    const struct window *window = &plan->window;
    plan->rows = ISA_PICK(kernel->isa, depthwise_kernels)->rows;
    plan->block = kernel->schedule[BLOCK] > 0
                      ? kernel->schedule[BLOCK]
                      : window_choose_block(window->width_out, depthwise_blocks);
    plan->row_weights = window->kernel_width * plan->lanes;
    window_describe(kernel, "depthwise");
    return window_finish(kernel, request, depthwise_pack, "depthwise", message);
}

extern const struct family depthwise_family;
const struct family depthwise_family = { .name = "depthwise",
                                         .takes = takes,
                                         .variant = variant,
                                         .space = space,
                                         .compile = compile,
                                         .run = window_run,
                                         .destroy = window_destroy };
