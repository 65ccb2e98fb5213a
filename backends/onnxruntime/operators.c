/* SPDX-License-Identifier: Apache-2.0 */
#include "operators.h"

#include <stdio.h>
#include <string.h>

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

/* Operators, and the types that kernels exist for; `typed` is the input that decides, the others
 * follow from it. Rows are sorted by name. */
struct operator_row {
    const char *name;
    uint32_t types;
    uint32_t typed;
};

static const struct operator_row operator_rows[] = {
    { "Abs", NUMBERS, 0 },
    { "Acos", F32, 0 },
    { "Acosh", F32, 0 },
    { "Add", NUMBERS, 0 },
    { "And", BOOL, 0 },
    { "ArgMax", NUMBERS, 0 },
    { "ArgMin", NUMBERS, 0 },
    { "Asin", F32, 0 },
    { "Asinh", F32, 0 },
    { "Atan", F32, 0 },
    { "Atanh", F32, 0 },
    { "AveragePool", F32, 0 },
    { "BatchNormalization", FLOATS, 0 },
    { "Cast", ANY, 0 },
    { "Ceil", FLOATS, 0 },
    { "Celu", F32, 0 },
    { "Clip", NUMBERS, 0 },
    { "Concat", ANY, 0 },
    { "Conv", F32, 0 },
    { "ConvTranspose", F32, 0 },
    { "Cos", F32, 0 },
    { "Cosh", F32, 0 },
    { "CumSum", NUMBERS, 0 },
    { "DepthToSpace", FLOATS, 0 },
    { "Div", NUMBERS, 0 },
    { "Dropout", FLOATS, 0 },
    { "Elu", F32, 0 },
    { "Equal", NUMBERS | BOOL, 0 },
    { "Erf", F32, 0 },
    { "Exp", FLOATS, 0 },
    { "Expand", ANY, 0 },
    { "Flatten", ANY, 0 },
    { "Floor", FLOATS, 0 },
    { "Gather", ANY, 0 },
    { "GatherElements", ANY, 0 },
    { "Gelu", F32, 0 },
    { "Gemm", FLOATS, 0 },
    { "GlobalAveragePool", F32, 0 },
    { "GlobalMaxPool", F32, 0 },
    { "Greater", NUMBERS, 0 },
    { "GreaterOrEqual", NUMBERS, 0 },
    { "GroupNormalization", F32, 0 },
    { "HardSigmoid", F32, 0 },
    { "HardSwish", F32, 0 },
    { "Identity", ANY, 0 },
    { "InstanceNormalization", F32, 0 },
    { "LSTM", FLOATS, 0 },
    { "LayerNormalization", F32, 0 },
    { "LeakyRelu", F32, 0 },
    { "Less", NUMBERS, 0 },
    { "LessOrEqual", NUMBERS, 0 },
    { "Log", FLOATS, 0 },
    { "LogSoftmax", FLOATS, 0 },
    { "MatMul", NUMBERS, 0 },
    { "Max", NUMBERS, 0 },
    { "MaxPool", FLOATS, 0 },
    { "Mean", F32, 0 },
    { "Min", NUMBERS, 0 },
    { "Mish", F32, 0 },
    { "Mod", NUMBERS, 0 },
    { "Mul", NUMBERS, 0 },
    { "Neg", NUMBERS, 0 },
    { "Not", BOOL, 0 },
    { "Or", BOOL, 0 },
    { "PRelu", F32, 0 },
    { "Pad", NUMBERS | BOOL, 0 },
    { "Pow", NUMBERS, 0 },
    { "RMSNormalization", FLOATS, 0 },
    { "Range", NUMBERS, 0 },
    { "Reciprocal", FLOATS, 0 },
    { "ReduceL1", F32 | I32, 0 },
    { "ReduceL2", F32 | I32, 0 },
    { "ReduceLogSum", F32, 0 },
    { "ReduceLogSumExp", F32, 0 },
    { "ReduceMax", NUMBERS, 0 },
    { "ReduceMean", FLOATS | I32, 0 },
    { "ReduceMin", NUMBERS, 0 },
    { "ReduceProd", F32 | I32 | I64, 0 },
    { "ReduceSum", NUMBERS, 0 },
    { "ReduceSumSquare", FLOATS | I32, 0 },
    { "Relu", FLOATS | I32, 0 },
    { "Reshape", ANY, 0 },
    { "Resize", F32, 0 },
    { "Round", FLOATS, 0 },
    { "Selu", F32, 0 },
    { "Shape", ANY, 0 },
    { "Sigmoid", FLOATS, 0 },
    { "Sign", NUMBERS, 0 },
    { "Sin", FLOATS, 0 },
    { "Sinh", F32, 0 },
    { "Size", FLOATS | I32 | I64 | BOOL, 0 },
    { "Slice", ANY, 0 },
    { "Softmax", FLOATS, 0 },
    { "Softplus", F32, 0 },
    { "Softsign", F32, 0 },
    { "SpaceToDepth", FLOATS, 0 },
    { "Split", ANY, 0 },
    { "Sqrt", FLOATS, 0 },
    { "Squeeze", ANY, 0 },
    { "Sub", NUMBERS, 0 },
    { "Sum", FLOATS, 0 },
    { "Tan", F32, 0 },
    { "Tanh", FLOATS, 0 },
    { "ThresholdedRelu", F32, 0 },
    { "Tile", NUMBERS | BOOL, 0 },
    { "Transpose", ANY, 0 },
    { "Trilu", FLOATS | I64 | BOOL, 0 },
    { "Unsqueeze", ANY, 0 },
    { "Where", F32 | I32 | I64, 1 },
    { "Xor", BOOL, 0 },
};

