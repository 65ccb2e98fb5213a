# SPDX-License-Identifier: Apache-2.0
# tiles.py: products with constant weights, and convolutions whose channels come last (NHWC). Weights are packed once,
# in blocks of output channels; a tile of the result, some rows or pixels times a block, stays in registers while it is
# summed up. A tile that does not divide the rows ends with rows that are computed again and not written.
import math

from tvm import te, tirx


def is_wide(request):
    return request["cpu"] == "x86-64-v4"


def block_of(request, channels):
    """How many output channels a tile has: two vectors, or one."""
    widths = (32, 16, 8) if is_wide(request) else (16, 8)
    return next((w for w in widths if channels % w == 0), 0)


def tile_of(request, count, block):
    """How many rows a tile has: as many as registers hold sums of."""
    most = min(count, (14 if block == 32 else 16) if is_wide(request) else (6 if block == 16 else 10))
    divisor = largest_divisor(count, most)
    return divisor if 2 * divisor > most else most


def per_channel(graph, value, channels):
    return graph.argument(value, [channels]) if graph.count(value) == channels else None


def epilogue(graph, nodes, first, bias, channels, shape):
    """The nodes behind a tile, as a function of the sum and the place (the channel comes last)."""
    def apply(total, *place):
        def read(value):
            vector = per_channel(graph, value, channels) if graph.values[value]["c"] else None
            return vector(place[-1]) if vector is not None else graph.argument(value, shape)(*place)
        if bias >= 0:
            scalar = graph.scalar(bias)
            total = total + (number(scalar) if scalar is not None else per_channel(graph, bias, channels)(place[-1]))
        return apply_nodes(graph, nodes, {first: total}, read)[graph.single_output()]
    return apply


def keep_in_registers(s, sums, at, axes):
    """Computes the block of sums for one tile. axes: how many loops its reduction has."""
    s.set_scope(sums, 0, "local")
    s.compute_at(sums, at)
    loops = s.get_loops(sums)
    rows, columns = loops[-2 - axes:-axes]
    s.reorder(*loops[-axes:], rows, columns)
    s.unroll(rows)
    s.vectorize(columns)
    s.decompose_reduction(sums, loops[-axes])


def fused_parallel(s, loops, threads):
    outer = s.fuse(*loops) if len(loops) > 1 else loops[0]
    if threads > 1 and int(s.get(outer).extent) > 1:
        s.parallel(outer)
    return outer


