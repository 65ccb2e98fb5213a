/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include <math.h>
#include <string.h>

/* Sorted by nothing: the first that fits. */
static const struct reading {
    const char *op_type;
    recipe_reader *read;
} readings[] = {
    { "Conv", read_convolution },
    { "ConvTranspose", read_deconvolution },
    { "MaxPool", read_pool },
    { "AveragePool", read_pool },
    { "GlobalAveragePool", read_global_pool },
    { "GlobalMaxPool", read_global_pool },
    { "MatMul", read_matmul },
    { "Gemm", read_gemm },
    { "Softmax", read_softmax },
    { "Resize", read_resize },
    { "PRelu", read_prelu },
    { "Add", read_binary },
    { "Sub", read_binary },
    { "Mul", read_binary },
    { "Div", read_binary },
    { "Max", read_binary },
    { "Min", read_binary },
};

bool recipe_refuse(collage_message *why, const char *format, ...)
{
    if (why) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(why->text, sizeof why->text, format, arguments);
        va_end(arguments);
    }
    return false;
}

const collage_value *recipe_input(const collage_subgraph *subgraph, const collage_node *node,
                                  uint32_t index)
{
    return index < node->input_count && node->inputs[index] != COLLAGE_NO_VALUE
               ? subgraph->values[node->inputs[index]]
               : NULL;
}

size_t recipe_product(const collage_value *value, int32_t first, int32_t last)
{
    size_t product = 1;
    for (int32_t d = first; d < last; d++)
        product *= recipe_size(value->dims[d]);
    return product;
}

bool recipe_operand(struct recipe *recipe, uint32_t index, const collage_subgraph *subgraph,
                    uint32_t value, collage_message *why)
{
    if (value == COLLAGE_NO_VALUE)
        return recipe_refuse(why, "an operand is left out");
    const collage_value *tensor = subgraph->values[value];
    struct operand *operand = &recipe->operands[index];
    *operand = (struct operand){ .value = value, .constant = tensor->data };
    bool outside = tensor->data != NULL;
    for (uint32_t k = 0; k < subgraph->input_count && !outside; k++) {
        outside = subgraph->inputs[k] == value;
        operand->input = k;
    }
    if (!outside)
        return recipe_refuse(why, "'%s' is made inside of the sub-graph", tensor->name);
    if (tensor->dtype != COLLAGE_FLOAT32 || tensor->bytes < sizeof(float))
        return recipe_refuse(why, "'%s' is not float32, or empty", tensor->name);
    operand->channels_last = recipe->channels_last && !tensor->data && tensor->rank >= 3;
    recipe->operand_count = index + 1;
    return true;
}

bool recipe_scalar(const collage_value *value, float *out)
{
    if (!value || !value->data || value->dtype != COLLAGE_FLOAT32 || value->bytes != sizeof(float))
        return false;
    memcpy(out, value->data, sizeof *out);
    return true;
}

static float bounded(float x, float low, float high)
{
    return fminf(fmaxf(x, low), high);
}

/* One Relu or Clip behind `made`. */
static bool clamp_by(struct recipe *recipe, const collage_subgraph *subgraph,
                     const collage_node *node, uint32_t made)
{
    float low = 0.0f, high = INFINITY;
    if (node->input_count < 1 || node->inputs[0] != made || node->output_count != 1)
        return false;
    if (strcmp(node->op_type, "Clip") == 0) {
        low = -INFINITY;
        const collage_value *bounds[] = { recipe_input(subgraph, node, 1),
                                          recipe_input(subgraph, node, 2) };
        if ((bounds[0] && !recipe_scalar(bounds[0], &low)) ||
            (bounds[1] && !recipe_scalar(bounds[1], &high)) || isnan(low) || isnan(high))
            return false;
    } else if (strcmp(node->op_type, "Relu") != 0) {
        return false;
    }
    recipe->low = bounded(recipe->low, low, high);
    recipe->high = bounded(recipe->high, low, high);
    return true;
}

bool recipe_clamp(struct recipe *recipe, const collage_subgraph *subgraph, uint32_t first,
                  collage_message *why)
{
    uint32_t made = recipe->made;
    for (uint32_t n = first; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        if (!clamp_by(recipe, subgraph, node, made))
            return recipe_refuse(why, "this %s is not fused", node->op_type);
        made = node->outputs[0];
    }
    if (!(recipe->low < recipe->high))
        return recipe_refuse(why, "the bounds leave no numbers");
    if (subgraph->output_count != 1 || subgraph->outputs[0] != made)
        return recipe_refuse(why, "it is no chain with one output");
    const collage_value *result = subgraph->values[recipe->made];
    if (result->dtype != COLLAGE_FLOAT32 || result->bytes < sizeof(float))
        return recipe_refuse(why, "'%s' is not float32, or empty", result->name);
    return true;
}

bool recipe_read(struct recipe *recipe, const collage_subgraph *subgraph, bool channels_last,
                 collage_message *why)
{
    *recipe = (struct recipe){
        .channels_last = channels_last, .low = -INFINITY, .high = INFINITY, .groups = 1
    };
    const collage_node *node = subgraph->node_count ? subgraph->nodes[0] : NULL;
    if (!node || node->input_count < 1 || node->output_count != 1)
        return recipe_refuse(why, "there is no operator with one result");
    recipe->made = node->outputs[0];
    int32_t rank = subgraph->values[recipe->made]->rank;
    if (channels_last && (rank < 3 || rank > 5))
        return recipe_refuse(why, "tensors of rank %d have no channels-last layout", rank);
    for (size_t k = 0; k < sizeof readings / sizeof readings[0]; k++) {
        if (strcmp(node->op_type, readings[k].op_type) == 0)
            return readings[k].read(recipe, subgraph, why);
    }
    return read_unary(recipe, subgraph, why);
}
