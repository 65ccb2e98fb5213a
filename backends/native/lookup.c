/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c: the family of Gather from tables of float32, and of sums of such lookups and of tensors
 * of the same shape, as the embeddings of transformers are (words, positions, segments).
 */
#include "family.h"
#include "positions.h"

#include <stdlib.h>
#include <string.h>

enum { TERMS_MAX = 4, DEPTH_MAX = 8 };

/* One summand of every row. */
struct term {
    struct operand from;        /* the table, or a tensor of the result's shape */
    struct positions positions; /* count 0: it is a tensor */
};

/* The result is [outer][rows][inner]; a table is [outer][count][inner]. */
struct lookup {
    int64_t outer, rows, inner;
    struct term terms[TERMS_MAX];
    size_t count;
};

static const collage_node *maker_of(const collage_subgraph *subgraph, uint32_t value)
{
    for (uint32_t n = 0; n < subgraph->node_count; n++)
        if (subgraph->nodes[n]->output_count > 0 && subgraph->nodes[n]->outputs[0] == value)
            return subgraph->nodes[n];
    return NULL;
}

static bool same_shape(const collage_value *a, const collage_value *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* The sizes of a Gather, and its term. */
static bool read_gather(const collage_subgraph *subgraph, const collage_node *node,
                        struct lookup *sizes, struct term *term)
{
    if (node->input_count != 2 || node->inputs[0] == COLLAGE_NO_VALUE ||
        node->inputs[1] == COLLAGE_NO_VALUE || !value_is_outside(subgraph, node->inputs[0]) ||
        !value_is_outside(subgraph, node->inputs[1]))
        return false;
    const collage_value *table = subgraph->values[node->inputs[0]];
    int64_t axis = collage_node_int(node, "axis", 0);
    axis = axis < 0 ? axis + table->rank : axis;
    if (table->dtype != COLLAGE_FLOAT32 || axis < 0 || axis >= table->rank)
        return false;
    if (!positions_read(subgraph, node->inputs[1], table->dims[axis], &term->positions))
        return false;
    term->positions.from_end = true;
    term->from = operand_of(subgraph, node->inputs[0]);
    sizes->outer = sizes->inner = 1;
    for (int32_t d = 0; d < table->rank; d++) {
        if (d < axis)
            sizes->outer *= table->dims[d];
        else if (d > axis)
            sizes->inner *= table->dims[d];
    }
    sizes->rows = term->positions.count;
    return sizes->outer > 0 && sizes->inner > 0;
}

/* Adds what makes the value to the sum. */
static bool add_terms(const collage_subgraph *subgraph, uint32_t value, int depth,
                      struct lookup *out)
{
    const collage_value *result = subgraph->values[subgraph->outputs[0]];
    const collage_node *node = maker_of(subgraph, value);
    if (depth > DEPTH_MAX || subgraph->values[value]->dtype != COLLAGE_FLOAT32 ||
        !same_shape(subgraph->values[value], result))
        return false;
    if (node && strcmp(node->op_type, "Add") == 0)
        return node->input_count == 2 && add_terms(subgraph, node->inputs[0], depth + 1, out) &&
               add_terms(subgraph, node->inputs[1], depth + 1, out);
    if (out->count == TERMS_MAX)
        return false;
    struct term *term = &out->terms[out->count++];
    *term = (struct term){ .from = operand_of(subgraph, value) };
    if (!node)
        return true;
    struct lookup sizes = { 0 };
    if (strcmp(node->op_type, "Gather") != 0 || !read_gather(subgraph, node, &sizes, term))
        return false;
    bool fits = out->rows == 0 ||
                (out->outer == sizes.outer && out->rows == sizes.rows && out->inner == sizes.inner);
    out->outer = sizes.outer;
    out->rows = sizes.rows;
    out->inner = sizes.inner;
    return fits;
}

static bool read_sum(const collage_subgraph *subgraph, struct lookup *out)
{
    *out = (struct lookup){ .count = 0 };
    if (subgraph->output_count != 1)
        return false;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        for (uint32_t k = 0; k < node->input_count; k++)
            if (node->inputs[k] == COLLAGE_NO_VALUE)
                return false;
    }
    return add_terms(subgraph, subgraph->outputs[0], 0, out) && out->rows > 0;
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    (void)target;
    struct lookup lookup;
    if (read_sum(subgraph, &lookup))
        return true;
    fail(why, COLLAGE_ERROR_UNSUPPORTED,
         "%s is not among these kernels, or no sum of rows of float32 tables",
         subgraph->nodes[0]->op_type);
    return false;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant, collage_message *message)
{
    (void)variant;
    struct lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = lookup;
    if (!read_sum(request->subgraph, lookup))
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "not such a sub-graph");
    snprintf(kernel->implementation, sizeof kernel->implementation, "lookup, %zu terms",
             lookup->count);
    return COLLAGE_OK;
}

static bool check(const collage_kernel *kernel, const void *const *inputs, collage_message *message)
{
    const struct lookup *lookup = kernel->state;
    for (size_t t = 0; t < lookup->count; t++)
        if (!positions_check(&lookup->terms[t].positions, inputs, message))
            return false;
    return true;
}

struct job {
    const struct lookup *lookup;
    const void *const *inputs;
    float *to;
};

/* The row that a term adds to row k of all. */
static const float *row_of(const struct job *job, const struct term *term, int64_t k)
{
    const struct lookup *l = job->lookup;
    const float *from = operand_address(&term->from, job->inputs);
    if (term->positions.count == 0)
        return from + k * l->inner;
    const void *numbers = positions_address(&term->positions, job->inputs);
    const int64_t row = positions_at(&term->positions, numbers, k % l->rows);
    return from + (k / l->rows * term->positions.rows + row) * l->inner;
}

static void body(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    const struct lookup *l = job->lookup;
    int64_t begin, end;
    pool_share(l->outer * l->rows, thread, threads, &begin, &end);
    for (int64_t k = begin; k < end; k++) {
        float *to = job->to + k * l->inner;
        memcpy(to, row_of(job, &l->terms[0], k), (size_t)l->inner * sizeof *to);
        for (size_t t = 1; t < l->count; t++) {
            const float *from = row_of(job, &l->terms[t], k);
            for (int64_t e = 0; e < l->inner; e++)
                to[e] += from[e];
        }
    }
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    (void)scratch;
    struct job job = { kernel->state, inputs, outputs[0] };
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

static void destroy(collage_kernel *kernel)
{
    free(kernel->state);
}

extern const struct family lookup_family;
const struct family lookup_family = { .name = "lookup",
                                      .takes = takes,
                                      .compile = compile,
                                      .check = check,
                                      .run = run,
                                      .destroy = destroy };
