"""What a solution says of each point, for the kinds of formulation: two classes, several, one hyperplane, a ball, objectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedModelError
from ..arrays import FloatArray
from ..formulations.enclosing_ball import MEBDual
from ..formulations.nonparallel.chebyshev import ChebyshevNPSVC
from ..formulations.nonparallel.npsvc import NonparallelSVM
from ..formulations.pareto import ParetoQP
from ..program.form import StandardForm

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["ZERO", "Explained", "PointRow", "explain_points"]

#: Below this, relative to the largest, a multiplier or weight counts as zero; a slack as active.
ZERO = 1e-6
#: What counts as on a sphere or a margin, relative to the radius or the margin.
_ON = 1e-4


@dataclass(frozen=True)
class PointRow:
    """One data point (or objective): its label, score, margin, weight in the solution, and what it is."""

    index: int
    label: float | str
    score: float
    margin: float
    weight: float | None
    kind: str


@dataclass(frozen=True, eq=False)
class Explained:
    """The rows, what their columns are, and what a picture shows.

    Parameters
    ----------
    points : tuple of PointRow
    weight : str
        What the weights are.
    noun, score, margin, ringed : str
        What the rows are, heads of two columns, and what a row with a weight is.
    X : array, optional
        The points, where they can be drawn.
    surface : callable, optional
        A function of new rows; ``levels`` of it are drawn, each with a line style.
    pad : float
        Room around the points, relative to their spread.
    """

    points: tuple[PointRow, ...] = ()
    weight: str = ""
    noun: str = "point"
    score: str = "score"
    margin: str = "margin"
    ringed: str = "support vector"
    X: Any = None
    surface: Callable[[FloatArray], FloatArray] | None = None
    levels: tuple[tuple[float, str], ...] = ((0.0, "solid"),)
    pad: float = 0.08

    @staticmethod
    def shown(label: float | str) -> str:
        """A label as tables show it: +1 and -1 with their sign."""
        return label if isinstance(label, str) else f"{label:+.0f}"


def explain_points(
    model: Model, form: StandardForm | None, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None
) -> Explained:
    """The rows of a model's solution; none where it has no points."""
    if isinstance(model, MEBDual):
        return _ball(model, values)
    if isinstance(model, NonparallelSVM):
        return _hyperplane(model, values, multipliers)
    if isinstance(model, ChebyshevNPSVC):
        return _classes(model, values)
    if isinstance(model, ParetoQP):
        return _objectives(model, values)
    return _signed(model, form, values, multipliers)


# -- two classes, -1 and +1 ---------------------------------------------------------------------------------------


def _signed(
    model: Model, form: StandardForm | None, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None
) -> Explained:
    given = {f.name: getattr(model, f.name) for f in fields(model)}
    X, y = given.get("X"), given.get("y")
    if X is None or y is None:
        return Explained()
    weights, what = _weights(y.size, values, multipliers)
    try:
        scores = model.decision_function(values, X)
    except UnsupportedModelError:
        return Explained()
    margins = y * scores
    unit = model.name == "L1SVMDual" or (form is not None and any(c.label in ("margin", "hull") for c in form.constraints))
    supports = _positive(weights, y.size)
    rows = []
    for i in range(y.size):
        kind = _kind(float(margins[i]), unit=unit, supports=bool(supports[i]))
        rows.append(PointRow(i, float(y[i]), float(scores[i]), float(margins[i]), _entry(weights, i), kind))
    levels = ((0.0, "solid"), (-1.0, "dashed"), (1.0, "dashed")) if unit else ((0.0, "solid"),)
    return Explained(tuple(rows), what, X=X, surface=lambda grid: model.decision_function(values, grid), levels=levels)


def _weights(
    n: int, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None
) -> tuple[FloatArray | None, str]:
    """One weight for each point: a dual's own variables, or the multipliers of its row."""
    for label in ("a", "alpha"):
        if label in values and values[label].shape == (n,):
            return values[label], f"weights are {label}"
    for label in ("margin", "hull"):
        z = None if multipliers is None else multipliers.get(label)
        if z is not None and z.shape == (n,):
            return z, f"weights are the multipliers of {label}"
    return None, "no multipliers, so no weights"


def _positive(weights: FloatArray | None, n: int) -> Any:
    if weights is None:
        return np.zeros(n, dtype=bool)
    return np.abs(weights) > ZERO * float(np.abs(weights).max(initial=0.0))


def _entry(weights: FloatArray | None, i: int) -> float | None:
    return None if weights is None else float(weights[i])


def _kind(margin: float, *, unit: bool, supports: bool) -> str:
    if margin < 0:
        where = "misclassified"
    elif not unit:
        where = "right side"
    elif margin < 1 - ZERO:
        where = "inside the margin"
    else:
        where = "on the margin" if margin <= 1 + _ON else "beyond the margin"
    return f"{where}, support vector" if supports else where


# -- a ball -------------------------------------------------------------------------------------------------------


