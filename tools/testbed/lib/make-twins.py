#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes the ONNX files that a generator of .rknn files compiles, without the compiler: make-twins.py GENERATOR...

A generator is a Python program with numpy, onnx.helper and rknn.api. What it takes of these is here, no more; of
RKNN nothing but that it fails to load. The files are written beside the generator.
"""

import os
import runpy
import struct
import sys
import types

import onnxfile as of


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Single(float):
    def tobytes(self):
        return struct.pack("<f", self)


class Array:
    """Elements in a row, in singles."""

    def __init__(self, values, shape=None):
        self.values = [single(value) for value in values]
        self.shape = shape or (len(self.values),)

    def _each(self, other, act):
        others = other.values if isinstance(other, Array) else [other] * len(self.values)
        return Array([act(a, b) for a, b in zip(self.values, others)], self.shape)

    def __add__(self, other):
        return self._each(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._each(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self._each(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self._each(other, lambda a, b: a / b)

    def __mod__(self, other):
        return self._each(other, lambda a, b: a % b)

    def __eq__(self, other):
        return [value == other for value in self.values]

    def __setitem__(self, chosen, value):
        self.values = [single(value) if take else old for take, old in zip(chosen, self.values)]

    def reshape(self, *shape):
        return Array(self.values, shape)

    def astype(self, _):
        return self

    def tobytes(self):
        return struct.pack(f"<{len(self.values)}f", *self.values)


def linspace(first, last, count, dtype=None):
    del dtype
    return Array([first + i * ((last - first) / (count - 1)) for i in range(count)])


class RandomState:
    """Of inputs to calibrate with, which no network has."""

    def __init__(self, _):
        pass

    def uniform(self, *_):
        return Array([])


def make_tensor(name, kind, shape, values, raw=False):
    if kind != of.FLOAT or not raw:
        raise NotImplementedError(f"constant {name}")
    return b"".join(of.field(of.TENSOR_SHAPE, size) for size in shape) + of.field(of.TENSOR_TYPE, kind) + \
        of.field(of.TENSOR_NAME, name) + of.field(of.TENSOR_RAW, values)


def attribute(name, value):
    many = isinstance(value, list)
    values = value if many else [value]
    if all(isinstance(v, float) for v in values):
        nth = of.ATTRIBUTE_FLOATS if many else of.ATTRIBUTE_FLOAT
    elif all(isinstance(v, int) for v in values):
        nth = of.ATTRIBUTE_NUMBERS if many else of.ATTRIBUTE_NUMBER
    else:
        raise NotImplementedError(f"attribute {name}")
    return of.field(of.ATTRIBUTE_NAME, name) + b"".join(of.field(nth, v) for v in values)


def make_node(kind, inputs, outputs, **attributes):
    return b"".join(of.field(of.NODE_INPUT, name) for name in inputs) + \
        b"".join(of.field(of.NODE_OUTPUT, name) for name in outputs) + of.field(of.NODE_KIND, kind) + \
        b"".join(of.field(of.NODE_ATTRIBUTE, attribute(*item)) for item in attributes.items())


def make_graph(nodes, _, inputs, outputs, constants):
    parts = ((of.GRAPH_NODE, nodes), (of.GRAPH_INPUT, inputs), (of.GRAPH_OUTPUT, outputs),
             (of.GRAPH_CONSTANT, constants))
    return b"".join(of.field(nth, value) for nth, values in parts for value in values)


def save(model, path):
    with open(path, "wb") as f:
        f.write(of.field(of.MODEL_GRAPH, model.graph))


class RKNN:
    def __init__(self, **_):
        pass

    def config(self, **_):
        pass

    def load_onnx(self, **_):
        return 1

    def release(self):
        pass


def module(name, **parts):
    made = types.ModuleType(name)
    made.__dict__.update(parts)
    sys.modules[name] = made
    return made


def main():
    numpy = module("numpy", arange=lambda count, dtype=None: Array(range(count)), linspace=linspace, float32=Single,
                   float16=None, uint8=None, save=lambda *_: None)
    numpy.random = types.SimpleNamespace(RandomState=RandomState)
    helper = module("onnx.helper", make_tensor=make_tensor, make_node=make_node, make_graph=make_graph,
                    make_tensor_value_info=lambda name, *_: of.field(of.VALUE_NAME, name),
                    make_opsetid=lambda *_: None,
                    make_model=lambda graph, **_: types.SimpleNamespace(graph=graph))
    module("onnx", helper=helper, TensorProto=types.SimpleNamespace(FLOAT=of.FLOAT), save=save)
    module("rknn")
    module("rknn.api", RKNN=RKNN)
    for path in sys.argv[1:]:
        path = os.path.abspath(path)
        sys.argv = [path, os.path.dirname(path)]
        sys.path[0] = os.path.dirname(path)
        runpy.run_path(path, run_name="__main__")


main()
