"""Laws of all pictures: curves that can be told apart, legends that hide nothing."""

from __future__ import annotations

import re
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from chromium import PROGRAM, browser

from marginopt.drawing import (
    COLOURS,
    MARKERS,
    Picture,
    colour_of,
    draw_legend_below,
    figure_of,
    marker_of,
    svg_of,
    with_dark_scheme,
)


def test_no_two_curves_look_alike() -> None:
    count = len(COLOURS) * len(MARKERS)
    assert len({(colour_of(k), marker_of(k)) for k in range(count)}) == count


@pytest.mark.parametrize("width", [4.0, 6.0, 11.6])
def test_a_legend_of_long_names_is_not_cut(width: float) -> None:
    figure = figure_of(width, 4.0)
    for ax in figure.subplots(2):
        for k in range(14):
            ax.plot([0.0, 1.0], [0.0, k], label=f"conic SDP + big-M, M from incumbent {k}")
    draw_legend_below(figure)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 14
    box = legend.get_window_extent()
    assert box.x0 >= 0.0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0.0


def _picture() -> Picture:
    figure = figure_of(4.0, 3.0)
    ax = figure.subplots()
    ax.plot([0.0, 1.0], [0.0, 1.0], "o-", color="black", label="a line")
    ax.plot([0.5], [0.2], "s", color=COLOURS[1], markerfacecolor="white")
    ax.bar([0.2], [0.5], color=COLOURS[0])
    ax.legend()
    return Picture(svg_of(figure))


def test_a_picture_has_a_rule_for_each_dark_colour_that_it_uses() -> None:
    svg = _picture().svg
    ET.fromstring(svg.encode())
    rules = set(re.findall(r"\[style\*='((?:fill|stroke):#[0-9a-f]{6})'\]", svg))
    assert {"fill:#ffffff", "stroke:#000000", "fill:#0072b2"} <= rules
    drawn = svg.split("</style>", 1)[1]
    assert all(rule in drawn for rule in rules)
    assert with_dark_scheme(svg) == svg


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium (apt-get install chromium)")
def test_a_picture_follows_the_reader_s_colour_scheme() -> None:
    """Pixels of the paper are light or dark as the reader has it, and the element's own scheme goes before the reader's."""
    page = (
        '<img id="plain" src="{uri}"><img id="dark" style="color-scheme: dark" src="{uri}">'
        '<img id="light" style="color-scheme: light" src="{uri}">'
    ).format(uri=_picture().uri)
    paint = """(async name => {
        const image = document.getElementById(name); await image.decode();
        const canvas = document.createElement("canvas"); canvas.width = canvas.height = 4;
        const c = canvas.getContext("2d"); c.drawImage(image, 0, 0, 4, 4, 0, 0, 4, 4); return c.getImageData(1, 1, 1, 1).data[0];
    })"""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, browser(Path(scratch)) as chromium:
        path = Path(scratch, "page.html")
        path.write_text(f"<!doctype html><body>{page}</body>", encoding="utf-8")
        for scheme in ("light", "dark"):
            chromium.open(path, scheme=scheme)
            paper: dict[str, Any] = {name: chromium.evaluate(f"{paint}({name!r})") for name in ("plain", "dark", "light")}
            assert paper["light"] > 200 > 60 > paper["dark"], paper
            assert (paper["plain"] > 128) == (scheme == "light"), paper
