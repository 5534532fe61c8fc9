#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks what bench-guest printed: check-bench.py FILE; prints TAP. No time is compared with anything."""

import json
import re
import sys

# Instructions of packing, for each of memcpy(), as Documentation/results/packing.tsv has them and a bit more.
MOST = {
    ("int8", "nk", "library"): 2.5, ("int8", "kn", "library"): 4.5,
    ("fp16", "nk", "library"): 1.5, ("fp16", "kn", "library"): 4.5,
}
SIZE = {"int8": 1, "fp16": 2, "bf16": 2}
TINY = [(1, 64, 64), (5, 70, 100)]

count = failed = 0


def ok(good, text):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} {text}")


def sections(path):
    found, name = {}, None
    for line in open(path, encoding="utf-8", errors="replace"):
        line = line.rstrip("\r\n")
        status = re.fullmatch(r"== status (\d+)", line)
        if status:
            found[name][1] = int(status[1])
            name = None
        elif line.startswith("== "):
            name = line[3:]
            found[name] = [[], None]
        elif name:
            found[name][0].append(line)
    return {key: ("\n".join(lines), status) for key, (lines, status) in found.items()}


def product_is_sane(p, core_known):
    operands = (p["m"] * p["k"] + p["n"] * p["k"]) * SIZE[p["type"]] + p["m"] * p["n"] * 4
    return all((
        p["verified"] is True, p["macs"] == p["m"] * p["n"] * p["k"], p["tasks"] > 0,
        p["weight_bytes"] == p["n"] * p["k"] * SIZE[p["type"]],
        # The input and the result, once each.
        p["cpu_bytes"] == p["m"] * p["k"] * SIZE[p["type"]] + p["m"] * p["n"] * 4,
        p["npu_bytes"] >= operands, p["cycles"] > 0, p["gops"] is None,
        all(p[key] > 0 for key in ("pack_ns", "write_ns", "submit_ns", "run_ns", "read_ns", "cpu_ns")),
        p["call_ns"] >= p["write_ns"] + p["run_ns"] + p["read_ns"],
        (p["core_ns"] or 0) > 0 if core_known else p["core_ns"] is None,
        abs(p["npu_to_cpu"] - p["call_ns"] / p["cpu_ns"]) < 1e-3 * p["npu_to_cpu"] + 1e-5,
        p["max_err"] == 0 if p["type"] == "int8" else p["max_err"] < 1e-2,
    ))


def least(points, key, wins):
    found = None
    for p in reversed(points):
        if not wins(p):
            break
        found = p[key]
    return found


def thresholds(points):
    """The same as bench_plan.c, from what it measured."""
    def wins(p):
        return p["call_ns"] <= p["cpu_ns"]

    def wins_packed(p):
        return p["call_ns"] + p["pack_ns"] <= p["cpu_ns"]

    rows, by_k = points[:3], points[3:6]
    found = {"RKNPU_GGML_MIN_ROWS": least(rows, "m", wins), "RKNPU_GGML_MIN_K": least(by_k, "k", wins),
             "RKNPU_GGML_MIN_MACS": None, "RKNPU_GGML_MIN_REUSE": least(rows, "m", wins_packed)}
    least_m, least_k = found["RKNPU_GGML_MIN_ROWS"], found["RKNPU_GGML_MIN_K"]
    if least_m is not None and least_k is not None:
        passed = [p for p in points if p["m"] >= least_m and p["k"] >= least_k]
        lost = max((p["macs"] for p in passed if not wins(p)), default=0)
        found["RKNPU_GGML_MIN_MACS"] = min((p["macs"] for p in passed if p["macs"] > lost), default=None)
    return found


def check_json(name, text, status):
    try:
        said = json.loads(text)
    except ValueError as err:
        ok(False, f"{name}: JSON: {err}")
        return
    ok(status == 0 and said["model"] is True and said["driver"] == name and said["threads"] == 1,
       f"{name}: ends well, and says that this is a model")
    shapes = [(p["type"], p["m"], p["n"], p["k"]) for p in said["products"]]
    ok(shapes == [(t, *s) for s in TINY for t in ("int8", "fp16", "bf16")], f"{name}: products of each type and shape")
    for p in said["products"] + said["points"]:
        ok(product_is_sane(p, True), f"{name}: {p['type']} {p['m']}x{p['n']}x{p['k']} is right, and counts add up")
    check_packing(name, said["packing"])
    published = said["published"]
    whole = all(p["author"] and p["with"] and p["unit"] and p["figure"] > 0 for p in published)
    ok({p["type"] for p in published} >= {"int8", "fp16"} and whole,
       f"{name}: {len(published)} figures of others, each with its author")
    ok([p["m"] for p in said["points"][:3]] == [1, 4, 16] and len(said["points"]) == 9, f"{name}: points of the plan")
    ok(said["ggml"] == thresholds(said["points"]), f"{name}: thresholds follow from them: {said['ggml']}")


def check_packing(name, packing):
    kinds = {(p["type"], p["source"], p["code"]) for p in packing}
    ok(len(packing) == 8 and len(kinds) == 8, f"{name}: packing of two types, sources and kinds of code")
    for p in packing:
        kind = (p["type"], p["source"], p["code"])
        ratio = p["instructions"] / p["memcpy_instructions"] if p["instructions"] else None
        ok(p["bytes"] == 512 * 512 * SIZE[p["type"]] and ratio is not None and ratio <= MOST.get(kind, 1000),
           f"{name}: packing {' '.join(kind)} takes {ratio and round(ratio, 2)} of memcpy()'s instructions")


def main():
    said = sections(sys.argv[1])
    for name in ("rocket", "rknpu"):
        check_json(name, *said.get(name, ("", None)))
    text, status = said.get("text", ("", None))
    ok(status == 0 and len(re.findall(r"(?m)^(?:int8|fp16|bf16)\s+3x40x50\s+yes ", text)) == 3 and
       "GOP/s" not in text and "cycles" in text, "text: three products of the shape asked for, in cycles")
    ok("Published" not in text, "text: no figures of boards on the model")
    ok("RKNPU_GGML" not in text and "memcpy()" in text, "text: no plan where none is asked for")
    text, status = said.get("usage", ("", None))
    ok(status == 2 and text.startswith("usage: npu-bench"), "a bad shape is refused")
    text, status = said.get("missing", ("", None))
    ok(status == 1 and "no NPU" in text, "without an NPU it says so")
    print(f"1..{count}")
    sys.exit(failed != 0)


main()
