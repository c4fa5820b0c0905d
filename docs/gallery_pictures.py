"""The scraper of sphinx-gallery for this site: it saves figures and `Picture` objects as SVG in the reader's colour scheme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

from marginopt.drawing import Picture, svg_of

__all__ = ["position", "scraper"]

#: The order of the gallery, from a first look to the special question; other files come after these.
_ORDER = (
    "outliers", "losses", "table", "wrong_points", "support", "hulls", "gaps", "audits", "big_m",
    "rank", "certificate", "exact", "price", "form", "few_features",
    "kappa", "every_lam", "gamma", "compose", "constraint", "conflict",
    "points_table", "classes", "nonparallel", "unusual", "tube",
    "ranges", "stability", "worst_group", "convergence", "profile",
)  # fmt: skip


def position(file: str) -> tuple[int, str]:
    """Return the sort key of the file of an example: its place in `_ORDER`, then its name."""
    name = Path(file).stem.removeprefix("plot_")
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)


def scraper(block: Any, variables: dict[str, Any], conf: dict[str, Any]) -> str:
    """Save the figures and pictures that a block has made, and return the reStructuredText that shows them."""
    import matplotlib.pyplot as plt

    svgs = [svg_of(plt.figure(number)) for number in plt.get_fignums()]
    plt.close("all")
    shown = variables.setdefault("pictures_shown", set())
    for name, value in variables["example_globals"].items():
        if isinstance(value, Picture) and name not in shown:
            shown.add(name)
            svgs.append(value.svg)
    paths = []
    for svg in svgs:
        path = Path(next(variables["image_path_iterator"])).with_suffix(".svg")
        path.write_text(svg, encoding="utf-8")
        paths.append(str(path))
    title = Path(variables["src_file"]).read_text(encoding="utf-8").split("\n")[1]
    return figure_rst(paths, conf["src_dir"], f"picture: {title}") if paths else ""
