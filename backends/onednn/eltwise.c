/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise.c: the operators of one tensor, element by element, and the binary ones. */
#include "recipe.h"

#include <math.h>
#include <string.h>

/* An operator with at most two attributes; without a name, the number is the parameter. */
static const struct eltwise_row {
    const char *op_type;
    dnnl_alg_kind_t alg;
    const char *alpha_name;
    float alpha;
    const char *beta_name;
    float beta;
} eltwise_table[] = {
    { "Relu", dnnl_eltwise_relu, NULL, 0.0f, NULL, 0.0f },
    { "LeakyRelu", dnnl_eltwise_relu, "alpha", 0.01f, NULL, 0.0f },
    { "Elu", dnnl_eltwise_elu, "alpha", 1.0f, NULL, 0.0f },
    { "Sigmoid", dnnl_eltwise_logistic, NULL, 0.0f, NULL, 0.0f },
    { "Tanh", dnnl_eltwise_tanh, NULL, 0.0f, NULL, 0.0f },
    { "Abs", dnnl_eltwise_abs, NULL, 0.0f, NULL, 0.0f },
    { "Sqrt", dnnl_eltwise_sqrt, NULL, 0.0f, NULL, 0.0f },
    { "Exp", dnnl_eltwise_exp, NULL, 0.0f, NULL, 0.0f },
    { "Log", dnnl_eltwise_log, NULL, 0.0f, NULL, 0.0f },
    { "Softplus", dnnl_eltwise_soft_relu, NULL, 1.0f, NULL, 0.0f },
    { "HardSigmoid", dnnl_eltwise_hardsigmoid, "alpha", 0.2f, "beta", 0.5f },
    { "HardSwish", dnnl_eltwise_hardswish, NULL, 1.0f / 6.0f, NULL, 0.5f },
    { "Swish", dnnl_eltwise_swish, "alpha", 1.0f, NULL, 0.0f },
    { "Mish", dnnl_eltwise_mish, NULL, 0.0f, NULL, 0.0f },
    { "Round", dnnl_eltwise_round, NULL, 0.0f, NULL, 0.0f },
    { "Neg", dnnl_eltwise_linear, NULL, -1.0f, NULL, 0.0f },
    { "Reciprocal", dnnl_eltwise_pow, NULL, 1.0f, NULL, -1.0f },
};

static const struct binary_row {
    const char *op_type;
    dnnl_alg_kind_t alg;
    bool commutes;
} binary_table[] = {
    { "Add", dnnl_binary_add, true }, { "Sub", dnnl_binary_sub, false },
    { "Mul", dnnl_binary_mul, true }, { "Div", dnnl_binary_div, false },
    { "Min", dnnl_binary_min, true }, { "Max", dnnl_binary_max, true },
    { "Sum", dnnl_binary_add, true },
};

dnnl_alg_kind_t binary_algorithm(const char *op_type, bool *commutes)
{
    for (size_t k = 0; k < sizeof binary_table / sizeof binary_table[0]; k++) {
        if (strcmp(binary_table[k].op_type, op_type) == 0) {
            *commutes = binary_table[k].commutes;
            return binary_table[k].alg;
        }
    }
    return dnnl_alg_kind_undef;
}

/* The contents of a constant float32 with one element. */
static bool constant_scalar(const struct recipe *recipe, uint32_t id, float *scalar)
{
    const collage_value *value = recipe->graph->values[id];
    if (!value_is_constant(value) || value->dtype != COLLAGE_FLOAT32 ||
        dims_product(value->dims, 0, value->rank) != 1)
        return false;
    memcpy(scalar, value->data, sizeof *scalar);
    return true;
}

static enum eltwise_match match_clip(struct recipe *recipe, const collage_node *node,
                                     struct post *post)
{
    float bounds[2] = { -INFINITY, INFINITY };
    for (uint32_t k = 1; k < node->input_count && k < 3; k++) {
        if (node->inputs[k] == COLLAGE_NO_VALUE)
            continue;
        if (!constant_scalar(recipe, node->inputs[k], &bounds[k - 1])) {
            refuse(recipe, "the bounds of Clip are not constant");
            return ELTWISE_REFUSED;
        }
    }
    if (!(bounds[0] <= bounds[1])) {
        refuse(recipe, "the bounds of Clip are out of order");
        return ELTWISE_REFUSED;
    }
    post->alg = dnnl_eltwise_clip;
    post->alpha = bounds[0];
    post->beta = bounds[1];
    return ELTWISE_YES;
}

