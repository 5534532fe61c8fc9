# SPDX-License-Identifier: GPL-2.0-only
"""What the driver's DOC: comments give the documentation.

driver-overviews shows every one of them, in the order of the driver's rooms. driver-states draws the transitions of the
table in one of them, whose columns are "State", anything, and "Next": STATE (label), STATE (label), ...
"""

import os
import re
import textwrap

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from sphinx.ext.graphviz import graphviz
from sphinx.util.nodes import nested_parse_with_titles

DRIVER = "drivers/accel/rknpu"


def rooms(driver):
    """Its folders, highest first, as the file ROOMS orders them."""
    folders = sorted(name for name in os.listdir(driver) if os.path.isdir(os.path.join(driver, name)))
    order = []
    if os.path.exists(os.path.join(driver, "ROOMS")):
        with open(os.path.join(driver, "ROOMS"), encoding="utf-8") as f:
            order = re.sub(r"^#.*", "", f.read(), flags=re.M).split()
    return [""] + sorted(folders, key=lambda name: -order.index(name) if name in order else 1)


def overviews(top):
    """(file, title) of each DOC: comment."""
    for room in rooms(os.path.join(top, DRIVER)):
        for name in sorted(os.listdir(os.path.join(top, DRIVER, room))):
            if not name.endswith((".c", ".h")) or name.endswith(".mod.c"):
                continue
            path = os.path.join(DRIVER, room, name)
            with open(os.path.join(top, path), encoding="utf-8") as f:
                for title in re.findall(r"^ \* DOC: (.*\S)$", f.read(), re.M):
                    yield path, title


class DriverOverviews(Directive):
    has_content = False

    def run(self):
        env = self.state.document.settings.env
        lines = []
        for path, title in overviews(env.config.kerneldoc_srctree):
            env.note_dependency(os.path.join(env.config.kerneldoc_srctree, path))
            lines += [title[0].upper() + title[1:], "=" * len(title), "", f"From ``{path}``.", "",
                      f".. kernel-doc:: {path}", f"   :doc: {title}", ""]
        node = nodes.section()
        node.document = self.state.document
        nested_parse_with_titles(self.state, StringList(lines, "overviews"), node)
        return node.children


def transitions(text, title):
    """(state, next state, label) of each transition in the table of the DOC: comment; None if there is no such table."""
    comment = re.search(r"^ \* DOC: " + re.escape(title) + r"\n(.*?)^ \*/", text, re.M | re.S)
    table = comment and re.search(r"^ \* (=+ [ =]+)\n \* State .*\n \* =.*\n((?: \* .*\n)*?) \* =", comment[1], re.M)
    if not table:
        return None
    start = table[1].rindex(" ") + 1
    cells = {}
    state = None
    for line in table[2].split("\n"):
        row = line[3:]
        state = row.split(" ", 1)[0] or state
        if row:
            cells[state] = cells.get(state, "") + " " + row[start:]
    return [(name, m[1], m[2] or "") for name, cell in cells.items()
            for m in re.finditer(r"\b([A-Z_]{4,})\b(?: \(([^)]*)\))?", " ".join(cell.split())) if m[1] in cells]


def drawing(edges, left_out):
    """Transitions of a state to itself, and those that lead from everywhere to one state, are left to the text."""
    lines = ['rankdir=LR; nodesep=0.5; ranksep=0.9;',
             'node [shape=box, style="rounded,filled", fontname="DejaVu Sans", fontsize=10, color="#666666", '
             'fillcolor="#dbe9f6"];', 'edge [fontname="DejaVu Sans", fontsize=9, color="#444444"];']
    for state, following, label in edges:
        if following not in (state, left_out):
            lines.append(f'{state} -> {following} [label="' + r"\n".join(textwrap.wrap(label, 20)) + '"];')
    return "digraph states {\n" + "\n".join(lines) + "\n}\n"


class DriverStates(Directive):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"from": directives.unchanged_required, "without": directives.unchanged, "alt": directives.unchanged}

    def run(self):
        env = self.state.document.settings.env
        path = os.path.join(env.config.kerneldoc_srctree, DRIVER, self.options["from"])
        env.note_dependency(path)
        with open(path, encoding="utf-8") as f:
            edges = transitions(f.read(), self.arguments[0])
        if not edges:
            raise self.error(f"{self.options['from']}: no table of states below DOC: {self.arguments[0]}")
        node = graphviz()
        node["code"] = drawing(edges, self.options.get("without", ""))
        node["options"] = {"docname": env.docname}
        node["alt"] = self.options.get("alt", self.arguments[0])
        return [node]


def setup(app):
    app.setup_extension("sphinx.ext.graphviz")
    app.add_directive("driver-overviews", DriverOverviews)
    app.add_directive("driver-states", DriverStates)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
