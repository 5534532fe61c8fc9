#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes a model of whisper.cpp's own format with the shape of a real one, few layers and seeded random weights; or a sound.

Random weights would never end a text: from the position END on, positional embeddings point at the token that does.
"""

import argparse
import array
import math
import random
import struct
import sys
import wave

from noise import Noise

# Of the model "tiny" for English: width, heads, frames after the convolutions, tokens, mel bands.
WIDTH, HEADS, FRAMES, TOKENS, MELS = 384, 6, 1500, 448, 80
# whisper.cpp knows these by their numbers: words, then the end of text, languages, tasks and times.
WORDS, VOCABULARY, END_OF_TEXT = 50256, 51864, 50256
MAGIC = 0x67676d6c
# Tensor types, and what a model's header says of its matrices: the latter of q8_0 with the version of quantised blocks.
F32, F16, Q8_0 = 0, 1, 8
TYPES = {"f16": (F16, 1), "q8_0": (Q8_0, 2007)}
RATE, FFT = 16000, 400
END = 10
SYLLABLES = [c + v for c in "bcdfghjklmnpqrstvwxz" for v in "aeiou"]


def mel_bands():
    """Triangles of equal width on the mel scale, over the bins of the Fourier transform."""
    bins = FFT // 2 + 1

    def mel(hz):
        return 2595 * math.log10(1 + hz / 700)

    edges = [700 * (10 ** (mel(RATE / 2) * i / (MELS + 1) / 2595) - 1) for i in range(MELS + 2)]
    table = array.array("f")
    for low, top, high in zip(edges, edges[1:], edges[2:]):
        for i in range(bins):
            hz = i * RATE / FFT
            table.append(max(0, min((hz - low) / (top - low), (high - hz) / (high - top))) * 2 / (high - low))
    return struct.pack("<ii", MELS, bins) + table.tobytes()


def word(i):
    n = len(SYLLABLES)
    return " " + SYLLABLES[i // n // n % n] + SYLLABLES[i // n % n] + SYLLABLES[i % n]


def vocabulary():
    """A space, which whisper.cpp looks for, and other words."""
    words = [" ", *(word(i) for i in range(1, WORDS))]
    return struct.pack("<i", WORDS) + b"".join(struct.pack("<i", len(w)) + w.encode() for w in words)


def row(kind, data, index):
    """The numbers of a row of the model's width."""
    if kind == F16:
        return struct.unpack_from(f"<{WIDTH}e", data, index * WIDTH * 2)
    blocks = struct.iter_unpack("<e32b", data[index * WIDTH // 32 * 34:(index + 1) * WIDTH // 32 * 34])
    return [block[0] * q for block in blocks for q in block[1:]]


class Model:
    def __init__(self, out, kind, seed):
        self.out = out
        self.kind = kind
        self.noise = Noise(seed)

    def tensor(self, name, kind, shape, data):
        self.out.write(struct.pack(f"<iii{len(shape)}i", len(shape), len(name), kind, *shape) + name.encode() + data)

    def matrix(self, kind, n, deviation):
        return (self.noise.f16 if kind == F16 else self.noise.q8_0)(n, deviation)

    def vector(self, name, mean, deviation, shape=(WIDTH,)):
        self.tensor(name, F32, shape, self.noise.f32(math.prod(shape), mean, deviation))

    def norm(self, name):
        self.vector(name + ".weight", 1, 0.1)
        self.vector(name + ".bias", 0, 0.1)

    def linear(self, name, rows, shape=(WIDTH,), bias=True, bias_shape=None):
        columns = math.prod(shape)
        # Of convolutions whisper.cpp has halves alone.
        kind = self.kind if len(shape) == 1 else F16
        self.tensor(name + ".weight", kind, (*shape, rows), self.matrix(kind, columns * rows, 1 / math.sqrt(columns)))
        if bias:
            self.vector(name + ".bias", 0, 0.1, bias_shape or (rows,))

    def attention(self, at, name):
        self.norm(f"{at}.{name}_ln")
        for part in ("query", "key", "value", "out"):
            self.linear(f"{at}.{name}.{part}", WIDTH, bias=part != "key")

    def mlp(self, at):
        self.norm(at + ".mlp_ln")
        self.linear(at + ".mlp.0", 4 * WIDTH)
        self.linear(at + ".mlp.2", WIDTH, (4 * WIDTH,))

    def encoder(self, layers):
        self.vector("encoder.positional_embedding", 0, 0.5, (WIDTH, FRAMES))
        self.linear("encoder.conv1", WIDTH, (3, MELS), bias_shape=(1, WIDTH))
        self.linear("encoder.conv2", WIDTH, (3, WIDTH), bias_shape=(1, WIDTH))
        for i in range(layers):
            self.attention(f"encoder.blocks.{i}", "attn")
            self.mlp(f"encoder.blocks.{i}")
        self.norm("encoder.ln_post")

    def decoder(self, layers):
        # The words' logits have a standard deviation of 3.
        words = self.matrix(self.kind, VOCABULARY * WIDTH, 3 / math.sqrt(WIDTH))
        end = row(self.kind, words, END_OF_TEXT)
        self.tensor("decoder.token_embedding.weight", self.kind, (WIDTH, VOCABULARY), bytes(words))
        places = self.noise.f32(END * WIDTH, 0, 2) + array.array("f", [100 * x for x in end]).tobytes() * (TOKENS - END)
        self.tensor("decoder.positional_embedding", F32, (WIDTH, TOKENS), places)
        for i in range(layers):
            self.attention(f"decoder.blocks.{i}", "attn")
            self.attention(f"decoder.blocks.{i}", "cross_attn")
            self.mlp(f"decoder.blocks.{i}")
        self.norm("decoder.ln")


def sound(path, seconds, seed):
    """Tones that slide and swell, and a little noise."""
    chance = random.Random(seed)
    samples = array.array("h")
    for i in range(int(seconds * RATE)):
        t = i / RATE
        swell = 0.5 + 0.5 * math.sin(9 * t)
        tones = sum(math.sin(2 * math.pi * (f + 90 * t) * t) / k for k, f in enumerate((180, 540, 1300, 2600), 1))
        samples.append(int(6000 * swell * tones / 2 + chance.gauss(0, 200)))
    if sys.byteorder == "big":
        samples.byteswap()
    with wave.open(path, "wb") as w:
        w.setparams((1, 2, RATE, 0, "NONE", ""))
        w.writeframes(samples.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=2, help="of the encoder, and of the decoder")
    parser.add_argument("--type", choices=TYPES, default="f16", help="of the matrices")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sound", type=float, metavar="SECONDS", help="write a WAV file of that length, instead of a model")
    parser.add_argument("out")
    args = parser.parse_args()
    if args.sound:
        sound(args.out, args.sound, args.seed)
        return
    kind, header = TYPES[args.type]
    with open(args.out, "wb") as out:
        out.write(struct.pack("<12i", MAGIC, VOCABULARY, FRAMES, WIDTH, HEADS, args.layers, TOKENS, WIDTH, HEADS,
                              args.layers, MELS, header))
        out.write(mel_bands() + vocabulary())
        model = Model(out, kind, args.seed)
        model.encoder(args.layers)
        model.decoder(args.layers)


if __name__ == "__main__":
    main()