static enum eltwise_match match_gelu(struct recipe *recipe, const collage_node *node,
                                     struct post *post)
{
    const char *approximate = collage_node_string(node, "approximate", "none");
    if (strcmp(approximate, "none") == 0) {
        post->alg = dnnl_eltwise_gelu_erf;
    } else if (strcmp(approximate, "tanh") == 0) {
        post->alg = dnnl_eltwise_gelu_tanh;
    } else {
        refuse(recipe, "Gelu has the unknown approximation '%s'", approximate);
        return ELTWISE_REFUSED;
    }
    return ELTWISE_YES;
}

static bool pow_to_eltwise(float exponent, struct post *post)
{
    if (exponent == 2.0f) {
        post->alg = dnnl_eltwise_square;
    } else {
        post->alg = dnnl_eltwise_pow;
        post->alpha = 1.0f;
        post->beta = exponent;
    }
    return isfinite(exponent);
}

/* x op scalar, or scalar op x if `right`, as alpha * x + beta (or a power). */
static bool scalar_to_eltwise(const char *op, float scalar, bool right, struct post *post)
{
    if (strcmp(op, "Pow") == 0)
        return !right && pow_to_eltwise(scalar, post);
    bool commutes = false;
    float alpha = 1.0f, beta = 0.0f;
    switch ((int)binary_algorithm(op, &commutes)) {
    case dnnl_binary_add:
        beta = scalar;
        break;
    case dnnl_binary_sub:
        alpha = right ? -1.0f : 1.0f;
        beta = right ? scalar : -scalar;
        break;
    case dnnl_binary_mul:
        alpha = scalar;
        break;
    case dnnl_binary_div:
        if (right) {
            *post = (struct post){ .kind = POST_ELTWISE, .alg = dnnl_eltwise_pow, .alpha = scalar };
            post->beta = -1.0f;
            return isfinite(scalar);
        }
        alpha = 1.0f / scalar;
        if (!isnormal(alpha))
            return false;
        break;
    default:
        return false;
    }
    post->alg = dnnl_eltwise_linear;
    post->alpha = alpha;
    post->beta = beta;
    return isfinite(scalar);
}

enum eltwise_match eltwise_match_node(struct recipe *recipe, const collage_node *node,
                                      uint32_t value, struct post *post)
{
    post->kind = POST_ELTWISE;
    for (size_t k = 0; k < sizeof eltwise_table / sizeof eltwise_table[0]; k++) {
        const struct eltwise_row *row = &eltwise_table[k];
        if (strcmp(row->op_type, node->op_type) != 0)
            continue;
        post->alg = row->alg;
        post->alpha =
            row->alpha_name ? collage_node_float(node, row->alpha_name, row->alpha) : row->alpha;
        post->beta =
            row->beta_name ? collage_node_float(node, row->beta_name, row->beta) : row->beta;
        return ELTWISE_YES;
    }
    if (strcmp(node->op_type, "Clip") == 0 && node->inputs[0] == value)
        return match_clip(recipe, node, post);
    if (strcmp(node->op_type, "Gelu") == 0)
        return match_gelu(recipe, node, post);
    if (node->input_count != 2)
        return ELTWISE_NO;
    bool right = node->inputs[1] == value;
    float scalar = 0.0f;
    if (!constant_scalar(recipe, node->inputs[right ? 0 : 1], &scalar))
        return ELTWISE_NO;
    return scalar_to_eltwise(node->op_type, scalar, right, post) ? ELTWISE_YES : ELTWISE_NO;
}

/* ---- as the first operator ---- */

/* Channel layouts make sense for tensors with channels and space. */
static bool check_class(struct recipe *recipe)
{
    if (recipe->choice->out == LAYOUT_PLAIN)
        return true;
    if (recipe->out_rank < 4 || recipe->out_rank > 5)
        return refuse(recipe, "only tensors of rank 4 and 5 are kept in channel layouts");
    int block = recipe->target->avx512 ? 16 : 8;
    if (recipe->choice->out == LAYOUT_BLOCKED && recipe->out_dims[1] < block)
        return refuse(recipe, "there are fewer channels than a block");
    return true;
}

static bool is_full(const struct recipe *recipe, const int64_t *aligned)
{
    return memcmp(aligned, recipe->out_dims, (size_t)recipe->out_rank * sizeof aligned[0]) == 0;
}

