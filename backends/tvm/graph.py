# SPDX-License-Identifier: Apache-2.0
# graph.py: the sub-graph of a request, and the tensors of its kernel. A kernel works on views: tensors whose dimensions
# are merged as the kernel likes them, with the elements in the same order. Each argument of the kernel is one of the
# sub-graph's values, plain, or a constant that is packed once.
import math

from tvm import te


class Refused(Exception):
    """What this program has no kernel for; one line."""


class Graph:
    def __init__(self, request):
        self.values = request["values"]
        self.nodes = request["nodes"]
        self.inputs = request["inputs"]
        self.outputs = request["outputs"]
        self.arguments = []  # (value, tensor, form of packing or None), in the kernel's order
        self.packs = []  # functions that pack constants

    def dims(self, value):
        return self.values[value]["d"]

    def count(self, value):
        return math.prod(self.dims(value))

    def scalar(self, value):
        """The number that a constant of one element holds, or None."""
        return self.values[value].get("x") if value >= 0 else None

    def argument(self, value, shape):
        for known, tensor, form in self.arguments:
            if known == value and form is None and [int(d) for d in tensor.shape] == list(shape):
                return tensor
        tensor = te.placeholder(shape, "float32", name=f"a{len(self.arguments)}")
        self.arguments.append((value, tensor, None))
        return tensor

    def packed(self, value, shape, packed_shape, index, form):
        """A constant, seen as `shape`, in another order: index gives the place in `shape` of one in `packed_shape`."""
        tensor = te.placeholder(packed_shape, "float32", name=f"a{len(self.arguments)}")
        self.arguments.append((value, tensor, form))
        source = te.placeholder([math.prod(shape)], "float32", name="raw")

        def place(*i):
            flat = 0
            for size, at in zip(shape, index(*i)):
                flat = flat * size + at
            return source(flat)
        target = te.compute(packed_shape, place, name="packed")
        self.packs.append(te.create_prim_func([source, target]))
        return tensor

    def single_output(self):
        return self.outputs[0]


def numbers_of(graph, node):
    return [graph.scalar(v) for v in node["i"]]


def apply_nodes(graph, nodes, values, read):
    """Expressions of the nodes' results. values: those that are known; read(value) makes an expression of an operand
    from outside."""
    for node in nodes:
        numbers = numbers_of(graph, node)
        operands = []
        for value, constant in zip(node["i"], numbers):
            if value in values:
                operands.append(values[value])
            elif constant is not None:
                operands.append(number(constant))
            else:
                operands.append(read(value) if value >= 0 else None)
        values[node["r"][0]] = OPERATORS[node["o"]](operands, node["a"], numbers)
    return values


def largest_divisor(count, most, step=1):
    """The largest divisor of count that is at most `most`, and a multiple of step; 0: there is none."""
    for d in range(min(count, most), 0, -1):
        if count % d == 0 and d % step == 0:
            return d
    return 0
