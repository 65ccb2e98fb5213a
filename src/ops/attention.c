/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.c: Attention: the products of queries with keys, scaled; their softmax over the keys;
 * the sums of the values with those weights. Several heads of queries may share one of keys and
 * values. Past keys and values come before the new ones. All is computed in double, one query at a
 * time, so softmax_precision is checked and otherwise without effect.
 */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "ops/call.h"
#include "ops/heads.h"
#include "ops/walk.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };
/* What SCORES holds: the scaled products, after the soft cap, with the bias, after the softmax. */
enum { MODE_PRODUCT, MODE_CAPPED, MODE_BIASED, MODE_WEIGHTS, MODES };
enum { BATCH, HEAD, QUERY, KEY, COORDINATES };

struct attention {
    struct heads q, k, v;
    int64_t past, total; /* keys: those of the past, and all */
    int64_t group;       /* heads of queries that share a head of keys */
    double scale, softcap;
    int64_t left, right; /* how far from its own position a query sees; -1: to the end */
    int64_t mode;
    bool causal;

    const struct tensor *mask; /* NULL if there is none */
    int64_t mask_keys;         /* keys after these are hidden */
    int64_t mask_steps[COORDINATES];

    /* Of the batch that is being computed: the position of the first query, and how many keys are
     * no padding. */
    int64_t offset, valid;
    /* One block: keys, [total][k.size], and values, [total][v.size], of a head; a query, [k.size];
     * its scores, then weights, [total]. */
    double *keys, *values, *query, *scores;
};

/* ---- what the node says ---- */

static collage_status read_attributes(const struct op_call *call, struct attention *a,
                                      struct error *error)
{
    const collage_node *node = call->node;
    double usual = a->q.size > 0 ? 1 / sqrt((double)a->q.size) : 1;
    bool given = collage_node_attribute(node, "scale", COLLAGE_ATTRIBUTE_FLOAT) != NULL;
    a->scale = given ? (double)collage_node_float(node, "scale", 1) : usual;
    a->softcap = (double)collage_node_float(node, "softcap", 0);
    a->causal = collage_node_int(node, "is_causal", 0) != 0;
    a->left = collage_node_int(node, "left_window_size", -1);
    a->right = collage_node_int(node, "right_window_size", -1);
    a->mode = collage_node_int(node, "qk_matmul_output_mode", 0);
    int64_t precision = collage_node_int(node, "softmax_precision", COLLAGE_FLOAT32);
    /* Queries and keys are each scaled by its root. */
    if (!(a->scale >= 0))
        return shape_error(error, "scale %g is not possible", a->scale);
    if (!(a->softcap >= 0))
        return shape_error(error, "softcap %g is not possible", a->softcap);
    if (a->left < -1 || a->right < -1)
        return shape_error(error,
                           "a window of %" PRId64 " to the left, %" PRId64 " to the right "
                           "is not possible",
                           a->left, a->right);
    if (a->mode < 0 || a->mode >= MODES)
        return shape_error(error, "qk_matmul_output_mode %" PRId64 " is unknown", a->mode);
    if (precision < 0 || precision > COLLAGE_BFLOAT16 || !dtype_is_float((collage_dtype)precision))
        return shape_error(error, "softmax_precision %" PRId64 " is no type of real numbers",
                           precision);
    return COLLAGE_OK;
}

/* For inputs of rank 4 the numbers of heads are in the shapes. */
static collage_status check_head_counts(const struct op_call *call, const struct attention *a,
                                        struct error *error)
{
    int64_t q = collage_node_int(call->node, "q_num_heads", a->q.heads);
    int64_t k = collage_node_int(call->node, "kv_num_heads", a->k.heads);
    if (q != a->q.heads || k != a->k.heads)
        return shape_error(error, "q_num_heads and kv_num_heads do not fit the inputs");
    bool shared = a->k.heads > 0 ? a->q.heads % a->k.heads == 0 : a->q.heads == 0;
    if (!shared)
        return shape_error(error,
                           "%" PRId64 " heads of queries cannot share %" PRId64 " heads of keys",
                           a->q.heads, a->k.heads);
    return COLLAGE_OK;
}

