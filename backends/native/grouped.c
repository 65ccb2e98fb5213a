/* SPDX-License-Identifier: Apache-2.0 */
/* grouped.c: the family of grouped convolutions, as ResNeXt has them. */
#include "simd/grouped.h"

#include "family.h"

enum { CHANNELS_MIN = 2, CHANNELS_MAX = 64, WINOGRAD_MIN = 16, WINOGRAD_MAP_MIN = 6 };

/* Those are made faster by the family of Winograd convolutions. */
static bool is_for_winograd(const struct window *window)
{
    return window->channels_in / window->group >= WINOGRAD_MIN &&
           window->channels_out / window->group >= WINOGRAD_MIN && window->kernel_height == 3 &&
           window->kernel_width == 3 && window->stride_height == 1 && window->stride_width == 1 &&
           window->height_out >= WINOGRAD_MAP_MIN && window->width_out >= WINOGRAD_MAP_MIN &&
           window->pad_top <= 2 && window->pad_left <= 2;
}

static bool read(struct window *window, struct epilogue *epilogue, const collage_subgraph *subgraph,
                 const collage_target *target, collage_message *why)
{
    if (!window_read(window, epilogue, subgraph, why))
        return false;
    const int64_t lanes = isa_lanes(isa_of(target));
    const int64_t in = window->channels_in / window->group;
    const int64_t out = window->channels_out / window->group;
    bool share = in == out && out < lanes && lanes % out == 0;
    bool whole = in % lanes == 0 && out % lanes == 0 && !is_for_winograd(window);
    if (window->group > 1 && in >= CHANNELS_MIN && in <= CHANNELS_MAX && (share || whole))
        return true;
    fail(why, COLLAGE_ERROR_UNSUPPORTED,
         "its groups are no parts or multiples of a vector, or for Winograd");
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
    return window_variant(read, "grouped", true, subgraph, target, index, out);
}

/* [blocks][kernel_height][channels of a group][kernel_width][lanes] */
static void pack(float *to, const float *from, const void *context)
{
    const struct window_plan *plan = context;
    const struct window *window = &plan->window;
    const int64_t channels = window->channels_in / window->group;
    for (int64_t k = 0; k < window->channels_out; k++) {
        float *block = to + k / plan->lanes * plan->unit_weights + k % plan->lanes;
        for (int64_t c = 0; c < channels; c++) {
            for (int64_t y = 0; y < window->kernel_height; y++) {
                for (int64_t x = 0; x < window->kernel_width; x++)
                    block[((y * channels + c) * window->kernel_width + x) * plan->lanes] = *from++;
            }
        }
    }
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant_name, collage_message *message)
{
    (void)variant_name;
    collage_status status = window_compile(kernel, request, message);
    if (status != COLLAGE_OK)
        return status;
    static const int32_t wide[] = GROUPED_BLOCKS_16, narrow[] = GROUPED_BLOCKS_8;
    struct window_plan *plan = kernel->state;
    const struct window *window = &plan->window;
    plan->rows = ISA_PICK(kernel->isa, grouped_kernels)->rows;
    plan->block = window_choose_block(window->width_out, plan->lanes == 16 ? wide : narrow);
    plan->row_weights = window->channels_in / window->group * window->kernel_width * plan->lanes;
    window_describe(kernel, "grouped");
    return window_finish(kernel, request, pack, "grouped", message);
}

extern const struct family grouped_family;
const struct family grouped_family = { .name = "grouped",
                                       .takes = takes,
                                       .variant = variant,
                                       .compile = compile,
                                       .run = window_run,
                                       .destroy = window_destroy };
