#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Outputs of networks that were compiled for two chips, from what rknn_known printed: judge-chips.py CHIP FILE...

FILE.CHIP and FILE.rk3588 are its outputs. Prints a row for each output of noise and of waves: how many numbers, from
which to which on the RK3588, their smallest distance there, how far the chip's are from them at most and on average,
and whether the same number is the largest.
"""
import base64
import os
import struct
import sys


def outputs(path):
    """Of each input, its outputs."""
    found = {}
    with open(path, errors="replace", encoding="ascii") as f:
        for line in f:
            if line.startswith("# job "):
                at = found.setdefault(line.split()[2], [])
            elif line.startswith("# base64 "):
                data = base64.b64decode(line.split()[3])
                at.append(struct.unpack(f"<{len(data) // 4}f", data))
    return found


def row(got, want):
    if len(got) != len(want):
        return f"{len(want)}\t-\t-\t-\t-\t{len(got)} on the other"
    values = sorted(set(want))
    step = min((b - a for a, b in zip(values, values[1:])), default=0)
    off = [abs(a - b) for a, b in zip(got, want)]
    same = "yes" if got.index(max(got)) == want.index(max(want)) else "no"
    return f"{len(want)}\t{min(want):.4g} to {max(want):.4g}\t{step:.3g}\t{max(off):.3g}\t{sum(off) / len(off):.3g}\t{same}"


def main():
    chip = sys.argv[1]
    print("network\tinput\toutput\tnumbers\trange\tstep\toff at most\ton average\tsame largest")
    for path in sys.argv[2:]:
        name = os.path.basename(path).removesuffix(".rknn")
        ours, theirs = outputs(f"{path}.{chip}"), outputs(path + ".rk3588")
        for job in sorted(ours.keys() | theirs.keys()):
            pairs = list(zip(ours.get(job, []), theirs.get(job, [])))
            if not pairs:
                print(name, job, "-", "-", "-", "-", "-", "-", "does not run", sep="\t")
            for i, (got, want) in enumerate(pairs):
                print(name, job, i, row(got, want), sep="\t")


main()
