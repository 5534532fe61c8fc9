#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the table of module parameters in the documentation from the driver's sources; --check only compares.

Parameters are declared in drivers/accel/rknpu/rknpu_params.c. A description is one sentence that ends in
"(default VALUE)" or "(RANGE, default VALUE)"; the default must be what the variable is initialised with.
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
STRINGS = r"((?:\s*" + STRING + r")+)"
DESC = re.compile(r"^MODULE_PARM_DESC\((\w+)," + STRINGS + r"\)", re.M)
# The second is a macro of the driver for both.
PARAM = re.compile(r"^module_param\((\w+), (\w+), (\d+)\);", re.M)
BOTH = re.compile(r"^rknpu_param\((\w+), (\w+), (\d+)," + STRINGS + r"\);", re.M)
MACRO = re.compile(r"^#define (?:.*\\\n)*.*$", re.M)
DEFAULT = re.compile(r"^(.*?) \((?:(.*), )?default (\S+)\)$")


def sources():
    one = os.path.join(DRIVER, "rknpu_params.c")
    if os.path.exists(one):
        return [one]
    return sorted(os.path.join(d, f) for d, _, files in os.walk(DRIVER) for f in files
                  if f.endswith(".c") and not f.endswith(".mod.c"))


def initial(text, name):
    """What the variable or member is initialised with, as a description puts it; None if that is no constant."""
    found = re.search(r"\b" + name + r" = ([^,;]+)[,;]", text)
    value = found[1] if found else "0"
    value = {"true": "y", "false": "n"}.get(value, value.strip('"'))
    return value if re.match(r"^[\w.]+$", value) else None


def declared(text):
    """(name, type, mode, description) of each parameter."""
    descriptions = {m[1]: m[2] for m in DESC.finditer(text)}
    for m in PARAM.finditer(text):
        yield m[1], m[2], m[3], descriptions.get(m[1], "")
    for m in BOTH.finditer(text):
        yield m[1], m[2], m[3], m[4]


def parameters(path):
    with open(path, encoding="utf-8") as f:
        text = MACRO.sub("", f.read())
    found = list(declared(text))
    if len(re.findall(r"\b(?:module|rknpu)_param\w*\(", text)) != len(found):
        sys.exit(f"{path}: a parameter is declared in a form that this script does not know")
    for name, kind, mode, strings in found:
        split = DEFAULT.match("".join(re.findall(STRING, strings)))
        if not split:
            sys.exit(f'{path}: {name}: no description that ends in "(default VALUE)"')
        meaning, limits, default = split.groups()
        value = initial(text, name)
        if kind == "bool" and value == "0":
            value = "n"
        if value is not None and value != default:
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
