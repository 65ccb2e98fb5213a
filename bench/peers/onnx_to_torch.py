# SPDX-License-Identifier: Apache-2.0
"""ONNX to PyTorch, for torch_peer.py: convert(path, inputs) makes a torch.fx.GraphModule.

The model is run once, node by node, on the example inputs; what each node does is recorded as a call
of a PyTorch function. So shapes are known: computations on shapes become numbers, and what depends
on nothing but weights is computed once. Weights become buffers.
"""
import operator

import onnx
import onnx.numpy_helper
import torch
import torch.fx
import torch.nn.functional as F


class Unsupported(Exception):
    pass


class Value:
    """A tensor of the model: its value while converting (example), and its fx node, or None if it is constant."""

    def __init__(self, example, node=None):
        self.example, self.node = example, node


class Converter:
    def __init__(self):
        self.root = torch.nn.Module()
        self.graph = torch.fx.Graph()
        self.values = {}
        self.buffers = {}

    def argument(self, item):
        """What the graph passes for an argument of a PyTorch function."""
        if isinstance(item, (list, tuple)):
            return type(item)(self.argument(part) for part in item)
        if not isinstance(item, Value):
            return item
        if item.node is None:
            key = id(item)
            if key not in self.buffers:
                name = f"constant_{len(self.buffers)}"
                self.root.register_buffer(name, item.example)
                self.buffers[key] = (item, self.graph.get_attr(name))
            return self.buffers[key][1]
        return item.node

    def call(self, function, *arguments, **keywords):
        """Calls a PyTorch function on values now, and records the call unless all are constant."""
        def example(item):
            if isinstance(item, (list, tuple)):
                return type(item)(example(part) for part in item)
            return item.example if isinstance(item, Value) else item

        def depends(item):
            if isinstance(item, (list, tuple)):
                return any(depends(part) for part in item)
            return isinstance(item, Value) and item.node is not None

        result = function(*example(arguments), **{key: example(item) for key, item in keywords.items()})
        if not depends(arguments) and not depends(tuple(keywords.values())):
            node = None
        else:
            node = self.graph.call_function(function, self.argument(arguments),
                                            {key: self.argument(item) for key, item in keywords.items()})
        if isinstance(result, torch.Tensor):
            return Value(result, node)
        return [Value(part, node and self.graph.call_function(operator.getitem, (node, index)))
                for index, part in enumerate(result)]


def numbers(value):
    """The elements of a constant, as Python numbers."""
    if value.node is not None:
        raise Unsupported("a shape that depends on the inputs")
    return value.example.reshape(-1).tolist()


def optional(inputs, index):
    return inputs[index] if index < len(inputs) else None


# ---- operators: function(converter, attributes, inputs) -> value or list of values ----


def simple(function, **fixed):
    return lambda c, a, x: c.call(function, *x, **fixed)


def pads_of(c, a, x, spatial, value=0.0):
    """(input, symmetric padding): what is not symmetric is padded before."""
    pads = a.get("pads", [0] * 2 * spatial)
    mode = a.get("auto_pad", "NOTSET")
    if mode not in ("NOTSET", "VALID"):
        raise Unsupported(f"auto_pad {mode}")
    if mode == "VALID":
        pads = [0] * 2 * spatial
    before, after = pads[:spatial], pads[spatial:]
    if before == after:
        return x, before
    flat = [part for pair in reversed(list(zip(before, after))) for part in pair]
    return c.call(F.pad, x, flat, value=value), [0] * spatial


def convolution(c, a, x):
    spatial = x[1].example.dim() - 2
    function = (F.conv1d, F.conv2d, F.conv3d)[spatial - 1]
    data, padding = pads_of(c, a, x[0], spatial)
    return c.call(function, data, x[1], optional(x, 2), a.get("strides", [1] * spatial), padding,
                  a.get("dilations", [1] * spatial), a.get("group", 1))


def transposed_convolution(c, a, x):
    spatial = x[1].example.dim() - 2
    pads = a.get("pads", [0] * 2 * spatial)
    if pads[:spatial] != pads[spatial:] or a.get("auto_pad", "NOTSET") != "NOTSET" or "output_shape" in a:
        raise Unsupported("ConvTranspose with other than symmetric pads")
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[spatial - 1]
    return c.call(function, x[0], x[1], optional(x, 2), a.get("strides", [1] * spatial), pads[:spatial],
                  a.get("output_padding", [0] * spatial), a.get("group", 1), a.get("dilations", [1] * spatial))


