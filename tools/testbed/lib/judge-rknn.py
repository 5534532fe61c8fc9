#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Programs stored in .rknn files of the RK3576 or the RV1126B against the networks that they come from: judge-rknn.py RUNNER DIR...

Every program of every file is decoded. A file that has its network beside it as NAME.onnx (or NAME_rk3576.rknn beside
NAME.onnx) is run as well, on random input: for core 0, for core 1 and as halves for both, which must agree with each
other in every tensor. Tensors that the network has as well are compared with it at some positions, in floats, each
computed from those before it as they are in memory. A file in a folder RK3576 or RV1126B that has its twin in one
named RK3588 beside that is compared with it layer by layer: each gets what the twin's programs made of the layers before.
Of files that were compiled with other scales than their twins it is told how their results correlate.

Prints a table: the file's network, its programs, how many were refused, what the run gave, why.
  equal         everywhere, where the network was asked
  rounding      off by no more than what the rounding of weights (4 sigma) and of results (1) explains, and of halves
                what the compiler's table of a function leaves of it
  wrong         by more, or the cores disagree
  refused       by the model
  -             it was decoded and not run
"""
import math
import os
import random
import statistics
import struct
import subprocess
import sys

import onnxfile
import onnxvalue
import rknn

BASE = 0x10000
ATOM = 16
DESTINATIONS = ((0x4018, 0x401c, 1), (0x6070, 0x607c, ATOM))
EW_CFG, EW_LUT = 0x407c, 0x01004140
SAMPLES = 300
MOST_PARTS = 8
# The last bit of a half, of which the smallest are no powers of two.
HALF_BITS, HALF_LEAST = 10, -24


def run(runner, lines):
    done = subprocess.run([runner], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, check=True, encoding="ascii")
    return done.stdout.splitlines()


def commands(task):
    for target, reg, value in task.words:
        yield f"word {target << 48 | value << 16 | reg:x}"


def decode(runner, file):
    """How many programs there are, and why some were refused."""
    refused = {}
    for tasks in file.modes:
        said = run(runner, [f"chip {file.target}", "only 1"] + [word for task in tasks for word in commands(task)])
        refused.update({task.start: line for task, line in zip(tasks, said)})
    return len(refused), [line.split(" ", 1)[1] for line in refused.values() if line != "runs"]


def written(file, layer):
    return [file.tensors[nth] for nth in file.layers[layer].outputs]


def find_strides(file):
    """Surfaces of tensors may be larger than their planes."""
    for task in file.modes[0]:
        for address, stride, unit in DESTINATIONS:
            for tensor in written(file, task.layer):
                if task.register(address) == tensor.address:
                    tensor.stride = task.register(stride) // unit


class Input:
    """Random elements, as they are in memory and as the network sees them, in a part of their range."""

    def __init__(self, file, tensor, part):
        self.tensor = tensor
        _, channels, height, width = tensor.shape
        if tensor.type == rknn.HALF:
            self.planes = [[onnxvalue.half(random.uniform(-1, 1)) for _ in range(height * width)]
                           for _ in range(channels)]
            self.data = tensor.put(self.planes)
            return
        low, high = (tensor.zero + (end - tensor.zero) // part for end in (-128, 127))
        self.planes = [[random.randint(low, high) for _ in range(height * width)] for _ in range(channels)]
        reader = next(task for task in file.modes[0] if task.register(0x1088) == tensor.address or
                      tensor.address in (task.register(0x5018), task.register(0x5038), task.register(0x701c)))
        if not reader.register(0x100c) >> 12 & 15:
            self.data = tensor.put(self.planes)
            return
        # Pixels of an image, of which the converter makes what the network takes; beyond its range that wraps.
        pixels = []
        for c in range(channels):
            scale = reader.register(0x104c + c // 2 * 4) >> c % 2 * 16 & 0xffff
            shift = reader.register(0x1048) >> 4 + 6 * c & 0x3f
            most = min(255, 255 * (1 << shift) // scale)
            pixels.append([random.randint(0, most) for _ in range(height * width)])
            self.planes[c] = [round(value * scale / (1 << shift)) - 128 for value in pixels[c]]
        self.data = tensor.put(pixels)

    def at(self, place):
        c, y, x = place
        return self.tensor.real(self.planes[c][y * self.tensor.shape[3] + x])


class Output:
    def __init__(self, tensor, data):
        self.tensor, self.planes = tensor, tensor.planes(data)

    def raw(self, place):
        c, y, x = place
        return self.tensor.raw(self.planes[c][y * self.tensor.shape[3] + x])

    def at(self, place):
        return self.tensor.real(self.raw(place))

    def is_full(self):
        """Bytes: whether one is at an end of their range."""
        return self.tensor.type == rknn.INT8 and any(end in plane for plane in self.planes for end in (0x80, 0x7f))


def run_mode(runner, file, tasks, inputs):
    """What each layer wrote, or why it did not."""
    lines = [f"chip {file.target}"]
    lines += [f"mem {tensor.address:x} {tensor.data.hex()}" for tensor in file.tensors if tensor.data]
    lines += [f"mem {one.tensor.address:x} {one.data.hex()}" for one in inputs]
    shown = []
    for nth, task in enumerate(tasks):
        lines += commands(task)
        if nth + 1 == len(tasks) or tasks[nth + 1].layer != task.layer:
            shown += written(file, task.layer)
            lines += [f"show {tensor.address:x} {tensor.extent():x}" for tensor in written(file, task.layer)]
    said = run(runner, lines)
    refused = [line.split(" ", 1)[1] for line in said if " " in line]
    if refused:
        return None, refused[0]
    data = [bytes.fromhex(line) for line in said if line != "runs"]
    return [Output(*pair) for pair in zip(shown, data)], None


class Count:
    def __init__(self):
        self.equal = self.near = self.asked = 0
        self.worst = 0.0
        self.where = ""

    def take(self, off, allowed, name):
        self.asked += 1
        self.equal += not off
        self.near += off <= allowed
        if off > self.worst:
            self.worst, self.where = off, name

    def verdict(self):
        return "equal" if self.equal == self.asked else "rounding" if self.near == self.asked else "wrong"


def step_of_half(value):
    return 2.0 ** max(math.frexp(value)[1] - 1 - HALF_BITS, HALF_LEAST)


def signed(value, bits=32):
    half = 1 << bits - 1
    return (value & 2 * half - 1 ^ half) - half


class Table:
    """A function of what a convolution of halves gives, as a task looks it up."""

    def __init__(self, file, task):
        reg = task.register
        record = next(tensor.data[reg(0x5030) - tensor.address:] for tensor in file.tensors
                      if tensor.data and tensor.address <= reg(0x5030) < tensor.address + len(tensor.data))
        self.addend, = struct.unpack_from("<f", record)
        self.factor, = struct.unpack_from("<e", record, 32)
        self.unit = 2.0 ** -(reg(0x40b4) >> 12 & 0xff)
        self.scale = signed(reg(0x40b0), 16) / (1 << (reg(0x40b4) & 0x3f))
        self.offset = signed(reg(0x40ac))
        self.step = 1 << (reg(0x410c) >> 16 & 0xff)
        self.ends = signed(reg(0x4110)), signed(reg(0x4140))
        self.lines = [(signed(reg(at), 16), signed(reg(slope), 16) / (1 << (reg(shift) & 0xff)))
                      for at, slope, shift in ((0x418c, 0x4150, 0x4160), (0x4194, 0x4170, 0x4184))]

    def _between(self, act, index):
        """What is there at @index, of entries that are as they should be."""
        for end, (at, slope), outside in zip(self.ends, self.lines, (index < self.ends[0], index > self.ends[1])):
            if outside:
                return (at + (index - end) * slope) * self.scale * self.unit
        low = math.floor(index / self.step) * self.step
        parts = [act(at / self.factor - self.addend) for at in (low, low + self.step)]
        return parts[0] + (parts[1] - parts[0]) * (index - low) / self.step

    def error(self, act, x, x_error):
        """By how much @act(@x) may be off.

        The factor is a half, and places are integers. Entries are the nearest integers, what is between them is cut
        (row lut.interpolation), and the result is the nearest integer. The offset is in no entry: those of 0 are 0.
        """
        x_error += 0.5 / self.factor + abs(x + self.addend) * 2 ** -(HALF_BITS + 1)
        moved = max(abs(act(x + part) - act(x)) for part in (-x_error, x_error))
        lost = abs(self._between(act, (x + self.addend) * self.factor) - act(x))
        codes = 0.5 + 1
        return moved + lost + (codes * self.scale + 0.5 + abs(self.offset)) * self.unit


def table_of(file, tensor):
    for task in file.modes[0]:
        if tensor.type == rknn.HALF and task.register(EW_CFG) == EW_LUT and \
                task.register(DESTINATIONS[0][0]) == tensor.address:
            return Table(file, task)
    return None


def expect(values, tensor, table, place):
    """The element, and by how much it may be off."""
    value, variance = values.value(tensor.name, place)
    if not table:
        return value, 4 * math.sqrt(variance)
    conv = values.convolution(tensor.name)
    x, variance = values.value(conv, place)

    def act(v):
        return values.if_known(conv, v).value(tensor.name, place)[0]

    return value, table.error(act, x, 4 * math.sqrt(variance))


def compare(count, output, values, hidden, table):
    """@hidden: what may be lost in tensors between that the network does not have."""
    tensor = output.tensor
    for _ in range(SAMPLES):
        place = tuple(random.randrange(size) for size in tensor.shape[1:])
        value, error = expect(values, tensor, table, place)
        error += hidden
        got = output.raw(place)
        if tensor.type == rknn.HALF:
            want = onnxvalue.half(value)
            step = step_of_half(max(abs(got), abs(want)))
        else:
            want = min(max(round(value / tensor.scale) + tensor.zero, -128), 127)
            step = tensor.scale
        off = abs(got - want) / (step if tensor.type == rknn.HALF else 1)
        count.take(off, 1 + error / step, tensor.name)


def run_modes(runner, file, part):
    inputs = [Input(file, tensor, part) for tensor in file.inputs]
    modes = []
    for tasks in file.modes:
        outputs, why = run_mode(runner, file, tasks, inputs)
        if why:
            return inputs, modes, why
        modes.append(outputs)
    return inputs, modes, None


def is_hidden(output, graph):
    """A tensor that only the compiler has."""
    return output.tensor.name not in graph.maker


def run_network(runner, file, graph):
    """A verdict, and what is to say about it."""
    halves = all(tensor.type == rknn.HALF for tensor in file.inputs)
    if any(tensor.type not in (rknn.INT8, rknn.HALF) for tensor in file.inputs):
        return "-", "input that is neither bytes nor halves"
    find_strides(file)
    part = 1
    inputs, modes, why = run_modes(runner, file, part)
    # What is lost where a tensor between ends is not to be known; compilers know their range from other input.
    while not why and part < MOST_PARTS and any(is_hidden(one, graph) and one.is_full() for one in modes[0]):
        part *= 2
        inputs, modes, why = run_modes(runner, file, part)
    if why:
        return "refused", why
    values = onnxvalue.Values(graph, halves)
    for one in inputs:
        values.know(one.tensor.name, one.tensor.shape[1:], one.at)
    count, hidden, layers = Count(), 0.0, 0
    for parts in zip(*modes):
        output = parts[0]
        if any(part.planes != output.planes for part in parts[1:]):
            return "wrong", f"programs for different cores disagree about {output.tensor.name}"
        if is_hidden(output, graph):
            # 4 sigma of its rounding.
            hidden += 4 / math.sqrt(12) * (output.tensor.scale or 0)
            continue
        compare(count, output, values, hidden, table_of(file, output.tensor))
        values.know(output.tensor.name, output.tensor.shape[1:], output.at)
        hidden, layers = 0.0, layers + 1
    if not count.asked:
        return "-", "no tensor of the network's"
    many = f" in {layers} layers" if layers > 1 else ""
    worst = f"{count.worst:.0f} steps off at most"
    if layers > 1 and count.worst > 1:
        worst += f", in {count.where}"
    return count.verdict(), f"{count.equal} of {count.asked} equal{many}, {worst}"


def find_twin(path):
    names = path[:-5] + ".onnx", path.replace("_rk3576.rknn", ".onnx")
    return next((name for name in names if name != path and os.path.exists(name)), None)


class Reader:
    """How a file's first layer takes an input, of its chip or its twin of the RK3588."""
    OFF = 1

    def __init__(self, file, tensor):
        old = file.target == "rk3588"
        reads, converts, line = (0x1070, 0x104c, 0x107c) if old else (0x1088, 0x1048, 0x1090)
        tasks = next(mode for mode in file.modes if mode)
        task = next((task for task in tasks if task.register(reads) == tensor.address), None)
        _, channels, _, width = tensor.shape
        self.signed = not task or task.register(converts) & self.OFF
        self.line = width * channels * tensor.bytes_each
        self.pitch = self.line
        if task:
            unit = channels * tensor.bytes_each if old else ATOM
            self.pitch = max(self.line, task.register(line) * unit)

    def stored(self, raw):
        """Lines of @raw, which is without gaps and without a sign."""
        raw = bytes(value ^ 0x80 for value in raw) if self.signed else raw
        return b"".join(raw[at:at + self.line].ljust(self.pitch, b"\0") for at in range(0, len(raw), self.line))


