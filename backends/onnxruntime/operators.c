/* SPDX-License-Identifier: Apache-2.0 */
#include "operators.h"

#include "../operator_table.h"

enum {
    F32 = 1u << COLLAGE_FLOAT32,
    F64 = 1u << COLLAGE_FLOAT64,
    I32 = 1u << COLLAGE_INT32,
    I64 = 1u << COLLAGE_INT64,
    BOOL = 1u << COLLAGE_BOOL,
    FLOATS = F32 | F64,
    NUMBERS = FLOATS | I32 | I64,
    ANY = NUMBERS | BOOL | 1u << COLLAGE_UINT8 | 1u << COLLAGE_INT8
};

static bool takes_lstm(const collage_subgraph *subgraph, const collage_node *node,
                       collage_message *why)
{
    (void)subgraph;
    if (operator_has_attribute(node, "clip"))
        return operator_refuse(why, node, "it clips in other places");
    return collage_node_int(node, "layout", 0) == 0 ||
           operator_refuse(why, node, "there is a kernel for layout 0 only");
}

static bool takes_lrn(const collage_subgraph *subgraph, const collage_node *node,
                      collage_message *why)
{
    if (subgraph->values[node->inputs[0]]->rank != 4)
        return operator_refuse(why, node, "only of rank 4");
    return collage_node_int(node, "size", 0) % 2 == 1 ||
           operator_refuse(why, node, "only over an odd number of channels");
}

static bool takes_resize(const collage_subgraph *subgraph, const collage_node *node,
                         collage_message *why)
{
    (void)subgraph;
    const collage_attribute *axes = collage_node_attribute(node, "axes", COLLAGE_ATTRIBUTE_INTS);
    for (uint32_t k = 0; axes && k < axes->count; k++)
        if (axes->ints[k] < 0)
            return operator_refuse(why, node, "it writes outside its memory for negative axes");
    return strcmp(collage_node_string(node, "coordinate_transformation_mode", "half_pixel"),
                  "tf_crop_and_resize") != 0 ||
           operator_refuse(why, node, "it fills in where the crop still has elements");
}

/* Of real numbers, with the sign of the divisor, it is of a newer operator set. */
static bool takes_mod(const collage_subgraph *subgraph, const collage_node *node,
                      collage_message *why)
{
    collage_dtype dtype = subgraph->values[node->inputs[0]]->dtype;
    bool real = dtype == COLLAGE_FLOAT32 || dtype == COLLAGE_FLOAT64;
    return !real || collage_node_int(node, "fmod", 0) != 0 ||
           operator_refuse(why, node, "of real numbers only with fmod");
}

static bool takes_space_to_depth(const collage_subgraph *subgraph, const collage_node *node,
                                 collage_message *why)
{
    (void)subgraph;
    return strcmp(collage_node_string(node, "mode", "DCR"), "DCR") == 0 ||
           operator_refuse(why, node, "the mode 'CRD' is unknown to it");
}

