# SPDX-License-Identifier: GPL-2.0-only
"""The directive driver-overviews: every DOC: comment of the driver, in the order of its rooms."""

import os
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
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


def setup(app):
    app.add_directive("driver-overviews", DriverOverviews)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
