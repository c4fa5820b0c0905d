"""Sphinx's configuration: `make docs` builds the site into docs/_build/html; warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402

import marginopt  # noqa: E402

project = "marginopt"
author = "The marginopt developers"
copyright = "The marginopt developers, BSD-3-Clause"
release = version = marginopt.__version__
extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "colon_fence", "fieldlist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "README.md", *(f"gallery/*.{s}" for s in ("ipynb", "py", "json", "zip")), "**/sg_execution_times*"]
html_theme = "furo"
html_title = "marginopt"
html_static_path: list[str] = []
nitpicky = False
#: The repository has files that the site does not: links to them are by name.
suppress_warnings = ["config.cache"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

generate.write(HERE / "generated")
