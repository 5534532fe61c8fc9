#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes a small GGUF model of f32 with random numbers that make the trouble for halves that trained ones make."""

import argparse
import array
import dataclasses
import math

from gguf import CONTEXT, F32, STRING, U32, VOCABULARY, Model, put_vocabulary

WIDTH = 512
LAYERS = 2
BASE = 1e4
# Inferred, no model's own: what some columns of activations, and the gains of some norms, are larger by.
OUTLIERS = (20, 50, 100)
GAINS = (8, 16, 32)


@dataclasses.dataclass
class Like:
    """What of a family of models is to be like it."""

    arch: str
    head: int
    heads: int
    key_heads: int
    biases: tuple = ()      # standard deviations of those of queries and keys, and the largest of the keys
    outliers: bool = False  # of the embedding's columns, so of all activations
    gains: bool = False     # of norms
    experts: tuple = ()     # how many, and of them how many at once
    caps: tuple = ()        # of scores and of logits
    window: int = 0         # tokens that layers with sliding windows see
    inner: int = 1024


LIKE = {
    "biases": Like("qwen2", 64, 8, 1, biases=(4, 10, 100)),
    "large-biases": Like("qwen2", 128, 4, 2, biases=(4, 40, 400), outliers=True),
    "outliers": Like("llama", 128, 4, 1, outliers=True),
    "gains": Like("llama", 96, 6, 6, gains=True, outliers=True),
    "caps": Like("gemma2", 256, 4, 2, gains=True, caps=(50, 30), window=64),
    "windows": Like("gemma3", 256, 4, 1, gains=True, outliers=True, window=64),
    "experts": Like("qwen3moe", 128, 8, 1, gains=True, outliers=True, experts=(16, 2), inner=256),
}


class Filler:
    def __init__(self, model, like):
        self.model = model
        self.like = like
        # The same columns everywhere: what is large is so in each layer.
        self.large = [7 * i + 3 for i in range(len(OUTLIERS))]

    def matrix(self, name, shape, gain=1.0):
        """Numbers that halves hold, so that packing rounds none."""
        n = math.prod(shape)
        values = self.model.noise.halves(n, gain / math.sqrt(shape[0]))
        if name == "token_embd.weight" and self.like.outliers:
            for column, by in zip(self.large, OUTLIERS):
                values[column::shape[0]] = array.array("f", (v * by for v in values[column::shape[0]]))
        self.model.tensor(name, "f32", shape, values.tobytes())

    def norm(self, name, n):
        values = array.array("f", self.model.noise.f32(n, 1, 0.1))
        if self.like.gains:
            for column, by in zip(self.large, GAINS):
                values[n - 1 - column] *= by
        self.model.tensor(name, "f32", [n], values.tobytes())

    def bias(self, name, heads, deviation, largest):
        """The largest are where rotary embeddings hardly turn, so all tokens have them in common."""
        dim = self.like.head
        values = array.array("f", self.model.noise.f32(heads * dim, 0, deviation))
        for head in range(heads):
            for i in (dim // 2 - 2, dim // 2 - 1, dim - 1):
                values[head * dim + i] = math.copysign(largest, values[head * dim + i])
        self.model.tensor(name, "f32", [heads * dim], values.tobytes())

    def attention(self, at):
        like = self.like
        queries, keys = like.heads * like.head, like.key_heads * like.head
        self.norm(at + "attn_norm.weight", WIDTH)
        for name, rows in (("q", queries), ("k", keys), ("v", keys)):
            self.matrix(f"{at}attn_{name}.weight", [WIDTH, rows])
        if like.biases:
            of_queries, of_keys, largest = like.biases
            self.bias(at + "attn_q.bias", like.heads, of_queries, of_queries)
            self.bias(at + "attn_k.bias", like.key_heads, of_keys, largest)
            self.bias(at + "attn_v.bias", like.key_heads, 0.1, 0.1)
        if like.arch in ("gemma3", "qwen3moe"):
            self.norm(at + "attn_q_norm.weight", like.head)
            self.norm(at + "attn_k_norm.weight", like.head)
        self.matrix(at + "attn_output.weight", [queries, WIDTH])

    def feed_forward(self, at):
        like = self.like
        self.norm(at + "ffn_norm.weight", WIDTH)
        tail, many = ("_exps.weight", [like.experts[0]]) if like.experts else (".weight", [])
        if like.experts:
            self.matrix(at + "ffn_gate_inp.weight", [WIDTH, like.experts[0]])
        self.matrix(at + "ffn_gate" + tail, [WIDTH, like.inner, *many])
        self.matrix(at + "ffn_up" + tail, [WIDTH, like.inner, *many])
        self.matrix(at + "ffn_down" + tail, [like.inner, WIDTH, *many])

    def fill(self):
        gemma = self.like.arch.startswith("gemma")
        # Gemma's embedding is multiplied with the root of the width.
        self.matrix("token_embd.weight", [WIDTH, VOCABULARY], 1 if gemma else math.sqrt(WIDTH))
        # Logits of a size at which more than one token has a chance. Gemma 2 has the embedding for an output.
        tied = self.like.arch == "gemma2"
        self.model.vector("output_norm.weight", WIDTH, 0.3 if tied else 1, 0.03)
        if not tied:
            self.matrix("output.weight", [WIDTH, VOCABULARY], 2)
        for i in range(LAYERS):
            at = f"blk.{i}."
            self.attention(at)
            self.feed_forward(at)
            if gemma:
                self.norm(at + "post_attention_norm.weight", WIDTH)
                self.norm(at + "post_ffw_norm.weight", WIDTH)


def describe(model, name, like):
    arch = like.arch
    model.put("general.architecture", STRING, arch)
    model.put("general.name", STRING, f"random weights like {name}")
    numbers = {
        "context_length": CONTEXT, "embedding_length": WIDTH, "block_count": LAYERS,
        "feed_forward_length": like.inner, "attention.head_count": like.heads,
        "attention.head_count_kv": like.key_heads, "attention.key_length": like.head,
        "attention.value_length": like.head, "rope.dimension_count": like.head,
    }
    if like.window:
        numbers["attention.sliding_window"] = like.window
    if like.experts:
        numbers.update({"expert_count": like.experts[0], "expert_used_count": like.experts[1],
                        "expert_feed_forward_length": like.inner})
    for key, value in numbers.items():
        model.put(f"{arch}.{key}", U32, value)
    for key, value in zip(("attn_logit_softcapping", "final_logit_softcapping"), like.caps):
        model.put(f"{arch}.{key}", F32, value)
    model.put(f"{arch}.attention.layer_norm_rms_epsilon", F32, 1e-6)
    model.put(f"{arch}.rope.freq_base", F32, BASE)
    put_vocabulary(model)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the names of all, instead of writing one")
    parser.add_argument("--like", choices=LIKE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("out", nargs="?")
    args = parser.parse_args()
    if args.list:
        print("\n".join(LIKE))
        return
    if not args.like or not args.out:
        parser.error("--like and a file, or --list")
    like = LIKE[args.like]
    model = Model(args.seed)
    describe(model, args.like, like)
    Filler(model, like).fill()
    model.write(args.out)


if __name__ == "__main__":
    main()
