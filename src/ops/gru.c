/* SPDX-License-Identifier: Apache-2.0 */
/* gru.c: GRU. Gates are in ONNX's order: update, reset, hidden. */
#include "ops/call.h"
#include "ops/recurrent.h"

enum { GATE_UPDATE, GATE_RESET, GATE_HIDDEN, GATES };
enum { OF_GATES, OF_HIDDEN, ACTIVATIONS };

static double gate(const struct recurrent *r, int64_t number, int64_t k)
{
    int64_t at = number * r->hidden + k;
    return recurrent_activate(r, OF_GATES, r->from_input[at] + r->from_state[at]);
}

/* Either the state is reset and then multiplied, or what the multiplication gave is reset. */
static void step(const struct recurrent *r)
{
    int64_t n = r->hidden;
    recurrent_multiply(r, r->h, 0, r->linear_before_reset ? GATES : GATE_HIDDEN);
    for (int64_t k = 0; k < n; k++)
        r->spare[k] = gate(r, GATE_RESET, k) * (r->linear_before_reset ? 1 : r->h[k]);
    if (!r->linear_before_reset)
        recurrent_multiply(r, r->spare, GATE_HIDDEN, 1);
    for (int64_t k = 0; k < n; k++) {
        double from_state = r->from_state[GATE_HIDDEN * n + k];
        if (r->linear_before_reset)
            from_state *= r->spare[k];
        double candidate =
            recurrent_activate(r, OF_HIDDEN, r->from_input[GATE_HIDDEN * n + k] + from_state);
        double update = gate(r, GATE_UPDATE, k);
        r->h[k] = (1 - update) * candidate + update * r->h[k];
    }
}

static const struct recurrent_kind gru = {
    .gates = GATES, .activations = ACTIVATIONS, .defaults = "Sigmoid,Tanh", .step = step
};

collage_status infer_gru(const struct op_call *call, struct error *error)
{
    return recurrent_infer(call, &gru, error);
}

collage_status compute_gru(const struct op_call *call, struct error *error)
{
    return recurrent_compute(call, &gru, error);
}
