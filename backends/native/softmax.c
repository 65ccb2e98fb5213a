/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c: the family of softmax over the last axis. */
#include "simd/softmax.h"

#include "family.h"

#include <stdlib.h>
#include <string.h>

struct softmax {
    const struct softmax_kernels *kernels;
    int64_t rows, count;
};

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    (void)target;
    const collage_node *node = subgraph->nodes[0];
    if (subgraph->node_count != 1 || strcmp(node->op_type, "Softmax") != 0) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is not among these kernels", node->op_type);
        return false;
    }
    if (!all_float32(subgraph, NULL, why))
        return false;
    int32_t rank = subgraph->values[node->inputs[0]]->rank;
    int64_t axis = collage_node_int(node, "axis", -1);
    if (subgraph->values[node->inputs[0]]->data || rank < 1 || (axis != -1 && axis != rank - 1)) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "only softmax over the last axis");
        return false;
    }
    return true;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant, collage_message *message)
{
    (void)variant;
    const collage_value *value = request->subgraph->values[request->subgraph->inputs[0]];
    struct softmax *softmax = calloc(1, sizeof *softmax);
    if (!softmax)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = softmax;
    softmax->kernels = ISA_PICK(kernel->isa, softmax_kernels);
    softmax->count = value->dims[value->rank - 1];
    softmax->rows = (int64_t)(value->bytes / sizeof(float)) / softmax->count;
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
    const struct softmax *softmax = job->softmax;
    int64_t begin, end;
    pool_share(softmax->rows, thread, threads, &begin, &end);
    softmax->kernels->rows(job->to + begin * softmax->count, job->from + begin * softmax->count,
                           end - begin, softmax->count);
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