def _ball(model: MEBDual, values: Mapping[str, FloatArray]) -> Explained:
    """Squared distances to the centre, and what is left to the squared radius Σ a_i ||φ_i - c||² = Φ(a)."""
    a, distances = values["a"], model.squared_distances(values)
    square = float(a @ distances)
    supports = _positive(a, a.size)
    rows = []
    for i, distance in enumerate(distances):
        left = square - float(distance)
        kind = "on the sphere" if abs(left) <= _ON * square else "inside" if left > 0 else "outside"
        kind = f"{kind}, support vector" if supports[i] else kind
        rows.append(PointRow(i, "" if model.y is None else float(model.y[i]), float(distance), left, float(a[i]), kind))
    surface = None
    if model.y is None and model.kernel.name != "precomputed":
        centre = float(a @ model.gram.product(a))

        def surface(grid: FloatArray) -> FloatArray:
            """||φ(x) - c||² - r²."""
            return model.kernel.diagonal(grid) - 2.0 * model.kernel.matrix(grid, model.X) @ a + centre - square

    return Explained(tuple(rows), "weights are a", score="distance^2", margin="r^2 - d^2", X=model.X, surface=surface, pad=0.5)


# -- one class's hyperplane ---------------------------------------------------------------------------------------


def _hyperplane(
    model: NonparallelSVM, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None
) -> Explained:
    """f of every point; the class's own are to be near 0, the others beyond s."""
    f = model.features.rows @ values["u"]
    others = np.flatnonzero(~model.inside)
    z = None if multipliers is None else multipliers.get("margin")
    weights = None
    if z is not None and z.size >= others.size:  # the rows of the other points come first
        weights = np.full(f.size, np.nan)
        weights[others] = z[: others.size]
    top = 0.0 if weights is None else float(np.nanmax(np.abs(weights), initial=0.0))
    rows = []
    for i in range(f.size):
        weight = None if weights is None or model.inside[i] else float(weights[i])
        rows.append(_placed(model, i, float(f[i]), weight, top))
    what = "no multipliers, so no weights" if weights is None else "weights are the multipliers of margin"
    levels = ((0.0, "solid"), (model.margin, "dashed"))

    def surface(grid: FloatArray) -> FloatArray:
        return model.features.project(values["u"][:, None], grid)[:, 0]

    drawn = None if model.kernel.name == "precomputed" else surface
    return Explained(tuple(rows), what, score="f", margin="left", X=model.X, surface=drawn, levels=levels)


def _placed(model: NonparallelSVM, i: int, f: float, weight: float | None, top: float) -> PointRow:
    label = str(model.labels[i])
    if model.inside[i]:
        return PointRow(i, label, f, -abs(f), weight, "of the class" + (", on its hyperplane" if abs(f) <= _ON else ""))
    left = f - model.margin
    kind = "on its margin" if abs(left) <= _ON * model.margin else "beyond its margin" if left > 0 else "short of its margin"
    supports = weight is not None and abs(weight) > ZERO * top
    return PointRow(i, label, f, left, weight, f"another, {kind}" + (", support vector" if supports else ""))


# -- several classes ----------------------------------------------------------------------------------------------


def _classes(model: ChebyshevNPSVC, values: Mapping[str, FloatArray]) -> Explained:
    """Score of the own class, and by how much it beats the best of the others."""
    scores = model.scores(values, model.X)
    turn = 1.0 if model.orientation == "one" else -1.0  # the smallest score wins, or the largest
    number = np.searchsorted(model.classes, model.labels)
    own = scores[np.arange(number.size), number]
    rest = turn * scores
    rest[np.arange(number.size), number] = np.inf
    margins = rest.min(axis=1) - turn * own
    rows = tuple(
        PointRow(i, str(model.labels[i]), float(own[i]), float(m), None, "misclassified" if m < 0 else "right class")
        for i, m in enumerate(margins)
    )

    def surface(grid: FloatArray) -> FloatArray:
        return np.searchsorted(model.classes, model.predict(values, grid)).astype(np.float64)

    levels = tuple((k + 0.5, "solid") for k in range(model.K - 1))
    drawn = None if model.kernel.name == "precomputed" else surface
    return Explained(rows, "no weights of points", score="own score", X=model.X, surface=drawn, levels=levels)


# -- objectives ---------------------------------------------------------------------------------------------------


def _objectives(model: ParetoQP, values: Mapping[str, FloatArray]) -> Explained:
    """Slope of each objective along Δ = -Σ τ_l grad_l; they all descend, or no direction does."""
    tau = values["a"]
    slopes = np.tensordot(model.gradients, model.direction(tau), axes=model.gradients.ndim - 1)
    weighed = _positive(tau, tau.size)
    still = ZERO * float(model.simplex.gram.diagonal.max())
    rows = []
    for k, slope in enumerate(slopes):
        kind = (
            "descends along Delta" if slope < -still else "stands still along Delta" if slope <= still else "ascends along Delta"
        )
        kind += ", weighed" if weighed[k] else ""
        rows.append(PointRow(k, "", float(model.objectives[k]), float(-slope), float(tau[k]), kind))
    return Explained(tuple(rows), "weights are tau", noun="objective", score="J", margin="descent", ringed="weighed objective")