def average_pool(c, a, x):
    spatial = len(a["kernel_shape"])
    include = bool(a.get("count_include_pad", 0))
    pads = a.get("pads", [0] * 2 * spatial)
    if pads[:spatial] != pads[spatial:] and not include:
        raise Unsupported("AveragePool with other than symmetric pads")
    data, padding = pads_of(c, a, x[0], spatial)
    function = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[spatial - 1]
    return c.call(function, data, a["kernel_shape"], a.get("strides", [1] * spatial), padding,
                  bool(a.get("ceil_mode", 0)), include)


def max_pool(c, a, x):
    spatial = len(a["kernel_shape"])
    data, padding = pads_of(c, a, x[0], spatial, float("-inf"))
    function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[spatial - 1]
    return c.call(function, data, a["kernel_shape"], a.get("strides", [1] * spatial), padding,
                  a.get("dilations", [1] * spatial), bool(a.get("ceil_mode", 0)))


def global_average_pool(c, a, x):
    return c.call(torch.mean, x[0], tuple(range(2, x[0].example.dim())), True)


def batch_normalization(c, a, x):
    if a.get("training_mode", 0):
        raise Unsupported("BatchNormalization in training mode")
    data, scale, bias, mean, variance = x
    return c.call(F.batch_norm, data, mean, variance, scale, bias, False, 0.0, a.get("epsilon", 1e-5))


def layer_normalization(c, a, x):
    rank = x[0].example.dim()
    axis = a.get("axis", -1) % rank
    return c.call(F.layer_norm, x[0], list(x[0].example.shape[axis:]), x[1], optional(x, 2), a.get("epsilon", 1e-5))


def gemm(c, a, x):
    left = c.call(torch.t, x[0]) if a.get("transA", 0) else x[0]
    alpha, beta = a.get("alpha", 1.0), a.get("beta", 1.0)
    bias = optional(x, 2)
    if a.get("transB", 0) and alpha == 1 and (bias is None or (beta == 1 and bias.example.dim() == 1)):
        return c.call(F.linear, left, x[1], bias)
    right = c.call(torch.t, x[1]) if a.get("transB", 0) else x[1]
    product = c.call(torch.matmul, left, right)
    if alpha != 1:
        product = c.call(torch.mul, product, alpha)
    if bias is None:
        return product
    return c.call(torch.add, product, bias, alpha=beta)


def clip(c, a, x):
    low, high = (numbers(value)[0] if value is not None else None for value in (optional(x, 1), optional(x, 2)))
    return c.call(torch.clamp, x[0], low, high)


def divide(c, a, x):
    whole = not x[0].example.is_floating_point()
    return c.call(torch.div, x[0], x[1], rounding_mode="trunc" if whole else None)


def gather(c, a, x):
    data, indices = x
    axis = a.get("axis", 0) % data.example.dim()
    if indices.node is None:
        indices = Value(indices.example % data.example.shape[axis])
        if indices.example.dim() == 0:
            return c.call(torch.select, data, axis, int(indices.example))
    if axis == 0 and data.example.dim() == 2 and data.node is None:
        return c.call(F.embedding, indices, data)
    shape = list(data.example.shape)
    shape[axis:axis + 1] = list(indices.example.shape)
    flat = c.call(torch.reshape, indices, (-1,))
    return c.call(torch.reshape, c.call(torch.index_select, data, axis, flat), tuple(shape))


def reshape(c, a, x):
    shape = numbers(x[1])
    if not a.get("allowzero", 0):
        shape = [x[0].example.shape[k] if size == 0 else size for k, size in enumerate(shape)]
    return c.call(torch.reshape, x[0], tuple(shape))


def flatten(c, a, x):
    axis = a.get("axis", 1) % (x[0].example.dim() + 1)
    rows = 1
    for size in x[0].example.shape[:axis]:
        rows *= size
    return c.call(torch.reshape, x[0], (rows, -1))


def expand(c, a, x):
    return c.call(torch.broadcast_to, x[0], torch.broadcast_shapes(x[0].example.shape, tuple(numbers(x[1]))))


def transpose(c, a, x):
    return c.call(torch.permute, x[0], tuple(a.get("perm", reversed(range(x[0].example.dim())))))


