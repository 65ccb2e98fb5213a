/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.c: products of matrices. */
#include "operators.h"

static void add_product(struct recipe *recipe, const size_t *operands, size_t count, size_t result,
                        bool transpose_a, bool transpose_b)
{
    recipe_add(recipe, dnnl_graph_op_matmul, operands, count, result);
    recipe_set_bool(recipe, dnnl_graph_op_attr_transpose_a, transpose_a);
    recipe_set_bool(recipe, dnnl_graph_op_attr_transpose_b, transpose_b);
}

void translate_matmul(struct recipe *recipe, const collage_node *node)
{
    const collage_value *a = recipe_input(recipe, node, 0), *b = recipe_input(recipe, node, 1);
    if (!a || !b || a->rank < 2 || b->rank < 2) {
        recipe_refuse(recipe, "only of matrices, not of vectors");
        return;
    }
    size_t operands[] = { recipe_operand(recipe, node, 0), recipe_operand(recipe, node, 1) };
    add_product(recipe, operands, 2, recipe_result(recipe, node), false, false);
}

/* Is the third operand a constant row, which the product takes as its bias? */
static bool is_bias(const struct recipe *recipe, const collage_node *node, int64_t columns)
{
    const collage_value *c = recipe_input(recipe, node, 2);
    return c && c->data && c->bytes == (uint64_t)columns * sizeof(float) && c->rank > 0 &&
           c->dims[c->rank - 1] == columns;
}

void translate_gemm(struct recipe *recipe, const collage_node *node)
{
    if (collage_node_float(node, "alpha", 1.0f) != 1.0f ||
        (recipe_input(recipe, node, 2) && collage_node_float(node, "beta", 1.0f) != 1.0f)) {
        recipe_refuse(recipe, "only with alpha and beta of 1");
        return;
    }
    bool a = collage_node_int(node, "transA", 0) != 0, b = collage_node_int(node, "transB", 0) != 0;
    size_t operands[] = { recipe_operand(recipe, node, 0), recipe_operand(recipe, node, 1),
                          NO_TENSOR };
    size_t result = recipe_result(recipe, node);
    if (recipe->failed)
        return;
    const struct tensor shape = recipe->tensors[result];
    if (!recipe_input(recipe, node, 2)) {
        add_product(recipe, operands, 2, result, a, b);
    } else if (is_bias(recipe, node, shape.dims[1])) {
        operands[2] = recipe_view(recipe, node, 2, 1, &shape.dims[1]);
        add_product(recipe, operands, 3, result, a, b);
    } else {
        size_t product = recipe_between(recipe, shape.rank, shape.dims);
        add_product(recipe, operands, 2, product, a, b);
        size_t terms[] = { product, recipe_operand(recipe, node, 2) };
        recipe_add(recipe, dnnl_graph_op_add, terms, 2, result);
    }
}
