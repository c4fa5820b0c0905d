"""One parameter (λ or κ): classifiers at one value, along many, and the value chosen by validation."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, check_cv

from ..errors import InputError
from ..models.arrays import FloatArray, IntArray, Points
from ..models.model import Model
from ..solvers.parallel import choose_executor
from .classifier import ModelClassifier, Stage, decide
from .multiclass import Pair
from .training import solved
from .training_set import Predictor, Solution, Space

__all__ = ["CrossValidated", "PathClassifier", "as_values"]


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
            results.append(solved(type(self)._solution, problem, self.solver, self._options(), self._expected).solution)
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
            whole = len(complete) == len(solutions)
            predictors.append(stage.space.predictor(stage.sample, stage.pairs, complete) if whole else None)
        return predictors


class CrossValidated(PathClassifier):
    """The parameter with the best validated accuracy, then a fit to all points with it.

    Attributes: ``values_`` (m), ``cv_scores_`` (m × folds; NaN where there is no classifier), ``best_index_`` (the first of the
    best mean scores), ``best_score_``.
    """

    cv: Any

    @abstractmethod
    def _values(self) -> FloatArray:
        """The values to choose from."""

    def _value(self) -> float:
        return float(self.values_[self.best_index_])

    def _fit(self, X: Any, y: Any, given_weight: Any) -> Self:
        values = self._values()
        points, labels = self._validated(X, y)
        if np.unique(labels).size < 2:
            raise InputError(f"y must hold at least two classes; it has one class: {labels[0]!r}")
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


def as_values(given: Any, name: str) -> FloatArray:
    """The values of a path in ascending order.

    Raises
    ------
    InputError
        Not a sequence of positive finite numbers.
    """
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a sequence of numbers > 0; it is {given!r}") from error
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or not (values > 0).all():
        raise InputError(f"{name} must be a sequence of finite numbers > 0; it is {given!r}")
    return np.unique(values)


def _splits(cv: Any, X: Points, y: np.ndarray) -> list[tuple[IntArray, IntArray]]:
    """Training and validation rows: k stratified folds, one stratified validation part, or what a splitter says."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if isinstance(cv, bool) or cv is None or isinstance(cv, str):
        raise InputError(f"cv must be a number of folds, a part in (0, 1), a splitter or an iterable of splits; it is {cv!r}")
    if isinstance(cv, numbers.Integral):
        folds = min(int(cv), smallest)
        if int(cv) < 2 or folds < 2:
            raise InputError(f"cv={cv} folds need cv ≥ 2 and two points in every class; the smallest class has {smallest}")
        splitter: Any = StratifiedKFold(folds, shuffle=True, random_state=0)
    elif isinstance(cv, numbers.Real):
        if not 0.0 < float(cv) < 1.0 or smallest < 2:
            raise InputError(f"a validation part must be in (0, 1), with two points in every class; cv={cv}, least {smallest}")
        splitter = StratifiedShuffleSplit(1, test_size=float(cv), random_state=0)
    else:
        splitter = check_cv(cv, y, classifier=True)
    return [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y)]


def _fold_scores(
    task: tuple[CrossValidated, Points, np.ndarray, IntArray, IntArray, FloatArray], threads: int | None
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
