/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.c: LSTM. Gates are in ONNX's order: input, output, forget, cell; so are the peepholes, of
 * which the cell has none. */
#include "ops/call.h"
#include "ops/recurrent.h"

enum { GATE_INPUT, GATE_OUTPUT, GATE_FORGET, GATE_CELL, GATES };
enum { OF_GATES, OF_CELL, OF_HIDDEN, ACTIVATIONS };

static double gate(const struct recurrent *r, int64_t number, int64_t k)
{
    int64_t at = number * r->hidden + k;
    return r->from_input[at] + r->from_state[at];
}

/* What the cell adds to a gate. */
static double peep(const struct recurrent *r, int64_t number, int64_t k, double cell)
{
    return r->peepholes ? r->peepholes[number * r->hidden + k] * cell : 0;
}

static void step(const struct recurrent *r)
{
    recurrent_multiply(r, r->h, 0, GATES);
    for (int64_t k = 0; k < r->hidden; k++) {
        double before = r->c[k];
        double input = recurrent_activate(r, OF_GATES,
                                          gate(r, GATE_INPUT, k) + peep(r, GATE_INPUT, k, before));
        double forget = 1 - input;
        if (!r->input_forget)
            forget = recurrent_activate(r, OF_GATES,
                                        gate(r, GATE_FORGET, k) + peep(r, GATE_FORGET, k, before));
        r->c[k] = forget * before + input * recurrent_activate(r, OF_CELL, gate(r, GATE_CELL, k));
        double output = recurrent_activate(
            r, OF_GATES, gate(r, GATE_OUTPUT, k) + peep(r, GATE_OUTPUT, k, r->c[k]));
        r->h[k] = output * recurrent_activate(r, OF_HIDDEN, r->c[k]);
    }
}

static const struct recurrent_kind lstm = {
    .gates = GATES, .activations = ACTIVATIONS, .defaults = "Sigmoid,Tanh,Tanh", .step = step
};

collage_status infer_lstm(const struct op_call *call, struct error *error)
{
    return recurrent_infer(call, &lstm, error);
}

collage_status compute_lstm(const struct op_call *call, struct error *error)
{
    return recurrent_compute(call, &lstm, error);
}
