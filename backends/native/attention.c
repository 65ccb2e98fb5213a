/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.c: the family of attention: two products with a softmax between them, or the operator
 * Attention in its simple forms. A piece of work is a block of queries of one head
 * (simd/attention.h); operands are read with their strides, so that transposed ones need no copy.
 */
#include "simd/attention.h"

#include "family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 12, MAX_RANK = 4, BATCH = 0, HEAD, ROW, COLUMN };

/* A tensor, [batch][head][row][column], by strides; 0 where it broadcasts. */
struct port {
    uint32_t value;
    int64_t dims[MAX_RANK], strides[MAX_RANK];
};

struct step {
    enum attention_op op;
    float scalar;
    struct port mask;
};

struct reading {
    int64_t batch, heads, group; /* heads of queries that share one of keys */
    int64_t queries, keys, size, value_size;
    struct port q, k, v, y;
    bool causal, none_is_zero;
    uint32_t step_count;
    struct step steps[ATTENTION_STEPS];
};

struct attention {
    struct reading r;
    const struct attention_kernels *kernels;
    struct operand q, k, v, masks[ATTENTION_STEPS];
    int64_t blocks, block_queries; /* of a head */
    int64_t tile;                  /* keys at a time */
    int64_t scratch;               /* floats of a thread */
};

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

static bool is(const collage_node *node, const char *op)
{
    return strcmp(node->op_type, op) == 0;
}

/* ---- values and nodes ---- */

/* The node that makes a value; NULL: none of the sub-graph. */
static const collage_node *maker(const collage_subgraph *subgraph, uint32_t value)
{
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        if (node->output_count == 1 && node->outputs[0] == value)
            return node;
    }
    return NULL;
}

static uint32_t uses(const collage_subgraph *subgraph, uint32_t value)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        for (uint32_t k = 0; k < subgraph->nodes[n]->input_count; k++)
            count += subgraph->nodes[n]->inputs[k] == value;
    }
    return count;
}

/* Row-major, with ones in front. False: it is no such thing. */
static bool dense_port(struct port *port, const collage_subgraph *subgraph, uint32_t value)
{
    const collage_value *info = subgraph->values[value];
    int64_t step = 1;
    if (info->rank > MAX_RANK || info->bytes == 0)
        return false;
    port->value = value;
    for (int32_t d = MAX_RANK - 1; d >= 0; d--) {
        int32_t own = d - (MAX_RANK - info->rank);
        port->dims[d] = own < 0 ? 1 : info->dims[own];
        port->strides[d] = port->dims[d] == 1 ? 0 : step;
        step *= port->dims[d];
    }
    return true;
}

/* An operand from outside, or what a Transpose makes of one; `nodes` counts the nodes passed. */
static bool read_port(struct port *port, const collage_subgraph *subgraph, uint32_t value,
                      uint32_t *nodes)
{
    const collage_node *node = maker(subgraph, value);
    if (!node)
        return subgraph->values[value]->dtype == COLLAGE_FLOAT32 &&
               value_is_outside(subgraph, value) && dense_port(port, subgraph, value);
    if (!is(node, "Transpose") || node->input_count != 1 || node->inputs[0] == COLLAGE_NO_VALUE ||
        maker(subgraph, node->inputs[0]) || uses(subgraph, value) != 1)
        return false;
    struct port from;
    const collage_attribute *perm = collage_node_attribute(node, "perm", COLLAGE_ATTRIBUTE_INTS);
    int32_t rank = subgraph->values[value]->rank;
    if (!read_port(&from, subgraph, node->inputs[0], nodes) ||
        subgraph->values[node->inputs[0]]->rank != rank || (perm && perm->count != (uint32_t)rank))
        return false;
    *port = from;
    ++*nodes;
    for (int32_t d = 0; d < rank; d++) {
        int64_t axis = perm ? perm->ints[d] : rank - 1 - d;
        if (axis < 0 || axis >= rank)
            return false;
        port->dims[MAX_RANK - rank + d] = from.dims[MAX_RANK - rank + axis];
        port->strides[MAX_RANK - rank + d] = from.strides[MAX_RANK - rank + axis];
    }
    return true;
}

