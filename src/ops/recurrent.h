/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recurrent.h: what LSTM, GRU and RNN share: their inputs and attributes, directions, layouts,
 * sequence lengths and activations, and the loop over the steps. An operator adds its one step.
 *
 * The activations are a list of names, which attributes cannot be: the attribute is one string,
 * the names separated by commas ("Sigmoid,Tanh,Tanh").
 */
#ifndef COLLAGE_OPS_RECURRENT_H
#define COLLAGE_OPS_RECURRENT_H

#include "ops/ops.h"

enum { RECURRENT_ACTIVATIONS = 3, RECURRENT_DIRECTIONS = 2 };

struct recurrent;

/* An operator. */
struct recurrent_kind {
    int32_t gates, activations; /* of one direction */
    const char *defaults;       /* activations of one direction, as in the attribute */
    void (*step)(const struct recurrent *r);
};

struct activation {
    double (*function)(double x, double alpha, double beta);
    double alpha, beta;
};

struct recurrent {
    const struct recurrent_kind *kind;
    int64_t steps, batch, inputs, hidden, directions;
    bool first_reversed, batch_first, linear_before_reset, input_forget;
    double clip; /* infinite: none */
    struct activation activations[RECURRENT_DIRECTIONS][RECURRENT_ACTIVATIONS];

    /* While computing. Of the direction at hand: its number, w [gates x hidden][inputs], r [gates x
     * hidden][hidden], the two biases [gates x hidden] (zero if left out), and the peepholes
     * [3 x hidden] (NULL if left out). */
    int64_t direction;
    double *w, *r, *input_bias, *state_bias, *peepholes;
    /* Of the row of the batch at hand: x [inputs]; the states h and c [hidden], which a step
     * renews; what the step gets from x, with its bias [gates x hidden]; and room for as much from
     * the state, and for one more state. */
    double *x, *h, *c, *from_input, *from_state, *spare;
};

collage_status recurrent_infer(const struct op_call *call, const struct recurrent_kind *kind,
                               struct error *error);
collage_status recurrent_compute(const struct op_call *call, const struct recurrent_kind *kind,
                                 struct error *error);

/* from_state of `count` gates from gate `first` on: r times the state, plus its bias. */
void recurrent_multiply(const struct recurrent *r, const double *state, int64_t first,
                        int64_t count);
/* Activation number k of the direction, of x clipped. */
double recurrent_activate(const struct recurrent *r, int32_t k, double x);

#endif
