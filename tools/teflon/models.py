#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Generates the quantised models of check-teflon and a list of what is expected of each: models.py DIRECTORY.

Weights come from a seeded generator; scales are chosen so that results spread over their range. All models are
uint8, quantised per tensor, with square images and kernels: that is what Mesa's rocket driver computes rightly.
"""

import math
import os
import random
import struct
import sys

from tflite import (ADD, AVERAGE_POOL_2D, CONV_2D, DEPTHWISE_CONV_2D, INT32, NONE, RELU6, RESHAPE, SAME, SOFTMAX,
                    VALID, Model, Quant, Table, Vector, f32)

# Random inputs are uniform; their standard deviation in steps.
UNIFORM = math.sqrt((256 ** 2 - 1) / 12)
# Standard deviation of weights in steps: some are clipped, so both ends occur.
SPREAD = 60
RELU6_SCALE = 6 / 255


def steer_clear(ratio):
    """Mesa halves a factor whose exponent is even and whose upper 14 mantissa bits are set: such a model is no test."""
    bits = struct.unpack("<I", struct.pack("<f", ratio))[0]
    if bits >> 9 & 0x7fff == 0x3fff:
        raise ValueError(f"factor {ratio} runs into a defect of Mesa's rounding")


class Net(Model):
    """A model with generated weights; every method returns the tensor it adds."""

    def __init__(self, name):
        super().__init__(name)
        # The name is the seed.
        self.rng = random.Random(name)
        self.delegated = 0
        self.macs = 0

    def input(self, size, channels, quant):
        t = self.tensor([1, size, size, channels], quant=quant)
        self.inputs.append(t)
        return t

    def weights(self, shape, quant):
        gauss = self.rng.gauss
        data = bytes(min(255, max(0, round(gauss(quant.zero, SPREAD)))) for _ in range(math.prod(shape)))
        return self.tensor(shape, quant=quant, data=data)

    def bias(self, count, scale, sigma):
        values = [round(self.rng.gauss(0, sigma)) for _ in range(count)]
        return self.tensor([count], INT32, Quant(scale, 0), struct.pack(f"<{count}i", *values))

    def _filter(self, x, shape, terms, deviation, out, wscale, wzero):
        """Weights and biases so that sums of TERMS products spread over the output.

        DEVIATION is that of the input in steps.
        """
        q = self.quants[x]
        if wscale is None:
            wscale = out.scale * 50 / (math.sqrt(terms) * SPREAD * deviation * q.scale)
        w = Quant(wscale, wzero)
        steer_clear(f32(f32(q.scale * w.scale) / out.scale))
        sigma = 10 * out.scale / (q.scale * w.scale)
        return self.weights(shape, w), f32(q.scale * w.scale), sigma

    def conv(self, x, channels, kernel, out, stride=1, padding=SAME, act=NONE, deviation=UNIFORM, wscale=None,
             wzero=120):
        n, size, _, depth = self.shapes[x]
        shape = [channels, kernel, kernel, depth]
        w, scale, sigma = self._filter(x, shape, kernel * kernel * depth, deviation, out, wscale, wzero)
        b = self.bias(channels, scale, sigma)
        osize = self.outer(size, kernel, stride, padding)
        y = self.tensor([n, osize, osize, channels], quant=out)
        self.op(CONV_2D, [x, w, b], y,
                Table(_0=("b", padding), _1=("i", stride), _2=("i", stride), _3=("b", act), _4=("i", 1), _5=("i", 1)))
        self.delegate(osize * osize * channels * kernel * kernel * depth)
        return y

    def depthwise(self, x, kernel, out, stride=1, padding=SAME, act=NONE, deviation=UNIFORM, wzero=131):
        n, size, _, depth = self.shapes[x]
        shape = [1, kernel, kernel, depth]
        w, scale, sigma = self._filter(x, shape, kernel * kernel, deviation, out, None, wzero)
        b = self.bias(depth, scale, sigma)
        osize = self.outer(size, kernel, stride, padding)
        y = self.tensor([n, osize, osize, depth], quant=out)
        self.op(DEPTHWISE_CONV_2D, [x, w, b], y,
                Table(_0=("b", padding), _1=("i", stride), _2=("i", stride), _3=("i", 1), _4=("b", act),
                      _5=("i", 1), _6=("i", 1)))
        self.delegate(osize * osize * depth * kernel * kernel)
        return y

    def add(self, x, y, out, act=NONE):
        """X must come out of a convolution that nothing else uses: Mesa folds the addition into it."""
        z = self.tensor(self.shapes[x], quant=out)
        self.op(ADD, [x, y], z, Table(_0=("b", act)))
        self.delegate(0)
        return z

    def pool(self, x, window):
        """Averages over squares; stays on the CPU."""
        n, size, _, depth = self.shapes[x]
        y = self.tensor([n, size // window, size // window, depth], quant=self.quants[x])
        self.op(AVERAGE_POOL_2D, [x], y, Table(_0=("b", VALID), _1=("i", window), _2=("i", window), _3=("i", window),
                                               _4=("i", window), _5=("b", NONE)))
        return y

    def reshape(self, x, shape):
        to = self.tensor([len(shape)], INT32, data=struct.pack(f"<{len(shape)}i", *shape))
        y = self.tensor(shape, quant=self.quants[x])
        self.op(RESHAPE, [x, to], y, Table(_0=Vector("i", shape)))
        return y

    def softmax(self, x):
        y = self.tensor(self.shapes[x], quant=Quant(1 / 256, 0))
        self.op(SOFTMAX, [x], y, Table(_0=("f", 1.0)))
        return y

    def delegate(self, macs):
        self.delegated += 1
        self.macs += macs

    @staticmethod
    def outer(size, kernel, stride, padding):
        if padding == VALID:
            size -= kernel - 1
        return -(-size // stride)


IMAGE = Quant(1 / 128, 128)
FEATURE = Quant(0.05, 117)


def convolution(kernel, size, depth, channels, **more):
    name = f"conv_{kernel}x{kernel}_{size}px_{depth}to{channels}"
    name += "".join(f"_{k}{v}" if k == "stride" else "_valid" if k == "padding" else "_relu6" for k, v in more.items())
    net = Net(name)
    out = Quant(RELU6_SCALE, 0) if "act" in more else FEATURE
    net.outputs = [net.conv(net.input(size, depth, IMAGE), channels, kernel, out, **more)]
    return net


def depthwise(kernel, size, depth, **more):
    net = Net(f"depthwise_{kernel}x{kernel}_{size}px_{depth}" + "".join(f"_{k}{v}" for k, v in more.items()))
    net.outputs = [net.depthwise(net.input(size, depth, IMAGE), kernel, FEATURE, **more)]
    return net


def residual(name, kernel, inner, product, middle, out):
    """A convolution A, and one B of its result with that result added; PRODUCT is the scale of B's sums.

    B's result must stay clear of the ends of its range, for Mesa never clamps it there, and what B pads must have
    zero point 0, for Mesa pads every convolution that an addition is folded into with that.
    """
    net = Net(name)
    a = net.conv(net.input(16, 32, IMAGE), 32, 1, inner)
    b = net.conv(a, 32, kernel, Quant(middle, 130), wscale=product / inner.scale)
    net.outputs = [net.add(b, a, Quant(out, 130))]
    return net


def bottleneck():
    """MobileNetV2's block, twice: expand, depthwise, project, add."""
    net = Net("bottleneck_24px")
    relu6 = Quant(RELU6_SCALE, 0)
    x = net.conv(net.input(24, 16, IMAGE), 24, 1, Quant(0.07, 128))
    for scale in (0.09, 0.11):
        y = net.conv(x, 144, 1, relu6, act=RELU6, deviation=55)
        y = net.depthwise(y, 3, relu6, act=RELU6, deviation=65)
        y = net.conv(y, 24, 1, Quant(0.06, 125), deviation=65)
        x = net.add(y, x, Quant(scale, 127))
    net.outputs = [x]
    return net


