/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c: the family of softmax over an axis that is not the last one (else: rows.c). */
#include "simd/rows.h"

#include "family.h"

#include <stdlib.h>
#include <string.h>

struct softmax {
    const struct rows_kernels *kernels;
    int64_t outer, count, inner; /* the axis is the middle one */
    int64_t blocks;              /* of columns in each of the outer ones */
    bool logarithm;
};

enum { BLOCK = 64 }; /* columns that a thread takes at a time */

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    (void)target;
    const collage_node *node = subgraph->nodes[0];
    if (subgraph->node_count != 1 ||
        (strcmp(node->op_type, "Softmax") != 0 && strcmp(node->op_type, "LogSoftmax") != 0)) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is not among these kernels", node->op_type);
        return false;
    }
    if (!all_float32(subgraph, NULL, why))
        return false;
    int32_t rank = subgraph->values[node->inputs[0]]->rank;
    int64_t axis = collage_node_int(node, "axis", -1);
    axis = axis < 0 ? axis + rank : axis;
    if (subgraph->values[node->inputs[0]]->data || axis < 0 || axis >= rank - 1) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "this softmax is not over an axis in the middle");
        return false;
    }
    return true;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant, collage_message *message)
{
    (void)variant;
    const collage_node *node = request->subgraph->nodes[0];
    const collage_value *value = request->subgraph->values[node->inputs[0]];
    struct softmax *softmax = calloc(1, sizeof *softmax);
    if (!softmax)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = softmax;
    int64_t axis = collage_node_int(node, "axis", -1);
    axis = axis < 0 ? axis + value->rank : axis;
    softmax->kernels = ISA_PICK(kernel->isa, rows_kernels);
    softmax->logarithm = strcmp(node->op_type, "LogSoftmax") == 0;
    softmax->outer = softmax->inner = 1;
    for (int32_t d = 0; d < value->rank; d++) {
        if (d < axis)
            softmax->outer *= value->dims[d];
        else if (d > axis)
            softmax->inner *= value->dims[d];
    }
    softmax->count = value->dims[axis];
    softmax->blocks = (softmax->inner + BLOCK - 1) / BLOCK;
    kernel->inplace_count = 1; /* output 0 may lie in input 0 */
    return COLLAGE_OK;
}

struct job {
    const struct softmax *softmax;
    const float *from;
    float *to;
};

static void body(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    const struct softmax *s = job->softmax;
    int64_t begin, end;
    pool_share(s->outer * s->blocks, thread, threads, &begin, &end);
    for (int64_t k = begin; k < end; k++) {
        int64_t start = k / s->blocks * s->count * s->inner, column = k % s->blocks * BLOCK;
        int64_t last = column + BLOCK < s->inner ? column + BLOCK : s->inner;
        s->kernels->columns(job->to + start, job->from + start, s->count, s->inner, column, last,
                            s->logarithm);
    }
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    (void)scratch;
    struct job job = { kernel->state, inputs[0], outputs[0] };
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

static void destroy(collage_kernel *kernel)
{
    free(kernel->state);
}

extern const struct family softmax_family;
const struct family softmax_family = {
    .name = "softmax", .takes = takes, .compile = compile, .run = run, .destroy = destroy
};
