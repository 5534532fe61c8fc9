#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the table of module parameters in the documentation from the driver's sources; --check only compares.

Parameters are declared in drivers/accel/rknpu/rknpu_params.c. A description is one sentence that ends in
"(default VALUE)" or "(RANGE, default VALUE)"; a default that is a plain number must be the one that the variable is
initialised with.
"""

import os
import re
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
DRIVER = os.path.join(TOP, "drivers/accel/rknpu")
PAGE = os.path.join(TOP, "Documentation/accel/rknpu/parameters.rst")
BEGIN = ".. begin: made by make parameters"
END = ".. end: made by make parameters"

STRING = r'"((?:[^"\\]|\\.)*)"'
DESC = re.compile(r"MODULE_PARM_DESC\((\w+),((?:\s*" + STRING + r")+)\)")
PARAM = re.compile(r"^module_param\((\w+), (\w+), (\d+)\);", re.M)
NAMED = re.compile(r"^module_param_named\((\w+), (\w+), (\w+), (\d+)\);", re.M)
DEFAULT = re.compile(r"^(.*?) \((?:(.*), )?default (\S+)\)$")


def sources():
    one = os.path.join(DRIVER, "rknpu_params.c")
    if os.path.exists(one):
        return [one]
    return sorted(os.path.join(d, f) for d, _, files in os.walk(DRIVER) for f in files
                  if f.endswith(".c") and not f.endswith(".mod.c"))


def initial(text, variable):
    """What the variable is initialised with, if that is a number."""
    found = re.search(r"\b" + variable + r"\b[^;={]*= *(\d+)[uUlL]*;", text)
    return found[1] if found else None


def parameters(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    descriptions = {m[1]: "".join(re.findall(STRING, m[2])) for m in DESC.finditer(text)}
    declared = [(m[1], m[1], m[2], m[3]) for m in PARAM.finditer(text)]
    declared += [(m[1], m[2], m[3], m[4]) for m in NAMED.finditer(text)]
    if text.count("module_param") != len(declared):
        sys.exit(f"{path}: module_param() in a form that this script does not know")
    for name, variable, kind, mode in declared:
        split = DEFAULT.match(descriptions.get(name, ""))
        if not split:
            sys.exit(f'{path}: {name}: no description that ends in "(default VALUE)"')
        meaning, limits, default = split.groups()
        value = initial(text, variable)
        if default.isdigit() and value and value != default:
            sys.exit(f"{path}: {name}: described as {default} by default, but it is {value}")
        yield name, kind, default, mode, meaning + (f" ({limits})" if limits else "")


def table():
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 25 10 10 15 40", ""]
    rows = [("Parameter", "Type", "Default", "Set", "Meaning")]
    for name, kind, default, mode, meaning in sorted(p for path in sources() for p in parameters(path)):
        when = "at any time" if int(mode, 8) & 0o200 else "at load"
        rows.append((f"``{name}``", {"charp": "string"}.get(kind, kind), default, when, meaning))
    for row in rows:
        lines += [("   * - " if i == 0 else "     - ") + cell for i, cell in enumerate(row)]
    return "\n".join(lines), len(rows) - 1


def main():
    with open(PAGE, encoding="utf-8") as f:
        old = f.read()
    before, rest = old.split(BEGIN + "\n", 1)
    after = rest.split(END, 1)[1]
    rows, count = table()
    if not count:
        sys.exit("no module parameters found")
    new = f"{before}{BEGIN}\n\n{rows}\n\n{END}{after}"
    if sys.argv[1:] == ["--check"]:
        if new != old:
            sys.exit("Documentation/accel/rknpu/parameters.rst is not current: run make parameters")
    elif new != old:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(new)


main()
