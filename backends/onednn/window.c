/* SPDX-License-Identifier: Apache-2.0 */
/* window.c: convolutions and pooling: what slides a window over the spatial dimensions. */
#include "recipe.h"

#include <math.h>
#include <string.h>

bool head_ints(struct recipe *recipe, const char *name, uint32_t count, int64_t fallback,
               int64_t *values)
{
    const collage_attribute *a =
        collage_node_attribute(recipe_head(recipe), name, COLLAGE_ATTRIBUTE_INTS);
    if (a && a->count != count)
        return refuse(recipe, "attribute %s has %u numbers, not %u", name, a->count, count);
    for (uint32_t k = 0; k < count; k++)
        values[k] = a ? a->ints[k] : fallback;
    return true;
}

/* SAME_UPPER and SAME_LOWER: as much padding as makes ceil(in / stride) windows. */
static void same_pads(struct recipe *recipe, int d, int64_t in, bool upper)
{
    int64_t stride = recipe->strides[d];
    int64_t effective = (recipe->kernel[d] - 1) * (recipe->dilates[d] + 1) + 1;
    int64_t total = ((in + stride - 1) / stride - 1) * stride + effective - in;
    if (total < 0)
        total = 0;
    recipe->pads_left[d] = upper ? total / 2 : total - total / 2;
    recipe->pads_right[d] = total - recipe->pads_left[d];
}

static bool read_pads(struct recipe *recipe, const collage_value *in, int spatial)
{
    const char *mode = collage_node_string(recipe_head(recipe), "auto_pad", "NOTSET");
    int64_t pads[2 * MAX_SPATIAL];
    if (!head_ints(recipe, "pads", 2 * (uint32_t)spatial, 0, pads))
        return false;
    bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    bool valid = strcmp(mode, "VALID") == 0;
    if (!upper && !lower && !valid && strcmp(mode, "NOTSET") != 0)
        return refuse(recipe, "auto_pad '%s' is unknown", mode);
    for (int d = 0; d < spatial; d++) {
        recipe->pads_left[d] = valid ? 0 : pads[d];
        recipe->pads_right[d] = valid ? 0 : pads[spatial + d];
        if (upper || lower)
            same_pads(recipe, d, in->dims[2 + d], upper);
        if (recipe->pads_left[d] < 0 || recipe->pads_right[d] < 0)
            return refuse(recipe, "negative pads are not mapped");
    }
    return true;
}

/* Fits the right pad to the output that shape inference found. */
static bool fit_output(struct recipe *recipe, int64_t in, int64_t out, int d, bool *extended)
{
    int64_t effective = (recipe->kernel[d] - 1) * (recipe->dilates[d] + 1) + 1;
    int64_t reach = in + recipe->pads_left[d] + recipe->pads_right[d] - effective;
    if (reach < 0)
        return refuse(recipe, "the window is larger than the padded input");
    if (reach / recipe->strides[d] + 1 == out)
        return true;
    if (!extended || (reach + recipe->strides[d] - 1) / recipe->strides[d] + 1 != out)
        return refuse(recipe, "the output's size does not follow from window and pads");
    *extended = true;
    recipe->pads_right[d] = (out - 1) * recipe->strides[d] + effective - in - recipe->pads_left[d];
    return true;
}

bool window_translate(struct recipe *recipe, const collage_value *in, const collage_value *out,
                      const int64_t *kernel, bool *extended)
{
    int spatial = in->rank - 2;
    if (!head_ints(recipe, "strides", (uint32_t)spatial, 1, recipe->strides) ||
        !head_ints(recipe, "dilations", (uint32_t)spatial, 1, recipe->dilates))
        return false;
    for (int d = 0; d < spatial; d++) {
        recipe->kernel[d] = kernel[d];
        if (kernel[d] < 1 || recipe->strides[d] < 1 || recipe->dilates[d] < 1)
            return refuse(recipe, "a kernel, stride or dilation is not positive");
        recipe->dilates[d]--; /* oneDNN counts the gaps */
    }
    if (!read_pads(recipe, in, spatial))
        return false;
    for (int d = 0; d < spatial; d++) {
        if (!fit_output(recipe, in->dims[2 + d], out->dims[2 + d], d, extended))
            return false;
    }
    return true;
}

/* What the window slides over: the head's first input, or that of the Pad before it. */
static bool add_window_source(struct recipe *recipe)
{
    uint32_t id = recipe->before ? recipe->before->inputs[0] : head_input_id(recipe, 0);
    const collage_value *in = recipe->graph->values[id];
    struct operand *source = operand_add(recipe, DNNL_ARG_SRC, id, in->rank, in->dims);
    return source && operand_set_layout(recipe, source, recipe->choice->in);
}

