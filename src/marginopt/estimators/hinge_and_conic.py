"""Classifiers of the hinge loss and the conic relaxation: `HingeSVC`, `ConicSVC`; `HingeSVCCV`, `ConicSVCCV` by validation.

f(x) = w'x, where x begins with a 1 for the intercept, is the decision function; a margin u_i = y_i f(x_i) is violated below 1.
The conic relaxation of min ||w||² + λ Σ 1{u_i < 1}, (21) of Cepeda, Gómez and Han (2024), has a matrix W ⪰ ww' and
violations 0 ≤ z_i ≤ 1: it is min Tr W + λ Σ z_i, or in the κ form min Tr W over Σ z_i ≤ κn, subject to
x_i'W x_i - 2u_i + 1 ≥ (1 - u_i)_+²/z_i + (1 - u_i)_-²/(1 - z_i).
"""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, check_cv

from ..errors import InputError, short_text
from ..models.arrays import FloatArray, IntArray, Points, as_positive
from ..models.formulations.conic import ConicSVM
from ..models.formulations.hinge import HingeSVM
from ..models.model import Model, decided_codes
from ..models.views import ConicProblem
from ..solvers.certification.result import Result
from ..solvers.conic.ipm import conic_path
from ..solvers.parallel import choose_executor
from .base import EstimatorInfo
from .classifier import LinearClassifier, ModelClassifier, PreparedData, WeightedClassifier, decision_scores, require_two_classes
from .training import fit_binary_problem
from .training_set import (
    BinaryProblem,
    FeatureSpace,
    Predictor,
    Solution,
    WeightedPoints,
    is_linear,
)


class PathClassifier(ModelClassifier):
    """The base class of classifiers whose model has one parameter (λ or κ), solved at one value or along a path of values."""

    @abstractmethod
    def _value(self) -> float:
        """Return the parameter of the fit."""

    @abstractmethod
    def _problem_at(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace, value: float) -> Model:
        """Return the model of one binary problem at a value."""

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        return self._problem_at(X, y, cost, space, self._value())

    def _solve_path(self, data: PreparedData, pair: BinaryProblem, values: FloatArray) -> list[Solution | None]:
        """Solve one binary problem at every value; None where it has no solution."""
        results: list[Solution | None] = []
        for value in values:
            problem = self._state_problem_at(data, pair, float(value))
            results.append(
                fit_binary_problem(type(self)._solution, problem, self.solver, self._options(), self._expected).solution
            )
        return results

    def _state_problem_at(self, data: PreparedData, pair: BinaryProblem, value: float) -> Model:
        with self._no_advice():
            return self._named(self._problem_at(*data.data(pair), data.space, value), data.space, data.labels(pair))

    def _path(self, data: PreparedData, values: FloatArray) -> list[Predictor | None]:
        """Return the decision functions at every value; None where a binary problem has no solution."""
        paths = [self._solve_path(data, pair, values) for pair in data.pairs]
        predictors: list[Predictor | None] = []
        for solutions in zip(*paths, strict=True):
            complete = [s for s in solutions if s is not None]
            is_complete = len(complete) == len(solutions)
            predictors.append(data.space.predictor(data.sample, data.pairs, complete) if is_complete else None)
        return predictors


