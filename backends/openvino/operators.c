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
    I8 = 1u << COLLAGE_INT8,
    U8 = 1u << COLLAGE_UINT8,
    BOOL = 1u << COLLAGE_BOOL,
    ANY = F32 | I32 | BOOL,
    MOVED = ANY | I8 | U8
};

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
    const collage_value *value = operator_input(subgraph, node, 2);
    if (value && !value->data)
        return operator_refuse(why, node, "only with a constant value");
    return strcmp(collage_node_string(node, "mode", "constant"), "wrap") != 0 ||
           operator_refuse(why, node, "the mode 'wrap' is unknown to it");
}

static bool takes_recurrent(const collage_subgraph *subgraph, const collage_node *node,
                            collage_message *why)
{
    if (operator_input(subgraph, node, 7))
        return operator_refuse(why, node, "it ignores peepholes");
    static const char *const unknown[] = { "activations", "activation_alpha", "activation_beta",
                                           "clip", "input_forget" };
    for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++)
        if (operator_has_attribute(node, unknown[k]))
            return operator_refuse(why, node, "only with the usual activations");
    if (operator_input(subgraph, node, 4))
        return operator_refuse(why, node, "only of whole sequences");
    return collage_node_int(node, "layout", 0) == 0 ||
           operator_refuse(why, node, "only in layout 0");
}

/* Its kernel keeps the bias as an integer, and an even size has no middle. */
static bool takes_lrn(const collage_subgraph *subgraph, const collage_node *node,
                      collage_message *why)
{
    double bias = (double)collage_node_float(node, "bias", 1.0f);
    if (operator_input(subgraph, node, 0)->rank != 4)
        return operator_refuse(why, node, "only of rank 4");
    if (collage_node_int(node, "size", 0) % 2 != 1)
        return operator_refuse(why, node, "only over an odd number of channels");
    return (bias >= 1 && bias <= 1000 && bias == (double)(int)bias) ||
           operator_refuse(why, node, "only with a bias that is a whole number");
}

static bool takes_split(const collage_subgraph *subgraph, const collage_node *node,
                        collage_message *why)
{
    const collage_value *x = operator_input(subgraph, node, 0);
    int64_t axis = collage_node_int(node, "axis", 0);
    int64_t dim = x->dims[axis < 0 ? axis + x->rank : axis];
    return operator_input(subgraph, node, 1) || dim % (int64_t)node->output_count == 0 ||
           operator_refuse(why, node, "into unequal parts only with their sizes");
}

