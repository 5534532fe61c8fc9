#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""kernel-doc of public headers is complete: check-kdoc.py LINUX-SOURCE HEADER...

kernel-doc itself complains about members and parameters without a description. It says nothing of what has no comment at
all, or one that it does not take for its own: every struct, enum, function and macro must appear in what it prints. An
ioctl has no comment of its own, its name must stand in that of its argument; its number needs none.
"""

import os
import re
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
DEFINED = re.compile(r"^(?:struct|enum|union) (\w+) \{"
                     r"|^#define (\w+)(?:\(|[ \t]+\S)"
                     r"|^[a-z][\w \t*]*?\b(\w+)\([^;{]*\);"
                     # Comments of one line say that an inline function is internal.
                     r"|^ \*/\nstatic inline [\w \t*]*?\b(\w+)\(", re.M)
PRINTED = re.compile(r"^\.\. c:(?:struct|enum|union|macro|function):: (?:[^(\n]*?\b)??(\w+)(?: *\(.*)?$", re.M)


def kernel_doc(linux, mode, header):
    tool = os.path.join(linux, "tools/docs/kernel-doc")
    return subprocess.run([sys.executable, tool, mode, "-Wall", header], cwd=TOP, capture_output=True, text=True, check=False)


def missing(header, printed):
    with open(os.path.join(TOP, header), encoding="utf-8") as f:
        text = f.read()
    names = {name for match in DEFINED.findall(text) for name in match if name}
    documented = set(PRINTED.findall(printed))
    words = set(re.findall(r"\w+", printed))
    for name in sorted(names - documented):
        is_ioctl = name.startswith("DRM_IOCTL_") and name in words
        is_number = name.startswith("DRM_") and name.replace("DRM_", "DRM_IOCTL_", 1) in names
        if not is_ioctl and not is_number:
            yield name
    if len(names) < 10:
        yield f"only {len(names)} names found"


def main(linux, *headers):
    bad = 0
    for header in headers:
        said = kernel_doc(linux, "-none", header).stderr
        for line in [line for line in said.split("\n") if line] + \
                [f"{header}: no kernel-doc: {name}" for name in missing(header, kernel_doc(linux, "-rst", header).stdout)]:
            print(line)
            bad += 1
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