@dataclass(eq=False, repr=False)
class CrossValidatedClassifier(PathClassifier):
    """The base class of classifiers that choose their parameter by cross-validated accuracy, then fit to all points with it.

    Parameters
    ----------
    cv : int, float, splitter or iterable
        The number of stratified folds, the share of one validation set, or splits as in scikit-learn.

    Attributes
    ----------
    values_ : ndarray (m,)
        The candidates of the parameter, ascending.
    cv_scores_ : ndarray (m, folds)
        Validation accuracy of each candidate; NaN where its problem has no solution.
    best_index_ : int
        Index of the chosen candidate: the first of the largest mean accuracy among those with a solution in every fold.
    best_score_ : float
        Mean accuracy of the chosen candidate.
    """

    _: KW_ONLY
    cv: Any = 5

    @abstractmethod
    def _values(self) -> FloatArray:
        """Return the values to choose from."""

    def _value(self) -> float:
        return float(self.values_[self.best_index_])

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        values = self._values()
        points, labels = self._validated(X, y)
        require_two_classes(np.unique(labels))
        splits = _splits(self.cv, points, labels)
        worker = clone(self)
        tasks = [(worker, points, labels, train, test, values) for train, test in splits]
        with choose_executor(self.n_jobs, name="n_jobs") as team:
            scores = np.array(team.run_all(_fold_scores, tasks)).T
        usable = ~np.isnan(scores).any(axis=1)
        if not usable.any():
            raise InputError("no value of the parameter gave a classifier in every fold; widen the range of values")
        self.values_ = values
        self.cv_scores_ = scores
        self.best_index_ = int(np.argmax(np.where(usable, scores.mean(axis=1), -np.inf)))
        self.best_score_ = float(scores[self.best_index_].mean())
        return super()._fit(X, y, sample_weight)


