/* SPDX-License-Identifier: Apache-2.0 */
#include "operators.h"

#include "../operator_table.h"

/*
 * No arithmetic on integers: the CPU device computes int64 as int32 and, in many kernels, int32 as
 * float32, so that values beyond 2^31 or 2^24 are wrong. int32 tensors are only moved. Indices,
 * shapes and axes are int64 and fine: they are not the input that a row's types are about.
 */
enum {
    F32 = 1u << COLLAGE_FLOAT32,
    I32 = 1u << COLLAGE_INT32,
    I64 = 1u << COLLAGE_INT64,
    BOOL = 1u << COLLAGE_BOOL,
    ANY = F32 | I32 | BOOL
};

static const collage_value *node_input(const collage_subgraph *subgraph, const collage_node *node,
                                       uint32_t index)
{
    return index < node->input_count && node->inputs[index] != COLLAGE_NO_VALUE
               ? subgraph->values[node->inputs[index]]
               : NULL;
}

/* ---- what single operators cannot ---- */

/* Of one tensor it is the tensor itself for the front end, and a model that is nothing but a tensor
 * passed on writes no output. */
static bool takes_several(const collage_subgraph *subgraph, const collage_node *node,
                          collage_message *why)
{
    (void)subgraph;
    return node->input_count > 1 || operator_refuse(why, node, "only of several tensors");
}

static bool takes_pad(const collage_subgraph *subgraph, const collage_node *node,
                      collage_message *why)
{
    const collage_value *value = node_input(subgraph, node, 2);
    if (value && !value->data)
        return operator_refuse(why, node, "only with a constant value");
    return strcmp(collage_node_string(node, "mode", "constant"), "wrap") != 0 ||
           operator_refuse(why, node, "the mode 'wrap' is unknown to it");
}

static bool takes_lstm(const collage_subgraph *subgraph, const collage_node *node,
                       collage_message *why)
{
    if (node_input(subgraph, node, 7))
        return operator_refuse(why, node, "it ignores peepholes");
    static const char *const unknown[] = { "activations", "activation_alpha", "activation_beta",
                                           "clip", "input_forget" };
    for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++)
        if (operator_has_attribute(node, unknown[k]))
            return operator_refuse(why, node, "only with the usual activations");
    if (node_input(subgraph, node, 4))
        return operator_refuse(why, node, "only of whole sequences");
    return collage_node_int(node, "layout", 0) == 0 ||
           operator_refuse(why, node, "only in layout 0");
}

/* Its kernel keeps the bias as an integer, and an even size has no middle. */
static bool takes_lrn(const collage_subgraph *subgraph, const collage_node *node,
                      collage_message *why)
{
    double bias = (double)collage_node_float(node, "bias", 1.0f);
    if (node_input(subgraph, node, 0)->rank != 4)
        return operator_refuse(why, node, "only of rank 4");
    if (collage_node_int(node, "size", 0) % 2 != 1)
        return operator_refuse(why, node, "only over an odd number of channels");
    return (bias >= 1 && bias <= 1000 && bias == (double)(int)bias) ||
           operator_refuse(why, node, "only with a bias that is a whole number");
}

static bool takes_split(const collage_subgraph *subgraph, const collage_node *node,
                        collage_message *why)
{
    const collage_value *x = node_input(subgraph, node, 0);
    int64_t axis = collage_node_int(node, "axis", 0);
    int64_t dim = x->dims[axis < 0 ? axis + x->rank : axis];
    return node_input(subgraph, node, 1) || dim % (int64_t)node->output_count == 0 ||
           operator_refuse(why, node, "into unequal parts only with their sizes");
}

static bool takes_cast(const collage_subgraph *subgraph, const collage_node *node,
                       collage_message *why)
{
    int64_t to = collage_node_int(node, "to", 0);
    if (to == COLLAGE_INT64)
        return operator_refuse(why, node, "not to int64");
    return to != COLLAGE_BOOL || node_input(subgraph, node, 0)->dtype == COLLAGE_BOOL ||
           operator_refuse(why, node, "NaN and the least int32 become false");
}

/* The front end means another size of the output by SAME_UPPER and SAME_LOWER. */
static bool takes_deconvolution(const collage_subgraph *subgraph, const collage_node *node,
                                collage_message *why)
{
    (void)subgraph;
    return strncmp(collage_node_string(node, "auto_pad", "NOTSET"), "SAME", 4) != 0 ||
           operator_refuse(why, node, "not with auto_pad SAME_UPPER or SAME_LOWER");
}

