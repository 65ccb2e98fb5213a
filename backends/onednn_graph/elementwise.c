/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c: what computes each element from one element of each operand. */
#include "operators.h"

#include <math.h>
#include <string.h>

/* ---- of one tensor ---- */

static const struct unary {
    const char *name;
    dnnl_graph_op_kind_t kind;
    int attributes; /* how many of alpha and beta */
    float alpha, beta;
} unary_rows[] = {
    { "Abs", dnnl_graph_op_abs, 0, 0, 0 },
    { "Elu", dnnl_graph_op_elu, 1, 1, 0 },
    { "Exp", dnnl_graph_op_exp, 0, 0, 0 },
    { "Gelu", dnnl_graph_op_gelu, 0, 0, 0 },
    { "HardSigmoid", dnnl_graph_op_hard_sigmoid, 2, 0.2f, 0.5f },
    { "HardSwish", dnnl_graph_op_hard_swish, 0, 0, 0 },
    { "LeakyRelu", dnnl_graph_op_leaky_relu, 1, 0.01f, 0 },
    { "Log", dnnl_graph_op_log, 0, 0, 0 },
    { "Mish", dnnl_graph_op_mish, 0, 0, 0 },
    { "Relu", dnnl_graph_op_relu, 0, 0, 0 },
    { "Round", dnnl_graph_op_round, 0, 0, 0 },
    { "Sigmoid", dnnl_graph_op_sigmoid, 0, 0, 0 },
    { "Softplus", dnnl_graph_op_softplus, 0, 0, 0 },
    { "Sqrt", dnnl_graph_op_sqrt, 0, 0, 0 },
    { "Tanh", dnnl_graph_op_tanh, 0, 0, 0 },
};

void translate_unary(struct recipe *recipe, const collage_node *node)
{
    const struct unary *row = unary_rows;
    while (strcmp(row->name, node->op_type) != 0)
        row++; /* operators.c lists no other */
    if (strcmp(collage_node_string(node, "approximate", "none"), "none") != 0) {
        recipe_refuse(recipe, "only without approximation");
        return;
    }
    size_t x = recipe_operand(recipe, node, 0);
    recipe_add(recipe, row->kind, &x, 1, recipe_result(recipe, node));
    if (row->attributes > 0)
        recipe_set_number(recipe, dnnl_graph_op_attr_alpha,
                          collage_node_float(node, "alpha", row->alpha));
    if (row->attributes > 1)
        recipe_set_number(recipe, dnnl_graph_op_attr_beta,
                          collage_node_float(node, "beta", row->beta));
}

void translate_clip(struct recipe *recipe, const collage_node *node)
{
    float low = -INFINITY, high = INFINITY;
    if ((recipe_input(recipe, node, 1) && !recipe_number(recipe, node, 1, &low)) ||
        (recipe_input(recipe, node, 2) && !recipe_number(recipe, node, 2, &high))) {
        recipe_refuse(recipe, "its bounds are not constant");
        return;
    }
    if (!(low <= high)) {
        recipe_refuse(recipe, "its bounds leave no numbers");
        return;
    }
    size_t x = recipe_operand(recipe, node, 0);
    recipe_add(recipe, dnnl_graph_op_clamp, &x, 1, recipe_result(recipe, node));
    recipe_set_number(recipe, dnnl_graph_op_attr_min, low);
    recipe_set_number(recipe, dnnl_graph_op_attr_max, high);
}

/* 1 / x: the library takes Reciprocal in fusions only. */
void translate_reciprocal(struct recipe *recipe, const collage_node *node)
{
    size_t operands[] = { recipe_constant(recipe, 1, 1.0f), recipe_operand(recipe, node, 0) };
    recipe_add(recipe, dnnl_graph_op_divide, operands, 2, recipe_result(recipe, node));
}

/* The library does not take its own Pow: squares, cubes and roots are said in other words. */
void translate_pow(struct recipe *recipe, const collage_node *node)
{
    float exponent = 0;
    if (!recipe_number(recipe, node, 1, &exponent) ||
        (exponent != 2.0f && exponent != 3.0f && exponent != 0.5f)) {
        recipe_refuse(recipe, "only with a constant exponent of 2, 3 or 0.5");
        return;
    }
    size_t x = recipe_operand(recipe, node, 0), result = recipe_result(recipe, node);
    if (recipe->failed)
        return;
    if (exponent != 3.0f) {
        recipe_add(recipe, exponent == 2.0f ? dnnl_graph_op_square : dnnl_graph_op_sqrt, &x, 1,
                   result);
        return;
    }
    const struct tensor shape = recipe->tensors[x];
    size_t square = recipe_between(recipe, shape.rank, shape.dims);
    size_t product[] = { x, square };
    recipe_add(recipe, dnnl_graph_op_square, &x, 1, square);
    recipe_add(recipe, dnnl_graph_op_multiply, product, 2, result);
}

void translate_neg(struct recipe *recipe, const collage_node *node)
{
    size_t operands[] = { recipe_operand(recipe, node, 0), recipe_constant(recipe, 1, -1.0f) };
    recipe_add(recipe, dnnl_graph_op_multiply, operands, 2, recipe_result(recipe, node));
}