def mobilenet_v1(size, alpha):
    """The published topology; two outputs, before and after the softmax that hides most of a difference."""
    net = Net(f"mobilenet_v1_{alpha}_{size}px")
    relu6 = Quant(RELU6_SCALE, 0)
    # Sums have a deviation of 50 steps, so half of them are 0: the root of the mean square of the rest.
    rms = 50 / math.sqrt(2)
    x = net.conv(net.input(size, 3, IMAGE), round(32 * alpha), 3, relu6, stride=2, act=RELU6, deviation=UNIFORM * 0.6)
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    for channels, stride in plan:
        x = net.depthwise(x, 3, relu6, stride=stride, act=RELU6, deviation=rms)
        x = net.conv(x, round(channels * alpha), 1, relu6, act=RELU6, deviation=rms)
    x = net.conv(net.pool(x, net.shapes[x][1]), 1001, 1, Quant(0.1, 110), deviation=rms)
    logits = net.reshape(x, [1, 1001])
    net.outputs = [logits, net.softmax(logits)]
    return net


def left_to_cpu():
    """Rocket's driver pools nothing: this shows that what is counted is not always there."""
    net = Net("pool_stays_on_cpu")
    net.outputs = [net.pool(net.input(16, 16, IMAGE), 2)]
    return net


