"""`MaxMinSVM`, (10) of Luo et al., 2023 ("MaxMin"): the SVM and the kernel parameter that separate the classes' hulls the most.

The outer problem is over a kernel parameter γ, the inner one over weights a_i of the points, in one unit simplex for each class:
max_γ min_a ½a'(G(γ) + I/C)a, G_ij = y_i y_j k_γ(x_i, x_j). C > 0 is the cost of squared slack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from ...data_names import LABELS_OF_X
from ...errors import InputError, UnsupportedModelError, count_text, short_text
from ..arrays import (
    FloatArray,
    IntArray,
    Points,
    as_array,
    as_divisor,
    as_labels,
    as_points,
    as_positive,
    as_weights,
    check_bytes,
    frozen,
    to_dense,
)
from ..digest import identity_rule
from ..explanation import PointExplanation, dual_weights, two_classes
from ..kernels.kernels import RBF, Kernel, Precomputed, as_kernel, squared_distances
from ..model import Model
from ..program.bridges import psd_factor
from ..program.cones import Nonnegative, RotatedSecondOrder, Zero
from ..program.csr_rows import CSRRows
from ..program.form import Block, Constraint, StandardForm
from ..program.lagrangian import Bound
from ..program.quadratic import Quadratic
from ..record import Arrays, DataKind, FormulationInfo, Parameter, ParameterValues
from ..rounding import gamma
from ..statement import Line, Statement
from .svm_duals import ConvexHullsDual

# The inner problem of MaxMin at any parameter, and the derivative of its optimal value there.


def fisher_ratio(distances: FloatArray, y: FloatArray, gamma: float) -> float:
    """Return Fisher's ratio D_inter/D_inner, MaxMin (54)/(55), for k = exp(-γ D), D the m × m matrix of squared distances.

    D_inter = ||m+ - m-||², the squared distance of the classes' means in feature space; D_inner is the sum over the classes of
    the mean ||φ_i - m||² = 1 - mean k. Computed from 1 - k, which does not cancel where γ is small. Infinite where each class
    is one repeated point and the classes differ, zero where all points are equal.
    """
    return _class_ratio(-np.expm1(-gamma * distances), y)


def _parse_name(parameter: str) -> tuple[str, bool]:
    """Return the kernel's parameter that "gamma" or "log-gamma" names, and whether its logarithm is moved."""
    # exempt (text): a user's 'log-gamma'
    return parameter.removeprefix("log-"), parameter.startswith("log-")


def _class_ratio(distances: FloatArray, y: FloatArray) -> float:
    """Return D_inter/D_inner of MaxMin (54)/(55), ``distances`` holding ½||φ_i - φ_j||² in feature space, m × m."""
    plus, minus = (y > 0).astype(np.float64), (y < 0).astype(np.float64)
    plus, minus = plus / plus.sum(), minus / minus.sum()
    to_plus, to_minus = distances @ plus, distances @ minus
    inner = float(plus @ to_plus) + float(minus @ to_minus)
    inter = 2.0 * float(plus @ to_minus) - inner
    if inner > 0:
        return max(inter, 0.0) / inner
    return float("inf") if inter > 0 else 0.0


