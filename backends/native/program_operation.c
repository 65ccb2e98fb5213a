/* SPDX-License-Identifier: Apache-2.0 */
/* program_operation.c: which operators a program has steps for, and with which parameters. */
#include "program_operation.h"

#include <math.h>
#include <string.h>

/* p, q: attributes and their defaults. */
static const struct operation {
    const char *op_type;
    enum program_op op;
    uint32_t inputs;
    const char *p, *q;
    float usual_p, usual_q;
} operations[] = {
    { "Abs", PROGRAM_ABS, 1, NULL, NULL, 0, 0 },
    { "Neg", PROGRAM_NEG, 1, NULL, NULL, 0, 0 },
    { "Sqrt", PROGRAM_SQRT, 1, NULL, NULL, 0, 0 },
    { "Reciprocal", PROGRAM_RECIPROCAL, 1, NULL, NULL, 0, 0 },
    { "Exp", PROGRAM_EXP, 1, NULL, NULL, 0, 0 },
    { "Log", PROGRAM_LOG, 1, NULL, NULL, 0, 0 },
    { "Relu", PROGRAM_RELU, 1, NULL, NULL, 0, 0 },
    { "LeakyRelu", PROGRAM_LEAKY_RELU, 1, "alpha", NULL, 0.01f, 0 },
    { "Sigmoid", PROGRAM_SIGMOID, 1, NULL, NULL, 0, 0 },
    { "Tanh", PROGRAM_TANH, 1, NULL, NULL, 0, 0 },
    { "Swish", PROGRAM_SWISH, 1, "alpha", NULL, 1, 0 },
    { "HardSwish", PROGRAM_HARD_SWISH, 1, NULL, NULL, 0, 0 },
    { "HardSigmoid", PROGRAM_HARD_SIGMOID, 1, "alpha", "beta", 0.2f, 0.5f },
    { "Erf", PROGRAM_ERF, 1, NULL, NULL, 0, 0 },
    { "Elu", PROGRAM_ELU, 1, "alpha", NULL, 1, 0 },
    { "Add", PROGRAM_ADD, 2, NULL, NULL, 0, 0 },
    { "Sub", PROGRAM_SUB, 2, NULL, NULL, 0, 0 },
    { "Mul", PROGRAM_MUL, 2, NULL, NULL, 0, 0 },
    { "Div", PROGRAM_DIV, 2, NULL, NULL, 0, 0 },
    { "Min", PROGRAM_MIN, 2, NULL, NULL, 0, 0 },
    { "Max", PROGRAM_MAX, 2, NULL, NULL, 0, 0 },
    { "PRelu", PROGRAM_PRELU, 2, NULL, NULL, 0, 0 },
    { "Where", PROGRAM_WHERE, 3, NULL, NULL, 0, 0 },
    /* read_special() */
    { "Gelu", PROGRAM_GELU, 1, NULL, NULL, 0, 0 },
    { "Clip", PROGRAM_CLIP, 1, NULL, NULL, 0, 0 },
    { "Pow", PROGRAM_SQUARE, 1, NULL, NULL, 0, 0 },
};

static const struct operation *find_operation(const collage_node *node)
{
    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
        if (strcmp(operations[k].op_type, node->op_type) == 0)
            return &operations[k];
    }
    return NULL;
}

bool program_knows(const collage_node *node)
{
    return find_operation(node) != NULL;
}

/* A constant scalar; `fallback` if it is left out. False: it is no such thing. */
static bool scalar(const collage_subgraph *subgraph, const collage_node *node, uint32_t index,
                   float fallback, float *out)
{
    *out = fallback;
    if (index >= node->input_count || node->inputs[index] == COLLAGE_NO_VALUE)
        return true;
    const collage_value *value = subgraph->values[node->inputs[index]];
    if (!value->data || value->dtype != COLLAGE_FLOAT32 || value->bytes != sizeof(float))
        return false;
    memcpy(out, value->data, sizeof *out);
    return true;
}

static bool read_power(const collage_subgraph *subgraph, const collage_node *node,
                       struct program_step *step)
{
    static const struct {
        float exponent;
        enum program_op op;
    } powers[] = { { 2, PROGRAM_SQUARE },
                   { 3, PROGRAM_CUBE },
                   { 1, PROGRAM_COPY },
                   { 0.5f, PROGRAM_ROOT },
                   { -1, PROGRAM_RECIPROCAL } };
    float exponent;
    if (node->input_count != 2 || !scalar(subgraph, node, 1, 0, &exponent))
        return false;
    for (size_t k = 0; k < sizeof powers / sizeof powers[0]; k++) {
        if (exponent == powers[k].exponent) {
            step->op = (uint8_t)powers[k].op;
            return true;
        }
    }
    return false;
}

bool program_read_operation(const collage_subgraph *subgraph, const collage_node *node,
                            struct program_step *step, uint32_t *operands, collage_message *why)
{
    const struct operation *operation = find_operation(node);
    if (!operation || node->output_count != 1 || node->outputs[0] == COLLAGE_NO_VALUE ||
        node->input_count < operation->inputs) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is not among these kernels", node->op_type);
        return false;
    }
    bool fine = true;
    step->op = (uint8_t)operation->op;
    *operands = operation->inputs;
    if (operation->p)
        step->p = collage_node_float(node, operation->p, operation->usual_p);
    if (operation->q)
        step->q = collage_node_float(node, operation->q, operation->usual_q);
    if (operation->op == PROGRAM_GELU) {
        if (strcmp(collage_node_string(node, "approximate", "none"), "tanh") == 0)
            step->op = PROGRAM_GELU_TANH;
    } else if (operation->op == PROGRAM_CLIP) {
        fine = scalar(subgraph, node, 1, -INFINITY, &step->p) &&
               scalar(subgraph, node, 2, INFINITY, &step->q);
    } else if (operation->op == PROGRAM_SQUARE) {
        fine = read_power(subgraph, node, step);
    } else {
        fine = node->input_count == operation->inputs;
    }
    for (uint32_t k = 0; k < operation->inputs; k++)
        fine = fine && node->inputs[k] != COLLAGE_NO_VALUE;
    if (!fine)
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s with these operands is not among these kernels",
             node->op_type);
    return fine;
}
