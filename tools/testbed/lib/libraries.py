#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Copies libraries of an unpacked root, and those that they need, side by side: libraries.py ROOT TO NAME..."""

import os
import re
import shutil
import subprocess
import sys


def index(root):
    """Where the library of each name is; names that are links count too."""
    found = {}
    for at, _, names in os.walk(root):
        for name in names:
            if ".so" in name and os.path.isfile(os.path.join(at, name)):
                found.setdefault(name, os.path.join(at, name))
    return found


def needed(path):
    text = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def main():
    root, to, *todo = sys.argv[1:]
    found = index(root)
    done = set()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        if name not in found:
            sys.exit(f"the packages lack {name}")
        done.add(name)
        shutil.copy(found[name], os.path.join(to, name))
        todo += needed(found[name])


if __name__ == "__main__":
    main()
