"""Sphinx configuration."""

import logging
import runpy
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"

runpy.run_path(str(HERE / "make_tables.py"))["write"]()

# The table of contents lists whichever pages are present, so a pattern without a match is no fault.
toctree_log = logging.getLogger("sphinx.sphinx.directives.other")
toctree_log.addFilter(lambda record: getattr(record, "subtype", None) != "empty_glob")

project = "kernelweave"
author = "The kernelweave developers"
copyright = "2026, The kernelweave developers"
version = release = installed_version("kernelweave")

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py"]

html_theme = "furo"
html_title = "kernelweave"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

if any(EXAMPLES.glob("plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": str(EXAMPLES),
        "gallery_dirs": "gallery",
        "filename_pattern": r"plot_",
        "download_all_examples": False,
        "write_computation_times": False,
    }