/* Does a port broadcast to [batch][heads] with these rows and columns? */
static bool fits(const struct port *port, const struct reading *r, int64_t rows, int64_t columns)
{
    return (port->dims[BATCH] == 1 || port->dims[BATCH] == r->batch) &&
           (port->dims[HEAD] == 1 || port->dims[HEAD] == r->heads) && port->dims[ROW] == rows &&
           port->dims[COLUMN] == columns;
}

static bool is_scalar(const collage_subgraph *subgraph, uint32_t value, float *out)
{
    const collage_value *info = subgraph->values[value];
    if (!info->data || info->dtype != COLLAGE_FLOAT32 || info->bytes != sizeof(float) ||
        info->rank > MAX_RANK)
        return false;
    memcpy(out, info->data, sizeof *out);
    return true;
}

static bool add_step(struct reading *r, const struct step *step)
{
    if (r->step_count == ATTENTION_STEPS)
        return false;
    /* Read from the softmax towards the products: the later come first. */
    memmove(r->steps + 1, r->steps, r->step_count * sizeof r->steps[0]);
    r->steps[0] = *step;
    r->step_count++;
    return true;
}

/* ---- the parts ---- */

static bool read_mask(struct step *step, const struct reading *r, const collage_subgraph *subgraph,
                      uint32_t value, collage_dtype dtype)
{
    struct port *mask = &step->mask;
    return subgraph->values[value]->dtype == dtype && value_is_outside(subgraph, value) &&
           dense_port(mask, subgraph, value) &&
           fits(mask, r, mask->dims[ROW] == 1 ? 1 : r->queries,
                mask->dims[COLUMN] == 1 ? 1 : r->keys);
}

/* A node between the products: what it does to the scores `made`, and from which (`*from`). */
static bool read_step(struct reading *r, const collage_subgraph *subgraph, const collage_node *node,
                      uint32_t *from)
{
    struct step step = { .op = ATTENTION_SCALE };
    bool where = is(node, "Where");
    if (node->input_count != (where ? 3 : 2))
        return false;
    for (uint32_t k = 0; k < node->input_count; k++) {
        if (node->inputs[k] == COLLAGE_NO_VALUE)
            return false;
    }
    uint32_t a = node->inputs[where ? 1 : 0], b = node->inputs[where ? 2 : 1];
    bool left = maker(subgraph, a) != NULL; /* the scores are the left operand */
    uint32_t scores = left ? a : b, other = left ? b : a;
    bool scalar = is_scalar(subgraph, other, &step.scalar);
    if (!maker(subgraph, scores))
        return false;
    *from = scores;
    if (where) {
        step.op = left ? ATTENTION_KEEP : ATTENTION_DROP;
        return scalar && read_mask(&step, r, subgraph, node->inputs[0], COLLAGE_BOOL) &&
               add_step(r, &step);
    }
    if (is(node, "Div")) {
        if (!scalar || !left)
            return false;
        step.scalar = 1.0f / step.scalar;
    } else if (is(node, "Mul")) {
        if (!scalar)
            return false;
    } else if (is(node, "Add")) {
        step.op = scalar ? ATTENTION_SHIFT : ATTENTION_ADD;
        if (!scalar && !read_mask(&step, r, subgraph, other, COLLAGE_FLOAT32))
            return false;
    } else {
        return false;
    }
    return add_step(r, &step);
}

/* The value and the scalar that it is multiplied by on its way into the first product. */
static bool read_scaled(struct reading *r, const collage_subgraph *subgraph, uint32_t *value,
                        uint32_t *nodes)
{
    const collage_node *node = maker(subgraph, *value);
    struct step step = { .op = ATTENTION_SCALE };
    if (!node || (!is(node, "Mul") && !is(node, "Div")) || node->input_count != 2)
        return true;
    bool left = is_scalar(subgraph, node->inputs[0], &step.scalar) && is(node, "Mul");
    if ((!left && !is_scalar(subgraph, node->inputs[1], &step.scalar)) ||
        uses(subgraph, *value) != 1)
        return false;
    if (is(node, "Div"))
        step.scalar = 1.0f / step.scalar;
    *value = node->inputs[left ? 1 : 0];
    ++*nodes;
    return add_step(r, &step);
}