/* The scale has the shape of the normalised dimensions, not one that is broadcast to it. */
static bool takes_normalization(const collage_subgraph *subgraph, const collage_node *node,
                                collage_message *why)
{
    const collage_value *x = node_input(subgraph, node, 0);
    int64_t axis = collage_node_int(node, "axis", -1);
    int64_t rank = axis < 0 ? -axis : x->rank - axis;
    for (uint32_t k = 1; k < node->input_count; k++) {
        const collage_value *scale = node_input(subgraph, node, k);
        if (scale && (scale->rank != rank || memcmp(scale->dims, x->dims + (x->rank - rank),
                                                    (size_t)rank * sizeof *scale->dims) != 0))
            return operator_refuse(why, node,
                                   "only with a scale of the shape of what is normalised");
    }
    return true;
}

static bool takes_resize(const collage_subgraph *subgraph, const collage_node *node,
                         collage_message *why)
{
    (void)subgraph;
    if (strcmp(collage_node_string(node, "mode", "nearest"), "cubic") == 0)
        return operator_refuse(why, node,
                               "'cubic' is wrong for some shapes and ignores exclude_outside");
    const char *how = collage_node_string(node, "coordinate_transformation_mode", "half_pixel");
    if (strcmp(how, "half_pixel_symmetric") == 0 || strcmp(how, "tf_crop_and_resize") == 0)
        return operator_refuse(why, node, "this coordinate_transformation_mode is unknown to it");
    if (collage_node_int(node, "antialias", 0) != 0)
        return operator_refuse(why, node, "it ignores antialias");
    return strcmp(collage_node_string(node, "keep_aspect_ratio_policy", "stretch"), "stretch") ==
               0 ||
           operator_refuse(why, node, "it ignores keep_aspect_ratio_policy");
}

static bool takes_space_to_depth(const collage_subgraph *subgraph, const collage_node *node,
                                 collage_message *why)
{
    (void)subgraph;
    return strcmp(collage_node_string(node, "mode", "DCR"), "DCR") == 0 ||
           operator_refuse(why, node, "the mode 'CRD' is unknown to it");
}

static bool takes_pool(const collage_subgraph *subgraph, const collage_node *node,
                       collage_message *why)
{
    (void)subgraph;
    if (node->output_count > 1)
        return operator_refuse(why, node, "it counts indices in another way");
    return collage_node_int(node, "ceil_mode", 0) == 0 ||
           operator_refuse(why, node, "it rounds sizes up in another way");
}

/* ---- the operators ---- */

