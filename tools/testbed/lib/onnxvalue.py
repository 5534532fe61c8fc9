# SPDX-License-Identifier: GPL-2.0-only
"""Single elements of an ONNX graph's tensors, in floats, from those of tensors that are known.

Each comes with the variance of the error that a compiler of bytes makes of it, by rounding weights.
"""

import math
import struct


def sigmoid(v):
    return 1 / (1 + math.exp(-v)) if v >= 0 else math.exp(v) / (1 + math.exp(v))


# Where a compiler's table ends and its last slope goes on: what it loses by that.
TABLE_ENDS = {"Softplus": (4.0, sigmoid(4.0))}
WINDOWED = ("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool")


class CannotTell(ValueError):
    pass


def half(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def function(node):
    """What is done to each element alone."""
    def get(name, default):
        return node.get(name, [default])[0]

    return {
        "Abs": abs, "Erf": math.erf, "Exp": math.exp, "Identity": lambda v: v, "Sigmoid": sigmoid, "Tanh": math.tanh,
        "Relu": lambda v: max(v, 0.0),
        "LeakyRelu": lambda v: v if v >= 0 else get("alpha", 0.01) * v,
        "Elu": lambda v: v if v >= 0 else get("alpha", 1.0) * math.expm1(v),
        "HardSigmoid": lambda v: min(max(get("alpha", 0.2) * v + get("beta", 0.5), 0.0), 1.0),
        "Softplus": lambda v: max(v, 0.0) + math.log1p(math.exp(-abs(v))),
        "Sqrt": lambda v: math.sqrt(max(v, 0.0)),
    }.get(node.kind)


class Values:
    """Elements (channel, row, column) of one image. @known gives shape and elements of some tensors."""

    def __init__(self, graph, halves):
        self.graph, self.halves = graph, halves
        self.known, self.seen, self.shapes = {}, {}, {}

    def know(self, name, shape, at):
        self.known[name] = at
        self.shapes = {name: shape for name, shape in self.shapes.items() if name in self.known}
        self.shapes[name] = shape
        self.seen = {}

    def if_known(self, name, value):
        """The same, were all elements of @name this one."""
        other = Values(self.graph, self.halves)
        other.known, other.shapes = {**self.known, name: lambda place: value}, dict(self.shapes)
        return other

    def convolution(self, name):
        """The one that @name is a function of."""
        while self.graph.maker[name].kind != "Conv":
            name = next(part for part in self.graph.maker[name].inputs if part in self.graph.maker)
        return name

    def leaves(self, name):
        """The known tensors that @name is computed from."""
        if name in self.known:
            return {name}
        node = self.graph.maker.get(name)
        if not node:
            return set()
        return set().union(*(self.leaves(part) for part in node.inputs))

    def shape(self, name):
        if name in self.graph.constants:
            return ([1] * 4 + self.graph.constants[name].shape)[-3:]
        if name not in self.shapes:
            node = self.graph.maker.get(name)
            if not node:
                raise CannotTell(f"nothing makes {name}")
            self.shapes[name] = self._made_shape(node)
        return self.shapes[name]

    def _window(self, node):
        """Kernel, strides, padding before and behind, all of (rows, columns)."""
        _, height, width = self.shape(node.inputs[0])
        if node.kind.startswith("Global"):
            return (height, width), (1, 1), (0, 0), (0, 0)
        kernel = node.get("kernel_shape", None)
        if node.kind == "Conv":
            kernel = self.graph.constants[node.inputs[1]].shape[2:]
        pads = node.get("pads", [0, 0, 0, 0])
        if node.get("dilations", [1, 1]) != [1, 1] or node.get("ceil_mode", [0]) != [0] or \
                node.get("auto_pad", "NOTSET") != "NOTSET":
            raise CannotTell(f"attributes of {node.kind}")
        return kernel, node.get("strides", [1, 1]), pads[:2], pads[2:]

    def _made_shape(self, node):
        shape = self.shape(node.inputs[0])
        if node.kind == "Conv" or node.kind in WINDOWED:
            kernel, strides, before, behind = self._window(node)
            size = [(shape[1 + i] + before[i] + behind[i] - kernel[i]) // strides[i] + 1 for i in (0, 1)]
            channels = self.graph.constants[node.inputs[1]].shape[0] if node.kind == "Conv" else shape[0]
            return [channels] + size
        if node.kind == "Pad":
            pads = self._pads(node)
            return [shape[i] + pads[1 + i] + pads[5 + i] for i in range(3)]
        if node.kind in ("Add", "Sub", "Mul"):
            return [max(pair) for pair in zip(shape, self.shape(node.inputs[1]))]
        return shape

    def _pads(self, node):
        if len(node.inputs) < 2:
            return node.get("pads", None)
        if node.inputs[1] not in self.graph.constants:
            raise CannotTell("padding of unknown width")
        return self.graph.constants[node.inputs[1]].values

    def value(self, name, place):
        """The element, and a variance."""
        if name in self.known:
            return self.known[name](place), 0.0
        constant = self.graph.constants.get(name)
        if constant:
            shape = self.shape(name)
            at = 0
            for i in range(3):
                at = at * shape[i] + min(place[i], shape[i] - 1)
            return constant.values[at], 0.0
        key = name, place
        if key not in self.seen:
            self.seen[key] = self._made(name, place)
        return self.seen[key]

    def _made(self, name, place):
        node = self.graph.maker.get(name)
        if not node:
            raise CannotTell(f"nothing makes {name}")
        if node.kind == "Conv":
            return self._convolved(node, place)
        if node.kind in WINDOWED:
            return self._pooled(node, place)
        if node.kind in ("Add", "Sub", "Mul"):
            return self._both(node, place)
        if node.kind == "Pad":
            return self._padded(node, place)
        if node.kind == "Clip":
            low, high = (self.graph.constants[part].values[0] for part in node.inputs[1:]) if len(node.inputs) > 1 \
                else (node.get("min", [-math.inf])[0], node.get("max", [math.inf])[0])
            return self._through(node, place, lambda v: min(max(v, low), high))
        act = function(node)
        if not act:
            raise CannotTell(f"{node.kind} is not known here")
        return self._through(node, place, act)

    def _through(self, node, place, act):
        value, variance = self.value(node.inputs[0], place)
        end, slope = TABLE_ENDS.get(node.kind, (math.inf, 0.0))
        lost = act(value) - act(end) - slope * (value - end) if value > end else 0.0
        # Ends of the function may be within what the error may be, 4 sigma.
        error = 4 * math.sqrt(variance)
        most = max(abs(act(value + part) - act(value)) for part in (-error, error)) / 4
        return act(value), most ** 2 + (lost / 4) ** 2

    def _both(self, node, place):
        (a, a_error), (b, b_error) = (self.value(name, self._spread(name, place)) for name in node.inputs)
        if node.kind == "Mul":
            return a * b, a_error * b * b + b_error * a * a
        return a + b if node.kind == "Add" else a - b, a_error + b_error

    def _spread(self, name, place):
        return tuple(min(at, size - 1) for at, size in zip(place, self.shape(name)))

    def _padded(self, node, place):
        pads, shape = self._pads(node), self.shape(node.inputs[0])
        inside = tuple(place[i] - pads[1 + i] for i in range(3))
        if node.get("mode", "constant") != "constant":
            raise CannotTell("padding but with a constant")
        if all(0 <= inside[i] < shape[i] for i in range(3)):
            return self.value(node.inputs[0], inside)
        constant = self.graph.constants.get(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
        return constant.values[0] if constant and constant.values else 0.0, 0.0

    def _taps(self, node, place):
        """Row and column of the kernel and of the input, where that has any."""
        kernel, strides, before, _ = self._window(node)
        _, height, width = self.shape(node.inputs[0])
        for ky in range(kernel[0]):
            y = place[1] * strides[0] + ky - before[0]
            for kx in range(kernel[1]):
                x = place[2] * strides[1] + kx - before[1]
                if 0 <= y < height and 0 <= x < width:
                    yield ky, kx, y, x

    def _step(self, node, kernel):
        """A step of a kernel's weights; one that an identity is added to gets larger."""
        weights = self.graph.constants[node.inputs[1]]
        size = len(weights.values) // weights.shape[0]
        most = max(map(abs, weights.values[kernel * size:(kernel + 1) * size]))
        return (most + any(other.kind == "Add" and node.output in other.inputs and node.inputs[0] in other.inputs
                           for other in self.graph.nodes)) / 127

    def _convolved(self, node, place):
        weights = self.graph.constants[node.inputs[1]]
        kernels, channels, rows, columns = weights.shape
        first = place[0] // (kernels // node.get("group", [1])[0]) * channels
        total = self.graph.constants[node.inputs[2]].values[place[0]] if len(node.inputs) > 2 else 0.0
        squares = sums = variance = 0.0
        for ky, kx, y, x in self._taps(node, place):
            for c in range(channels):
                weight = weights.values[((place[0] * channels + c) * rows + ky) * columns + kx]
                weight = half(weight) if self.halves else weight
                value, error = self.value(node.inputs[0], (first + c, y, x))
                total += value * weight
                squares += value * value
                sums += abs(value * weight)
                variance += error * weight * weight
        if self.halves:
            return total, variance + (sums * 2.0 ** -24) ** 2
        return total, variance + squares * self._step(node, place[0]) ** 2 / 12

    def _pooled(self, node, place):
        kernel, *_ = self._window(node)
        inside = [self.value(node.inputs[0], (place[0], y, x)) for _, _, y, x in self._taps(node, place)]
        if node.kind.endswith("MaxPool"):
            return max(value for value, _ in inside), max(error for _, error in inside)
        count = kernel[0] * kernel[1] if node.get("count_include_pad", [0])[0] else len(inside)
        return sum(v for v, _ in inside) / count, sum(error for _, error in inside) / count ** 2
