"""What a solution says: the meaning of multipliers, active constraints, support vectors and misclassified points."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import InputError, UnsupportedModelError
from .arrays import FloatArray, to_dense
from .form import Constraint, StandardForm
from .inspect import Picture, figure_svg

if TYPE_CHECKING:
    from .base import Model

__all__ = ["Activity", "Explanation", "PointRow", "Solution", "explain"]

#: What the multipliers of each formulation are, by constraint; each sentence is a test.
MEANINGS: Mapping[str, Mapping[str, str]] = {
    "HingeSVM": {
        "margin": "alpha_i is 0 beyond the margin, lam inside it or on the wrong side, and between them only on it; "
        "w = 1/2 sum alpha_i y_i x_i",
        "bounds": "the reduced cost of xi_i is lam - alpha_i: what is left of the penalty",
    },
    "ConicSVM": {
        "hull": "gamma*_i of Conic (19): how much of the conic loss point i is given, under sum gamma_i x_i x_i' <= I",
        "budget": "by how much the optimum falls for one more unit of allowed violations, kappa n",
        "margin": "alpha_i prices the margin of point i (kappa = 0: hard margin)",
    },
    "L2SVMDual": {
        "sum": "rho = a'K~a, the margin of the primal; a_i > 0 marks support vectors, whose slack is xi_i = a_i/C",
        "bounds": "the reduced cost of a_i is (K~a)_i - rho: by how much point i clears the margin",
    },
    "MEBDual": {
        "sum": "||c||^2 - r^2; a_i > 0 marks the points on the sphere",
        "bounds": "the reduced cost of a_i is r^2 - ||phi_i - c||^2: how far inside the ball point i is",
    },
    "ConvexHullsDual": {
        "sum": "p and q, the smallest scores (Qa)_i of the two classes; twice the optimum is p + q",
        "bounds": "the reduced cost of a_i is (Qa)_i - p (or q): by how much point i clears its class's edge",
    },
    "ZeroOneSVM": {
        "margin": "integer variables: no multipliers; z_i = 1 marks the points whose margin is given up",
    },
}
#: Below this, relative to the largest, a multiplier or weight counts as zero; a slack as active.
_ZERO = 1e-6


class Solution(Protocol):
    """What is needed of a result (`marginopt.Result`)."""

    @property
    def model(self) -> str:
        """Name of the model."""

    @property
    def values(self) -> Mapping[str, FloatArray]:
        """Values by block."""

    @property
    def multipliers(self) -> Mapping[str, FloatArray] | None:
        """z by constraint."""

    @property
    def reduced(self) -> Mapping[str, FloatArray] | None:
        """ζ by block."""


@dataclass(frozen=True)
class Activity:
    """One constraint (or the bounds) at a solution: cones (rows, where polyhedral) met with equality, and violated."""

    label: str
    rows: int
    active: int
    violation: float
    largest_multiplier: float | None
    meaning: str = ""


@dataclass(frozen=True)
class PointRow:
    """One data point: its score f(x_i), margin y_i f(x_i), weight in the solution, and what it is."""

    index: int
    label: float
    score: float
    margin: float
    weight: float | None
    kind: str


@dataclass(frozen=True, eq=False)
class Explanation:
    """What `Model.explain` says; printable, and a picture where the data have two features.

    Parameters
    ----------
    title : str
    constraints : tuple of Activity
    points : tuple of PointRow
        Empty where the model has no classifier.
    weight : str
        What the points' weights are.
    """

    title: str
    constraints: tuple[Activity, ...]
    points: tuple[PointRow, ...]
    weight: str
    _model: Model = field(repr=False)
    _values: Mapping[str, FloatArray] = field(repr=False)

    @property
    def misclassified(self) -> tuple[int, ...]:
        """Indices of the points on the wrong side."""
        return tuple(p.index for p in self.points if p.margin < 0)

    @property
    def support(self) -> tuple[int, ...]:
        """Indices of the points with a weight."""
        top = max((abs(p.weight) for p in self.points if p.weight is not None), default=0.0)
        return tuple(p.index for p in self.points if p.weight is not None and abs(p.weight) > _ZERO * top)

    def table(self, limit: int = 20) -> str:
        """The points, misclassified ones first, then by weight; at most ``limit`` of them."""
        order = sorted(self.points, key=lambda p: (p.margin >= 0, -(p.weight or 0.0), p.margin))
        head = f"  {'point':>6} {'y':>3} {'score':>11} {'margin':>11} {'weight':>11}  what it is"
        lines = [head]
        for p in order[:limit]:
            weight = "" if p.weight is None else f"{p.weight:.5g}"
            lines.append(f"  {p.index:>6} {p.label:>+3.0f} {p.score:>11.5g} {p.margin:>11.5g} {weight:>11}  {p.kind}")
        if len(order) > limit:
            lines.append(f"  ... and {len(order) - limit} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = [self.title]
        for c in self.constraints:
            largest = "" if c.largest_multiplier is None else f", multipliers up to {c.largest_multiplier:.5g}"
            lines.append(f"  {c.label}: {c.active} of {c.rows} active, largest violation {c.violation:.1e}{largest}")
            lines += [f"    {c.meaning}"] if c.meaning else []
        if self.points:
            lines.append(f"  {len(self.support)} support vectors, {len(self.misclassified)} misclassified points; {self.weight}")
            lines.append(self.table())
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f'<pre style="line-height:1.35">{html.escape(str(self))}</pre>'

    def picture(self) -> Picture:
        """Points, decision boundary and margins in the plane of the two features that vary.

        Raises
        ------
        InputError
            The model has no classifier, or its data do not have two varying features.
        """
        return _picture(self._model, self._values, self)


def explain(model: Model, result: Solution) -> Explanation:
    """What a result of this model says; see `Explanation`.

    Raises
    ------
    InputError
        The result has no point, or belongs to another model.
    """
    form = model.form
    if not result.values:
        raise InputError(f"the result of {result.model} has no point to explain")
    x = form.join(result.values)
    meanings = MEANINGS.get(model.name, {})
    rows = [_activity(c, x, result.multipliers, meanings.get(c.label, "")) for c in form.constraints if c.rows]
    if form.has_bounds:
        rows.append(_bounds(form, x, result.reduced, meanings.get("bounds", "")))
    weights, what = _weights(model, result)
    return Explanation(
        f"{model.name}: what the solution says", tuple(rows), _points(model, result, weights), what, model, result.values
    )


def _activity(c: Constraint, x: FloatArray, z: Mapping[str, FloatArray] | None, meaning: str) -> Activity:
    v = c.value(x)
    price = None if z is None or c.label not in z else np.asarray(z[c.label])
    scale = 1.0 + float(np.abs(v).max(initial=0.0))
    # on the boundary: some multiple of v away from the cone leaves it at once
    inner = v - 2 * _ZERO * scale * _inward(c)
    outside = np.abs(inner - c.cone.project(inner)).reshape(-1, c.cone.block).max(axis=1)
    largest = None if price is None else float(np.abs(price).max(initial=0.0))
    return Activity(c.label, outside.size, int((outside > _ZERO * scale).sum()), c.cone.violation(v), largest, meaning)


def _inward(c: Constraint) -> FloatArray:
    """A direction into the cone's interior, cone by cone: (1), (1, 0), (1, 1, 0), svec(I)."""
    one = np.zeros(c.cone.dim)
    if c.cone.symbol == "PSD":
        order = round((np.sqrt(8 * c.cone.dim + 1) - 1) / 2)
        one[np.cumsum(np.arange(1, order + 1)) - 1] = 1.0
    elif c.cone.symbol in ("SecondOrder", "RotatedSecondOrder"):
        one[: 1 if c.cone.symbol == "SecondOrder" else 2] = 1.0
    else:
        one[:] = 1.0
    return np.tile(one, c.cone.count)


