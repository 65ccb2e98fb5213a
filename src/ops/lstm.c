/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.c: LSTM with the default activations (sigmoid, tanh, tanh). Gates are in ONNX's order:
 * input, output, forget, cell. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLE };
enum { GATE_INPUT, GATE_OUTPUT, GATE_FORGET, GATE_CELL, GATES };

struct lstm {
    int64_t steps, batch, inputs, hidden, directions;
    bool first_reversed;
    /* One block: h and c, [hidden]; gates, [GATES][hidden]; x, [inputs]: of one row of the batch;
     * w, [GATES][hidden][inputs]; r, [GATES][hidden][hidden]: of one direction. */
    double *h, *c, *gates, *x, *w, *r;
};

static collage_status read(const struct op_call *call, struct lstm *out, struct error *error)
{
    const struct tensor *x = call->inputs[X], *r = call->inputs[R];
    if (x->rank != 3 || call->inputs[W]->rank != 3 || r->rank != 3)
        return shape_error(error, "X, W and R must have rank 3");
    const char *direction = collage_node_string(call->node, "direction", "forward");
    bool both = strcmp(direction, "bidirectional") == 0;
    out->first_reversed = strcmp(direction, "reverse") == 0;
    if (!both && !out->first_reversed && strcmp(direction, "forward") != 0)
        return shape_error(error, "direction '%.20s' is unknown", direction);
    out->directions = both ? 2 : 1;
    out->steps = x->dims[0];
    out->batch = x->dims[1];
    out->inputs = x->dims[2];
    out->hidden = r->dims[2];
    if (collage_node_int(call->node, "hidden_size", out->hidden) != out->hidden)
        return shape_error(error, "hidden_size does not fit R");
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

static collage_status check_inputs(const struct op_call *call, const struct lstm *l,
                                   struct error *error)
{
    int64_t dirs = l->directions, gates;
    if (__builtin_mul_overflow(l->hidden, 2 * GATES, &gates))
        return shape_error(error, "R is too large");
    gates = GATES * l->hidden;
    const int64_t w[] = { dirs, gates, l->inputs }, r[] = { dirs, gates, l->hidden };
    const int64_t b[] = { dirs, 2 * gates }, state[] = { dirs, l->batch, l->hidden };
    const int64_t p[] = { dirs, 3 * l->hidden };
    collage_status status = check_shape(call, W, 3, w, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, R, 3, r, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, B, 2, b, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, INITIAL_H, 3, state, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, INITIAL_C, 3, state, error);
    if (status == COLLAGE_OK)
        status = check_shape(call, PEEPHOLE, 2, p, error);
    return status;
}

static collage_status refuse_options(const struct op_call *call, struct error *error)
{
    if (call_input(call, LENGTHS))
        return shape_error(error, "sequence_lens is not supported");
    if (collage_node_int(call->node, "layout", 0) != 0)
        return shape_error(error, "layout 1 is not supported");
    return COLLAGE_OK;
}

collage_status infer_lstm(const struct op_call *call, struct error *error)
{
    struct lstm l;
    collage_status status = call_check_type(call, X, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = refuse_options(call, error);
    if (status == COLLAGE_OK)
        status = read(call, &l, error);
    if (status == COLLAGE_OK)
        status = check_inputs(call, &l, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor all = { .rank = 4, .dims = { l.steps, l.directions, l.batch, l.hidden } };
    struct tensor last = { .rank = 3, .dims = { l.directions, l.batch, l.hidden } };
    call_set_output(call, 0, call->inputs[X]->dtype, &all);
    call_set_output(call, 1, call->inputs[X]->dtype, &last);
    call_set_output(call, 2, call->inputs[X]->dtype, &last);
    return COLLAGE_OK;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

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

static void widen(const struct tensor *from, int64_t start, int64_t count, double *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = tensor_get(from, start + i);
}

/* gates = x W' + h R' + the two biases */
static void sum_gates(const struct op_call *call, const struct lstm *l, int64_t direction,
                      int64_t x_at)
{
    const struct tensor *b = call_input(call, B);
    int64_t rows = GATES * l->hidden;
    widen(call->inputs[X], x_at, l->inputs, l->x);
    for (int64_t g = 0; g < rows; g++) {
        double sum =
            dot(l->x, l->w + g * l->inputs, l->inputs) + dot(l->h, l->r + g * l->hidden, l->hidden);
        if (b)
            sum += tensor_get(b, direction * 2 * rows + g) +
                   tensor_get(b, direction * 2 * rows + rows + g);
        l->gates[g] = sum;
    }
}

static void step(const struct op_call *call, const struct lstm *l, int64_t direction)
{
    const struct tensor *p = call_input(call, PEEPHOLE);
    const double *gates = l->gates;
    int64_t n = l->hidden, peephole = direction * 3 * n;
    for (int64_t k = 0; k < n; k++) {
        double before = l->c[k];
        double input = gates[GATE_INPUT * n + k], output = gates[GATE_OUTPUT * n + k];
        double forget = gates[GATE_FORGET * n + k];
        if (p) { /* in the order input, output, forget */
            input += tensor_get(p, peephole + k) * before;
            forget += tensor_get(p, peephole + 2 * n + k) * before;
        }
        l->c[k] = sigmoid(forget) * before + sigmoid(input) * tanh(gates[GATE_CELL * n + k]);
        if (p)
            output += tensor_get(p, peephole + n + k) * l->c[k];
        l->h[k] = sigmoid(output) * tanh(l->c[k]);
    }
}

static void put_state(const struct op_call *call, uint32_t output, int64_t at, const double *state,
                      int64_t count)
{
    if (output >= call->output_count || !call->outputs[output].data)
        return;
    for (int64_t k = 0; k < count; k++)
        tensor_set(&call->outputs[output], at + k, state[k]);
}

static void run_row(const struct op_call *call, const struct lstm *l, int64_t direction,
                    int64_t row)
{
    const struct tensor *h = call_input(call, INITIAL_H), *c = call_input(call, INITIAL_C);
    int64_t state = (direction * l->batch + row) * l->hidden;
    bool reversed = l->first_reversed || direction == 1;
    for (int64_t k = 0; k < l->hidden; k++) {
        l->h[k] = h ? tensor_get(h, state + k) : 0;
        l->c[k] = c ? tensor_get(c, state + k) : 0;
    }
    for (int64_t s = 0; s < l->steps; s++) {
        int64_t t = reversed ? l->steps - 1 - s : s;
        sum_gates(call, l, direction, (t * l->batch + row) * l->inputs);
        step(call, l, direction);
        put_state(call, 0, ((t * l->directions + direction) * l->batch + row) * l->hidden, l->h,
                  l->hidden);
    }
    put_state(call, 1, state, l->h, l->hidden);
    put_state(call, 2, state, l->c, l->hidden);
}

static void run_direction(const struct op_call *call, const struct lstm *l, int64_t direction)
{
    int64_t rows = GATES * l->hidden;
    widen(call->inputs[W], direction * rows * l->inputs, rows * l->inputs, l->w);
    widen(call->inputs[R], direction * rows * l->hidden, rows * l->hidden, l->r);
    for (int64_t row = 0; row < l->batch; row++)
        run_row(call, l, direction, row);
}

collage_status compute_lstm(const struct op_call *call, struct error *error)
{
    struct lstm l;
    collage_status status = read(call, &l, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t rows = GATES * l.hidden, state = l.hidden * (2 + GATES);
    double *memory =
        memory_alloc((size_t)(state + l.inputs + rows * (l.inputs + l.hidden)) * sizeof *memory);
    if (!memory)
        return error_memory(error);
    l.h = memory;
    l.c = memory + l.hidden;
    l.gates = memory + 2 * l.hidden;
    l.x = memory + state;
    l.w = l.x + l.inputs;
    l.r = l.w + rows * l.inputs;
    for (int64_t direction = 0; direction < l.directions; direction++)
        run_direction(call, &l, direction);
    memory_free(memory);
    return COLLAGE_OK;
}