/* ---- convolution ---- */

enum { FEW_CHANNELS = 4 }; /* images: the library reads them row-major and writes blocks */

static bool check_convolution_layout(struct recipe *recipe, int64_t in_channels,
                                     int64_t out_channels, int64_t groups)
{
    const struct choice *choice = recipe->choice;
    int64_t block = recipe->target->avx512 ? 16 : 8;
    bool few = in_channels <= FEW_CHANNELS && groups == 1;
    if (choice->in != choice->out && !few)
        return refuse(recipe, "only a convolution with few input channels changes the layout");
    if (choice->out == LAYOUT_BLOCKED && out_channels < block)
        return refuse(recipe, "there are fewer output channels than a block");
    if (choice->in == LAYOUT_BLOCKED && in_channels < block)
        return refuse(recipe, "there are fewer input channels than a block");
    return true;
}

static bool check_convolution(struct recipe *recipe, const collage_value *in,
                              const collage_value *weights, const collage_value *bias,
                              int64_t groups)
{
    const collage_value *out = head_output(recipe);
    if (in->rank < 3 || in->rank > 5 || weights->rank != in->rank || out->rank != in->rank)
        return refuse(recipe, "only convolutions of 1, 2 or 3 dimensions are mapped");
    if (!value_is_constant(weights) || (bias && !value_is_constant(bias)))
        return refuse(recipe, "the weights are not constant");
    if (groups < 1 || weights->dims[1] * groups != in->dims[1] || weights->dims[0] % groups != 0 ||
        out->dims[0] != in->dims[0] || out->dims[1] != weights->dims[0])
        return refuse(recipe, "the weights do not fit the channels");
    if (bias && (bias->rank != 1 || bias->dims[0] != weights->dims[0]))
        return refuse(recipe, "the bias does not fit the channels");
    const collage_attribute *kernel =
        collage_node_attribute(recipe_head(recipe), "kernel_shape", COLLAGE_ATTRIBUTE_INTS);
    for (int d = 0; kernel && d < in->rank - 2; d++) {
        if (kernel->count != (uint32_t)in->rank - 2 || kernel->ints[d] != weights->dims[2 + d])
            return refuse(recipe, "kernel_shape does not fit the weights");
    }
    return true;
}

static bool add_convolution_weights(struct recipe *recipe, int64_t groups)
{
    const collage_value *weights = head_input(recipe, 1);
    int64_t dims[MAX_RANK] = { groups, weights->dims[0] / groups };
    int rank = groups > 1;
    dims[rank] = weights->dims[0] / groups;
    for (int d = 1; d < weights->rank; d++)
        dims[rank + d] = weights->dims[d];
    struct operand *operand =
        operand_add(recipe, DNNL_ARG_WEIGHTS, head_input_id(recipe, 1), rank + weights->rank, dims);
    if (operand)
        operand->any = true;
    return operand != NULL;
}

bool translate_convolution(struct recipe *recipe)
{
    const collage_value *in = head_input(recipe, 0), *weights = head_input(recipe, 1);
    int64_t groups = collage_node_int(recipe_head(recipe), "group", 1);
    if (!in || !weights || value_is_constant(in))
        return refuse(recipe, "an operand of the convolution is missing or constant");
    if (!check_convolution(recipe, in, weights, head_input(recipe, 2), groups) ||
        !check_convolution_layout(recipe, in->dims[1], weights->dims[0], groups) ||
        !window_translate(recipe, in, head_output(recipe), weights->dims + 2, NULL))
        return false;
    recipe->family = FAMILY_CONVOLUTION;
    groups_identity(recipe);
    if (!padding_absorb(recipe, 0.0f) || !add_window_source(recipe) ||
        !add_convolution_weights(recipe, groups))
        return false;
    uint32_t bias = head_input_id(recipe, 2);
    if (bias == COLLAGE_NO_VALUE)
        bias = recipe_take_bias(recipe, 1);
    if (bias != COLLAGE_NO_VALUE && !operand_add(recipe, DNNL_ARG_BIAS, bias, 1, &weights->dims[0]))
        return false;
    return operand_add_output(recipe, recipe->choice->out) &&
           chain_place(recipe, recipe->choice->out);
}

/* ---- pooling ---- */

static bool check_pooling_layout(struct recipe *recipe)
{
    const collage_value *in = head_input(recipe, 0);
    if (in->rank < 3 || in->rank > 5)
        return refuse(recipe, "only pooling of 1, 2 or 3 dimensions is mapped");
    if (recipe->choice->in == LAYOUT_BLOCKED && in->dims[1] < (recipe->target->avx512 ? 16 : 8))
        return refuse(recipe, "there are fewer channels than a block");
    return true;
}