def _bounds(form: StandardForm, x: FloatArray, reduced: Mapping[str, FloatArray] | None, meaning: str) -> Activity:
    low, high = np.isfinite(form.lower), np.isfinite(form.upper)
    near = _ZERO * (1.0 + float(np.abs(x).max(initial=0.0)))
    active = int((x[low] - form.lower[low] <= near).sum() + (form.upper[high] - x[high] <= near).sum())
    outside = np.concatenate([form.lower[low] - x[low], x[high] - form.upper[high]])
    prices = None if reduced is None else max((float(np.abs(v).max(initial=0.0)) for v in reduced.values()), default=0.0)
    return Activity("bounds", int(low.sum() + high.sum()), active, max(float(outside.max(initial=0.0)), 0.0), prices, meaning)


def _data(model: Model) -> tuple[Any, FloatArray] | None:
    """X and y of a model of labelled points."""
    given = {f.name: getattr(model, f.name) for f in fields(model)}
    return (given["X"], given["y"]) if given.get("X") is not None and given.get("y") is not None else None


def _weights(model: Model, result: Solution) -> tuple[FloatArray | None, str]:
    """One weight for each point: a dual's own variables, or the multipliers of its row."""
    data = _data(model)
    if data is None:
        return None, ""
    n = data[1].size
    for label in ("a", "alpha"):
        if label in result.values and result.values[label].shape == (n,):
            return result.values[label], f"weights are {label}"
    for label in ("margin", "hull"):
        z = None if result.multipliers is None else result.multipliers.get(label)
        if z is not None and z.shape == (n,):
            return z, f"weights are the multipliers of {label}"
    return None, "no multipliers, so no weights"


