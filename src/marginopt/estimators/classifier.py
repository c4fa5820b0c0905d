"""The mechanism that every classifier shares: prepare, state one binary model a pair, solve, vote.

One parameter (λ or κ): classifiers at one value, along many, and the value chosen by validation.
"""

from __future__ import annotations

import numbers
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..errors import InputError, MarginoptWarning
from ..models.arrays import FloatArray, IntArray, Points, as_points
from ..models.decision import decided_codes
from ..models.model import Model
from ..solvers.certification.result import Result
from ..solvers.parallel import choose_executor
from ..solvers.records import Options, Status
from ..solvers.registry import resolve
from .base import Pair, binary_problems, class_scores, refuse
from .training import BinaryFit, one_or_all, solve_copy, solve_copy_task, warn_of_one_class
from .training_set import (
    PointsEstimator,
    Predictor,
    Sample,
    Solution,
    Space,
    class_weights,
    sample_weights,
)


@dataclass(frozen=True, eq=False)
class Stage:
    """A training set made ready: its classes, the points that count, where they live, the binary problems."""

    classes: np.ndarray
    sample: Sample
    space: Space
    pairs: list[Pair]
    cost: FloatArray

    def data(self, pair: Pair) -> tuple[Points, FloatArray, FloatArray]:
        """Points, labels and costs (sample weight times class weight) of one problem."""
        return self.space.take(pair.index), pair.labels, self.cost[pair.index]

    def class_names(self, pair: Pair) -> tuple[str, str]:
        """Names of the classes -1 and +1 of one problem."""
        names = [str(name) for name in self.classes.tolist()]
        return "rest" if pair.negative < 0 else names[pair.negative], names[pair.positive]