static bool is_product(const collage_subgraph *subgraph, const collage_node *node)
{
    if (!node || !is(node, "MatMul") || node->input_count != 2)
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        if (node->inputs[k] == COLLAGE_NO_VALUE || subgraph->values[node->inputs[k]]->rank < 2)
            return false;
    }
    return true;
}

/* Strides that the kernels can read. */
static bool check_strides(const struct reading *r, collage_message *why)
{
    bool fine = r->size == 1 || r->q.strides[COLUMN] == 1;
    fine = fine && (r->value_size == 1 || r->v.strides[COLUMN] == 1);
    fine = fine && (r->value_size == 1 || r->y.strides[COLUMN] == 1);
    fine = fine &&
           (r->k.strides[COLUMN] == 1 || r->k.strides[ROW] == 1 || r->keys == 1 || r->size == 1);
    return fine || refuse(why, "the elements of a query or of a value are not adjacent");
}

/* The output, perhaps behind a Transpose. */
static bool read_output(struct reading *r, const collage_subgraph *subgraph, uint32_t *product,
                        uint32_t *nodes)
{
    const collage_node *node = maker(subgraph, subgraph->outputs[0]);
    if (!dense_port(&r->y, subgraph, subgraph->outputs[0]))
        return false;
    *product = subgraph->outputs[0];
    if (!node || !is(node, "Transpose"))
        return true;
    const collage_attribute *perm = collage_node_attribute(node, "perm", COLLAGE_ATTRIBUTE_INTS);
    int32_t rank = subgraph->values[subgraph->outputs[0]]->rank;
    struct port to = r->y;
    if (!perm || perm->count != (uint32_t)rank || node->input_count != 1)
        return false;
    for (int32_t d = 0; d < rank; d++) {
        int64_t axis = perm->ints[d];
        if (axis < 0 || axis >= rank)
            return false;
        r->y.dims[MAX_RANK - rank + axis] = to.dims[MAX_RANK - rank + d];
        r->y.strides[MAX_RANK - rank + axis] = to.strides[MAX_RANK - rank + d];
    }
    *product = node->inputs[0];
    ++*nodes;
    return *product != COLLAGE_NO_VALUE && uses(subgraph, *product) == 1;
}

static bool read_chain(struct reading *r, const collage_subgraph *subgraph, collage_message *why)
{
    uint32_t nodes = 0, value;
    if (!read_output(r, subgraph, &value, &nodes))
        return refuse(why, "the output has no layout that these kernels write");
    const collage_node *second = maker(subgraph, value);
    if (!is_product(subgraph, second))
        return refuse(why, "there are no weights times values");
    const collage_node *softmax = maker(subgraph, second->inputs[0]);
    if (!softmax || !is(softmax, "Softmax") || softmax->input_count != 1 ||
        softmax->inputs[0] == COLLAGE_NO_VALUE || uses(subgraph, second->inputs[0]) != 1)
        return refuse(why, "there is no softmax between two products");
    const collage_value *weights = subgraph->values[softmax->inputs[0]];
    int64_t axis = collage_node_int(softmax, "axis", -1);
    if (weights->rank < 2 || (axis != -1 && axis != weights->rank - 1) ||
        !read_port(&r->v, subgraph, second->inputs[1], &nodes))
        return refuse(why, "the softmax is not over the keys, or the values are no operand");
    r->batch = r->y.dims[BATCH];
    r->heads = r->y.dims[HEAD];
    r->queries = r->y.dims[ROW];
    r->value_size = r->y.dims[COLUMN];
    r->keys = weights->dims[weights->rank - 1];
    r->group = 1;
    nodes += 2;
    value = softmax->inputs[0];
    const collage_node *node = maker(subgraph, value);
    while (node && !is(node, "MatMul")) {
        if (uses(subgraph, value) != 1 || !read_step(r, subgraph, node, &value))
            return refuse(why, "the scores are not made by steps that these kernels take");
        nodes++;
        node = maker(subgraph, value);
    }
    if (!is_product(subgraph, node) || uses(subgraph, value) != 1)
        return refuse(why, "there is no product of queries and keys");
    uint32_t q = node->inputs[0];
    nodes++;
    struct port k;
    if (!read_scaled(r, subgraph, &q, &nodes) || !read_port(&r->q, subgraph, q, &nodes) ||
        !read_port(&k, subgraph, node->inputs[1], &nodes))
        return refuse(why, "queries or keys are no operands");
    r->k = k; /* [size][keys]: read as [keys][size] */
    r->k.dims[ROW] = k.dims[COLUMN];
    r->k.dims[COLUMN] = k.dims[ROW];
    r->k.strides[ROW] = k.strides[COLUMN];
    r->k.strides[COLUMN] = k.strides[ROW];
    r->size = r->q.dims[COLUMN];
    if (nodes != subgraph->node_count || !fits(&r->q, r, r->queries, r->size) ||
        !fits(&r->k, r, r->keys, r->size) || !fits(&r->v, r, r->keys, r->value_size))
        return refuse(why, "the shapes of queries, keys and values do not fit");
    return true;
}

