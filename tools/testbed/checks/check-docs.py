#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks that the files, make targets and selftests which README.md and the documentation name are there."""

import fnmatch
import os
import re
import sys

top = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
SKIP = {".git", "build"}
# Where a name without its directory may lie.
SOURCE = re.compile(r"^[a-z0-9_.-]+\.(rst|c|h|py|sh|yaml|dtso|dtsi|rules)$")

# Directories of Linux that have a namesake here.
MAINLINE = ("drivers/accel/rocket", "Documentation/gpu/")


def tracked():
    found = set()
    for directory, dirs, files in os.walk(top):
        dirs[:] = [d for d in dirs if d not in SKIP]
        rel = os.path.relpath(directory, top)
        found.update(os.path.normpath(os.path.join(rel, f)) for f in files + dirs)
    return found


def braces(name):
    m = re.search(r"\{([^{}]*,[^{}]*)\}", name)
    if not m:
        return [name]
    return [x for alt in m[1].split(",") for x in braces(name[:m.start()] + alt + name[m.end():])]


def targets():
    with open(os.path.join(top, "Makefile"), encoding="utf-8") as f:
        return set(re.findall(r"^([a-z][a-z-]*):", f.read(), re.M))


class Checker:
    def __init__(self):
        self.files = tracked()
        self.heads = {f for f in self.files if os.path.isdir(os.path.join(top, f)) and "/" not in f}
        self.names = {os.path.basename(f) for f in self.files}
        self.make = targets()
        self.words = 0

    def exists(self, name, base):
        name = name.rstrip("/")
        # Capitals stand for something, as do words in angle brackets.
        if re.search(r"[A-Z]{3,}|<|\$", re.sub(r"README|COPYING|LICENSES|Kbuild|Makefile", "", name)):
            return True
        patterns = [[os.path.normpath(os.path.join(b, n) + end) for b in ("", base, "tools/qemu") for end in ("", ".c")]
                    for n in braces(name)]
        return all(any(fnmatch.fnmatch(f, p) for f in self.files for p in alternatives) for alternatives in patterns)

    def path(self, word, base):
        """Why the word is wrong; None if it names nothing of ours or something that is there."""
        if word.startswith(MAINLINE):
            return None
        if "/" in word and word.split("/")[0] in self.heads and not self.exists(word, base):
            return f"no {word}"
        return None

    def quoted(self, word, base):
        if SOURCE.match(word) and word not in self.names and not self.foreign(word):
            return f"no file {word}"
        if base == "" and re.match(r"^rknpu_[a-z_]+(\.sh)?$", word) and not {word, word + ".c"} & self.names:
            return f"no test or file {word}"
        return None

    @staticmethod
    def foreign(word):
        """Files of mainline or QEMU, which the documentation may name."""
        return word.startswith(("rocket_", "rk3588", "rockchip", "drm_", "clk-", "kselftest"))

    def check(self, doc):
        base = os.path.dirname(doc)
        with open(os.path.join(top, doc), encoding="utf-8") as f:
            lines = f.read().split("\n")
        for number, line in enumerate(lines, 1):
            for word in re.findall(r"[A-Za-z0-9_.{},*<>$-]+(?:/[A-Za-z0-9_.{},*<>$-]*)+", line):
                self.words += 1
                yield number, self.path(word.rstrip(".,"), base)
            for word in re.findall(r"`+([^`\s]+)`+", line) + re.findall(r"\]\(([^):]+)\)", line):
                yield number, self.quoted(word, base)
            for word in re.findall(r"(?:`|^\s+(?:[A-Za-z0-9_].* && )?)make ([a-z-]+)\b(?!\.)", line):
                if word not in self.make and not word.startswith("-"):
                    yield number, f"no target of make: {word}"
        for name in re.findall(r"^   ([a-z-]+)$", "\n".join(lines), re.M) if base.endswith("rknpu") else ():
            if ".. toctree::" in lines and not os.path.exists(os.path.join(top, base, name + ".rst")):
                yield 0, f"no {name}.rst"


def main():
    checker = Checker()
    docs = ["README.md"] + sorted(f for f in checker.files if f.endswith(".rst"))
    bad = 0
    for doc in docs:
        for number, why in checker.check(doc):
            if why:
                bad += 1
                print(f"{doc}:{number}: {why}")
    if checker.words < 50:
        bad += 1
        print(f"only {checker.words} paths found: the documentation is not where it was")
    sys.exit(1 if bad else 0)


main()