static bool add_pooling_operands(struct recipe *recipe)
{
    recipe->family = FAMILY_POOLING;
    groups_identity(recipe);
    return add_window_source(recipe) && operand_add_output(recipe, recipe->choice->out);
}

static bool check_pads(struct recipe *recipe, int spatial)
{
    for (int d = 0; d < spatial; d++) {
        int64_t effective = (recipe->kernel[d] - 1) * (recipe->dilates[d] + 1) + 1;
        if (recipe->pads_left[d] >= effective || recipe->pads_right[d] >= effective)
            return refuse(recipe, "a window may lie in the padding alone");
    }
    return true;
}

static bool any_set(const int64_t *values, int count)
{
    for (int k = 0; k < count; k++) {
        if (values[k] != 0)
            return true;
    }
    return false;
}

/* The elements of a Pad are elements to an average, which has them in its count. */
static bool absorb_into_pooling(struct recipe *recipe, bool maximum, bool extended,
                                bool *include_pads)
{
    int spatial = head_input(recipe, 0)->rank - 2;
    if (!maximum &&
        (extended || any_set(recipe->pads_left, spatial) || any_set(recipe->pads_right, spatial)))
        return refuse(recipe, "Pad and AveragePool both pad");
    *include_pads = true;
    return padding_absorb(recipe, maximum ? -INFINITY : 0.0f);
}

bool translate_pooling(struct recipe *recipe)
{
    const collage_node *head = recipe_head(recipe);
    const collage_value *in = head_input(recipe, 0);
    const collage_attribute *kernel =
        collage_node_attribute(head, "kernel_shape", COLLAGE_ATTRIBUTE_INTS);
    bool extended = false, maximum = strcmp(head->op_type, "MaxPool") == 0;
    bool include_pads = collage_node_int(head, "count_include_pad", 0) != 0;
    if (!check_pooling_layout(recipe))
        return false;
    if (recipe->choice->in != recipe->choice->out)
        return refuse(recipe, "only global pooling changes the layout");
    if (!kernel || kernel->count != (uint32_t)in->rank - 2)
        return refuse(recipe, "kernel_shape does not fit the input");
    if (head->output_count > 1 && head->outputs[1] != COLLAGE_NO_VALUE)
        return refuse(recipe, "the output Indices of MaxPool is not mapped");
    if (!window_translate(recipe, in, head_output(recipe), kernel->ints, &extended))
        return false;
    if (recipe->before && !absorb_into_pooling(recipe, maximum, extended, &include_pads))
        return false;
    if (!check_pads(recipe, in->rank - 2))
        return false;
    if (!maximum && any_set(recipe->dilates, in->rank - 2))
        return refuse(recipe, "AveragePool with dilations is not mapped");
    if (!maximum && include_pads && extended)
        return refuse(recipe, "count_include_pad with ceil_mode divides by another number");
    recipe->alg = maximum        ? dnnl_pooling_max
                  : include_pads ? dnnl_pooling_avg_include_padding
                                 : dnnl_pooling_avg_exclude_padding;
    return add_pooling_operands(recipe);
}

/* With one element a channel, whole blocks of channels are row-major memory: the library is asked
 * for the layout that it reads, in which it is fast. */
static bool write_plain(struct recipe *recipe)
{
    const struct operand *source = &recipe->operands[0];
    struct operand *output = &recipe->operands[1];
    if (recipe->choice->in == recipe->choice->out)
        return true;
    int64_t block = recipe->target->avx512 ? 16 : 8;
    if (recipe->choice->in == LAYOUT_BLOCKED && source->dims[1] % block != 0)
        return refuse(recipe, "the channels do not fill whole blocks");
    memcpy(output->tag, source->tag, sizeof output->tag);
    output->plain_outside = true;
    return true;
}

bool translate_global_pooling(struct recipe *recipe)
{
    const collage_value *in = head_input(recipe, 0);
    const char *op = recipe_head(recipe)->op_type;
    if (!check_pooling_layout(recipe))
        return false;
    for (int d = 0; d < in->rank - 2; d++) {
        recipe->kernel[d] = in->dims[2 + d];
        recipe->strides[d] = 1;
    }
    bool maximum = strcmp(op, "GlobalMaxPool") == 0 || strcmp(op, "ReduceMax") == 0;
    recipe->alg = maximum ? dnnl_pooling_max : dnnl_pooling_avg_include_padding;
    /* Without the spatial dims the output is the same memory, seen with them. */
    recipe->out_rank = in->rank;
    for (int d = 0; d < in->rank; d++)
        recipe->out_dims[d] = d < 2 ? in->dims[d] : 1;
    return add_pooling_operands(recipe) && write_plain(recipe);
}
