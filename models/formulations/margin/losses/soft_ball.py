"""The smallest ball with slack: support vector data description, as a composition with ||w||²."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from .....errors import InputError
from ....arrays import FloatArray, Points, row_norms_squared
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Setting
from .conjugate import Conjugate, LevelConjugate
from .loss import Loss

__all__ = ["SoftBall"]


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

    def settled(self, X: Points, y: FloatArray, weights: FloatArray, curvature: FloatArray) -> SoftBall:
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

    def add(self, to: Assembly, at: Setting) -> Affine | None:
        """t, ξ and their rows."""
        n = at.argument.rows
        level = to.variables("level", 1)
        xi = to.variables("xi", n, 0.0)
        to.require_nonnegative("inside", xi - at.argument + level.under(np.ones((n, 1))))
        to.cost(1.0, level)
        to.cost(at.weights, xi)
        return None

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """R² - ||x - w||² = t + 2x'w - x'x."""
        return np.asarray(values["level"][0] + 2.0 * products - squares)

    def conjugate(self) -> Conjugate:
        """0 on 0 ≤ α ≤ c, Σα = 1."""
        return LevelConjugate("inside", None, falls=False)

    @property
    def dual_row(self) -> Line:
        """2 x_i."""
        return Line("2 x_i", "2 x_i")

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
