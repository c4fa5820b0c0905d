"""The smallest ball with slack (support vector data description, with ||w||²), and the smallest one of weighted points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from .....errors import InputError
from ....arrays import FloatArray, Points, row_norms_squared
from ....program.cones import RotatedSecondOrder
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Setting
from .conjugate import BallConjugate, Conjugate, LevelConjugate
from .loss import Loss

__all__ = ["EnclosingBall", "SoftBall"]


@dataclass(frozen=True)
class SoftBall(Loss):
    """min R² + Σ c_i ξ_i over balls with ||x_i - w||² ≤ R² + ξ_i, ξ ≥ 0: with `SquaredNorm`, Tax and Duin, 2004, (3).

    With t = R² - ||w||² it is min ||w||² + t + Σ c_i ξ_i subject to x_i'x_i - 2x_i'w ≤ t + ξ_i, a QP; t is the best level, and no
    R² ≥ 0 is needed where Σ c_i ≥ 1 (Chang, Lee, Lin, *A revisit to support vector data description*, 2013). c_i = C, or
    c_i = 1/(νn): ν bounds the share of points outside.

    The score of x is R² - ||x - w||², so negative outside.

    Raises
    ------
    InputError
        Σ c_i < 1 (when the problem is stated): the ball would shrink to a point and R² below zero.
    """

    labels: ClassVar[bool] = False
    intercept: ClassVar[bool] = False
    needs_squares: ClassVar[bool] = True

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """x'x - 2x'w."""
        return sp.csr_array(-2.0 * sp.csr_array(X)), row_norms_squared(X)

    def bind(self, X: Points, y: FloatArray, weights: FloatArray, curvature: FloatArray) -> SoftBall:
        """Itself, where the weights come to 1 at least."""
        if weights.sum() < 1.0 - 1e-12:
            raise InputError(
                f"the weights of a ball with slack must sum to at least 1, or no ball is worth its radius; they sum to "
                f"{weights.sum():g}: "
                "give weights=C with C ≥ 1/n, or 1/(nu n)"
            )
        return self

    def values(self, argument: FloatArray) -> FloatArray:
        """(a_i - t)_+ + t/n at the best t for costs of 1 each."""
        t = self._level(np.ones(argument.size), argument)
        return np.asarray(np.maximum(argument - t, 0.0) + t / argument.size)

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """t + Σ c_i (a_i - t)_+ at the best t."""
        t = self._level(costs, argument)
        return float(t + costs @ np.maximum(argument - t, 0.0))

    def _level(self, costs: FloatArray, argument: FloatArray) -> float:
        """The largest argument such that those from it on cost 1 at least."""
        order = np.argsort(-argument, kind="stable")
        reached = np.cumsum(costs[order]) >= 1.0 - 1e-12
        return float(argument[order][np.argmax(reached)])

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """t, ξ and their rows."""
        n = context.argument.rows
        level = builder.variables("level", 1)
        xi = builder.variables("xi", n, 0.0)
        builder.require_nonnegative("inside", xi - context.argument + level.under(np.ones((n, 1))))
        builder.cost(1.0, level)
        builder.cost(context.weights, xi)
        return None

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """R² - ||x - w||² = t + 2x'w - x'x."""
        return np.asarray(values["level"][0] + 2.0 * products - squares)

    def conjugate(self) -> Conjugate:
        """0 on 0 ≤ α ≤ c, Σα = 1."""
        return LevelConjugate("inside", None, falls=False, signed=False)

    def nonnegative(self) -> bool:
        """No: t may be negative."""
        return False

    def cost_line(self) -> Line:
        """t + Σ c_i ξ_i."""
        return Line("t + sum_i c_i xi_i", r"t + \textstyle\sum_i c_i\xi_i")

    def lines(self) -> tuple[Line, ...]:
        """Rows of slack and level."""
        return (
            Line("x_i'x_i - 2 x_i'w <= t + xi_i", r"x_i^\top x_i - 2x_i^\top w \le t + \xi_i", "inside"),
            Line("xi_i >= 0", r"\xi_i \ge 0"),
        )


@dataclass(frozen=True)
class EnclosingBall(Loss):
    """max_i c_i ||x_i - w||²: with no regulariser the smallest enclosing ball of weighted points, the weighted 1-centre.

    Dearing, Zeck: *A dual algorithm for the minimum covering weighted ball problem*, 2013. With q ≥ ||w||² it is the least
    level R² with c_i (x_i'x_i - 2x_i'w + q) ≤ R²; equal weights give `MEBDual`'s ball. The arguments are x_i'x_i - 2x_i'w,
    and w itself. The score of x is R² - ||x - w||².

    Raises
    ------
    InputError
        Weights that are all zero, when the problem is stated.
    """

    labels: ClassVar[bool] = False
    intercept: ClassVar[bool] = False
    needs_squares: ClassVar[bool] = True
    #: The points: known once the problem is stated.
    X: Points | None = field(default=None, repr=False, compare=False)

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """x'x - 2x'w, then w."""
        p = X.shape[1]
        below = sp.vstack([-2.0 * sp.csr_array(X), sp.eye_array(p)], format="csr")
        return sp.csr_array(below), np.concatenate([row_norms_squared(X), np.zeros(p)])

    def costs(self, weights: FloatArray, y: FloatArray) -> FloatArray:
        """Costs of the points; 0 for w."""
        assert self.X is not None
        return np.concatenate([weights, np.zeros(self.X.shape[1])])

    def bind(self, X: Points, y: FloatArray, weights: FloatArray, curvature: FloatArray) -> EnclosingBall:
        """Bind the loss to the points."""
        if not (weights > 0).any():
            raise InputError("a ball needs a point with a weight above 0")
        return replace(self, X=X)

    def values(self, argument: FloatArray) -> FloatArray:
        """||x_i - w||² where it is the largest, nothing elsewhere, and nothing for w."""
        distances = self._distances(argument)
        first = np.arange(distances.size) == np.argmax(distances)
        return np.concatenate([np.where(first, distances, 0.0), np.zeros(argument.size - distances.size)])

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """The largest weighted squared distance."""
        distances = self._distances(argument)
        return float((costs[: distances.size] * distances).max())

    def _distances(self, argument: FloatArray) -> FloatArray:
        assert self.X is not None
        w = argument[self.X.shape[0] :]
        return np.asarray(argument[: self.X.shape[0]] + float(w @ w))

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """R², q and their rows."""
        assert self.X is not None
        n, p = self.X.shape
        level, square = builder.variables("level", 1), builder.variables("square", 1)
        distances = context.argument.at(slice(0, n)) + square.under(np.ones((n, 1)))
        builder.require_nonnegative("inside", level.under(np.ones((n, 1))) - distances.scaled(context.weights[:n]))
        unit = np.eye(p + 2)
        builder.require(
            "norm",
            square.under(0.5 * unit[:, :1]) + context.w.under(unit[:, 2:]) + unit[1],  # 2·(q/2)·1 ≥ ||w||²
            RotatedSecondOrder(p + 2),
        )
        builder.cost(1.0, level)
        return None

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """R² - ||x - w||²."""
        w = values["w"]
        return np.asarray(values["level"][0] - float(w @ w) + 2.0 * products - squares)

    def conjugate(self) -> Conjugate:
        """Over the simplex."""
        assert self.X is not None
        return BallConjugate(self.X)

    def cost_line(self) -> Line:
        """R²."""
        return Line("R^2", "R^2")

    def lines(self) -> tuple[Line, ...]:
        """Weighted distances."""
        return (
            Line("c_i (x_i'x_i - 2 x_i'w + q) <= R^2", r"c_i\,(x_i^\top x_i - 2x_i^\top w + q) \le R^2", "inside"),
            Line("||w||^2 <= q", r"\|w\|_2^2 \le q", "norm"),
        )