@dataclass(frozen=True, eq=False)
class MaxMinProblem(ABC):
    """The data of `MaxMinSVM` that its solver "maxmin" reads: the inner problem at any parameter θ, and the derivative of its
    optimal value.

    The inner problem is f(θ) = min_a ½a'Q(θ)a over two unit simplices, Q_ij = y_i y_j k_θ(x_i, x_j) + δ_ij/C. Envelope theorem: f
    is differentiable where the minimiser is unique (I/C makes it so), with f'(θ) = ½a'Q'(θ)a = ½ Σ a_i a_j y_i y_j
    ∂k_θ(x_i, x_j)/∂θ at that minimiser. Methods take θ as ``gamma``, (1,) or one entry for each feature, and a as (m,).

    Parameters
    ----------
    X : array (m, p)
        Points.
    y : ndarray (m,)
        Labels -1, +1.
    C : float
        Cost of squared slack.
    gamma0 : ndarray
        Start of θ: one number, or one for each feature.
    lower, upper : float
        Range of each entry of θ.
    parameter : str
        Name of the kernel parameter θ, ``log-`` and the name where its logarithm is moved, or ``per-feature``.
    sample_weight : ndarray (m,), optional
        s > 0: squared slack costs C s_i.
    """

    X: Points
    y: FloatArray
    C: float
    gamma0: FloatArray
    lower: float
    upper: float
    parameter: str
    sample_weight: FloatArray | None = field(default=None, kw_only=True)

    @property
    def logarithmic(self) -> bool:
        """Return whether the logarithm of θ is moved."""
        return _parse_name(self.parameter)[1]

    @property
    def range_contains_zero(self) -> bool:
        """Return whether the range begins at 0: moves of θ are then measured by the range's length, not by a factor."""
        return self.lower <= 0.0

    @property
    @abstractmethod
    def label(self) -> str:
        """Return the name of the parameter in results."""

    @abstractmethod
    def kernel_matrix(self, gamma: FloatArray) -> FloatArray:
        """Return the kernel matrix at θ, m × m."""

    @abstractmethod
    def _block(self, support: IntArray, gamma: FloatArray) -> FloatArray:
        """Return the kernel matrix of some points at θ."""

    def value(self, a: FloatArray, gamma: FloatArray) -> float:
        """Return ½a'Q(θ)a at fixed a."""
        support = np.flatnonzero(a)
        b = (a * self.y)[support]
        return 0.5 * (float(b @ self._block(support, gamma) @ b) + self.slack_cost(a))

    @abstractmethod
    def derivative(self, a: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return ∂/∂θ of ½a'Q(θ)a at fixed a: one number, or one for each feature."""

    @abstractmethod
    def ratio(self, gamma: FloatArray) -> float:
        """Return the ratio D_inter/D_inner of `fisher_ratio` at θ."""

    def inner_problem(self, gamma: FloatArray) -> ConvexHullsDual:
        """Return the two-hulls dual at θ, on the precomputed kernel matrix."""
        return ConvexHullsDual(self.kernel_matrix(gamma), self.y, self.C, Precomputed(), self.sample_weight)

    def slack_cost(self, a: FloatArray) -> float:
        """Return a'a/C, or Σ a_i²/(C s_i)."""
        return float(a @ a / self.C if self.sample_weight is None else a @ (a / self.sample_weight) / self.C)


class GaussianMaxMin(MaxMinProblem):
    """The `MaxMinProblem` of k = exp(-γ D_ij), D_ij = ||x_i - x_j||²: f'(γ) = -½ Σ a_i a_j y_i y_j D_ij exp(-γ D_ij), MaxMin
    (51).

    For one γ_k a feature D_ij becomes (x_ik - x_jk)² and the exponent Σ_k γ_k (x_ik - x_jk)². X is dense.
    """

    X: FloatArray
    label = "gamma"

    @cached_property
    def distances(self) -> FloatArray:
        """Return ||x_i - x_j||², m × m: with one γ for all features every kernel matrix comes from it."""
        return _distances(self.X)

    def kernel_matrix(self, gamma: FloatArray) -> FloatArray:
        """Return exp(-Σ_k γ_k (x_ik - x_jk)²), m × m."""
        return np.asarray(np.exp(-self._exponents(gamma)))

    def ratio(self, gamma: FloatArray) -> float:
        """Return D_inter/D_inner at γ, computed from 1 - k, in which no digits cancel."""
        return fisher_ratio(self._exponents(gamma), self.y, 1.0)

    def derivative(self, a: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return the derivative by γ, (1,), or by each γ_k, (p,)."""
        support = np.flatnonzero(a)
        b = (a * self.y)[support]
        if gamma.size == 1:
            D = self.distances[np.ix_(support, support)]
            return np.array([-0.5 * float(b @ (D * np.exp(-gamma[0] * D)) @ b)])
        X, weights = self.X[support], np.outer(b, b) * self._block(support, gamma)
        # Σ_ij w_ij (x_ik - x_jk)² = 2 (Σ_i s_i x_ik² - x_k'W x_k), s the row sums of W
        return np.asarray(-(weights.sum(axis=1) @ X**2 - np.einsum("ik,ij,jk->k", X, weights, X, optimize=True)))

    def _exponents(self, gamma: FloatArray) -> FloatArray:
        """Σ_k γ_k (x_ik - x_jk)², m × m; one γ serves all features."""
        return gamma[0] * self.distances if gamma.size == 1 else _distances(self.X * np.sqrt(gamma))

    def _block(self, support: IntArray, gamma: FloatArray) -> FloatArray:
        if gamma.size == 1:
            return np.asarray(np.exp(-gamma[0] * self.distances[np.ix_(support, support)]))
        return np.asarray(np.exp(-_distances(self.X[support] * np.sqrt(gamma))))


@dataclass(frozen=True, eq=False)
class KernelMaxMin(MaxMinProblem):
    """The `MaxMinProblem` of any differentiable parameter of any kernel (`Kernel.parameters`).

    Parameters
    ----------
    base : Kernel
        The kernel at any value of the parameter.
    name : str
        The parameter's name in the kernel.
    """

    base: Kernel
    name: str

    @property
    def label(self) -> str:
        """Return the parameter's name."""
        return self.name

    def at(self, gamma: FloatArray) -> Kernel:
        """Return the kernel at θ."""
        return self.base.with_parameter(self.name, float(gamma[0]))

    def kernel_matrix(self, gamma: FloatArray) -> FloatArray:
        """Return the kernel matrix at θ, m × m, symmetric to the last bit."""
        K = self.at(gamma).matrix(self.X, self.X)
        return np.asarray(0.5 * (K + K.T))

    def _block(self, support: IntArray, gamma: FloatArray) -> FloatArray:
        return self.at(gamma).matrix(self.X[support], self.X[support])

    def derivative(self, a: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return ½Σ a_i a_j y_i y_j ∂k_ij/∂θ."""
        support = np.flatnonzero(a)
        b, points = (a * self.y)[support], self.X[support]
        return np.array([0.5 * float(b @ self.at(gamma).derivative(self.name, points, points) @ b)])

    def ratio(self, gamma: FloatArray) -> float:
        """Return D_inter/D_inner at θ, computed from the kernel matrix."""
        K = self.kernel_matrix(gamma)
        diagonal = np.diagonal(K)
        return _class_ratio(0.5 * (diagonal[:, None] + diagonal) - K, self.y)


def _distances(X: FloatArray) -> FloatArray:
    """||x_i - x_j||²; zero on the diagonal."""
    check_bytes(8 * X.shape[0] ** 2, "the distances of all pairs of points")
    distances = squared_distances(X, X)
    np.fill_diagonal(distances, 0.0)
    return distances


V = TypeVar("V")
#: The paper's start and range of γ.
_GAMMA0, _LOWER, _UPPER = 0.004, 2.0**-15, 2.0**3


@dataclass(frozen=True, eq=False, repr=False)
class HullsOfScaledFeatures(ConvexHullsDual):
    """The inner problem at one γ_k for each feature: X holds the features times √γ_k; new rows are given unscaled.

    Parameters
    ----------
    factors : ndarray (p,)
        √γ_k.
    """

    factors: FloatArray = field(default_factory=lambda: np.ones(1), kw_only=True)

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores of new rows, whose features are scaled first."""
        rows = to_dense(as_points(X, columns=self.X.shape[1]))
        return super()._decision_scores(values, rows * self.factors)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point, whose features are scaled already."""
        return two_classes(self.X, self.y, partial(super()._decision_scores, values), dual_weights(values))


@dataclass(frozen=True, eq=False, repr=False)
class MaxMinSVM(Model):
    """The L2-SVM of two hulls with the kernel parameter of largest distance: max_γ min_a ½a'(G(γ) + I/C)a, MaxMin (10).

    The inner problem is `ConvexHullsDual`. The outer one need not be concave: an answer is a stationary point, called local,
    and never carries a gap in the parameter. The paper moves γ of a Gaussian kernel; any parameter that a kernel declares
    (`Kernel.parameters`) can be moved by the same envelope argument.

    Parameters
    ----------
    X : array_like (m, p)
        Points; dense or CSR.
    y : array_like (m,)
        Labels -1, +1.
    C : float
        Cost of squared slack, > 0; 1 in the paper.
    gamma0 : float, optional
        Start: 0.004 where it is not given, as in the paper (which calls it the middle of its range; the logarithmic middle is
        2^-6); with a ``kernel`` the value that the kernel has.
    lower, upper : float, optional
        Range. For γ 2^-15 and 2^3 where not given, as in the paper; for other parameters what the kernel declares, and a bound
        must be given where that is 0 (excluded) or infinite.
    parameter : str
        What the outer problem moves: ``"gamma"`` as printed, ``"log-gamma"``, ``"per-feature"`` (one γ for each feature of a
        Gaussian kernel, automatic relevance), or the name of any parameter of ``kernel`` such as ``"coef0"``,
        ``"log-alpha"``, ``"weight"``, ``"first.gamma"``.
    kernel : Kernel, optional
        The Gaussian one where it is not given.
    sample_weight : array_like (m,), optional
        s_i > 0, weights of the points: I/C becomes diag(1/(C s_i)), and a point of weight k is worth k copies of it.
    grid : sequence of float, optional
        The parameter is one of these values. Then the model is a second-order cone program: the maximum of the inner duals is a
        linear function over the hull of their union, whose vertices are single values.

    Notes
    -----
    Without a grid there is no ``form`` (``at(gamma).form`` is the inner problem's); a result's certificate is that of the inner
    problem at the final value. With one the form maximises Σ_g (p_g + q_g - s_g) over blocks ``share`` (λ in the unit simplex,
    1 at the chosen value), ``a`` (one row for each value), ``p``, ``q`` and ``s``, under 2 λ_g s_g ≥ a_g'Q_g a_g (rotated cones
    ``value_g``, Q_g = G + I/C at the g-th value) and (Q_g a_g)_i ≥ p_g where y_i = 1, ≥ q_g where y_i = -1 (``edges``). A kernel
    that grows with its parameter without bound (a polynomial one) moves the hulls apart by its scale alone and ends at the upper
    end of the range.

    Raises
    ------
    InputError
        Data, C or weights that `ConvexHullsDual` refuses; a parameter that the kernel does not have; a range or a grid that
        leaves what the parameter allows, or a grid of one γ for each feature; not lower ≤ gamma0 ≤ upper.
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    C: float = 1.0
    gamma0: float | None = None
    lower: float | None = None
    upper: float | None = None
    parameter: str = "gamma"
    kernel: Kernel | None = None
    sample_weight: FloatArray | None = None
    grid: FloatArray | None = field(default=None, metadata={"identity": identity_rule("grid", None, {})})

    name = "MaxMinSVM"
    meanings: ClassVar[Mapping[str, str]] = {
        "sum": "p and q, the smallest scores (Qa)_i of the two classes; twice the optimum is p + q",
        "bounds": "the reduced cost of a_i is (Qa)_i - p (or q): by how much point i clears its class's edge",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        object.__setattr__(self, "C", as_divisor(self.C, "C"))
        object.__setattr__(self, "sample_weight", as_weights(self.sample_weight, X.shape[0]))
        if self.kernel is not None:
            object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        if self.parameter == "per-feature" and not isinstance(self.kernel, RBF | None):
            raise InputError(f"parameter='per-feature' is for the Gaussian kernel; the kernel is {self.kernel}", name="parameter")
        if not isinstance(self.parameter, str):
            raise InputError(f"parameter must be a name; it is {short_text(self.parameter)}", name="parameter")
        kernel_parameters = self._moved_kernel.parameters
        if self._plain not in kernel_parameters:
            names = [
                *kernel_parameters,
                *(f"log-{name}" for name in kernel_parameters),
                *(["per-feature"] if self._gaussian else []),
            ]
            raise InputError(
                f"parameter must be one of {', '.join(names) or 'none'}, which the {self._moved_kernel.name} kernel has; "
                f"it is {short_text(self.parameter)}",
                name="parameter",
            )
        self._set_range()
        if self.grid is not None:
            self._set_grid()

    @property
    def _plain(self) -> str:
        """The parameter's name in the kernel."""
        return "gamma" if self.parameter == "per-feature" else _parse_name(self.parameter)[0]

    @property
    def _gaussian(self) -> bool:
        return isinstance(self.kernel, RBF | None)

    @property
    def _moved_kernel(self) -> Kernel:
        return RBF(_GAMMA0) if self.kernel is None else self.kernel

    def _set_range(self) -> None:
        """Defaults and checks of start and range."""
        allowed = self._moved_kernel.parameters[self._plain]
        usual = (_LOWER, _UPPER) if self._plain == "gamma" else (allowed.lower, allowed.upper)
        for name, default in zip(("lower", "upper"), usual, strict=True):
            value = getattr(self, name)
            object.__setattr__(self, name, float(default) if value is None else as_positive(value, name, zero=True))
        start = self._moved_kernel.parameter_value(self._plain) if self.gamma0 is None else self.gamma0
        object.__setattr__(self, "gamma0", as_positive(start, "gamma0", zero=True))
        assert self.lower is not None and self.upper is not None and self.gamma0 is not None
        excluded = self.lower <= 0.0 and (allowed.positive or _parse_name(self.parameter)[1])
        if excluded or self.lower < allowed.lower or not self.upper <= min(allowed.upper, 1e300):
            raise InputError(
                f"the range of {self._plain} must be finite and inside {'(' if allowed.positive else '['}{allowed.lower:g}, "
                f"{allowed.upper:g}]{', > 0 for a logarithm' if _parse_name(self.parameter)[1] else ''}; lower and upper are "
                f"{self.lower:g} and {self.upper:g}",
                name="lower",
            )
        if not self.lower <= self.gamma0 <= self.upper:
            raise InputError(
                f"gamma0 must lie in [lower, upper] = [{self.lower:g}, {self.upper:g}]; it is {self.gamma0:g}", name="gamma0"
            )

    def _set_grid(self) -> None:
        """Check the values of the grid."""
        grid = np.unique(as_array(self.grid, "grid"))
        allowed = self._moved_kernel.parameters[self._plain]
        inside = grid.size > 0 and np.isfinite(grid).all() and allowed.lower <= grid[0] and grid[-1] <= allowed.upper
        if grid.ndim != 1 or not inside or (allowed.positive and not grid[0] > 0.0) or self.parameter == "per-feature":
            raise InputError(
                f"grid must hold values of {self._plain} from {allowed.lower:g} to {allowed.upper:g}, of one parameter for all "
                f"features; it is {short_text(self.grid)}"
            )
        object.__setattr__(self, "grid", frozen(grid))

    @cached_property
    def problem(self) -> MaxMinProblem:
        """Return the data that the solver "maxmin" reads."""
        assert self.lower is not None and self.upper is not None and self.gamma0 is not None
        size = self.X.shape[1] if self.parameter == "per-feature" else 1
        gamma0 = np.full(size, self.gamma0)
        if self._gaussian:
            arguments = (to_dense(self.X), self.y, self.C, gamma0, self.lower, self.upper, self.parameter)
            return GaussianMaxMin(*arguments, sample_weight=self.sample_weight)
        range_ = (gamma0, self.lower, self.upper, self.parameter)
        return KernelMaxMin(self.X, self.y, self.C, *range_, self._moved_kernel, self._plain, sample_weight=self.sample_weight)

    def at(self, gamma: float | FloatArray) -> ConvexHullsDual:
        """Return the inner problem at that value: with the kernel there, or (one γ a feature) on features scaled by √γ_k.

        Scores are of rows as they were given, in either case.
        """
        value = np.atleast_1d(np.asarray(gamma, dtype=np.float64))
        if value.size == 1:
            kernel = self._moved_kernel.with_parameter(self._plain, float(value[0]))
            return ConvexHullsDual(self.X, self.y, self.C, kernel, self.sample_weight, data_names=self.data_names)
        factors = np.sqrt(value)
        scaled = to_dense(self.X) * factors
        return HullsOfScaledFeatures(
            scaled, self.y, self.C, RBF(1.0), self.sample_weight, factors=factors, data_names=self.data_names
        )

    def at_solution(self, optimised: Mapping[str, Any]) -> Model:
        """Return the inner problem at the parameter that was found."""
        return self.at(optimised[self.problem.label]) if self.problem.label in optimised else self

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Raise UnsupportedModelError: the scores are those of the model at the kernel parameter that was found."""
        raise UnsupportedModelError(
            f"{self.name} leaves the kernel's parameter free: predict by the model at the one that was found, "
            "model.at_solution(result.optimised_parameters)"
        )

    def view(self, kind: type[V]) -> V | None:
        """Return the `MaxMinProblem` of the solver "maxmin"; None for another kind, or where γ is on a grid."""
        return self.problem if kind is MaxMinProblem and self.grid is None else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """Return the bytes of a factor of Q and Q itself for each value of the grid; of a few vectors without a grid."""
        m = self.X.shape[0]
        return 64 * m if self.grid is None else 24 * m * m * self.grid.size

    def zero_objective_point(self) -> None:
        """Return None: the weights of each class sum to one, so that no point with an objective of zero is known."""

    def compile(self) -> StandardForm:
        """Return the second-order cone program of the largest of the grid's inner optima.

        Raises
        ------
        UnsupportedModelError
            There is no grid: a max-min problem that is not concave in γ is no program in standard form.
        """
        if self.grid is None:
            raise UnsupportedModelError(
                "MaxMinSVM over an interval has no standard form, since its objective is no quadratic function of the kernel's "
                "parameter: the solver maxmin reads it, grid=[...] makes it a second-order cone program, and model.at(gamma) is "
                "the two-hulls dual at one gamma"
            )
        return _grid_form(self)

    @cached_property
    def quadratics(self) -> tuple[Quadratic, ...]:
        """Return Q at each value of the grid; none without a grid."""
        values = [] if self.grid is None else self.grid.tolist()
        return tuple(Quadratic(matrix=np.asarray(self.at(value).simplex.gram.dense)) for value in values)

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return -max_g ½ w_g'Q_g w_g, w_g the multipliers of ``edges`` scaled to weights: each bounds its inner optimum."""
        if multipliers is None or "edges" not in multipliers:
            return Bound(-np.inf, "no multipliers")
        weights = np.maximum(np.asarray(multipliers["edges"]).reshape(len(self.quadratics), -1), 0.0)
        for side in (self.y > 0, self.y < 0):
            sums = weights[:, side].sum(axis=1)
            if not (sums > 0.0).all():
                return Bound(-np.inf, "the multipliers leave a class without weights")
            weights[:, side] /= sums[:, None]
        values = [quadratic.evaluate(w) for quadratic, w in zip(self.quadratics, weights, strict=True)]
        # The weights of a class sum to one but for rounding, which moves w'Qw by no more than this share of w'|Q|w.
        scaled = 4.0 * gamma(weights.shape[1])
        sizes = [float(w @ np.abs(np.asarray(Q.materialised)) @ w) for Q, w in zip(self.quadratics, weights, strict=True)]
        ends = [0.5 * (value.value + value.error + scaled * size) for value, size in zip(values, sizes, strict=True)]
        error = max(end - 0.5 * value.value for end, value in zip(ends, values, strict=True))
        return Bound(-max(ends), "the largest inner objective at the multipliers, scaled to weights of the points", error)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the value of the grid with the largest ``share`` λ_g, by the parameter's name; empty without a grid."""
        if self.grid is None or "share" not in values:
            return {}
        return {self._plain: float(self.grid[int(np.argmax(values["share"]))])}

    def _allowed(self, tex: str) -> Line:
        """The values that the parameter may take."""
        if self.grid is None:
            return Line(f"{self.lower:g} <= {self._plain} <= {self.upper:g}", rf"{self.lower:g} \le {tex} \le {self.upper:g}")
        values = ", ".join(f"{value:g}" for value in self.grid)
        return Line(f"{self._plain} in {{{values}}}", rf"{tex} \in \{{{values}\}}")

    @property
    def _answer(self) -> str:
        if self.grid is not None:
            return "an answer is the largest of the inner optima: the form maximises over the hull of their duals"
        return f"an answer is a stationary point in {self._plain}, called local; its certificate is that of the inner problem"

    @property
    def statement(self) -> Statement:
        """Return MaxMin (10)."""
        m, p = self.X.shape
        variable = {"per-feature": "one gamma for each feature"}.get(self.parameter, self.parameter.replace("log-", "log "))
        tex = r"\gamma" if self._plain == "gamma" else r"\theta"
        by_point = Line("diag(1/(C s_i))", r"\operatorname{diag}\tfrac1{C s_i}")
        ridge = Line("I/C", r"\tfrac1C I") if self.sample_weight is None else by_point
        kernel = "exp(-gamma ||x_i - x_j||^2)" if self._gaussian else f"k(x_i, x_j), {self.kernel}"
        return Statement(
            title="Minimax SVM: kernel parameter and classifier at once",
            problem_class="second-order cone program" if self.grid is not None else f"max-min, not concave in {self._plain}",
            sense="maximise",
            variables=Line(self._plain, tex),
            objective=Line(
                f"min over a of 1/2 a'(G({self._plain}) + {ridge.text})a",
                rf"\min_{{a}}\ \tfrac12\, a^\top (G({tex}) + {ridge.latex})\, a",
            ),
            constraints=(
                Line("sum over y_i = +1 of a_i = 1", r"\textstyle\sum_{y_i=+1} a_i = 1", "sum[0]"),
                Line("sum over y_i = -1 of a_i = 1", r"\textstyle\sum_{y_i=-1} a_i = 1", "sum[1]"),
                Line("a_i >= 0", r"a_i \ge 0,\quad i=1,\dots,m"),
                self._allowed(tex),
            ),
            sizes=f"m = {count_text(m, 'point')}, p = {p}, C = {self.C:g}, start {self._plain} = {self.gamma0:g}",
            notes=(
                f"G_ij = y_i y_j {kernel}; the outer problem moves {variable}",
                self._answer,
            ),
            source="Luo, Yang, Peng, Wang, Chen: MaxMin-L2-SVC-NCH, (10)",
        )


def _grid_form(model: MaxMinSVM) -> StandardForm:
    """The form of the hull of the inner duals; see the notes of `MaxMinSVM`."""
    m, size = model.X.shape[0], len(model.quadratics)
    blocks = (
        Block("share", (size,)), Block("a", (size, m)), Block("p", (size,)), Block("q", (size,)), Block("s", (size,)),
    )  # fmt: skip
    n = size * (m + 4)
    a, p, s = size, size * (m + 1), size * (m + 3)
    minus = (model.y < 0).astype(np.int64)
    rows, cones = [], []
    for g, quadratic in enumerate(model.quadratics):
        R, first = psd_factor(quadratic), a + g * m
        edge = sp.csr_array((-np.ones(m), (np.arange(m), p + g + size * minus)), shape=(m, n))
        rows.append(CSRRows.hstack([(CSRRows.from_matrix(quadratic.materialised), first)], m, n).csr + edge)
        heads = sp.csr_array((np.ones(2), ([0, 1], [g, s + g])), shape=(2, n))
        tail = CSRRows.hstack([(CSRRows.from_matrix(R), first)], R.shape[0], n)
        F = CSRRows.vstack(CSRRows.from_matrix(heads), tail).csr
        cones.append(Constraint(f"value_{g}", F, np.zeros(F.shape[0]), RotatedSecondOrder(F.shape[0])))
    shares = sp.csr_array((np.ones(size), (np.zeros(size, dtype=np.int64), np.arange(size))), shape=(1, n))
    costs = np.zeros(n)
    costs[p:s], costs[s:] = -1.0, 1.0
    lower = np.full(n, -np.inf)
    lower[:size] = lower[s:] = 0.0
    return StandardForm(
        name=model.name,
        blocks=blocks,
        q=costs,
        constraints=(
            Constraint("share_sum", shares, np.array([-1.0]), Zero(1)),
            Constraint("edges", sp.vstack(rows, format="csr"), np.zeros(size * m), Nonnegative(size * m)),
            *cones,
        ),
        lower=lower,
        upper=np.full(n, np.inf),
        integer=np.zeros(n, dtype=bool),
        maximise=True,
    )


#: Number of values of the grid that the command line makes.
_GRID = 5


def _stated(arrays: Arrays, chosen: ParameterValues) -> MaxMinSVM:
    """The model over its range, or over values in it whose logarithms are equally spaced."""
    model = MaxMinSVM(*arrays.values(), **{name: value for name, value in chosen.items() if name != "over"})
    if chosen["over"] == "interval":
        return model
    assert model.lower is not None and model.upper is not None
    return replace(model, grid=np.clip(np.geomspace(model.lower, model.upper, _GRID), model.lower, model.upper))


FORMULATIONS = (
    FormulationInfo(
        MaxMinSVM,
        name="max-min",
        summary="kernel parameter and classifier at once: max-min over the distance between two hulls",
        reference="Luo, Yang, Peng, Wang, Chen: MaxMin-L2-SVC-NCH, (10)",
        data=DataKind.TWO_CLASSES,
        parameters=(
            Parameter("C", "cost of squared slack", float, 1.0),
            Parameter("gamma0", "start of γ; 0.004 where it is not given"),
            Parameter("lower", "least γ; 2^-15 where it is not given"),
            Parameter("upper", "largest γ; 8 where it is not given"),
            Parameter("parameter", "what moves", str, "gamma", ("gamma", "log-gamma", "per-feature")),
            Parameter("over", f"all of the range, or {_GRID} values in it", str, "interval", ("interval", "grid")),
        ),
        build=_stated,
        also=("MaxMinProblem",),
    ),
)
