#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the onnx package's own node test cases where node_cases.c can read them:  generate.py DIR

DIR/cases.tsv has one line a case: name, operators, element types, rtol, atol. DIR/NAME/ has model.onnx,
input_0.npy ... and output_0.npy ... of the model's remaining inputs and its outputs. What makes a case static is done
here: shapes are those of the data, inputs that hold shapes, axes and the like become initializers, and opsets outside
7 to 28 become the nearest inside.
"""
import hashlib
import os
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OLDEST, NEWEST = 7, 28
SIZED_BY_FIRST = ("constantofshape", "range", "blackmanwindow", "hammingwindow", "hannwindow", "melweightmatrix")
# The shape of the output depends on all of the data.
SIZED_BY_DATA = ("nonzero", "unique", "nonmaxsuppression")
# ... or on flags.
SIZED_BY_FLAGS = ("compress", "if", "loop11", "loop13", "loop16")
TYPES = {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64"}


def type_name(value_type):
    kind = value_type.WhichOneof("value")
    if kind != "tensor_type":
        return kind
    code = value_type.tensor_type.elem_type
    return TYPES.get(code) or TensorProto.DataType.Name(code).lower()


def operators(graph):
    for node in graph.node:
        yield (node.domain + "." if node.domain not in ("", "ai.onnx") else "") + node.op_type
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from operators(attribute.g)


def holds_shape(op, value):
    """Integers of rank 0 or 1, and the scalars that Range, Resize and Dropout need to know."""
    if not isinstance(value, (np.ndarray, np.generic)) or value.ndim > 1 or value.size > 64:
        return False
    if value.dtype.name in ("int64", "int32") or (value.dtype.name == "bool" and op in SIZED_BY_FLAGS):
        return True
    return op in ("range", "resize", "upsample", "dropout") or (op == "onehot" and value.size == 1)


def bound_opset(model):
    """To 7 .. 28. Newer versions of the operators we have differ in types only; a case for which that is not so is
    found by its failure."""
    for entry in model.opset_import:
        if entry.domain == "":
            entry.version = min(max(entry.version, OLDEST), NEWEST)


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def save(path, value):
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufV":
        np.save(path, np.ascontiguousarray(value).reshape(np.shape(value)))


def write(case, folder):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    bound_opset(model)
    inputs, outputs = ([as_array(v) for v in side] for side in case.data_sets[0])
    names = [i.name for i in model.graph.input]
    kept = []
    op = case.name.split("_")[1]
    variable = 0
    for index, (name, value) in enumerate(zip(names, inputs)):
        data = index == 0 and op not in SIZED_BY_FIRST + SIZED_BY_FLAGS or op == "compress" and index == 0
        if op not in SIZED_BY_DATA and (data or not holds_shape(op, value)):
            kept.append((model.graph.input[index], value))
            save(os.path.join(folder, f"input_{variable}.npy"), value)
            variable += 1
        else:
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    infos = []
    for info, value in kept + list(zip(model.graph.output, outputs)):
        if info.type.WhichOneof("value") == "tensor_type" and isinstance(value, (np.ndarray, np.generic)):
            info = helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, np.shape(value))
        infos.append(info)
    count = len(kept)
    infos = [onnx.ValueInfoProto.FromString(i.SerializeToString()) for i in infos]
    del model.graph.input[:], model.graph.output[:], model.graph.value_info[:]
    model.graph.input.extend(infos[:count])
    model.graph.output.extend(infos[count:])
    for k, value in enumerate(outputs):
        save(os.path.join(folder, f"output_{k}.npy"), value)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())


def stamp():
    """What the cases depend on."""
    with open(__file__, "rb") as file:
        return onnx.__version__ + " " + hashlib.sha256(file.read()).hexdigest() + "\n"


def main():
    out = sys.argv[1]
    done = os.path.join(out, "done")
    if os.path.exists(done) and open(done).read() == stamp():
        return
    from onnx.backend.test.case import node as node_cases  # slow: it computes the cases
    warnings.simplefilter("ignore")
    np.random.seed(0)
    lines = []
    for case in node_cases.collect_testcases(None):
        ops = sorted(set(operators(case.model.graph)))
        graph = case.model.graph
        types = sorted({type_name(v.type) for v in list(graph.input) + list(graph.output)})
        folder = os.path.join(out, case.name)
        os.makedirs(folder, exist_ok=True)
        write(case, folder)
        lines.append("\t".join([case.name, ",".join(ops), ",".join(types), repr(case.rtol), repr(case.atol)]))
    with open(os.path.join(out, "cases.tsv"), "w") as file:
        file.write("\n".join(sorted(lines)) + "\n")
    with open(done, "w") as file:
        file.write(stamp())


if __name__ == "__main__":
    main()