def _grid_values(grid: Any, name: str, values_of: Callable[[int], FloatArray]) -> FloatArray:
    """Return the values of a parameter among which cross-validation chooses, in ascending order.

    Parameters
    ----------
    grid : int or array_like
        Number of values, or the values.
    name : str
        The parameter of the estimator.
    values_of : callable
        Returns the default values for a number of values.
    """
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
        if grid < 1:
            raise InputError(f"{name} must be a number of values ≥ 1 or the values; it is {short_text(grid)}", name=name)
        return values_of(int(grid))
    try:
        values = np.asarray(grid, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a sequence of numbers > 0; it is {short_text(grid)}", name=name) from error
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or not (values > 0).all():
        raise InputError(f"{name} must be a sequence of finite numbers > 0; it is {short_text(grid)}", name=name)
    return np.unique(values)


def _splits(cv: Any, X: Points, y: np.ndarray) -> list[tuple[IntArray, IntArray]]:
    """Return the training and validation rows of each of k stratified folds, of one stratified part, or of a splitter."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if isinstance(cv, bool) or cv is None or isinstance(cv, str):
        raise InputError(
            f"cv must be a number of folds, a part in (0, 1), a splitter or an iterable of splits; it is {short_text(cv)}",
            name="cv",
        )
    if isinstance(cv, numbers.Integral):
        folds = min(int(cv), smallest)
        if int(cv) < 2 or folds < 2:
            raise InputError(
                f"cv={cv} folds need cv ≥ 2 and two points in every class; the smallest class has {smallest}", name="cv"
            )
        splitter: Any = StratifiedKFold(folds, shuffle=True, random_state=0)
    elif isinstance(cv, numbers.Real):
        if not 0.0 < float(cv) < 1.0 or smallest < 2:
            raise InputError(
                f"a validation part must be in (0, 1), with two points in every class; cv={cv}, least {smallest}", name="cv"
            )
        splitter = StratifiedShuffleSplit(1, test_size=float(cv), random_state=0)
    else:
        splitter = check_cv(cv, y, classifier=True)
    return [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y)]


def _fold_scores(
    task: tuple[CrossValidatedClassifier, Points, np.ndarray, IntArray, IntArray, FloatArray], threads: int | None
) -> FloatArray:
    """Return the accuracy on the validation rows at every value."""
    estimator, X, y, train, test, values = task
    rows, others = X[train], X[test]
    if estimator._pairwise():
        rows, others = rows[:, train], others[:, train]
    data = estimator._prepare(rows, y[train], None)
    scores = np.full(values.size, np.nan)
    for k, predictor in enumerate(estimator._path(data, values)):
        if predictor is not None:
            codes = decided_codes(decision_scores(predictor, data.pairs, data.classes.size, others))
            scores[k] = (data.classes[codes] == y[test]).mean()
    return scores


class HingeClassifier(PathClassifier, LinearClassifier):
    """The base class of `HingeSVC` and `HingeSVCCV`, which states `HingeSVM` at a value of λ."""

    def _problem_at(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace, value: float) -> Model:
        return HingeSVM(X, y, lam=value * cost)


@dataclass(eq=False, repr=False)
class HingeSVC(WeightedClassifier, HingeClassifier):
    """Linear hinge-loss classifier, `marginopt.HingeSVM`: min ||w||² + λ Σ s_i (1 - y_i f(x_i))_+.

    It is (2) of Cepeda, Gómez and Han (2024). The intercept is part of ||w||². The usual C is λ/2.

    Parameters
    ----------
    lam : float
        λ > 0; s_i = sample weight × class weight multiplies it.
    solver, tol, standardise, time_limit, verbose
        The solver, its relative gap, whether to scale features first, seconds, whether to print progress (`ModelEstimator`).
    multi_class, n_jobs, class_weight
        One against one ("ovo") or the rest ("ovr"); problems solved at a time; factors of the weights by class.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        Of the original features, not the standardised ones.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.
    """

    lam: float = 1.0

    def _value(self) -> float:
        return as_positive(self.lam, "lam")


@dataclass(eq=False, repr=False)
class HingeSVCCV(CrossValidatedClassifier, HingeClassifier):
    """`HingeSVC` with λ chosen by validation, as in Cepeda, Gómez and Han (2024): λ = β/(1 - β), β uniform in (0, 1).

    Parameters
    ----------
    lam_grid : int or array_like
        Number of values of β, k/(lam_grid + 1) for k = 1 .. lam_grid; or the values of λ.
    cv : int, float, splitter or iterable
        Number of stratified folds, reduced to the size of the smallest class; a share in (0, 1), the size of one stratified
        validation set; or a splitter or iterable of splits as in scikit-learn (``PredefinedSplit`` for a given validation set).
    n_jobs : int, optional
        Folds at a time (joblib).
    solver, tol, multi_class, class_weight, standardise, time_limit, verbose
        As `HingeSVC` above.

    Attributes
    ----------
    lam_ : float
        The chosen λ.
    values_, cv_scores_, best_index_, best_score_
        See `CrossValidatedClassifier`.
    coef_, intercept_, problem_, result_, certificate_, pairs_, classes_, n_features_in_
        As `HingeSVC`.
    """

    lam_grid: Any = 100
    _: KW_ONLY
    class_weight: Any = None

    def _values(self) -> FloatArray:
        def uniform_beta(count: int) -> FloatArray:
            beta = np.arange(1, count + 1) / (count + 1.0)
            return np.asarray(beta / (1.0 - beta))

        return _grid_values(self.lam_grid, "lam_grid", uniform_beta)

    @property
    def lam_(self) -> float:
        """The chosen λ."""
        return self._value()


#: Solvers for which `conic_path` follows the whole path of κ.
_PATH_SOLVERS = ("auto", "conic-ipm")


@dataclass(eq=False, repr=False)
class ConicClassifier(PathClassifier):
    """The base class of `ConicSVC` and `ConicSVCCV`: linear, or with a kernel k, whose intercept comes from k + 1.

    Parameters
    ----------
    kernel : {"linear", "rbf", "polynomial", "poly", "precomputed"}, Kernel or callable
        "linear" is the primal form, any other the kernel form.
    gamma, degree, coef0
        γ of "rbf" and "polynomial", a number or the name of a rule (`gamma_by_rule`); degree and constant of "polynomial".
    """

    _: KW_ONLY
    kernel: Any = "linear"
    gamma: Any = None
    degree: int = 2
    coef0: float = 0.0

    def _space(self, X: Points, sample: WeightedPoints) -> FeatureSpace:
        return self._linear_space(X, sample) if is_linear(self.kernel) else self._kernel_space(X, sample)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        assert isinstance(problem, ConicSVM)
        return _classifier(problem, result.values["w"])


@dataclass(eq=False, repr=False)
class ConicSVC(ConicClassifier):
    """Classifier of the conic relaxation of the 0-1 loss, `marginopt.ConicSVM`, (21) of Cepeda, Gómez and Han (2024).

    Parameters
    ----------
    lam, kappa : float, optional
        One of them: λ > 0, the cost of a violated margin, or κ in [0, 1], the share of the points whose margins may be violated
        in the relaxation (κ = 0: hard margin, separable classes only). λ = 1 where neither is given.
    kernel : {"linear", "rbf", "polynomial", "poly", "precomputed"}, Kernel or callable
        "linear" is the primal form; any other the kernel form, which costs O(n³) a step.
    gamma, degree, coef0, solver, tol, multi_class, n_jobs, standardise, time_limit, verbose
        As `ConicClassifier` and `HingeSVC` above.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        With the linear kernel, of the original features.
    support_, dual_coef_, intercept_, kernel_
        With other kernels: support vectors (rows of X), coefficients (problems × support vectors), constants, the kernel.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.
    """

    lam: float | None = None
    kappa: float | None = None

    def _value(self) -> float:
        if self.kappa is not None:
            return as_positive(self.kappa, "kappa", zero=True)
        return 1.0 if self.lam is None else as_positive(self.lam, "lam")

    def _problem_at(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace, value: float) -> Model:
        if self.lam is not None and self.kappa is not None:
            raise InputError(
                f"give lam or kappa, not both; lam={short_text(self.lam)}, kappa={short_text(self.kappa)}", name="lam"
            )
        if self.kappa is None:
            return ConicSVM(X, y, lam=value, kernel=space.kernel)
        return ConicSVM(X, y, kappa=value, kernel=space.kernel)


@dataclass(eq=False, repr=False)
class ConicSVCCV(CrossValidatedClassifier, ConicClassifier):
    """`ConicSVC` with κ chosen by validation, as in Cepeda, Gómez and Han (2024): values of κ uniform in (0, 0.5].

    In every fold the problems of all κ are solved in ascending order (`conic_path`): the data are prepared once, and each problem
    starts from a central point of the one before where that is strictly feasible.

    Parameters
    ----------
    kappa_grid : int or array_like
        Number of values, 0.5k/kappa_grid for k = 1 .. kappa_grid; or the values, in (0, 1].
    cv : int, float, splitter or iterable
        As `HingeSVCCV`.
    n_jobs : int, optional
        Folds at a time (joblib).
    solver : str
        With "auto" or "conic-ipm" the path is followed; with any other every problem is solved by itself.
    kernel, gamma, degree, coef0, tol, multi_class, standardise, time_limit, verbose
        As `ConicSVC`; where the path is followed, the time limit is that of the last fit alone.

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
        values = _grid_values(self.kappa_grid, "kappa_grid", lambda count: 0.5 * np.arange(1, count + 1) / count)
        if values[-1] > 1.0:
            raise InputError(
                f"kappa_grid must lie in (0, 1], parts of the points; the largest is {values[-1]:g}", name="kappa_grid"
            )
        return values

    def _problem_at(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace, value: float) -> Model:
        return ConicSVM(X, y, kappa=value, kernel=space.kernel)

    def _solve_path(self, data: PreparedData, pair: BinaryProblem, values: FloatArray) -> list[Solution | None]:
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
    """Return the classifier of w: w itself, or in the kernel form f(x) = Σ w_i y_i (k(x_i, x) + 1)."""
    if problem.kernel is None:
        return Solution(w[1:], float(w[0]))
    coefficients = w * problem.y
    return Solution(coefficients, float(coefficients.sum()))


ESTIMATORS = (
    EstimatorInfo(HingeSVC, HingeSVM, "linear hinge-loss classifier"),
    EstimatorInfo(HingeSVCCV, HingeSVM, "linear hinge-loss classifier, λ by validation", {"lam_grid": 2, "cv": 0.3}),
    EstimatorInfo(ConicSVC, ConicSVM, "conic relaxation of the 0-1 loss", {"tol": 1e-4}),
    EstimatorInfo(
        ConicSVCCV,
        ConicSVM,
        "conic relaxation of the 0-1 loss, κ by validation",
        {"kappa_grid": [0.1, 0.3], "cv": 0.4, "tol": 1e-3},
    ),
)
