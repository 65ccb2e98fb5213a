/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.c: LSTM with the default activations. Each direction is a pass, which writes its part of
 * the outputs; results that nobody wants go to scratch memory. */
#include "recipe.h"

#include <string.h>

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };
enum { GATES = 4 };

struct lstm {
    int64_t steps, batch, inputs, hidden, directions, direction;
};

static bool read_sizes(struct recipe *recipe, struct lstm *l)
{
    const collage_value *x = head_input(recipe, X), *w = head_input(recipe, W);
    const collage_value *r = head_input(recipe, R);
    const char *direction = collage_node_string(recipe_head(recipe), "direction", "forward");
    bool both = strcmp(direction, "bidirectional") == 0, back = strcmp(direction, "reverse") == 0;
    if (!w || !r || x->rank != 3 || w->rank != 3 || r->rank != 3)
        return refuse(recipe, "X, W and R must have rank 3");
    if (!both && !back && strcmp(direction, "forward") != 0)
        return refuse(recipe, "direction '%.20s' is unknown", direction);
    *l = (struct lstm){ .steps = x->dims[0],
                        .batch = x->dims[1],
                        .inputs = x->dims[2],
                        .hidden = r->dims[2],
                        .directions = both ? 2 : 1,
                        .direction = recipe->pass };
    recipe->pass_count = both ? 2 : 1;
    recipe->reverse = back || recipe->pass == 1;
    if (w->dims[0] != l->directions || r->dims[0] != l->directions ||
        w->dims[1] != GATES * l->hidden || r->dims[1] != GATES * l->hidden ||
        w->dims[2] != l->inputs)
        return refuse(recipe, "the weights do not fit the input");
    return true;
}

static bool check_options(struct recipe *recipe)
{
    const collage_node *head = recipe_head(recipe);
    if (head_input(recipe, LENGTHS))
        return refuse(recipe, "sequence_lens is not mapped");
    if (head_input(recipe, PEEPHOLES))
        return refuse(recipe, "peepholes are not mapped");
    if (collage_node_attribute(head, "clip", COLLAGE_ATTRIBUTE_FLOAT) ||
        collage_node_attribute(head, "activations", COLLAGE_ATTRIBUTE_STRING) ||
        collage_node_int(head, "input_forget", 0) != 0 || collage_node_int(head, "layout", 0) != 0)
        return refuse(recipe, "clip, input_forget, layout and other activations are not mapped");
    return true;
}

/* The weights of one direction: gates x hidden x columns, seen as columns x gates x hidden. */
static bool add_weights(struct recipe *recipe, const struct lstm *l, int arg, uint32_t input,
                        int64_t columns)
{
    int64_t dims[] = { 1, 1, columns, GATES, l->hidden };
    struct operand *weights = operand_add(recipe, arg, head_input_id(recipe, input), 5, dims);
    if (!weights)
        return false;
    if (!weights->constant)
        return refuse(recipe, "the weights are not constant");
    weights->any = true;
    weights->packing = PACKING_GATES;
    weights->offset = l->direction * GATES * l->hidden * columns;
    weights->strides[2] = 1;
    weights->strides[3] = l->hidden * columns;
    weights->strides[4] = columns;
    return true;
}

/* An operand that is no value of the sub-graph. */
static struct operand *add_own(struct recipe *recipe, int arg, int rank, const int64_t *dims)
{
    struct operand *operand = operand_add(recipe, arg, head_input_id(recipe, X), rank, dims);
    if (operand) {
        operand->value = COLLAGE_NO_VALUE;
        operand->constant = false;
    }
    return operand;
}

/* The library has no LSTM without a bias. */
static bool add_bias(struct recipe *recipe, const struct lstm *l)
{
    const collage_value *value = head_input(recipe, B);
    int64_t dims[] = { 1, 1, GATES, l->hidden };
    if (!value) {
        struct operand *zeros = add_own(recipe, DNNL_ARG_BIAS, 4, dims);
        if (zeros)
            zeros->zeros = true;
        return zeros != NULL;
    }
    if (!value_is_constant(value) || value->rank != 2 || value->dims[0] != l->directions ||
        value->dims[1] != GATES * l->hidden * 2)
        return refuse(recipe, "the bias is not constant or does not fit");
    struct operand *bias = operand_add(recipe, DNNL_ARG_BIAS, head_input_id(recipe, B), 4, dims);
    if (!bias)
        return false;
    bias->packing = PACKING_BIASES;
    bias->offset = l->direction * 2 * GATES * l->hidden;
    return true;
}