/* ---- the operator ---- */

/* Rank 3: the heads lie side by side in a row. */
static bool read_heads(struct port *port, const collage_subgraph *subgraph, uint32_t value,
                       int64_t heads)
{
    const collage_value *info = subgraph->values[value];
    if (info->dtype != COLLAGE_FLOAT32 || !dense_port(port, subgraph, value))
        return false;
    if (info->rank == 4)
        return true;
    if (info->rank != 3 || heads < 1 || info->dims[2] % heads != 0)
        return false;
    int64_t size = info->dims[2] / heads, row = info->dims[2];
    *port = (struct port){ .value = value,
                           .dims = { info->dims[0], heads, info->dims[1], size },
                           .strides = { info->dims[1] * row, size, row, 1 } };
    return true;
}

static bool read_operator_mask(struct reading *r, const collage_subgraph *subgraph, uint32_t value)
{
    struct step step = { .op = ATTENTION_ADD, .scalar = -INFINITY };
    collage_dtype dtype = subgraph->values[value]->dtype;
    if (dtype == COLLAGE_BOOL)
        step.op = ATTENTION_KEEP;
    else if (dtype != COLLAGE_FLOAT32)
        return false;
    /* A mask of fewer keys hides the others: none of these. */
    return read_mask(&step, r, subgraph, value, dtype) && step.mask.dims[COLUMN] == r->keys &&
           add_step(r, &step);
}

static bool read_operator(struct reading *r, const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    for (uint32_t k = 1; k < node->output_count; k++) {
        if (node->outputs[k] != COLLAGE_NO_VALUE)
            return refuse(why, "Attention gives out no keys, values and scores");
    }
    for (uint32_t k = 4; k < node->input_count; k++) {
        if (node->inputs[k] != COLLAGE_NO_VALUE)
            return refuse(why, "Attention with a past or lengths is not among these kernels");
    }
    if (subgraph->node_count != 1 || node->input_count < 3 ||
        collage_node_float(node, "softcap", 0) != 0.0f ||
        collage_node_int(node, "left_window_size", -1) != -1 ||
        collage_node_int(node, "right_window_size", -1) != -1)
        return refuse(why, "Attention with a window or a soft cap is not among these kernels");
    int64_t kv = collage_node_int(node, "kv_num_heads", 0);
    int64_t own = collage_node_int(node, "q_num_heads", 0);
    for (uint32_t k = 0; k < 3; k++) {
        if (node->inputs[k] == COLLAGE_NO_VALUE)
            return refuse(why, "Attention has no operands");
    }
    if (!read_heads(&r->q, subgraph, node->inputs[0], own) ||
        !read_heads(&r->k, subgraph, node->inputs[1], kv) ||
        !read_heads(&r->v, subgraph, node->inputs[2], kv) ||
        !read_heads(&r->y, subgraph, node->outputs[0], own) || r->k.dims[HEAD] < 1 ||
        r->q.dims[HEAD] % r->k.dims[HEAD] != 0)
        return refuse(why, "the shapes of Attention are not among these kernels");
    r->batch = r->q.dims[BATCH];
    r->heads = r->q.dims[HEAD];
    r->queries = r->q.dims[ROW];
    r->keys = r->k.dims[ROW];
    r->size = r->q.dims[COLUMN];
    r->value_size = r->v.dims[COLUMN];
    r->group = r->heads / r->k.dims[HEAD];
    r->causal = collage_node_int(node, "is_causal", 0) != 0;
    r->none_is_zero = true;
    bool fine = r->k.dims[BATCH] == r->batch && r->v.dims[BATCH] == r->batch &&
                r->v.dims[HEAD] == r->k.dims[HEAD] && r->v.dims[ROW] == r->keys &&
                r->k.dims[COLUMN] == r->size;
    if (fine && node->input_count > 3 && node->inputs[3] != COLLAGE_NO_VALUE)
        fine = read_operator_mask(r, subgraph, node->inputs[3]);
    struct step scale = { .op = ATTENTION_SCALE };
    scale.scalar = collage_node_float(node, "scale", (float)(1 / sqrt((double)r->size)));
    return (fine && add_step(r, &scale)) || refuse(why, "the mask of Attention does not fit");
}

