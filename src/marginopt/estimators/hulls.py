"""`NCHSVC` and `MaxMinSVC`: the two-hulls classifier, with a given kernel and with a Gaussian one that it chooses itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..errors import InputError, SolverError
from ..models.arrays import FloatArray, Points, as_positive
from ..models.formulations.convex_hulls import ConvexHullsDual
from ..models.formulations.max_min import MaxMinSVM
from ..models.kernels.kernels import RBF
from ..models.model import Model
from ..solvers.certification.result import Result
from ..solvers.records import Options, Status
from .base import EstimatorInfo
from .classifier import KernelClassifier, ModelClassifier, PreparedData, WeightedClassifier
from .training import BinaryFit, one_or_all, solve_checked, solve_copy
from .training_set import KernelSpace, Sample, Solution, Space


@dataclass(eq=False, repr=False)
class NCHSVC(WeightedClassifier, KernelClassifier):
    """Support vector classifier between two normal convex hulls (L2-SVC-NCH), `marginopt.ConvexHullsDual`, MaxMin (1).

    The decision function is divided by half the distance of the hulls' edges, (p* - q*)/2, so it is that of
    min ½||w||² + (C/2) Σ s_i ξ_i², y_i f(x_i) ≥ 1 - ξ_i, with a free intercept.

    Parameters
    ----------
    C, kernel, gamma, degree, coef0, solver, tol, multi_class, n_jobs, class_weight, standardise, time_limit, verbose
        As `L2SVC`.

    Attributes
    ----------
    support_, dual_coef_, intercept_, kernel_, problem_, result_, certificate_, pairs_, classes_, n_features_in_
        As `L2SVC`.
    """

    C: float = 1.0
    kernel: Any = "rbf"
    _: KW_ONLY
    tol: float | None = 1e-4

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        assert isinstance(space, KernelSpace)
        weight = None if (cost == 1.0).all() else cost
        return ConvexHullsDual(X, y, C=self.C, kernel=space.kernel, sample_weight=weight)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        assert isinstance(problem, ConvexHullsDual)
        return _between_edges(problem, result.values["a"])


@dataclass(eq=False, repr=False)
class MaxMinSVC(ModelClassifier):
    """The two-hulls classifier that chooses γ of its Gaussian kernel with itself, `marginopt.MaxMinSVM`, MaxMin (10).

    γ is a stationary point of the max-min problem, called local; certificates are those of the inner problem at γ.

    Parameters
    ----------
    C : float
        > 0.
    gamma0, lower, upper : float
        Start and range of γ.
    parameter : {"gamma", "log-gamma", "per-feature"}
        What the outer problem moves.
    shared : bool
        With several binary problems: one γ for all, a stationary point (in log γ) of the *sum* of their optimal values, instead
        of one for each. Not with "per-feature".
    solver : str
        "maxmin", the one that moves γ.
    tol : float
        |d log f/d log γ| at which γ is stationary (free of scale; the paper's ε2 is |f'(γ)|).
    multi_class, n_jobs, standardise, time_limit, verbose
        As `L2SVC`.

    Attributes
    ----------
    gamma_ : float, ndarray, or list
        γ of the problem, or of each.
    support_, dual_coef_, intercept_, problem_, result_, certificate_, pairs_, classes_, n_features_in_
        As `L2SVC`.
    """

    C: float = 1.0
    _: KW_ONLY
    gamma0: float = 0.004
    lower: float = 2.0**-15
    upper: float = 2.0**3
    parameter: str = "gamma"
    shared: bool = False
    solver: Any = "maxmin"
    tol: float | None = 1e-3

    _expected = frozenset({Status.STATIONARY})

    def _space(self, X: Points, sample: Sample) -> Space:
        return KernelSpace.of(X, sample.rows, self._scaling_of(X, sample), RBF(1.0), sample.weight)

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        return MaxMinSVM(X, y, C=self.C, gamma0=self.gamma0, lower=self.lower, upper=self.upper, parameter=self.parameter)

    def _options(self, start: Any = None) -> Options:
        native = {} if self.tol is None else {"stationarity": as_positive(self.tol, "tol")}
        return replace(super()._options(start), tol=None, native=native)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        assert isinstance(problem, MaxMinSVM)
        gamma = np.asarray(result.optimised_parameters["gamma"])
        return _between_edges(problem.at(gamma), result.values["a"], np.sqrt(gamma))

    def _solve_all(self, data: PreparedData) -> list[BinaryFit]:
        if not self.shared or len(data.pairs) == 1:
            return super()._solve_all(data)
        if self.parameter == "per-feature":
            raise InputError(
                "shared=True has one γ for all problems: parameter must be 'gamma' or 'log-gamma', not 'per-feature'",
                name="parameter",
            )
        tol = self._options().native.get("stationarity", 1e-3)
        return _shared_gamma([self._state_problem(data, pair) for pair in data.pairs], tol, self.time_limit)

    def _set_fitted(self, data: PreparedData, outcomes: Sequence[BinaryFit]) -> None:
        super()._set_fitted(data, outcomes)
        squares = [np.asarray(o.solution.metric) ** 2 for o in outcomes]
        self.gamma_ = one_or_all([float(g) if g.ndim == 0 else g for g in squares])


def _between_edges(problem: ConvexHullsDual, a: FloatArray, metric: FloatArray | None = None) -> Solution:
    """Return Σ y_i a_i k(x_i, x) - (p* + q*)/2, MaxMin (4), divided by (p* - q*)/2 = ½a'Qa > 0."""
    p, q = problem.edges(a)
    half = 0.5 * (p - q)
    if not half > float(a @ problem.simplex.gram.product_error(a)):
        raise SolverError(
            f"the classes' hulls are nearer to each other than the rounding error of the {problem.kernel.name} kernel's values: "
            "no classifier follows; standardise or rescale the features, or give a smaller C"
        )
    return Solution(a * problem.y / half, -0.5 * (p + q) / half, metric, problem.centred.centre)


