# SPDX-License-Identifier: GPL-2.0-only
"""Checks trees that rknpu-dt made: complete NPU nodes, references that lead where they must, nothing else changed."""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys



class Chip:
    """Where the NPU is in a chip's trees."""

    def __init__(self, cores, mmus, supplies, domain, changed, series, boards, regulators=("vdd_npu_s0",),
                 microvolts=(550000, 950000)):
        self.cores = ["/" + c for c in cores]
        self.mmus = ["/" + m for m in mmus]
        self.supplies = supplies
        self.domain = domain
        # Other nodes that change or come.
        self.changed = changed
        # Series whose kernels switch the domain's supply.
        self.switched = series
        # Boards that must work; any other is tried as well and may be refused only for want of a regulator.
        self.boards = boards
        # What boards call the NPU's regulator, and what it may give.
        self.regulators = regulators
        self.microvolts = microvolts

    def nodes(self):
        return self.cores + self.mmus

    def is_supply(self, tree, node):
        return tree.text(node, "regulator-name") in self.regulators

    def memory(self, tree):
        """The regulator that feeds the cores' memories alone, which few boards have."""
        return next((n for n in tree.nodes if tree.text(n, "regulator-name") == "vdd_npu_mem_s0"), None)

    def in_model(self, model, node):
        """The model has no node for the chip's bus, and with one core no addresses in names."""
        node = node.removeprefix("/soc")
        return node if node in model.nodes else re.sub("@[^/]*", "", node)


RK3588_POWER = "/power-management@fd8d8000/power-controller/power-domain@8"
RK3568_POWER = "/power-management@fdd90000/power-controller/power-domain@"
RK3576_POWER = "/soc/power-management@27380000/power-controller/power-domain@0"
CHIPS = {
    "rk3588": Chip(
        ("npu@fdab0000", "npu@fdac0000", "npu@fdad0000"), ("iommu@fdab9000", "iommu@fdaca000", "iommu@fdada000"),
        ("npu-supply", "sram-supply"), RK3588_POWER, (RK3588_POWER,), ("7.2", "7.3"),
        ("rk3588-rock-5b", "rk3588s-orangepi-5", "rk3588-orangepi-5-plus", "rk3588-nanopc-t6", "rk3588s-rock-5a")),
    "rk3568": Chip(
        ("npu@fde40000",), ("iommu@fde4b000",), ("rknpu-supply",), RK3568_POWER + "6", (RK3568_POWER + "6",), (),
        ("rk3566-orangepi-3b-v1.1", "rk3566-quartz64-b", "rk3566-radxa-zero-3w", "rk3568-nanopi-r5s", "rk3568-odroid-m1",
         "rk3568-qnap-ts433", "rk3568-rock-3a", "rk3568-wolfvision-pf5"),
        ("vdd_npu", "vdd_gpu_npu", "0v9_npu"), (950000, 1350000)),
    "rk3576": Chip(
        ("soc/npu@27700000", "soc/npu@27708000"), ("soc/iommu@27702000", "soc/iommu@2770a000"),
        ("npu-supply",), None, tuple(RK3576_POWER + f"/power-domain@1/power-domain@{n}" for n in (2, 3)), (),
        ("rk3576-rock-4d", "rk3576-armsom-sige5", "rk3576-evb1-v10", "rk3576-nanopi-m5")),
}
# Cells after a reference, by the property that says how many there are.
REFERENCES = {
    "clocks": "#clock-cells", "assigned-clocks": "#clock-cells", "resets": "#reset-cells",
    "power-domains": "#power-domain-cells", "iommus": "#iommu-cells",
}
SUPPLIES = ("npu-supply", "sram-supply", "rknpu-supply", "domain-supply", "vin-supply")
# What makes a core or an IOMMU work, apart from the board's supplies.
SAME = ("reg", "reg-names", "interrupts", "clocks", "clock-names", "resets", "reset-names", "power-domains", "iommus",
        "assigned-clocks", "assigned-clock-rates", "compatible", "#iommu-cells", "#power-domain-cells")