/* ---- states ---- */

static bool is_zero(const collage_value *value)
{
    if (!value_is_constant(value) || value->dtype != COLLAGE_FLOAT32)
        return false;
    const float *numbers = value->data;
    for (int64_t k = 0; k < dims_product(value->dims, 0, value->rank); k++) {
        if (numbers[k] != 0.0f)
            return false;
    }
    return true;
}

static bool add_state(struct recipe *recipe, const struct lstm *l, int arg, uint32_t id)
{
    int64_t dims[] = { 1, 1, l->batch, l->hidden };
    const collage_value *value = recipe->graph->values[id];
    if (value->rank != 3 || value->dims[0] != l->directions || value->dims[1] != l->batch ||
        value->dims[2] != l->hidden)
        return refuse(recipe, "a state does not fit");
    struct operand *state = operand_add(recipe, arg, id, 4, dims);
    if (state)
        state->offset = l->direction * l->batch * l->hidden;
    return state != NULL;
}

/* Zeros are what the library starts from anyway. */
static bool add_initial_states(struct recipe *recipe, const struct lstm *l)
{
    const collage_value *h = head_input(recipe, INITIAL_H), *c = head_input(recipe, INITIAL_C);
    if ((!h || is_zero(h)) && (!c || is_zero(c)))
        return true;
    if (!h || !c)
        return refuse(recipe, "only one of the initial states is given");
    return add_state(recipe, l, DNNL_ARG_SRC_ITER, head_input_id(recipe, INITIAL_H)) &&
           add_state(recipe, l, DNNL_ARG_SRC_ITER_C, head_input_id(recipe, INITIAL_C));
}

/* The k-th output if it is one of the sub-graph's. */
static uint32_t wanted_output(const struct recipe *recipe, uint32_t k)
{
    const collage_node *head = recipe_head(recipe);
    uint32_t id = k < head->output_count ? head->outputs[k] : COLLAGE_NO_VALUE;
    for (uint32_t o = 0; o < recipe->graph->output_count; o++) {
        if (id == recipe->graph->outputs[o])
            return id;
    }
    return COLLAGE_NO_VALUE;
}

static bool add_final_states(struct recipe *recipe, const struct lstm *l)
{
    static const int args[] = { 0, DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C };
    int64_t dims[] = { 1, 1, l->batch, l->hidden };
    if (wanted_output(recipe, 1) == COLLAGE_NO_VALUE &&
        wanted_output(recipe, 2) == COLLAGE_NO_VALUE)
        return true;
    for (uint32_t k = 1; k < 3; k++) {
        uint32_t id = wanted_output(recipe, k);
        if (id == COLLAGE_NO_VALUE ? !add_own(recipe, args[k], 4, dims)
                                   : !add_state(recipe, l, args[k], id))
            return false;
    }
    return true;
}

/* steps x directions x batch x hidden, of which this direction's part is written. */
static bool add_sequence(struct recipe *recipe, const struct lstm *l)
{
    int64_t dims[] = { l->steps, l->batch, l->hidden };
    uint32_t id = wanted_output(recipe, 0);
    if (id == COLLAGE_NO_VALUE)
        return add_own(recipe, DNNL_ARG_DST_LAYER, 3, dims) != NULL;
    struct operand *sequence = operand_add(recipe, DNNL_ARG_DST_LAYER, id, 3, dims);
    if (!sequence)
        return false;
    sequence->strides[0] = l->directions * l->batch * l->hidden;
    sequence->offset = l->direction * l->batch * l->hidden;
    return true;
}

bool translate_lstm(struct recipe *recipe)
{
    struct lstm l;
    if (!check_options(recipe) || !read_sizes(recipe, &l))
        return false;
    if (value_is_constant(head_input(recipe, X)))
        return refuse(recipe, "the input is constant");
    int64_t dims[] = { l.steps, l.batch, l.inputs };
    recipe->family = FAMILY_LSTM;
    return operand_add(recipe, DNNL_ARG_SRC_LAYER, head_input_id(recipe, X), 3, dims) &&
           add_weights(recipe, &l, DNNL_ARG_WEIGHTS_LAYER, W, l.inputs) &&
           add_weights(recipe, &l, DNNL_ARG_WEIGHTS_ITER, R, l.hidden) && add_bias(recipe, &l) &&
           add_initial_states(recipe, &l) && add_sequence(recipe, &l) &&
           add_final_states(recipe, &l);
}
