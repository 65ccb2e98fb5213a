# SPDX-License-Identifier: Apache-2.0
# serve.py: the helper's loop. Reads a request a line (JSON, request.c), answers "ok BYTES\n" and so many bytes of C, or
# "error REASON\n". Whatever libraries print goes to where errors go.
import ctypes
import json
import os
import signal
import sys

import tvm
from tvm import te

MAKERS = {"elementwise": make_elementwise, "rows": make_rows, "product": make_product, "convolution": make_convolution,
          "depthwise": make_depthwise}


def target_of(request):
    return tvm.target.Target({"kind": "llvm", "mcpu": request["cpu"], "num-cores": request["threads"]})


def scheduled(function, schedule):
    s = tvm.s_tir.Schedule(tvm.IRModule({"kernel": function.with_attr("global_symbol", "kernel")}))
    s.work_on("kernel")
    schedule(s)
    return s.mod["kernel"]


def build(graph, kernel, target):
    functions = {"kernel": kernel.with_attr("global_symbol", "kernel")}
    for k, pack in enumerate(graph.packs):
        functions[f"pack{k}"] = pack.with_attr("global_symbol", f"pack{k}")
    return tvm.compile(tvm.IRModule(functions), target=target).mod.inspect_source("s")


def answer(request):
    graph = Graph(request)
    target = target_of(request)
    results, schedule = MAKERS[request["kind"]](graph, request)
    tensors = [tensor for _, tensor, _ in graph.arguments] + results
    function = te.create_prim_func(tensors)
    if request.get("rounds"):
        shapes = [[int(d) for d in tensor.shape] for tensor in tensors]
        kernel, name = searched(request, function, shapes, target), "MetaSchedule"
    else:
        kernel, name = scheduled(function, schedule), "fixed schedule"
    return object_source(graph, results, build(graph, kernel, target), f"{request['kind']}, {name}")


def one_line(problem):
    text = " ".join(str(problem).split()) or type(problem).__name__
    return text[:300]


def serve():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: nobody is left to answer
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    out.write(b"ready\n")
    out.flush()
    for line in sys.stdin:
        try:
            text = answer(json.loads(line)).encode()
            out.write(b"ok %d\n" % len(text) + text)
        except Exception as problem:  # TVM raises many kinds
            out.write(b"error " + one_line(problem).encode("ascii", "replace") + b"\n")
        out.flush()


if __name__ == "__main__":
    serve()
