/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moves.c: the family of operators that only move elements: Concat, Split, Slice, Pad, Transpose,
 * and Resize where it repeats.
 */
#include "moves.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[BOXES_LAYOUTS] = { "move", "move_nhwc", "move_blocked" };

struct state {
    const struct move_kernels *kernels;
    struct boxes boxes;
    struct operand *operands; /* of each box */
    int64_t units;            /* of all boxes */
};

static bool read(const collage_subgraph *subgraph, enum boxes_layout layout, enum isa isa,
                 struct boxes *boxes, collage_message *why)
{
    struct moves moves = {
        .subgraph = subgraph, .layout = layout, .block = isa_lanes(isa), .boxes = boxes, .why = why
    };
    return moves_read(&moves);
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    return subgraph->output_count > 0 && read(subgraph, BOXES_PLAIN, isa_of(target), NULL, why);
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    enum isa isa = isa_of(target);
    for (enum boxes_layout layout = BOXES_PLAIN; layout < BOXES_LAYOUTS; layout++) {
        if (!read(subgraph, layout, isa, NULL, NULL) || index-- > 0)
            continue;
        snprintf(out->name, sizeof out->name, "%s", names[layout]);
        for (uint32_t k = 0; k < subgraph->input_count; k++)
            boxes_tag(layout, subgraph->values[subgraph->inputs[k]]->rank, isa_lanes(isa),
                      &out->inputs[k]);
        for (uint32_t k = 0; k < subgraph->output_count; k++)
            boxes_tag(layout, subgraph->values[subgraph->outputs[k]]->rank, isa_lanes(isa),
                      &out->outputs[k]);
        return true;
    }
    return false;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant_name, collage_message *message)
{
    const collage_subgraph *subgraph = request->subgraph;
    struct state *state = calloc(1, sizeof *state);
    enum boxes_layout layout = BOXES_PLAIN;
    if (!state)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = state;
    while (layout + 1 < BOXES_LAYOUTS && strcmp(names[layout], variant_name) != 0)
        layout++;
    if (!read(subgraph, layout, kernel->isa, &state->boxes, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    state->operands = calloc(state->boxes.count + 1, sizeof *state->operands);
    if (state->boxes.failed || !state->operands)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (size_t b = 0; b < state->boxes.count; b++) {
        if (state->boxes.items[b].form != MOVE_FILL)
            state->operands[b] = operand_of(subgraph, state->boxes.operands[b]);
        state->units += state->boxes.items[b].units;
    }
    state->kernels = ISA_PICK(kernel->isa, move_kernels);
    snprintf(kernel->implementation, sizeof kernel->implementation, "%zu boxes, %lld units",
             state->boxes.count, (long long)state->units);
    return COLLAGE_OK;
}

struct job {
    const struct state *state;
    const void *const *inputs;
    void *const *outputs;
};

static void body(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    const struct state *state = job->state;
    int64_t begin, end, before = 0;
    pool_share(state->units, thread, threads, &begin, &end);
    for (size_t b = 0; b < state->boxes.count && before < end; b++) {
        const struct move_box *box = &state->boxes.items[b];
        int64_t first = begin > before ? begin - before : 0;
        int64_t last = end - before < box->units ? end - before : box->units;
        before += box->units;
        if (first >= last)
            continue;
        float *to = job->outputs[state->boxes.outputs[b]];
        const float *from =
            box->form == MOVE_FILL ? to : operand_address(&state->operands[b], job->inputs);
        state->kernels->units(box, from, to, first, last);
    }
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    (void)scratch;
    struct job job = { kernel->state, inputs, outputs };
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

static void destroy(collage_kernel *kernel)
{
    struct state *state = kernel->state;
    if (!state)
        return;
    boxes_free(&state->boxes);
    free(state->operands);
    free(state);
}

extern const struct family moves_family;
const struct family moves_family = { .name = "move",
                                     .takes = takes,
                                     .variant = variant,
                                     .compile = compile,
                                     .run = run,
                                     .destroy = destroy };