@dataclass(eq=False, repr=False)
class ModelClassifier(ClassifierMixin, PointsEstimator, ABC):  # type: ignore[misc]
    """A classifier that fits one model of `marginopt.models` for two classes, or one a pair of classes.

    Subclasses say where the problems live (`_space`), what is solved (`_problem`), by whom (`_solver`), and what the solution
    means (`_solution`). Fitted attributes of all: ``classes_``, ``n_features_in_``, ``problem_`` (the model), ``result_``,
    ``certificate_`` (lists of these, in the order of ``pairs_``, where there are several problems), and ``pairs_``, the classes
    (negative, positive) of each problem, None standing for all the rest.
    """

    #: Whether points have weights, so that equal ones may be merged.
    _weighted = False
    #: Ways to end that are no reason to warn.
    _expected: ClassVar[frozenset[Status]] = frozenset()

    _: KW_ONLY
    solver: Any = "auto"
    tol: float | None = 1e-6
    multi_class: str = "ovo"
    n_jobs: int | None = None
    standardise: bool = True
    time_limit: float | None = None
    verbose: bool = False
    class_weight: Any = field(default=None, init=False)  # a parameter of some

    # -- what a subclass says -----------------------------------------------------------------------------------

    @abstractmethod
    def _space(self, X: Points, sample: Sample) -> Space:
        """Return the space of the problems."""

    @abstractmethod
    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        """The model of one binary problem."""

    @staticmethod
    @abstractmethod
    def _solution(problem: Model, result: Result) -> Solution:
        """The classifier that a result means."""

    def _options(self, start: Mapping[str, FloatArray] | None = None) -> Options:
        progress = bool(self.verbose)
        return Options(tol=self.tol, time_limit=self.time_limit, start=start, progress=progress, verbose=progress)

    def _asked(self) -> Any:
        """Return the solver of the parameters."""
        return self.solver

    def _start(self, stage: Stage, pair: Pair) -> Mapping[str, FloatArray] | None:
        """Return the start of a problem's solver."""
        return None

    # -- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **other: Any) -> Self:
        """Fit to n points (n × p; dense or CSR) and their labels. Points have no weights in this problem: repeat them instead.

        Raises
        ------
        InputError
            A parameter or the data cannot be used; says which, and what is needed.
        """
        refuse(self, other)
        return self._fit(X, y, None)

    def _fit(self, X: Any, y: Any, given_weight: Any) -> Self:
        X, y = self._validated(X, y)
        stage = self._stage(X, y, given_weight)
        self._keep(stage, self._solve_all(stage))
        rows = stage.sample.rows
        warn_of_one_class(type(self).__name__, self._decided, X[rows], y[rows], stage.cost)
        return self

    def _decided(self, X: Points) -> np.ndarray:
        """The classes of validated rows."""
        return decide(self._predictor, self._pairs, self.classes_, X)[1]

    def _solve_all(self, stage: Stage) -> list[BinaryFit]:
        """Every binary problem, in parallel where asked."""
        tasks = []
        for pair in stage.pairs:
            problem, options = self._stated(stage, pair), self._options(self._start(stage, pair))
            tasks.append((type(self)._solution, problem, resolve(self._asked()), options, self._expected))
        with choose_executor(self.n_jobs) as team:
            return team.all(solve_copy_task, tasks)

    def _validated(self, X: Any, y: Any) -> tuple[Points, np.ndarray]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        return as_points(X), np.asarray(y)

    def _stage(self, X: Points, y: np.ndarray, given_weight: Any) -> Stage:
        """Classes, merged points, space and binary problems of validated data."""
        weights = sample_weights(given_weight, X)
        classes, codes = np.unique(y[weights > 0], return_inverse=True)
        if classes.size < 2:
            scope = "" if given_weight is None else " among the points of positive weight"
            raise InputError(f"y must hold at least two classes; it has one class{scope}: {classes.tolist()[0]!r}", name="y")
        code = np.full(y.size, -1)
        code[weights > 0] = codes
        sample = self._merged(X, code, weights) if self._weighted else Sample.plain(y.size)
        space = self._space(X, sample)
        merged = code[sample.rows]
        factor = class_weights(self.class_weight, classes, merged, sample.weight)
        pairs = binary_problems(merged, classes.size, self.multi_class)
        return Stage(classes, sample, space, pairs, sample.weight * factor[merged])

    def _stated(self, stage: Stage, pair: Pair) -> Model:
        self._class_names = stage.class_names(pair)
        with self._no_advice():
            return self._problem(*stage.data(pair), stage.space)

    @contextmanager
    def _no_advice(self) -> Iterator[None]:
        """Silence a model's advice to standardise where the features are standardised."""
        with warnings.catch_warnings():
            if self.standardise:
                warnings.simplefilter("ignore", MarginoptWarning)
            yield

    def _keep(self, stage: Stage, outcomes: Sequence[BinaryFit]) -> None:
        """Set the fitted attributes."""
        self._predictor = stage.space.predictor(stage.sample, stage.pairs, [o.solution for o in outcomes])
        self._pairs = [Pair(np.zeros(0, dtype=np.int64), np.zeros(0), p.negative, p.positive) for p in stage.pairs]
        self.classes_ = stage.classes
        names = stage.classes.tolist()
        self.pairs_ = [(None if p.negative < 0 else names[p.negative], names[p.positive]) for p in stage.pairs]
        self.problem_ = one_or_all([o.problem for o in outcomes])
        self.result_ = one_or_all([o.result for o in outcomes])
        self.certificate_ = one_or_all([o.result.certificate for o in outcomes])
        for name, value in self._predictor.attributes().items():
            setattr(self, name, value)

    # -- predicting ---------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> FloatArray:
        """Score of ``classes_[1]`` (n,) for two classes; scores of all classes (n × K) for more."""
        points = self._new_points(X)
        return decide(self._predictor, self._pairs, self.classes_, points)[0]

    def predict(self, X: Any) -> np.ndarray:
        """The class with the highest score."""
        return self._decided(self._new_points(X))


@dataclass(eq=False, repr=False)
class WeightedClassifier(ModelClassifier):
    """A classifier whose points have weights; one of weight k is worth k copies, to the last bit."""

    _: KW_ONLY
    class_weight: Any = None

    _weighted = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **other: Any) -> Self:
        """Fit to n points (n × p; dense or CSR), their labels and weights ≥ 0.

        Raises
        ------
        InputError
            A parameter or the data cannot be used; says which, and what is needed.
        """
        refuse(self, other)
        return self._fit(X, y, sample_weight)


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


def decide(predictor: Predictor, pairs: Sequence[Pair], classes: np.ndarray, X: Points) -> tuple[FloatArray, np.ndarray]:
    """Scores, of the second class (n,) or of all (n × K), and labels."""
    scores = predictor.scores(X)
    decision = scores[:, 0] if classes.size == 2 else class_scores(scores, pairs, classes.size)
    return decision, np.asarray(classes[decided_codes(decision)])


