# SPDX-License-Identifier: GPL-2.0-only
"""Rockchip's .rknn container: a FlatBuffer of tensors, layers, tasks, and where programs have addresses of tensors."""

import math
import struct
from array import array

HEADER = 0x40
# Fields of the root, of a graph, of a tensor, of a layer and of a relocation.
GRAPHS, TARGET, BLOBS = 2, 8, 20
TENSORS, LAYERS, INPUTS, OUTPUTS, RELOCATIONS, STARTS = 0, 1, 2, 3, 7, 10
TYPE, KIND, STORED, SHAPE, NAME, SCALE, ZERO, SIZE, OFFSET, BLOB = 0, 2, 3, 4, 5, 10, 11, 12, 13, 18
LAYER_KIND, LAYER_PLACE, LAYER_INPUTS, LAYER_OUTPUTS = 1, 3, 4, 5
TASK = struct.Struct("<8IQ")
INT8, HALF = 3, 10
ON_NPU = 2


class Table:
    def __init__(self, data, at):
        self.data, self.at = data, at

    def _u32(self, at):
        return struct.unpack_from("<I", self.data, at)[0]

    def _field(self, nth):
        fields = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        if 4 + 2 * nth >= struct.unpack_from("<H", self.data, fields)[0]:
            return None
        return self.at + struct.unpack_from("<H", self.data, fields + 4 + 2 * nth)[0]

    def _follow(self, nth):
        field = self._field(nth)
        return None if field in (None, self.at) else field + self._u32(field)

    def number(self, nth, code="I"):
        field = self._field(nth)
        return 0 if field in (None, self.at) else struct.unpack_from("<" + code, self.data, field)[0]

    def vector(self, nth, code="B"):
        start = self._follow(nth)
        if start is None:
            return []
        return list(struct.unpack_from(f"<{self._u32(start)}{code}", self.data, start + 4))

    def bytes(self, nth):
        start = self._follow(nth)
        return b"" if start is None else self.data[start + 4:start + 4 + self._u32(start)]

    def string(self, nth):
        return self.bytes(nth).decode()

    def tables(self, nth):
        start = self._follow(nth)
        if start is None:
            return []
        places = range(start + 4, start + 4 + 4 * self._u32(start), 4)
        return [Table(self.data, at + self._u32(at)) for at in places]


