"""Losses of `Margin` with a level optimised beside w: ρ of the ν- and one-class SVM, two of nearest hulls, R² of balls.

m_i is the margin y_i x_i'w of point i, c_i its cost. L is the whole loss as a function of its arguments (margins, unless a class
says otherwise) at the best level, L* its convex conjugate, and α ≥ 0 are the multipliers of the rows that `add` adds. Scores of
new points x are computed from the products x'w and the squares x'x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import BoolArray, FloatArray, Points, as_share, row_norms_squared
from ...program.cones import RotatedSecondOrder
from ...statement import Line
from .assembly import Affine, Assembly
from .loss import BallConjugate, Conjugate, LevelConjugate, Loss
from .part import AssemblyContext


@dataclass(frozen=True)
class NuHinge(Loss):
    """The loss of the ν-SVM, Σ_i c_i (ρ - m_i)_+ - ν ρ Σ_i c_i at its best ρ ≥ 0: Schölkopf, Smola, Williamson, Bartlett, 2000,
    (3).

    With ½||w||² and c_i = 1/n: ν bounds the share of points within the margin from above, that of support vectors from below.
    Rows ξ_i ≥ 0 and m_i + ξ_i - ρ ≥ 0.

    Parameters
    ----------
    nu : float
        ν in (0, 1].

    Raises
    ------
    InputError
        ν outside (0, 1].
    """

    nu: float = 0.5

    is_sum_over_points: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", as_share(self.nu, "nu"))

    def values(self, argument: FloatArray) -> FloatArray:
        """Return (ρ - m_i)_+ - νρ at the best ρ for equal costs."""
        rho = self._level(np.ones(argument.size), argument)
        return np.maximum(rho - argument, 0.0) - self.nu * rho

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return the sum at the best ρ."""
        rho = self._level(costs, argument)
        return float(costs @ (np.maximum(rho - argument, 0.0) - self.nu * rho))

    def _level(self, costs: FloatArray, argument: FloatArray) -> float:
        """The best ρ ≥ 0: the cost of points below it reaches ν of all there."""
        order = np.argsort(argument, kind="stable")
        reached = np.cumsum(costs[order]) >= self.nu * costs.sum() * (1.0 - 1e-12)
        return max(float(argument[order][np.argmax(reached)]), 0.0)

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add ρ, ξ and their rows."""
        n = context.argument.rows
        rho = builder.variables("rho", 1, 0.0)
        xi = builder.variables("xi", n, 0.0)
        builder.require_nonnegative("margin", context.argument + xi - rho.premultiplied(np.ones((n, 1))))
        builder.cost(context.sample_weight, xi)
        builder.cost(-self.nu * float(context.sample_weight.sum()), rho)
        return None

    def required_margin(self, values: Mapping[str, FloatArray]) -> float:
        """Return ρ."""
        return float(values["rho"][0])

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*, which is 0 on 0 ≤ α ≤ c, Σα ≥ νΣc."""
        return LevelConjugate("margin", self.nu)

    def is_nonnegative(self) -> bool:
        """Return False: -νρ is negative."""
        return False

    def cost_line(self) -> Line:
        """Return the printed Σ c_i ξ_i - ν ρ Σ c_i."""
        return Line(f"sum_i c_i xi_i - {self.nu:g} rho sum_i c_i", rf"\textstyle\sum_i c_i\xi_i - {self.nu:g}\rho\sum_i c_i")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed level and slack."""
        return (
            Line("rho >= 0", r"\rho\ge 0", "rho"),
            Line("xi >= 0", r"\xi\ge 0", "xi"),
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of slack and level."""
        return (
            Line("y_i x_i'w >= rho - xi_i", r"y_i x_i^\top w \ge \rho - \xi_i", "margin"),
            Line("xi_i >= 0, rho >= 0", r"\xi_i \ge 0,\ \rho \ge 0"),
        )


