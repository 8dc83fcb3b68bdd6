"""Sphinx: pages are Markdown and notebooks, the library's API is Doxygen's by breathe, Python's the package's own docstrings."""

import os
import sys

sys.path.append(os.environ["CATENA_PACKAGE"])  # behind this environment's own packages

project = "catena"
author = copyright = "the authors of catena"
extensions = ["myst_nb", "breathe", "sphinx.ext.autodoc"]
root_doc = "index"

myst_heading_anchors = 6  # as GitHub has them, so that links work in both
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"  # they are kept as they ran

breathe_projects = {"catena": os.environ["CATENA_DOXYGEN"]}
breathe_default_project = "catena"
breathe_domain_by_extension = {"h": "c"}
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "catena"
suppress_warnings = [
    "duplicate_declaration.c",  # a struct and its typedef have one name
    "myst.header",  # notebooks and pages may begin their sections at any level
    "misc.highlighting_failure",  # sessions and parts of files are no whole programs
]
