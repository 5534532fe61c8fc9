#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks Documentation/accel/rknpu/evidence.toml, and that the pages state nothing of the hardware without a row of it.

Every row has what its status asks for, and names functions of the model, files of the driver, tests and programs of
npu-report that exist; every program of npu-report has a row.
"""
import glob
import os
import re
import sys
import tomllib

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
TABLE = "Documentation/accel/rknpu/evidence.toml"
PAGES = tuple(f"Documentation/accel/rknpu/{name}.rst" for name in ("hardware", "model", "evidence"))
MODEL = "tools/qemu/hw"
# What nobody has proven wants a program of npu-report, unless no program can show it.
OPEN = ("model", "inferred", "untested", "disputed", "differs")
NO_REPORT = ("refused", "fail")
TEXTS = ("what", "status", "model")
FIELDS = {"what": str, "status": str, "by": list, "why": str, "board": str, "model": str, "property": str, "driver": str,
          "test": list, "report": list, "says": list}
QTESTS = ("core", "conv", "meet", "pc", "dpu", "fail")
# Words by which a comment, or another page, speaks of evidence.
CLAIM = re.compile(r"\b(measured|assumed|inferred|nobody knows)\b", re.I)
CLAIM_OF_PAGE = re.compile(r"\b(assumed|inferred)\b|\bnobody (has|is known to have) measured\b", re.I)
# How a page names a row, and how a comment does.
ROW = re.compile(r":row:`([a-z]+\.[a-z0-9-]+)")
ROW_IN_C = re.compile(r"\brows?\s+(?:\*\s+)?([a-z]+\.[a-z0-9-]+)")


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as f:
        return f.read()


def read_all(*patterns):
    return {os.path.relpath(path, TOP): read(path) for pattern in patterns
            for path in sorted(glob.glob(os.path.join(TOP, pattern), recursive=True))}


class Tree:
    """What rows may name."""

    def __init__(self):
        self.model = read_all(MODEL + "/**/*.c", MODEL + "/**/*.h")
        self.model_text = "".join(self.model.values())
        # A message may be in several pieces.
        self.messages = re.sub(r'"\s+"', "", self.model_text)
        self.driver = {os.path.basename(name) for name in read_all("drivers/accel/rknpu/**/*.c")}
        self.targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.M))
        self.reports = set()
        for text in read_all("tools/report/src/prog_*.c").values():
            self.reports.update(re.findall(r'^\tRP_(?:TRY|TRY_KIND|WHY)\("([a-z0-9-]+)", ', text, re.M))
        self.names = self.model_text + "".join(read_all("include/npu/*.h", "tools/lib/src/**/*.h", "tools/lib/include/*.h").values())

    def function(self, place):
        name, _, function = place.partition(":")
        text = next((t for f, t in self.model.items() if f in (f"{MODEL}/npu/{name}", f"{MODEL}/{name}")), None)
        if text is None:
            return f"no file {name} of the model"
        if not re.search(r"^[A-Za-z][^\n;]*\b" + re.escape(function) + r"\(", text, re.M):
            return f"no function {function} in {name}"
        return None

    def qtest(self, group, case):
        name = f"tools/qemu/tests/qtest/rk3588-npu-{group}-test.c"
        wanted = f"rk3588-npu-{group}/{case}" if group in QTESTS else f"rk3588-npu/{group}/{case}"
        if group == "dev":
            name, wanted = "tools/qemu/tests/qtest/rk3588-npu-test.c", f"rk3588-npu/{case}"
        return os.path.exists(os.path.join(TOP, name)) and re.search(r'"/?' + wanted + '"', read(name))

    @staticmethod
    def unit(program, part):
        name = "tools/qemu/tests/unit/test-rk3588-npu" + ("" if program == "npu" else "-" + program) + ".c"
        if not os.path.exists(os.path.join(TOP, name)):
            return False
        # What several programs report is in a header of theirs.
        text = read(name)
        for header in re.findall(r'^#include "([\w-]+-case\.h)"', text, re.M):
            text += read(os.path.join(os.path.dirname(name), header))
        return not part or any(part in said for said in re.findall(r'"((?:[^"\\]|\\.)*)"', text))

    @staticmethod
    def selftest(program, case):
        found = read_all(f"selftests/{program}.c", f"selftests/{program}", f"tools/lib/tests/**/{program}.c")
        return any(not case or re.search(r"^RK_TEST\w*\((?:\w+, *)?" + case + r"\b", text, re.M) for text in found.values())

    def test(self, name):
        what, _, part = name.partition(": ")
        if what.startswith("make "):
            return what[5:] in self.targets
        if what.startswith("unit "):
            return self.unit(what[5:], part)
        return self.qtest(*what.split("/")) if "/" in what else self.selftest(what, part)

    def property(self, name):
        return f'"{name.split(".")[-1]}"' in self.model_text


def form(table, row):
    """Is the row complete, and are its words known ones?"""
    yield from (f"unknown field {field}" for field in row if field not in FIELDS)
    yield from (f"{field} is no {kind.__name__}" for field, kind in FIELDS.items() if not isinstance(row.get(field, kind()), kind))
    yield from (f"no {field}" for field in TEXTS if not row.get(field))
    status = row.get("status")
    if status not in table["status"]:
        yield f"unknown status {status}"
    if status in ("silicon", "model", "disputed", "differs") and not row.get("by"):
        yield f"{status}, but by nobody"
    if status == "inferred" and not (row.get("by") or row.get("why")):
        yield "inferred from nothing"
    if status == "differs" and "board" not in row:
        yield "does not say what boards do"
    yield from (f"unknown source {by}" for by in row.get("by", []) if by.split(":")[0] not in table["source"])


def names(tree, section, row):
    """Does what the row names exist?"""
    if section not in NO_REPORT and row["status"] in OPEN and not row.get("report"):
        yield "no program of npu-report"
    yield from (f"no program {name} of npu-report" for name in row.get("report", []) if name not in tree.reports)
    yield from (f"no test {name}" for name in row.get("test", []) if not tree.test(name))
    if section != "refused" and not (row.get("test") or row.get("report")):
        yield "neither a test nor a program of npu-report"
    yield from filter(None, [tree.function(row["model"])])
    if "driver" in row and row["driver"] not in tree.driver:
        yield f"no file {row['driver']} of the driver"
    if "property" in row and not tree.property(row["property"]):
        yield f"no property {row['property']}"
    if section == "refused":
        yield from (f'the model does not say "{text}"' for text in row.get("says", [""]) if f'"{text}"' not in tree.messages)
    for word in re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", row["what"] + row.get("board", "")):
        if word not in tree.names:
            yield f"no register or field {word}"


def check_rows(table):
    tree = Tree()
    named = set()
    for section, rows in table.items():
        for name, row in rows.items() if section not in ("status", "source") else ():
            bad = list(form(table, row)) or list(names(tree, section, row))
            named.update(row.get("report", []))
            yield from (f"{TABLE}: {section}.{name}: {why}" for why in bad)
    yield from (f"{TABLE}: no row names report/{name}" for name in sorted(tree.reports - named))


def statements(text):
    """(line, text) of each paragraph, bullet and row of a table."""
    first, block = 0, []
    for number, line in enumerate(text.split("\n") + [""], 1):
        if re.match(r"(   )?\* ", line) and block:
            yield first, " ".join(block)
            block = []
        if line.strip():
            first = first if block else number
            block.append(line)
        elif block:
            yield first, " ".join(block)
            block = []


def check_page(page, text):
    if re.search(r"^\s*\.\. (list-table|csv-table|table)::|^=+ =+", text, re.M):
        yield f"{page}: a table by hand: its statements belong into {TABLE}"
    if not page.endswith("hardware.rst") and re.search(r"^[*-] ", text, re.M):
        yield f"{page}: a list by hand: its statements belong into {TABLE}"
    part = re.split(r"^The hardware in 100 lines\n=+$", text, flags=re.M)
    if page.endswith("hardware.rst") and len(part) != 2:
        yield f"{page}: no section on the hardware in 100 lines"
        return
    told = part[-1] if len(part) == 2 else ""
    before = text.count("\n") - told.count("\n")
    told = re.split(r"^[^\n]+\n=+$", told, flags=re.M)[0]
    for number, statement in statements(told):
        if not re.match(r"\.\. |\S.* [-~]+$|   |[-~]+$", statement) and not statement.endswith("::") and not ROW.search(statement):
            yield f"{page}:{before + number}: no row: {statement[:60]}"


def check_other_page(name, text):
    for number, statement in statements(text):
        if CLAIM_OF_PAGE.search(statement) and not ROW.search(statement):
            yield f"{name}:{number}: no row: {' '.join(statement.split())[:60]}"


def check_claims(name, text):
    for comment in re.findall(r"/\*.*?\*/", text, re.S):
        # A kernel-doc comment has a paragraph for each member.
        for part in re.split(r"\n\s*\*?\s*\n", comment):
            if CLAIM.search(part) and not ROW_IN_C.search(part):
                yield f"{name}: no row of {TABLE}: {' '.join(part.split())[:70]}"


def main():
    table = tomllib.loads(read(TABLE))
    ids = {f"{section}.{name}" for section, rows in table.items() for name in rows}
    bad = list(check_rows(table))
    for page in PAGES:
        bad += check_page(page, read(page))
    sources = read_all("tools/lib/include/*.h", MODEL + "/npu/**/*.[ch]")
    # A list of names, which says of some that the manual does not have them.
    sources.pop(f"{MODEL}/npu/compute/regs.h", None)
    for name, text in sources.items():
        bad += check_claims(name, text)
    pages = read_all("README.md", "Documentation/**/*.rst", "tools/**/*.rst")
    for name, text in pages.items():
        bad += check_other_page(name, text) if os.path.dirname(name) == os.path.dirname(TABLE) and name not in PAGES else []
    for texts, form_of in ((pages, ROW), (sources, ROW_IN_C)):
        bad += [f"{name}: no row {row} in {TABLE}" for name, text in texts.items() for row in form_of.findall(text) if row not in ids]
    shown = set(re.findall(r"^\.\. evidence:: ([a-z]+)$", "".join(read(page) for page in PAGES), re.M))
    bad += [f"no page shows section {section} of {TABLE}" for section in table if section not in shown]
    if len(ids) < 100:
        bad.append(f"only {len(ids)} rows")
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