# Microvolts that the slowest chips of each grade want, by rate in MHz: the highest of opp-microvolt and opp-microvolt-L*
# in npu-opp-table of Rockchip's rk3588s.dtsi (wabisabi926/linux-6.1.y-rockchip, 7ef54974).
GRADES = {
    "the normal grade": {300: 700000, 400: 700000, 500: 700000, 600: 700000, 700: 700000, 800: 750000, 900: 800000,
                         1000: 850000},
    "grade B": {300: 725000, 400: 725000, 500: 725000, 600: 725000, 700: 737500, 800: 787500, 950: 850000},
    "grades J and M": {300: 750000, 400: 750000, 500: 750000, 600: 750000, 700: 750000, 800: 750000, 950: 837500},
}
# The same table's rockchip,low-temp-min-volt, for all of them below rockchip,low-temp, 15 degrees C.
COLD = 750000


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


def run_tool(tool, base, out, *options):
    done = subprocess.run([tool, *options, base, out], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def supply_is_right(tree, path, chip, prop):
    memory = chip.memory(tree) if prop == "sram-supply" else None
    require(path == memory if memory else chip.is_supply(tree, path), f"{path} is not the NPU's {prop}")
    low, high = (tree.cells(path, f"regulator-{x}-microvolt")[0] for x in ("min", "max"))
    require(chip.microvolts[0] <= low < high <= chip.microvolts[1], f"{path} goes from {low} to {high} uV")
    bus = path.rsplit("/", 1)[0]
    while bus:
        require(tree.text(bus, "status") in ("", "ok", "okay"), f"{path} is on {bus}, which is disabled")
        bus = bus.rsplit("/", 1)[0]
    if "vin-supply" in tree.nodes[path]:
        tree.value(path, "vin-supply")


def npu_is_whole(tree, chip, switched):
    for node in chip.nodes():
        require(node in tree.nodes, f"no {node}")
        require(tree.text(node, "status") == "okay", f"{node} is {tree.text(node, 'status')}")
        for prop in REFERENCES:
            tree.value(node, prop)
    for core, mmu in zip(chip.cores, chip.mmus):
        require(tree.value(core, "iommus") == [(mmu, ())], f"{core} is behind {tree.value(core, 'iommus')}")
        for prop in chip.supplies:
            supply_is_right(tree, tree.value(core, prop), chip, prop)
    supply = tree.value(chip.cores[0], chip.supplies[0])
    for node in chip.changed:
        for domain in [node] + [n for n in tree.nodes if n.startswith(node + "/")]:
            tree.value(domain, "clocks")
    if chip.domain:
        require(tree.value(chip.domain, "domain-supply") == supply, "the power domain has another supply")
    # A kernel that does not switch a domain's supply must not turn it off either.
    require(switched or "regulator-always-on" in tree.nodes[supply], f"{supply} is not always on")
    require("/__symbols__" not in tree.nodes or len(tree.nodes["/__symbols__"]) > 100, "some labels were left behind")


def same_nodes(tree, other, chip):
    for node in chip.nodes():
        for prop in SAME:
            ours, theirs = tree.value(node, prop), other.value(node, prop)
            require(ours == theirs, f"{node} {prop} is {ours}, not {theirs}")


def same_numbers(tree, model, chip):
    """As same_nodes, for a tree whose providers lie at other paths."""
    for node in chip.nodes() + ([chip.domain] if chip.domain else []):
        for prop in SAME:
            ours, theirs = tree.value(node, prop), model.value(chip.in_model(model, node), prop)
            if prop in REFERENCES and ours is not None and theirs is not None:
                ours, theirs = [c for _, c in ours], [c for _, c in theirs]
            if prop == "interrupts" and ours and theirs:
                # The model's interrupt controller has no partitions.
                ours, theirs = ours[:12], theirs[:12]
            require(ours == theirs, f"{node} {prop} is {ours}, the model's {theirs}")


def nothing_else_changed(before, after, chip):
    mine = chip.nodes() + list(chip.changed)
    added = ("phandle",)
    for node, props in before.nodes.items():
        if node in mine or node == "/__symbols__" or chip.is_supply(before, node):
            continue
        if node == "/i2c@fea90000" and not any(chip.is_supply(before, n) for n in before.nodes):
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


def disable(source, target, chip):
    """A copy of a tree that enables the NPU as it would be if it did not; the supplies are gone too."""
    shutil.copy(source, target)
    tree = Tree(source)
    commands = []
    for node in chip.nodes():
        commands.append(["-t", "s", target, node, "status", "disabled"])
        commands += [["-d", target, node, p] for p in SUPPLIES if p in tree.nodes[node]]
    if chip.domain and "domain-supply" in tree.nodes[chip.domain]:
        commands.append(["-d", target, chip.domain, "domain-supply"])
    for c in commands:
        subprocess.run(["fdtput"] + c, check=True)


def changed(source, target, *commands):
    """A copy of a tree after these commands of fdtput, in which @ stands for the copy."""
    shutil.copy(source, target)
    for c in commands:
        subprocess.run(["fdtput"] + [target if x == "@" else x for x in c], check=True)
    return target


def refuses(args, out, source, change, message, *options):
    broken = changed(source, os.path.join(out, "broken.dtb"), *change)
    status, said = run_tool(args.tool, broken, os.path.join(out, "none.dtb"), *options)
    require(status != 0 and message in said, f"status {status}: {said}")
    require(not os.path.exists(os.path.join(out, "none.dtb")), "left a tree behind")


def unwritable(args, source, target, message):
    status, said = run_tool(args.tool, source, target)
    require(status != 0 and message in said, f"status {status}: {said}")
    require(not os.path.exists(os.path.join(target, "tree.dtb")), "left a tree there")


def board(args, results, series, path, newest):
    name = os.path.basename(path)[:-4]
    soc = name[:6].replace("rk3566", "rk3568")
    if soc not in CHIPS:
        results.check(f"{series}/{name}: another SoC is refused", refuses, args, args.out, path, [], "is not a tree of")
        return
    chip = CHIPS[soc]
    label = f"{series}/{name}"
    result = os.path.join(args.out, f"{series}-{name}.dtb")
    status, said = run_tool(args.tool, path, result)
    if status != 0:
        def refusal():
            tree = Tree(path)
            supply = [node for node in tree.nodes if chip.is_supply(tree, node)]
            if supply and "may give less than" in said:
                require(tree.cells(supply[0], "regulator-min-microvolt")[0] < chip.microvolts[0], "it does not")
                require("compatible" in tree.nodes[supply[0]], "it can be raised")
                return
            require(name not in chip.boards and "does not describe the regulator" in said, said)
            require(not supply, "it does")
        results.check(f"{label}: refused for want of a regulator", refusal)
        return
    before, after = Tree(path), Tree(result)
    if "nothing" in said:
        results.check(f"{label}: enabled already, left alone", lambda: require(before.nodes == after.nodes, "changed"))
        if name not in chip.boards:
            return
        off = os.path.join(args.out, f"{series}-{name}-off.dtb")
        disable(path, off, chip)

        def again():
            status, said = run_tool(args.tool, off, result)
            require(status == 0 and "npu-enable" in said, said)
            for node in chip.nodes():
                for prop in SAME + chip.supplies + ("status",):
                    require(Tree(result).value(node, prop) == before.value(node, prop), f"{node} {prop}")
        results.check(f"{label}: disabled and enabled, as its own tree has it", again)
        return
    results.check(f"{label}: whole", npu_is_whole, after, chip, series in chip.switched)
    results.check(f"{label}: nothing else changed", nothing_else_changed, before, after, chip)
    if soc == "rk3588" and series == "6.12" and os.path.exists(newest(name)):
        results.check(f"{label}: same nodes as in 7.3", same_nodes, after, Tree(newest(name)), chip)
    results.check(f"{label}: the nodes that the model boots with", same_numbers, after,
                  Tree(os.path.join(args.out, soc + ".dtb")), chip)


def scales(args, base):
    """With --clock the first core has operating points that do for chips of every grade, and keeps its voltage."""
    result = os.path.join(args.out, "clock.dtb")
    status, said = run_tool(args.tool, base, result, "--clock")
    require(status == 0, said)
    tree = Tree(result)
    core = "/npu@fdab0000"
    require("rockchip,keep-voltage" in tree.nodes[core], "the voltage may change")
    points = [path for path in tree.nodes if path.startswith("/opp-table-npu/")]
    for path in points:
        rate = tree.cells(path, "opp-hz")
        require(rate == [0, int(path.rsplit("-", 1)[1])], f"{path} has another rate")
        target, least, _, *memory = tree.cells(path, "opp-microvolt")
        require(target == least and memory[:2] == [target, target], f"{path} has several voltages")
        require(target >= COLD, f"{path} has {target} uV, too little below 15 degrees C")
        for grade, needs in GRADES.items():
            enough = [uv for mhz, uv in needs.items() if mhz * 1000000 >= rate[1]]
            require(enough, f"{path} is more than {grade} can do")
            require(target >= enough[0], f"{path} has {target} uV, {grade} wants {enough[0]}")
    require(len(points) == 7, f"{len(points)} operating points")
    require(tree.cells(core, "operating-points-v2") == tree.cells("/opp-table-npu", "phandle"), "they are not the NPU's")


def low_tables(args, base):
    """With --dma32 the IOMMU of an RK3568 is one of Linux's first version, and nothing else changes."""
    trees = []
    for option in ((), ("--dma32",)):
        result = os.path.join(args.out, "dma32.dtb")
        status, said = run_tool(args.tool, base, result, *option)
        require(status == 0, said)
        trees.append(Tree(result))
    mmu = trees[0].nodes[CHIPS["rk3568"].mmus[0]]
    require(mmu["compatible"] == b"rockchip,rk3568-iommu\0", "it is one without")
    mmu["compatible"] = b"rockchip,iommu\0"
    require(trees[0].nodes == trees[1].nodes, "the trees differ elsewhere")


def edited(source, target, *edits):
    """A copy of a tree after these replacements (from, to) in its text."""
    text = subprocess.run(["dtc", "-q", "-O", "dts", source], capture_output=True, text=True, check=True).stdout
    for old, new in edits:
        require(old in text, f"{source} has no {old}")
        text = text.replace(old, new)
    subprocess.run(["dtc", "-q", "-O", "dtb", "-o", target], input=text, text=True, check=True)
    return target


def renamed(args, base):
    """Linux 6.18 was released with other names of two IOMMUs: such a tree is enabled like the others."""
    chip = CHIPS["rk3588"]
    off, result = (os.path.join(args.out, n) for n in ("renamed.dtb", "enabled.dtb"))
    disable(base, off, chip)
    edited(off, off, ("iommu@fdaca000", "iommu@fdac9000"), ("iommu@fdada000", "iommu@fdad9000"))
    status, said = run_tool(args.tool, off, result)
    require(status == 0, said)
    before, after = Tree(base), Tree(edited(result, result, ("iommu@fdac9000", "iommu@fdaca000"),
                                            ("iommu@fdad9000", "iommu@fdada000")))
    for node in chip.nodes():
        for prop in SAME + chip.supplies + ("status",):
            require(after.value(node, prop) == before.value(node, prop), f"{node} {prop}")


def graded(args, base):
    """With --clock a node whose points are for chips of one grade gets others; dtc pads phandles below 16."""
    result, tree = os.path.join(args.out, "graded.dtb"), Tree(base)
    points = [path for path in tree.nodes if path.startswith("/npu-opp-table/")]
    commands = [["-t", "x", "@", path, "opp-supported-hw", "f9", "ffff"] for path in points]
    for handle in (1, 16):
        require(handle not in tree.by_phandle, f"{handle} is another node's")
        handle = str(handle)
        status, said = run_tool(args.tool, changed(
            base, os.path.join(args.out, "grades.dtb"), *commands, ["-t", "i", "@", "/npu-opp-table", "phandle", handle],
            ["-t", "i", "@", "/npu@fdab0000", "operating-points-v2", handle]), result, "--clock")
        require(status == 0 and said.endswith("applied: npu-clock\n"), f"phandle {handle}: {said}")


def rockchip_tree(args, base):
    """A tree with the nodes of Rockchip's kernels for the RK3568 and their names is enabled, and no more than that."""
    chip = CHIPS["rk3568"]
    off, result = (os.path.join(args.out, n) for n in ("rockchip-off.dtb", "rockchip.dtb"))
    require(run_tool(args.tool, base, result)[0] == 0, "no tree to begin with")
    disable(result, off, chip)
    edited(off, off, ("power-domain@6", "pd_npu@6"), ("power-domain@7", "pd_gpu@7"), ("rk3568-iommu", "iommu-v2"))
    status, said = run_tool(args.tool, off, result)
    require(status == 0 and said.endswith("applied: rknpu-enable\n"), said)
    before, after = Tree(off), Tree(result)
    nothing_else_changed(before, after, chip)
    same_nodes(after, before, chip)
    for node in chip.nodes():
        require(after.text(node, "status") == "okay", f"{node} is not enabled")
    supply_is_right(after, after.value(chip.cores[0], "rknpu-supply"), chip, "rknpu-supply")
    # Boards that have only the IOMMU off.
    status, said = run_tool(args.tool, changed(result, off, ["-t", "s", "@", chip.mmus[0], "status", "disabled"]), result)
    require(status == 0 and said.endswith(f"applied: {chip.mmus[0][1:]}\n"), said)
    require(Tree(result).nodes == after.nodes, "with its IOMMU alone disabled another tree comes out")
    for options in (("--shape", "mainline"), ("--dma32",)):
        require(run_tool(args.tool, off, os.path.join(args.out, "none.dtb"), *options)[0] != 0, f"it takes {options}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("sets", nargs="+", help="SERIES=DIRECTORY")
    args = parser.parse_args()
    results = Results()
    sets = dict(s.split("=", 1) for s in args.sets)

    def newest(name):
        return os.path.join(sets["7.3"], name + ".dtb")

    for series, directory in sets.items():
        names = sorted(n for n in os.listdir(directory) if n.endswith(".dtb"))
        for soc, chip in CHIPS.items():
            # 6.12 has one board with an RK3576, and describes no NPU domain there.
            if soc != "rk3576" or series != "6.12":
                results.check(f"{series}: has the {soc} boards that must work",
                              lambda n=names, c=chip: require(set(b + ".dtb" for b in c.boards) <= set(n), "missing"))
        for name in names:
            board(args, results, series, os.path.join(directory, name), newest)
    rock = os.path.join(sets["6.12"], "rk3588-rock-5b.dtb")
    top = RK3588_POWER + "/power-domain@9"
    cru = str(Tree(rock).cells(top, "clocks")[0])
    results.check("unknown clock numbers are refused", refuses, args, args.out, rock,
                  [["-t", "i", "@", top, "clocks", cru, "300"]], "numbers its clocks")
    sige = os.path.join(sets["7.3"], "rk3576-armsom-sige5.dtb")
    top76 = RK3576_POWER + "/power-domain@1"
    results.check("unknown clock numbers of an RK3576 are refused", refuses, args, args.out, sige,
                  [["-t", "i", "@", top76, "clocks", str(Tree(sige).cells(top76, "clocks")[0]), "230"]],
                  "numbers its clocks")
    results.check("mainline nodes are not put into a tree with vendor numbers", refuses, args, args.out, rock,
                  [["-t", "i", "@", top, "clocks", cru, "303"]], "no combination known")
    results.check("IOMMUs with the names of the first 6.18 are found", renamed, args, newest("rk3588-rock-5b"))
    rock68 = os.path.join(sets["7.3"], "rk3568-rock-3a.dtb")
    top68 = RK3568_POWER + "7"
    results.check("unknown clock numbers of an RK3568 are refused", refuses, args, args.out, rock68,
                  [["-t", "i", "@", top68, "clocks", str(Tree(rock68).cells(top68, "clocks")[0]), "26"]],
                  "numbers its clocks")
    results.check("Rockchip's nodes of an RK3568 are enabled", rockchip_tree, args, rock68)
    results.check("page tables below 4 GiB where that is asked for", low_tables, args, rock68)
    results.check("the clock scales where that is asked for", scales, args, newest("rk3588-rock-5b"))
    rockchip = os.path.join(args.out, "rockchip-rk3588.dtb")
    results.check("points for chips of one grade are replaced", graded, args, rockchip)
    results.check("no clock for Rockchip's node with one supply", refuses, args, args.out, rockchip,
                  [["-d", "@", "/npu@fdab0000", "mem-supply"]], "has no mem-supply", "--clock")
    results.check("nor for mainline's nodes with one", refuses, args, args.out, newest("rk3588-rock-5b"),
                  [["-d", "@", "/npu@fdab0000", "sram-supply"]], "has no sram-supply", "--clock")
    results.check("a directory that is not there is told", unwritable, args, rock,
                  os.path.join(args.out, "no", "none.dtb"), "there is no directory for")
    results.check("a directory is no place for a tree", unwritable, args, rock, args.out, "is a directory")
    results.check("not on an RK3576", lambda: require(run_tool(args.tool, sige, os.path.join(args.out, "none.dtb"), "--clock")[0] != 0,
                                                      "it was"))
    print(f"1..{results.number}")
    sys.exit(1 if results.failed else 0)


main()