class PathClassifier(ModelClassifier):
    """A classifier whose model has one parameter along which it can be followed."""

    @abstractmethod
    def _value(self) -> float:
        """The parameter of the fit."""

    @abstractmethod
    def _problem_at(self, X: Points, y: FloatArray, cost: FloatArray, space: Space, value: float) -> Model:
        """The model of one binary problem at a value."""

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        return self._problem_at(X, y, cost, space, self._value())

    def _solve_path(self, stage: Stage, pair: Pair, values: FloatArray) -> list[Solution | None]:
        """One binary problem at every value; None where it has no solution."""
        results: list[Solution | None] = []
        for value in values:
            problem = self._stated_at(stage, pair, float(value))
            results.append(solve_copy(type(self)._solution, problem, self.solver, self._options(), self._expected).solution)
        return results

    def _stated_at(self, stage: Stage, pair: Pair, value: float) -> Model:
        with self._no_advice():
            return self._problem_at(*stage.data(pair), stage.space, value)

    def _path(self, stage: Stage, values: FloatArray) -> list[Predictor | None]:
        """The classifiers of all binary problems at every value; None where one of these has no solution."""
        paths = [self._solve_path(stage, pair, values) for pair in stage.pairs]
        predictors: list[Predictor | None] = []
        for solutions in zip(*paths, strict=True):
            complete = [s for s in solutions if s is not None]
            is_complete = len(complete) == len(solutions)
            predictors.append(stage.space.predictor(stage.sample, stage.pairs, complete) if is_complete else None)
        return predictors


@dataclass(eq=False, repr=False)
class CrossValidatedClassifier(PathClassifier):
    """The parameter with the best validated accuracy, then a fit to all points with it.

    Attributes: ``values_`` (m), ``cv_scores_`` (m × folds; NaN where there is no classifier), ``best_index_`` (the first of the
    best mean scores), ``best_score_``.
    """

    _: KW_ONLY
    cv: Any = 5

    @abstractmethod
    def _values(self) -> FloatArray:
        """The values to choose from."""

    def _value(self) -> float:
        return float(self.values_[self.best_index_])

    def _fit(self, X: Any, y: Any, given_weight: Any) -> Self:
        values = self._values()
        points, labels = self._validated(X, y)
        if np.unique(labels).size < 2:
            raise InputError(f"y must hold at least two classes; it has one class: {labels.tolist()[0]!r}", name="y")
        splits = _splits(self.cv, points, labels)
        worker = clone(self)
        tasks = [(worker, points, labels, train, test, values) for train, test in splits]
        with choose_executor(self.n_jobs) as team:
            scores = np.array(team.all(_fold_scores, tasks)).T
        usable = ~np.isnan(scores).any(axis=1)
        if not usable.any():
            raise InputError("no value of the parameter gave a classifier in every fold; widen the range of values")
        self.values_ = values
        self.cv_scores_ = scores
        self.best_index_ = int(np.argmax(np.where(usable, scores.mean(axis=1), -np.inf)))
        self.best_score_ = float(scores[self.best_index_].mean())
        return super()._fit(X, y, given_weight)


def as_values(sequence: Any, name: str) -> FloatArray:
    """The values of a path in ascending order.

    Raises
    ------
    InputError
        Not a sequence of positive finite numbers.
    """
    try:
        values = np.asarray(sequence, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a sequence of numbers > 0; it is {sequence!r}", name=name) from error
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or not (values > 0).all():
        raise InputError(f"{name} must be a sequence of finite numbers > 0; it is {sequence!r}", name=name)
    return np.unique(values)


def _splits(cv: Any, X: Points, y: np.ndarray) -> list[tuple[IntArray, IntArray]]:
    """Training and validation rows: k stratified folds, one stratified validation part, or what a splitter says."""
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
    """Accuracy on the validation rows at every value."""
    estimator, X, y, train, test, values = task
    rows, others = X[train], X[test]
    if estimator._pairwise():
        rows, others = rows[:, train], others[:, train]
    stage = estimator._stage(rows, y[train], None)
    scores = np.full(values.size, np.nan)
    for k, predictor in enumerate(estimator._path(stage, values)):
        if predictor is not None:
            scores[k] = (decide(predictor, stage.pairs, stage.classes, others)[1] == y[test]).mean()
    return scores
