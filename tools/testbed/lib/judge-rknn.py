#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Programs stored in .rknn files of the RK3576 against the networks that they come from: judge-rknn.py RUNNER DIR...

Every program of every file is decoded. A file that has one convolution of bytes beside it as NAME.onnx (or
NAME_rk3576.rknn beside NAME.onnx) is run as well, on random input: for core 0, for core 1 and as two halves, which must
agree with each other, and at some positions with the network in floats.

Prints a table: the file's network, its programs, how many were refused, what the run gave, why.
  equal         everywhere, where the network was asked
  rounding      off by no more than what the rounding of weights (4 sigma) and of the output (1) explains
  wrong         by more, or the cores disagree
  -             it was decoded and not run
"""
import ast
import math
import os
import random
import struct
import subprocess
import sys

BLOCKS = {0x0101: 0, 0x0201: 1, 0x0801: 3, 0x1001: 4, 0x2001: 5, 0x4001: 6, 0x8001: 7}
ENABLE, MARKER = 0x0081, 0x0041
ATOM = 16
X, W, BS, WORD, Y = 0x10100000, 0x10900000, 0x11100000, 0x11180000, 0x11200000
# Addresses, of which a file has what lies beyond the start of a tensor.
BASES = {0x1088: X, 0x1110: W, 0x5020: BS, 0x5024: WORD, 0x4018: Y}
SAMPLES = 300


def programs(data):
    """Programs, each a list of (target, register, value), of which the last starts it."""
    found, words = [], []
    for (word,) in struct.iter_unpack('<Q', data[:len(data) // 8 * 8]):
        target, reg, value = word >> 48, word & 0xffff, word >> 16 & 0xffffffff
        if BLOCKS.get(target) == reg >> 12 and reg % 4 == 0 or target == MARKER:
            words.append((target, reg, value))
        elif target == ENABLE and reg == 8:
            if words:
                found.append(words + [(target, reg, value)])
            words = []
        elif word:
            words = []
    return found


def blobs(data):
    """The byte vectors of the file, in order."""
    at = 0x40

    def u16(where):
        return struct.unpack_from('<H', data, where)[0]

    def follow(where):
        return where + struct.unpack_from('<I', data, where)[0]

    def field(table, nth):
        fields = table - struct.unpack_from('<i', data, table)[0]
        if 4 + 2 * nth >= u16(fields) or not u16(fields + 4 + 2 * nth):
            return None
        return table + u16(fields + 4 + 2 * nth)

    vector = follow(field(follow(at), 20))
    out = []
    for i in range(struct.unpack_from('<I', data, vector)[0]):
        where = field(follow(vector + 4 + 4 * i), 0)
        if where is None:
            out.append(b'')
            continue
        start = follow(where)
        out.append(data[start + 4:start + 4 + struct.unpack_from('<I', data, start)[0]])
    return out


def quantisation(data):
    """Scale and zero point of each tensor, from the range that the file names."""
    at = data.find(b"{'attrs'")
    table = ast.literal_eval(data[at:data.index(b'\0', at)].decode())
    out = {}
    for name, row in table['quant_tab'].items():
        low, high = min(row['min'][0], 0), max(row['max'][0], 0)
        scale = (high - low) / 255
        out[name] = scale, round(-128 - low / scale)
    names = sorted(table['attrs'].items(), key=lambda item: item[1]['idx'])
    ends = [[(name, out.get(name), row['shape']) for name, row in names if row['is_output'] == is_output]
            for is_output in (False, True)]
    return ends


def messages(data):
    """Fields of a protocol buffer."""
    def number(at):
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            shift += 7
            at += 1
            if not data[at - 1] & 0x80:
                return value, at

    at = 0
    while at < len(data):
        key, at = number(at)
        if key & 7 == 0:
            value, at = number(at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = number(at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def numbers(values):
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
        else:
            out += [v for _, v in messages(b''.join(b'\x08' + bytes([b]) for b in value))]
    return out


def tensor(data):
    rows = list(messages(data))
    dims = numbers([v for k, v in rows if k == 1])
    raw = b''.join(v for k, v in rows if k in (9, 4))
    name = next((v.decode() for k, v in rows if k == 8), '')
    kind = next((v for k, v in rows if k == 2), 0)
    return name, dims, list(struct.unpack(f'<{len(raw) // 4}f', raw)) if kind == 1 else []


class Twin:
    """One convolution, in floats."""

    def __init__(self, path):
        with open(path, 'rb') as f:
            graph = next(v for k, v in messages(f.read()) if k == 7)
        rows = list(messages(graph))
        nodes = [list(messages(v)) for k, v in rows if k == 1]
        kinds = [next(v.decode() for k, v in node if k == 4) for node in nodes]
        if kinds not in (['Conv'], ['Conv', 'Relu']):
            raise ValueError('not one convolution')
        self.relu = len(kinds) > 1
        known = {name: (dims, values) for name, dims, values in (tensor(v) for k, v in rows if k == 5)}
        inputs = [v.decode() for k, v in nodes[0] if k == 1]
        attributes = {}
        for value in (v for k, v in nodes[0] if k == 5):
            parts = list(messages(value))
            name = next(v.decode() for k, v in parts if k == 1)
            attributes[name] = numbers([v for k, v in parts if k in (3, 8)])
        self.dims, self.weights = known[inputs[1]]
        self.bias = known[inputs[2]][1] if len(inputs) > 2 else [0] * self.dims[0]
        self.strides = attributes.get('strides', [1, 1])
        self.pads = attributes.get('pads', [0, 0, 0, 0])
        self.group = attributes.get('group', [1])[0]
        if attributes.get('dilations', [1, 1]) != [1, 1]:
            raise ValueError('dilation')

    def at(self, x, height, width, o, oy, ox):
        """The result, and the sum of squares of what it came from."""
        kernels, channels, rows, columns = self.dims
        first = o // (kernels // self.group) * channels
        total, squares = self.bias[o], 0.0
        for c in range(channels):
            plane = x[first + c]
            for ky in range(rows):
                y = oy * self.strides[0] + ky - self.pads[0]
                if not 0 <= y < height:
                    continue
                for kx in range(columns):
                    column = ox * self.strides[1] + kx - self.pads[1]
                    if 0 <= column < width:
                        value = plane[y * width + column]
                        total += value * self.weights[((o * channels + c) * rows + ky) * columns + kx]
                        squares += value * value
        return max(total, 0) if self.relu else total, squares

    def step(self, o):
        """A step of a kernel's weights."""
        size = len(self.weights) // self.dims[0]
        return max(map(abs, self.weights[o * size:(o + 1) * size])) / 127


