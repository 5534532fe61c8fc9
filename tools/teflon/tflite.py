# SPDX-License-Identifier: MIT
"""Writes TensorFlow Lite models: a small FlatBuffers serialiser and the tables of TFLite's schema that are needed."""

import struct

INT32, UINT8 = 2, 3
SAME, VALID = 0, 1
NONE, RELU6 = 0, 3
ADD, AVERAGE_POOL_2D, CONV_2D, DEPTHWISE_CONV_2D, RESHAPE, SOFTMAX = 0, 1, 3, 4, 22, 25
# The member of the schema's union of options that belongs to each operator.
OPTIONS = {CONV_2D: 1, DEPTHWISE_CONV_2D: 2, AVERAGE_POOL_2D: 5, SOFTMAX: 9, ADD: 11, RESHAPE: 17}


class Vector:
    """Scalars of one struct format, or (format None) references."""

    def __init__(self, fmt, items, align=0):
        self.fmt = fmt
        self.items = items
        self.align = align


class Table:
    """Fields by number: (struct format, scalar), or a str, Vector or Table to refer to."""

    def __init__(self, **fields):
        self.fields = {int(k[1:]): v for k, v in fields.items() if v is not None}


class _Buffer:
    """What is referred to is written after what refers to it, for offsets only point forward."""

    def __init__(self):
        self.data = bytearray()

    def pad(self, align, ahead=0):
        """Zeroes, until the byte after the next AHEAD ones is aligned."""
        self.data += bytes(-(len(self.data) + ahead) % align)

    def refer(self, at, what):
        """Writes WHAT at the end and its distance at AT."""
        struct.pack_into("<I", self.data, at, self.put(what) - at)

    def put(self, what):
        if isinstance(what, str):
            return self.put_vector(Vector("B", what.encode()), b"\0")
        if isinstance(what, Vector):
            return self.put_vector(what)
        return self.put_table(what)

    def put_vector(self, vector, end=b""):
        size = struct.calcsize("<" + (vector.fmt or "I"))
        self.pad(4)
        self.pad(max(4, size, vector.align), 4)
        at = len(self.data)
        self.data += struct.pack("<I", len(vector.items))
        if vector.fmt:
            self.data += struct.pack(f"<{len(vector.items)}{vector.fmt}", *vector.items) + end
            return at
        self.data += bytes(4 * len(vector.items))
        for i, item in enumerate(vector.items):
            self.refer(at + 4 + 4 * i, item)
        return at

    def put_table(self, table):
        body = bytearray(4)
        where = {}
        for number, value in table.fields.items():
            fmt, scalar = value if isinstance(value, tuple) else ("I", 0)
            body += bytes(-len(body) % struct.calcsize(fmt))
            where[number] = len(body)
            body += struct.pack("<" + fmt, scalar)
        slots = [where.get(i, 0) for i in range(max(where, default=-1) + 1)]
        directory = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), len(body), *slots)
        self.pad(8, len(directory))
        struct.pack_into("<i", body, 0, len(directory))
        self.data += directory
        at = len(self.data)
        self.data += body
        for number, value in table.fields.items():
            if not isinstance(value, tuple):
                self.refer(at + where[number], value)
        return at


def f32(x):
    """X as the nearest single-precision number."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


class Quant:
    def __init__(self, scale, zero):
        self.scale = f32(scale)
        self.zero = zero


class Model:
    """One subgraph, built in the order of execution."""

    def __init__(self, name):
        self.name = name
        self.buffers = [Table()]
        self.tensors = []
        self.quants = []
        self.shapes = []
        self.codes = []
        self.ops = []
        self.inputs = []
        self.outputs = []

    def tensor(self, shape, kind=UINT8, quant=None, data=None):
        """DATA is bytes; without it the tensor is computed or an input."""
        buffer = 0
        if data is not None:
            buffer = len(self.buffers)
            self.buffers.append(Table(_0=Vector("B", data, 16)))
        q = quant and Table(_2=Vector("f", [quant.scale]), _3=Vector("q", [quant.zero]))
        self.tensors.append(Table(_0=Vector("i", shape), _1=("b", kind), _2=("I", buffer),
                                  _3=f"t{len(self.tensors)}", _4=q))
        self.quants.append(quant)
        self.shapes.append(list(shape))
        return len(self.tensors) - 1

    def op(self, code, inputs, output, options):
        if code not in self.codes:
            self.codes.append(code)
        self.ops.append(Table(_0=("I", self.codes.index(code)), _1=Vector("i", inputs), _2=Vector("i", [output]),
                              _3=("B", OPTIONS[code]), _4=options))

    def serialise(self):
        codes = [Table(_0=("b", c), _2=("i", 1), _3=("i", c)) for c in self.codes]
        graph = Table(_0=Vector(None, self.tensors), _1=Vector("i", self.inputs), _2=Vector("i", self.outputs),
                      _3=Vector(None, self.ops), _4=self.name)
        root = Table(_0=("I", 3), _1=Vector(None, codes), _2=Vector(None, [graph]), _3=self.name,
                     _4=Vector(None, self.buffers))
        buf = _Buffer()
        buf.data += bytes(4) + b"TFL3"
        buf.refer(0, root)
        return bytes(buf.data)
