# SPDX-License-Identifier: GPL-2.0-only
"""GGUF files: metadata, tensors of seeded random numbers, and a vocabulary of our own."""

import math
import struct

from noise import Noise

VOCABULARY = 1024
CONTEXT = 2048
ALIGNMENT = 32

# GGUF's numbers of value types and of tensor types, and what a block of the latter takes: elements, bytes.
U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5
TENSORS = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q5_0": (6, 32, 22), "q8_0": (8, 32, 34),
           "q4_K": (12, 256, 144), "q6_K": (14, 256, 210)}


class Model:
    def __init__(self, seed):
        self.noise = Noise(seed)
        self.metadata = []
        self.tensors = []

    # ---- metadata ----

    @staticmethod
    def string(text):
        raw = text.encode()
        return struct.pack("<Q", len(raw)) + raw

    def put(self, key, kind, value):
        pack = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}
        one = self.string if kind == STRING else lambda v: struct.pack(pack[kind], v)
        head = self.string(key)
        if isinstance(value, list):
            head += struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(map(one, value))
        else:
            head += struct.pack("<I", kind) + one(value)
        self.metadata.append(head)

    # ---- tensors ----

    def tensor(self, name, kind, shape, data):
        self.tensors.append((name, TENSORS[kind][0], shape, data))

    def vector(self, name, n, mean, deviation):
        self.tensor(name, "f32", [n], self.noise.f32(n, mean, deviation))

    def matrix(self, name, kind, columns, rows, gain=1.0):
        # As llama-quantize does where a row does not hold whole blocks.
        if columns % TENSORS[kind][1]:
            kind = "q5_0"
        data = getattr(self.noise, kind)(columns * rows, gain / math.sqrt(columns))
        self.tensor(name, kind, [columns, rows], data)

    def again(self, prefix, other):
        """The tensors whose names begin with PREFIX once more, with OTHER instead."""
        self.tensors += [(other + name.removeprefix(prefix), *rest) for name, *rest in self.tensors if name.startswith(prefix)]

    def write(self, path):
        info, data, at = b"", [], 0
        for name, kind, shape, raw in self.tensors:
            info += self.string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
            info += struct.pack("<IQ", kind, at)
            data += [raw, bytes(-len(raw) % ALIGNMENT)]
            at += len(raw) + -len(raw) % ALIGNMENT
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.metadata)) + b"".join(self.metadata) + info
        with open(path, "wb") as f:
            f.write(head + bytes(-len(head) % ALIGNMENT))
            f.writelines(data)


def byte_characters():
    """The printable character that byte-pair vocabularies have for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b if b in plain else next(others)) for b in range(256)]


def vocabulary():
    """Bytes, syllables, words of two, and what ends a text; with the merges that make them."""
    syllables = [(c, v) for c in "bcdfghjklmnpqrstvwxz" for v in "aeiou"]
    merges = [f"{c} {v}" for c, v in syllables]
    words = [a + b for a, b in syllables]
    pairs = [(a, b) for a in words for b in words][:VOCABULARY - 256 - len(words) - 1]
    merges += [f"{a} {b}" for a, b in pairs]
    return [*byte_characters(), *words, *(a + b for a, b in pairs), "<|endoftext|>"], merges


def put_vocabulary(model):
    tokens, merges = vocabulary()
    model.put("tokenizer.ggml.model", STRING, "gpt2")
    model.put("tokenizer.ggml.pre", STRING, "qwen2")
    model.put("tokenizer.ggml.tokens", STRING, tokens)
    model.put("tokenizer.ggml.token_type", I32, [1] * (len(tokens) - 1) + [3])
    model.put("tokenizer.ggml.merges", STRING, merges)
    model.put("tokenizer.ggml.eos_token_id", U32, len(tokens) - 1)
    model.put("tokenizer.ggml.bos_token_id", U32, len(tokens) - 1)
    model.put("tokenizer.ggml.add_bos_token", BOOL, False)
