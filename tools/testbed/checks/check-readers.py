#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judges what Debian's monitors showed in a guest (guest/readers-guest.py), as TAP: check-readers.py NPU-TIMELINE DIRECTORY"""

import collections
import json
import pathlib
import re
import subprocess
import sys

SECOND = 1_000_000_000
CORES = 3
# Points between what a monitor shows and the load by fdinfo of the seconds that it can mean, if fdinfo was read often.
BOUND = 5
OFTEN = SECOND // 4
# So long before its picture glances may have read the load: a refresh, and the pause that ends a picture.
AGE = 3 * SECOND
# A guest shares its host with others, so a client that always has jobs is not always busy.
BUSY = 20

results = []


def check(good, name):
    """One test."""
    results.append(bool(good))
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}")


class History:
    """What fdinfo said when: a sample is the time before and after it, and nanoseconds by process."""

    def __init__(self, samples):
        self.samples = samples

    def total_at(self, at):
        """Nanoseconds of all clients, between two samples in proportion."""
        before = max((s for s in self.samples if s[0] <= at), key=lambda s: s[0], default=None)
        # Before the first one there was no client.
        if not before:
            return 0
        after = min((s for s in self.samples if s[0] > at), key=lambda s: s[0])
        low, high = sum(before[2].values()), sum(after[2].values())
        return low + (high - low) * (at - before[0]) / (after[0] - before[0])

    def loads(self, at):
        """Mean percent of the cores in each of the full seconds that a picture at this time can mean."""
        return [100 * (self.total_at((s + 1) * SECOND) - self.total_at(s * SECOND)) / SECOND / CORES
                for s in range((at - AGE) // SECOND - 1, at // SECOND)]

    def bound(self, at):
        """Points that it can be wrong by: more where the guest was too slow to read fdinfo often."""
        near = [s for s in self.samples if at - AGE - 2 * SECOND <= s[0] <= at + SECOND]
        gap = max(after[1] - before[0] for before, after in zip(near, near[1:]))
        return BOUND + 100 * max(0, gap - OFTEN) / SECOND * len(near[-1][2]) / CORES

    def between(self, pid, start, end):
        """The least and the most that a process can have done between two times."""
        busy = [(s[0], s[1], s[2].get(pid, 0)) for s in self.samples]
        inside = [b for b in busy if start <= b[0] and b[1] <= end]
        most = min(b[2] for b in busy if b[0] >= end) - max(b[2] for b in busy if b[1] <= start)
        return inside[-1][2] - inside[0][2], most


def check_glances(pictures, history, hz):
    shown = []
    for picture in pictures:
        found = re.search(r"^(\d+)% +(\d+)M/(\d+)MHz$", "\n".join(picture["screen"]), re.M)
        if found:
            shown.append((picture["phase"], picture["at"], *map(int, found.groups())))
    good = []
    for phase, at, load, *_ in shown:
        true, bound = history.loads(at), history.bound(at)
        good.append(min(true) - bound <= load <= max(true) + bound)
        print(f"# glances, {phase} clients: {load} %, by fdinfo {min(true):.1f} to {max(true):.1f} %, bound {bound:.1f}")
    last = {phase: load for phase, _, load, *_ in shown}
    check(sorted(last) == [0, 1, 2], "glances shows the NPU on a terminal, with no client, one and two")
    check(good and all(good), "glances: each load is what the clients' fdinfo says")
    check(last.get(0) == 0, "glances: no client, no load")
    check(BUSY / CORES < last.get(1, 0) <= 34, "glances: one client is a third of the load at most")
    check(last.get(1, 0) < last.get(2, 0) <= 67, "glances: two clients are more")
    # Its M is 1024 times 1024.
    check(shown and all(now == most == round(hz / (1 << 20)) for *_, now, most in shown), "glances: the clock is the NPU's")


def check_stat(looks):
    """perf's counts of one client lie between those before and after."""
    for look in looks:
        counts = {line.split(";")[2]: int(line.split(";")[0]) for line in look["perf"]["err"].splitlines()
                  if re.match(r"\d+;", line)}
        engine = f"drm-engine-npu{look['core']}"
        before, after = look["before"][engine], look["after"][engine]
        print(f"# perf stat of core {look['core']}: {counts.get(engine)} ns, by fdinfo {before} to {after} ns")
        check(before < counts.get(engine, 0) <= after, f"perf stat: {engine} of a client is what fdinfo says")
        check(counts.get("drm-total-memory") == look["after"]["drm-total-memory"] << 10,
              "perf stat: and so is its memory")
        others = [after for key, after in look["after"].items() if key.startswith("drm-engine-") and key != engine]
        check(not any(others), "it was on no other core")


def done_jobs(text):
    """Of "perf script": time, client, core and nanoseconds of each job."""
    line = re.compile(r" (\d+)\.(\d+): +rknpu:rknpu_job_done: client=(\d+) job=\d+ core=(\d+) elapsed_ns=(\d+)")
    for found in line.finditer(text):
        second, rest, client, core, elapsed = found.groups()
        yield int(second) * SECOND + int(rest.ljust(9, "0")), int(client), int(core), int(elapsed)


def check_record(seen, pids, history, timeline):
    jobs = list(done_jobs(seen["script"]["out"]))
    usage = seen["looks"][1]["usage"]
    numbers = [usage[pid]["rknpu-client"] for pid in pids]
    check(seen["record"]["status"] == 0 and {job[1] for job in jobs} == set(numbers),
          "perf record: the jobs are those clients' that compute")
    if not jobs:
        return
    start, end = jobs[0][0], jobs[-1][0]
    for core, (pid, number) in enumerate(zip(pids, numbers)):
        mine = [job for job in jobs if job[1] == number]
        check(mine and all(job[2] == core for job in mine), f"perf record: client {number} is on core {core} alone")
        # The first one of all ended at the start, and the last one of another client may be half done in the end.
        total, edge = sum(job[3] for job in mine if job[0] > start), max((job[3] for job in mine), default=0)
        least, most = history.between(pid, start, end)
        print(f"# perf record of client {number}: {total} ns, by fdinfo {least} to {most} ns; longest job {edge} ns")
        check(least > 0 and least - edge <= total <= most + edge, f"perf record: its jobs took the time that fdinfo says")
    table = next((part for part in seen["report"]["out"].split("# Samples") if "of event 'rknpu:rknpu_job_done'" in part), "")
    share = re.findall(r"^ +([\d.]+)% +(\d+) +(\d+) *$", table, re.M)
    count = collections.Counter(job[1] for job in jobs)
    check({(int(client), percent) for percent, client, _ in share} ==
          {(client, f"{100 * n / len(jobs):.2f}") for client, n in count.items()},
          "perf report: --sort client,core has each client's part of the jobs")
    drawn = subprocess.run([timeline, "--json"], input=seen["script"]["out"], capture_output=True, text=True, check=False)
    events = json.loads(drawn.stdout)["traceEvents"] if drawn.returncode == 0 else []
    boxes = [event for event in events if event["ph"] == "X" and event.get("args", {}).get("outcome") == "done"]
    whole = [set(re.findall(rf"rknpu_job_{what}: client=\d+ job=(\d+)", seen["script"]["out"])) for what in ("start", "done")]
    check(len({event["tid"] for event in boxes}) == 2 and len(boxes) == len(whole[0] & whole[1]) > 10,
          "npu-timeline draws what perf script prints")


def check_nvtop(seen, history):
    name = "nvtop: shows the load"
    if not seen["knows"]:
        print(f"# nvtop: {seen['screen'][0]}")
        check(True, f"{name} # SKIP this version has no reader for the NPU")
        return
    found = re.search(r"GPU\[[| ]*(\d+)%\]", "\n".join(seen["screen"]))
    true, bound = history.loads(seen["at"]), history.bound(seen["at"])
    print(f"# nvtop: {found and found[1]} %, by fdinfo {min(true):.1f} to {max(true):.1f} %, bound {bound:.1f}")
    check(found and min(true) - bound <= int(found[1]) <= max(true) + bound, name)


def main():
    timeline, out = sys.argv[1], pathlib.Path(sys.argv[2])
    seen = json.loads((out / "seen.json").read_text())
    pids = [str(pid) for pid in seen["pids"]]
    history = History(seen["samples"])
    usage = seen["perf_record"]["looks"][1]["usage"]
    for picture in seen["glances"][-1:]:
        (out / "glances.txt").write_text("\n".join(picture["screen"]) + "\n")
    check_glances(seen["glances"], history, usage[pids[0]]["drm-maxfreq-npu0"])
    check_record(seen["perf_record"], pids, history, timeline)
    check_stat(seen["perf_stat"])
    check_nvtop(seen["nvtop"], history)
    print(f"1..{len(results)}")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