def any_input(tensor, part):
    most = 256 // part if tensor.type == rknn.INT8 else 60
    return bytes(random.randrange(most) for _ in range(math.prod(tensor.shape) * tensor.bytes_each))


def given(file, data):
    """Memory with constants and inputs, bytes as the first layer takes them."""
    lines = [f"mem {tensor.address:x} {tensor.data.hex()}" for tensor in file.tensors if tensor.data]
    for name, raw in data.items():
        tensor = file.named(name)
        reader = Reader(file, tensor)
        reader.signed = reader.signed and tensor.type == rknn.INT8
        lines.append(f"mem {tensor.address:x} {reader.stored(raw).hex()}")
    return lines


def made(runner, lines, tensors):
    """Those that @lines show; None if a program was refused."""
    said = run(runner, lines)
    if any(" " in line for line in said):
        return None
    return [Output(*pair) for pair in zip(tensors, (bytes.fromhex(line) for line in said if line != "runs"))]


def show(tensors):
    return [f"show {tensor.address:x} {tensor.extent():x}" for tensor in tensors]


def run_twin(runner, file, data):
    tasks = next(mode for mode in file.modes if mode)
    lines, shown = ["chip rk3588"] + given(file, data), []
    for nth, task in enumerate(tasks):
        lines += commands(task)
        if nth + 1 == len(tasks) or tasks[nth + 1].layer != task.layer:
            shown += written(file, task.layer)
            lines += show(written(file, task.layer))
    outputs = made(runner, lines, shown)
    return outputs and {one.tensor.name: one for one in outputs}