@dataclass(frozen=True)
class OneClass(NuHinge):
    """The loss of the one-class SVM: as `NuHinge` with scores x_i'w in place of margins, so y is not read; Schölkopf et al.,
    2001, (3.4).

    With ½||w||² and c_i = 1/(νn) it is (3.4). With c_i = 1/n, w and ρ are ν times those; the w, ρ and scores of scikit-learn's
    ``OneClassSVM`` are n times those of c_i = 1/n.

    Parameters
    ----------
    nu : float
        ν in (0, 1].
    """

    reads_class_labels: ClassVar[bool] = False
    uses_intercept: ClassVar[bool] = False

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Return X and 0, whose arguments are the scores Xw."""
        return sp.csr_array(X), np.zeros(X.shape[0])

    def conjugate(self) -> Conjugate:
        """Return the conjugate of `NuHinge`, at scores."""
        return LevelConjugate("margin", self.nu, signed=False)

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """Return x'w - ρ: negative outside."""
        return np.asarray(products - values["rho"][0])

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of slack and level."""
        return (
            Line("x_i'w >= rho - xi_i", r"x_i^\top w \ge \rho - \xi_i", "margin"),
            Line("xi_i >= 0, rho >= 0", r"\xi_i \ge 0,\ \rho \ge 0"),
        )


@dataclass(frozen=True, eq=False)
class _HullsConjugate(Conjugate):
    """Conjugate of two levels with squared slack (`NearestHulls`): -Σ α²/(2c) where α ≥ 0 sums to 1 in each class, β = -α."""

    positive: BoolArray
    negative: BoolArray

    objective = Line("-sum_i alpha_i^2/(2 c_i)", r"-\textstyle\sum_i \tfrac{\alpha_i^2}{2c_i}")
    constraints = (
        Line("sum over y_i = 1 of alpha_i = 1", r"\textstyle\sum_{y_i=1}\alpha_i = 1"),
        Line("sum over y_i = -1 of alpha_i = 1", r"\textstyle\sum_{y_i=-1}\alpha_i = 1"),
        Line("alpha_i >= 0", r"\alpha_i \ge 0"),
    )

    def feasible_beta(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Multipliers of ``margin``, clipped and scaled to sum to 1 in each class."""
        alpha = np.where(costs > 0, np.maximum(multipliers["margin"], 0.0), 0.0)
        for chosen in (self.positive, self.negative):
            selected = chosen & (costs > 0)
            total = float(alpha[selected].sum())
            alpha[selected] = alpha[selected] / total if total > 0 else 1.0 / int(selected.sum())
        return -alpha

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """-Σ α²/(2c)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return -0.5 * float(np.where(beta != 0, beta**2 / costs, 0.0).sum())


@dataclass(frozen=True)
class NearestHulls(Loss):
    """The loss ½ Σ c_i ξ_i² - p - q at the best p, q, with y_i x_i'w + ξ_i ≥ p (class +1) or q (class -1): squared slack about
    two levels.

    With ½||w||² and c_i = C s_i it is the primal of Luo et al. (2023), (1), where s are weights of the points: its optimum is
    that of `ConvexHullsDual` (``sample_weight=s``) with the other sign, -½ of the squared distance between the hulls of the
    points (x_i, y_i e_i/√c_i), e_i the i-th unit vector. A point of weight 2 is worth two copies. The score is x'w - (p - q)/2,
    (4) there.

    Parameters
    ----------
    positive : ndarray of bool (n,), optional
        The points of class +1; taken from the labels where it is not given.

    Raises
    ------
    InputError
        A class whose weights are all zero, when the problem is stated: its level has no bound.
    """

    is_sum_over_points: ClassVar[bool] = False
    uses_intercept: ClassVar[bool] = False
    #: Points of class +1: known once the problem is stated.
    positive: BoolArray | None = field(default=None, repr=False, compare=False)

    def bind(self, X: Points, y: FloatArray, sample_weight: FloatArray, curvature: FloatArray) -> NearestHulls:
        """Return the loss with the mask of the positive class."""
        if not all((sample_weight[y == side] > 0).any() for side in (-1.0, 1.0)):
            raise InputError("the levels of both classes need a point of positive weight in each class", name="sample_weight")
        return replace(self, positive=y > 0)

    def _classes(self) -> tuple[BoolArray, BoolArray]:
        assert self.positive is not None
        return self.positive, ~self.positive

    def values(self, argument: FloatArray) -> FloatArray:
        """Return ½(t - m_i)_+² - t/k for costs of 1 each: t is the level of the point's class, k the number of its points."""
        losses = np.empty(argument.size)
        for chosen in self._classes():
            t = _level(np.ones(int(chosen.sum())), argument[chosen])
            losses[chosen] = 0.5 * np.maximum(t - argument[chosen], 0.0) ** 2 - t / int(chosen.sum())
        return losses

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return the loss at the best levels."""
        value = 0.0
        for chosen in self._classes():
            t = _level(costs[chosen], argument[chosen])
            value += 0.5 * float(costs[chosen] @ np.maximum(t - argument[chosen], 0.0) ** 2) - t
        return value

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add p, q, ξ and their rows."""
        levels = builder.variables("level", 2)
        xi = builder.variables("xi", context.argument.rows, 0.0)
        builder.require_nonnegative(
            "margin", context.argument + xi - levels.premultiplied(np.column_stack(self._classes()).astype(float))
        )
        builder.cost(-1.0, levels)
        builder.cost_of_squares(0.5 * context.sample_weight, xi)
        return None

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """Return x'w - (p - q)/2."""
        p, q = values["level"]
        return np.asarray(products - 0.5 * (p - q))

    def required_margin(self, values: Mapping[str, FloatArray]) -> float:
        """Return (p + q)/2: the scores have the middle of both levels as their zero."""
        return float(values["level"].mean())

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*; -L* is -Σ α²/(2c) over two simplices."""
        return _HullsConjugate(*self._classes())

    def is_nonnegative(self) -> bool:
        """Return False: -p - q may be negative."""
        return False

    def cost_line(self) -> Line:
        """Return the printed ½ Σ c_i ξ_i² - p - q."""
        return Line("1/2 sum_i c_i xi_i^2 - p - q", r"\tfrac12\textstyle\sum_i c_i\xi_i^2 - p - q")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed levels and slack."""
        return (
            Line("p, q in R", r"p, q\in\mathbb{R}", "level"),
            Line("xi >= 0", r"\xi\ge 0", "xi"),
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of slack and levels."""
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


@dataclass(frozen=True)
class SoftBall(Loss):
    """The loss R² - ||w||² + Σ c_i ξ_i at the best R² and ξ ≥ 0 with ||x_i - w||² ≤ R² + ξ_i: with `SquaredNorm`,
    Tax and Duin, 2004, (3).

    With t = R² - ||w||² it is min ||w||² + t + Σ c_i ξ_i subject to x_i'x_i - 2x_i'w ≤ t + ξ_i, a QP; t is the best level, and no
    R² ≥ 0 is needed where Σ c_i ≥ 1 (Chang, Lee, Lin, *A revisit to support vector data description*, 2013). c_i = C, or
    c_i = 1/(νn): ν bounds the share of points outside.

    The score of x is R² - ||x - w||²: negative outside.

    Raises
    ------
    InputError
        Σ c_i < 1 (when the problem is stated): the ball would shrink to a point and R² below zero.
    """

    is_sum_over_points: ClassVar[bool] = False
    reads_class_labels: ClassVar[bool] = False
    uses_intercept: ClassVar[bool] = False
    scores_need_squares: ClassVar[bool] = True

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Return -2X and x'x, whose arguments are x'x - 2x'w."""
        return sp.csr_array(-2.0 * sp.csr_array(X)), row_norms_squared(X)

    def bind(self, X: Points, y: FloatArray, sample_weight: FloatArray, curvature: FloatArray) -> SoftBall:
        """Return the loss itself; raise `InputError` where the weights sum to less than 1."""
        if sample_weight.sum() < 1.0 - 1e-12:
            raise InputError(
                f"the weights of a ball with slack must sum to at least 1, or no ball is worth its radius; they sum to "
                f"{sample_weight.sum():g}: "
                "give sample_weight=C with C ≥ 1/n, or 1/(nu n)",
                name="sample_weight",
            )
        return self

    def values(self, argument: FloatArray) -> FloatArray:
        """Return (a_i - t)_+ + t/n of the arguments a_i, at the best t for costs of 1 each."""
        t = self._level(np.ones(argument.size), argument)
        return np.asarray(np.maximum(argument - t, 0.0) + t / argument.size)

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return t + Σ c_i (a_i - t)_+ of the arguments a_i, at the best t."""
        t = self._level(costs, argument)
        return float(t + costs @ np.maximum(argument - t, 0.0))

    def _level(self, costs: FloatArray, argument: FloatArray) -> float:
        """The largest argument such that those from it on cost 1 at least."""
        order = np.argsort(-argument, kind="stable")
        reached = np.cumsum(costs[order]) >= 1.0 - 1e-12
        return float(argument[order][np.argmax(reached)])

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add t, ξ and their rows."""
        n = context.argument.rows
        level = builder.variables("level", 1)
        xi = builder.variables("xi", n, 0.0)
        builder.require_nonnegative("inside", xi - context.argument + level.premultiplied(np.ones((n, 1))))
        builder.cost(1.0, level)
        builder.cost(context.sample_weight, xi)
        return None

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """Return R² - ||x - w||² = t + 2x'w - x'x: negative outside."""
        return np.asarray(values["level"][0] + 2.0 * products - squares)

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*, which is 0 on 0 ≤ α ≤ c, Σα = 1."""
        return LevelConjugate("inside", None, falls=False, signed=False)

    def is_nonnegative(self) -> bool:
        """Return False: t may be negative."""
        return False

    def cost_line(self) -> Line:
        """Return the printed t + Σ c_i ξ_i."""
        return Line("t + sum_i c_i xi_i", r"t + \textstyle\sum_i c_i\xi_i")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed level and slack."""
        return (
            Line("t in R", r"t\in\mathbb{R}", "level"),
            Line("xi >= 0", r"\xi\ge 0", "xi"),
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of slack and level."""
        return (
            Line("x_i'x_i - 2 x_i'w <= t + xi_i", r"x_i^\top x_i - 2x_i^\top w \le t + \xi_i", "inside"),
            Line("xi_i >= 0", r"\xi_i \ge 0"),
        )


@dataclass(frozen=True)
class EnclosingBall(Loss):
    """The loss max_i c_i ||x_i - w||²: with no regulariser the smallest enclosing ball of weighted points, the weighted 1-centre.

    Dearing, Zeck: *A dual algorithm for the minimum covering weighted ball problem*, 2013. With q ≥ ||w||² it is the least
    level R² with c_i (x_i'x_i - 2x_i'w + q) ≤ R²; equal weights give `MEBDual`'s ball. The arguments are x_i'x_i - 2x_i'w,
    and w itself. The score of x is R² - ||x - w||², with R² the weighted level max c_i ||x_i - w||²: negative outside where all
    weights are 1.

    Parameters
    ----------
    X : ndarray or csr_array (n, p), optional
        The points: the problem sets them when it is stated.

    Raises
    ------
    InputError
        Weights that are all zero, when the problem is stated.
    """

    is_sum_over_points: ClassVar[bool] = False
    reads_class_labels: ClassVar[bool] = False
    uses_intercept: ClassVar[bool] = False
    scores_need_squares: ClassVar[bool] = True
    #: The points: known once the problem is stated.
    X: Points | None = field(default=None, repr=False, compare=False)

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Return the rows of x'x - 2x'w, then those of w itself."""
        p = X.shape[1]
        below = sp.vstack([-2.0 * sp.csr_array(X), sp.eye_array(p)], format="csr")
        return sp.csr_array(below), np.concatenate([row_norms_squared(X), np.zeros(p)])

    def costs(self, sample_weight: FloatArray, y: FloatArray) -> FloatArray:
        """Return the costs of the points, and 0 for the arguments w."""
        assert self.X is not None
        return np.concatenate([sample_weight, np.zeros(self.X.shape[1])])

    def bind(self, X: Points, y: FloatArray, sample_weight: FloatArray, curvature: FloatArray) -> EnclosingBall:
        """Return the loss with the points."""
        if not (sample_weight > 0).any():
            raise InputError("a ball needs a point with a weight above 0", name="sample_weight")
        return replace(self, X=X)

    def values(self, argument: FloatArray) -> FloatArray:
        """Return ||x_i - w||² where it is the largest, 0 elsewhere and for the arguments w."""
        distances = self._distances(argument)
        first = np.arange(distances.size) == np.argmax(distances)
        return np.concatenate([np.where(first, distances, 0.0), np.zeros(argument.size - distances.size)])

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return the largest weighted squared distance."""
        distances = self._distances(argument)
        return float((costs[: distances.size] * distances).max())

    def _distances(self, argument: FloatArray) -> FloatArray:
        assert self.X is not None
        w = argument[self.X.shape[0] :]
        return np.asarray(argument[: self.X.shape[0]] + float(w @ w))

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add R², q and their rows."""
        assert self.X is not None
        n, p = self.X.shape
        level, square = builder.variables("level", 1), builder.variables("square", 1)
        distances = context.argument.at(slice(0, n)) + square.premultiplied(np.ones((n, 1)))
        builder.require_nonnegative("inside", level.premultiplied(np.ones((n, 1))) - distances.scaled(context.sample_weight[:n]))
        unit = np.eye(p + 2)
        builder.require(
            "norm",
            square.premultiplied(0.5 * unit[:, :1]) + context.w.premultiplied(unit[:, 2:]) + unit[1],  # 2·(q/2)·1 ≥ ||w||²
            RotatedSecondOrder(p + 2),
        )
        builder.cost(1.0, level)
        return None

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """Return R² - ||x - w||², with R² the weighted level: negative outside where all weights are 1."""
        w = values["w"]
        return np.asarray(values["level"][0] - float(w @ w) + 2.0 * products - squares)

    def conjugate(self) -> Conjugate:
        """Return the conjugate over the simplex."""
        assert self.X is not None
        return BallConjugate(self.X)

    def cost_line(self) -> Line:
        """Return the printed R²."""
        return Line("R^2", "R^2")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed squared radius and bound of ||w||²."""
        return (
            Line("R^2 >= 0", r"R^2\ge 0", "level"),
            Line("q >= 0", r"q\ge 0", "square"),
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed weighted distances."""
        return (
            Line("c_i (x_i'x_i - 2 x_i'w + q) <= R^2", r"c_i\,(x_i^\top x_i - 2x_i^\top w + q) \le R^2", "inside"),
            Line("||w||^2 <= q", r"\|w\|_2^2 \le q", "norm"),
        )
