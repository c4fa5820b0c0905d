# exempt (text): SVG
"""SVG text as matplotlib writes it: shortened to half its length, and with the colours of a dark page beside its own."""

from __future__ import annotations

import re
from collections import defaultdict

__all__ = ["shortened", "themed"]

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


def themed(svg: str) -> str:
    """Return a shortened picture that follows the reader's colour scheme, by one rule for each of its colours.

    Markers stand in shadow trees, where no rule with an ancestor matches: the rules name a colour alone, in the writing of
    `shortened`, so that they concern only pictures of ours on a page. A themed picture is returned as it is.
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


def shortened(svg: str, fonts: tuple[str, ...]) -> str:
    """The same picture in fewer characters.

    Comments, blanks, groups without attributes and turns by nothing go; coordinates are to a hundredth of a point; the font is
    said once, and the style of a marker where the marker is defined.
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
    """Groups that carry no attribute change nothing that is drawn."""
    kept: list[bool] = []

    def keep(tag: re.Match[str]) -> str:
        if tag[0].endswith("/>"):
            return ""
        if tag[0] == "</g>":
            return tag[0] if kept.pop() else ""
        kept.append(tag[0] != "<g>")
        return tag[0] if kept[-1] else ""

    return re.sub(r"<g(?:[ /][^>]*)?>|</g>", keep, svg)


def _markers(svg: str) -> str:
    """A style that all uses of a marker share belongs to its definition; what that says itself goes before it."""
    uses: defaultdict[str, set[str]] = defaultdict(set)
    for at in re.finditer(r'<use xlink:href="#([^"]*)"[^>]*style="([^"]*)"', svg):
        uses[at[1]].add(at[2])
    shared = {name: next(iter(styles)) for name, styles in uses.items() if len(styles) == 1}

    def define(path: re.Match[str]) -> str:
        if path[1] not in shared:
            return path[0]
        style = path[3] or ""
        properties = {part.partition(":")[0] for part in style.split(";")}
        more = [part for part in shared[path[1]].split(";") if part.partition(":")[0] not in properties]
        return f'<path id="{path[1]}"{path[2]} style="{";".join(filter(None, [style, *more]))}"/>'

    def use(tag: re.Match[str]) -> str:
        return re.sub(r' style="[^"]*"', "", tag[0]) if tag[1] in shared else tag[0]

    svg = re.sub(r'<path id="([^"]*)"((?: d="[^"]*")?)(?: style="([^"]*)")?/>', define, svg)
    return re.sub(r'<use xlink:href="#([^"]*)"[^>]*>', use, svg)