def as_stored(tensor, one):
    """The planes of the twin's tensor with this one's scale."""
    if tensor.type == rknn.HALF:
        return [[tensor.raw(value) for value in plane] for plane in one.planes]
    if same_scale(tensor, one.tensor):
        return one.planes
    return [[min(max(round(one.tensor.real(one.tensor.raw(value)) / tensor.scale) + tensor.zero, -128), 127)
             for value in plane] for plane in one.planes]


def run_layer(runner, file, tasks, data, twins):
    """What one layer alone makes of the twin's tensors."""
    lines = [f"chip {file.target}"] + given(file, data)
    for tensor in (file.tensors[nth] for nth in file.layers[tasks[0].layer].inputs):
        if tensor.name in twins:
            planes = as_stored(tensor, twins[tensor.name])
            lines.append(f"mem {tensor.address:x} {tensor.put(planes).hex()}")
    for task in tasks:
        lines += commands(task)
    outputs = written(file, tasks[0].layer)
    return made(runner, lines + show(outputs), outputs)


def steps(tensor, a, b):
    a, b = tensor.raw(a), tensor.raw(b)
    return abs(a - b) / (step_of_half(max(abs(a), abs(b))) if tensor.type == rknn.HALF else 1)


def same_scale(one, other):
    return (one.scale, one.zero) == (other.scale, other.zero)


