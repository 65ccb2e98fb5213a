/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c: RNN, the simple one: the state becomes an activation of a sum. */
#include "ops/call.h"
#include "ops/recurrent.h"

static void step(const struct recurrent *r)
{
    recurrent_multiply(r, r->h, 0, 1);
    for (int64_t k = 0; k < r->hidden; k++)
        r->h[k] = recurrent_activate(r, 0, r->from_input[k] + r->from_state[k]);
}

static const struct recurrent_kind rnn = {
    .gates = 1, .activations = 1, .defaults = "Tanh", .step = step
};

collage_status infer_rnn(const struct op_call *call, struct error *error)
{
    return recurrent_infer(call, &rnn, error);
}

collage_status compute_rnn(const struct op_call *call, struct error *error)
{
    return recurrent_compute(call, &rnn, error);
}
