#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every behaviour of model.rst that nobody has measured names a program of npu-report, and every program is named there."""
import glob
import os
import re
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
PAGE = "Documentation/accel/rknpu/model.rst"
# Words of the column "Evidence" for what is not proven.
UNPROVEN = re.compile(r"\b(assumed|derived|contradictory|inferred)\b")
NAMED = re.compile(r"``report/([a-z0-9-]+)``")


def programs():
    found = set()
    for path in glob.glob(os.path.join(TOP, "tools/report/src/prog_*.c")):
        with open(path, encoding="utf-8") as f:
            found.update(re.findall(r'^\tRP_(?:TRY|TRY_KIND|WHY)\("([a-z0-9-]+)", ', f.read(), re.M))
    return found


def rows(lines):
    """Number of the first line and cells of each row of a list-table."""
    cells = None
    for n, line in enumerate(lines, 1):
        if line.startswith("   * - "):
            cells = [line[7:]]
            yield n, cells
        elif cells and line.startswith("     -"):
            cells.append(line[7:])
        elif cells and line.startswith("       "):
            cells[-1] += " " + line.strip()
        else:
            cells = None


def bullets(text):
    """The public reports that the model does not follow."""
    section = text.split("Where boards are known to differ\n=", 1)[1]
    section = section.split("\n* ", 1)[1].split("\n\n", 1)[0]
    return section.split("\n* ")


def main():
    with open(os.path.join(TOP, PAGE), encoding="utf-8") as f:
        text = f.read()
    known = programs()
    bad = [f"{PAGE} names report/{i}, which is not there" for i in sorted(set(NAMED.findall(text)) - known)]
    bad += [f"{PAGE} does not name report/{i}" for i in sorted(known - set(NAMED.findall(text)))]
    open_rows = [(n, c) for n, c in list(rows(text.split("\n"))) if len(c) == 4 and UNPROVEN.search(c[1])]
    bad += [f"{PAGE}:{n}: no program of npu-report for: {c[0]}" for n, c in open_rows if not NAMED.search(c[2])]
    bad += [f"{PAGE}: no program of npu-report for: {b[:60]}" for b in bullets(text) if not NAMED.search(b)]
    if not known or not open_rows:
        bad.append("no program, or no row")
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
