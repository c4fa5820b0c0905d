"""The minimax model that chooses the kernel parameter with the classifier, MaxMin (10)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from ..errors import InputError, UnsupportedModelError
from .arrays import FloatArray, IntArray, Points, as_labels, as_points, as_positive, to_dense
from .base import Model
from .form import StandardForm
from .hulls import ConvexHullsDual
from .kernels import RBF, Precomputed, squared_distances
from .statement import Line, Statement

__all__ = ["MaxMinProblem", "MaxMinSVM", "Parameter", "fisher_ratio"]

V = TypeVar("V")
#: What the outer problem moves: γ as printed, its logarithm, or one γ for each feature.
Parameter: TypeAlias = Literal["gamma", "log-gamma", "per-feature"]
_PARAMETERS = ("gamma", "log-gamma", "per-feature")


def fisher_ratio(distances: FloatArray, y: FloatArray, gamma: float) -> float:
    """D_inter/D_inner of MaxMin (54)/(55) for k = exp(-γ D), D the m × m matrix of squared distances.

    D_inter = ||m+ - m-||², the squared distance of the classes' means in feature space; D_inner is the sum over the classes of
    the mean ||φ_i - m||² = 1 - mean k. Computed from 1 - k, which does not cancel where γ is small. Infinite where each class
    is one repeated point and the classes differ, zero where all points are equal.
    """
    apart = -np.expm1(-gamma * distances)
    plus, minus = (y > 0).astype(np.float64), (y < 0).astype(np.float64)
    plus, minus = plus / plus.sum(), minus / minus.sum()
    to_plus, to_minus = apart @ plus, apart @ minus
    inner = float(plus @ to_plus) + float(minus @ to_minus)
    inter = 2.0 * float(plus @ to_minus) - inner
    if inner > 0:
        return max(inter, 0.0) / inner
    return float("inf") if inter > 0 else 0.0


@dataclass(frozen=True, eq=False)
class MaxMinProblem:
    """The view of the outer algorithm: the inner problem at any γ, and ∂/∂γ of its optimal value at a minimiser a.

    Envelope theorem: f(γ) = min_a ½a'Q(γ)a is differentiable where the minimiser is unique (I/C makes it so), with
    f'(γ) = ½a'Q'(γ)a = -½ Σ a_i a_j y_i y_j D_ij exp(-γ D_ij), D_ij = ||x_i - x_j||², MaxMin (51); for one γ_k a feature
    D_ij becomes (x_ik - x_jk)² and the exponent Σ_k γ_k (x_ik - x_jk)².
    """

    X: FloatArray
    y: FloatArray
    C: float
    gamma0: FloatArray
    lower: float
    upper: float
    parameter: Parameter

    @cached_property
    def distances(self) -> FloatArray:
        """||x_i - x_j||², m × m: with one γ for all features every kernel matrix comes from it."""
        return _distances(self.X)

    def scaled_distances(self, gamma: FloatArray) -> FloatArray:
        """Σ_k γ_k (x_ik - x_jk)², m × m; one γ serves all features."""
        return gamma[0] * self.distances if gamma.size == 1 else _distances(self.X * np.sqrt(gamma))

    def kernel(self, gamma: FloatArray) -> FloatArray:
        """exp(-Σ_k γ_k (x_ik - x_jk)²), m × m."""
        return np.asarray(np.exp(-self.scaled_distances(gamma)))

    def inner(self, gamma: FloatArray) -> ConvexHullsDual:
        """The two-hulls dual at γ, on the precomputed kernel matrix."""
        return ConvexHullsDual(self.kernel(gamma), self.y, C=self.C, kernel=Precomputed())

    def value(self, a: FloatArray, gamma: FloatArray) -> float:
        """½a'Q(γ)a at fixed a."""
        support = np.flatnonzero(a)
        b = (a * self.y)[support]
        return 0.5 * float(b @ self._block(support, gamma) @ b + a @ a / self.C)

    def derivative(self, a: FloatArray, gamma: FloatArray) -> FloatArray:
        """∂/∂γ of ½a'Q(γ)a at fixed a: one number, or one for each feature."""
        support = np.flatnonzero(a)
        b = (a * self.y)[support]
        if gamma.size == 1:
            D = self.distances[np.ix_(support, support)]
            return np.array([-0.5 * float(b @ (D * np.exp(-gamma[0] * D)) @ b)])
        X, weights = self.X[support], np.outer(b, b) * self._block(support, gamma)
        # Σ_ij w_ij (x_ik - x_jk)² = 2 (Σ_i s_i x_ik² - x_k'W x_k), s the row sums of W
        return np.asarray(-(weights.sum(axis=1) @ X**2 - np.einsum("ik,ij,jk->k", X, weights, X, optimize=True)))

    def _block(self, support: IntArray, gamma: FloatArray) -> FloatArray:
        """The kernel matrix of some points."""
        if gamma.size == 1:
            return np.asarray(np.exp(-gamma[0] * self.distances[np.ix_(support, support)]))
        return np.asarray(np.exp(-_distances(self.X[support] * np.sqrt(gamma))))


def _distances(X: FloatArray) -> FloatArray:
    """||x_i - x_j||²; zero on the diagonal."""
    distances = squared_distances(X, X)
    np.fill_diagonal(distances, 0.0)
    return distances


