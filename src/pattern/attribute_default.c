/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/attribute_default.h"

#include <string.h>

/* After ONNX's Operators.md. Lists (strides, dilations, pads) default to equal elements. */
static const struct attribute_default defaults[] = {
    { "ArgMax", "axis", 0, NULL },
    { "ArgMax", "keepdims", 1, NULL },
    { "ArgMin", "axis", 0, NULL },
    { "ArgMin", "keepdims", 1, NULL },
    { "AveragePool", "auto_pad", 0, "NOTSET" },
    { "AveragePool", "ceil_mode", 0, NULL },
    { "AveragePool", "count_include_pad", 0, NULL },
    { "AveragePool", "dilations", 1, NULL },
    { "AveragePool", "pads", 0, NULL },
    { "AveragePool", "strides", 1, NULL },
    { "BatchNormalization", "epsilon", 1e-5, NULL },
    { "BatchNormalization", "training_mode", 0, NULL },
    { "Celu", "alpha", 1, NULL },
    { "Conv", "auto_pad", 0, "NOTSET" },
    { "Conv", "dilations", 1, NULL },
    { "Conv", "group", 1, NULL },
    { "Conv", "pads", 0, NULL },
    { "Conv", "strides", 1, NULL },
    { "ConvTranspose", "auto_pad", 0, "NOTSET" },
    { "ConvTranspose", "dilations", 1, NULL },
    { "ConvTranspose", "group", 1, NULL },
    { "ConvTranspose", "output_padding", 0, NULL },
    { "ConvTranspose", "pads", 0, NULL },
    { "ConvTranspose", "strides", 1, NULL },
    { "DepthToSpace", "mode", 0, "DCR" },
    { "DequantizeLinear", "axis", 1, NULL },
    { "DequantizeLinear", "block_size", 0, NULL },
    { "Elu", "alpha", 1, NULL },
    { "Flatten", "axis", 1, NULL },
    { "Gather", "axis", 0, NULL },
    { "GatherElements", "axis", 0, NULL },
    { "Gelu", "approximate", 0, "none" },
    { "Gemm", "alpha", 1, NULL },
    { "Gemm", "beta", 1, NULL },
    { "Gemm", "transA", 0, NULL },
    { "Gemm", "transB", 0, NULL },
    { "HardSigmoid", "alpha", 0.2, NULL },
    { "HardSigmoid", "beta", 0.5, NULL },
    { "InstanceNormalization", "epsilon", 1e-5, NULL },
    { "LayerNormalization", "axis", -1, NULL },
    { "LayerNormalization", "epsilon", 1e-5, NULL },
    { "LeakyRelu", "alpha", 0.01, NULL },
    { "LogSoftmax", "axis", -1, NULL },
    { "LSTM", "direction", 0, "forward" },
    { "MaxPool", "auto_pad", 0, "NOTSET" },
    { "MaxPool", "ceil_mode", 0, NULL },
    { "MaxPool", "dilations", 1, NULL },
    { "MaxPool", "pads", 0, NULL },
    { "MaxPool", "storage_order", 0, NULL },
    { "MaxPool", "strides", 1, NULL },
    { "Pad", "mode", 0, "constant" },
    { "QuantizeLinear", "axis", 1, NULL },
    { "QuantizeLinear", "block_size", 0, NULL },
    { "QuantizeLinear", "saturate", 1, NULL },
    { "ReduceL1", "keepdims", 1, NULL },
    { "ReduceL2", "keepdims", 1, NULL },
    { "ReduceMax", "keepdims", 1, NULL },
    { "ReduceMean", "keepdims", 1, NULL },
    { "ReduceMin", "keepdims", 1, NULL },
    { "ReduceProd", "keepdims", 1, NULL },
    { "ReduceSum", "keepdims", 1, NULL },
    { "RMSNormalization", "axis", -1, NULL },
    { "RMSNormalization", "epsilon", 1e-5, NULL },
    { "Softmax", "axis", -1, NULL },
    { "Split", "axis", 0, NULL },
};

const struct attribute_default *attribute_default_find(const struct op *op, const char *name)
{
    for (size_t k = 0; k < sizeof defaults / sizeof defaults[0]; k++)
        if (strcmp(defaults[k].op, op->name) == 0 && strcmp(defaults[k].name, name) == 0)
            return &defaults[k];
    return NULL;
}
