"""Pictures of models on two-dimensional data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .errors import InputError
from .models.arrays import FloatArray, to_dense
from .models.hulls import ConvexHullsDual
from .models.kernels import Linear

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_hulls"]

#: Colour-blind safe (Okabe and Ito): positive, negative class.
_COLOURS = ("#0072B2", "#D55E00")


def draw_hulls(model: ConvexHullsDual, values: Mapping[str, FloatArray], ax: Axes | None = None) -> Axes:
    """Draw the two classes, their support vectors, the decision line and its edges; with a linear kernel also the hulls.

    The area of a ring is proportional to the weight a_i. With the linear kernel the classes' convex hulls are drawn, and the
    points Σ_+ a_i x_i and Σ_- a_i x_i with the segment between them: the closest points of the hulls of (x_i, y_i e_i/√C),
    projected on the plane. They move to the closest points of the drawn hulls as C grows. With another kernel the hulls lie in
    feature space, and the decision line and its edges p*, q* alone are drawn through the plane.

    Parameters
    ----------
    model : ConvexHullsDual
        On two features, dense or CSR.
    values : mapping
        ``result.values``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure's by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        The data do not have two features, or ``values`` has no weights ``a`` of the model's size.
    """
    X, y = to_dense(model.X), model.y
    if X.shape[1] != 2 or model.kernel.name == "precomputed":
        raise InputError(f"a picture of the hulls needs points with two features; X has {X.shape[1]} columns, {model.kernel}")
    if "a" not in values or np.shape(values["a"]) != y.shape:
        raise InputError(f"values must hold the weights a of all {y.size} points: give result.values of this model")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(5.0, 4.5), layout="constrained")
    a = np.asarray(values["a"])
    for colour, side in zip(_COLOURS, (1.0, -1.0), strict=True):
        points, weights = X[y == side], a[y == side]
        ax.scatter(points[:, 0], points[:, 1], s=12, color=colour, label=f"y = {side:+.0f}", zorder=3)
        size = 350.0 * weights / weights.max()
        ax.scatter(points[:, 0], points[:, 1], s=size, facecolors="none", edgecolors=colour, linewidths=1.0, zorder=2)
    if isinstance(model.kernel, Linear):
        _hulls(model, values, ax)
    _lines(model, values, ax)
    ax.set_aspect("equal")
    ax.set_title(f"distance between the hulls {model.distance(values):.3g}, C = {model.C:g}, {model.kernel}", fontsize=9)
    ax.legend(fontsize=8)
    return ax


def _hulls(model: ConvexHullsDual, values: Mapping[str, FloatArray], ax: Axes) -> None:
    """Both convex hulls and the segment between the two weighted means."""
    X = to_dense(model.X)
    for colour, side in zip(_COLOURS, (1.0, -1.0), strict=True):
        corners = _corners(X[model.y == side])
        ax.fill(*corners.T, facecolor=colour, alpha=0.12, edgecolor=colour, linewidth=1.0)
    ends = np.array(model.closest_points(values))
    ax.plot(*ends.T, color="black", marker="o", linewidth=1.2, markersize=4, label="closest points", zorder=4)


def _corners(points: FloatArray) -> FloatArray:
    """The corners of the convex hull in order, by Andrew's monotone chain: also for points on a line, or a single one."""
    ordered = np.unique(points, axis=0)
    if len(ordered) < 3:
        return ordered
    chains = []
    for sweep in (ordered, ordered[::-1]):
        chain: list[FloatArray] = []
        for point in sweep:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        chains += chain[:-1]
    return np.array(chains)


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _lines(model: ConvexHullsDual, values: Mapping[str, FloatArray], ax: Axes, grid: int = 150) -> None:
    """f = 0 and the scores' edges of the two classes, f = ±(p* - q*)/2."""
    X = to_dense(model.X)
    margin = 0.12 * max(float(np.ptp(X, axis=0).max()), 1e-12)
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    first, second = np.linspace(low[0], high[0], grid), np.linspace(low[1], high[1], grid)
    plane = np.column_stack([axis.ravel() for axis in np.meshgrid(first, second)])
    scores = model.decision_function(values, plane).reshape(grid, grid)
    p, q = model.edges(np.asarray(values["a"]))
    half = 0.5 * (p - q)
    levels, styles = (-half, 0.0, half), ("dotted", "solid", "dotted")
    ax.contour(first, second, scores, levels=levels, colors="#444444", linewidths=1.0, linestyles=styles)