def split(c, a, x):
    axis = a.get("axis", 0)
    size = x[0].example.shape[axis]
    sizes = numbers(x[1]) if optional(x, 1) is not None else None
    if sizes is None:
        part = -(-size // a["outputs"])
        sizes = [min(part, size - part * k) for k in range(a["outputs"])]
    return c.call(torch.split, x[0], sizes, axis)


def axes_of(a, x, index):
    value = optional(x, index)
    axes = numbers(value) if value is not None else a.get("axes")
    return axes


def squeeze(c, a, x):
    axes = axes_of(a, x, 1)
    rank = x[0].example.dim()
    if axes is None:
        axes = [k for k in range(rank) if x[0].example.shape[k] == 1]
    drop = {axis % rank for axis in axes}
    return c.call(torch.reshape, x[0], tuple(s for k, s in enumerate(x[0].example.shape) if k not in drop))


def unsqueeze(c, a, x):
    axes = axes_of(a, x, 1)
    rank = x[0].example.dim() + len(axes)
    new = {axis % rank for axis in axes}
    sizes = iter(x[0].example.shape)
    return c.call(torch.reshape, x[0], tuple(1 if k in new else next(sizes) for k in range(rank)))


def slice_(c, a, x):
    starts, ends = numbers(x[1]), numbers(x[2])
    axes = numbers(x[3]) if optional(x, 3) is not None else list(range(len(starts)))
    steps = numbers(x[4]) if optional(x, 4) is not None else [1] * len(starts)
    value = x[0]
    for start, end, axis, step in zip(starts, ends, axes, steps):
        size = value.example.shape[axis]
        if step > 0:
            index = [slice(None)] * value.example.dim()
            index[axis % value.example.dim()] = slice(start, end, step)
            value = c.call(operator.getitem, value, tuple(index))
        else:
            chosen = torch.tensor(list(range(size))[slice(start, end if end >= -size else None, step)])
            value = c.call(torch.index_select, value, axis, Value(chosen))
    return value


def pad(c, a, x):
    mode = a.get("mode", "constant")
    pads = numbers(x[1])
    rank = x[0].example.dim()
    axes = numbers(x[3]) if optional(x, 3) is not None else list(range(rank))
    before, after = [0] * rank, [0] * rank
    for k, axis in enumerate(axes):
        before[axis], after[axis] = pads[k], pads[len(axes) + k]
    flat = [part for pair in reversed(list(zip(before, after))) for part in pair]
    if mode != "constant":
        raise Unsupported(f"Pad in mode {mode}")
    value = numbers(x[2])[0] if optional(x, 2) is not None else 0.0
    return c.call(F.pad, x[0], flat, value=value)


def resize(c, a, x):
    where, mode = a.get("coordinate_transformation_mode", "half_pixel"), a.get("mode", "nearest")
    rank = x[0].example.dim()
    if optional(x, 3) is not None:
        sizes = numbers(x[3])
    else:
        sizes = [int(size * scale) for size, scale in zip(x[0].example.shape, numbers(x[2]))]
    if sizes[:2] != list(x[0].example.shape[:2]):
        raise Unsupported("Resize of batch or channels")
    if mode == "nearest" and where == "asymmetric" and a.get("nearest_mode") == "floor":
        return c.call(F.interpolate, x[0], sizes[2:], mode="nearest")
    if mode == "linear" and where in ("half_pixel", "align_corners"):
        name = {3: "linear", 4: "bilinear", 5: "trilinear"}[rank]
        return c.call(F.interpolate, x[0], sizes[2:], mode=name, align_corners=where == "align_corners")
    raise Unsupported(f"Resize {mode} {where}")


def reduce_mean(c, a, x):
    axes = axes_of(a, x, 1)
    if axes is None:
        axes = [] if a.get("noop_with_empty_axes", 0) else list(range(x[0].example.dim()))
    return c.call(torch.mean, x[0], tuple(axes), bool(a.get("keepdims", 1))) if axes else x[0]


def power(c, a, x):
    if x[1].node is None and x[1].example.numel() == 1:
        return c.call(torch.pow, x[0], numbers(x[1])[0])
    return c.call(torch.pow, x[0], x[1])


def lstm(c, a, x):
    """torch.lstm with the gates in PyTorch's order: i o f c becomes i f c o."""
    if a.get("direction", "forward") not in ("forward", "bidirectional") or "activations" in a or "clip" in a \
            or a.get("layout", 0) or a.get("input_forget", 0) or any(optional(x, k) is not None for k in (4, 7)):
        raise Unsupported("LSTM with unusual attributes or inputs")
    data, kernel, recurrent = x[:3]
    directions, hidden = kernel.example.shape[0], a["hidden_size"]
    bias = x[3] if optional(x, 3) is not None else Value(torch.zeros(directions, 8 * hidden))
    if any(value.node is not None for value in (kernel, recurrent, bias)):
        raise Unsupported("LSTM with weights that are computed")

    def order(tensor):
        i, o, f, g = tensor.split(hidden)
        return Value(torch.cat([i, f, g, o]).contiguous())

    weights = []
    for d in range(directions):
        first, second = bias.example[d].split(4 * hidden)
        weights += [order(kernel.example[d]), order(recurrent.example[d]), order(first), order(second)]
    batch = data.example.shape[1]
    state = [optional(x, k) or Value(torch.zeros(directions, batch, hidden)) for k in (5, 6)]
    output, last_h, last_c = c.call(torch.lstm, data, state, weights, True, 1, 0.0, False, directions == 2, False)
    steps = data.example.shape[0]
    split_up = c.call(torch.reshape, output, (steps, batch, directions, hidden))
    return [c.call(torch.permute, split_up, (0, 2, 1, 3)), last_h, last_c]


def constant(c, a, x):
    (value,) = (item for key, item in a.items() if key.startswith("value"))
    return Value(value if isinstance(value, torch.Tensor) else torch.tensor(value))


OPERATORS = {
    "Add": simple(torch.add),
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Cast": lambda c, a, x: c.call(torch.Tensor.to, x[0], a["to"]),
    "Clip": clip,
    "Concat": lambda c, a, x: c.call(torch.cat, list(x), a["axis"]),
    "Constant": constant,
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "Div": divide,
    "Equal": simple(torch.eq),
    "Erf": simple(torch.erf),
    "Exp": simple(torch.exp),
    "Expand": expand,
    "Flatten": flatten,
    "Gather": gather,
    "Gelu": lambda c, a, x: c.call(F.gelu, x[0], approximate=a.get("approximate", "none")),
    "Gemm": gemm,
    "GlobalAveragePool": global_average_pool,
    "HardSwish": simple(F.hardswish),
    "Identity": lambda c, a, x: x[0],
    "LSTM": lstm,
    "LayerNormalization": layer_normalization,
    "LeakyRelu": lambda c, a, x: c.call(F.leaky_relu, x[0], a.get("alpha", 0.01)),
    "MatMul": simple(torch.matmul),
    "MaxPool": max_pool,
    "Mul": simple(torch.mul),
    "Neg": simple(torch.neg),
    "Not": simple(torch.logical_not),
    "Pad": pad,
    "Pow": power,
    "ReduceMean": reduce_mean,
    "Relu": simple(F.relu),
    "Reshape": reshape,
    "Resize": resize,
    "Shape": lambda c, a, x: Value(torch.tensor(list(x[0].example.shape)[a.get("start", 0):a.get("end")])),
    "Sigmoid": simple(torch.sigmoid),
    "Slice": slice_,
    "Softmax": lambda c, a, x: c.call(F.softmax, x[0], a.get("axis", -1)),
    "Split": split,
    "Sqrt": simple(torch.sqrt),
    "Squeeze": squeeze,
    "Sub": simple(torch.sub),
    "Tanh": simple(torch.tanh),
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
    "Where": simple(torch.where),
}


def tensor_of(proto):
    return torch.from_numpy(onnx.numpy_helper.to_array(proto).copy())


def attributes_of(node):
    attributes = {}
    for item in node.attribute:
        value = onnx.helper.get_attribute_value(item)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, onnx.TensorProto):
            value = tensor_of(value)
        attributes[item.name] = value
    if node.op_type == "Split":
        attributes["outputs"] = len(node.output)
    elif node.op_type == "Cast":
        kind = onnx.helper.tensor_dtype_to_np_dtype(attributes["to"])
        attributes["to"] = getattr(torch, str(kind))
    return attributes


