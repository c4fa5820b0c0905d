"""The meaning of a solution for each point, as data and in words for two classes that a function f separates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import BoolArray, FloatArray

__all__ = ["ON", "ZERO", "PointExplanation", "PointRow", "positive", "priced", "two_classes", "weighed"]

#: Below this, relative to the largest, a multiplier or weight counts as zero; a slack as active.
ZERO = 1e-6
#: What counts as on a sphere or a margin, relative to the radius or the margin.
ON = 1e-4


@dataclass(frozen=True)
class PointRow:
    """One data point (or objective): its label, score, margin and weight in the solution, and what it is."""

    index: int
    label: float | str
    score: float
    margin: float
    weight: float | None
    kind: str
    misclassified: bool = False


@dataclass(frozen=True, eq=False)
class PointExplanation:
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


#: Weights of the points and what they are.
Weights = tuple[FloatArray | None, str]


def weighed(values: Mapping[str, FloatArray]) -> Weights:
    """The weights of a dual: its own variables ``a``."""
    return values["a"], "weights are a"


def priced(multipliers: Mapping[str, FloatArray] | None, label: str, n: int) -> Weights:
    """The weights of a primal: the multipliers of the points' rows."""
    z = None if multipliers is None else multipliers.get(label)
    if z is not None and z.shape == (n,):
        return z, f"weights are the multipliers of {label}"
    return None, "no multipliers, so no weights"


def two_classes(X: Any, y: FloatArray, f: Callable[[Any], FloatArray], weights: Weights, *, unit: bool) -> PointExplanation:
    """Scores, margins and weights of points with labels -1 and +1.

    Parameters
    ----------
    X, y : array
        Points and labels.
    f : callable
        Scores of rows, whose sign is the class.
    weights : tuple
        See `weighed` and `priced`.
    unit : bool
        Whether the margin is 1, so that points are inside it, on it or beyond.
    """
    a, what = weights
    scores = f(X)
    margins = y * scores
    supports = positive(a, y.size)
    rows = []
    for i in range(y.size):
        margin = float(margins[i])
        kind = _kind(margin, unit=unit, supports=bool(supports[i]))
        rows.append(PointRow(i, float(y[i]), float(scores[i]), margin, _entry(a, i), kind, margin < 0))
    levels = ((0.0, "solid"), (-1.0, "dashed"), (1.0, "dashed")) if unit else ((0.0, "solid"),)
    return PointExplanation(tuple(rows), what, X=X, surface=f, levels=levels)


def positive(weights: FloatArray | None, n: int) -> BoolArray:
    """Return the mask of the n points whose weight is not rounding."""
    if weights is None:
        return np.zeros(n, dtype=bool)
    return np.asarray(np.abs(weights) > ZERO * float(np.abs(weights).max(initial=0.0)))


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
        where = "on the margin" if margin <= 1 + ON else "beyond the margin"
    return f"{where}, support vector" if supports else where