static collage_status read_operands(const struct op_call *call, struct attention *a,
                                    struct error *error)
{
    collage_status status = heads_read(call, Q, "q_num_heads", &a->q, error);
    if (status == COLLAGE_OK)
        status = heads_read(call, K, "kv_num_heads", &a->k, error);
    if (status == COLLAGE_OK)
        status = heads_read(call, V, "kv_num_heads", &a->v, error);
    if (status != COLLAGE_OK)
        return status;
    const struct heads *q = &a->q, *k = &a->k, *v = &a->v;
    int32_t rank = call->inputs[Q]->rank;
    bool fits = call->inputs[K]->rank == rank && call->inputs[V]->rank == rank;
    fits = fits && q->batch == k->batch && q->size == k->size;
    fits = fits && k->batch == v->batch && k->heads == v->heads && k->rows == v->rows;
    if (!fits) {
        char text[3][128];
        for (int i = 0; i < 3; i++)
            dims_print(call->inputs[Q + i]->dims, call->inputs[Q + i]->rank, text[i],
                       sizeof text[i]);
        return shape_error(error, "Q, K and V of shapes %s, %s and %s do not fit", text[0], text[1],
                           text[2]);
    }
    a->group = k->heads > 0 ? q->heads / k->heads : 0;
    return check_head_counts(call, a, error);
}

/* now: the keys or values that come after those of input k. */
static collage_status check_past(const struct op_call *call, uint32_t k, const struct heads *now,
                                 const struct tensor *type, int64_t rows, struct error *error)
{
    const struct tensor *past = call->inputs[k];
    bool fits = past->rank == 4 && past->dtype == type->dtype;
    fits = fits && past->dims[0] == now->batch && past->dims[1] == now->heads;
    fits = fits && past->dims[2] == rows && past->dims[3] == now->size;
    if (fits)
        return COLLAGE_OK;
    return shape_error(error,
                       "input %" PRIu32 " must be of type %s and of shape %" PRId64 "x%" PRId64
                       "x%" PRId64 "x%" PRId64,
                       k, dtype_name(type->dtype), now->batch, now->heads, rows, now->size);
}

static collage_status read_past(const struct op_call *call, struct attention *a,
                                struct error *error)
{
    const struct tensor *keys = call_input(call, PAST_KEY), *values = call_input(call, PAST_VALUE);
    const struct tensor *lengths = call_input(call, LENGTHS);
    if ((keys != NULL) != (values != NULL))
        return shape_error(error, "past keys and past values go together");
    if (keys && lengths)
        return shape_error(error, "past keys and nonpad_kv_seqlen exclude each other");
    if (lengths &&
        (lengths->dtype != COLLAGE_INT64 || lengths->rank != 1 || lengths->dims[0] != a->q.batch))
        return shape_error(error, "nonpad_kv_seqlen must be a vector of %" PRId64 " int64",
                           a->q.batch);
    a->total = a->k.rows;
    if (!keys)
        return COLLAGE_OK;
    a->past = keys->rank == 4 ? keys->dims[2] : 0;
    a->total += a->past;
    collage_status status = check_past(call, PAST_KEY, &a->k, call->inputs[K], a->past, error);
    if (status == COLLAGE_OK)
        status = check_past(call, PAST_VALUE, &a->v, call->inputs[V], a->past, error);
    return status;
}

/* The mask broadcasts to [batch][head][query][key], but for its last dimension: what it lacks there
 * is hidden, even if it has one key only. */
static collage_status read_mask(const struct op_call *call, struct attention *a,
                                struct error *error)
{
    const struct tensor *mask = call_input(call, MASK);
    const int64_t most[COORDINATES] = { a->q.batch, a->q.heads, a->q.rows, a->total };
    a->mask = mask;
    if (!mask)
        return COLLAGE_OK;
    if (mask->dtype != COLLAGE_BOOL && !dtype_is_float(mask->dtype))
        return shape_error(error, "the mask cannot be of type %s", dtype_name(mask->dtype));
    bool fits = mask->rank >= 1 && mask->rank <= COORDINATES;
    int64_t steps[COLLAGE_MAX_RANK] = { 0 };
    dense_strides(mask->dims, mask->rank, steps);
    for (int32_t d = 0; d < mask->rank && fits; d++) {
        int32_t to = COORDINATES - mask->rank + d;
        if (to == KEY || mask->dims[d] == most[to])
            a->mask_steps[to] = steps[d];
        else
            fits = mask->dims[d] == 1;
    }
    if (fits)
        a->mask_keys = mask->dims[mask->rank - 1];
    if (fits && a->mask_keys <= a->total)
        return COLLAGE_OK;
    char from[160], to[160];
    dims_print(mask->dims, mask->rank, from, sizeof from);
    dims_print(most, COORDINATES, to, sizeof to);
    return shape_error(error, "a mask of shape %s does not broadcast to %s", from, to);
}

static collage_status read(const struct op_call *call, struct attention *out, struct error *error)
{
    *out = (struct attention){ 0 };
    collage_status status = read_operands(call, out, error);
    if (status == COLLAGE_OK)
        status = read_attributes(call, out, error);
    if (status == COLLAGE_OK)
        status = read_past(call, out, error);
    if (status == COLLAGE_OK)
        status = read_mask(call, out, error);
    return status;
}