def last_uses(graph):
    """The values that are not needed any more after each node."""
    kept = {output.name for output in graph.output} | {""}
    last = {}
    for index, node in enumerate(graph.node):
        for name in node.input:
            last[name] = index
    dying = {}
    for name, index in last.items():
        if name not in kept:
            dying.setdefault(index, []).append(name)
    return dying


def convert(path, inputs):
    """A module whose forward takes the tensors of `inputs` ({name: tensor}) and returns the outputs as a tuple."""
    model = onnx.load(path)
    missing = sorted({node.op_type for node in model.graph.node} - set(OPERATORS))
    if missing:
        raise Unsupported(f"no conversion of {', '.join(missing)}")
    converter = Converter()
    values = {"": None}
    for proto in model.graph.initializer:
        values[proto.name] = Value(tensor_of(proto))
    for name, tensor in inputs.items():
        values[name] = Value(tensor, converter.graph.placeholder(f"input_{len(values)}"))
    dying = last_uses(model.graph)
    with torch.inference_mode(False), torch.no_grad():
        for index, node in enumerate(model.graph.node):
            arguments = [values[name] for name in node.input]
            while arguments and arguments[-1] is None:
                arguments.pop()
            try:
                results = OPERATORS[node.op_type](converter, attributes_of(node), arguments)
            except Unsupported as problem:
                raise Unsupported(f"node '{node.name}': {problem}") from None
            for name, value in zip(node.output, results if isinstance(results, list) else [results]):
                values[name] = value
            for name in dying.get(index, ()):
                del values[name]
    converter.graph.output(tuple(converter.argument(values[output.name]) for output in model.graph.output))
    return torch.fx.GraphModule(converter.root, converter.graph).eval()