def correlation(one, other):
    a, b = ([x.tensor.real(x.tensor.raw(value)) for plane in x.planes for value in plane] for x in (one, other))
    return statistics.correlation(a, b)


def judge_scaled(runner, file, layers, data, twin):
    """A file with other scales than its twin's. Far from the ends of their ranges, which are others."""
    twins = run_twin(runner, twin, data)
    mine = {}
    for name, raw in data.items():
        tensor, other = file.named(name), twin.named(name)
        mine[name] = bytes(min(255, round(value * other.scale / tensor.scale)) for value in raw)
    least = 1.0
    for layer in layers if twins else ():
        outputs = run_layer(runner, file, [task for task in file.modes[0] if task.layer == layer], mine, twins)
        if outputs is None:
            return "-", "other scales than on the RK3588"
        least = min([least] + [correlation(one, twins[one.tensor.name]) for one in outputs])
    return "-", f"other scales than on the RK3588, with which each layer correlates by {least:.4f} at least"


def layer_off(runner, file, layer, data, twins):
    """By how many steps a layer is off at most, for any core; None if it is refused."""
    off = 0.0
    for mode in file.modes:
        outputs = run_layer(runner, file, [task for task in mode if task.layer == layer], data, twins)
        if outputs is None:
            return None
        for one in outputs:
            for plane, other in zip(one.planes, twins[one.tensor.name].planes):
                off = max([off] + [steps(one.tensor, a, b) for a, b in zip(plane, other) if a != b])
    return off


