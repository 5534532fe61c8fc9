#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes the guest's initramfs: init, busybox, the modules in load order and the copied files."""

import argparse
import lzma
import os
import stat
import sys


class Cpio:
    """A newc archive, written as it goes."""

    def __init__(self, f):
        self.f = f
        self.ino = 1
        self.dirs = set()

    def _entry(self, name, mode, data=b"", rdev=(0, 0)):
        raw = name.encode(errors="surrogateescape") + b"\0"
        self.ino += 1
        fields = (self.ino, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev, len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % x for x in fields) + raw
        self.f.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))

    def parents(self, name):
        parts = name.split("/")[:-1]
        for i in range(1, len(parts) + 1):
            self.directory("/".join(parts[:i]))

    def directory(self, name):
        if name not in self.dirs:
            self.dirs.add(name)
            self._entry(name, stat.S_IFDIR | 0o755)

    def data(self, name, data, mode=0o644):
        self.parents(name)
        self._entry(name, stat.S_IFREG | mode, data)

    def node(self, name, mode, rdev):
        self.parents(name)
        self._entry(name, mode, rdev=rdev)

    def tree(self, path, name):
        """PATH under NAME; symbolic links stay links inside a tree, the top one is followed."""
        if os.path.isdir(path):
            self.parents(name)
            self.directory(name)
            for entry in sorted(os.listdir(path)):
                sub = os.path.join(path, entry)
                if os.path.islink(sub):
                    self._entry(name + "/" + entry, stat.S_IFLNK | 0o777, os.fsencode(os.readlink(sub)))
                elif os.path.isdir(sub) or os.path.isfile(sub):
                    self.tree(sub, name + "/" + entry)
        else:
            with open(path, "rb") as f:
                self.data(name, f.read(), stat.S_IMODE(os.stat(path).st_mode))

    def close(self):
        self._entry("TRAILER!!!", 0)


def modname(path):
    return os.path.basename(path).split(".ko")[0].replace("-", "_")


class Tree:
    """The modules of a kernel package, by name."""

    def __init__(self, kernel):
        with open(kernel + "/release") as f:
            self.dir = f"{kernel}/usr/lib/modules/{f.read().strip()}"
        self.deps = {}
        self.path = {}
        with open(self.dir + "/modules.dep") as f:
            for line in f:
                path, deps = line.split(":")
                self.path[modname(path)] = path
                self.deps[modname(path)] = [modname(d) for d in deps.split()]
        with open(self.dir + "/modules.builtin") as f:
            self.builtin = {modname(line.strip()) for line in f}

    def closure(self, name, order):
        name = name.replace("-", "_")
        if name in order or name in self.builtin:
            return
        if name not in self.path:
            sys.exit(f"this kernel has no module {name}")
        for dep in self.deps[name]:
            self.closure(dep, order)
        order.append(name)

    def read(self, name):
        with open(os.path.join(self.dir, self.path[name]), "rb") as f:
            data = f.read()
        return lzma.decompress(data) if self.path[name].endswith(".xz") else data


def modinfo(data, key):
    """Values of KEY in a module's .modinfo strings."""
    found = []
    at = data.find(b"\0" + key + b"=")
    while at >= 0:
        end = data.index(b"\0", at + 1)
        found.append(data[at + len(key) + 2:end].decode())
        at = data.find(b"\0" + key + b"=", end)
    return found


def add_modules(cpio, tree, wanted):
    """Archives the WANTED modules (paths or in-tree names) with what they need; returns the load order."""
    order = []
    files = {}
    for want in wanted:
        if "/" not in want:
            tree.closure(want, order)
            continue
        with open(want, "rb") as f:
            data = f.read()
        for deps in modinfo(data, b"depends"):
            for dep in filter(None, deps.split(",")):
                if dep.replace("-", "_") not in files:
                    tree.closure(dep, order)
        files[modname(want)] = data
        order.append(modname(want))
    for name in order:
        cpio.data(f"modules/{name}.ko", files[name] if name in files else tree.read(name))
    return [name + ".ko" for name in order]


def quote(arg):
    return "'" + arg.replace("'", "'\\''") + "'"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", required=True)
    p.add_argument("--kernel", required=True)
    p.add_argument("--busybox", required=True)
    p.add_argument("--init", required=True)
    p.add_argument("--module", action="append", default=[])
    p.add_argument("--param", action="append", default=[])
    p.add_argument("--copy", action="append", default=[])
    p.add_argument("command", nargs="+")
    args = p.parse_args()

    tree = Tree(args.kernel)
    with open(args.out, "wb") as f:
        cpio = Cpio(f)
        for d in ("dev", "proc", "sys", "work"):
            cpio.directory(d)
        cpio.node("dev/console", stat.S_IFCHR | 0o600, (5, 1))
        cpio.node("dev/null", stat.S_IFCHR | 0o666, (1, 3))
        for path, name in ((args.busybox, "bin/busybox"), (args.init, "init")):
            with open(path, "rb") as src:
                cpio.data(name, src.read(), 0o755)
        # "fixed" is the regulator that feeds the NPU's power domain; udev would load it on a board.
        early = add_modules(cpio, tree, ["virtio_mmio", "virtio_console", "fixed"])
        cpio.data("testbed/early", "".join(m + "\n" for m in early).encode())
        load = [m for m in add_modules(cpio, tree, args.module) if m not in early]
        if load and args.param:
            load[-1] += " " + " ".join(args.param)
        cpio.data("testbed/modules", "".join(m + "\n" for m in load).encode())
        command = "set -- " + " ".join(quote(a) for a in args.command) + "\n"
        cpio.data("testbed/command", command.encode(errors="surrogateescape"))
        for path in args.copy:
            cpio.tree(path, "work/" + os.path.basename(os.path.normpath(path)))
        cpio.close()


if __name__ == "__main__":
    main()
