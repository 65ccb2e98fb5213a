/* SPDX-License-Identifier: Apache-2.0 */
/* first.c: the family of first layers: a few channels that lie row-major become blocks. */
#include "simd/first.h"

#include "family.h"

enum { CHANNELS_MAX = 4, CHANNELS_OUT_MIN = 8 };

static bool read(struct window *window, struct epilogue *epilogue, const collage_subgraph *subgraph,
                 const collage_target *target, collage_message *why)
{
    (void)target;
    if (!window_read(window, epilogue, subgraph, why))
        return false;
    if (window->group == 1 && window->channels_in <= CHANNELS_MAX &&
        window->channels_out >= CHANNELS_OUT_MIN)
        return true;
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "it has more channels than images have");
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
    return window_variant(read, "first", false, subgraph, target, index, out);
}

/* [units][kernel_height][channels][kernel_width][vectors][lanes] */
static void pack(float *to, const float *from, const void *context)
{
    const struct window_plan *plan = context;
    const struct window *window = &plan->window;
    for (int64_t k = 0; k < window->channels_out; k++) {
        int64_t block = k / plan->lanes, unit = block / FIRST_VECTORS;
        int64_t vectors = plan->blocks_out - unit * FIRST_VECTORS;
        vectors = vectors < FIRST_VECTORS ? vectors : FIRST_VECTORS;
        float *lane =
            to + unit * plan->unit_weights + block % FIRST_VECTORS * plan->lanes + k % plan->lanes;
        for (int64_t c = 0; c < window->channels_in; c++) {
            for (int64_t y = 0; y < window->kernel_height; y++) {
                int64_t row = (y * window->channels_in + c) * window->kernel_width;
                for (int64_t x = 0; x < window->kernel_width; x++)
                    lane[(row + x) * vectors * plan->lanes] = *from++;
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
    static const int32_t wide[] = FIRST_BLOCKS_16, narrow[] = FIRST_BLOCKS_8;
    struct window_plan *plan = kernel->state;
    const struct window *window = &plan->window;
    plan->rows = ISA_PICK(kernel->isa, first_kernels)->rows;
    plan->block = window_choose_block(window->width_out, plan->lanes == 16 ? wide : narrow);
    plan->unit_blocks = FIRST_VECTORS;
    plan->row_weights = window->channels_in * window->kernel_width * FIRST_VECTORS * plan->lanes;
    plan->scratch_floats = window->channels_in * window->kernel_height * first_row_floats(plan);
    window_describe(kernel, "first");
    return window_finish(kernel, request, pack, "first", message);
}

extern const struct family first_family;
const struct family first_family = { .name = "first",
                                     .takes = takes,
                                     .variant = variant,
                                     .compile = compile,
                                     .run = window_run,
                                     .destroy = window_destroy };
