"""A picture of a form's structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...drawing import COLOURS, GREY, Picture, figure_of, plain, svg_of
from ..program.form_data import FormData

__all__ = ["spy"]

#: One for each kind of row.
_KINDS = ("Nonnegative", "Zero", "SecondOrder", "RotatedSecondOrder", "PSD", "Indicator", "Exponential", "Power")
_COLOURS = dict(zip(_KINDS, COLOURS, strict=False))


def spy(form: FormData) -> Picture:
    """Draw the positions of the non-zeros: P above, one band of rows for each constraint below, blocks of variables side by side.

    Colours name the cones; a band's height is its share of the rows, but no band vanishes.
    """
    shown = [c for c in form.constraints if c.rows]
    heights = [] if form.quadratic is None else [min(max(form.n / 4, 1.0), 12.0)]
    heights += [min(max(c.rows / 4, 1.2), 12.0) for c in shown]
    figure = figure_of(8.0, 1.2 + 0.32 * sum(heights))
    axes = np.atleast_1d(figure.subplots(max(len(heights), 1), 1, gridspec_kw={"height_ratios": heights or [1.0]}))
    rest = list(axes)
    if form.quadratic is not None:
        _band(rest.pop(0), sp.coo_array(form.quadratic.csc), "P", "#444444", form)
    for ax, c in zip(rest, shown, strict=False):
        _band(ax, sp.coo_array(c.F), f"{c.label}\n{c.cone}", _COLOURS[c.cone.symbol], form)
    for b in form.blocks:
        s = form.slices[b.label]
        mark = " (integer)" if form.integer[s].any() else ""
        middle = 0.5 * (s.start + s.stop) - 0.5
        axes[-1].text(middle, -0.02, plain(f"{b.label}{mark}"), ha="center", va="top", fontsize=8, transform=_below(axes[-1]))
    axes[0].set_title(plain(f"{form.name}: {form.n} variables, {form.rows} rows"), fontsize=10)
    return Picture(svg_of(figure))


def _below(ax: Any) -> Any:
    """Data coordinates across, the axes' own up and down."""
    return ax.get_xaxis_transform()


def _band(ax: Any, matrix: sp.coo_array, name: str, colour: str, form: FormData) -> None:
    nonzero = matrix.data != 0
    size = min(max(260.0 / max(form.n, matrix.shape[0], 1), 0.4), 6.0)
    ax.plot(
        matrix.col[nonzero],
        matrix.row[nonzero],
        "s",
        color=colour,
        markersize=size,
        markeredgewidth=0,
        rasterized=nonzero.sum() > 20_000,
    )
    for s in list(form.slices.values())[1:]:
        ax.axvline(s.start - 0.5, color=GREY, lw=0.6)
    ax.set_xlim(-0.5, form.n - 0.5)
    ax.set_ylim(matrix.shape[0] - 0.5, -0.5)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_ylabel(name, fontsize=8, rotation=0, ha="right", va="center")
