# exempt (text): names of files
"""The parts that pictures share: the palette, a finished picture as a record, figures, and text that draws literally.

A leaf that every folder may import; matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import write_text
from .svg import shortened, themed

__all__ = [
    "COLOURS",
    "GREY",
    "MARKERS",
    "Picture",
    "colour_of",
    "dash_of",
    "figure_of",
    "legend_below",
    "log_ticks",
    "marker_of",
    "new_axes",
    "plain",
    "svg_of",
]

#: Colour-blind safe (Okabe and Ito), the darker ones first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
#: What stands behind: bundles of curves, notes.
GREY = "#888888"
MARKERS = "osD^vP*X"
#: Part of a figure's width that a legend may take.
_LEGEND = 0.9
_FONTS = ("DejaVu Sans", "Verdana", "Arial")


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text: shown in notebooks, saved by `save`; needs no network.

    Parameters
    ----------
    svg : str
    name : str
        Of its file, and of its anchor in a page.
    title, caption : str
    """

    svg: str
    name: str = ""
    title: str = ""
    caption: str = ""

    @property
    def uri(self) -> str:
        """The source of an image, so that a page needs no other file; scripts in it would not run.

        Plain text, a quarter shorter than base64: attributes in single quotes, and what would end the URL or an attribute in
        double quotes, or be read as a character reference there, as percent and number. So it stands in one as it is.
        """
        single = re.sub(r"<[^>']*>", lambda tag: tag[0].replace('"', "'"), self.svg)
        return "data:image/svg+xml," + re.sub(r'[%#"&\x00-\x1f]', lambda at: f"%{ord(at[0]):02X}", single)

    @property
    def wide(self) -> bool:
        """Return whether it takes a line of a page for itself: more than 8 inches."""
        match = re.search(r"<svg[^>]*\bwidth=[\"']([0-9.]+)pt", self.svg)
        return match is not None and float(match[1]) > 8 * 72

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the SVG; returns the path."""
        return write_text(path, self.svg)

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG; .save(path) writes it)"


def colour_of(k: int) -> str:
    """The k-th colour, round and round."""
    return COLOURS[k % len(COLOURS)]


def dash_of(k: int) -> str:
    """The k-th line style, which changes when the colours come round again."""
    return ("-", "--", ":", "-.")[k // len(COLOURS) % 4]


def marker_of(k: int) -> str:
    """The k-th marker, round and round: there are eight and seven colours, so that no two of 56 curves look alike."""
    return MARKERS[k % len(MARKERS)]


def plain(text: object) -> str:
    """Text that is drawn as it is: matplotlib reads $...$ as mathematics, and SVG holds no control characters."""
    return "".join(c if c.isprintable() else " " for c in str(text)).replace("$", r"\$")


def new_axes(size: tuple[float, float], projection: str | None = None) -> Any:
    """Axes of a new pyplot figure: what a drawing function takes where none are given."""
    import matplotlib.pyplot as plt

    kind = {} if projection is None else {"projection": projection}
    return plt.subplots(figsize=size, layout="constrained", subplot_kw=kind)[1]


def figure_of(width: float, height: float) -> Any:
    """An empty figure of a size in inches; no pyplot, so nothing global is touched."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def legend_below(figure: Any) -> None:
    """One legend of the lines of all axes below them, in as many columns as the figure is wide for.

    No frame, since browsers draw the words with their own fonts, which may be wider than those that were measured.
    """
    labelled = {label: line for ax in figure.axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    for columns in (3, 2, 1):
        legend = figure.legend(
            labelled.values(), labelled.keys(), loc="outside lower center", ncols=columns, fontsize=8, frameon=False
        )
        if columns == 1 or legend.get_window_extent().width <= _LEGEND * figure.bbox.width:
            return
        legend.remove()


def log_ticks(axis: Any) -> None:
    """Few ticks on a logarithmic axis, as plain numbers: powers of ten; 1, 2 and 5 over two decades; round numbers over less."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

    low, high = axis.get_view_interval()
    span = high / low if low > 0.0 else 1e3
    axis.set_major_locator(MaxNLocator(5) if span < 4.0 else LogLocator(subs=(1.0,) if span > 100.0 else (1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def svg_of(figure: Any) -> str:
    """Return the figure as SVG text, the same for the same figure; it follows the reader's colour scheme."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "marginopt", "svg.fonttype": "none", "font.sans-serif": list(_FONTS)}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return themed(shortened(buffer.getvalue(), _FONTS))
