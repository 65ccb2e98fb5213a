/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/recurrent.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };
enum { PEEPHOLE_GATES = 3 };

/* ---- activations ---- */

static double relu(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return x < 0 ? 0 : x;
}

static double hyperbolic_tangent(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return tanh(x);
}

static double sigmoid(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return 1 / (1 + exp(-x));
}

static double affine(double x, double alpha, double beta)
{
    return alpha * x + beta;
}

static double leaky_relu(double x, double alpha, double beta)
{
    (void)beta;
    return x < 0 ? alpha * x : x;
}

static double thresholded_relu(double x, double alpha, double beta)
{
    (void)beta;
    return x > alpha || isnan(x) ? x : 0;
}

static double scaled_tanh(double x, double alpha, double beta)
{
    return alpha * tanh(beta * x);
}

static double hard_sigmoid(double x, double alpha, double beta)
{
    double y = alpha * x + beta;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static double elu(double x, double alpha, double beta)
{
    (void)beta;
    return x < 0 ? alpha * expm1(x) : x;
}

static double softsign(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return x / (1 + fabs(x));
}

static double softplus(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* The defaults are those of the operators of the same name; NaN: it must be given. */
static const struct activation_row {
    const char *name;
    double (*function)(double x, double alpha, double beta);
    int takes; /* 0: nothing, 1: alpha, 2: alpha and beta */
    double alpha, beta;
} rows[] = {
    { "Affine", affine, 2, (double)NAN, (double)NAN },
    { "Elu", elu, 1, 1, 0 },
    { "HardSigmoid", hard_sigmoid, 2, 0.2, 0.5 },
    { "LeakyRelu", leaky_relu, 1, 0.01, 0 },
    { "Relu", relu, 0, 0, 0 },
    { "ScaledTanh", scaled_tanh, 2, (double)NAN, (double)NAN },
    { "Sigmoid", sigmoid, 0, 0, 0 },
    { "Softplus", softplus, 0, 0, 0 },
    { "Softsign", softsign, 0, 0, 0 },
    { "Tanh", hyperbolic_tangent, 0, 0, 0 },
    { "ThresholdedRelu", thresholded_relu, 1, 1, 0 },
};

static const struct activation_row *find_activation(const char *name, size_t length)
{
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        if (strlen(rows[k].name) == length && memcmp(rows[k].name, name, length) == 0)
            return &rows[k];
    return NULL;
}

/* A list of floats that the activations which take one consume, one after the other. */
struct supply {
    const char *name;
    const collage_attribute *list;
    uint32_t used;
};

static struct supply supply_of(const struct op_call *call, const char *name)
{
    return (struct supply){ name,
                            collage_node_attribute(call->node, name, COLLAGE_ATTRIBUTE_FLOATS), 0 };
}

static double take(struct supply *supply, bool takes, double fallback)
{
    if (!takes || !supply->list || supply->used >= supply->list->count)
        return fallback;
    return (double)supply->list->floats[supply->used++];
}

static collage_status check_consumed(const struct supply *supply, struct error *error)
{
    if (supply->list && supply->used < supply->list->count)
        return shape_error(error, "%s has %" PRIu32 " values, but the activations take %" PRIu32,
                           supply->name, supply->list->count, supply->used);
    return COLLAGE_OK;
}

/* Reads one name of the list; *text moves behind its comma, to NULL after the last one. */
static collage_status read_activation(const char **text, struct supply *alphas,
                                      struct supply *betas, struct activation *out,
                                      struct error *error)
{
    const char *name = *text ? *text : "";
    size_t length = strcspn(name, ",");
    const struct activation_row *row = find_activation(name, length);
    if (!row)
        return shape_error(error, "activation '%.*s' is unknown or missing",
                           length < 40 ? (int)length : 40, name);
    *text = name[length] ? name + length + 1 : NULL;
    out->function = row->function;
    out->alpha = take(alphas, row->takes >= 1, row->alpha);
    out->beta = take(betas, row->takes >= 2, row->beta);
    if (isnan(out->alpha) || isnan(out->beta))
        return shape_error(error, "activation '%s' needs alpha and beta", row->name);
    return COLLAGE_OK;
}

static collage_status read_activations(const struct op_call *call, struct recurrent *out,
                                       struct error *error)
{
    const char *given = collage_node_string(call->node, "activations", "");
    const char *text = given;
    struct supply alphas = supply_of(call, "activation_alpha");
    struct supply betas = supply_of(call, "activation_beta");
    collage_status status = COLLAGE_OK;
    for (int64_t d = 0; d < out->directions; d++) {
        if (!given[0]) /* the same in both directions */
            text = out->kind->defaults;
        for (int32_t k = 0; k < out->kind->activations && status == COLLAGE_OK; k++)
            status = read_activation(&text, &alphas, &betas, &out->activations[d][k], error);
    }
    if (status == COLLAGE_OK)
        status = check_consumed(&alphas, error);
    if (status == COLLAGE_OK)
        status = check_consumed(&betas, error);
    return status;
}

double recurrent_activate(const struct recurrent *r, int32_t k, double x)
{
    const struct activation *activation = &r->activations[r->direction][k];
    double clipped = x > r->clip ? r->clip : x < -r->clip ? -r->clip : x;
    return activation->function(clipped, activation->alpha, activation->beta);
}

/* ---- attributes and shapes ---- */

static collage_status read_flag(const struct op_call *call, const char *name, bool *out,
                                struct error *error)
{
    int64_t value = collage_node_int(call->node, name, 0);
    *out = value != 0;
    if (value != 0 && value != 1)
        return shape_error(error, "%s is %" PRId64 "; 0 or 1 is needed", name, value);
    return COLLAGE_OK;
}

static collage_status read_options(const struct op_call *call, struct recurrent *out,
                                   struct error *error)
{
    const char *direction = collage_node_string(call->node, "direction", "forward");
    bool both = strcmp(direction, "bidirectional") == 0;
    out->first_reversed = strcmp(direction, "reverse") == 0;
    if (!both && !out->first_reversed && strcmp(direction, "forward") != 0)
        return shape_error(error, "direction '%.20s' is unknown", direction);
    out->directions = both ? 2 : 1;
    out->clip = (double)INFINITY;
    if (collage_node_attribute(call->node, "clip", COLLAGE_ATTRIBUTE_FLOAT))
        out->clip = (double)collage_node_float(call->node, "clip", 0);
    if (!(out->clip > 0))
        return shape_error(error, "clip must be above 0");
    collage_status status = read_flag(call, "layout", &out->batch_first, error);
    if (status == COLLAGE_OK)
        status = read_flag(call, "linear_before_reset", &out->linear_before_reset, error);
    if (status == COLLAGE_OK)
        status = read_flag(call, "input_forget", &out->input_forget, error);
    return status == COLLAGE_OK ? read_activations(call, out, error) : status;
}

static collage_status read(const struct op_call *call, const struct recurrent_kind *kind,
                           struct recurrent *out, struct error *error)
{
    const struct tensor *x = call->inputs[X], *r = call->inputs[R];
    *out = (struct recurrent){ .kind = kind };
    if (x->rank != 3 || call->inputs[W]->rank != 3 || r->rank != 3)
        return shape_error(error, "X, W and R must have rank 3");
    collage_status status = read_options(call, out, error);
    if (status != COLLAGE_OK)
        return status;
    out->steps = x->dims[out->batch_first ? 1 : 0];
    out->batch = x->dims[out->batch_first ? 0 : 1];
    out->inputs = x->dims[2];
    out->hidden = r->dims[2];
    if (collage_node_int(call->node, "hidden_size", out->hidden) != out->hidden)
        return shape_error(error, "hidden_size does not fit R");
    if (out->hidden > INT32_MAX)
        return shape_error(error, "R is too large");
    return COLLAGE_OK;
}

static collage_status check_shape(const struct op_call *call, uint32_t k, int32_t rank,
                                  const int64_t *dims, struct error *error)
{
    const struct tensor *input = call_input(call, k);
    if (!input)
        return COLLAGE_OK;
    bool fits = input->rank == rank;
    for (int32_t d = 0; d < rank && fits; d++)
        fits = input->dims[d] == dims[d];
    if (fits && input->dtype == call->inputs[X]->dtype)
        return COLLAGE_OK;
    char wanted[160];
    dims_print(dims, rank, wanted, sizeof wanted);
    return shape_error(error, "input %" PRIu32 " must be of shape %s and of the type of X", k,
                       wanted);
}

static void state_shape(const struct recurrent *r, int64_t *dims)
{
    dims[0] = r->batch_first ? r->batch : r->directions;
    dims[1] = r->batch_first ? r->directions : r->batch;
    dims[2] = r->hidden;
}

static collage_status check_lengths(const struct op_call *call, const struct recurrent *r,
                                    struct error *error)
{
    const struct tensor *lengths = call_input(call, LENGTHS);
    if (lengths &&
        (lengths->dtype != COLLAGE_INT32 || lengths->rank != 1 || lengths->dims[0] != r->batch))
        return shape_error(error, "sequence_lens must be %" PRId64 " elements of type int32",
                           r->batch);
    return COLLAGE_OK;
}

static collage_status check_inputs(const struct op_call *call, const struct recurrent *r,
                                   struct error *error)
{
    int64_t dirs = r->directions, gates = r->kind->gates * r->hidden, state[3];
    const int64_t w[] = { dirs, gates, r->inputs }, recurrence[] = { dirs, gates, r->hidden };
    const int64_t b[] = { dirs, 2 * gates }, p[] = { dirs, PEEPHOLE_GATES * r->hidden };
    state_shape(r, state);
    collage_status status = check_shape(call, W, 3, w, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, R, 3, recurrence, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, B, 2, b, error);
    if (status == COLLAGE_OK)
        status = check_lengths(call, r, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, INITIAL_H, 3, state, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, INITIAL_C, 3, state, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, PEEPHOLES, 2, p, error);
    return status;
}

collage_status recurrent_infer(const struct op_call *call, const struct recurrent_kind *kind,
                               struct error *error)
{
    struct recurrent r;
    collage_status status = call_check_type(call, X, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read(call, kind, &r, error);
    if (status == COLLAGE_OK)
        status = check_inputs(call, &r, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor all = { .rank = 4, .dims = { r.steps, r.directions, r.batch, r.hidden } };
    if (r.batch_first)
        all = (struct tensor){ .rank = 4, .dims = { r.batch, r.steps, r.directions, r.hidden } };
    struct tensor last = { .rank = 3 };
    state_shape(&r, last.dims);
    call_set_output(call, 0, call->inputs[X]->dtype, &all);
    call_set_output(call, 1, call->inputs[X]->dtype, &last);
    call_set_output(call, 2, call->inputs[X]->dtype, &last);
    return COLLAGE_OK;
}

/* ---- computing ---- */

/* Four partial sums, so that an addition need not wait for the one before. */
static double dot(const double *a, const double *b, int64_t count)
{
    double sums[4] = { 0 };
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int k = 0; k < 4; k++)
            sums[k] += a[i + k] * b[i + k];
    for (; i < count; i++)
        sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* All zero if the tensor is left out. */
static void widen(const struct tensor *from, int64_t start, int64_t count, double *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = from ? tensor_get(from, start + i) : 0;
}

void recurrent_multiply(const struct recurrent *r, const double *state, int64_t first,
                        int64_t count)
{
    for (int64_t g = first * r->hidden; g < (first + count) * r->hidden; g++)
        r->from_state[g] = dot(state, r->r + g * r->hidden, r->hidden) + r->state_bias[g];
}

static void multiply_input(const struct op_call *call, const struct recurrent *r, int64_t start)
{
    widen(call->inputs[X], start, r->inputs, r->x);
    for (int64_t g = 0; g < r->kind->gates * r->hidden; g++)
        r->from_input[g] = dot(r->x, r->w + g * r->inputs, r->inputs) + r->input_bias[g];
}

/* NULL stands for zeros. */
static void put(const struct op_call *call, uint32_t output, int64_t start, const double *state,
                int64_t count)
{
    if (output >= call->output_count || !call->outputs[output].data)
        return;
    for (int64_t k = 0; k < count; k++)
        tensor_set(&call->outputs[output], start + k, state ? state[k] : 0);
}

/* Where a row's x and y of step t, and its state, begin. */
static int64_t input_start(const struct recurrent *r, int64_t t, int64_t row)
{
    return (r->batch_first ? row * r->steps + t : t * r->batch + row) * r->inputs;
}

static int64_t output_start(const struct recurrent *r, int64_t t, int64_t row)
{
    int64_t place = r->batch_first ? (row * r->steps + t) * r->directions + r->direction
                                   : (t * r->directions + r->direction) * r->batch + row;
    return place * r->hidden;
}

static int64_t state_start(const struct recurrent *r, int64_t row)
{
    return (r->batch_first ? row * r->directions + r->direction : r->direction * r->batch + row) *
           r->hidden;
}

static collage_status length_of(const struct op_call *call, const struct recurrent *r, int64_t row,
                                int64_t *out, struct error *error)
{
    const struct tensor *lengths = call_input(call, LENGTHS);
    *out = lengths ? tensor_get_int(lengths, row) : r->steps;
    if (*out < 0 || *out > r->steps)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "element %" PRId64 " of sequence_lens is %" PRId64
                         ", which is not between 0 and %" PRId64,
                         row, *out, r->steps);
    return COLLAGE_OK;
}

/* A reversed sequence begins at its own end; what follows the end is zero. */
static collage_status run_row(const struct op_call *call, const struct recurrent *r, int64_t row,
                              struct error *error)
{
    int64_t length, state = state_start(r, row);
    collage_status status = length_of(call, r, row, &length, error);
    if (status != COLLAGE_OK)
        return status;
    bool reversed = r->first_reversed || r->direction == 1;
    widen(call_input(call, INITIAL_H), state, r->hidden, r->h);
    widen(call_input(call, INITIAL_C), state, r->hidden, r->c);
    for (int64_t s = 0; s < length; s++) {
        int64_t t = reversed ? length - 1 - s : s;
        multiply_input(call, r, input_start(r, t, row));
        r->kind->step(r);
        put(call, 0, output_start(r, t, row), r->h, r->hidden);
    }
    for (int64_t t = length; t < r->steps; t++)
        put(call, 0, output_start(r, t, row), NULL, r->hidden);
    put(call, 1, state, r->h, r->hidden);
    put(call, 2, state, r->c, r->hidden);
    return COLLAGE_OK;
}

static collage_status run_direction(const struct op_call *call, const struct recurrent *r,
                                    struct error *error)
{
    int64_t gates = r->kind->gates * r->hidden, d = r->direction;
    widen(call->inputs[W], d * gates * r->inputs, gates * r->inputs, r->w);
    widen(call->inputs[R], d * gates * r->hidden, gates * r->hidden, r->r);
    widen(call_input(call, B), d * 2 * gates, gates, r->input_bias);
    widen(call_input(call, B), d * 2 * gates + gates, gates, r->state_bias);
    if (r->peepholes)
        widen(call_input(call, PEEPHOLES), d * PEEPHOLE_GATES * r->hidden,
              PEEPHOLE_GATES * r->hidden, r->peepholes);
    collage_status status = COLLAGE_OK;
    for (int64_t row = 0; row < r->batch && status == COLLAGE_OK; row++)
        status = run_row(call, r, row, error);
    return status;
}

/* All arrays are parts of one block, which is returned. */
static double *allocate(const struct op_call *call, struct recurrent *r)
{
    int64_t hidden = r->hidden, gates = r->kind->gates * hidden;
    struct {
        double **array;
        int64_t count;
    } parts[] = { { &r->w, gates * r->inputs },
                  { &r->r, gates * hidden },
                  { &r->input_bias, gates },
                  { &r->state_bias, gates },
                  { &r->peepholes, PEEPHOLE_GATES * hidden },
                  { &r->x, r->inputs },
                  { &r->h, hidden },
                  { &r->c, hidden },
                  { &r->from_input, gates },
                  { &r->from_state, gates },
                  { &r->spare, hidden } };
    enum { PARTS = sizeof parts / sizeof parts[0] };
    int64_t total = 0, start = 0;
    for (int k = 0; k < PARTS; k++)
        total += parts[k].count;
    double *memory = memory_alloc((size_t)total * sizeof *memory);
    for (int k = 0; k < PARTS && memory; k++) {
        *parts[k].array = memory + start;
        start += parts[k].count;
    }
    if (!call_input(call, PEEPHOLES))
        r->peepholes = NULL;
    return memory;
}

collage_status recurrent_compute(const struct op_call *call, const struct recurrent_kind *kind,
                                 struct error *error)
{
    struct recurrent r;
    collage_status status = read(call, kind, &r, error);
    if (status != COLLAGE_OK || r.hidden == 0) /* then no output has an element */
        return status;
    double *memory = allocate(call, &r);
    if (!memory)
        return error_memory(error);
    for (r.direction = 0; r.direction < r.directions && status == COLLAGE_OK; r.direction++)
        status = run_direction(call, &r, error);
    memory_free(memory);
    return status;
}
