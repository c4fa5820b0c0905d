"""A level for each class: the primal of the distance between two hulls, MaxMin's inner problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from .....errors import InputError
from ....arrays import BoolArray, FloatArray, Points
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Setting
from .conjugate import Conjugate
from .loss import Loss

__all__ = ["NearestHulls"]


@dataclass(frozen=True, eq=False)
class _HullsConjugate(Conjugate):
    """Of two levels with squared slack (`NearestHulls`): -Σ α²/(2c) where α ≥ 0 sums to 1 in each class, β = -α."""

    positive: BoolArray
    negative: BoolArray

    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Multipliers of ``margin``, clipped and scaled to sum to 1 in each class."""
        alpha = np.where(costs > 0, np.maximum(multipliers["margin"], 0.0), 0.0)
        for chosen in (self.positive, self.negative):
            there = chosen & (costs > 0)
            total = float(alpha[there].sum())
            alpha[there] = alpha[there] / total if total > 0 else 1.0 / int(there.sum())
        return -alpha

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """-Σ α²/(2c)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return -0.5 * float(np.where(beta != 0, beta**2 / costs, 0.0).sum())

    @property
    def objective(self) -> Line:
        """-Σ α²/(2c)."""
        return Line("-sum_i alpha_i^2/(2 c_i)", r"-\textstyle\sum_i \tfrac{\alpha_i^2}{2c_i}")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """Two simplices."""
        return (
            Line("sum over y_i = 1 of alpha_i = 1", r"\textstyle\sum_{y_i=1}\alpha_i = 1"),
            Line("sum over y_i = -1 of alpha_i = 1", r"\textstyle\sum_{y_i=-1}\alpha_i = 1"),
            Line("alpha_i >= 0", r"\alpha_i \ge 0"),
        )


@dataclass(frozen=True)
class NearestHulls(Loss):
    """min over p, q of ½ Σ c_i ξ_i² - p - q with y_i x_i'w + ξ_i ≥ p (class +1) or q (class -1): squared slack about two levels.

    With ½||w||² and c_i = C s_i it is the primal of MaxMin (1), where s are weights of the points: its optimum is that of
    `ConvexHullsDual` (``sample_weight=s``) with the other sign, -½ of the squared distance between the hulls of the points
    (φ_i, y_i e_i/√c_i). A point of weight 2 is worth two copies. The score is x'w - (p - q)/2, MaxMin (4).

    Raises
    ------
    InputError
        A class whose weights are all zero, when the problem is stated: its level has no bound.
    """

    intercept: ClassVar[bool] = False
    #: Points of class +1: known once the problem is stated.
    positive: BoolArray | None = field(default=None, repr=False, compare=False)

    def bind(self, X: Points, y: FloatArray, weights: FloatArray, curvature: FloatArray) -> NearestHulls:
        """Bind the loss to the classes."""
        if not all((weights[y == side] > 0).any() for side in (-1.0, 1.0)):
            raise InputError("the levels of both classes need a point of positive weight in each class")
        return replace(self, positive=y > 0)

    def _classes(self) -> tuple[BoolArray, BoolArray]:
        assert self.positive is not None
        return self.positive, ~self.positive

    def values(self, argument: FloatArray) -> FloatArray:
        """½(t - m_i)_+² less a point's share of its class's level t, for costs of 1 each."""
        losses = np.empty(argument.size)
        for chosen in self._classes():
            t = _level(np.ones(int(chosen.sum())), argument[chosen])
            losses[chosen] = 0.5 * np.maximum(t - argument[chosen], 0.0) ** 2 - t / int(chosen.sum())
        return losses

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """At the best levels."""
        value = 0.0
        for chosen in self._classes():
            t = _level(costs[chosen], argument[chosen])
            value += 0.5 * float(costs[chosen] @ np.maximum(t - argument[chosen], 0.0) ** 2) - t
        return value

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """p, q, ξ and their rows."""
        levels = builder.variables("level", 2)
        xi = builder.variables("xi", context.argument.rows, 0.0)
        builder.require_nonnegative(
            "margin", context.argument + xi - levels.under(np.column_stack(self._classes()).astype(float))
        )
        builder.cost(-1.0, levels)
        builder.cost_of_squares(0.5 * context.weights, xi)
        return None

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """x'w - (p - q)/2."""
        p, q = values["level"]
        return np.asarray(products - 0.5 * (p - q))

    def conjugate(self) -> Conjugate:
        """-Σ α²/(2c) over two simplices."""
        return _HullsConjugate(*self._classes())

    def nonnegative(self) -> bool:
        """No: -p - q is not."""
        return False

    def cost_line(self) -> Line:
        """½ Σ c_i ξ_i² - p - q."""
        return Line("1/2 sum_i c_i xi_i^2 - p - q", r"\tfrac12\textstyle\sum_i c_i\xi_i^2 - p - q")

    def lines(self) -> tuple[Line, ...]:
        """Rows of slack and levels."""
        return (
            Line(
                "y_i x_i'w >= p - xi_i (y_i = 1), q - xi_i (y_i = -1)",
                r"y_i x_i^\top w \ge p - \xi_i\ (y_i = 1),\ q - \xi_i\ (y_i = -1)",
                "margin",
            ),
            Line("xi_i >= 0", r"\xi_i \ge 0"),
        )


def _level(costs: FloatArray, argument: FloatArray) -> float:
    """t with Σ costs (t - m)_+ = 1."""
    order = np.argsort(argument, kind="stable")
    m, c = argument[order], costs[order]
    weight = np.cumsum(c)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (1.0 + np.cumsum(c * m)) / weight
    fits = (weight > 0) & (t <= np.append(m[1:], np.inf))  # so many points are below their level
    return float(t[np.argmax(fits)])
