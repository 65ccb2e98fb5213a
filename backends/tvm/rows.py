# SPDX-License-Identifier: Apache-2.0
# rows.py: element-wise graphs, and what works on rows: softmax, layer and RMS normalisation. Fixed schedules: the outer
# loop is shared between the threads, sums have as many lanes as vectors hold.
import math

from tvm import te, tirx

PARALLEL_ELEMENTS = 16384  # of a result: fewer are not worth waking a thread
LANES = 64
LOCAL_ELEMENTS = 4096  # of a row: so many lie on the stack


def merged_axes(graph, shape):
    """The result's axes in groups: neighbours are merged wherever all operands go along with it."""
    produced = {v for node in graph.nodes for v in node["r"]}
    operands = {v for node in graph.nodes for v in node["i"] if v >= 0 and graph.scalar(v) is None} - produced
    shapes = [padded_dims(graph, v, len(shape)) for v in sorted(operands)]
    groups, last = [], None
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        kind = [s[axis] != 1 for s in shapes]
        if kind == last:
            groups[-1].append(axis)
        else:
            groups.append([axis])
        last = kind
    return groups or [[]]


def padded_dims(graph, value, rank):
    own = graph.dims(value)
    return [1] * (rank - len(own)) + own


def read_merged(graph, value, shape, groups, index):
    """An operand, broadcast along the groups that it has not."""
    own = padded_dims(graph, value, len(shape))
    dims, place = [], []
    for group, i in zip(groups, index):
        size = math.prod(own[axis] for axis in group)
        if size > 1:
            dims.append(size)
            place.append(i)
    return graph.argument(value, dims or [1])(*(place or [0]))


def make_elementwise(graph, request):
    threads = request["threads"]
    out = graph.single_output()
    shape = graph.dims(out)
    groups = merged_axes(graph, shape)
    dims = [math.prod(shape[axis] for axis in group) for group in groups]
    flat = len(dims) == 1
    if flat:
        inner = largest_divisor(dims[0], 4096)
        dims = [dims[0] // inner, inner]

    def body(*index):
        def read(value):
            if flat:
                return graph.argument(value, dims)(*index)
            return read_merged(graph, value, shape, groups, index)
        return apply_nodes(graph, graph.nodes, {}, read)[out]
    result = te.compute(dims, body, name="out")

    def schedule(s):
        loops = s.get_loops(s.get_sblock("out"))
        if len(loops) > 2:
            loops = [s.fuse(*loops[:-1]), loops[-1]]
        if dims[-1] % 16 == 0:
            s.vectorize(s.split(loops[-1], [None, 16])[1])
        if threads > 1 and math.prod(dims) >= PARALLEL_ELEMENTS and dims[0] > 1:
            s.parallel(loops[0])
    return [result], schedule


def read_row_operand(graph, value, rows, size, i, j):
    count = graph.count(value)
    if count == rows * size:
        return graph.argument(value, [rows, size])(i, j)
    if count == size:
        return graph.argument(value, [size])(j)
    raise Refused("an operand is neither of a row nor of all rows")


def lane_count(size):
    return next(v for v in (LANES, 32, 16, 8, 4, 2, 1) if size % v == 0)


def reduced(name, rows, size, combine, element, finish):
    """Of each row: lanes of its own first, so that vectors are summed up, then across the lanes."""
    lanes = lane_count(size)
    k = te.reduce_axis((0, size // lanes), name=name + "_k")
    partial = te.compute((rows, lanes), lambda i, l: combine(element(i, k * lanes + l), axis=k), name=name + "_lanes")
    l = te.reduce_axis((0, lanes), name=name + "_l")
    whole = te.compute((rows,), lambda i: combine(partial(i, l), axis=l), name=name + "_row")
    return te.compute((rows,), lambda i: finish(whole(i)), name=name), name


def split_at_middle(graph, names):
    for k, node in enumerate(graph.nodes):
        if node["o"] in names:
            return graph.nodes[:k], node, graph.nodes[k + 1:]
    raise Refused("there is nothing to normalise")


def make_rows(graph, request):
    threads = request["threads"]
    before, node, behind = split_at_middle(graph, ("Softmax", "LayerNormalization", "RMSNormalization"))
    out = graph.single_output()
    shape = graph.dims(node["i"][0])
    axis = node["a"].get("axis", -1) % len(shape)
    rows, size = math.prod(shape[:axis]), math.prod(shape[axis:])

    def read_at(i, j):
        return lambda value: read_row_operand(graph, value, rows, size, i, j)
    if before:
        x = te.compute((rows, size), lambda i, j: apply_nodes(graph, before, {}, read_at(i, j))[node["i"][0]], name="x")
    else:
        x = graph.argument(node["i"][0], [rows, size])
    if node["o"] == "Softmax":
        most, name = reduced("most", rows, size, te.max, lambda i, j: x(i, j), lambda v: v)
        power = te.compute((rows, size), lambda i, j: exp(x(i, j) - most(i)), name="power")
        total, other = reduced("total", rows, size, te.sum, lambda i, j: power(i, j), lambda v: number(1) / v)
        middle = lambda i, j: power(i, j) * total(i)
        names = [name, "power", other]
    else:
        epsilon = number(node["a"].get("epsilon", 1e-5))
        scale = graph.argument(node["i"][1], [size])
        bias = graph.argument(node["i"][2], [size]) if len(node["i"]) > 2 and node["i"][2] >= 0 else None
        names = []
        if node["o"] == "LayerNormalization":
            mean, name = reduced("mean", rows, size, te.sum, lambda i, j: x(i, j), lambda v: v * number(1 / size))
            names.append(name)
            centred = lambda i, j: x(i, j) - mean(i)
        else:
            centred = lambda i, j: x(i, j)
        factor, name = reduced("factor", rows, size, te.sum, lambda i, j: centred(i, j) * centred(i, j),
                               lambda v: number(1) / tirx.sqrt(v * number(1 / size) + epsilon))
        names.append(name)

        def middle(i, j):
            y = centred(i, j) * factor(i) * scale(j)
            return y if bias is None else y + bias(j)
    result = te.compute((rows, size), lambda i, j: apply_nodes(graph, behind, {node["r"][0]: middle(i, j)},
                                                               read_at(i, j))[out], name="out")

    def schedule(s):
        row = s.get_loops(s.get_sblock("out"))[0]
        for name in reversed(names):
            for part in [name] if name == "power" else [name, name + "_row", name + "_lanes"]:
                s.compute_at(s.get_sblock(part), row)
        if "power" in names and size <= LOCAL_ELEMENTS:
            s.set_scope(s.get_sblock("power"), 0, "local")
        if before:
            s.compute_at(s.get_sblock("x"), row)
        if threads > 1 and rows * size >= PARALLEL_ELEMENTS and rows > 1:
            s.parallel(row)
        for name in names:
            if name != "power":
                sum_lanes(s, s.get_sblock(name + "_lanes"))
        column = s.get_loops(s.get_sblock("out"))[1]
        if lane_count(size) >= 16:
            s.vectorize(s.split(column, [None, 16])[1])
    return [result], schedule


def sum_lanes(s, block):
    """The lanes are a vector, which stays in registers while it is summed up."""
    lanes, k = s.get_loops(block)[-2:]
    s.reorder(k, lanes)
    s.vectorize(lanes)
    s.decompose_reduction(block, k)
