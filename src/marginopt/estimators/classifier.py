"""The base classes of classifiers: prepare the data, state one binary model a pair of classes, solve, vote.

`CrossValidatedClassifier` chooses the one parameter of a model (λ or κ) by validation along a path of values.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, check_cv

from ..errors import InputError
from ..models.arrays import FloatArray, IntArray, Points, as_points
from ..models.decision import decided_codes
from ..models.model import Model
from ..solvers.certification.result import Result
from ..solvers.parallel import choose_executor
from ..solvers.records import Options, Status
from ..solvers.registry import resolve
from .base import Pair, binary_problems, class_scores, refuse_fit_arguments
from .training import BinaryFit, one_or_all, solve_copy, solve_copy_task, warn_of_one_class
from .training_set import (
    ModelEstimator,
    PointsEstimator,
    Predictor,
    Sample,
    Solution,
    Space,
    class_weights,
    sample_weights,
)


@dataclass(frozen=True, eq=False)
class PreparedData:
    """A prepared training set: its classes, the points of positive weight, their feature space, the binary problems."""

    classes: np.ndarray
    sample: Sample
    space: Space
    pairs: list[Pair]
    cost: FloatArray

    def data(self, pair: Pair) -> tuple[Points, FloatArray, FloatArray]:
        """Return the points, labels and costs (sample weight times class weight) of one problem."""
        return self.space.take(pair.index), pair.labels, self.cost[pair.index]

    def class_names(self, pair: Pair) -> tuple[str, str]:
        """Return the names of the classes -1 and +1 of one problem."""
        negative, positive = self.labels(pair)
        return "rest" if negative is None else str(negative), str(positive)

    def labels(self, pair: Pair) -> tuple[Any, Any]:
        """Return the labels of the classes -1 and +1 of one problem, None for all the rest."""
        labels = self.classes.tolist()
        return None if pair.negative < 0 else labels[pair.negative], labels[pair.positive]


class PointsClassifier(ClassifierMixin, PointsEstimator, ABC):  # type: ignore[misc]
    """A classifier on points: checked labels, costs of the points, and predictions by the largest score."""

    #: Whether points have weights, so that equal ones may be merged.
    _weighted = False
    class_weight: Any
    classes_: np.ndarray

    def fit(self, X: Any, y: Any, **other: Any) -> Self:
        """Fit to n points (n × p; dense or CSR) and their labels. Points have no weights in this problem: repeat them instead.

        Raises
        ------
        InputError
            A parameter or the data cannot be used; says which, and what is needed.
        """
        refuse_fit_arguments(self, other)
        return self._fit(X, y, None)

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to data that are not validated yet."""

    @abstractmethod
    def _scores(self, X: Points) -> FloatArray:
        """Return the scores of validated rows: of ``classes_[1]`` (n,) for two classes, of all classes (n × K) for more."""

    def _validated(self, X: Any, y: Any) -> tuple[Points, np.ndarray]:
        X, y = self._validate(X, y)
        return as_points(X), np.asarray(y)

    def _costs(self, X: Points, y: np.ndarray, sample_weight: Any) -> tuple[np.ndarray, Sample, IntArray, FloatArray]:
        """Return the classes, the points of positive weight, their classes' indices, and sample weight times class weight."""
        weights = sample_weights(sample_weight, X)
        classes, codes = np.unique(y[weights > 0], return_inverse=True)
        _require_two(classes, "" if sample_weight is None else " among the points of positive weight")
        code = np.full(y.size, -1)
        code[weights > 0] = codes
        sample = self._merged(X, code, weights) if self._weighted else Sample.separate(weights)
        merged = code[sample.rows]
        factor = class_weights(self.class_weight, classes, merged, sample.weight)
        return classes, sample, merged, sample.weight * factor[merged]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of ``classes_[1]`` (n,) for two classes; the scores of all classes (n × K) for more."""
        return self._scores(self._new_points(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the highest score."""
        return self._predict(self._new_points(X))

    def _predict(self, X: Points) -> np.ndarray:
        """Return the classes of validated rows."""
        return np.asarray(self.classes_[decided_codes(self._scores(X))])


class WeightedPointsClassifier(PointsClassifier):
    """A classifier whose points have weights; one of weight k is worth k copies, to the last bit."""

    _weighted = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **other: Any) -> Self:
        """Fit to n points (n × p; dense or CSR), their labels and weights ≥ 0.

        Raises
        ------
        InputError
            A parameter or the data cannot be used; says which, and what is needed.
        """
        refuse_fit_arguments(self, other)
        return self._fit(X, y, sample_weight)


