# SPDX-License-Identifier: GPL-2.0-only
"""ONNX files, of which only what the twins of stored programs have: nodes, their attributes, constants in floats."""

import struct

# Fields of a model, a graph, a node, an attribute, a tensor and a value; FLOAT of TensorProto.
MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_CONSTANT, GRAPH_INPUT, GRAPH_OUTPUT = 1, 5, 11, 12
NODE_INPUT, NODE_OUTPUT, NODE_KIND, NODE_ATTRIBUTE = 1, 2, 4, 5
ATTRIBUTE_NAME, ATTRIBUTE_FLOAT, ATTRIBUTE_NUMBER, ATTRIBUTE_STRING, ATTRIBUTE_TENSOR = 1, 2, 3, 4, 5
ATTRIBUTE_FLOATS, ATTRIBUTE_NUMBERS = 7, 8
TENSOR_SHAPE, TENSOR_TYPE, TENSOR_FLOATS, TENSOR_NUMBERS, TENSOR_NAME, TENSOR_RAW = 1, 2, 4, 7, 8, 9
VALUE_NAME = 1
FLOAT, INT64 = 1, 7


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value - (1 << 64) if value >> 63 else value, at


def fields(data):
    """Pairs of a field and its value, an int or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def numbers(values):
    """Of a repeated field, packed or not."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(number)
    return out


class Constant:
    def __init__(self, data):
        rows = list(fields(data))
        self.name = next((v.decode() for k, v in rows if k == TENSOR_NAME), "")
        self.shape = numbers([v for k, v in rows if k == TENSOR_SHAPE])
        kind = next((v for k, v in rows if k == TENSOR_TYPE), 0)
        raw = b"".join(v for k, v in rows if k in (TENSOR_FLOATS, TENSOR_RAW))
        code, size = ("f", 4) if kind == FLOAT else ("q", 8)
        self.values = list(struct.unpack(f"<{len(raw) // size}{code}", raw)) if kind in (FLOAT, INT64) else []
        self.values += numbers([v for k, v in rows if k == TENSOR_NUMBERS])

    @classmethod
    def of(cls, name, shape, values):
        made = cls(b"")
        made.name, made.shape, made.values = name, shape, values
        return made


class Node:
    def __init__(self, data):
        rows = list(fields(data))
        self.kind = next(v.decode() for k, v in rows if k == NODE_KIND)
        self.inputs = [v.decode() for k, v in rows if k == NODE_INPUT]
        self.output = next(v.decode() for k, v in rows if k == NODE_OUTPUT)
        self.attributes = {}
        for value in (v for k, v in rows if k == NODE_ATTRIBUTE):
            self._take(list(fields(value)))

    def _take(self, parts):
        name = next(v.decode() for k, v in parts if k == ATTRIBUTE_NAME)
        tensors = [v for k, v in parts if k == ATTRIBUTE_TENSOR]
        strings = [v for k, v in parts if k == ATTRIBUTE_STRING]
        floats = b"".join(v for k, v in parts if k in (ATTRIBUTE_FLOAT, ATTRIBUTE_FLOATS))
        if tensors:
            self.attributes[name] = Constant(tensors[0])
        elif strings:
            self.attributes[name] = strings[0].decode()
        elif floats:
            self.attributes[name] = list(struct.unpack(f"<{len(floats) // 4}f", floats))
        else:
            self.attributes[name] = numbers([v for k, v in parts if k in (ATTRIBUTE_NUMBER, ATTRIBUTE_NUMBERS)])

    def get(self, name, default):
        return self.attributes.get(name, default)


class Graph:
    def __init__(self, data):
        rows = list(fields(next(v for k, v in fields(data) if k == MODEL_GRAPH)))
        self.nodes = [Node(v) for k, v in rows if k == GRAPH_NODE]
        constants = [Constant(v) for k, v in rows if k == GRAPH_CONSTANT]
        self.constants = {constant.name: constant for constant in constants}
        for node in self.nodes:
            if node.kind == "Constant":
                self.constants[node.output] = node.attributes["value"]
            elif all(name in self.constants for name in node.inputs):
                self._fold(node, [self.constants[name] for name in node.inputs])
        self.nodes = [node for node in self.nodes if node.output not in self.constants]
        self.maker = {node.output: node for node in self.nodes}

    def _fold(self, node, parts):
        """What PyTorch makes of the widths of padding: numbers, in one row or in two columns."""
        values, shape = parts[0].values, parts[0].shape
        if node.kind == "ConstantOfShape":
            values, shape = node.attributes["value"].values * values[0], values
        elif node.kind == "Concat":
            values = [value for part in parts for value in part.values]
            shape = [len(values)]
        elif node.kind == "Reshape":
            shape = [len(values) // 2, 2] if parts[1].values == [-1, 2] else [len(values)]
        elif node.kind == "Slice" and [part.values for part in parts[1::3]] == [[-1], [-1]]:
            values = [value for at in range(len(values) - 2, -1, -2) for value in values[at:at + 2]]
        elif node.kind == "Transpose":
            values, shape = values[::2] + values[1::2], shape[::-1]
        elif node.kind != "Cast":
            return
        self.constants[node.output] = Constant.of(node.output, shape, values)


def number(value):
    out = b""
    value &= (1 << 64) - 1
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(nth, value):
    """A field with a number, a float or bytes."""
    if isinstance(value, int):
        return number(nth << 3) + number(value)
    if isinstance(value, float):
        return number(nth << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return number(nth << 3 | 2) + number(len(value)) + value