static bool takes_cast(const collage_subgraph *subgraph, const collage_node *node,
                       collage_message *why)
{
    int64_t to = collage_node_int(node, "to", 0);
    if (to == COLLAGE_INT64)
        return operator_refuse(why, node, "not to int64");
    if (to == COLLAGE_INT8 || to == COLLAGE_UINT8)
        return operator_refuse(why, node, "not to 8 bits, where it saturates");
    return to != COLLAGE_BOOL || operator_input(subgraph, node, 0)->dtype == COLLAGE_BOOL ||
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
    const collage_value *x = operator_input(subgraph, node, 0);
    int64_t axis = collage_node_int(node, "axis", -1);
    int64_t rank = axis < 0 ? -axis : x->rank - axis;
    for (uint32_t k = 1; k < node->input_count; k++) {
        const collage_value *scale = operator_input(subgraph, node, k);
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

/* Its kernel reads before the tensor for an index that counts from the end. */
static bool takes_gather_nd(const collage_subgraph *subgraph, const collage_node *node,
                            collage_message *why)
{
    const collage_value *indices = operator_input(subgraph, node, 1);
    int64_t count = indices->data ? operator_elements(indices) : 0;
    if (!indices->data)
        return operator_refuse(why, node, "only with constant indices");
    for (int64_t k = 0; k < count; k++)
        if (operator_integer(indices, k) < 0)
            return operator_refuse(why, node, "indices do not count from the end");
    return true;
}

static bool takes_scatter_nd(const collage_subgraph *subgraph, const collage_node *node,
                             collage_message *why)
{
    (void)subgraph;
    return strcmp(collage_node_string(node, "reduction", "none"), "none") == 0 ||
           operator_refuse(why, node, "only without a reduction");
}

static bool takes_reverse_sequence(const collage_subgraph *subgraph, const collage_node *node,
                                   collage_message *why)
{
    int64_t rank = operator_input(subgraph, node, 0)->rank;
    int64_t batch = collage_node_int(node, "batch_axis", 1);
    int64_t time = collage_node_int(node, "time_axis", 0);
    batch += batch < 0 ? rank : 0;
    time += time < 0 ? rank : 0;
    return (batch <= 1 && time <= 1) ||
           operator_refuse(why, node, "only along the first two dimensions");
}

static bool takes_einsum(const collage_subgraph *subgraph, const collage_node *node,
                         collage_message *why)
{
    for (uint32_t k = 0; k < node->input_count; k++)
        if (subgraph->values[node->inputs[k]]->rank == 0)
            return operator_refuse(why, node, "not of scalars");
    return true;
}

/* Without the attribute it takes one sample, not as many as the region has. */
static bool takes_roi_align(const collage_subgraph *subgraph, const collage_node *node,
                            collage_message *why)
{
    (void)subgraph;
    if (!operator_has_attribute(node, "sampling_ratio"))
        return operator_refuse(why, node, "only with sampling_ratio");
    return strcmp(collage_node_string(node, "mode", "avg"), "avg") == 0 ||
           operator_refuse(why, node, "only means");
}

/* ---- what is quantised ---- */

/* One scale for all, or for each index of an axis. */
static bool takes_scaling(const collage_subgraph *subgraph, const collage_node *node,
                          collage_message *why)
{
    const collage_value *x = operator_input(subgraph, node, 0);
    const collage_value *scale = operator_input(subgraph, node, 1);
    const collage_value *zero = operator_input(subgraph, node, 2);
    int64_t axis = collage_node_int(node, "axis", 1);
    if (collage_node_int(node, "block_size", 0) != 0)
        return operator_refuse(why, node, "not in blocks");
    if (scale->dtype != COLLAGE_FLOAT32 || !scale->data || (zero && !zero->data))
        return operator_refuse(why, node, "only with constant scales of float32");
    if (operator_is_single(scale) && (!zero || operator_is_single(zero)))
        return true;
    return (axis >= -x->rank && axis < x->rank && scale->rank == 1 && (!zero || zero->rank == 1)) ||
           operator_refuse(why, node, "only with a scale and zero point for each index of an axis");
}

static bool takes_dequantize(const collage_subgraph *subgraph, const collage_node *node,
                             collage_message *why)
{
    int64_t type = collage_node_int(node, "output_dtype", 0);
    if (type != 0 && type != COLLAGE_FLOAT32)
        return operator_refuse(why, node, "only to float32");
    if (operator_input(subgraph, node, 0)->data)
        return operator_refuse(why, node, "not of a constant, which is nothing to run");
    if (operator_input(subgraph, node, 0)->dtype == COLLAGE_INT32 &&
        operator_input(subgraph, node, 2))
        return operator_refuse(why, node, "of int32 only without a zero point");
    return takes_scaling(subgraph, node, why);
}

static bool takes_quantize(const collage_subgraph *subgraph, const collage_node *node,
                           collage_message *why)
{
    int64_t precision = collage_node_int(node, "precision", 0);
    if (precision != 0 && precision != COLLAGE_FLOAT32)
        return operator_refuse(why, node, "it divides in float32");
    return takes_scaling(subgraph, node, why);
}

/* Only QuantizeLinear makes it choose kernels of integers, whose sums of products of uint8 with
 * int8 saturate without VNNI. */
static bool takes_without_vnni(const collage_node *node, collage_message *why)
{
    return strcmp(node->op_type, "QuantizeLinear") != 0 ||
           operator_refuse(why, node, "without VNNI its sums of int8 saturate");
}

/* ---- the operators ---- */

/*
 * Left out: TopK and Hardmax (which of equals it takes), OneHot (negative indices are ignored),
 * products of integers (some are sums of float32), and what its own list of operators lacks or its
 * own tests of ONNX models know to fail.
 */

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
    { "Cast", MOVED, 0, takes_cast },
    { "Ceil", F32, 0, NULL },
    { "Celu", F32, 0, NULL },
    { "Clip", F32, 0, NULL },
    { "Concat", MOVED, 0, NULL },
    { "Conv", F32, 0, NULL },
    { "ConvTranspose", F32, 0, takes_deconvolution },
    { "Cos", F32, 0, NULL },
    { "Cosh", F32, 0, NULL },
    { "CumSum", F32, 0, NULL },
    { "DepthToSpace", F32, 0, NULL },
    { "DequantizeLinear", I8 | U8 | I32, 0, takes_dequantize },
    { "Div", F32, 0, NULL },
    { "Einsum", F32, 0, takes_einsum },
    { "Elu", F32, 0, NULL },
    { "Equal", F32 | BOOL, 0, NULL },
    { "Erf", F32, 0, NULL },
    { "Exp", F32, 0, NULL },
    { "Expand", MOVED, 0, NULL },
    { "Flatten", MOVED, 0, NULL },
    { "Floor", F32, 0, NULL },
    { "GRU", F32, 0, takes_recurrent },
    { "Gather", MOVED, 0, NULL },
    { "GatherElements", ANY, 0, NULL },
    { "GatherND", F32, 0, takes_gather_nd },
    { "Gelu", F32, 0, NULL },
    { "Gemm", F32, 0, NULL },
    { "GlobalAveragePool", F32, 0, NULL },
    { "GlobalMaxPool", F32, 0, NULL },
    { "Greater", F32, 0, NULL },
    { "GreaterOrEqual", F32, 0, NULL },
    { "GroupNormalization", F32, 0, NULL },
    { "HardSigmoid", F32, 0, NULL },
    { "HardSwish", F32, 0, NULL },
    { "Identity", MOVED, 0, NULL },
    { "If", BOOL, 0, NULL },
    { "InstanceNormalization", F32, 0, NULL },
    { "LRN", F32, 0, takes_lrn },
    { "LSTM", F32, 0, takes_recurrent },
    { "LayerNormalization", F32, 0, takes_normalization },
    { "LeakyRelu", F32, 0, NULL },
    { "Less", F32, 0, NULL },
    { "LessOrEqual", F32, 0, NULL },
    { "Log", F32, 0, NULL },
    { "LogSoftmax", F32, 0, NULL },
    { "Loop", I64, 0, NULL },
    { "MatMul", F32, 0, NULL },
    { "Max", F32, 0, takes_several },
    { "MaxPool", F32, 0, takes_pool },
    { "Mean", F32, 0, takes_several },
    { "MeanVarianceNormalization", F32, 0, NULL },
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
    { "QuantizeLinear", F32, 0, takes_quantize },
    { "RMSNormalization", F32, 0, takes_normalization },
    { "RNN", F32, 0, takes_recurrent },
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
    { "Reshape", MOVED, 0, NULL },
    { "Resize", F32, 0, takes_resize },
    { "ReverseSequence", F32, 0, takes_reverse_sequence },
    { "RoiAlign", F32, 0, takes_roi_align },
    { "Round", F32, 0, NULL },
    { "ScatterElements", F32, 0, NULL },
    { "ScatterND", F32, 0, takes_scatter_nd },
    { "Selu", F32, 0, NULL },
    { "Sigmoid", F32, 0, NULL },
    { "Sign", F32, 0, NULL },
    { "Sin", F32, 0, NULL },
    { "Sinh", F32, 0, NULL },
    { "Slice", MOVED, 0, NULL },
    { "Softmax", F32, 0, NULL },
    { "Softplus", F32, 0, NULL },
    { "Softsign", F32, 0, NULL },
    { "SpaceToDepth", F32, 0, takes_space_to_depth },
    { "Split", MOVED, 0, takes_split },
    { "Sqrt", F32, 0, NULL },
    { "Squeeze", MOVED, 0, NULL },
    { "Sub", F32, 0, NULL },
    { "Sum", F32, 0, takes_several },
    { "Swish", F32, 0, NULL },
    { "Tan", F32, 0, NULL },
    { "Tanh", F32, 0, NULL },
    { "ThresholdedRelu", F32, 0, NULL },
    { "Tile", MOVED, 0, NULL },
    { "Transpose", MOVED, 0, NULL },
    { "Trilu", F32, 0, NULL },
    { "Unsqueeze", MOVED, 0, NULL },
    { "Where", ANY, 1, NULL },
    { "Xor", BOOL, 0, NULL },
};

bool operators_supported(const collage_subgraph *subgraph, const collage_target *target,
                         collage_message *why)
{
    static const struct operator_table table = { operator_rows,
                                                 sizeof operator_rows / sizeof operator_rows[0],
                                                 MOVED | I64, "OpenVINO" };
    for (uint32_t k = 0; k < subgraph->node_count && !target->vnni; k++)
        if (!takes_without_vnni(subgraph->nodes[k], why))
            return false;
    return operator_table_takes(&table, subgraph, why);
}