static bool has_type(uint32_t types, collage_dtype dtype)
{
    return (uint32_t)dtype < 32 && types >> (uint32_t)dtype & 1u;
}

static const struct operator_row *find_row(const char *name)
{
    size_t low = 0, high = sizeof operator_rows / sizeof operator_rows[0];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, operator_rows[middle].name);
        if (order == 0)
            return &operator_rows[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static bool is_input(const collage_subgraph *subgraph, uint32_t value)
{
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        if (subgraph->inputs[k] == value)
            return true;
    return false;
}

/* Every tensor has a type that ORT knows, and at least one element unless it is a constant (an
 * empty `roi` of Resize). */
static bool values_supported(const collage_subgraph *subgraph, const collage_node *node,
                             const uint32_t *values, uint32_t count, bool outputs,
                             collage_message *why)
{
    for (uint32_t k = 0; k < count; k++) {
        if (values[k] == COLLAGE_NO_VALUE)
            continue;
        const collage_value *value = subgraph->values[values[k]];
        if (!has_type(ANY, value->dtype)) {
            snprintf(why->text, sizeof why->text, "%s: tensors of element type %d are not taken",
                     node->op_type, (int)value->dtype);
            return false;
        }
        if (value->bytes == 0 && (outputs || is_input(subgraph, values[k]))) {
            snprintf(why->text, sizeof why->text, "%s: tensors without elements are not taken",
                     node->op_type);
            return false;
        }
    }
    return true;
}

static bool node_supported(const collage_subgraph *subgraph, const collage_node *node,
                           collage_message *why)
{
    const struct operator_row *row = find_row(node->op_type);
    if (!row) {
        snprintf(why->text, sizeof why->text, "%s is not among the operators given to ORT",
                 node->op_type);
        return false;
    }
    if (row->typed < node->input_count && node->inputs[row->typed] != COLLAGE_NO_VALUE) {
        const collage_value *value = subgraph->values[node->inputs[row->typed]];
        if (!has_type(row->types, value->dtype)) {
            snprintf(why->text, sizeof why->text, "%s has no kernel for element type %d",
                     node->op_type, (int)value->dtype);
            return false;
        }
    }
    if (collage_node_int(node, "layout", 0) != 0) { /* of LSTM */
        snprintf(why->text, sizeof why->text, "%s has a kernel for layout 0 only", node->op_type);
        return false;
    }
    return values_supported(subgraph, node, node->inputs, node->input_count, false, why) &&
           values_supported(subgraph, node, node->outputs, node->output_count, true, why);
}

bool operators_supported(const collage_subgraph *subgraph, const collage_target *target,
                         collage_message *why)
{
    (void)target;
    for (uint32_t k = 0; k < subgraph->node_count; k++)
        if (!node_supported(subgraph, subgraph->nodes[k], why))
            return false;
    return true;
}
