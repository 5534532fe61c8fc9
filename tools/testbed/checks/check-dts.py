# SPDX-License-Identifier: GPL-2.0-only
"""Checks trees that rknpu-dt made: complete NPU nodes, references that lead where they must, nothing else changed."""

import argparse
import os
import shutil
import struct
import subprocess
import sys

CORES = ("npu@fdab0000", "npu@fdac0000", "npu@fdad0000")
MMUS = ("iommu@fdab9000", "iommu@fdaca000", "iommu@fdada000")
NPU_DOMAIN = "/power-management@fd8d8000/power-controller/power-domain@8"
# Boards that must work; any other is tried as well and may be refused only for want of a regulator.
BOARDS = ("rk3588-rock-5b", "rk3588s-orangepi-5", "rk3588-orangepi-5-plus", "rk3588-nanopc-t6", "rk3588s-rock-5a")
# Cells after a reference, by the property that says how many there are.
REFERENCES = {
    "clocks": "#clock-cells", "assigned-clocks": "#clock-cells", "resets": "#reset-cells",
    "power-domains": "#power-domain-cells", "iommus": "#iommu-cells",
}
SUPPLIES = ("npu-supply", "sram-supply", "domain-supply", "vin-supply")
# What makes a core or an IOMMU work, apart from the board's supplies.
SAME = ("reg", "reg-names", "interrupts", "clocks", "clock-names", "resets", "reset-names", "power-domains", "iommus",
        "assigned-clocks", "assigned-clock-rates", "compatible", "#iommu-cells")


class Tree:
    """A flattened device tree as {path: {property: bytes}}."""

    def __init__(self, path):
        with open(path, "rb") as f:
            blob = f.read()
        magic, _, at, strings = struct.unpack(">4I", blob[:16])
        if magic != 0xD00DFEED:
            raise ValueError(f"{path} is no device tree")
        self.nodes = {}
        stack = []
        while True:
            token = struct.unpack_from(">I", blob, at)[0]
            at += 4
            if token == 1:
                end = blob.index(b"\0", at)
                stack.append(blob[at:end].decode())
                self.nodes["/".join(stack) or "/"] = {}
                at = (end + 4) & ~3
            elif token == 2:
                stack.pop()
            elif token == 3:
                size, name = struct.unpack_from(">2I", blob, at)
                at += 8
                name = blob[strings + name:blob.index(b"\0", strings + name)].decode()
                self.nodes["/".join(stack) or "/"][name] = blob[at:at + size]
                at = (at + size + 3) & ~3
            elif token == 9:
                break
        self.by_phandle = {}
        for node, props in self.nodes.items():
            if "phandle" in props:
                handle = self.cells(node, "phandle")[0]
                if handle in self.by_phandle:
                    raise ValueError(f"phandle {handle} of {node} is {self.by_phandle[handle]}'s too")
                self.by_phandle[handle] = node

    def cells(self, node, prop):
        value = self.nodes[node][prop]
        return list(struct.unpack(f">{len(value) // 4}I", value))

    def text(self, node, prop):
        return self.nodes.get(node, {}).get(prop, b"").rstrip(b"\0").decode()

    def target(self, handle, what):
        if handle not in self.by_phandle:
            raise ValueError(f"{what} refers to phandle {handle:#x}, which nothing has")
        return self.by_phandle[handle]

    def references(self, node, prop):
        """The property as [(path of the node referred to, its cells)]."""
        cells = self.cells(node, prop)
        found = []
        while cells:
            target = self.target(cells.pop(0), f"{node} {prop}")
            n = self.cells(target, REFERENCES[prop])[0]
            found.append((target, tuple(cells[:n])))
            del cells[:n]
        return found

    def value(self, node, prop):
        """The property with references as paths, so that trees can be compared; None if there is none."""
        if prop not in self.nodes[node]:
            return None
        if prop in REFERENCES:
            return self.references(node, prop)
        if prop in SUPPLIES:
            return self.target(self.cells(node, prop)[0], f"{node} {prop}")
        return self.nodes[node][prop]


