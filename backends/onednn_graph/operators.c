/* SPDX-License-Identifier: Apache-2.0 */
#include "operators.h"

#include <string.h>

/* Sorted by name. */
static const struct {
    const char *name;
    translator translate;
} rows[] = {
    { "Abs", translate_unary },
    { "Add", translate_binary },
    { "AveragePool", translate_pool },
    { "BatchNormalization", translate_batch_norm },
    { "Clip", translate_clip },
    { "Concat", translate_concat },
    { "Conv", translate_convolution },
    { "ConvTranspose", translate_deconvolution },
    { "Div", translate_binary },
    { "Elu", translate_unary },
    { "Exp", translate_unary },
    { "Flatten", translate_reshape },
    { "Gelu", translate_unary },
    { "Gemm", translate_gemm },
    { "GlobalAveragePool", translate_global_pool },
    { "GlobalMaxPool", translate_global_pool },
    { "HardSigmoid", translate_unary },
    { "HardSwish", translate_unary },
    { "LayerNormalization", translate_layer_norm },
    { "LeakyRelu", translate_unary },
    { "Log", translate_unary },
    { "LogSoftmax", translate_softmax },
    { "MatMul", translate_matmul },
    { "Max", translate_several },
    { "MaxPool", translate_pool },
    { "Min", translate_several },
    { "Mish", translate_unary },
    { "Mul", translate_binary },
    { "Neg", translate_neg },
    { "PRelu", translate_prelu },
    { "Pow", translate_pow },
    { "Reciprocal", translate_reciprocal },
    { "ReduceL1", translate_reduction },
    { "ReduceL2", translate_reduction },
    { "ReduceMax", translate_reduction },
    { "ReduceMean", translate_reduction },
    { "ReduceMin", translate_reduction },
    { "ReduceProd", translate_reduction },
    { "ReduceSum", translate_reduction },
    { "Relu", translate_unary },
    { "Reshape", translate_reshape },
    { "Round", translate_unary },
    { "Sigmoid", translate_unary },
    { "Softmax", translate_softmax },
    { "Softplus", translate_unary },
    { "Sqrt", translate_unary },
    { "Squeeze", translate_reshape },
    { "Sub", translate_binary },
    { "Sum", translate_several },
    { "Swish", translate_swish },
    { "Tanh", translate_unary },
    { "Transpose", translate_transpose },
    { "Unsqueeze", translate_reshape },
};

translator operators_find(const char *op_type)
{
    size_t low = 0, high = sizeof rows / sizeof rows[0];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(op_type, rows[middle].name);
        if (order == 0)
            return rows[middle].translate;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
