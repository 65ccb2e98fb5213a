/* SPDX-License-Identifier: Apache-2.0 */
/* normalize.c: softmax and the normalisations. */
#include "recipe.h"

#include <string.h>

/* An axis of the head's input, counted from the front; false (refused) if it is out of range. */
static bool read_axis(struct recipe *recipe, int64_t fallback, int *axis)
{
    int64_t rank = head_input(recipe, 0)->rank;
    int64_t a = collage_node_int(recipe_head(recipe), "axis", fallback);
    a = a < 0 ? a + rank : a;
    if (a < 0 || a >= rank)
        return refuse(recipe, "the axis is out of range");
    *axis = (int)a;
    return true;
}

static bool add_source_and_output(struct recipe *recipe, int rank, const int64_t *dims)
{
    recipe->inplace_value = head_input_id(recipe, 0);
    return operand_add(recipe, DNNL_ARG_SRC, head_input_id(recipe, 0), rank, dims) &&
           operand_add(recipe, DNNL_ARG_DST, recipe_output_id(recipe), rank, dims);
}

bool translate_softmax(struct recipe *recipe)
{
    const collage_value *in = head_input(recipe, 0);
    int axis = 0;
    if (!read_axis(recipe, -1, &axis))
        return false;
    bool logarithm = strcmp(recipe_head(recipe)->op_type, "LogSoftmax") == 0;
    recipe->family = FAMILY_SOFTMAX;
    recipe->alg = logarithm ? dnnl_softmax_log : dnnl_softmax_accurate;
    recipe->axis = 1;
    int64_t dims[] = { dims_product(in->dims, 0, axis), in->dims[axis],
                       dims_product(in->dims, axis + 1, in->rank) };
    return add_source_and_output(recipe, dims[2] == 1 ? 2 : 3, dims);
}

bool translate_layer_norm(struct recipe *recipe)
{
    const collage_node *head = recipe_head(recipe);
    const collage_value *in = head_input(recipe, 0);
    int axis = 0;
    if (!read_axis(recipe, -1, &axis))
        return false;
    for (uint32_t k = 1; k < head->output_count; k++) {
        if (head->outputs[k] != COLLAGE_NO_VALUE)
            return refuse(recipe, "the optional outputs of LayerNormalization are not mapped");
    }
    if (collage_node_int(head, "stash_type", 1) != 1)
        return refuse(recipe, "only stash_type 1 is mapped");
    int64_t dims[] = { dims_product(in->dims, 0, axis), dims_product(in->dims, axis, in->rank) };
    static const int args[] = { DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT };
    recipe->family = FAMILY_LAYER_NORM;
    recipe->epsilon = collage_node_float(head, "epsilon", 1e-5f);
    if (!add_source_and_output(recipe, 2, dims))
        return false;
    for (uint32_t k = 1; k < 3; k++) {
        const collage_value *value = head_input(recipe, k);
        if (!value)
            continue;
        if (dims_product(value->dims, 0, value->rank) != dims[1])
            return refuse(recipe, "scale and shift do not fit the normalised dimensions");
        recipe->flags |= k == 1 ? dnnl_use_scale : dnnl_use_shift;
        if (!operand_add(recipe, args[k], head_input_id(recipe, k), 1, &dims[1]))
            return false;
    }
    return true;
}

bool translate_batch_norm(struct recipe *recipe)
{
    static const int args[] = { DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN,
                                DNNL_ARG_VARIANCE };
    const collage_node *head = recipe_head(recipe);
    const collage_value *in = head_input(recipe, 0);
    enum layout_class layout = recipe->choice->out;
    if (head->output_count != 1 || collage_node_int(head, "training_mode", 0) != 0)
        return refuse(recipe, "BatchNormalization in training mode is not mapped");
    if (in->rank < 2 || in->rank > 5)
        return refuse(recipe, "the input's rank is not between 2 and 5");
    if (layout == LAYOUT_BLOCKED && in->dims[1] < (recipe->target->avx512 ? 16 : 8))
        return refuse(recipe, "there are fewer channels than a block");
    recipe->family = FAMILY_BATCH_NORM;
    recipe->epsilon = collage_node_float(head, "epsilon", 1e-5f);
    recipe->flags = dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift;
    groups_identity(recipe);
    struct operand *source =
        operand_add(recipe, DNNL_ARG_SRC, head_input_id(recipe, 0), in->rank, in->dims);
    if (!source || !operand_set_layout(recipe, source, layout) ||
        !operand_add_output(recipe, layout))
        return false;
    for (uint32_t k = 1; k < 5; k++) {
        const collage_value *value = head_input(recipe, k);
        if (!value || !value_is_constant(value) || value->rank != 1 ||
            value->dims[0] != in->dims[1])
            return refuse(recipe, "scale, shift, mean and variance must be constant vectors");
        if (!operand_add(recipe, args[k], head_input_id(recipe, k), 1, &in->dims[1]))
            return false;
    }
    recipe->inplace_value = head_input_id(recipe, 0);
    return true;
}