def judge_layers(runner, file, twin):
    layers = sorted({task.layer for task in file.modes[0]})
    shared = [(tensor, twin.named(tensor.name)) for tensor in file.tensors if tensor.name and tensor.scale]
    scaled = any(other and not same_scale(tensor, other) for tensor, other in shared)
    data = {tensor.name: any_input(tensor, 4 if scaled else 1) for tensor in file.inputs}
    if scaled:
        return judge_scaled(runner, file, layers, data, twin)
    twins = run_twin(runner, twin, data)
    if not twins:
        return "-", "the RK3588's programs do not run"
    off = {layer: layer_off(runner, file, layer, data, twins) for layer in layers}
    ran = [steps for steps in off.values() if steps is not None]
    if not ran:
        return "refused", ""
    kinds = ", ".join(sorted({file.layers[layer].kind for layer in layers if off[layer] is None}))
    verdict = "equal" if not max(ran) else "rounding" if max(ran) <= 1 else "wrong"
    why = f"{ran.count(0)} of {len(layers)} layers as on the RK3588, {max(ran):.0f} steps off at most"
    return verdict, why + (f"; {len(layers) - len(ran)} refused: {kinds}" if kinds else "")


def judge(runner, path):
    with open(path, "rb") as f:
        file = rknn.File(f.read(), BASE)
    random.seed(os.path.basename(path))
    programs, refused = decode(runner, file)
    twin = find_twin(path)
    elsewhere = [layer.kind for layer in file.layers if not layer.on_npu and not layer.kind.endswith("Operator")]
    verdict, why = "-", ""
    other = os.path.join(os.path.dirname(os.path.dirname(path)), "RK3588", os.path.basename(path))
    if not programs:
        why = "no program"
    elif os.path.exists(other):
        with open(other, "rb") as f:
            verdict, why = judge_layers(runner, file, rknn.File(f.read(), BASE))
    elif not twin:
        why = "no network beside it"
    else:
        with open(twin, "rb") as f:
            graph = onnxfile.Graph(f.read())
        try:
            verdict, why = run_network(runner, file, graph)
        except onnxvalue.CannotTell as e:
            why = str(e)
    reasons = "; ".join(f"{refused.count(reason)} {reason}" for reason in sorted(set(refused)))
    cpu = ", ".join(elsewhere) + " is the CPU's" if elsewhere else ""
    if verdict == "refused" and why in refused:
        why = ""
    return programs, len(refused), verdict, "; ".join(filter(None, (why, cpu, reasons)))


def main():
    runner, *folders = sys.argv[1:]
    print("network\tprograms\trefused\tresult\twhy")
    for folder in folders:
        paths = sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
                       if name.endswith(".rknn") and os.path.basename(at) != "RK3588")
        for path in paths:
            print(os.path.relpath(path, folder)[:-5], *judge(runner, path), sep="\t", flush=True)


main()
