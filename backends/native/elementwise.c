/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c: the family of element-wise operators: any graph of them, in one pass. A program is
 * interpreted, or becomes generated code (generate.h): a variant each. */
#include "code.h"
#include "generate.h"
#include "simd/program.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 64 };

enum layout { LAYOUT_PLAIN, LAYOUT_LAST, LAYOUT_BLOCKED, LAYOUTS };

/* Of the interpreter, then of generated code. */
static const char *const names[2][LAYOUTS] = {
    { "elementwise", "elementwise_nhwc", "elementwise_blocked" },
    { "generated", "generated_nhwc", "generated_blocked" }
};

struct elementwise {
    const struct program_kernels *kernels;
    struct program program;
    struct operand operands[PROGRAM_LEAVES];
    struct code code;
    generated_program *generated; /* NULL: it is interpreted */
};

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

static bool same_shape(const collage_value *a, const collage_value *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t d = 0; d < a->rank; d++) {
        if (a->dims[d] != b->dims[d])
            return false;
    }
    return true;
}

static bool read(struct program *program, const collage_subgraph *subgraph, enum layout layout,
                 enum isa isa, collage_message *why)
{
    bool nodes[MAX_NODES];
    memset(nodes, true, sizeof nodes);
    if (subgraph->node_count > MAX_NODES || subgraph->output_count == 0)
        return refuse(why, "too many nodes");
    const collage_value *output = subgraph->values[subgraph->outputs[0]];
    for (uint32_t k = 1; k < subgraph->output_count; k++) {
        if (!same_shape(subgraph->values[subgraph->outputs[k]], output))
            return refuse(why, "the outputs differ in shape");
    }
    struct program_request request = { .subgraph = subgraph,
                                       .nodes = nodes,
                                       .rank = output->rank,
                                       .dims = output->dims,
                                       .channels_last = layout == LAYOUT_LAST,
                                       .block = layout == LAYOUT_BLOCKED ? isa_lanes(isa) : 0,
                                       .row = -1,
                                       .outputs = subgraph->outputs,
                                       .output_count = subgraph->output_count };
    if (layout != LAYOUT_PLAIN && (output->rank < 3 || output->rank > 5))
        return refuse(why, "there are no channels");
    return program_read(program, &request, why);
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    struct program program;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        if (!program_knows(subgraph->nodes[n])) {
            fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is not among these kernels",
                 subgraph->nodes[n]->op_type);
            return false;
        }
    }
    return read(&program, subgraph, LAYOUT_PLAIN, isa_of(target), why);
}

static void write_tag(collage_layout *tag, enum layout layout, int32_t rank, int64_t block)
{
    int32_t length = 0;
    for (int32_t place = 0; place < rank; place++) {
        int32_t axis = place;
        if (layout == LAYOUT_LAST && place > 0)
            axis = place == rank - 1 ? 1 : place + 1;
        bool capital = layout == LAYOUT_BLOCKED && axis == 1;
        tag->tag[length++] = (char)((capital ? 'A' : 'a') + axis);
    }
    tag->tag[length] = 0;
    if (layout == LAYOUT_BLOCKED)
        snprintf(tag->tag + length, sizeof tag->tag - (size_t)length, "%db", (int)block);
}

/* Does an input lie in the outputs' layout? Vectors of channels lie in it as well as row-major. */
static bool follows(const struct program *program, const collage_subgraph *subgraph, uint32_t input,
                    const collage_value *output)
{
    const collage_value *value = subgraph->values[input];
    if (same_shape(value, output))
        return true;
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        const struct program_leaf *leaf = &program->leaves[l];
        if (leaf->value == input && leaf->mode == PROGRAM_BLOCK && value->rank == output->rank &&
            value->dims[1] == output->dims[1])
            return true;
    }
    return false;
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    struct program program;
    const collage_value *output = subgraph->values[subgraph->outputs[0]];
    enum isa isa = isa_of(target);
    for (int form = 0; form < 2 * LAYOUTS; form++) {
        const enum layout layout = (enum layout)(form % LAYOUTS);
        const bool generated = form >= LAYOUTS;
        if (!read(&program, subgraph, layout, isa, NULL) ||
            (generated && !generate_is_worth(&program)) || index-- > 0)
            continue;
        snprintf(out->name, sizeof out->name, "%s", names[generated][layout]);
        if (generated && out->struct_size > offsetof(collage_variant, flags))
            out->flags = COLLAGE_VARIANT_CODE;
        if (layout == LAYOUT_PLAIN)
            return true;
        for (uint32_t k = 0; k < subgraph->input_count; k++) {
            if (follows(&program, subgraph, subgraph->inputs[k], output))
                write_tag(&out->inputs[k], layout, output->rank, isa_lanes(isa));
        }
        for (uint32_t k = 0; k < subgraph->output_count; k++)
            write_tag(&out->outputs[k], layout, output->rank, isa_lanes(isa));
        return true;
    }
    return false;
}

