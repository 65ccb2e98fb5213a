# SPDX-License-Identifier: Apache-2.0
# expressions.py: the operators of element-wise chains as expressions of TVM. Functions such as exp are polynomials
# (Cephes), so that whole vectors are computed and no library is called.
from tvm import tirx


def number(value):
    return tirx.const(float(value), "float32")


def polynomial(x, coefficients):
    result = number(coefficients[0])
    for c in coefficients[1:]:
        result = result * x + number(c)
    return result


def clamp(x, low, high):
    return tirx.max(tirx.min(x, number(high)), number(low))


def exp(x):
    x = clamp(x, -87.33, 88.37)
    n = tirx.floor(x * number(1.44269504088896341) + number(0.5))
    x = x - n * number(0.693359375) + n * number(2.12194440e-4)
    p = polynomial(x, [1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1])
    power = tirx.reinterpret("float32", (n.astype("int32") + tirx.const(127, "int32")) << tirx.const(23, "int32"))
    return (p * x * x + x + number(1)) * power


def tanh(x):
    x = clamp(x, -9, 9)
    s = x * x
    above = polynomial(s, [-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
                           1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03])
    below = polynomial(s, [1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03])
    return x * above / below


def erf(x):
    x = clamp(x, -4, 4)
    s = x * x
    above = polynomial(s, [-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
                           -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02])
    below = polynomial(s, [-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
                           -1.42647390514189e-02])
    return x * above / below


def sigmoid(x):
    return number(1) / (number(1) + exp(-x))


def gelu(x, attributes):
    if attributes.get("approximate", "none") == "tanh":
        return x * number(0.5) * (number(1) + tanh((x + x * x * x * number(0.044715)) * number(0.7978845608)))
    return x * number(0.5) * (number(1) + erf(x * number(0.70710678)))


def power(x, exponent):
    return {2: lambda: x * x, 3: lambda: x * x * x, 1: lambda: x, 0.5: lambda: tirx.sqrt(x), -1: lambda: number(1) / x}[exponent]()


# An operator: a function of its operands' expressions, its attributes and its operands' numbers (None: not a constant
# scalar).
OPERATORS = {
    "Abs": lambda v, a, c: tirx.max(v[0], -v[0]),
    "Neg": lambda v, a, c: -v[0],
    "Sqrt": lambda v, a, c: tirx.sqrt(v[0]),
    "Reciprocal": lambda v, a, c: number(1) / v[0],
    "Exp": lambda v, a, c: exp(v[0]),
    "Relu": lambda v, a, c: tirx.max(v[0], number(0)),
    "LeakyRelu": lambda v, a, c: tirx.Select(v[0] < number(0), v[0] * number(a.get("alpha", 0.01)), v[0]),
    "Sigmoid": lambda v, a, c: sigmoid(v[0]),
    "Tanh": lambda v, a, c: tanh(v[0]),
    "Erf": lambda v, a, c: erf(v[0]),
    "Gelu": lambda v, a, c: gelu(v[0], a),
    "Swish": lambda v, a, c: v[0] * sigmoid(v[0] * number(a.get("alpha", 1))),
    "HardSwish": lambda v, a, c: v[0] * clamp(v[0] * number(1 / 6) + number(0.5), 0, 1),
    "HardSigmoid": lambda v, a, c: clamp(v[0] * number(a.get("alpha", 0.2)) + number(a.get("beta", 0.5)), 0, 1),
    "Add": lambda v, a, c: v[0] + v[1],
    "Sub": lambda v, a, c: v[0] - v[1],
    "Mul": lambda v, a, c: v[0] * v[1],
    "Div": lambda v, a, c: v[0] / v[1],
    "Min": lambda v, a, c: tirx.min(v[0], v[1]),
    "Max": lambda v, a, c: tirx.max(v[0], v[1]),
    "Clip": lambda v, a, c: clamp_to(v[0], c),
    "Pow": lambda v, a, c: power(v[0], c[1]),
}


def clamp_to(x, bounds):
    low = bounds[1] if len(bounds) > 1 else None
    high = bounds[2] if len(bounds) > 2 else None
    if low is not None:
        x = tirx.max(x, number(low))
    return x if high is None else tirx.min(x, number(high))
