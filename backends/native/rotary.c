/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.c: the family of RotaryEmbedding: pairs of numbers of a row are turned by the angles of
 * the row's position. */
#include "simd/rotary.h"

#include "family.h"
#include "positions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { X, COSINES, SINES, POSITIONS };

struct rotary {
    const struct rotary_kernels *kernels;
    int64_t batch, rows, heads, size; /* of a head */
    int64_t row_step, head_step;      /* in elements */
    int64_t half;                     /* pairs that are turned; the rest of a head is copied */
    int64_t angles;                   /* rows of the cosines and sines */
    bool interleaved;
    struct operand x, cosines, sines;
    struct positions positions; /* count 0: the row's own number */
};

/* False: not as it must be (the importer has checked it, but sub-graphs may be hostile). */
static bool read_shape(const collage_subgraph *subgraph, struct rotary *out)
{
    const collage_node *node = subgraph->nodes[0];
    if (node->input_count < 3 || node->output_count != 1)
        return false;
    for (uint32_t k = 0; k < 3; k++)
        if (node->inputs[k] == COLLAGE_NO_VALUE)
            return false;
    const collage_value *x = subgraph->values[node->inputs[X]];
    if (x->rank != 3 && x->rank != 4)
        return false;
    bool split = x->rank == 4;
    int64_t heads = split ? x->dims[1] : collage_node_int(node, "num_heads", 0);
    if (heads < 1 || (!split && x->dims[2] % heads != 0))
        return false;
    *out = (struct rotary){ .batch = x->dims[0],
                            .heads = heads,
                            .rows = x->dims[split ? 2 : 1],
                            .size = split ? x->dims[3] : x->dims[2] / heads };
    out->row_step = split ? out->size : x->dims[2];
    out->head_step = split ? out->rows * out->size : out->size;
    int64_t turned = collage_node_int(node, "rotary_embedding_dim", 0);
    turned = turned == 0 ? out->size : turned;
    out->half = turned / 2;
    out->interleaved = collage_node_int(node, "interleaved", 0) != 0;
    return turned > 0 && turned <= out->size && turned % 2 == 0;
}

/* Cosines and sines have a row for each position, or for each row of X. */
static bool read_angles(const collage_subgraph *subgraph, struct rotary *out)
{
    const collage_node *node = subgraph->nodes[0];
    const collage_value *cosines = subgraph->values[node->inputs[COSINES]];
    const collage_value *sines = subgraph->values[node->inputs[SINES]];
    bool looked_up = node->input_count > POSITIONS && node->inputs[POSITIONS] != COLLAGE_NO_VALUE;
    uint64_t row_bytes = (uint64_t)out->half * sizeof(float);
    if (cosines->bytes != sines->bytes || cosines->bytes % row_bytes != 0)
        return false;
    out->angles = (int64_t)(cosines->bytes / row_bytes);
    if (!looked_up)
        return out->angles == out->batch * out->rows;
    return positions_read(subgraph, node->inputs[POSITIONS], out->angles, &out->positions) &&
           out->positions.count == out->batch * out->rows;
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    (void)target;
    const collage_node *node = subgraph->nodes[0];
    struct rotary rotary;
    if (subgraph->node_count != 1 || strcmp(node->op_type, "RotaryEmbedding") != 0) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is not among these kernels", node->op_type);
        return false;
    }
    bool *ignore = calloc(subgraph->value_count, sizeof *ignore);
    if (!ignore)
        return false;
    if (node->input_count > POSITIONS && node->inputs[POSITIONS] != COLLAGE_NO_VALUE)
        ignore[node->inputs[POSITIONS]] = true;
    bool floats = all_float32(subgraph, ignore, why);
    free(ignore);
    if (!floats)
        return false;
    if (!read_shape(subgraph, &rotary) || !read_angles(subgraph, &rotary)) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "the shapes of this rotary embedding do not fit");
        return false;
    }
    return true;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant, collage_message *message)
{
    (void)variant;
    const collage_subgraph *subgraph = request->subgraph;
    const collage_node *node = subgraph->nodes[0];
    struct rotary *rotary = calloc(1, sizeof *rotary);
    if (!rotary)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = rotary;
    if (!read_shape(subgraph, rotary) || !read_angles(subgraph, rotary))
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "not such a sub-graph");
    rotary->kernels = ISA_PICK(kernel->isa, rotary_kernels);
    rotary->x = operand_of(subgraph, node->inputs[X]);
    rotary->cosines = operand_of(subgraph, node->inputs[COSINES]);
    rotary->sines = operand_of(subgraph, node->inputs[SINES]);
    snprintf(kernel->implementation, sizeof kernel->implementation,
             "rotary %" PRId64 " of %" PRId64, 2 * rotary->half, rotary->size);
    return COLLAGE_OK;
}

static bool check(const collage_kernel *kernel, const void *const *inputs, collage_message *message)
{
    const struct rotary *rotary = kernel->state;
    return positions_check(&rotary->positions, inputs, message);
}

struct job {
    const struct rotary *rotary;
    const float *x, *cosines, *sines;
    const void *positions;
    float *to;
};

static void body(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    const struct rotary *r = job->rotary;
    int64_t begin, end;
    pool_share(r->batch * r->rows, thread, threads, &begin, &end);
    for (int64_t k = begin; k < end; k++) {
        const int64_t position =
            r->positions.count > 0 ? positions_at(&r->positions, job->positions, k) : k;
        const float *cosines = job->cosines + position * r->half;
        const float *sines = job->sines + position * r->half;
        for (int64_t h = 0; h < r->heads; h++) {
            const int64_t at = k / r->rows * r->heads * r->rows * r->size + h * r->head_step +
                               k % r->rows * r->row_step;
            if (r->interleaved)
                r->kernels->neighbours(job->to + at, job->x + at, cosines, sines, r->half);
            else
                r->kernels->halves(job->to + at, job->x + at, cosines, sines, r->half);
            memcpy(job->to + at + 2 * r->half, job->x + at + 2 * r->half,
                   (size_t)(r->size - 2 * r->half) * sizeof(float));
        }
    }
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    (void)scratch;
    const struct rotary *r = kernel->state;
    struct job job = { r,
                       operand_address(&r->x, inputs),
                       operand_address(&r->cosines, inputs),
                       operand_address(&r->sines, inputs),
                       positions_address(&r->positions, inputs),
                       outputs[0] };
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

static void destroy(collage_kernel *kernel)
{
    free(kernel->state);
}

extern const struct family rotary_family;
const struct family rotary_family = { .name = "rotary",
                                      .takes = takes,
                                      .compile = compile,
                                      .check = check,
                                      .run = run,
                                      .destroy = destroy };
