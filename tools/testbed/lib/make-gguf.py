#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes a GGUF model with the shape of a real one, few layers, a vocabulary of our own and seeded random weights."""

import argparse
import math
import random

from gguf import CONTEXT, F32, STRING, U32, VOCABULARY, Model, put_vocabulary

# Layers after so many have the numbers of others: these are soon drawn, and take memory all the same.
DIFFERENT = 4

# Of Qwen2.5's configurations: width, heads, key heads, width of the feed-forward network.
SHAPES = {"0.5b": (896, 14, 2, 4864), "1.5b": (1536, 12, 2, 8960)}


def describe(model, args, shape):
    width, heads, key_heads, inner = shape
    model.put("general.architecture", STRING, "qwen2")
    model.put("general.name", STRING, f"random weights, seed {args.seed}, shape of Qwen2.5-{args.shape}")
    for key, value in (("context_length", CONTEXT), ("embedding_length", width), ("block_count", args.layers),
                       ("feed_forward_length", inner), ("attention.head_count", heads),
                       ("attention.head_count_kv", key_heads)):
        model.put(f"qwen2.{key}", U32, value)
    model.put("qwen2.attention.layer_norm_rms_epsilon", F32, 1e-6)
    model.put("qwen2.rope.freq_base", F32, 1e6)
    put_vocabulary(model)


def fill(model, args, shape):
    width, heads, key_heads, inner = shape
    keys = width // heads * key_heads
    model.matrix("token_embd.weight", args.type, width, VOCABULARY, math.sqrt(width))
    model.vector("output_norm.weight", width, 1, 0.1)
    # Not the embedding again: a random model would only repeat its last word.
    model.matrix("output.weight", args.type, width, VOCABULARY, 3)
    for i in range(args.layers):
        at = f"blk.{i}."
        if i >= DIFFERENT:
            model.again(f"blk.{i % DIFFERENT}.", at)
            continue
        model.vector(at + "attn_norm.weight", width, 1, 0.1)
        for name, rows in (("q", width), ("k", keys), ("v", keys)):
            model.matrix(f"{at}attn_{name}.weight", args.type, width, rows)
            model.vector(f"{at}attn_{name}.bias", rows, 0, 0.1)
        model.matrix(at + "attn_output.weight", args.type, width, width)
        model.vector(at + "ffn_norm.weight", width, 1, 0.1)
        model.matrix(at + "ffn_gate.weight", args.type, width, inner)
        model.matrix(at + "ffn_up.weight", args.type, width, inner)
        model.matrix(at + "ffn_down.weight", args.type, inner, width)


def words(n, seed):
    """Text of the vocabulary's syllables."""
    chance = random.Random(seed)

    def syllables(k):
        return "".join(chance.choice("bcdfghjklmnpqrstvwxz") + chance.choice("aeiou") for _ in range(k))

    return " ".join(syllables(chance.choice((2, 4))) for _ in range(n)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="0.5b")
    parser.add_argument("--type", choices=("f16", "q8_0", "q4_0", "q4_K", "q6_K"), default="f16")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--words", type=int, help="write so many words that such models know, instead of one")
    parser.add_argument("out")
    args = parser.parse_args()
    if args.words:
        with open(args.out, "w", encoding="ascii") as f:
            f.write(words(args.words, args.seed))
        return
    model = Model(args.seed)
    describe(model, args, SHAPES[args.shape])
    fill(model, args, SHAPES[args.shape])
    model.write(args.out)


if __name__ == "__main__":
    main()
