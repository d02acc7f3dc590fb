"""Sphinx configuration."""

import logging
import runpy
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"

sys.path.insert(0, str(HERE))  # for our own extension, mathml
for maker in ("make_tables.py", "make_commands.py"):
    runpy.run_path(str(HERE / maker))["write"]()

# The table of contents lists whichever pages are present, so a pattern without a match is no fault.
toctree_log = logging.getLogger("sphinx.sphinx.directives.other")
toctree_log.addFilter(lambda record: getattr(record, "subtype", None) != "empty_glob")

project = "kernelweave"
author = "The kernelweave developers"
copyright = "2026, The kernelweave developers"
version = release = installed_version("kernelweave")

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser", "mathml"]
exclude_patterns = ["_build", "**/*.ipynb", "gallery/**/*.py", "notebooks/**/*.py"]

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"kernelweave {version}"
html_static_path = ["_static"]
html_css_files = ["kernelweave.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f6f9f", "color-brand-content": "#1a6490"},
    "dark_css_variables": {"color-brand-primary": "#6cb8e6", "color-brand-content": "#7cc3ee"},
}
pygments_style, pygments_dark_style = "friendly", "github-dark"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "html_image"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

extensions.append("sphinx_gallery.gen_gallery")
sphinx_gallery_conf = {
    "examples_dirs": [str(EXAMPLES), str(HERE.parent / "notebooks")],
    "gallery_dirs": ["gallery", "notebooks"],
    "filename_pattern": r"(plot|notebook)_",
    "nested_sections": False,
    "thumbnail_size": (640, 400),
    "download_all_examples": False,
    "write_computation_times": False,
}