static bool read(struct reading *r, const collage_subgraph *subgraph, collage_message *why)
{
    *r = (struct reading){ 0 };
    if (subgraph->node_count > MAX_NODES || subgraph->output_count != 1)
        return refuse(why, "this is no attention");
    bool fine = is(subgraph->nodes[0], "Attention") ? read_operator(r, subgraph, why)
                                                    : read_chain(r, subgraph, why);
    return fine && check_strides(r, why);
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    (void)target;
    struct reading reading;
    return read(&reading, subgraph, why);
}

/* ---- compiling ---- */

enum { QUERIES, KEYS };

/* Blocks of queries, of about the same size; small enough for the threads to share. */
static void cut_blocks(struct attention *a, int32_t threads, const int64_t *schedule)
{
    const struct reading *r = &a->r;
    a->tile = schedule[KEYS] > 0 ? schedule[KEYS] : ATTENTION_KEYS;
    if (schedule[QUERIES] > 0) {
        a->block_queries = schedule[QUERIES];
        a->blocks = (r->queries + a->block_queries - 1) / a->block_queries;
        return;
    }
    a->blocks = (r->queries + ATTENTION_QUERIES - 1) / ATTENTION_QUERIES;
    while (a->blocks * r->batch * r->heads < (int64_t)2 * threads &&
           r->queries / a->blocks > ATTENTION_ROWS && threads > 1)
        a->blocks++;
    a->block_queries = (r->queries + a->blocks - 1) / a->blocks;
}

