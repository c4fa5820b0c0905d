"""`ConicSVC` and `ConicSVCCV`: the conic relaxation of the 0-1 loss, at one λ or κ, or with κ chosen by validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_positive
from ..models.formulations.conic import ConicSVM
from ..models.model import Model
from ..models.views import ConicProblem
from ..solvers.certification.result import Result
from ..solvers.conic.ipm import conic_path
from .base import EstimatorInfo, Pair
from .classifier import CrossValidatedClassifier, PathClassifier, PreparedData, grid_values
from .training_set import Sample, Solution, Space, is_linear

#: Solvers for which `conic_path` follows the whole path of κ.
_PATH_SOLVERS = ("auto", "conic-ipm")


@dataclass(eq=False, repr=False)
class ConicClassifier(PathClassifier):
    """The parameters of `ConicSVC` and `ConicSVCCV`: linear in the features, or with a kernel (intercept by k + 1)."""

    _: KW_ONLY
    kernel: Any = "linear"
    gamma: Any = None
    degree: int = 2
    coef0: float = 0.0

    def _space(self, X: Points, sample: Sample) -> Space:
        return self._linear_space(X, sample) if is_linear(self.kernel) else self._kernel_space(X, sample)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        assert isinstance(problem, ConicSVM)
        return _classifier(problem, result.values["w"])


@dataclass(eq=False, repr=False)
class ConicSVC(ConicClassifier):
    """Classifier of the conic relaxation of the 0-1 loss, `marginopt.ConicSVM`, Conic (21).

    Parameters
    ----------
    lam, kappa : float, optional
        One of them: λ > 0, or κ in [0, 1], the part of points that may be violated (κ = 0: hard margin, separable classes only).
        λ = 1 where neither is given.
    kernel : {"linear", "rbf", "polynomial", "precomputed"}, Kernel or callable
        "linear" is the primal form; any other the kernel form, which costs O(n³) a step.
    gamma, degree, coef0, solver, tol, multi_class, n_jobs, standardise, time_limit, verbose
        As `L2SVC`.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        With the linear kernel, for rows as they come.
    support_, dual_coef_, intercept_, kernel_
        With any other kernel, as `L2SVC`.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        See `ModelClassifier`.
    """

    lam: float | None = None
    kappa: float | None = None

    def _value(self) -> float:
        if self.kappa is not None:
            return as_positive(self.kappa, "kappa", zero=True)
        return 1.0 if self.lam is None else as_positive(self.lam, "lam")

    def _problem_at(self, X: Points, y: FloatArray, cost: FloatArray, space: Space, value: float) -> Model:
        if self.lam is not None and self.kappa is not None:
            raise InputError(f"give lam or kappa, not both; lam={self.lam!r}, kappa={self.kappa!r}", name="lam")
        if self.kappa is None:
            return ConicSVM(X, y, lam=value, kernel=space.kernel)
        return ConicSVM(X, y, kappa=value, kernel=space.kernel)


@dataclass(eq=False, repr=False)
class ConicSVCCV(CrossValidatedClassifier, ConicClassifier):
    """`ConicSVC` with κ chosen by validation, as in the conic paper: values of κ uniform in (0, 0.5].

    Every fold follows the whole path of κ with one preparation of the data and starts from the neighbour's central point.

    Parameters
    ----------
    kappa_grid : int or array_like
        How many values, 0.5k/kappa_grid for k = 1 .. kappa_grid; or the values themselves, in (0, 1].
    cv : int, float, splitter or iterable
        As `HingeSVCCV`.
    n_jobs : int, optional
        Folds at a time (joblib).
    solver : str
        With "auto" or "conic-ipm" the path is followed; with any other every problem is solved by itself.
    kernel, gamma, degree, coef0, tol, multi_class, standardise, time_limit, verbose
        As `ConicSVC`; the time limit is that of the last fit.

    Attributes
    ----------
    kappa_ : float
        The chosen κ.
    values_, cv_scores_, best_index_, best_score_
        See `CrossValidatedClassifier`.
    coef_, support_, dual_coef_, intercept_, kernel_, problem_, result_, certificate_, pairs_, classes_, n_features_in_
        As `ConicSVC`.
    """

    kappa_grid: Any = 100

    def _values(self) -> FloatArray:
        values = grid_values(self.kappa_grid, "kappa_grid", lambda count: 0.5 * np.arange(1, count + 1) / count)
        if values[-1] > 1.0:
            raise InputError(
                f"kappa_grid must lie in (0, 1], parts of the points; the largest is {values[-1]:g}", name="kappa_grid"
            )
        return values

    def _problem_at(self, X: Points, y: FloatArray, cost: FloatArray, space: Space, value: float) -> Model:
        return ConicSVM(X, y, kappa=value, kernel=space.kernel)

    def _solve_path(self, data: PreparedData, pair: Pair, values: FloatArray) -> list[Solution | None]:
        if self.solver not in _PATH_SOLVERS:
            return super()._solve_path(data, pair, values)
        problem = self._state_problem_at(data, pair, float(values[0]))
        assert isinstance(problem, ConicSVM)
        view = problem.view(ConicProblem)
        assert view is not None  # κ > 0
        path = conic_path(view, kappas=values.tolist(), tolerance=self._options().tolerance(1e-8))
        return [None if entry.point is None else _classifier(problem, entry.point.values["w"]) for entry in path]

    @property
    def kappa_(self) -> float:
        """The chosen κ."""
        return self._value()


def _classifier(problem: ConicSVM, w: FloatArray) -> Solution:
    """Return w itself; in the kernel form Σ w_i y_i (k(x_i, x) + 1)."""
    if problem.kernel is None:
        return Solution(w[1:], float(w[0]))
    coefficients = w * problem.y
    return Solution(coefficients, float(coefficients.sum()))


ESTIMATORS = (
    EstimatorInfo(ConicSVC, ConicSVM, "conic relaxation of the 0-1 loss", {"tol": 1e-4}),
    EstimatorInfo(
        ConicSVCCV,
        ConicSVM,
        "conic relaxation of the 0-1 loss, κ by validation",
        {"kappa_grid": [0.1, 0.3], "cv": 0.4, "tol": 1e-3},
    ),
)
