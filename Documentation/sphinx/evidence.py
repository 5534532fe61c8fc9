# SPDX-License-Identifier: GPL-2.0-only
"""Tables of what is known of the hardware, from Documentation/accel/rknpu/evidence.toml.

evidence:: SECTION shows the rows of a section in full, and :row:`SECTION.NAME` links to one there. evidence:: status and
source show the words and names that they use; boards, open, refusals and driver are lists of some rows: what boards do
otherwise, what is not proven, what the model refuses, what the driver relies on.
"""

import os
import re
import tomllib

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

TABLE = "Documentation/accel/rknpu/evidence.toml"
PAGE = "Documentation/accel/rknpu/evidence"
# Rows that need no proof by a board.
NOT_OPEN = ("silicon", "differs", "invented")


def load(top):
    with open(os.path.join(top, TABLE), "rb") as f:
        return tomllib.load(f)


def rows(table):
    """(SECTION.NAME, fields) of each row, in the file's order."""
    for section, content in table.items():
        if section not in ("status", "source"):
            for name, row in content.items():
                yield f"{section}.{name}", row


def marked(text):
    """Names of registers and fields as literals."""
    text = re.sub(r"(?<![`\w])[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", r"``\g<0>``", text)
    return re.sub(r"\brow ([a-z]+\.[a-z0-9-]+)", r"row :row:`\1`", text)


def sources(row):
    said = [re.sub(r"^([^:]*): (.*)$", r"\1 (\2)", source) for source in row.get("by", [])]
    return "; ".join(said)


def evidence(row):
    text = f"*{row['status']}*"
    if "by" in row:
        text += ": " + marked(sources(row)) + "."
    return text + (" " + marked(row["why"]) if "why" in row else "")


def place(row):
    text = f"``{row['model'].split('/')[-1]}``"
    return text + (f", property ``{row['property']}``" if "property" in row else "")


def tried(row):
    items = list(row.get("test", [])) + [f"report/{name}" for name in row.get("report", [])]
    return ", ".join(f"``{item}``" for item in items) or "-"


def list_table(head, widths, body):
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for cells in [head] + body:
        lines += [("   * - " if n == 0 else "     - ") + cell for n, cell in enumerate(cells)]
    return lines


def section_table(table, section):
    body = [(f"{marked(row['what'])} :row-id:`{name}`", evidence(row), place(row), tried(row))
            for name, row in rows(table) if name.startswith(section + ".")]
    return list_table(("Statement", "Evidence", "In the model", "Tried by"), "36 28 18 18", body)


def refused_table(table):
    body = [(f"{marked(row['what'])} :row-id:`{name}`", evidence(row), "; ".join(f'"{text}"' for text in row["says"]))
            for name, row in rows(table) if name.startswith("refused.")]
    return list_table(("Refused", "Evidence", "What npu-dump prints"), "40 30 30", body)


def driver_table(table):
    body = [(f"{marked(row['what'])} :row:`{name}`", f"*{row['status']}*", f"``{row['driver']}``")
            for name, row in rows(table) if "driver" in row]
    return list_table(("Statement", "Status", "Relied on in"), "60 15 25", body)


def boards(table):
    return [f"* {marked(row['board'])} :row:`{name}`" for name, row in rows(table) if "board" in row]


def open_table(table):
    body = [(f"{marked(row['what'])} :row:`{name}`", f"*{row['status']}*", ", ".join(f"``{name}``" for name in row["report"]))
            for name, row in rows(table) if "report" in row and row["status"] not in NOT_OPEN]
    return list_table(("Statement", "Status", "Program"), "65 12 23", body)


def refusals(table):
    return [f"* {marked(row['what'])} *{row['status']}* :row:`{name}`" for name, row in rows(table) if name.startswith("refused.")]


def words(table, which):
    return [f"* *{word}*: {text}" for word, text in table[which].items()]


MAKERS = {"refused": refused_table, "driver": driver_table, "boards": boards, "open": open_table, "refusals": refusals}


def text_of(table, what):
    if what in MAKERS:
        return MAKERS[what](table)
    return words(table, what) if what in ("status", "source") else section_table(table, what)


class Evidence(Directive):
    required_arguments = 1

    def run(self):
        env = self.state.document.settings.env
        top = env.config.kerneldoc_srctree
        env.note_dependency(os.path.join(top, TABLE))
        table = load(top)
        if self.arguments[0] not in list(table) + list(MAKERS):
            raise self.error(f"{TABLE} has no section {self.arguments[0]}")
        node = nodes.container()
        self.state.nested_parse(StringList(text_of(table, self.arguments[0]), TABLE), 0, node)
        return node.children


def anchor(name):
    return "row-" + name.replace(".", "-")


def row_id(_role, rawtext, text, _lineno, _inliner, _options=None, _content=None):
    return [nodes.literal(rawtext, text, ids=[anchor(text)], classes=["row-id"])], []


def row_link(_role, rawtext, text, lineno, inliner, _options=None, _content=None):
    env = inliner.document.settings.env
    if text not in dict(rows(load(env.config.kerneldoc_srctree))):
        message = inliner.reporter.error(f"{TABLE} has no row {text}", line=lineno)
        return [inliner.problematic(rawtext, rawtext, message)], [message]
    uri = "" if env.docname == PAGE else env.app.builder.get_relative_uri(env.docname, PAGE)
    return [nodes.reference(rawtext, text, refuri=f"{uri}#{anchor(text)}", internal=True)], []


def setup(app):
    app.add_directive("evidence", Evidence)
    app.add_role("row", row_link)
    app.add_role("row-id", row_id)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
