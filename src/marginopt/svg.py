# exempt (text): SVG
"""SVG text as matplotlib writes it, without what says nothing: a page of pictures is half as long."""

from __future__ import annotations

import re
from collections import defaultdict

__all__ = ["shortened"]


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