/* The types that kernels exist for. Sorted by name. */
static const struct operator_row operator_rows[] = {
    { "Abs", NUMBERS, 0, NULL },
    { "Acos", F32, 0, NULL },
    { "Acosh", F32, 0, NULL },
    { "Add", NUMBERS, 0, NULL },
    { "And", BOOL, 0, NULL },
    { "ArgMax", NUMBERS, 0, NULL },
    { "ArgMin", NUMBERS, 0, NULL },
    { "Asin", F32, 0, NULL },
    { "Asinh", F32, 0, NULL },
    { "Atan", F32, 0, NULL },
    { "Atanh", F32, 0, NULL },
    { "AveragePool", F32, 0, NULL },
    { "BatchNormalization", FLOATS, 0, NULL },
    { "Cast", ANY, 0, NULL },
    { "Ceil", FLOATS, 0, NULL },
    { "Celu", F32, 0, NULL },
    { "Clip", NUMBERS, 0, NULL },
    { "Concat", ANY, 0, NULL },
    { "Conv", F32, 0, NULL },
    { "ConvTranspose", F32, 0, NULL },
    { "Cos", F32, 0, NULL },
    { "Cosh", F32, 0, NULL },
    { "CumSum", NUMBERS, 0, NULL },
    { "DepthToSpace", FLOATS, 0, NULL },
    { "Div", NUMBERS, 0, NULL },
    { "Dropout", FLOATS, 0, NULL },
    { "Elu", F32, 0, NULL },
    { "Equal", NUMBERS | BOOL, 0, NULL },
    { "Erf", F32, 0, NULL },
    { "Exp", FLOATS, 0, NULL },
    { "Expand", ANY, 0, NULL },
    { "Flatten", ANY, 0, NULL },
    { "Floor", FLOATS, 0, NULL },
    { "Gather", ANY, 0, NULL },
    { "GatherElements", ANY, 0, NULL },
    { "Gelu", F32, 0, NULL },
    { "Gemm", FLOATS, 0, NULL },
    { "GlobalAveragePool", F32, 0, NULL },
    { "GlobalMaxPool", F32, 0, NULL },
    { "Greater", NUMBERS, 0, NULL },
    { "GreaterOrEqual", NUMBERS, 0, NULL },
    { "GroupNormalization", F32, 0, NULL },
    { "HardSigmoid", F32, 0, NULL },
    { "HardSwish", F32, 0, NULL },
    { "Identity", ANY, 0, NULL },
    { "InstanceNormalization", F32, 0, NULL },
    { "LRN", F32, 0, takes_lrn },
    { "LSTM", FLOATS, 0, takes_lstm },
    { "LayerNormalization", F32, 0, NULL },
    { "LeakyRelu", F32, 0, NULL },
    { "Less", NUMBERS, 0, NULL },
    { "LessOrEqual", NUMBERS, 0, NULL },
    { "Log", FLOATS, 0, NULL },
    { "LogSoftmax", FLOATS, 0, NULL },
    { "MatMul", NUMBERS, 0, NULL },
    { "Max", NUMBERS, 0, NULL },
    { "MaxPool", FLOATS, 0, NULL },
    { "Mean", F32, 0, NULL },
    { "Min", NUMBERS, 0, NULL },
    { "Mish", F32, 0, NULL },
    { "Mod", NUMBERS, 0, takes_mod },
    { "Mul", NUMBERS, 0, NULL },
    { "Neg", NUMBERS, 0, NULL },
    { "Not", BOOL, 0, NULL },
    { "Or", BOOL, 0, NULL },
    { "PRelu", F32, 0, NULL },
    { "Pad", NUMBERS | BOOL, 0, NULL },
    { "Pow", NUMBERS, 0, NULL },
    { "RMSNormalization", FLOATS, 0, NULL },
    { "Range", NUMBERS, 0, NULL },
    { "Reciprocal", FLOATS, 0, NULL },
    { "ReduceL1", F32 | I32, 0, NULL },
    { "ReduceL2", F32 | I32, 0, NULL },
    { "ReduceLogSum", F32, 0, NULL },
    { "ReduceLogSumExp", F32, 0, NULL },
    { "ReduceMax", NUMBERS, 0, NULL },
    { "ReduceMean", FLOATS | I32, 0, NULL },
    { "ReduceMin", NUMBERS, 0, NULL },
    { "ReduceProd", F32 | I32 | I64, 0, NULL },
    { "ReduceSum", NUMBERS, 0, NULL },
    { "ReduceSumSquare", FLOATS | I32, 0, NULL },
    { "Relu", FLOATS | I32, 0, NULL },
    { "Reshape", ANY, 0, NULL },
    { "Resize", F32, 0, takes_resize },
    { "Round", FLOATS, 0, NULL },
    { "Selu", F32, 0, NULL },
    { "Shape", ANY, 0, NULL },
    { "Sigmoid", FLOATS, 0, NULL },
    { "Sign", NUMBERS, 0, NULL },
    { "Sin", FLOATS, 0, NULL },
    { "Sinh", F32, 0, NULL },
    { "Size", FLOATS | I32 | I64 | BOOL, 0, NULL },
    { "Slice", ANY, 0, NULL },
    { "Softmax", FLOATS, 0, NULL },
    { "Softplus", F32, 0, NULL },
    { "Softsign", F32, 0, NULL },
    { "SpaceToDepth", FLOATS, 0, takes_space_to_depth },
    { "Split", ANY, 0, NULL },
    { "Sqrt", FLOATS, 0, NULL },
    { "Squeeze", ANY, 0, NULL },
    { "Sub", NUMBERS, 0, NULL },
    { "Sum", FLOATS, 0, NULL },
    { "Swish", F32, 0, NULL }, /* written as Sigmoid and Mul */
    { "Tan", F32, 0, NULL },
    { "Tanh", FLOATS, 0, NULL },
    { "ThresholdedRelu", F32, 0, NULL },
    { "Tile", NUMBERS | BOOL, 0, NULL },
    { "Transpose", ANY, 0, NULL },
    { "Trilu", FLOATS | I64 | BOOL, 0, NULL },
    { "Unsqueeze", ANY, 0, NULL },
    { "Where", F32 | I32 | I64, 1, NULL },
    { "Xor", BOOL, 0, NULL },
};

bool operators_supported(const collage_subgraph *subgraph, const collage_target *target,
                         collage_message *why)
{
    static const struct operator_table table = { operator_rows,
                                                 sizeof operator_rows / sizeof operator_rows[0],
                                                 ANY, "ORT" };
    (void)target;
    return operator_table_takes(&table, subgraph, why);
}