@dataclass(eq=False, repr=False)
class ModelClassifier(PointsClassifier, ModelEstimator, ABC):
    """A classifier that fits one model of `marginopt.models` for two classes, or one a pair of classes.

    Subclasses give the feature space of the problems (`_space`), the model (`_problem`), the solver (`_solver`), and the
    classifier of a solution (`_solution`). Fitted attributes of all: ``classes_``, ``n_features_in_``, ``problem_`` (the model),
    ``result_``, ``certificate_`` (lists of these, in the order of ``pairs_``, where there are several problems), and ``pairs_``,
    the classes (negative, positive) of each problem, None standing for all the rest.
    """

    #: Statuses that are no reason to warn.
    _expected: ClassVar[frozenset[Status]] = frozenset()

    _: KW_ONLY
    multi_class: str = "ovo"
    n_jobs: int | None = None
    class_weight: Any = field(default=None, init=False)  # a parameter of some

    @abstractmethod
    def _space(self, X: Points, sample: Sample) -> Space:
        """Return the space of the problems."""

    @abstractmethod
    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        """Return the model of one binary problem."""

    @staticmethod
    @abstractmethod
    def _solution(problem: Model, result: Result) -> Solution:
        """Return the classifier of a result."""

    def _solver(self) -> Any:
        """Return the solver of the parameters."""
        return self.solver

    def _start(self, data: PreparedData, pair: Pair) -> Mapping[str, FloatArray] | None:
        """Return the start of a problem's solver."""
        return None

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        X, y = self._validated(X, y)
        data = self._prepare(X, y, sample_weight)
        self._set_fitted(data, self._solve_all(data))
        rows = data.sample.rows
        warn_of_one_class(type(self).__name__, self._predict, X[rows], y[rows], data.cost)
        return self

    def _scores(self, X: Points) -> FloatArray:
        return decision_scores(self._predictor, self._pairs, self.classes_.size, X)

    def _solve_all(self, data: PreparedData) -> list[BinaryFit]:
        """Solve every binary problem, ``n_jobs`` of them at a time."""
        tasks = []
        for pair in data.pairs:
            problem, options = self._state_problem(data, pair), self._options(self._start(data, pair))
            tasks.append((type(self)._solution, problem, resolve(self._solver()), options, self._expected))
        with choose_executor(self.n_jobs, name="n_jobs") as team:
            return team.all(solve_copy_task, tasks)

    def _prepare(self, X: Points, y: np.ndarray, sample_weight: Any) -> PreparedData:
        classes, sample, codes, cost = self._costs(X, y, sample_weight)
        space = self._space(X, sample)
        return PreparedData(classes, sample, space, binary_problems(codes, classes.size, self.multi_class), cost)

    def _state_problem(self, data: PreparedData, pair: Pair) -> Model:
        self._class_names = data.class_names(pair)
        with self._no_advice():
            return self._problem(*data.data(pair), data.space)

    def _set_fitted(self, data: PreparedData, outcomes: Sequence[BinaryFit]) -> None:
        """Set the fitted attributes."""
        self._predictor = data.space.predictor(data.sample, data.pairs, [o.solution for o in outcomes])
        self._pairs = [Pair(np.zeros(0, dtype=np.int64), np.zeros(0), p.negative, p.positive) for p in data.pairs]
        self.classes_ = data.classes
        self.pairs_ = [data.labels(pair) for pair in data.pairs]
        self.problem_ = one_or_all([o.problem for o in outcomes])
        self.result_ = one_or_all([o.result for o in outcomes])
        self.certificate_ = one_or_all([o.result.certificate for o in outcomes])
        for name, value in self._predictor.attributes().items():
            setattr(self, name, value)


@dataclass(eq=False, repr=False)
class WeightedClassifier(WeightedPointsClassifier, ModelClassifier):
    """A `ModelClassifier` whose points have weights."""

    _: KW_ONLY
    class_weight: Any = None


class LinearClassifier(ModelClassifier):
    """A classifier linear in the features: ``coef_`` (problems × p) and ``intercept_``, for rows as they come."""

    def _space(self, X: Points, sample: Sample) -> Space:
        return self._linear_space(X, sample)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        w = result.values["w"]
        return Solution(w[1:], float(w[0]))


