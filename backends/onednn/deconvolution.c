/* SPDX-License-Identifier: Apache-2.0 */
/* deconvolution.c: ConvTranspose. */
#include "recipe.h"

#include <string.h>

static bool check_layout(struct recipe *recipe, int64_t in_channels, int64_t out_channels)
{
    const struct choice *choice = recipe->choice;
    int64_t block = recipe->target->avx512 ? 16 : 8;
    if (choice->in != choice->out)
        return refuse(recipe, "ConvTranspose does not change the layout");
    if (choice->out == LAYOUT_BLOCKED && (in_channels < block || out_channels < block))
        return refuse(recipe, "there are fewer channels than a block");
    return true;
}

static bool check_operands(struct recipe *recipe, const collage_value *in,
                           const collage_value *weights, const collage_value *bias, int64_t groups)
{
    const collage_value *out = head_output(recipe);
    if (in->rank < 3 || in->rank > 5 || weights->rank != in->rank || out->rank != in->rank)
        return refuse(recipe, "only convolutions of 1, 2 or 3 dimensions are mapped");
    if (!value_is_constant(weights) || (bias && !value_is_constant(bias)))
        return refuse(recipe, "the weights are not constant");
    if (groups < 1 || weights->dims[0] != in->dims[1] || in->dims[1] % groups != 0 ||
        out->dims[0] != in->dims[0] || out->dims[1] != weights->dims[1] * groups)
        return refuse(recipe, "the weights do not fit the channels");
    if (bias && (bias->rank != 1 || bias->dims[0] != out->dims[1]))
        return refuse(recipe, "the bias does not fit the channels");
    return true;
}

/* The right pads follow from the output's size, which includes output_padding. */
static bool read_window(struct recipe *recipe, const collage_value *in,
                        const collage_value *weights)
{
    const collage_value *out = head_output(recipe);
    int spatial = in->rank - 2;
    int64_t pads[2 * MAX_SPATIAL];
    if (strcmp(collage_node_string(recipe_head(recipe), "auto_pad", "NOTSET"), "NOTSET") != 0 ||
        collage_node_attribute(recipe_head(recipe), "output_shape", COLLAGE_ATTRIBUTE_INTS))
        return refuse(recipe, "auto_pad and output_shape of ConvTranspose are not mapped");
    if (!head_ints(recipe, "strides", (uint32_t)spatial, 1, recipe->strides) ||
        !head_ints(recipe, "dilations", (uint32_t)spatial, 1, recipe->dilates) ||
        !head_ints(recipe, "pads", 2 * (uint32_t)spatial, 0, pads))
        return false;
    for (int d = 0; d < spatial; d++) {
        if (recipe->strides[d] < 1 || recipe->dilates[d] < 1)
            return refuse(recipe, "a stride or dilation is not positive");
        int64_t effective = (weights->dims[2 + d] - 1) * recipe->dilates[d] + 1;
        recipe->dilates[d]--; /* oneDNN counts the gaps */
        recipe->pads_left[d] = pads[d];
        recipe->pads_right[d] =
            (in->dims[2 + d] - 1) * recipe->strides[d] + effective - pads[d] - out->dims[2 + d];
        if (recipe->pads_left[d] < 0 || recipe->pads_right[d] < 0)
            return refuse(recipe, "the output reaches beyond the last window");
    }
    return true;
}

/* ONNX holds input x output x window; the library sees output x input x window. */
static bool add_weights(struct recipe *recipe, int64_t groups)
{
    const collage_value *weights = head_input(recipe, 1);
    int64_t window = dims_product(weights->dims, 2, weights->rank);
    int64_t ins = weights->dims[0] / groups, outs = weights->dims[1], dims[MAX_RANK] = { groups };
    int lead = groups > 1;
    dims[lead] = outs;
    dims[lead + 1] = ins;
    for (int d = 2; d < weights->rank; d++)
        dims[lead + d] = weights->dims[d];
    struct operand *operand =
        operand_add(recipe, DNNL_ARG_WEIGHTS, head_input_id(recipe, 1), lead + weights->rank, dims);
    if (!operand)
        return false;
    operand->any = true;
    operand->strides[lead] = window;
    operand->strides[lead + 1] = outs * window;
    return true;
}

/* oneDNN 3.2 on AVX-512 gets a strided one with 512 input channels in nhwc wrong if a bias or a
 * post-op is fused; up to 384 channels no fault was found. */
static bool check_fusion(struct recipe *recipe)
{
    enum { SOUND_CHANNELS = 384 };
    const collage_value *in = head_input(recipe, 0);
    bool strided = false;
    for (int d = 0; d < in->rank - 2; d++)
        strided = strided || recipe->strides[d] > 1;
    if (recipe->choice->in == LAYOUT_LAST && strided && in->dims[1] > SOUND_CHANNELS &&
        (head_input(recipe, 2) || recipe->post_count > 0))
        return refuse(recipe, "oneDNN computes it wrongly in nhwc with so many channels");
    return true;
}

bool translate_deconvolution(struct recipe *recipe)
{
    const collage_value *in = head_input(recipe, 0), *weights = head_input(recipe, 1);
    int64_t groups = collage_node_int(recipe_head(recipe), "group", 1);
    if (!weights || value_is_constant(in))
        return refuse(recipe, "an operand of ConvTranspose is missing or constant");
    if (!check_operands(recipe, in, weights, head_input(recipe, 2), groups) ||
        !check_layout(recipe, in->dims[1], head_output(recipe)->dims[1]) ||
        !read_window(recipe, in, weights) || !check_fusion(recipe))
        return false;
    recipe->family = FAMILY_DECONVOLUTION;
    groups_identity(recipe);
    struct operand *source =
        operand_add(recipe, DNNL_ARG_SRC, head_input_id(recipe, 0), in->rank, in->dims);
    if (!source || !operand_set_layout(recipe, source, recipe->choice->in) ||
        !add_weights(recipe, groups))
        return false;
    uint32_t bias = head_input_id(recipe, 2);
    if (bias == COLLAGE_NO_VALUE)
        bias = recipe_take_bias(recipe, 1);
    if (bias != COLLAGE_NO_VALUE &&
        !operand_add(recipe, DNNL_ARG_BIAS, bias, 1, &recipe->out_dims[1]))
        return false;
    return operand_add_output(recipe, recipe->choice->out) &&
           chain_place(recipe, recipe->choice->out);
}