def make_product_of(graph, request, x, weights, transposed, rows, depth, channels, behind, first, bias):
    block = block_of(request, channels)
    tile = tile_of(request, rows, block)
    x = graph.argument(x, [rows, depth])
    shape = [channels, depth] if transposed else [depth, channels]
    place = (lambda o, k, c: (o * block + c, k)) if transposed else (lambda o, k, c: (k, o * block + c))
    w = graph.packed(weights, shape, [channels // block, depth, block], place, f"product {transposed} {depth} {channels} {block}")
    finish = epilogue(graph, behind, first, bias, channels, [rows, channels])
    k = te.reduce_axis((0, depth), name="k")
    if request.get("rounds"):
        sums = te.compute((rows, channels), lambda i, j: te.sum(x(i, k) * w(j // block, k, j % block), axis=k), name="sums")
        return [te.compute((rows, channels), lambda i, j: finish(sums(i, j), i, j), name="out")], None
    sums = te.compute((-(-rows // tile), channels // block, tile, block),
                      lambda o, p, i, j: te.sum(x(tirx.min(o * tile + i, rows - 1), k) * w(p, k, j), axis=k), name="sums")
    result = te.compute((rows, channels), lambda i, j: finish(sums(i // tile, j // block, i % tile, j % block), i, j), name="out")

    def schedule(s):
        i, j = s.get_loops(s.get_sblock("out"))
        io, ii = s.split(i, [None, tile])
        jo, ji = s.split(j, [None, block])
        s.reorder(jo, io, ii, ji)
        s.vectorize(ji)
        keep_in_registers(s, s.get_sblock("sums"), fused_parallel(s, [jo, io], request["threads"]), 1)
    return [result], schedule


def make_product(graph, request):
    node = graph.nodes[0]
    transposed = node["o"] == "Gemm" and node["a"].get("transB", 0) != 0
    x, w = node["i"][:2]
    bias = node["i"][2] if len(node["i"]) > 2 else -1
    depth, channels = reversed(graph.dims(w)) if transposed else graph.dims(w)
    return make_product_of(graph, request, x, w, transposed, graph.count(x) // depth, depth, channels, graph.nodes[1:],
                           node["r"][0], bias)


class Window:
    """What a Conv of two dimensions says."""

    def __init__(self, graph):
        node = graph.nodes[0]
        self.x, self.w = node["i"][:2]
        self.bias = node["i"][2] if len(node["i"]) > 2 else -1
        self.first = node["r"][0]
        self.strides = node["a"].get("strides", [1, 1])
        self.dilations = node["a"].get("dilations", [1, 1])
        self.pads = node["a"].get("pads", [0, 0, 0, 0])
        self.batch, self.channels_in, *self.size = graph.dims(self.x)
        self.channels, _, *self.kernel = graph.dims(self.w)
        self.out = graph.dims(self.first)[2:]

    def is_pointwise(self):
        return self.kernel == [1, 1] and self.strides == [1, 1] and not any(self.pads)

    def padded(self, graph):
        b, c, (h, w) = self.batch, self.channels_in, self.size
        x = graph.argument(self.x, [b, h, w, c])
        if not any(self.pads):
            return x
        top, left, bottom, right = self.pads

        def inside(n, i, j, k):
            fits = tirx.all(i >= top, i < h + top, j >= left, j < w + left)
            return tirx.if_then_else(fits, x(n, i - top, j - left, k), number(0))
        return te.compute((b, h + top + bottom, w + left + right, c), inside, name="padded")

    def at(self, p, n, i, j, u, v, k):
        return p(n, i * self.strides[0] + u * self.dilations[0], j * self.strides[1] + v * self.dilations[1], k)


def pad_in_parallel(s, window, threads):
    if any(window.pads):
        loops = s.get_loops(s.get_sblock("padded"))
        fused_parallel(s, loops[:2], threads)


def make_convolution(graph, request):
    window = Window(graph)
    b, c, (oh, ow) = window.batch, window.channels, window.out
    if window.is_pointwise():
        return make_product_of(graph, request, window.x, window.w, True, b * oh * ow, window.channels_in, c, graph.nodes[1:],
                               window.first, window.bias)
    block = block_of(request, c)
    tile = tile_of(request, ow, block)
    kh, kw, ci = *window.kernel, window.channels_in
    p = window.padded(graph)
    w = graph.packed(window.w, [c, ci, kh, kw], [c // block, kh, kw, ci, block],
                     lambda o, u, v, k, j: (o * block + j, k, u, v), f"conv {c} {ci} {kh} {kw} {block}")
    finish = epilogue(graph, graph.nodes[1:], window.first, window.bias, c, [b, oh, ow, c])
    u, v, k = (te.reduce_axis((0, n), name=name) for n, name in ((kh, "u"), (kw, "v"), (ci, "k")))
    if request.get("rounds"):
        sums = te.compute((b, oh, ow, c), lambda n, i, j, o: te.sum(
            window.at(p, n, i, j, u, v, k) * w(o // block, u, v, k, o % block), axis=[u, v, k]), name="sums")
        return [te.compute((b, oh, ow, c), lambda n, i, j, o: finish(sums(n, i, j, o), n, i, j, o), name="out")], None
    sums = te.compute((c // block, b, oh, -(-ow // tile), tile, block), lambda o, n, i, t, j, l: te.sum(
        window.at(p, n, i, tirx.min(t * tile + j, ow - 1), u, v, k) * w(o, u, v, k, l), axis=[u, v, k]), name="sums")
    result = te.compute((b, oh, ow, c), lambda n, i, j, o: finish(
        sums(o // block, n, i, j // tile, j % tile, o % block), n, i, j, o), name="out")

    def schedule(s):
        n, i, j, o = s.get_loops(s.get_sblock("out"))
        jo, ji = s.split(j, [None, tile])
        oo, oi = s.split(o, [None, block])
        s.reorder(oo, n, i, jo, ji, oi)
        s.vectorize(oi)
        fused_parallel(s, [oo, n, i], request["threads"])
        keep_in_registers(s, s.get_sblock("sums"), jo, 3)
        pad_in_parallel(s, window, request["threads"])
    return [result], schedule


def make_depthwise(graph, request):
    window = Window(graph)
    b, c, (oh, ow) = window.batch, window.channels, window.out
    block = block_of(request, c)
    tile = min(tile_of(request, ow, block), 8)
    kh, kw = window.kernel
    p = window.padded(graph)
    w = graph.packed(window.w, [c, kh, kw], [kh, kw, c], lambda u, v, o: (o, u, v), f"depthwise {c} {kh} {kw}")
    finish = epilogue(graph, graph.nodes[1:], window.first, window.bias, c, [b, oh, ow, c])
    u, v = (te.reduce_axis((0, n), name=name) for n, name in ((kh, "u"), (kw, "v")))
    if request.get("rounds"):
        sums = te.compute((b, oh, ow, c), lambda n, i, j, o: te.sum(window.at(p, n, i, j, u, v, o) * w(u, v, o), axis=[u, v]),
                          name="sums")
        return [te.compute((b, oh, ow, c), lambda n, i, j, o: finish(sums(n, i, j, o), n, i, j, o), name="out")], None
    sums = te.compute((b, oh, -(-ow // tile), c // block, tile, block), lambda n, i, t, o, j, l: te.sum(
        window.at(p, n, i, tirx.min(t * tile + j, ow - 1), u, v, o * block + l) * w(u, v, o * block + l), axis=[u, v]), name="sums")
    result = te.compute((b, oh, ow, c), lambda n, i, j, o: finish(
        sums(n, i, j // tile, o // block, j % tile, o % block), n, i, j, o), name="out")

    def schedule(s):
        n, i, j, o = s.get_loops(s.get_sblock("out"))
        jo, ji = s.split(j, [None, tile])
        oo, oi = s.split(o, [None, block])
        s.reorder(n, i, jo, oo, ji, oi)
        s.vectorize(oi)
        fused_parallel(s, [n, i], request["threads"])
        keep_in_registers(s, s.get_sblock("sums"), oo, 2)
        pad_in_parallel(s, window, request["threads"])
    return [result], schedule