def run(runner, lines):
    done = subprocess.run([runner], input='\n'.join(lines) + '\n', stdout=subprocess.PIPE, check=True, encoding='ascii')
    return done.stdout.splitlines()


def words(program, patch):
    for target, reg, value in program:
        if patch and reg in BASES and target in (0x0201, 0x1001, 0x2001):
            value += BASES[reg]
        yield f'word {target << 48 | value << 16 | reg:x}'


def by_core(found):
    """The same network for core 0, for core 1, and in halves."""
    sets = {}
    for program in found:
        if register(program, 0x1038) >> 30 & 1:
            # It only orders the cores.
            continue
        bank = next((v & 0xff for _, reg, v in program if reg == 0x1018), 0)
        pair = program[-1][2] >> 24 & 1
        sets.setdefault('halves' if pair else f'core {int(bank > 7)}', []).append(program)
    return sets


def register(program, wanted):
    return next((v for _, reg, v in program if reg == wanted), 0)


def compare(outputs, twin, x, ends, shape):
    """Differences from the network, in steps of the output, and how many of them can be explained."""
    (_, (in_scale, in_zero), in_shape), (_, (scale, zero), _) = ends[0][0], ends[1][0]
    kernels, height, width, stride = shape
    out = next(iter(outputs.values()))
    planes = [[(v - in_zero) * in_scale for v in plane] for plane in x]
    equal = near = 0
    worst = 0
    for _ in range(SAMPLES):
        o, y, column = random.randrange(kernels), random.randrange(height), random.randrange(width)
        value, squares = twin.at(planes, in_shape[2], in_shape[3], o, y, column)
        want = min(max(round(value / scale) + zero, -128), 127)
        got = out[(o // ATOM * stride + y * width + column) * ATOM + o % ATOM]
        off = abs((got ^ 0x80) - 0x80 - want)
        equal += not off
        near += off <= 1 + 4 * twin.step(o) * math.sqrt(squares / 12) / scale
        worst = max(worst, off)
    return equal, near, worst


def run_network(runner, data, found, twin):
    """A verdict, and what is to say about it."""
    ends = quantisation(data)
    if len(ends[0]) != 1 or len(ends[1]) != 1 or not ends[0][0][1] or not ends[1][0][1]:
        return '-', 'tensors that are not bytes'
    stored = blobs(data)
    regs = {reg: value for _, reg, value in found[0]}
    if len(stored[1]) < regs[0x101c]:
        return '-', 'weights that are not where they are looked for'
    _, channels, height, width = ends[0][0][2]
    _, kernels, out_height, out_width = ends[1][0][2]
    x = [[random.randint(-128, 127) for _ in range(height * width)] for _ in range(channels)]
    # One blob has a halfword per channel, or one for all; the other one begins with the word.
    lengths = 2, 2 * kernels, 2 * (-(-kernels // 8) * 8)
    word = stored[4 if len(stored[3]) in lengths else 3][:4]
    packed = regs[0x100c] >> 12 & 15
    if packed:
        # Pixels of an image, of which the converter makes what the network takes.
        raw = [[value + 128 for value in plane] for plane in x]
        scales = [regs[0x104c + c // 2 * 4] >> c % 2 * 16 & 0xffff for c in range(channels)]
        shifts = [regs[0x1048] >> 4 + 6 * c & 0x3f for c in range(channels)]
        x = [[min(max(round(value * scales[c] / (1 << shifts[c])) - 128, -128), 127) for value in plane]
             for c, plane in enumerate(raw)]
    atoms = bytearray(-(-channels // ATOM) * height * width * ATOM)
    for c, plane in enumerate(raw if packed else x):
        for i, value in enumerate(plane):
            at = i * channels + c if packed else (c // ATOM * height * width + i) * ATOM + c % ATOM
            atoms[at] = value & 0xff
    outputs = {}
    stride = regs[0x401c]
    size = -(-kernels // ATOM) * stride * ATOM
    for name, parts in by_core(found).items():
        lines = ['chip rk3576', f'mem {X:x} {atoms.hex()}', f'mem {W:x} {stored[1].hex()}',
                 f'mem {BS:x} {stored[2].hex()}', f'mem {WORD:x} {word.hex()}']
        for program in parts:
            lines += words(program, True)
        said = run(runner, lines + [f'show {Y:x} {size:x}'])
        if any(line != 'runs' for line in said[:-1]):
            return 'refused', next(line for line in said if line != 'runs').split(' ', 1)[1]
        outputs[name] = bytes.fromhex(said[-1])
    real = [o // ATOM * stride * ATOM + i * ATOM + o % ATOM for o in range(kernels)
            for i in range(out_height * out_width)]
    if len({bytes(out[i] for i in real) for out in outputs.values()}) > 1:
        return 'wrong', 'programs for different cores disagree'
    equal, near, worst = compare(outputs, twin, x, ends, (kernels, out_height, out_width, stride))
    verdict = 'equal' if equal == SAMPLES else 'rounding' if near == SAMPLES else 'wrong'
    return verdict, f'{equal} of {SAMPLES} equal, {worst} steps off at most'


def judge(runner, path):
    with open(path, 'rb') as f:
        data = f.read()
    random.seed(os.path.basename(path))
    found = programs(data)
    lines = ['chip rk3576', 'only 1'] + [word for program in found for word in words(program, False)]
    said = run(runner, lines)
    refused = [line.split(' ', 1)[1] for line in said if line != 'runs']
    verdict, why = '-', ''
    twin = next((name for name in (path[:-5] + '.onnx', path.replace('_rk3576.rknn', '.onnx'))
                 if name != path and os.path.exists(name)), None)
    if twin:
        try:
            verdict, why = run_network(runner, data, found, Twin(twin))
        except ValueError as e:
            why = str(e)
    reasons = '; '.join(f'{refused.count(reason)} {reason}' for reason in sorted(set(refused)))
    return len(found), len(refused), verdict, '; '.join(filter(None, (why if verdict != 'refused' else '', reasons)))


def main():
    runner, *folders = sys.argv[1:]
    print('network\tprograms\trefused\tresult\twhy')
    for folder in folders:
        paths = sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
                       if name.endswith('.rknn'))
        for path in paths:
            print(os.path.relpath(path, folder)[:-5], *judge(runner, path), sep='\t', flush=True)


main()