/* Sorted by name. */
static const struct operator_row operator_rows[] = {
    { "Abs", F32, 0, NULL },
    { "Acos", F32, 0, NULL },
    { "Acosh", F32, 0, NULL },
    { "Add", F32, 0, NULL },
    { "And", BOOL, 0, NULL },
    { "ArgMax", F32, 0, NULL },
    { "ArgMin", F32, 0, NULL },
    { "Asin", F32, 0, NULL },
    { "Asinh", F32, 0, NULL },
    { "Atan", F32, 0, NULL },
    { "Atanh", F32, 0, NULL },
    { "AveragePool", F32, 0, takes_pool },
    { "BatchNormalization", F32, 0, NULL },
    { "Cast", ANY, 0, takes_cast },
    { "Ceil", F32, 0, NULL },
    { "Celu", F32, 0, NULL },
    { "Clip", F32, 0, NULL },
    { "Concat", ANY, 0, NULL },
    { "Conv", F32, 0, NULL },
    { "ConvTranspose", F32, 0, takes_deconvolution },
    { "Cos", F32, 0, NULL },
    { "Cosh", F32, 0, NULL },
    { "CumSum", F32, 0, NULL },
    { "DepthToSpace", F32, 0, NULL },
    { "Div", F32, 0, NULL },
    { "Elu", F32, 0, NULL },
    { "Equal", F32 | BOOL, 0, NULL },
    { "Erf", F32, 0, NULL },
    { "Exp", F32, 0, NULL },
    { "Expand", ANY, 0, NULL },
    { "Flatten", ANY, 0, NULL },
    { "Floor", F32, 0, NULL },
    { "Gather", ANY, 0, NULL },
    { "GatherElements", ANY, 0, NULL },
    { "Gelu", F32, 0, NULL },
    { "Gemm", F32, 0, NULL },
    { "GlobalAveragePool", F32, 0, NULL },
    { "GlobalMaxPool", F32, 0, NULL },
    { "Greater", F32, 0, NULL },
    { "GreaterOrEqual", F32, 0, NULL },
    { "GroupNormalization", F32, 0, NULL },
    { "HardSigmoid", F32, 0, NULL },
    { "HardSwish", F32, 0, NULL },
    { "Identity", ANY, 0, NULL },
    { "InstanceNormalization", F32, 0, NULL },
    { "LRN", F32, 0, takes_lrn },
    { "LSTM", F32, 0, takes_lstm },
    { "LayerNormalization", F32, 0, takes_normalization },
    { "LeakyRelu", F32, 0, NULL },
    { "Less", F32, 0, NULL },
    { "LessOrEqual", F32, 0, NULL },
    { "Log", F32, 0, NULL },
    { "LogSoftmax", F32, 0, NULL },
    { "MatMul", F32, 0, NULL },
    { "Max", F32, 0, takes_several },
    { "MaxPool", F32, 0, takes_pool },
    { "Mean", F32, 0, takes_several },
    { "Min", F32, 0, takes_several },
    { "Mish", F32, 0, NULL },
    { "Mod", F32, 0, NULL },
    { "Mul", F32, 0, NULL },
    { "Neg", F32, 0, NULL },
    { "Not", BOOL, 0, NULL },
    { "Or", BOOL, 0, NULL },
    { "PRelu", F32, 0, NULL },
    { "Pad", ANY, 0, takes_pad },
    { "Pow", F32, 0, NULL },
    { "RMSNormalization", F32, 0, takes_normalization },
    { "Reciprocal", F32, 0, NULL },
    { "ReduceL1", F32, 0, NULL },
    { "ReduceL2", F32, 0, NULL },
    { "ReduceLogSum", F32, 0, NULL },
    { "ReduceLogSumExp", F32, 0, NULL },
    { "ReduceMax", F32, 0, NULL },
    { "ReduceMean", F32, 0, NULL },
    { "ReduceMin", F32, 0, NULL },
    { "ReduceProd", F32, 0, NULL },
    { "ReduceSum", F32, 0, NULL },
    { "ReduceSumSquare", F32, 0, NULL },
    { "Relu", F32, 0, NULL },
    { "Reshape", ANY, 0, NULL },
    { "Resize", F32, 0, takes_resize },
    { "Round", F32, 0, NULL },
    { "Selu", F32, 0, NULL },
    { "Sigmoid", F32, 0, NULL },
    { "Sign", F32, 0, NULL },
    { "Sin", F32, 0, NULL },
    { "Sinh", F32, 0, NULL },
    { "Slice", ANY, 0, NULL },
    { "Softmax", F32, 0, NULL },
    { "Softplus", F32, 0, NULL },
    { "Softsign", F32, 0, NULL },
    { "SpaceToDepth", F32, 0, takes_space_to_depth },
    { "Split", ANY, 0, takes_split },
    { "Sqrt", F32, 0, NULL },
    { "Squeeze", ANY, 0, NULL },
    { "Sub", F32, 0, NULL },
    { "Sum", F32, 0, takes_several },
    { "Swish", F32, 0, NULL },
    { "Tan", F32, 0, NULL },
    { "Tanh", F32, 0, NULL },
    { "ThresholdedRelu", F32, 0, NULL },
    { "Tile", ANY, 0, NULL },
    { "Transpose", ANY, 0, NULL },
    { "Trilu", F32, 0, NULL },
    { "Unsqueeze", ANY, 0, NULL },
    { "Where", ANY, 1, NULL },
    { "Xor", BOOL, 0, NULL },
};

bool operators_supported(const collage_subgraph *subgraph, const collage_target *target,
                         collage_message *why)
{
    static const struct operator_table table = { operator_rows,
                                                 sizeof operator_rows / sizeof operator_rows[0],
                                                 ANY | I64, "OpenVINO" };
    (void)target;
    return operator_table_takes(&table, subgraph, why);
}
