"""Pictures of models on data with two features, or three."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..drawing import COLOURS, new_axes
from ..errors import InputError
from ..models.arrays import FloatArray, as_labels, as_points, as_vector, to_dense
from ..models.formulations.convex_hulls import ConvexHullsDual
from ..models.kernels.kernels import Linear

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_classifiers", "draw_hulls"]


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
    if X.shape[1] != 2 or model.kernel.of_rows:
        raise InputError(f"a picture of the hulls needs points with two features; X has {X.shape[1]} columns, {model.kernel}")
    if "a" not in values or np.shape(values["a"]) != y.shape:
        raise InputError(f"values must hold the weights a of all {y.size} points: give result.values of this model")
    if ax is None:
        ax = new_axes((5.0, 4.5))
    a = np.asarray(values["a"])
    for colour, side in zip(COLOURS[:2], (1.0, -1.0), strict=True):
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
    for colour, side in zip(COLOURS[:2], (1.0, -1.0), strict=True):
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


#: Colours of the classifiers, colour-blind safe and apart from the classes'.
_OTHERS = ("#000000", *COLOURS[2:6])


def draw_classifiers(X: object, y: object, classifiers: Mapping[str, FloatArray], ax: Axes | None = None) -> Axes:
    """Draw linear classifiers beside each other: x'w = 0 of each, and the margin x'w = ±1 of the first.

    Two features give lines in the plane, three give planes in space. The points whose margin y x'w ≥ 1 the first classifier
    violates have a ring; the legend says how many margins each classifier violates and how many points it misclassifies.

    Parameters
    ----------
    X : array_like (n, 3) or (n, 4)
        A column of ones, then two or three features.
    y : array_like (n,)
        Labels -1, +1.
    classifiers : mapping of name to ndarray
        w of each, such as ``{"0-1": result.values["w"], "hinge": ...}``.
    ax : matplotlib Axes, optional
        Where to draw (of projection "3d" for three features); a new figure's by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        X has no first column of ones or another number of features, a w has another length, or there is no classifier.
    """
    points = to_dense(as_points(X))
    labels = as_labels(y, points.shape[0])
    if points.shape[1] not in (3, 4) or not (points[:, 0] == 1.0).all():
        raise InputError(
            f"a picture of classifiers needs a column of ones and two or three features; X has {points.shape[1]} columns"
        )
    if not classifiers:
        raise InputError("classifiers must name at least one w; it is empty")
    weights = {name: as_vector(np.atleast_1d(w), points.shape[1], f"classifiers[{name!r}]") for name, w in classifiers.items()}
    if ax is None:
        ax = new_axes((5.5, 4.5), "3d" if points.shape[1] == 4 else None)
    first = next(iter(weights.values()))
    violated = labels * (points @ first) < 1.0 - 1e-9
    scatter: Any = ax.scatter  # of two or three coordinates
    for colour, side in zip(COLOURS[:2], (1.0, -1.0), strict=True):
        chosen = points[labels == side][:, 1:]
        scatter(*chosen.T, s=12, color=colour, label=f"y = {side:+.0f}")
        rings = points[(labels == side) & violated][:, 1:]
        scatter(*rings.T, s=70, facecolors="none", edgecolors=colour, linewidths=0.8)
    for k, (name, w) in enumerate(weights.items()):
        margins = labels * (points @ w)
        label = f"{name}: {int((margins < 1 - 1e-9).sum())} violated, {int((margins < 0).sum())} wrong"
        (_line if points.shape[1] == 3 else _plane)(ax, points[:, 1:], w, _OTHERS[k % len(_OTHERS)], label, margin=k == 0)
    ax.legend(fontsize=8)
    return ax


def _frame(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    room = 0.08 * np.maximum(np.ptp(features, axis=0), 1e-12)
    return features.min(axis=0) - room, features.max(axis=0) + room


def _line(ax: Axes, features: FloatArray, w: FloatArray, colour: str, label: str, margin: bool) -> None:
    """The line b + w'x = 0 across the frame, and its two margins dotted."""
    low, high = _frame(features)
    across = 1 if abs(w[2]) >= abs(w[1]) else 2  # the coordinate that runs, so that the other is not divided by nothing
    other = 3 - across
    runs = np.linspace(low[across - 1], high[across - 1], 2)
    for level in (0.0, -1.0, 1.0) if margin else (0.0,):
        solved = (level - w[0] - w[across] * runs) / w[other] if w[other] else np.full(2, np.nan)
        ends = (runs, solved) if across == 1 else (solved, runs)
        solid = level == 0.0
        style: dict[str, Any] = {"linestyle": "solid" if solid else "dotted", "linewidth": 1.5 if solid else 1.0}
        ax.plot(*ends, color=colour, label=label if solid else None, **style)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])


def _plane(ax: Axes, features: FloatArray, w: FloatArray, colour: str, label: str, margin: bool) -> None:
    """The plane b + w'x = 0 inside the frame (its margins would hide the points: they are left out)."""
    low, high = _frame(features)
    up = int(np.abs(w[1:]).argmax())
    first, second = (j for j in range(3) if j != up)
    grid = np.meshgrid(np.linspace(low[first], high[first], 25), np.linspace(low[second], high[second], 25))
    height = (
        -(w[0] + w[1 + first] * grid[0] + w[1 + second] * grid[1]) / w[1 + up] if w[1 + up] else np.full_like(grid[0], np.nan)
    )
    height = np.where((height >= low[up]) & (height <= high[up]), height, np.nan)
    surface = [grid[0], grid[1], grid[1]]
    surface[first], surface[second], surface[up] = grid[0], grid[1], height
    ax.plot_surface(*surface, color=colour, alpha=0.35 if margin else 0.2, linewidth=0.0)  # type: ignore[attr-defined]
    ax.plot([], [], [], color=colour, label=label)
