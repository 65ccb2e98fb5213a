#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases of com.microsoft operators, with ONNX Runtime's results, as generate.py writes the onnx package's:
contrib.py DIR"""
import os
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

random = np.random.default_rng(7)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def padding(batch, length, lengths):
    return np.array([[int(k < n) for k in range(length)] for n in lengths], dtype=np.int32).reshape(batch, length)


# name: operator, inputs (None: left out), which of them are initializers, number of outputs, attributes
CASES = {
    "gelu": ("Gelu", [floats(3, 5)], (), 1, {}),
    "bias_gelu": ("BiasGelu", [floats(3, 5), floats(5)], (1,), 1, {}),
    "fast_gelu": ("FastGelu", [floats(3, 5)], (), 1, {}),
    "fast_gelu_bias": ("FastGelu", [floats(3, 5), floats(5)], (1,), 1, {}),
    "quick_gelu": ("QuickGelu", [floats(3, 5)], (), 1, {}),
    "quick_gelu_alpha": ("QuickGelu", [floats(3, 5)], (), 1, {"alpha": 1.5}),
    "skip_layer_normalization": (
        "SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8)], (2, 3), 1, {"epsilon": 1e-5}),
    "skip_layer_normalization_bias": (
        "SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8), None, floats(8)], (2, 4), 1, {}),
    "skip_rms": ("SkipSimplifiedLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8)], (2,), 1,
                 {"epsilon": 1e-5}),
    "fused_matmul": ("FusedMatMul", [floats(2, 5, 3), floats(2, 7, 5)], (), 1, {"transA": 1, "transB": 1, "alpha": 0.5}),
    "fused_matmul_plain": ("FusedMatMul", [floats(2, 3, 5), floats(5, 7)], (1,), 1, {}),
    "fused_matmul_batch": ("FusedMatMul", [floats(3, 2, 5), floats(2, 5, 7)], (), 1, {"transBatchA": 1}),
    "fused_conv": ("FusedConv", [floats(1, 3, 6, 6), floats(4, 3, 3, 3), floats(4)], (1, 2), 1,
                   {"activation": "Relu", "pads": [1, 1, 1, 1]}),
    "fused_conv_clip": ("FusedConv", [floats(1, 3, 6, 6), floats(4, 3, 3, 3)], (1,), 1,
                        {"activation": "Clip", "activation_params": [-0.5, 0.5]}),
    "multi_head_attention": ("MultiHeadAttention", [floats(2, 5, 16), floats(2, 7, 16), floats(2, 7, 16)], (), 1,
                             {"num_heads": 4}),
    "multi_head_attention_bias": ("MultiHeadAttention", [floats(2, 5, 16), floats(2, 7, 16), floats(2, 7, 16), floats(48)],
                                  (3,), 1, {"num_heads": 2, "scale": 0.3}),
    "multi_head_attention_mask": ("MultiHeadAttention", [floats(2, 5, 16), floats(2, 7, 16), floats(2, 7, 16), None,
                                                         padding(2, 7, (4, 7))], (), 1, {"num_heads": 4}),
    "multi_head_attention_causal": ("MultiHeadAttention", [floats(2, 6, 16), floats(2, 6, 16), floats(2, 6, 16)], (), 1,
                                    {"num_heads": 4, "unidirectional": 1}),
    "attention": ("Attention", [floats(2, 5, 8), floats(8, 48), floats(48)], (1, 2), 1, {"num_heads": 4}),
    "attention_mask": ("Attention", [floats(2, 5, 8), floats(8, 48), floats(48), padding(2, 5, (3, 5))], (1, 2), 1,
                       {"num_heads": 2}),
    "attention_causal": ("Attention", [floats(2, 5, 8), floats(8, 48), floats(48)], (1, 2), 1,
                         {"num_heads": 2, "unidirectional": 1}),
    "rotary_embedding": ("RotaryEmbedding", [floats(2, 4, 3, 8), np.array([[0, 1, 2], [3, 4, 5]], np.int64), floats(9, 4),
                                             floats(9, 4)], (1, 2, 3), 1, {}),
    "rotary_embedding_interleaved": ("RotaryEmbedding", [floats(2, 4, 3, 8), np.array([[0, 1, 2], [3, 4, 5]], np.int64),
                                                         floats(9, 4), floats(9, 4)], (1, 2, 3), 1, {"interleaved": 1}),
}


def make(folder, op, inputs, constant, outputs, attributes):
    names = [f"i{k}" if value is not None else "" for k, value in enumerate(inputs)]
    out = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, out, domain="com.microsoft", name="the_node", **attributes)
    fed = {names[k]: value for k, value in enumerate(inputs) if value is not None and k not in constant}
    graph = helper.make_graph(
        [node], "contrib",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in fed.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in out],
        [onnx.numpy_helper.from_array(inputs[k], names[k]) for k in constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)],
                              ir_version=8)
    results = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, fed)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    for k, value in enumerate(fed.values()):
        np.save(os.path.join(folder, f"input_{k}.npy"), value)
    for k, value in enumerate(results):
        np.save(os.path.join(folder, f"output_{k}.npy"), value)


def main():
    out = sys.argv[1]
    for name, case in CASES.items():
        make(os.path.join(out, name), *case)
    with open(os.path.join(out, "cases.tsv"), "w") as file:
        for name in sorted(CASES):
            file.write(f"{name}\tIdentity\tfloat32\t0.0001\t0.00001\n")


if __name__ == "__main__":
    main()