def everything():
    """Model, largest difference allowed, first Mesa release that gets it right."""
    for net in (
            convolution(1, 16, 16, 32),
            convolution(1, 14, 64, 128),
            convolution(1, 7, 256, 40),
            convolution(3, 16, 32, 16),
            convolution(3, 28, 16, 24),
            convolution(3, 20, 48, 32, padding=VALID),
            convolution(3, 32, 3, 8, stride=2, act=RELU6),
            convolution(3, 31, 32, 32, stride=2),
            convolution(1, 16, 32, 32, stride=2),
            convolution(5, 12, 32, 32),
            convolution(3, 24, 1, 16),
            convolution(7, 16, 3, 32, stride=2),
            # More rows than the CBUF holds, and more weights than it holds.
            convolution(3, 80, 64, 16),
            convolution(1, 7, 512, 1024),
            # Not below 32 channels: Mesa announces 64 and gives the result room for 32. In a network something that is
            # not needed any more lies behind it; behind a single operation lies its own program.
            depthwise(3, 16, 32),
            depthwise(3, 28, 64),
            depthwise(3, 28, 64, stride=2),
            depthwise(5, 14, 32),
            depthwise(3, 24, 144),
            left_to_cpu()):
        yield net, 1, "0"
    # Before 26.2 Mesa stored the weights of 17 to 31 input channels without the padding that its program announces.
    yield convolution(3, 15, 20, 30), 1, "26.2"
    # And it knew the factors of additions of a few published networks only. This is one of them: scale 0.100618 goes
    # with 16874/2^23 for the sums and 313.671875 for the addend.
    factor = 16874 / 2 ** 23
    out = 0.100618 / (313.671875 * factor)
    known = Quant(0.100618, 125), factor * out, 0.25, out
    yield residual("residual_add_1x1_known_scale", 1, *known), 3, "0"
    yield residual("residual_add_1x1", 1, Quant(0.06, 125), 0.06 * 0.003, 0.11, 0.08), 3, "26.2"
    yield residual("residual_add_3x3", 3, Quant(RELU6_SCALE, 0), RELU6_SCALE * 0.002, 0.09, 0.08), 3, "26.2"
    yield bottleneck(), 3, "26.2"
    yield mobilenet_v1(96, 0.25), 3, "0"


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "list"), "w") as f:
        print("# model, its nodes, those to be delegated, their multiplications, tolerance, first Mesa", file=f)
        for net, tolerance, since in everything():
            with open(os.path.join(directory, net.name + ".tflite"), "wb") as m:
                m.write(net.serialise())
            print(net.name, len(net.ops), net.delegated, net.macs, tolerance, since, file=f)


if __name__ == "__main__":
    main()