/* Queries of a block and keys of a tile. */
static void space(const collage_subgraph *subgraph, const collage_target *target,
                  const char *variant, int32_t threads, struct schedule_space *out)
{
    static const int64_t none[SCHEDULE_AXES] = { -1, -1, -1 };
    static const int64_t queries[] = { 24, 48, 72, 96 }, keys[] = { 64, 128, 192 };
    (void)target;
    (void)variant;
    struct attention own = { 0 };
    if (!read(&own.r, subgraph, NULL))
        return;
    cut_blocks(&own, threads, none);
    struct schedule_axis *axis = schedule_add_axis(out, "queries", NULL);
    for (size_t k = 0; k < sizeof queries / sizeof queries[0]; k++) {
        if (queries[k] <= own.r.queries && queries[k] != own.block_queries)
            schedule_add_value(axis, queries[k]);
    }
    axis = schedule_add_axis(out, "keys", NULL);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        if (keys[k] < own.r.keys)
            schedule_add_value(axis, keys[k]);
    }
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant, collage_message *message)
{
    (void)variant;
    struct attention *a = calloc(1, sizeof *a);
    if (!a)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = a;
    if (!read(&a->r, request->subgraph, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    a->kernels = ISA_PICK(kernel->isa, attention_kernels);
    a->q = operand_of(request->subgraph, a->r.q.value);
    a->k = operand_of(request->subgraph, a->r.k.value);
    a->v = operand_of(request->subgraph, a->r.v.value);
    for (uint32_t s = 0; s < a->r.step_count; s++) {
        if (a->r.steps[s].op >= ATTENTION_ADD)
            a->masks[s] = operand_of(request->subgraph, a->r.steps[s].mask.value);
    }
    cut_blocks(a, kernel->threads, kernel->schedule);
    a->scratch = (attention_scratch(a->r.size, a->r.value_size) + 15) / 16 * 16;
    kernel->scratch_bytes = (uint64_t)kernel->threads * (uint64_t)a->scratch * sizeof(float);
    const long long blocks = a->blocks * a->r.batch * a->r.heads;
    snprintf(kernel->implementation, sizeof kernel->implementation,
             "%lld blocks of %lld queries, %u steps", blocks, (long long)a->block_queries,
             (unsigned)a->r.step_count);
    return COLLAGE_OK;
}

/* ---- running ---- */

struct job {
    const struct attention *a;
    const float *q, *k, *v;
    const void *masks[ATTENTION_STEPS];
    float *y, *scratch;
    atomic_llong next;
};

static int64_t offset(const struct port *port, int64_t batch, int64_t head, int64_t row)
{
    return batch * port->strides[BATCH] + head * port->strides[HEAD] + row * port->strides[ROW];
}

static void run_block(const struct job *job, float *scratch, int64_t piece)
{
    const struct attention *a = job->a;
    const struct reading *r = &a->r;
    int64_t query = piece % a->blocks * a->block_queries, head = piece / a->blocks;
    int64_t batch = head / r->heads;
    head %= r->heads;
    int64_t shared = head / r->group, rest = r->queries - query;
    if (rest <= 0)
        return;
    struct attention_block block = {
        .q = job->q + offset(&r->q, batch, head, query),
        .k = job->k + offset(&r->k, batch, shared, 0),
        .v = job->v + offset(&r->v, batch, shared, 0),
        .y = job->y + offset(&r->y, batch, head, query),
        .q_row = r->q.strides[ROW],
        .y_row = r->y.strides[ROW],
        .k_key = r->k.strides[ROW],
        .k_size = r->k.strides[COLUMN],
        .v_row = r->v.strides[ROW],
        .queries = rest < a->block_queries ? rest : a->block_queries,
        .keys = r->keys,
        .size = r->size,
        .value_size = r->value_size,
        .tile = a->tile,
        .first = query,
        .causal = r->causal,
        .none_is_zero = r->none_is_zero,
        .step_count = r->step_count,
        .scratch = scratch,
    };
    for (uint32_t s = 0; s < r->step_count; s++) {
        const struct step *step = &r->steps[s];
        struct attention_step *to = &block.steps[s];
        *to = (struct attention_step){ .op = step->op, .scalar = step->scalar };
        if (step->op < ATTENTION_ADD)
            continue;
        int64_t at = offset(&step->mask, batch, head, query);
        int64_t bytes = step->op == ATTENTION_ADD ? (int64_t)sizeof(float) : 1;
        to->mask = (const char *)job->masks[s] + at * bytes;
        to->row = step->mask.strides[ROW];
        to->key = step->mask.strides[COLUMN];
    }
    a->kernels->block(&block);
}

static void body(void *context, int32_t thread, int32_t threads)
{
    struct job *job = context;
    const struct attention *a = job->a;
    int64_t count = a->blocks * a->r.batch * a->r.heads, piece;
    (void)threads;
    while (pool_next(&job->next, count, &piece))
        run_block(job, job->scratch + thread * a->scratch, piece);
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    const struct attention *a = kernel->state;
    struct job job = { .a = a,
                       .q = operand_address(&a->q, inputs),
                       .k = operand_address(&a->k, inputs),
                       .v = operand_address(&a->v, inputs),
                       .y = outputs[0],
                       .scratch = scratch };
    for (uint32_t s = 0; s < a->r.step_count; s++) {
        if (a->r.steps[s].op >= ATTENTION_ADD)
            job.masks[s] = operand_address(&a->masks[s], inputs);
    }
    atomic_init(&job.next, 0);
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

static void destroy(collage_kernel *kernel)
{
    free(kernel->state);
}

extern const struct family attention_family;
const struct family attention_family = { .name = "attention",
                                         .takes = takes,
                                         .space = space,
                                         .compile = compile,
                                         .run = run,
                                         .destroy = destroy };
