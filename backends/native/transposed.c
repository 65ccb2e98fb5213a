/* SPDX-License-Identifier: Apache-2.0 */
/* transposed.c: the family of transposed convolutions, which enlarge maps. */
#include "simd/transposed.h"

#include "family.h"

enum { CHANNELS_MIN = 8 };

static bool read(struct window *window, struct epilogue *epilogue, const collage_subgraph *subgraph,
                 const collage_target *target, collage_message *why)
{
    (void)target;
    if (!window_read_transposed(window, epilogue, subgraph, why))
        return false;
    if (window->channels_in >= CHANNELS_MIN && window->channels_out >= CHANNELS_MIN &&
        window->stride_height <= TRANSPOSED_STRIDE_MAX &&
        window->stride_width <= TRANSPOSED_STRIDE_MAX)
        return true;
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "it has too few channels or too large a stride");
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
    return window_variant(read, "transposed", true, subgraph, target, index, out);
}

/* As simd/transposed.h says; the constant is [input channels][output channels][y][x]. */
static void pack(float *to, const float *from, const void *context)
{
    const struct window_plan *plan = context;
    const struct window *window = &plan->window;
    const int64_t area = window->kernel_height * window->kernel_width;
    for (int64_t k = 0; k < area; k++) {
        int64_t ky = k / window->kernel_width, kx = k % window->kernel_width;
        struct transposed_axis y =
            transposed_axis(ky % window->stride_height, window->stride_height,
                            window->kernel_height, window->pad_top, window->height_out);
        struct transposed_axis x =
            transposed_axis(kx % window->stride_width, window->stride_width, window->kernel_width,
                            window->pad_left, window->width_out);
        int64_t tap = transposed_begin(&y, &x, window->kernel_width) +
                      ky / window->stride_height * x.taps + kx / window->stride_width;
        for (int64_t o = 0; o < window->channels_out; o++) {
            int64_t block = o / plan->lanes, first = block / TRANSPOSED_VECTORS;
            int64_t vectors = plan->blocks_out - first * TRANSPOSED_VECTORS;
            vectors = vectors < TRANSPOSED_VECTORS ? vectors : TRANSPOSED_VECTORS;
            float *lane = to + first * plan->unit_weights +
                          tap * window->channels_in * vectors * plan->lanes +
                          block % TRANSPOSED_VECTORS * plan->lanes + o % plan->lanes;
            for (int64_t c = 0; c < window->channels_in; c++)
                lane[c * vectors * plan->lanes] = from[(c * window->channels_out + o) * area + k];
        }
    }
}

/* The most pixels that a phase has. */
static int64_t count_pixels(const struct window *window)
{
    int64_t rows = (window->height_out + window->stride_height - 1) / window->stride_height;
    int64_t columns = (window->width_out + window->stride_width - 1) / window->stride_width;
    return window->batch * rows * columns;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant_name, collage_message *message)
{
    (void)variant_name;
    collage_status status = window_compile(kernel, request, message);
    if (status != COLLAGE_OK)
        return status;
    static const int32_t wide[] = TRANSPOSED_BLOCKS_16, narrow[] = TRANSPOSED_BLOCKS_8;
    struct window_plan *plan = kernel->state;
    const struct window *window = &plan->window;
    const int64_t pixels = count_pixels(window);
    plan->rows = ISA_PICK(kernel->isa, transposed_kernels)->units;
    plan->block = window_choose_block(pixels, plan->lanes == 16 ? wide : narrow);
    plan->unit_blocks = TRANSPOSED_VECTORS;
    plan->row_weights =
        window->channels_in * window->kernel_width * TRANSPOSED_VECTORS * plan->lanes;
    window_describe(kernel, "transposed");
    char form[64];
    snprintf(form, sizeof form, "transposed %lldx%lld", (long long)window->stride_height,
             (long long)window->stride_width);
    plan->units = (plan->blocks_out + TRANSPOSED_VECTORS - 1) / TRANSPOSED_VECTORS *
                  window->stride_height * window->stride_width *
                  ((pixels + plan->block - 1) / plan->block);
    return window_finish(kernel, request, pack, form, message);
}

extern const struct family transposed_family;
const struct family transposed_family = { .name = "transposed",
                                          .takes = takes,
                                          .variant = variant,
                                          .compile = compile,
                                          .run = window_run,
                                          .destroy = window_destroy };