class Tensor:
    """Planes of lanes, of a constant its bytes."""

    def __init__(self, table, blobs):
        self.name = table.string(NAME)
        self.type = table.number(TYPE, "B")
        self.stored = table.vector(STORED, "I")
        self.shape = table.vector(SHAPE, "I")
        self.size, self.offset = table.number(SIZE), table.number(OFFSET)
        self.scale = (table.vector(SCALE, "f") or [None])[0]
        self.zero = (table.vector(ZERO, "i") or [0])[0]
        self.data = blobs[table.number(BLOB)]
        self.address = None
        self.stride = math.prod(self.stored[2:4])

    @property
    def code(self):
        return "H" if self.type == HALF else "B"

    @property
    def bytes_each(self):
        return 2 if self.type == HALF else 1

    def _plane(self, c):
        """Where channel @c has its elements among those of the tensor."""
        lanes = self.stored[4]
        first = c // lanes * self.stride * lanes + c % lanes
        return slice(first, first + (self.shape[2] * self.shape[3] - 1) * lanes + 1, lanes)

    def extent(self):
        """Bytes that planes of this stride take."""
        channels, lanes = self.shape[1], self.stored[4]
        return -(-channels // lanes) * self.stride * lanes * self.bytes_each

    def put(self, planes):
        out = array(self.code, bytes(self.extent()))
        for c, plane in enumerate(planes):
            if self.type == HALF:
                out[self._plane(c)] = array("H", struct.pack(f"<{len(plane)}e", *plane))
            else:
                out[self._plane(c)] = array("B", [value & 0xff for value in plane])
        return out.tobytes()

    def planes(self, data):
        """Of each channel its elements as they are stored."""
        elements = array(self.code, data)
        return [elements[self._plane(c)] for c in range(self.shape[1])]

    def raw(self, element):
        if self.type == HALF:
            return struct.unpack("<e", struct.pack("<H", element))[0]
        return (element ^ 0x80) - 0x80

    def real(self, raw):
        return raw if self.type == HALF else (raw - self.zero) * self.scale


class Layer:
    def __init__(self, table):
        self.kind = table.string(LAYER_KIND)
        self.on_npu = table.number(LAYER_PLACE, "B") == ON_NPU
        self.inputs, self.outputs = table.vector(LAYER_INPUTS, "I"), table.vector(LAYER_OUTPUTS, "I")


class Task:
    def __init__(self, layer, enable, start, words):
        self.layer, self.enable, self.start, self.words = layer, enable, start, words

    def register(self, wanted):
        return next((value for _, reg, value in self.words if reg == wanted), 0)


def split(word):
    """Target, register, value."""
    return word >> 48, word & 0xffff, word >> 16 & 0xffffffff


class File:
    """The first graph of a file, its tensors from @base on."""

    def __init__(self, data, base):
        root = Table(data, HEADER + struct.unpack_from("<I", data, HEADER)[0])
        graph = root.tables(GRAPHS)[0]
        blobs = [table.bytes(0) for table in root.tables(BLOBS)]
        self.target = root.string(TARGET)
        self.tensors = [Tensor(table, blobs) for table in graph.tables(TENSORS)]
        self.layers = [Layer(table) for table in graph.tables(LAYERS)]
        self.inputs = [self.tensors[nth] for nth in graph.vector(INPUTS, "I")]
        self.outputs = [self.tensors[nth] for nth in graph.vector(OUTPUTS, "I")]
        self._place(base)
        self.modes = self._tasks(graph, self._programs(graph))

    def _place(self, base):
        """Constants one behind the other, then the memory that the other tensors share."""
        for tensor in self.tensors:
            if tensor.data:
                tensor.address = base
                base += -(-max(len(tensor.data), tensor.size) // 64) * 64
        for tensor in self.tensors:
            if not tensor.data:
                tensor.address = base + tensor.offset
        self.end = max(tensor.address + max(tensor.size, len(tensor.data)) for tensor in self.tensors)

    def named(self, name):
        return next((tensor for tensor in self.tensors if tensor.name == name), None)

    def _programs(self, graph):
        """The commands of all tasks, with the addresses of tensors."""
        stored = self.named("regcmd")
        data = stored.data if stored else b""
        words = list(struct.unpack(f"<{len(data) // 8}Q", data[:len(data) // 8 * 8]))
        relocations = graph.tables(RELOCATIONS)
        have_kinds = any(table.vector(2, "Q") for table in relocations)
        for table in relocations:
            tensor = self.named(table.string(0))
            # Which kind: of a table of the LUT, nothing is to be added. Older compilers tell none.
            kinds = table.vector(2, "Q")
            for place in table.vector(1, "Q") if kinds or not have_kinds else []:
                # How far into the tensor; what is there in the program is the same, but with older compilers not always.
                target, reg, _ = split(words[place >> 32])
                value = (place & 0xffffffff) + tensor.address & 0xffffffff
                words[place >> 32] = target << 48 | value << 16 | reg
        return [split(word) for word in words]

    def _tasks(self, graph, words):
        """Those for core 0, for core 1, and for both, of which the halves of a layer follow each other."""
        stored = self.named("task")
        tasks = []
        for _, layer, enable, *_, start in TASK.iter_unpack(stored.data) if stored else []:
            first = start // 8
            last = next(nth for nth in range(first, len(words)) if words[nth][:2] == (0x0081, 8))
            tasks.append(Task(layer, enable, start, words[first:last + 1]))
        starts = graph.vector(STARTS, "I") + [len(tasks)]
        return [sorted(tasks[first:last], key=lambda task: task.layer) for first, last in zip(starts, starts[1:])]