/* x * sigmoid(alpha * x): the library joins them again. */
void translate_swish(struct recipe *recipe, const collage_node *node)
{
    const collage_value *value = recipe_input(recipe, node, 0);
    float alpha = collage_node_float(node, "alpha", 1.0f);
    size_t x = recipe_operand(recipe, node, 0), inner = x;
    if (recipe->failed || !value)
        return;
    const struct tensor shape = recipe->tensors[x];
    if (alpha != 1.0f) {
        size_t scaled[] = { x, recipe_constant(recipe, 1, alpha) };
        inner = recipe_between(recipe, shape.rank, shape.dims);
        recipe_add(recipe, dnnl_graph_op_multiply, scaled, 2, inner);
    }
    size_t gate = recipe_between(recipe, shape.rank, shape.dims);
    recipe_add(recipe, dnnl_graph_op_sigmoid, &inner, 1, gate);
    size_t product[] = { x, gate };
    recipe_add(recipe, dnnl_graph_op_multiply, product, 2, recipe_result(recipe, node));
}

/* ---- of several tensors ---- */

static dnnl_graph_op_kind_t binary_kind(const char *name)
{
    static const struct {
        const char *name;
        dnnl_graph_op_kind_t kind;
    } rows[] = {
        { "Add", dnnl_graph_op_add },      { "Sum", dnnl_graph_op_add },
        { "Sub", dnnl_graph_op_subtract }, { "Mul", dnnl_graph_op_multiply },
        { "Div", dnnl_graph_op_divide },   { "Max", dnnl_graph_op_maximum },
        { "Min", dnnl_graph_op_minimum },
    };
    size_t k = 0;
    while (strcmp(rows[k].name, name) != 0)
        k++; /* operators.c lists no other */
    return rows[k].kind;
}

/* An operand of an operation whose result has that rank: constants get dimensions of 1 in front. */
static size_t aligned_operand(struct recipe *recipe, const collage_node *node, uint32_t index,
                              int32_t rank)
{
    const collage_value *value = recipe_input(recipe, node, index);
    int64_t dims[MAX_RANK];
    if (!value || !recipe_can_view(recipe, node, index) || value->rank >= rank || rank > MAX_RANK)
        return recipe_operand(recipe, node, index);
    for (int32_t d = 0; d < rank; d++)
        dims[d] = d < rank - value->rank ? 1 : value->dims[d - (rank - value->rank)];
    return recipe_view(recipe, node, index, rank, dims);
}

void translate_binary(struct recipe *recipe, const collage_node *node)
{
    int32_t rank = recipe->graph->values[node->outputs[0]]->rank;
    size_t operands[] = { aligned_operand(recipe, node, 0, rank),
                          aligned_operand(recipe, node, 1, rank) };
    recipe_add(recipe, binary_kind(node->op_type), operands, 2, recipe_result(recipe, node));
}

/* The shape of two tensors broadcast to each other. */
static struct tensor broadcast(const struct tensor *a, const struct tensor *b)
{
    struct tensor out = { .rank = a->rank > b->rank ? a->rank : b->rank };
    for (int d = 1; d <= out.rank; d++) {
        int64_t left = d <= a->rank ? a->dims[a->rank - d] : 1;
        int64_t right = d <= b->rank ? b->dims[b->rank - d] : 1;
        out.dims[out.rank - d] = left == 1 ? right : left;
    }
    return out;
}

/* One after the other. */
void translate_several(struct recipe *recipe, const collage_node *node)
{
    if (node->input_count < 2) {
        recipe_refuse(recipe, "only of several tensors");
        return;
    }
    size_t sum = recipe_operand(recipe, node, 0);
    for (uint32_t k = 1; k < node->input_count && !recipe->failed; k++) {
        size_t operands[] = { sum, recipe_operand(recipe, node, k) };
        if (recipe->failed)
            return;
        struct tensor shape =
            broadcast(&recipe->tensors[operands[0]], &recipe->tensors[operands[1]]);
        sum = k + 1 == node->input_count ? recipe_result(recipe, node)
                                         : recipe_between(recipe, shape.rank, shape.dims);
        recipe_add(recipe, binary_kind(node->op_type), operands, 2, sum);
    }
}

/* One slope, or one for each channel. */
void translate_prelu(struct recipe *recipe, const collage_node *node)
{
    const collage_value *x = recipe_input(recipe, node, 0);
    const collage_value *slope = recipe_input(recipe, node, 1);
    if (!x || !slope || !slope->data) {
        recipe_refuse(recipe, "its slope is not constant");
        return;
    }
    int64_t count = (int64_t)(slope->bytes / sizeof(float));
    int channel = slope->rank - (x->rank - 1); /* of the slope's dimensions: x's second */
    bool each = x->rank >= 2 && channel >= 0 && channel < slope->rank &&
                slope->dims[channel] == count && count == x->dims[1];
    if (count != 1 && !each) {
        recipe_refuse(recipe, "only with one slope, or one for each channel");
        return;
    }
    size_t operands[] = { recipe_operand(recipe, node, 0),
                          recipe_view(recipe, node, 1, 1, &count) };
    recipe_add(recipe, dnnl_graph_op_prelu, operands, 2, recipe_result(recipe, node));
    recipe_set_text(recipe, dnnl_graph_op_attr_data_format, "NCX");
    recipe_set_bool(recipe, dnnl_graph_op_attr_per_channel_broadcast, count != 1);
}
