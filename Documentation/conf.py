# SPDX-License-Identifier: GPL-2.0-only
"""How Sphinx renders the documentation: make htmldocs runs it over the whole tree, with kernel-doc of a Linux source.

srctree is that source's directory: its Sphinx extensions take kernel-doc comments out of our files.
"""
# pylint: disable=invalid-name

import logging
import os
import re
import sys

top = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.environ["srctree"], "Documentation/sphinx"))
sys.path.insert(0, os.path.join(top, "Documentation/sphinx"))


def version_of(path):
    with open(os.path.join(top, path), encoding="utf-8") as f:
        return re.search(r'^PACKAGE_VERSION="(.*)"', f.read(), re.M)[1]


project = "rknpu-accel"
author = "The rknpu-accel authors"
release = version_of("dkms.conf")

extensions = ["kerneldoc", "automarkup", "overviews", "evidence", "sphinx.ext.graphviz", "myst_parser"]
kerneldoc_srctree = top
root_doc = "Documentation/index"
include_patterns = ["README.md", "Documentation/*.rst", "Documentation/accel/**.rst", "dts/*.rst", "selftests/*.rst", "tools/lib/*.rst",
                    "tools/testbed/*.rst", "tools/qemu/docs/**.rst"]
exclude_patterns = ["build", ".git"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
nitpicky = False

highlight_language = "none"
graphviz_output_format = "svg"
graphviz_dot_args = ["-Gbgcolor=transparent"]
html_theme = "sphinx_rtd_theme"
html_theme_options = {"navigation_depth": 3}
html_static_path = ["sphinx/static"]
html_css_files = ["rknpu.css"]
html_copy_source = False
html_show_copyright = False
# The same input gives the same pages.
html_last_updated_fmt = None

# A struct and a function may have one name in C, but Sphinx takes the second for a duplicate of the first.
TAGS_AND_FUNCTIONS = ("npu_version", "npu_stats", "npu_rec_failure", "npu_rec_info")


def is_duplicate(record):
    second = re.search(r"Duplicate C declaration.*c:(?:function::.*?\b(\w+) \(|struct:: (\w+))", record.getMessage(), re.S)
    return not second or (second[1] or second[2]) not in TAGS_AND_FUNCTIONS


logging.getLogger("sphinx.sphinx.domains.c").addFilter(is_duplicate)