collage_status infer_attention(const struct op_call *call, struct error *error)
{
    const struct tensor *q = call->inputs[Q], *k = call->inputs[K], *v = call->inputs[V];
    struct attention a;
    collage_status status = call_check_type(call, Q, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = call_check_type(call, V, TYPES_FLOAT, error);
    if (status == COLLAGE_OK && q->dtype != k->dtype)
        status = shape_error(error, "Q and K are of types %s and %s", dtype_name(q->dtype),
                             dtype_name(k->dtype));
    if (status == COLLAGE_OK)
        status = read(call, &a, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { .rank = 4, .dims = { a.q.batch, a.q.heads, a.q.rows, a.v.size } };
    if (q->rank == 3) {
        y = (struct tensor){ .rank = 3, .dims = { a.q.batch, a.q.rows } };
        if (__builtin_mul_overflow(a.q.heads, a.v.size, &y.dims[2]))
            return shape_error(error, "the heads of the output are too large");
    }
    struct tensor keys = { .rank = 4, .dims = { a.k.batch, a.k.heads, a.total, a.k.size } };
    struct tensor values = { .rank = 4, .dims = { a.v.batch, a.v.heads, a.total, a.v.size } };
    struct tensor scores = { .rank = 4, .dims = { a.q.batch, a.q.heads, a.q.rows, a.total } };
    call_set_output(call, Y, q->dtype, &y);
    call_set_output(call, PRESENT_KEY, q->dtype, &keys);
    call_set_output(call, PRESENT_VALUE, v->dtype, &values);
    call_set_output(call, SCORES, q->dtype, &scores);
    return COLLAGE_OK;
}

/* ---- computing ---- */

/* Writes to an output, if it is wanted. */
static void put(const struct op_call *call, uint32_t output, int64_t at, const double *from,
                int64_t count)
{
    if (output >= call->output_count || !call->outputs[output].data)
        return;
    for (int64_t i = 0; i < count; i++)
        tensor_set(&call->outputs[output], at + i, from[i]);
}

/* The keys or values of a head, those of the past first. */
static void widen_head(const struct tensor *past, int64_t past_rows, const struct tensor *now,
                       const struct heads *heads, const int64_t *at, double *to)
{
    int64_t past_count = past_rows * heads->size;
    int64_t past_start = (at[BATCH] * heads->heads + at[HEAD]) * past_count;
    int64_t start = at[BATCH] * heads->batch_step + at[HEAD] * heads->head_step;
    for (int64_t i = 0; i < past_count; i++)
        *to++ = tensor_get(past, past_start + i);
    for (int64_t r = 0; r < heads->rows; r++)
        for (int64_t c = 0; c < heads->size; c++)
            *to++ = tensor_get(now, start + r * heads->row_step + c);
}

/* What is added to a score: -infinity where the query does not see the key. */
static double bias_at(const struct attention *a, const int64_t *at)
{
    const double hidden = (double)-INFINITY;
    int64_t back = a->offset + at[QUERY] - at[KEY]; /* from the query's position to the key's */
    bool sees = at[KEY] < a->valid && (!a->causal || back >= 0);
    sees = sees && (a->left < 0 || back <= a->left) && (a->right < 0 || -back <= a->right);
    if (!sees || (a->mask && at[KEY] >= a->mask_keys))
        return hidden;
    if (!a->mask)
        return 0;
    int64_t i = 0;
    for (int d = 0; d < COORDINATES; d++)
        i += at[d] * a->mask_steps[d];
    if (a->mask->dtype == COLLAGE_BOOL)
        return tensor_get_int(a->mask, i) ? 0 : hidden;
    return tensor_get(a->mask, i);
}

/* The scores of a query; false if it sees no key. */
static bool score(const struct op_call *call, const struct attention *a, int64_t *at)
{
    int64_t row = (at[BATCH] * a->q.heads + at[HEAD]) * a->q.rows + at[QUERY];
    bool sees = false;
    for (at[KEY] = 0; at[KEY] < a->total; at[KEY]++) {
        const double *key = a->keys + at[KEY] * a->k.size;
        double product = 0;
        for (int64_t c = 0; c < a->k.size; c++)
            product += a->query[c] * key[c];
        product *= a->scale;
        double capped = a->softcap > 0 ? a->softcap * tanh(product / a->softcap) : product;
        double bias = bias_at(a, at), biased = capped + bias;
        sees = sees || bias != (double)-INFINITY;
        a->scores[at[KEY]] = biased;
        double shown = a->mode == MODE_PRODUCT ? product : a->mode == MODE_CAPPED ? capped : biased;
        if (a->mode != MODE_WEIGHTS)
            put(call, SCORES, row * a->total + at[KEY], &shown, 1);
    }
    return sees;
}

/* Scores become weights: their softmax, or nothing at all for a query that sees no key. */
static void weigh(const struct attention *a, bool sees)
{
    double greatest = (double)-INFINITY, sum = 0;
    for (int64_t k = 0; k < a->total; k++)
        if (a->scores[k] > greatest || isnan(a->scores[k]))
            greatest = a->scores[k];
    for (int64_t k = 0; k < a->total; k++) {
        bool none = !sees || greatest == (double)-INFINITY;
        a->scores[k] = none ? 0 : exp(a->scores[k] - greatest);
        sum += a->scores[k];
    }
    for (int64_t k = 0; k < a->total; k++)
        a->scores[k] = sum == 0 ? 0 : a->scores[k] / sum;
}

static void run_query(const struct op_call *call, const struct attention *a, int64_t *at)
{
    struct heads y = heads_split(&call->outputs[Y], a->q.heads);
    int64_t from = at[BATCH] * a->q.batch_step + at[HEAD] * a->q.head_step;
    int64_t to = at[BATCH] * y.batch_step + at[HEAD] * y.head_step;
    for (int64_t c = 0; c < a->q.size; c++)
        a->query[c] = tensor_get(call->inputs[Q], from + at[QUERY] * a->q.row_step + c);
    bool sees = score(call, a, at);
    weigh(a, sees);
    int64_t row = (at[BATCH] * a->q.heads + at[HEAD]) * a->q.rows + at[QUERY];
    if (a->mode == MODE_WEIGHTS)
        put(call, SCORES, row * a->total, a->scores, a->total);
    for (int64_t c = 0; c < a->v.size; c++) {
        double sum = 0;
        for (int64_t k = 0; k < a->total && sees; k++)
            sum += a->scores[k] * a->values[k * a->v.size + c];
        put(call, Y, to + at[QUERY] * y.row_step + c, &sum, 1);
    }
}

/* A head of keys and values, and the heads of queries that share it. at: batch, and that head. */
static void run_head(const struct op_call *call, const struct attention *a, int64_t *at)
{
    int64_t head = at[HEAD], rows = (at[BATCH] * a->k.heads + head) * a->total;
    widen_head(call_input(call, PAST_KEY), a->past, call->inputs[K], &a->k, at, a->keys);
    widen_head(call_input(call, PAST_VALUE), a->past, call->inputs[V], &a->v, at, a->values);
    put(call, PRESENT_KEY, rows * a->k.size, a->keys, a->total * a->k.size);
    put(call, PRESENT_VALUE, rows * a->v.size, a->values, a->total * a->v.size);
    for (at[HEAD] = head * a->group; at[HEAD] < (head + 1) * a->group; at[HEAD]++)
        for (at[QUERY] = 0; at[QUERY] < a->q.rows; at[QUERY]++)
            run_query(call, a, at);
}

static collage_status begin_batch(const struct op_call *call, struct attention *a, int64_t batch,
                                  struct error *error)
{
    const struct tensor *lengths = call_input(call, LENGTHS);
    a->offset = a->past;
    a->valid = a->total;
    if (!lengths)
        return COLLAGE_OK;
    a->valid = tensor_get_int(lengths, batch);
    if (a->valid < 0 || a->valid > a->total)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "%" PRId64 " valid keys are not possible, there are %" PRId64, a->valid,
                         a->total);
    a->offset = a->valid - a->q.rows;
    return COLLAGE_OK;
}

collage_status compute_attention(const struct op_call *call, struct error *error)
{
    struct attention a;
    collage_status status = read(call, &a, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t numbers = a.total * (a.k.size + a.v.size + 1) + a.k.size;
    double *memory = memory_alloc((size_t)numbers * sizeof *memory);
    if (!memory)
        return error_memory(error);
    a.keys = memory;
    a.values = a.keys + a.total * a.k.size;
    a.query = a.values + a.total * a.v.size;
    a.scores = a.query + a.k.size;
    for (int64_t b = 0; b < a.q.batch && status == COLLAGE_OK; b++) {
        status = begin_batch(call, &a, b, error);
        for (int64_t h = 0; h < a.k.heads && status == COLLAGE_OK; h++) {
            int64_t at[COORDINATES] = { b, h };
            run_head(call, &a, at);
        }
    }
    memory_free(memory);
    return status;
}

/* Products of queries with keys, and of weights with values; of what a mask hides, too. */
double count_attention(const struct op_call *call)
{
    struct attention a;
    struct error error = { 0 };
    if (read(call, &a, &error) != COLLAGE_OK)
        return 0;
    return (double)a.q.batch * (double)a.q.heads * (double)a.q.rows * (double)a.total *
           ((double)a.q.size + (double)a.v.size);
}