class Results:
    def __init__(self):
        self.number = 0
        self.failed = 0

    def check(self, name, function, *args):
        self.number += 1
        try:
            function(*args)
            print(f"ok {self.number} {name}")
        except (ValueError, KeyError, struct.error) as e:
            self.failed += 1
            print(f"not ok {self.number} {name}\n# {e!r}")


def require(condition, message):
    if not condition:
        raise ValueError(message)


def run_tool(tool, base, out):
    done = subprocess.run([tool, base, out], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def supply_is_right(tree, path):
    require(tree.text(path, "regulator-name") == "vdd_npu_s0", f"{path} is not vdd_npu_s0")
    low, high = (tree.cells(path, f"regulator-{x}-microvolt")[0] for x in ("min", "max"))
    require(550000 <= low < high <= 950000, f"{path} goes from {low} to {high} uV")
    bus = path.rsplit("/", 1)[0]
    while bus:
        require(tree.text(bus, "status") in ("", "ok", "okay"), f"{path} is on {bus}, which is disabled")
        bus = bus.rsplit("/", 1)[0]
    if "vin-supply" in tree.nodes[path]:
        tree.value(path, "vin-supply")


def npu_is_whole(tree, switched):
    for node in ["/" + n for n in CORES + MMUS]:
        require(node in tree.nodes, f"no {node}")
        require(tree.text(node, "status") == "okay", f"{node} is {tree.text(node, 'status')}")
        for prop in REFERENCES:
            tree.value(node, prop)
    for core, mmu in zip(CORES, MMUS):
        core = "/" + core
        require(tree.value(core, "iommus") == [("/" + mmu, ())], f"{core} is behind {tree.value(core, 'iommus')}")
        for prop in ("npu-supply", "sram-supply"):
            supply_is_right(tree, tree.value(core, prop))
    supply = tree.value("/" + CORES[0], "npu-supply")
    require(tree.value(NPU_DOMAIN, "domain-supply") == supply, "the power domain has another supply")
    # A kernel that does not switch a domain's supply must not turn it off either.
    require(switched or "regulator-always-on" in tree.nodes[supply], f"{supply} is not always on")
    require("/__symbols__" not in tree.nodes or len(tree.nodes["/__symbols__"]) > 100, "some labels were left behind")


def same_nodes(tree, other, absent=()):
    for node in ["/" + n for n in CORES + MMUS]:
        for prop in SAME:
            if prop in absent:
                continue
            ours, theirs = tree.value(node, prop), other.value(node, prop)
            require(ours == theirs, f"{node} {prop} is {ours}, not {theirs}")


def same_numbers(tree, model):
    """As same_nodes, for a tree whose providers lie at other paths."""
    for node in ["/" + n for n in CORES + MMUS]:
        for prop in SAME:
            ours, theirs = tree.value(node, prop), model.value(node, prop)
            if prop in REFERENCES and ours is not None and theirs is not None:
                ours, theirs = [c for _, c in ours], [c for _, c in theirs]
            if prop == "interrupts":
                # The model's interrupt controller has no partitions.
                ours, theirs = ours[:12], theirs[:12]
            require(ours == theirs, f"{node} {prop} is {ours}, the model's {theirs}")


def nothing_else_changed(before, after):
    mine = ["/" + n for n in CORES + MMUS] + [NPU_DOMAIN]
    added = ("phandle",)
    for node, props in before.nodes.items():
        if node in mine or node == "/__symbols__" or before.text(node, "regulator-name") == "vdd_npu_s0":
            continue
        if node == "/i2c@fea90000" and not any(
                before.text(n, "regulator-name") == "vdd_npu_s0" for n in before.nodes):
            continue
        require(node in after.nodes, f"{node} is gone")
        now = after.nodes[node]
        for name in set(props) | set(now):
            require(name in added or props.get(name) == now.get(name), f"{node} {name} has changed")
        require(props.get("phandle") in (None, now.get("phandle")), f"{node} has got another phandle")
    for node in after.nodes:
        if node not in before.nodes:
            new = node in mine or node.startswith(("/i2c@fea90000/regulator@42", "/pinctrl/"))
            require(new, f"{node} has appeared")


def disable(source, target):
    """A copy of a tree that enables the NPU as it would be if it did not; the supplies are gone too."""
    shutil.copy(source, target)
    tree = Tree(source)
    commands = []
    for node in CORES + MMUS:
        commands.append(["-t", "s", target, "/" + node, "status", "disabled"])
        commands += [["-d", target, "/" + node, p] for p in SUPPLIES if p in tree.nodes["/" + node]]
    if "domain-supply" in tree.nodes[NPU_DOMAIN]:
        commands.append(["-d", target, NPU_DOMAIN, "domain-supply"])
    for c in commands:
        subprocess.run(["fdtput"] + c, check=True)


def refuses(args, out, source, change, message):
    broken = os.path.join(out, "broken.dtb")
    shutil.copy(source, broken)
    for c in change:
        subprocess.run(["fdtput"] + [broken if x == "@" else x for x in c], check=True)
    status, said = run_tool(args.tool, broken, os.path.join(out, "none.dtb"))
    require(status != 0 and message in said, f"status {status}: {said}")
    require(not os.path.exists(os.path.join(out, "none.dtb")), "left a tree behind")


def board(args, results, series, path, newest):
    name = os.path.basename(path)[:-4]
    label = f"{series}/{name}"
    result = os.path.join(args.out, f"{series}-{name}.dtb")
    status, said = run_tool(args.tool, path, result)
    if status != 0:
        def refusal():
            require(name not in BOARDS and "does not describe the regulator" in said, said)
            require(not any(p.get("regulator-name") == b"vdd_npu_s0\0" for p in Tree(path).nodes.values()), "it does")
        results.check(f"{label}: refused for want of a regulator", refusal)
        return
    before, after = Tree(path), Tree(result)
    if "nothing" in said:
        results.check(f"{label}: enabled already, left alone", lambda: require(before.nodes == after.nodes, "changed"))
        if name not in BOARDS:
            return
        off = os.path.join(args.out, f"{series}-{name}-off.dtb")
        disable(path, off)

        def again():
            status, said = run_tool(args.tool, off, result)
            require(status == 0 and "npu-enable" in said, said)
            for node in ["/" + n for n in CORES + MMUS]:
                for prop in SAME + ("npu-supply", "sram-supply", "status"):
                    require(Tree(result).value(node, prop) == before.value(node, prop), f"{node} {prop}")
        results.check(f"{label}: disabled and enabled, as its own tree has it", again)
        return
    results.check(f"{label}: whole", npu_is_whole, after, series != "6.12")
    results.check(f"{label}: nothing else changed", nothing_else_changed, before, after)
    if series == "6.12" and os.path.exists(newest(name)):
        results.check(f"{label}: same nodes as in 7.3", same_nodes, after, Tree(newest(name)))
    results.check(f"{label}: the nodes that the model boots with", same_numbers, after, Tree(args.model))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("sets", nargs="+", help="SERIES=DIRECTORY")
    args = parser.parse_args()
    results = Results()
    sets = dict(s.split("=", 1) for s in args.sets)

    def newest(name):
        return os.path.join(sets["7.3"], name + ".dtb")

    for series, directory in sets.items():
        names = sorted(n for n in os.listdir(directory) if n.endswith(".dtb"))
        results.check(f"{series}: has the boards that must work",
                      lambda n=names: require(set(b + ".dtb" for b in BOARDS) <= set(n), "missing"))
        for name in names:
            board(args, results, series, os.path.join(directory, name), newest)
    rock = os.path.join(sets["6.12"], "rk3588-rock-5b.dtb")
    top = NPU_DOMAIN + "/power-domain@9"
    cru = str(Tree(rock).cells(top, "clocks")[0])
    results.check("unknown clock numbers are refused", refuses, args, args.out, rock,
                  [["-t", "i", "@", top, "clocks", cru, "300"]], "numbers its clocks")
    results.check("mainline nodes are not put into a tree with vendor numbers", refuses, args, args.out, rock,
                  [["-t", "i", "@", top, "clocks", cru, "303"]], "no combination known")
    results.check("another SoC is refused", refuses, args, args.out, rock,
                  [["-t", "s", "@", "/", "compatible", "rockchip,rk3568"]], "not a tree of an RK3588")
    print(f"1..{results.number}")
    sys.exit(1 if results.failed else 0)


main()
