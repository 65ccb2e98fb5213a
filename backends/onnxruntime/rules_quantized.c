/* SPDX-License-Identifier: Apache-2.0 */
/* rules_quantized.c: operators on integers of 8 and 16 bits with scales and zero points. What the
 * library finds out only when it runs (it has kernels for less than ONNX allows) must be refused
 * here: a run that fails is no refusal. */
#include "rules.h"

static bool is_byte(const collage_value *value)
{
    return value->dtype == COLLAGE_UINT8 || value->dtype == COLLAGE_INT8;
}

static bool has_type(const collage_value *value, collage_dtype dtype)
{
    return value && value->dtype == dtype;
}

/* Inputs first .. last are all there. */
static bool has_inputs(const collage_subgraph *subgraph, const collage_node *node, uint32_t first,
                       uint32_t last)
{
    for (uint32_t k = first; k <= last; k++)
        if (!operator_input(subgraph, node, k))
            return false;
    return true;
}

static bool is_single_or_none(const collage_value *value)
{
    return !value || operator_is_single(value);
}

/* ---- QuantizeLinear, DequantizeLinear ---- */

/* One scale for all, or for each index of an axis (that must be named even where there is but one),
 * or for blocks. */
static bool takes_scaling(const collage_subgraph *subgraph, const collage_node *node,
                          collage_message *why)
{
    const collage_value *x = operator_input(subgraph, node, 0);
    const collage_value *scale = operator_input(subgraph, node, 1);
    const collage_value *zero = operator_input(subgraph, node, 2);
    int64_t axis = collage_node_int(node, "axis", 1);
    bool blocks = collage_node_int(node, "block_size", 0) != 0;
    if (scale->dtype != COLLAGE_FLOAT32)
        return operator_refuse(why, node, "only with a scale of float32");
    if (operator_is_single(scale))
        return (!blocks && is_single_or_none(zero)) ||
               operator_refuse(why, node, "blocks have a scale each");
    if (axis < -x->rank || axis >= x->rank)
        return operator_refuse(why, node, "only with an axis within the rank");
    if (scale->rank != (blocks ? x->rank : 1))
        return operator_refuse(why, node, "the scale is of another rank than it takes");
    return !zero || zero->rank == scale->rank ||
           operator_refuse(why, node, "the zero point is not of the shape of the scale");
}

static bool is_float32_or_unset(const collage_node *node, const char *name)
{
    int64_t type = collage_node_int(node, name, 0);
    return type == 0 || type == COLLAGE_FLOAT32;
}

bool takes_quantize(const collage_subgraph *subgraph, const collage_node *node,
                    collage_message *why)
{
    return (is_float32_or_unset(node, "precision") ||
            operator_refuse(why, node, "it divides in float32")) &&
           takes_scaling(subgraph, node, why);
}

bool takes_dequantize(const collage_subgraph *subgraph, const collage_node *node,
                      collage_message *why)
{
    if (has_type(operator_input(subgraph, node, 0), COLLAGE_INT32) &&
        operator_input(subgraph, node, 2))
        return operator_refuse(why, node, "of int32 only without a zero point");
    return (is_float32_or_unset(node, "output_dtype") ||
            operator_refuse(why, node, "only to float32")) &&
           takes_scaling(subgraph, node, why);
}

/* It writes all of its outputs, wanted or not. */
bool takes_dynamic_quantize(const collage_subgraph *subgraph, const collage_node *node,
                            collage_message *why)
{
    (void)subgraph;
    for (uint32_t k = 0; k < 3; k++)
        if (k >= node->output_count || node->outputs[k] == COLLAGE_NO_VALUE)
            return operator_refuse(why, node, "only with all of its outputs");
    return true;
}

/* ---- products ---- */

/* int8 is multiplied by int8 only, uint8 by both. */
static bool takes_operands(const collage_value *a, const collage_value *b, const collage_node *node,
                           collage_message *why)
{
    bool fits = is_byte(a) && is_byte(b) && (a->dtype == COLLAGE_UINT8 || b->dtype == COLLAGE_INT8);
    return fits || operator_refuse(why, node, "there is no kernel for these types of operands");
}

/* Inputs a, its scale, its zero; b, its scale, its zero; the scale and the zero of the result. The
 * result has the type of a. */
static bool takes_scaled_product(const collage_subgraph *subgraph, const collage_node *node,
                                 collage_message *why)
{
    if (!has_inputs(subgraph, node, 0, 7))
        return operator_refuse(why, node, "only with all scales and zero points");
    static const uint32_t scales[] = { 1, 4, 6 };
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++)
        if (!has_type(operator_input(subgraph, node, scales[k]), COLLAGE_FLOAT32))
            return operator_refuse(why, node, "only with scales of float32");
    const collage_value *a = operator_input(subgraph, node, 0);
    if (!has_type(operator_input(subgraph, node, 7), a->dtype))
        return operator_refuse(why, node, "only to the type of its first operand");
    if (!operator_is_single(operator_input(subgraph, node, 1)) ||
        !operator_is_single(operator_input(subgraph, node, 2)) ||
        !operator_is_single(operator_input(subgraph, node, 6)) ||
        !operator_is_single(operator_input(subgraph, node, 7)))
        return operator_refuse(why, node,
                               "only with one scale for all of its first operand and its result");
    return takes_operands(a, operator_input(subgraph, node, 3), node, why);
}

