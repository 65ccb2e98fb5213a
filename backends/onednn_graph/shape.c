/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c: what moves elements or sees them in another shape. */
#include "operators.h"

void translate_concat(struct recipe *recipe, const collage_node *node)
{
    enum { MAX_PARTS = 64 }; /* the library's own limit */
    size_t operands[MAX_PARTS];
    int64_t axis;
    if (node->input_count < 2 || node->input_count > MAX_PARTS) {
        recipe_refuse(recipe, "only of 2 to %d tensors", MAX_PARTS);
        return;
    }
    for (uint32_t k = 0; k < node->input_count; k++)
        operands[k] = recipe_operand(recipe, node, k);
    if (recipe->failed || !recipe_axis(recipe, collage_node_int(node, "axis", 0),
                                       recipe->tensors[operands[0]].rank, &axis))
        return;
    recipe_add(recipe, dnnl_graph_op_concat, operands, node->input_count,
               recipe_result(recipe, node));
    recipe_set_integer(recipe, dnnl_graph_op_attr_axis, axis);
}

/* Reshape, Flatten, Squeeze, Unsqueeze: the result's shape says all. */
void translate_reshape(struct recipe *recipe, const collage_node *node)
{
    size_t x = recipe_operand(recipe, node, 0), result = recipe_result(recipe, node);
    if (recipe->failed)
        return;
    const struct tensor shape = recipe->tensors[result];
    recipe_add(recipe, dnnl_graph_op_static_reshape, &x, 1, result);
    recipe_set_integers(recipe, dnnl_graph_op_attr_shape, shape.dims, (size_t)shape.rank);
    recipe_set_bool(recipe, dnnl_graph_op_attr_special_zero, false);
}

void translate_transpose(struct recipe *recipe, const collage_node *node)
{
    size_t x = recipe_operand(recipe, node, 0);
    if (recipe->failed)
        return;
    int rank = recipe->tensors[x].rank;
    const collage_attribute *perm = collage_node_attribute(node, "perm", COLLAGE_ATTRIBUTE_INTS);
    int64_t order[MAX_RANK];
    if (perm && perm->count != (uint32_t)rank) {
        recipe_refuse(recipe, "perm has %u numbers, not %d", perm->count, rank);
        return;
    }
    for (int d = 0; d < rank; d++)
        order[d] = perm ? perm->ints[d] : rank - 1 - d;
    recipe_add(recipe, dnnl_graph_op_static_transpose, &x, 1, recipe_result(recipe, node));
    recipe_set_integers(recipe, dnnl_graph_op_attr_order, order, (size_t)rank);
}
