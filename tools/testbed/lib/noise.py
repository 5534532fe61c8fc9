# SPDX-License-Identifier: GPL-2.0-only
"""Seeded random weights in ggml's formats, for models that have the shape of a real one."""

import array
import math
import random
import struct


def half(x):
    return struct.pack("<e", x)


class Noise:
    """Blocks of random weights, mean 0 and a standard deviation near 1 / sqrt(columns): sums stay in proportion."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def scaled(self, blocks, size, at, value):
        """Random blocks with a half at AT that is near VALUE: only the lower byte of it stays random."""
        data = bytearray(self.random.randbytes(blocks * size))
        for offset, number in zip(at, value):
            data[offset + 1::size] = half(number)[1:] * blocks
        return data

    def f16(self, n, deviation):
        # Uniform: each exponent below the highest is half as likely.
        top = 15 + math.floor(math.log2(deviation * math.sqrt(3)))
        table = bytearray(256)
        for byte in range(256):
            steps = (byte >> 2 & 31 | 32)
            lower = (steps & -steps).bit_length() - 1
            table[byte] = byte & 0x80 | max(top - lower, 0) << 2 | byte & 3
        data = bytearray(self.random.randbytes(2 * n))
        data[1::2] = data[1::2].translate(bytes(table))
        return data

    def halves(self, n, deviation):
        """The numbers of f16(), as floats."""
        return array.array("f", struct.unpack(f"<{n}e", self.f16(n, deviation)))

    def q8_0(self, n, deviation):
        return self.scaled(n // 32, 34, (0,), (deviation / 73.9,))

    def q4_0(self, n, deviation):
        return self.scaled(n // 32, 18, (0,), (deviation / 4.61,))

    def q5_0(self, n, deviation):
        return self.scaled(n // 32, 22, (0,), (deviation / 9.23,))

    def q4_K(self, n, deviation):
        # Scales and minima have six bits, weights four: 7.5 is the weights' mean, which the minima take away.
        return self.scaled(n // 256, 144, (0, 2), (deviation / 258, 7.5 * deviation / 258))

    def q6_K(self, n, deviation):
        # Scales are signed bytes, weights six bits less 32.
        return self.scaled(n // 256, 210, (208,), (deviation / 1366,))

    def f32(self, n, mean, deviation):
        values = array.array("f", (self.random.gauss(mean, deviation) for _ in range(n)))
        return values.tobytes()
