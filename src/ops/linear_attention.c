/* SPDX-License-Identifier: Apache-2.0 */
/* linear_attention.c: LinearAttention: a state of keys by values that each token updates and
 * reads. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

/* Sizes of one call. Width: of a head. */
struct sizes {
    int64_t batch, length, query_heads, heads, key_width, value_width;
    bool decays, corrects; /* by the update rule */
    int64_t decay_width;   /* 1: one factor a head; else key_width */
    int64_t beta_heads;    /* 1: all heads share it */
    double scale;
};

static collage_status read_rule(const struct op_call *call, struct sizes *sizes,
                                struct error *error)
{
    const char *rule = collage_node_string(call->node, "update_rule", "gated_delta");
    if (strcmp(rule, "linear") != 0 && strcmp(rule, "gated") != 0 && strcmp(rule, "delta") != 0 &&
        strcmp(rule, "gated_delta") != 0)
        return shape_error(error, "update_rule '%.20s' is not known", rule);
    sizes->decays = strncmp(rule, "gated", 5) == 0;
    sizes->corrects = strstr(rule, "delta") != NULL;
    if (sizes->decays && !call_input(call, DECAY))
        return shape_error(error, "update_rule '%s' needs the input decay", rule);
    if (sizes->corrects && !call_input(call, BETA))
        return shape_error(error, "update_rule '%s' needs the input beta", rule);
    return COLLAGE_OK;
}

/* Is it [batch, length, heads * width]? */
static bool is_packed(const struct tensor *x, const struct sizes *sizes, int64_t width)
{
    return x->rank == 3 && x->dims[0] == sizes->batch && x->dims[1] == sizes->length &&
           x->dims[2] == width;
}

static collage_status check_gates(const struct op_call *call, struct sizes *sizes,
                                  struct error *error)
{
    const struct tensor *decay = call_input(call, DECAY), *beta = call_input(call, BETA);
    sizes->decay_width = sizes->beta_heads = 1;
    if (sizes->decays) {
        sizes->decay_width = is_packed(decay, sizes, sizes->heads) ? 1 : sizes->key_width;
        if (!is_packed(decay, sizes, sizes->heads * sizes->decay_width))
            return shape_error(error, "decay fits neither the heads nor the keys");
    }
    if (sizes->corrects) {
        sizes->beta_heads = is_packed(beta, sizes, 1) ? 1 : sizes->heads;
        if (!is_packed(beta, sizes, sizes->beta_heads))
            return shape_error(error, "beta does not fit the heads");
    }
    return COLLAGE_OK;
}

static collage_status read_sizes(const struct op_call *call, struct sizes *sizes,
                                 struct error *error)
{
    const struct tensor *q = call->inputs[QUERY], *k = call->inputs[KEY], *v = call->inputs[VALUE];
    *sizes = (struct sizes){ .query_heads = collage_node_int(call->node, "q_num_heads", 0),
                             .heads = collage_node_int(call->node, "kv_num_heads", 0) };
    if (q->rank != 3 || k->rank != 3 || v->rank != 3)
        return shape_error(error, "query, key and value must be of rank 3");
    sizes->batch = q->dims[0];
    sizes->length = q->dims[1];
    if (sizes->heads < 1 || sizes->query_heads < 1 || sizes->query_heads % sizes->heads != 0 ||
        q->dims[2] % sizes->query_heads != 0 || v->dims[2] % sizes->heads != 0)
        return shape_error(error,
                           "%" PRId64 " query heads and %" PRId64 " heads do not fit the inputs",
                           sizes->query_heads, sizes->heads);
    sizes->key_width = q->dims[2] / sizes->query_heads;
    sizes->value_width = v->dims[2] / sizes->heads;
    int64_t key_columns;
    if (__builtin_mul_overflow(sizes->heads, sizes->key_width, &key_columns) ||
        !is_packed(k, sizes, key_columns) || !is_packed(v, sizes, v->dims[2]))
        return shape_error(error, "key and value do not fit the query");
    sizes->scale = (double)collage_node_float(call->node, "scale", 0);
    if (sizes->scale == 0)
        sizes->scale = 1 / sqrt((double)sizes->key_width);
    collage_status status = read_rule(call, sizes, error);
    return status == COLLAGE_OK ? check_gates(call, sizes, error) : status;
}

