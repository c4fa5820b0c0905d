"""Points, boundary and margins of a solution in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...drawing import Picture, colour_of, figure_of, marker_of, svg_of
from ...errors import InputError
from ..arrays import FloatArray, to_dense
from .point_explanation import PointExplanation

__all__ = ["picture"]

_GRID = 160


def picture(title: str, said: PointExplanation, support: tuple[int, ...], wrong: tuple[int, ...]) -> Picture:
    """Points by class, rings on the support vectors, crosses on the misclassified, and the levels of ``said.surface``.

    Raises
    ------
    InputError
        There is nothing to draw, or the data do not have two varying features.
    """
    if said.X is None or said.surface is None:
        raise InputError(f"{title.partition(':')[0]} has no classifier of labelled points to draw, and no ball")
    X = to_dense(said.X)
    varying = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    if varying.size != 2 or X.shape[1] > 3:
        raise InputError(
            f"a picture needs two features that vary (and at most a constant one); X has {varying.size} of {X.shape[1]}"
        )
    figure = figure_of(6.4, 5.2)
    ax = figure.subplots()
    plane = X[:, varying]
    low, high = plane.min(axis=0), plane.max(axis=0)
    pad = said.pad * (high - low)
    across, up = (np.linspace(low[k] - pad[k], high[k] + pad[k], _GRID) for k in (0, 1))
    grid = np.tile(X[0], (_GRID * _GRID, 1))
    grid[:, varying] = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    surface = np.asarray(said.surface(grid), dtype=np.float64).reshape(_GRID, _GRID)
    _lines(ax, across, up, surface, said.levels)
    classes = sorted({p.label for p in said.points}, key=str if any(isinstance(p.label, str) for p in said.points) else None)
    for c, label in enumerate(classes):
        chosen = [p.index for p in said.points if p.label == label]
        style: dict[str, Any] = {"color": colour_of(c), "markersize": 5, "linestyle": "none"}
        ax.plot(*plane[chosen].T, marker_of(c), label="points" if label == "" else f"y = {said.shown(label)}", **style)
    for indices, mark, name in ((support, "o", said.ringed), (wrong, "x", "misclassified")):
        if indices:
            ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": "black", "linestyle": "none"}
            ax.plot(*plane[list(indices)].T, mark, markersize=10, label=name, **ring)
    ax.set_xlabel(f"feature {varying[0]}")
    ax.set_ylabel(f"feature {varying[1]}")
    ax.set_title(title, fontsize=10)
    ax.legend(fontsize=8)
    return Picture(svg_of(figure))


def _lines(ax: Any, across: FloatArray, up: FloatArray, surface: FloatArray, levels: tuple[tuple[float, str], ...]) -> None:
    """Contours of the levels that are there."""
    for level, style in levels:
        if surface.min() < level < surface.max():
            ax.contour(across, up, surface, levels=[level], colors="black", linestyles=style, linewidths=1.0)
