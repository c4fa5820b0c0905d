# exempt (text): SVG
"""Helpers of all plots: the palette, matplotlib figures and axes, and the finished picture as compact SVG (`Picture`).

Every folder may import this module, which imports matplotlib when something is drawn.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InputError, short_text
from .files import write_text

#: Colours that a dark page shows otherwise: ink, paper, greys, and the palette's two blues, which stay two.
_DARK = {
    "#000000": "#e8e8e8",
    "#ffffff": "#16181b",
    "#444444": "#b8bcc2",
    "#333333": "#c8ccd2",
    "#808080": "#9aa0a6",
    "#0072b2": "#56a8e0",
    "#1f77b4": "#56a8e0",
    "#56b4e9": "#b5e3ff",
    "#b0b0b0": "#6b7076",
    "#cccccc": "#5a5f66",
}


def with_dark_scheme(svg: str) -> str:
    """Return the SVG of a `Picture` with CSS rules that change its colours where the reader prefers a dark colour scheme.

    Markers are in shadow trees, where no rule with an ancestor matches. So the rules name a colour alone, in the spelling of
    `_shorten_svg`, which other pictures on a page do not have. An SVG that has the rules is returned unchanged.
    """
    if "<svg class=" in svg:
        return svg
    rules = [
        f"[style*='{kind}:{light}']{{{kind}:{dark}!important}}"
        for light, dark in _DARK.items()
        for kind in ("fill", "stroke")
        if f"{kind}:{light}" in svg
    ]
    css = (
        f"<style type='text/css'>@media screen and (prefers-color-scheme:dark){{svg.mo{{fill:#e8e8e8}}{''.join(rules)}}}</style>"
    )
    return re.sub(r"<svg( [^>]*)>", lambda tag: f'<svg class="mo"{tag[1]}>{css}', svg, count=1)


def _shorten_svg(svg: str, fonts: tuple[str, ...]) -> str:
    """Return matplotlib's SVG of a picture in fewer characters.

    Comments, blanks, groups without attributes and rotations by 0 are removed. Coordinates have two decimals. The font stands
    once, and the style of a marker where the marker is defined.
    """
    short = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    short = re.sub(r'<g id="[^"]*"( ?/?)>', r"<g\1>", re.sub(r">\s+<", "><", short))
    family = ", ".join([*(f"'{name}'" for name in fonts), "sans-serif"])
    short = re.sub(r"<[^>]*>", _tag, short.replace(f" font-family: {family};", ""))
    return _markers(_groups(short)).replace("*{", f"text{{font-family:{family}}}*{{", 1)


def _tag(tag: re.Match[str]) -> str:
    short = re.sub(r"(\.\d\d)\d+", r"\1", re.sub(r"\s+", " ", tag[0]))
    short = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", short)
    short = re.sub(r' d="[^"]*"', lambda path: re.sub(r" ?([A-Za-z]) ?", r"\1", path[0][4:-1]).join((' d="', '"')), short)
    return re.sub(r'style="[^"]*"', lambda style: style[0].replace(": ", ":").replace("; ", ";"), short)


def _groups(svg: str) -> str:
    """Remove groups without attributes, which change nothing that is drawn."""
    flags: list[bool] = []

    def keep(tag: re.Match[str]) -> str:
        if tag[0].endswith("/>"):
            return ""
        if tag[0] == "</g>":
            return tag[0] if flags.pop() else ""
        flags.append(tag[0] != "<g>")
        return tag[0] if flags[-1] else ""

    return re.sub(r"<g(?:[ /][^>]*)?>|</g>", keep, svg)


def _markers(svg: str) -> str:
    """Move a style that all uses of a marker share to its definition, whose own properties go before it."""
    uses: defaultdict[str, set[str]] = defaultdict(set)
    for match in re.finditer(r'<use xlink:href="#([^"]*)"[^>]*style="([^"]*)"', svg):
        uses[match[1]].add(match[2])
    shared = {name: next(iter(styles)) for name, styles in uses.items() if len(styles) == 1}

    def define(path: re.Match[str]) -> str:
        if path[1] not in shared:
            return path[0]
        style = path[3] or ""
        properties = {part.partition(":")[0] for part in style.split(";")}
        new_properties = [part for part in shared[path[1]].split(";") if part.partition(":")[0] not in properties]
        return f'<path id="{path[1]}"{path[2]} style="{";".join(filter(None, [style, *new_properties]))}"/>'

    def use(tag: re.Match[str]) -> str:
        return re.sub(r' style="[^"]*"', "", tag[0]) if tag[1] in shared else tag[0]

    svg = re.sub(r'<path id="([^"]*)"((?: d="[^"]*")?)(?: style="([^"]*)")?/>', define, svg)
    return re.sub(r'<use xlink:href="#([^"]*)"[^>]*>', use, svg)


#: The colours of curves: Okabe and Ito's palette, safe for colour-blind readers, the darker ones first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
#: The colour of curves and notes in the background.
GREY = "#888888"
#: Matplotlib's codes of the markers, in the order of use.
MARKERS = "osD^vP*X"
#: Part of a figure's width that a legend may take.
_LEGEND = 0.9
#: Fonts of the text in pictures, in the order of preference.
_FONTS = ("DejaVu Sans", "Verdana", "Arial")


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text: shown in notebooks, saved by `save`; needs no network.

    Parameters
    ----------
    svg : str
        The SVG document.
    name : str
        The name of its file, and of its anchor in a page.
    title, caption : str
        The heading of the picture and the sentences below it, in a page.
    """

    svg: str
    name: str = ""
    title: str = ""
    caption: str = ""

    @property
    def uri(self) -> str:
        """The picture as a data URI, the source of an image in a page without other files; scripts in it do not run.

        Plain text is a quarter shorter than base64. Attributes are in single quotes; characters that would end the URI or an
        attribute in double quotes, or begin a character reference, are percent-encoded.
        """
        single = re.sub(r"<[^>']*>", lambda tag: tag[0].replace('"', "'"), self.svg)
        return "data:image/svg+xml," + re.sub(r'[%#"&\x00-\x1f]', lambda match: f"%{ord(match[0]):02X}", single)

    @property
    def is_wide(self) -> bool:
        """True for a picture of more than 8 inches, which takes the whole width of a page."""
        match = re.search(r"<svg[^>]*\bwidth=[\"']([0-9.]+)pt", self.svg)
        return match is not None and float(match[1]) > 8 * 72

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the SVG to a file, whose name must end in .svg, and return its path; raise InputError for another ending."""
        if Path(path).suffix.lower() != ".svg":
            raise InputError(
                f"a picture is written as SVG; give {short_text(str(path))} the ending .svg", name="path", allowed=(".svg",)
            )
        return write_text(path, self.svg)

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG; .save(path) writes it)"


def colour_of(k: int) -> str:
    """Return the colour of the k-th curve (k ≥ 0); after the seven `COLOURS` they repeat."""
    return COLOURS[k % len(COLOURS)]


def dash_of(k: int) -> str:
    """Return the line style of the k-th curve, which changes when the colours repeat."""
    return ("-", "--", ":", "-.")[k // len(COLOURS) % 4]


def marker_of(k: int) -> str:
    """Return the marker of the k-th curve; eight markers and seven colours make 56 curves that all differ."""
    return MARKERS[k % len(MARKERS)]


def literal_text(text: object) -> str:
    """Return text that matplotlib draws literally: control characters removed, and $, which begins mathematics, escaped."""
    return "".join(c if c.isprintable() else " " for c in str(text)).replace("$", r"\$")


def new_axes(size: tuple[float, float], projection: str | None = None) -> Any:
    """Return the axes ("polar", "3d" or plain) of a new pyplot figure of this size in inches, for callers without axes."""
    import matplotlib.pyplot as plt

    kind = {} if projection is None else {"projection": projection}
    return plt.subplots(figsize=size, layout="constrained", subplot_kw=kind)[1]


def figure_of(width: float, height: float) -> Any:
    """Return an empty figure of a size in inches; without pyplot, so that no global state changes."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def draw_legend_below(figure: Any) -> None:
    """Draw one legend of the lines of all axes below them, in as many columns as the figure is wide for.

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


def set_log_ticks(axis: Any) -> None:
    """Set few ticks on a logarithmic axis: powers of ten over two decades, 1, 2 and 5 below, round numbers below a factor 4."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

    low, high = axis.get_view_interval()
    span = high / low if low > 0.0 else 1e3
    axis.set_major_locator(MaxNLocator(5) if span < 4.0 else LogLocator(subs=(1.0,) if span > 100.0 else (1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def svg_of(figure: Any) -> str:
    """Return a figure as SVG text, the same for equal figures; its colours follow the reader's colour scheme."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "marginopt", "svg.fonttype": "none", "font.sans-serif": list(_FONTS)}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return with_dark_scheme(_shorten_svg(buffer.getvalue(), _FONTS))