/* Each output channel may have a scale, but all have one zero point. */
bool takes_qlinear_conv(const collage_subgraph *subgraph, const collage_node *node,
                        collage_message *why)
{
    if (!takes_scaled_product(subgraph, node, why))
        return false;
    const collage_value *zero = operator_input(subgraph, node, 5);
    if (operator_is_single(zero))
        return true;
    if (!zero->data)
        return operator_refuse(why, node, "only with constant zero points of the weights");
    for (int64_t k = 1; k < operator_elements(zero); k++)
        if (operator_integer(zero, k) != operator_integer(zero, 0))
            return operator_refuse(why, node, "only with one zero point for all weights");
    return true;
}

bool takes_qlinear_matmul(const collage_subgraph *subgraph, const collage_node *node,
                          collage_message *why)
{
    return takes_scaled_product(subgraph, node, why);
}

bool takes_matmul_integer(const collage_subgraph *subgraph, const collage_node *node,
                          collage_message *why)
{
    if (!is_single_or_none(operator_input(subgraph, node, 2)))
        return operator_refuse(why, node, "only with one zero point of its first operand");
    return takes_operands(operator_input(subgraph, node, 0), operator_input(subgraph, node, 1),
                          node, why);
}

/* A zero point that is named as left out is read all the same. */
bool takes_conv_integer(const collage_subgraph *subgraph, const collage_node *node,
                        collage_message *why)
{
    if (!has_type(operator_input(subgraph, node, 0), COLLAGE_UINT8) ||
        !has_type(operator_input(subgraph, node, 1), COLLAGE_UINT8))
        return operator_refuse(why, node, "of uint8 only");
    if (!has_inputs(subgraph, node, 0, node->input_count - 1))
        return operator_refuse(why, node, "only with both zero points, or none");
    return (is_single_or_none(operator_input(subgraph, node, 2)) &&
            is_single_or_none(operator_input(subgraph, node, 3))) ||
           operator_refuse(why, node, "only with one zero point for all weights");
}

/* ---- without VNNI ---- */

/* The inputs that are multiplied, and the zero point of the second. */
static const struct product {
    const char *op;
    uint32_t a, b, zero;
} products[] = {
    { "MatMulInteger", 0, 1, 3 },
    { "QLinearConv", 0, 3, 5 },
    { "QLinearMatMul", 0, 3, 5 },
};

/* A MatMul whose second operand is dequantized from int8 that is no constant: it may become a
 * product of integers. (A Conv of int8 stays one of float32, unless both come from QuantizeLinear,
 * which then makes uint8.) */
static bool multiplies_dequantized(const collage_subgraph *subgraph, const collage_node *node)
{
    bool product = strcmp(node->op_type, "MatMul") == 0 || strcmp(node->op_type, "Gemm") == 0;
    for (uint32_t k = 0; k < subgraph->node_count && product; k++) {
        const collage_node *other = subgraph->nodes[k];
        if (strcmp(other->op_type, "DequantizeLinear") == 0 &&
            other->outputs[0] == node->inputs[1] &&
            has_type(operator_input(subgraph, other, 0), COLLAGE_INT8))
            return !operator_input(subgraph, other, 0)->data;
    }
    return false;
}

/* Made uint8, constant int8 gets a zero point: one, where there are several scales and was none,
 * and then it does not run. */
static bool lacks_zeros(const collage_subgraph *subgraph, const collage_node *node)
{
    const collage_value *x = operator_input(subgraph, node, 0);
    if (strcmp(node->op_type, "DequantizeLinear") == 0 && has_type(x, COLLAGE_INT8) && x->data &&
        !operator_input(subgraph, node, 2) &&
        !operator_is_single(operator_input(subgraph, node, 1)))
        return true;
    for (uint32_t k = 0; k < node->input_count; k++) {
        const collage_value *value = operator_input(subgraph, node, k);
        const collage_dequantized *from = value ? value->dequantized : NULL;
        if (from && from->zero == COLLAGE_NO_VALUE &&
            has_type(subgraph->values[from->integers], COLLAGE_INT8) &&
            !operator_is_single(subgraph->values[from->scale]))
            return true;
    }
    return false;
}

/* Sums of products with int8 saturate, unless it is constant and can be made uint8 (session.c). */
bool takes_without_vnni(const collage_subgraph *subgraph, const collage_node *node,
                        collage_message *why)
{
    static const char reason[] = "without VNNI its sums of int8 saturate";
    if (lacks_zeros(subgraph, node))
        return operator_refuse(why, node, "int8 with several scales only with zero points");
    if (multiplies_dequantized(subgraph, node))
        return operator_refuse(why, node, reason);
    for (size_t k = 0; k < sizeof products / sizeof *products; k++) {
        if (strcmp(products[k].op, node->op_type) != 0)
            continue;
        const collage_value *a = operator_input(subgraph, node, products[k].a);
        const collage_value *b = operator_input(subgraph, node, products[k].b);
        const collage_value *zero = operator_input(subgraph, node, products[k].zero);
        bool constant = b && b->data && (!zero || zero->data);
        if (has_type(a, COLLAGE_INT8) || (has_type(b, COLLAGE_INT8) && !constant))
            return operator_refuse(why, node, reason);
    }
    return true;
}