@dataclass(eq=False, repr=False)
class SearchedClassifier(WeightedClassifier, LinearClassifier):
    """A linear classifier by branch and bound: a search that its budget ends gives its best classifier, without a warning."""

    _: KW_ONLY
    node_limit: int | None = None
    random_state: int = 0

    _expected = frozenset({Status.NODE_LIMIT, Status.TIME_LIMIT})

    def _options(self, start: Mapping[str, FloatArray] | None = None) -> Options:
        return replace(super()._options(start), node_limit=self.node_limit, seed=self.random_state)


@dataclass(eq=False, repr=False)
class KernelClassifier(ModelClassifier):
    """A classifier over the training points: ``support_``, ``dual_coef_`` (problems × support vectors) and ``intercept_``."""

    _: KW_ONLY
    gamma: Any = None
    degree: int = 2
    coef0: float = 0.0

    def _space(self, X: Points, sample: Sample) -> Space:
        return self._kernel_space(X, sample)


def decision_scores(predictor: Predictor, pairs: Sequence[Pair], classes: int, X: Points) -> FloatArray:
    """Return the scores of the second of two classes (n,), or of all (n × K)."""
    scores = predictor.scores(X)
    return scores[:, 0] if classes == 2 else class_scores(scores, pairs, classes)


def _require_two(classes: np.ndarray, scope: str = "") -> None:
    if classes.size < 2:
        raise InputError(f"y must hold at least two classes; it has one class{scope}: {classes.tolist()[0]!r}", name="y")


class PathClassifier(ModelClassifier):
    """A classifier whose model has one parameter, solved at one value or along a path of values."""

    @abstractmethod
    def _value(self) -> float:
        """Return the parameter of the fit."""

    @abstractmethod
    def _problem_at(self, X: Points, y: FloatArray, cost: FloatArray, space: Space, value: float) -> Model:
        """Return the model of one binary problem at a value."""

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        return self._problem_at(X, y, cost, space, self._value())

    def _solve_path(self, data: PreparedData, pair: Pair, values: FloatArray) -> list[Solution | None]:
        """Solve one binary problem at every value; None where it has no solution."""
        results: list[Solution | None] = []
        for value in values:
            problem = self._state_problem_at(data, pair, float(value))
            results.append(solve_copy(type(self)._solution, problem, self.solver, self._options(), self._expected).solution)
        return results

    def _state_problem_at(self, data: PreparedData, pair: Pair, value: float) -> Model:
        with self._no_advice():
            return self._problem_at(*data.data(pair), data.space, value)

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
    """A classifier whose parameter has the best validated accuracy, fitted to all points with it.

    Attributes: ``values_`` (m), ``cv_scores_`` (m × folds; NaN where there is no classifier), ``best_index_`` (the first of the
    best mean scores), ``best_score_``.
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
        _require_two(np.unique(labels))
        splits = _splits(self.cv, points, labels)
        worker = clone(self)
        tasks = [(worker, points, labels, train, test, values) for train, test in splits]
        with choose_executor(self.n_jobs, name="n_jobs") as team:
            scores = np.array(team.all(_fold_scores, tasks)).T
        usable = ~np.isnan(scores).any(axis=1)
        if not usable.any():
            raise InputError("no value of the parameter gave a classifier in every fold; widen the range of values")
        self.values_ = values
        self.cv_scores_ = scores
        self.best_index_ = int(np.argmax(np.where(usable, scores.mean(axis=1), -np.inf)))
        self.best_score_ = float(scores[self.best_index_].mean())
        return super()._fit(X, y, sample_weight)


def grid_values(grid: Any, name: str, values_of: Callable[[int], FloatArray]) -> FloatArray:
    """Return the values of a path in ascending order.

    Parameters
    ----------
    grid : int or array_like
        How many values, or the values themselves.
    name : str
        The parameter of the estimator.
    values_of : callable
        Returns as many default values as it is given.
    """
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
        if grid < 1:
            raise InputError(f"{name} must be a number of values ≥ 1 or the values; it is {grid!r}", name=name)
        return values_of(int(grid))
    try:
        values = np.asarray(grid, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a sequence of numbers > 0; it is {grid!r}", name=name) from error
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or not (values > 0).all():
        raise InputError(f"{name} must be a sequence of finite numbers > 0; it is {grid!r}", name=name)
    return np.unique(values)


def _splits(cv: Any, X: Points, y: np.ndarray) -> list[tuple[IntArray, IntArray]]:
    """Return the training and validation rows of each of k stratified folds, of one stratified part, or of a splitter."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if isinstance(cv, bool) or cv is None or isinstance(cv, str):
        raise InputError(
            f"cv must be a number of folds, a part in (0, 1), a splitter or an iterable of splits; it is {cv!r}", name="cv"
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