static bool translate_unary(struct recipe *recipe, uint32_t value, const struct post *post)
{
    enum layout_class layout = recipe->choice->out;
    if (recipe->post_count > 0)
        return refuse(recipe, "nothing is fused behind %s", recipe_head(recipe)->op_type);
    recipe->family = FAMILY_ELTWISE;
    recipe->alg = post->alg;
    recipe->alpha = post->alpha;
    recipe->beta = post->beta;
    int64_t aligned[1][MAX_RANK];
    if (!value_align(recipe, recipe->graph->values[value], aligned[0]) ||
        !is_full(recipe, aligned[0]))
        return refuse(recipe, "the operand is broadcast by a constant");
    if (layout == LAYOUT_PLAIN)
        groups_coalesce(recipe, aligned, 1);
    else
        groups_identity(recipe);
    recipe->inplace_value = value;
    return operand_add_aligned(recipe, DNNL_ARG_SRC, value, aligned[0], layout) &&
           operand_add_output(recipe, layout) && chain_place(recipe, layout);
}

static bool translate_binary(struct recipe *recipe, dnnl_alg_kind_t alg, bool commutes)
{
    enum layout_class layout = recipe->choice->out;
    uint32_t ids[2] = { head_input_id(recipe, 0), head_input_id(recipe, 1) };
    int64_t aligned[2][MAX_RANK];
    recipe->family = FAMILY_BINARY;
    recipe->alg = alg;
    for (int k = 0; k < 2; k++) {
        if (!value_align(recipe, recipe->graph->values[ids[k]], aligned[k]))
            return refuse(recipe, "the operands do not broadcast to the output");
    }
    /* The library is fast if the first operand is the one that is not broadcast. */
    int first = commutes && !is_full(recipe, aligned[0]) && is_full(recipe, aligned[1]);
    if (value_is_constant(recipe->graph->values[ids[0]]) && commutes && is_full(recipe, aligned[1]))
        first = 1;
    if (layout == LAYOUT_PLAIN)
        groups_coalesce(recipe, aligned, 2);
    else
        groups_identity(recipe);
    if (ids[0] != ids[1] && is_full(recipe, aligned[first]))
        recipe->inplace_value = ids[first];
    return operand_add_aligned(recipe, DNNL_ARG_SRC_0, ids[first], aligned[first], layout) &&
           operand_add_aligned(recipe, DNNL_ARG_SRC_1, ids[1 - first], aligned[1 - first],
                               layout) &&
           operand_add_output(recipe, layout) && chain_place(recipe, layout);
}

bool translate_elementwise(struct recipe *recipe)
{
    const collage_node *head = recipe_head(recipe);
    if (!check_class(recipe))
        return false;
    /* The operand that is not constant, if there is only one. */
    uint32_t value = head->inputs[0];
    if (head->input_count == 2 && value != COLLAGE_NO_VALUE &&
        value_is_constant(recipe->graph->values[value]))
        value = head->inputs[1];
    if (value == COLLAGE_NO_VALUE)
        return refuse(recipe, "%s lacks its operand", head->op_type);
    struct post post = { .kind = POST_ELTWISE };
    bool commutes = false;
    dnnl_alg_kind_t alg = binary_algorithm(head->op_type, &commutes);
    /* The library fuses with a binary primitive, but not with an element-wise one. */
    bool fuses = recipe->post_count > 0 && alg != dnnl_alg_kind_undef && head->input_count == 2;
    switch (fuses ? ELTWISE_NO : eltwise_match_node(recipe, head, value, &post)) {
    case ELTWISE_REFUSED:
        return false;
    case ELTWISE_YES:
        return translate_unary(recipe, value, &post);
    case ELTWISE_NO:
        break;
    }
    if (alg == dnnl_alg_kind_undef || head->input_count != 2)
        return refuse(recipe, "%s with these operands is not mapped", head->op_type);
    return translate_binary(recipe, alg, commutes);
}

/* x where it is positive, else x times the slope. */
bool translate_prelu(struct recipe *recipe)
{
    enum layout_class layout = recipe->choice->out;
    uint32_t ids[] = { head_input_id(recipe, 0), head_input_id(recipe, 1) };
    int64_t aligned[2][MAX_RANK];
    if (ids[1] == COLLAGE_NO_VALUE || !check_class(recipe))
        return false;
    for (int k = 0; k < 2; k++) {
        if (!value_align(recipe, recipe->graph->values[ids[k]], aligned[k]))
            return refuse(recipe, "the slopes do not broadcast to the output");
    }
    recipe->family = FAMILY_PRELU;
    if (recipe->out_rank > 5)
        return refuse(recipe, "PRelu of rank %d is not mapped", recipe->out_rank);
    groups_identity(recipe); /* not in place: the library then reads what it has written */
    return operand_add_aligned(recipe, DNNL_ARG_SRC, ids[0], aligned[0], layout) &&
           operand_add_aligned(recipe, DNNL_ARG_WEIGHTS, ids[1], aligned[1], layout) &&
           operand_add_output(recipe, layout);
}