def _points(model: Model, result: Solution, weights: FloatArray | None) -> tuple[PointRow, ...]:
    data = _data(model)
    if data is None:
        return ()
    X, y = data
    try:
        scores = model.decision_function(result.values, X)
    except UnsupportedModelError:
        return ()
    margins = y * scores
    unit = any(c.label in ("margin", "hull") for c in model.form.constraints)
    top = 0.0 if weights is None else float(np.abs(weights).max(initial=0.0))
    found = []
    for i in range(y.size):
        weight = None if weights is None else float(weights[i])
        kind = _kind(float(margins[i]), unit=unit, supports=weight is not None and abs(weight) > _ZERO * top)
        found.append(PointRow(i, float(y[i]), float(scores[i]), float(margins[i]), weight, kind))
    return tuple(found)


def _kind(margin: float, *, unit: bool, supports: bool) -> str:
    if margin < 0:
        where = "misclassified"
    elif not unit:
        where = "right side"
    elif margin < 1 - _ZERO:
        where = "inside the margin"
    else:
        where = "on the margin" if margin <= 1 + 1e-4 else "beyond the margin"
    return f"{where}, support vector" if supports else where


# -- the picture --------------------------------------------------------------------------------------------------

#: Colour-blind safe (Okabe and Ito), negative and positive class.
_COLOURS = {-1.0: "#0072B2", 1.0: "#D55E00"}
_GRID = 160


def _picture(model: Model, values: Mapping[str, FloatArray], said: Explanation) -> Picture:
    data = _data(model)
    if data is None or not said.points:
        raise InputError(f"{model.name} has no classifier of labelled points to draw")
    X = to_dense(data[0])
    varying = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    if varying.size != 2 or X.shape[1] > 3:
        raise InputError(
            f"a picture needs two features that vary (and at most a constant one); X has {varying.size} of {X.shape[1]}"
        )
    from matplotlib.figure import Figure  # no pyplot: nothing global is touched

    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    ax = figure.subplots()
    plane = X[:, varying]
    low, high = plane.min(axis=0), plane.max(axis=0)
    pad = 0.08 * (high - low)
    across, up = (np.linspace(low[k] - pad[k], high[k] + pad[k], _GRID) for k in (0, 1))
    grid = np.tile(X[0], (_GRID * _GRID, 1))
    grid[:, varying] = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    surface = np.asarray(model.decision_function(values, grid)).reshape(_GRID, _GRID)
    _lines(ax, across, up, surface, unit="margin" in said.points[0].kind or any("margin" in p.kind for p in said.points))
    support, wrong = set(said.support), set(said.misclassified)
    for sign, marker in ((-1.0, "o"), (1.0, "s")):
        chosen = [p.index for p in said.points if p.label == sign]
        ax.plot(*plane[chosen].T, marker, color=_COLOURS[sign], markersize=5, linestyle="none", label=f"y = {sign:+.0f}")
    for indices, style, label in ((support, "o", "support vector"), (wrong, "x", "misclassified")):
        if indices:
            ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": "black", "linestyle": "none"}
            ax.plot(*plane[sorted(indices)].T, style, markersize=10, label=label, **ring)
    ax.set_xlabel(f"feature {varying[0]}")
    ax.set_ylabel(f"feature {varying[1]}")
    ax.set_title(said.title, fontsize=10)
    ax.legend(fontsize=8)
    return Picture(figure_svg(figure))


def _lines(ax: Any, across: FloatArray, up: FloatArray, surface: FloatArray, *, unit: bool) -> None:
    """The boundary f = 0, and f = ±1 where margins are measured by 1; only levels that are there."""
    for level, style in ((0.0, "solid"), *(((-1.0, "dashed"), (1.0, "dashed")) if unit else ())):
        if surface.min() < level < surface.max():
            ax.contour(across, up, surface, levels=[level], colors="black", linestyles=style, linewidths=1.0)
