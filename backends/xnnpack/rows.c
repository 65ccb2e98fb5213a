/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: what works on rows: products with constant weights, and Softmax. */
#include "recipe.h"

#include <string.h>

static enum xnn_status create_product(const struct library *library, const struct recipe *recipe,
                                      uint32_t flags, xnn_operator_t *out)
{
    if (recipe->weights_transposed)
        flags |= XNN_FLAG_TRANSPOSE_WEIGHTS;
    return library->create_fully_connected(
        recipe->channels_in, recipe->channels_out, recipe->channels_in, recipe->channels_out,
        recipe->weights, recipe->bias, recipe->low, recipe->high, flags, out);
}

static enum xnn_status setup_product(const struct library *library, const struct recipe *recipe,
                                     xnn_operator_t made, const float *const inputs[RECIPE_INPUTS],
                                     float *output, pthreadpool_t pool)
{
    return library->setup_fully_connected(made, recipe->batch, inputs[0], output, pool);
}

static const struct operation product = { create_product, setup_product };

/* Rows times constant weights [in][out], or [out][in]. */
static bool read_product(struct recipe *recipe, const collage_subgraph *subgraph, bool transposed,
                         collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    const collage_value *w = recipe_input(subgraph, node, 1);
    if (recipe->channels_last)
        return recipe_refuse(why, "a product has no channels");
    if (!recipe_operand(recipe, 0, subgraph, node->inputs[0], why))
        return false;
    const collage_value *x = subgraph->values[node->inputs[0]];
    if (!w || !w->data || w->dtype != COLLAGE_FLOAT32 || w->rank != 2 || w->bytes == 0)
        return recipe_refuse(why, "the weights are no constant matrix");
    if (x->data || x->rank < 2)
        return recipe_refuse(why, "the left operand is no matrix, or constant");
    recipe->channels_in = recipe_size(w->dims[transposed ? 1 : 0]);
    recipe->channels_out = recipe_size(w->dims[transposed ? 0 : 1]);
    recipe->batch = recipe_product(x, 0, x->rank - 1);
    if (recipe_size(x->dims[x->rank - 1]) != recipe->channels_in)
        return recipe_refuse(why, "these shapes are not known");
    recipe->weights = w->data;
    recipe->weights_transposed = !transposed;
    recipe->operation = &product;
    return true;
}

/* A constant with one number for each column of the result. */
static bool read_bias(struct recipe *recipe, const collage_value *value)
{
    if (!value->data || value->dtype != COLLAGE_FLOAT32 || value->rank < 1 ||
        recipe_size(value->dims[value->rank - 1]) != recipe->channels_out ||
        value->bytes != recipe->channels_out * sizeof(float))
        return false;
    recipe->bias = value->data;
    return true;
}

bool read_matmul(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    if (!read_product(recipe, subgraph, false, why))
        return false;
    uint32_t next = 1;
    if (next < subgraph->node_count && strcmp(subgraph->nodes[next]->op_type, "Add") == 0) {
        const collage_node *add = subgraph->nodes[next];
        if (add->input_count != 2 || add->output_count != 1)
            return recipe_refuse(why, "this Add is not fused");
        uint32_t other = add->inputs[0] == recipe->made ? add->inputs[1] : add->inputs[0];
        if (other == COLLAGE_NO_VALUE || other == recipe->made ||
            (add->inputs[0] != recipe->made && add->inputs[1] != recipe->made) ||
            subgraph->values[other]->rank > subgraph->values[recipe->made]->rank ||
            !read_bias(recipe, subgraph->values[other]))
            return recipe_refuse(why, "the bias is no constant vector");
        recipe->made = add->outputs[0];
        next++;
    }
    return recipe_clamp(recipe, subgraph, next, why);
}

bool read_gemm(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    if (collage_node_int(node, "transA", 0) != 0 ||
        collage_node_float(node, "alpha", 1.0f) != 1.0f ||
        collage_node_float(node, "beta", 1.0f) != 1.0f)
        return recipe_refuse(why, "transA, alpha and beta of Gemm are not there");
    if (!read_product(recipe, subgraph, collage_node_int(node, "transB", 0) != 0, why))
        return false;
    const collage_value *bias = recipe_input(subgraph, node, 2);
    if (bias && !read_bias(recipe, bias))
        return recipe_refuse(why, "the bias is no constant vector");
    return recipe_clamp(recipe, subgraph, 1, why);
}

static enum xnn_status create_softmax(const struct library *library, const struct recipe *recipe,
                                      uint32_t flags, xnn_operator_t *out)
{
    return library->create_softmax(recipe->channels_in, recipe->channels_in, recipe->channels_in,
                                   flags, out);
}

static enum xnn_status setup_softmax(const struct library *library, const struct recipe *recipe,
                                     xnn_operator_t made, const float *const inputs[RECIPE_INPUTS],
                                     float *output, pthreadpool_t pool)
{
    return library->setup_softmax(made, recipe->batch, inputs[0], output, pool);
}

static const struct operation softmax = { create_softmax, setup_softmax };

/* Along the dimension that lies innermost. */
bool read_softmax(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    if (!recipe_operand(recipe, 0, subgraph, node->inputs[0], why))
        return false;
    const collage_value *x = subgraph->values[node->inputs[0]];
    int64_t axis = collage_node_int(node, "axis", -1);
    axis = axis < 0 ? axis + x->rank : axis;
    if (x->data || x->rank < 1 || axis != (recipe->channels_last ? 1 : x->rank - 1))
        return recipe_refuse(why, "only along the innermost dimension");
    if (subgraph->node_count != 1)
        return recipe_refuse(why, "nothing is fused behind Softmax");
    recipe->channels_in = recipe_size(x->dims[axis]);
    recipe->batch = (size_t)(x->bytes / sizeof(float)) / recipe->channels_in;
    recipe->operation = &softmax;
    return recipe_clamp(recipe, subgraph, 1, why);
}
