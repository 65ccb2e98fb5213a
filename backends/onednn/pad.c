/* SPDX-License-Identifier: Apache-2.0 */
/* pad.c: Pad with a constant: the output is filled, then the input is copied into it; or the pads
 * become those of the convolution or pooling behind. */
#include "recipe.h"

#include <string.h>

static bool read_value(struct recipe *recipe, const collage_node *node, float *out)
{
    *out = 0.0f;
    if (node->input_count < 3 || node->inputs[2] == COLLAGE_NO_VALUE)
        return true;
    const collage_value *value = recipe->graph->values[node->inputs[2]];
    if (!value_is_constant(value) || value->dtype != COLLAGE_FLOAT32 ||
        dims_product(value->dims, 0, value->rank) != 1)
        return refuse(recipe, "the value of Pad is not constant");
    memcpy(out, value->data, sizeof *out);
    return true;
}

bool padding_read(struct recipe *recipe, const collage_node *node, struct padding *out)
{
    int rank = recipe->graph->values[node->inputs[0]]->rank;
    int64_t pads[2 * MAX_RANK], axes[MAX_RANK];
    uint32_t pad_count, axis_count;
    bool all = node->input_count < 4 || node->inputs[3] == COLLAGE_NO_VALUE;
    memset(out, 0, sizeof *out);
    if (strcmp(collage_node_string(node, "mode", "constant"), "constant") != 0)
        return refuse(recipe, "only Pad with a constant is mapped");
    if (node->input_count < 2 || node->inputs[1] == COLLAGE_NO_VALUE ||
        !read_value(recipe, node, &out->value) ||
        !constant_ints(recipe, node->inputs[1], 2 * MAX_RANK, pads, &pad_count) ||
        !constant_ints(recipe, all ? COLLAGE_NO_VALUE : node->inputs[3], MAX_RANK, axes,
                       &axis_count))
        return false;
    for (int d = 0; d < rank && all; d++)
        axes[axis_count++] = d;
    if (pad_count != 2 * axis_count)
        return refuse(recipe, "the pads do not fit the axes");
    for (uint32_t k = 0; k < axis_count; k++) {
        int d = 0;
        if (!resolve_axis(recipe, axes[k], rank, &d))
            return false;
        out->begin[d] = pads[k];
        out->end[d] = pads[axis_count + k];
    }
    return true;
}

bool padding_absorb(struct recipe *recipe, float value)
{
    struct padding pad;
    if (!recipe->before)
        return true;
    if (!padding_read(recipe, recipe->before, &pad))
        return false;
    if (!(pad.value == value))
        return refuse(recipe, "Pad does not pad with what %s pads with",
                      recipe_head(recipe)->op_type);
    int rank = head_input(recipe, 0)->rank;
    for (int d = 0; d < rank; d++) {
        if (pad.begin[d] < 0 || pad.end[d] < 0 || (d < 2 && (pad.begin[d] || pad.end[d])))
            return refuse(recipe, "Pad does more than to pad the space");
        if (d >= 2) {
            recipe->pads_left[d - 2] += pad.begin[d];
            recipe->pads_right[d - 2] += pad.end[d];
        }
    }
    return true;
}

/* ---- alone ---- */

static bool check_layout(struct recipe *recipe, const struct padding *pad)
{
    if (recipe->choice->out == LAYOUT_PLAIN)
        return true;
    if (recipe->out_rank < 4 || recipe->out_rank > 5)
        return refuse(recipe, "only tensors of rank 4 and 5 are kept in channel layouts");
    if (recipe->choice->out != LAYOUT_BLOCKED)
        return true;
    int64_t block = recipe->target->avx512 ? 16 : 8;
    if (pad->begin[1] || pad->end[1] || recipe->out_dims[1] < block)
        return refuse(recipe, "the channels are padded, or fewer than a block");
    if (pad->value != 0.0f && recipe->out_dims[1] % block != 0)
        return refuse(recipe, "the channels do not fill whole blocks");
    return true;
}

static struct operand *add_part(struct recipe *recipe, int arg, uint32_t id, const int64_t *dims,
                                const int64_t *at)
{
    const collage_value *value = recipe->graph->values[id];
    struct operand *operand = operand_add(recipe, arg, id, value->rank, dims);
    if (!operand)
        return NULL;
    operand->part = true;
    memcpy(operand->within, value->dims, (size_t)value->rank * sizeof value->dims[0]);
    memcpy(operand->at, at, (size_t)value->rank * sizeof at[0]);
    return operand_set_layout(recipe, operand, recipe->choice->out) ? operand : NULL;
}

bool translate_pad(struct recipe *recipe)
{
    const collage_value *in = head_input(recipe, 0), *out = head_output(recipe);
    int64_t dims[MAX_RANK], from[MAX_RANK], to[MAX_RANK];
    struct padding pad;
    if (!padding_read(recipe, recipe_head(recipe), &pad) || !check_layout(recipe, &pad))
        return false;
    if (in->rank < 1 || out->rank != in->rank || value_is_constant(in))
        return refuse(recipe, "the input of Pad is a scalar or constant");
    for (int d = 0; d < in->rank; d++) {
        from[d] = pad.begin[d] < 0 ? -pad.begin[d] : 0;
        to[d] = pad.begin[d] > 0 ? pad.begin[d] : 0;
        dims[d] = in->dims[d] - from[d] + (pad.end[d] < 0 ? pad.end[d] : 0);
        if (dims[d] < 1 || to[d] + dims[d] > out->dims[d] || from[d] + dims[d] > in->dims[d])
            return refuse(recipe, "Pad leaves nothing of its input");
    }
    recipe->family = FAMILY_REORDER;
    recipe->fill = true;
    recipe->fill_value = pad.value;
    return add_part(recipe, DNNL_ARG_FROM, head_input_id(recipe, 0), dims, from) &&
           add_part(recipe, DNNL_ARG_TO, recipe_output_id(recipe), dims, to);
}