collage_status infer_linear_attention(const struct op_call *call, struct error *error)
{
    struct sizes sizes;
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < call->input_count && status == COLLAGE_OK; k++)
        status = call_check_type(call, k, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read_sizes(call, &sizes, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor state = {
        .rank = 4, .dims = { sizes.batch, sizes.heads, sizes.key_width, sizes.value_width }
    };
    const struct tensor *past = call_input(call, PAST);
    if (past && !tensor_same_shape(past, &state))
        return shape_error(error, "past_state does not fit the heads");
    struct tensor y = *call->inputs[QUERY];
    if (__builtin_mul_overflow(sizes.query_heads, sizes.value_width, &y.dims[2]))
        return shape_error(error, "the output is too large");
    call_set_output(call, 0, y.dtype, &y);
    if (call->output_count > 1)
        call_set_output(call, 1, past ? past->dtype : y.dtype, &state);
    return COLLAGE_OK;
}

/* One token of one head: state becomes the next one. `row` is [batch, token] as one number. */
static void update_state(const struct op_call *call, const struct sizes *sizes, int64_t row,
                         int64_t head, double *state)
{
    const int64_t width = sizes->key_width, columns = sizes->value_width;
    const struct tensor *k = call->inputs[KEY], *v = call->inputs[VALUE];
    const int64_t key_at = (row * sizes->heads + head) * width;
    const int64_t value_at = (row * sizes->heads + head) * columns;
    double beta = 1;
    if (sizes->corrects)
        beta = tensor_get(call->inputs[BETA],
                          row * sizes->beta_heads + (sizes->beta_heads > 1 ? head : 0));
    for (int64_t i = 0; i < width && sizes->decays; i++) {
        int64_t at = (row * sizes->heads + head) * sizes->decay_width;
        double factor = exp(tensor_get(call->inputs[DECAY], at + (sizes->decay_width > 1 ? i : 0)));
        for (int64_t j = 0; j < columns; j++)
            state[i * columns + j] *= factor;
    }
    for (int64_t j = 0; j < columns; j++) {
        double known = 0; /* what the state has for this key */
        for (int64_t i = 0; i < width && sizes->corrects; i++)
            known += state[i * columns + j] * tensor_get(k, key_at + i);
        double change = beta * (tensor_get(v, value_at + j) - known);
        for (int64_t i = 0; i < width; i++)
            state[i * columns + j] += tensor_get(k, key_at + i) * change;
    }
}

static void read_state(const struct op_call *call, const struct sizes *sizes, int64_t row,
                       int64_t query_head, const double *state)
{
    const int64_t width = sizes->key_width, columns = sizes->value_width;
    const int64_t at = (row * sizes->query_heads + query_head) * width;
    for (int64_t j = 0; j < columns; j++) {
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += tensor_get(call->inputs[QUERY], at + i) * state[i * columns + j];
        tensor_set(&call->outputs[0], (row * sizes->query_heads + query_head) * columns + j,
                   sizes->scale * sum);
    }
}

static void run_head(const struct op_call *call, const struct sizes *sizes, int64_t batch,
                     int64_t head, double *state)
{
    const int64_t count = sizes->key_width * sizes->value_width;
    const int64_t at = (batch * sizes->heads + head) * count;
    const int64_t group = sizes->query_heads / sizes->heads;
    const struct tensor *past = call_input(call, PAST);
    for (int64_t i = 0; i < count; i++)
        state[i] = past ? tensor_get(past, at + i) : 0;
    for (int64_t t = 0; t < sizes->length; t++) {
        int64_t row = batch * sizes->length + t;
        update_state(call, sizes, row, head, state);
        for (int64_t q = head * group; q < (head + 1) * group; q++)
            read_state(call, sizes, row, q, state);
    }
    for (int64_t i = 0; i < count && call->output_count > 1; i++)
        tensor_set(&call->outputs[1], at + i, state[i]);
}

collage_status compute_linear_attention(const struct op_call *call, struct error *error)
{
    struct sizes sizes;
    collage_status status = read_sizes(call, &sizes, error);
    if (status != COLLAGE_OK)
        return status;
    double *state =
        memory_alloc((size_t)sizes.key_width * (size_t)sizes.value_width * sizeof *state);
    if (!state)
        return error_memory(error);
    for (int64_t b = 0; b < sizes.batch; b++)
        for (int64_t head = 0; head < sizes.heads; head++)
            run_head(call, &sizes, b, head, state);
    memory_free(state);
    return COLLAGE_OK;
}

/* Each token adds keys by values to the state and multiplies it by the query; rules that correct
 * read it once more. */
double count_linear_attention(const struct op_call *call)
{
    struct sizes sizes;
    struct error error = { 0 };
    if (read_sizes(call, &sizes, &error) != COLLAGE_OK)
        return 0;
    const double state = (double)sizes.key_width * (double)sizes.value_width;
    const double heads = (double)(sizes.query_heads + (sizes.corrects ? 2 : 1) * sizes.heads);
    return (double)sizes.batch * (double)sizes.length * heads * state;
}