def _shared_gamma(problems: Sequence[Model], tol: float, time_limit: float | None) -> list[BinaryFit]:
    """Maximise the sum of the problems' optimal values in log γ (envelope theorem, MaxMin (51)); return the solutions there."""
    # exempt (formulation): an estimator states one formulation; what it draws is that one's
    models = [p for p in problems if isinstance(p, MaxMinSVM)]
    starts: list[dict[str, FloatArray] | None] = [None] * len(models)
    options = Options(tol=1e-6, time_limit=time_limit)

    def negative(t: FloatArray) -> tuple[float, FloatArray]:
        value, slope, gamma = 0.0, 0.0, np.exp(t)
        for k, model in enumerate(models):
            result = solve_checked(model.problem.inner(gamma), "smo", replace(options, start=starts[k]))
            starts[k] = {"a": result.values["a"]}
            value += result.objective
            slope += float(model.problem.derivative(result.values["a"], gamma)[0] * gamma[0])
        return -value, np.array([-slope])

    first = models[0]
    lower, upper = first.problem.lower, first.problem.upper
    bounds = [(np.log(lower), np.log(upper))]
    minimum = minimize(negative, np.log(first.problem.gamma0), jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": tol})
    gamma = float(np.clip(np.exp(minimum.x[0]), lower, upper))
    outcomes = [solve_copy(NCHSVC._solution, model.at(gamma), "smo", options) for model in models]
    metric = np.asarray(np.sqrt(gamma))
    return [BinaryFit(o.problem, o.result, Solution(o.solution.coefficients, o.solution.intercept, metric)) for o in outcomes]


ESTIMATORS = (
    EstimatorInfo(NCHSVC, ConvexHullsDual, "SVM with squared slacks as the distance between two convex hulls"),
    EstimatorInfo(MaxMinSVC, MaxMinSVM, "SVM with squared slacks, and γ of its kernel with it"),
)