static void announce_in_place(collage_kernel *kernel, const struct program *program,
                              const collage_subgraph *subgraph)
{
    uint32_t most = sizeof kernel->inplace / sizeof kernel->inplace[0] / 2;
    for (uint32_t out = 0; out < subgraph->output_count; out++) {
        for (uint32_t in = 0; in < subgraph->input_count && kernel->inplace_count < most; in++) {
            uint32_t value = subgraph->inputs[in];
            if (!same_shape(subgraph->values[value], subgraph->values[subgraph->outputs[out]]) ||
                !program_in_place(program, out, value))
                continue;
            kernel->inplace[(size_t)2 * kernel->inplace_count] = out;
            kernel->inplace[(size_t)2 * kernel->inplace_count + 1] = in;
            kernel->inplace_count++;
        }
    }
}

/* A variant's name: its layout, and whether it is generated. */
static enum layout layout_of(const char *name, bool *generated)
{
    for (int form = 0; form < 2 * LAYOUTS; form++) {
        *generated = form >= LAYOUTS;
        if (strcmp(names[*generated][form % LAYOUTS], name) == 0)
            return (enum layout)(form % LAYOUTS);
    }
    *generated = false;
    return LAYOUT_PLAIN;
}

static collage_status generate(collage_kernel *kernel, struct elementwise *state,
                               collage_message *message)
{
    struct source source = { 0 };
    void *function;
    generate_program(&state->program, &source);
    collage_status status = code_load(kernel->backend, &source, generate_options(kernel->isa),
                                      &state->code, &function, message);
    memcpy(&state->generated, &function, sizeof function);
    source_free(&source);
    return status;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant_name, collage_message *message)
{
    const collage_subgraph *subgraph = request->subgraph;
    struct elementwise *state = calloc(1, sizeof *state);
    bool generated;
    enum layout layout = layout_of(variant_name, &generated);
    if (!state)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = state;
    if (!read(&state->program, subgraph, layout, kernel->isa, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    state->kernels = ISA_PICK(kernel->isa, program_kernels);
    for (uint32_t l = 0; l < state->program.leaf_count; l++)
        state->operands[l] = operand_of(subgraph, state->program.leaves[l].value);
    announce_in_place(kernel, &state->program, subgraph);
    snprintf(kernel->implementation, sizeof kernel->implementation, "%u steps, %lld tiles",
             (unsigned)state->program.step_count, (long long)state->program.units);
    return generated ? generate(kernel, state, message) : COLLAGE_OK;
}

struct job {
    const struct elementwise *state;
    const void *bases[PROGRAM_LEAVES];
    float *outputs[PROGRAM_OUTPUTS];
};

static void body(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    int64_t begin, end;
    pool_share(job->state->program.units, thread, threads, &begin, &end);
    if (job->state->generated)
        job->state->generated(job->bases, job->outputs, begin, end);
    else
        program_run(&job->state->program, job->state->kernels, job->bases, job->outputs, begin,
                    end);
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    (void)scratch;
    struct job job = { .state = kernel->state };
    const struct program *program = &job.state->program;
    for (uint32_t l = 0; l < program->leaf_count; l++)
        job.bases[l] = operand_address(&job.state->operands[l], inputs);
    for (uint32_t k = 0; k < program->output_count; k++)
        job.outputs[k] = outputs[k];
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

static void destroy(collage_kernel *kernel)
{
    struct elementwise *state = kernel->state;
    if (state)
        code_unload(&state->code);
    free(state);
}

extern const struct family elementwise_family;
const struct family elementwise_family = { .name = "elementwise",
                                           .takes = takes,
                                           .variant = variant,
                                           .compile = compile,
                                           .run = run,
                                           .destroy = destroy };
