"""Sphinx's configuration: `make docs` builds the site into docs/_build/html; warnings are errors."""

from __future__ import annotations

import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import formulas  # noqa: E402
import gallery_pictures  # noqa: E402
import generate  # noqa: E402
import notebooks  # noqa: E402
import proof_pages  # noqa: E402

import marginopt  # noqa: E402
from marginopt.errors import MarginoptDeprecationWarning  # noqa: E402

project = "marginopt"
author = "The marginopt developers"
copyright = "The marginopt developers, BSD-3-Clause"
release = version = marginopt.__version__
extensions = ["myst_parser", "formulas", "prose", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "colon_fence", "fieldlist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "README.md", *(f"gallery/*.{s}" for s in ("ipynb", "py", "json", "zip")), "**/sg_execution_times*"]
#: A block without a language is no Python.
highlight_language = "text"
html_theme = "furo"
html_title = "marginopt"
html_math_renderer = "katex" if formulas.install_katex() else "mathml"
print(f"formulas are set by {html_math_renderer}")
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = html_favicon = "_static/logo.svg"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0b5fa5"},
    "dark_css_variables": {"color-brand-primary": "#56a8e0", "color-brand-content": "#7cc4ff"},
}
nitpicky = False
#: The gallery looks for objects under shorter names, old ones among them.
warnings.simplefilter("ignore", MarginoptDeprecationWarning)
#: The repository has files that the site does not: links to them are by name.
suppress_warnings = ["config.cache"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "image_scrapers": (gallery_pictures.scraper,),
    "within_subsection_order": gallery_pictures.position,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

generate.write(HERE / "reference")
notebooks.write_notebooks(HERE / "tutorials" / "series", HERE / "_build" / "notebooks")
#: The lab notes are read in the repository and on the site.
shutil.copytree(HERE.parent / "benchmarks" / "results", HERE / "lab-notes", dirs_exist_ok=True)


#: Links over the gallery's pictures, whose words are not shown.
_HIDDEN = re.compile(r'<a (class="reference internal" href="plot_[^"]*"><span class="doc">)([^<"]*)')


def _accessible(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mend what axe finds on a page: headings without a level, code that cannot be focused, links without words."""
    for part in ("body", "furo_navigation_tree"):
        if part in context:
            text = context[part].replace('role="heading">', 'role="heading" aria-level="2">')
            text = text.replace("<pre>", '<pre tabindex="0">')
            text = _HIDDEN.sub(r'<a aria-label="\2" \1\2', text)
            context[part] = text.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
    if page == "index":
        context["body"] = f'<div class="first-page">{context["body"]}</div>'


def _labelled(app: Any, exception: Exception | None) -> None:
    """Label the theme's two side columns for screen readers."""
    sides = {'<aside class="sidebar-drawer"': "pages", '<aside class="toc-drawer': "on this page"}
    for path in [] if exception else Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        for begin, name in sides.items():
            page = page.replace(begin, begin.replace("<aside ", f'<aside aria-label="{name}" '))
        path.write_text(page, encoding="utf-8")


def _proofs(app: Any, exception: Exception | None) -> None:
    """Write the proof pages that the book's table links to."""
    if exception is None and app.builder.name == "html":
        proof_pages.write_all(Path(app.outdir))


def _relink(app: Any, page: str, source: list[str]) -> None:
    """Turn links of the repository, between the pages and the lab notes, into links of the site."""
    source[0] = re.sub(r"\]\((?:\.\./)+benchmarks/results/", "](/lab-notes/", source[0])
    if page.startswith("lab-notes/"):
        source[0] = source[0].replace("](../../docs/", "](/")


def setup(app: Any) -> None:
    """Connect the hooks; `_accessible` comes after the theme's own."""
    app.connect("source-read", _relink)
    app.connect("html-page-context", _accessible, priority=900)
    app.connect("build-finished", _labelled)
    app.connect("build-finished", _proofs, priority=900)
