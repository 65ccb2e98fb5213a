#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the onnx package's light models where light.c can read them:  generate.py DIR

DIR/cases.tsv has one line a model, as that of the node cases (../node/generate.py): name, operators, element types,
rtol, atol. DIR/NAME/ has the model as it is bundled, its inputs as the package's own runner makes them (0, 1/n, 2/n,
..., in float32), and the outputs that come with it.
"""
import hashlib
import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import numpy_helper

LIGHT = "onnx/backend/test/data/light/"


def save(folder, kind, values):
    for k, value in enumerate(values):
        np.save(folder / f"{kind}_{k}.npy", np.ascontiguousarray(value))


def bundled_outputs(path, count):
    for k in range(count):
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.with_name(f"{path.stem}_output_{k}.pb").read_bytes())
        yield numpy_helper.to_array(tensor)


def write(case, make_input, out):
    """The model's folder; returns its line."""
    path = pathlib.Path(onnx.__file__).parent.parent / case.url
    graph = onnx.load(path).graph
    constants = {initializer.name for initializer in graph.initializer}
    name = path.stem
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, folder / "model.onnx")
    save(folder, "input", [make_input(value) for value in graph.input if value.name not in constants])
    save(folder, "output", bundled_outputs(path, len(graph.output)))
    operators = sorted({node.op_type for node in graph.node})
    return "\t".join([name, ",".join(operators), "float32", repr(case.rtol), repr(case.atol)])


def stamp():
    """What the cases depend on."""
    return onnx.__version__ + " " + hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest() + "\n"


def main():
    out = pathlib.Path(sys.argv[1])
    done = out / "done"
    if done.exists() and done.read_text() == stamp():
        return
    from onnx.backend.test.loader import load_model_tests
    from onnx.backend.test.runner import Runner
    lines = [write(case, Runner.generate_dummy_data, out) for case in load_model_tests(kind="real")
             if case.url and case.url.startswith(LIGHT)]
    if not lines:
        sys.exit("the onnx package has no light models")
    (out / "cases.tsv").write_text("\n".join(sorted(lines)) + "\n")
    done.write_text(stamp())


if __name__ == "__main__":
    main()
