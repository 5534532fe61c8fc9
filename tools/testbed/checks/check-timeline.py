#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares what npu-timeline made of a recording with the recording, and tries other tools' text; prints TAP."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

top = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(top / "tools/testbed/lib"))
from docblock import difference  # noqa: E402 pylint: disable=wrong-import-position

TRACEFS = """\
            prog-125     [000] .....     1.000000: rknpu_job_submit: client=2 job=1 tasks=2 deps=0 domain=3 priority=1 tag=0x2a
            prog-125     [000] d..1.     1.001000: rknpu_job_start: client=2 job=1 core=0 task=0/2
          <idle>-0       [000] d.h2.     1.003000: rknpu_job_start: client=2 job=2 core=0 task=0/1
          <idle>-0       [000] d.h2.     1.003500: rknpu_job_stop: client=2 job=1 core=0 task=2/2
          <idle>-0       [000] d.h2.     1.003600: rknpu_job_done: client=2 job=1 core=0 elapsed_ns=2000000
     kworker/0:1-7       [000] .....     1.005000: rknpu_job_stop: client=2 job=2 core=0 task=0/1
     kworker/0:1-7       [000] .....     1.005500: rknpu_job_fail: client=2 job=2 core=0 task=0/1 cause=iommu-fault iova=0x1000
"""

results = []


def check(good, name):
    """One test."""
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}")


def spans(trace):
    """Jobs by lane, as (start, end, outcome)."""
    lanes = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["name"].startswith("job "):
            lanes[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["args"]["outcome"]))
    return {lane: sorted(jobs) for lane, jobs in lanes.items()}


def run(program, text, *options):
    """What npu-timeline prints for a text."""
    return subprocess.run([program, *options], input=text, capture_output=True, text=True, check=False)


def check_recording(out):
    """The guest's recording and what was drawn of it."""
    recording = (out / "recording").read_text()
    lanes = spans(json.loads((out / "timeline.json").read_text()))
    outcomes = collections.Counter(job[2] for jobs in lanes.values() for job in jobs)
    done = len(re.findall(r": rknpu_job_done: ", recording))
    check(len(lanes) == 3, "jobs are on all three cores")
    check(done > 100 and outcomes["done"] == done, "each job that was done is drawn as done")
    check(outcomes["timeout-running"] > 0, "the job that hung has its cause")
    check(all(before[1] <= after[0] + 0.002 for jobs in lanes.values() for before, after in zip(jobs, jobs[1:])),
          "a core has one job at a time")
    picture = xml.etree.ElementTree.parse(out / "timeline.svg").getroot()
    titles = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    check(sum(": done," in title for title in titles) == done, "the picture has a box for each")
    check("timeout-running" in " ".join(titles), "the picture says what failed")
    check("rknpu_exec-" in (out / "timeline.txt").read_text(), "the table names the programs")


def check_formats(program):
    """The text of other tools, and of none."""
    perf = re.sub(r"^\s*(\S+)-(\d+)(\s+\[\d+\])\s+\S+(\s+\S+:) ", r"\1 \2\3\4 rknpu:", TRACEFS, flags=re.M)
    command = re.sub(r"(\[\d+\])\s+\S+ ", r"\1 ", TRACEFS)
    expected = run(program, TRACEFS, "--json").stdout
    jobs = spans(json.loads(expected))[1]
    drawn = [event for event in json.loads(expected)["traceEvents"] if event["ph"] == "X"]
    tags = [event["args"].get("tag") for event in drawn]
    check(tags == ["0x2a", None], "a job's tag is told, where it has one")
    check(run(program, TRACEFS, "--svg").stdout.count("tag 0x2a") == 1, "in the picture, too")
    check([job[2] for job in jobs] == ["done", "iommu-fault"], "text of tracefs is read")
    check(abs(jobs[0][1] - jobs[1][0]) < 0.01, "a job ends where the next one starts")
    check("rknpu:rknpu_job_start" in perf and run(program, perf, "--json").stdout == expected, "that of perf script, too")
    check(command != TRACEFS and run(program, command, "--json").stdout == expected, "and that of trace-cmd report")
    named = TRACEFS.replace("prog-125", "p\033[2J\u0080g-125")
    for name, form in (("table", []), ("picture", ["--svg"])):
        text = run(program, named, *form).stdout
        check("(p?[2J?g-125)" in text and "\033" not in text, f"the {name} has no name that is a command for a terminal")
    first = len(TRACEFS.splitlines()[0])
    ends = [run(program, TRACEFS[:size], "--svg").returncode for size in range(first, len(TRACEFS), 7)]
    check(not any(ends), "a recording may be cut off anywhere")
    cut = run(program, TRACEFS[:TRACEFS.rindex(" cause")])
    check("1 events are left out" in cut.stderr and "prog-125" in cut.stdout, "what that leaves out is told")
    check(run(program, TRACEFS.replace("client=2", "client=x")).returncode == 0,
          "a client without a number is no error")
    raw = subprocess.run([program], input=TRACEFS.encode().replace(b"prog", b"pr\xffg"), capture_output=True,
                         env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"}, check=False)
    check(b"(pr?g-125)" in raw.stdout, "standard input may have any bytes")
    nothing = run(program, "no recording\n")
    check(nothing.returncode != 0 and "no event" in nothing.stderr, "a text without events is an error")


def check_loads(out):
    """Two clients on a core each, and one that hangs on the third."""
    table = [line.split() for line in (out / "loads.txt").read_text().splitlines()[1:]]
    rows = {(core, name.strip("()")): (int(done), int(failed)) for core, done, failed, _, _, _, name in table}
    check([core for core, name in rows if name.startswith("rknpu_load-")] == ["0", "2"], "the table has a row for each client")
    check(all(done > 10 and not failed for (_, name), (done, failed) in rows.items() if name.startswith("rknpu_load-")),
          "with what it did")
    check([done_failed for (core, name), done_failed in rows.items() if name.startswith("rknpu_dump-")] == [(0, 1)],
          "and with what failed")
    page = top / "Documentation/accel/rknpu/monitoring.rst"
    check(not difference(str(page), "npu-timeline recording", (out / "loads.txt").read_text()), "the documentation shows it so")


check_recording(pathlib.Path(sys.argv[2]))
check_loads(pathlib.Path(sys.argv[2]))
check_formats(sys.argv[1])
print(f"1..{len(results)}")
sys.exit(not all(results))
