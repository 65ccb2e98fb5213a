# SPDX-License-Identifier: Apache-2.0
"""The protocol of `collage bench --peers` (docs/peers.md), for peers in Python.

A peer is a class with a constructor that takes the number of threads, and these members:

    name, version, details     what it is, for people
    threads()                  how many it will run on
    load(model, inputs)        makes a function of no arguments that runs the model once and returns
                               the outputs in the model's order; inputs: {name: NumPy array}
    outputs(results)           (optional) NumPy arrays of what that function returned

and serve(Class) speaks for it. The constructor imports the framework: an ImportError means absent.
"""
import gc
import json
import os
import sys
import time

PROTOCOL = 1


class Absent(Exception):
    """The framework is not there, or cannot do this at all."""


def one_line(exception):
    text = " ".join(str(exception).split())
    return f"{type(exception).__name__}: {text}"[:300] if text else type(exception).__name__


def claim_output():
    """Standard output for ourselves; what libraries print goes to standard error instead."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stream


def forget_peak():
    """The largest resident set starts anew here (Linux): what converting a model took is not the framework's."""
    gc.collect()
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except (OSError, AttributeError):
        pass


class Conversation:
    def __init__(self, make):
        self.make = make
        self.peer = None
        self.run_once = None

    def hello(self, request):
        try:
            self.peer = self.make(int(request["threads"]))
        except (ImportError, Absent) as exception:
            return {"absent": str(exception) or type(exception).__name__}
        return {"protocol": PROTOCOL, "name": self.peer.name, "version": self.peer.version,
                "details": self.peer.details, "threads": self.peer.threads(), "precision": "float32"}

    def load(self, request):
        import numpy

        inputs = {item["name"]: numpy.load(item["file"], allow_pickle=False) for item in request["inputs"]}
        self.run_once = self.peer.load(request["model"], inputs)
        results = self.run_once()
        convert = getattr(self.peer, "outputs", list)
        arrays = convert(results)
        if len(arrays) != len(request["outputs"]):
            return {"error": f"the model gave {len(arrays)} outputs, not {len(request['outputs'])}"}
        for item, array in zip(request["outputs"], arrays):
            numpy.save(item["file"], numpy.asarray(array, order="C"), allow_pickle=False)
        return {"ready": True}

    def run(self, request):
        run_once, clock = self.run_once, time.perf_counter_ns
        times = []
        for _ in range(int(request["warm"])):
            run_once()
        gc.collect(0)
        gc.disable()
        for _ in range(int(request["runs"])):
            start = clock()
            run_once()
            times.append(clock() - start)
        gc.enable()
        return {"times_ns": [max(ns, 1) for ns in times]}


def serve(make):
    stream = claim_output()
    conversation = Conversation(make)
    steps = {"hello": conversation.hello, "load": conversation.load, "run": conversation.run}
    for line in sys.stdin:
        try:
            request = json.loads(line)
            answer = steps[request["do"]](request)
        except Exception as exception:  # whatever a framework throws is an answer
            answer = {"error": one_line(exception)}
        stream.write(json.dumps(answer) + "\n")
        stream.flush()