@dataclass(frozen=True, eq=False, repr=False)
class MaxMinSVM(Model):
    """max over γ of the distance between the two hulls: max_γ min_a ½a'(G(γ) + I/C)a, MaxMin (10), Gaussian kernel.

    The inner problem is `ConvexHullsDual`. The outer one need not be concave: an answer is a stationary point, called local,
    and never carries a gap in γ.

    Parameters
    ----------
    X : array_like (m, p)
    y : array_like (m,)
        Labels -1, +1.
    C : float
        > 0; 1 in the paper.
    gamma0 : float
        Start, 0.004 in the paper (which calls it the middle of its range; the logarithmic middle is 2^-6).
    lower, upper : float
        Range of γ, 2^-15 and 2^3 in the paper.
    parameter : {"gamma", "log-gamma", "per-feature"}
        What the outer problem moves: γ as printed, its logarithm, or one γ for each feature (automatic relevance).

    Notes
    -----
    There is no ``form`` (``at(gamma).form`` is the inner problem's); a result's certificate is that of the inner problem at the
    final γ.

    Raises
    ------
    InputError
        As `ConvexHullsDual`; a range or start that is not 0 < lower ≤ gamma0 ≤ upper.
    """

    X: Points
    y: FloatArray
    C: float = 1.0
    gamma0: float = 0.004
    lower: float = 2.0**-15
    upper: float = 2.0**3
    parameter: Parameter = field(default="gamma")

    name = "MaxMinSVM"

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        object.__setattr__(self, "C", as_positive(self.C, "C"))
        for name in ("gamma0", "lower", "upper"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name))
        if not self.lower <= self.gamma0 <= self.upper:
            raise InputError(f"gamma0 must lie in [lower, upper] = [{self.lower:g}, {self.upper:g}]; it is {self.gamma0:g}")
        if self.parameter not in _PARAMETERS:
            raise InputError(f"parameter must be one of {', '.join(_PARAMETERS)}; it is {self.parameter!r}")

    @cached_property
    def problem(self) -> MaxMinProblem:
        """The outer algorithm's view."""
        size = self.X.shape[1] if self.parameter == "per-feature" else 1
        gamma0 = np.full(size, self.gamma0)
        return MaxMinProblem(to_dense(self.X), self.y, self.C, gamma0, self.lower, self.upper, self.parameter)

    def at(self, gamma: float | FloatArray) -> ConvexHullsDual:
        """The inner problem at γ: with an RBF kernel, or (one γ a feature) on features scaled by √γ_k."""
        value = np.atleast_1d(np.asarray(gamma, dtype=np.float64))
        if value.size == 1:
            return ConvexHullsDual(self.X, self.y, C=self.C, kernel=RBF(float(value[0])))
        return ConvexHullsDual(to_dense(self.X) * np.sqrt(value), self.y, C=self.C, kernel=RBF(1.0))

    def view(self, kind: type[V]) -> V | None:
        """`MaxMinProblem`; not the simplex view, which would leave γ where it is."""
        return self.problem if kind is MaxMinProblem else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """A few vectors."""
        return 64 * self.X.shape[0]

    def compile(self) -> StandardForm:
        """A max-min problem that is not concave in γ is no program in standard form; ``at(gamma).form`` is that of the inner one.

        Raises
        ------
        UnsupportedModelError
            Always.
        """
        raise UnsupportedModelError(
            "MaxMinSVM is a max-min problem and has no standard form; the solver maxmin reads it, and model.at(gamma) is the "
            "two-hulls dual at one gamma, which every QP solver reads"
        )

    @property
    def statement(self) -> Statement:
        """MaxMin (10)."""
        m, p = self.X.shape
        what = {"gamma": "gamma", "log-gamma": "log gamma", "per-feature": "one gamma for each feature"}[self.parameter]
        return Statement(
            title="Minimax SVM: kernel parameter and classifier at once",
            problem_class="max-min, not concave in gamma",
            sense="maximise",
            over=Line("gamma", r"\gamma"),
            objective=Line("min over a of 1/2 a'(G(gamma) + I/C)a", r"\min_{a}\ \tfrac12\, a^\top (G(\gamma) + \tfrac1C I)\, a"),
            constraints=(
                Line("sum over y_i = +1 of a_i = 1", r"\textstyle\sum_{y_i=+1} a_i = 1", "sum[0]"),
                Line("sum over y_i = -1 of a_i = 1", r"\textstyle\sum_{y_i=-1} a_i = 1", "sum[1]"),
                Line("a_i >= 0", r"a_i \ge 0,\quad i=1,\dots,m"),
                Line(f"{self.lower:g} <= gamma <= {self.upper:g}", rf"{self.lower:g} \le \gamma \le {self.upper:g}"),
            ),
            sizes=f"m = {m} points, p = {p}, C = {self.C:g}, start gamma = {self.gamma0:g}",
            notes=(
                f"G_ij = y_i y_j exp(-gamma ||x_i - x_j||^2); the outer problem moves {what}",
                "an answer is a stationary point in gamma, called local; its certificate is that of the inner problem",
            ),
            source="Luo, Yang, Peng, Wang, Chen: MaxMin-L2-SVC-NCH, (10)",
        )
