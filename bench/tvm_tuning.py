# SPDX-License-Identifier: Apache-2.0
"""Fixed schedules of the backend tvm against MetaSchedule's, by TVM's own timer: a table in Markdown (docs/backends/tvm.md).

    PYTHON-WITH-TVM bench/tvm_tuning.py [SECONDS] [THREADS] [CPU]
"""
import pathlib
import sys
import tempfile
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 10
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
CPU = sys.argv[3] if len(sys.argv) > 3 else "x86-64-v4"


def window(name, kind, x, w, y, **attributes):
    return name, kind, [(x, False), (w, True), (y, False)], [("Conv", [0, 1], 2, attributes)]


def product(name, x, w, y):
    return name, "product", [(x, False), (w, True), (y, False)], [("MatMul", [0, 1], 2, {})]


# Named as the cases of src/cases/layers.def that they are like.
CASES = [
    window("resnet50_3x3_56", "convolution", [1, 64, 56, 56], [64, 64, 3, 3], [1, 64, 56, 56], pads=[1, 1, 1, 1]),
    window("resnet50_3x3_14", "convolution", [1, 256, 14, 14], [256, 256, 3, 3], [1, 256, 14, 14], pads=[1, 1, 1, 1]),
    window("resnet50_1x1_7", "convolution", [1, 512, 7, 7], [2048, 512, 1, 1], [1, 2048, 7, 7]),
    window("mobilenet_depthwise_112", "depthwise", [1, 32, 112, 112], [32, 1, 3, 3], [1, 32, 112, 112], pads=[1, 1, 1, 1],
           group=32),
    window("convnext_depthwise_56", "depthwise", [1, 96, 56, 56], [96, 1, 7, 7], [1, 96, 56, 56], pads=[3, 3, 3, 3], group=96),
    product("bert_projection", [1, 128, 768], [768, 768], [1, 128, 768]),
    ("bert_softmax", "rows", [([1, 12, 128, 128], False)] * 2, [("Softmax", [0], 1, {"axis": -1})]),
    ("bert_layer_norm", "rows", [([1, 128, 768], False), ([768], True), ([768], True), ([1, 128, 768], False)],
     [("LayerNormalization", [0, 1, 2], 3, {"axis": -1})]),
    ("llama_rms_norm", "rows", [([1, 64, 512], False), ([512], True), ([1, 64, 512], False)],
     [("RMSNormalization", [0, 1], 2, {"axis": -1})]),
    ("residual_add_56", "elementwise", [([1, 256, 56, 56], False)] * 4, [("Add", [0, 1], 2, {}), ("Relu", [2], 3, {})]),
]


def request_of(kind, values, nodes):
    last = nodes[-1][2]
    made = {result for _, _, result, _ in nodes}
    return {"kind": kind, "cpu": CPU, "threads": THREADS, "values": [{"d": d, "c": c} for d, c in values],
            "nodes": [{"o": op, "i": i, "r": [r], "a": a} for op, i, r, a in nodes],
            "inputs": [k for k, (_, c) in enumerate(values) if not c and k not in made], "outputs": [last]}


def main():
    folder = pathlib.Path(__file__).parent.parent / "backends" / "tvm"
    helper = {"__name__": "helper"}
    sys.argv[1:] = [str(THREADS)]
    for name in ("start", "expressions", "graph", "rows", "tiles", "search", "object", "serve"):
        exec(compile((folder / (name + ".py")).read_text(), name, "exec"), helper)
    records = tempfile.NamedTemporaryFile()
    helper["os"].environ["COLLAGE_TVM_RECORDS"] = records.name
    print(f"| case | fixed [us] | tuned [us] | searched [s] |\n| --- | --- | --- | --- |")
    for name, kind, values, nodes in CASES:
        made = []
        for rounds in (0, 1):
            request = request_of(kind, values, nodes)
            request.update({"rounds": rounds} if rounds else {})
            graph = helper["Graph"](request)
            results, schedule = helper["MAKERS"][kind](graph, request)
            tensors = [t for _, t, _ in graph.arguments] + results
            made.append((helper["te"].create_prim_func(tensors), schedule, [[int(d) for d in t.shape] for t in tensors]))
        start = time.monotonic()
        search = helper["Search"](name, made[1][0], made[1][2], helper["target_of"](request), THREADS)
        search.search(SECONDS)
        took = time.monotonic() - start
        tuned = search.measure(search.best) if search.best else None
        kernel = helper["scheduled"](made[0][0], made[0][1]).with_attr("global_symbol", "main")
        fixed = search.measure_module(helper["tvm"].IRModule({"main": kernel}), made[0][2])
        print(f"| {name} | {fixed * 1e6:.0f} | {tuned * 1e6:.0f} | {took:.0f} |" if tuned else f"| {name} | {fixed * 1e6:.0f} | - | {took:.0f} |",
              flush=True)


main()
