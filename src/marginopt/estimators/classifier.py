"""The base classes of classifiers: a fit solves a binary model for each pair of classes, or for each against the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ..errors import InputError, short_text
from ..models.arrays import FloatArray, IntArray, Points, as_points
from ..models.model import Model, decided_codes
from ..solvers.certification.result import Result
from ..solvers.parallel import choose_executor
from ..solvers.records import Options, Status
from ..solvers.registry import resolve_solver
from .base import ModelEstimator, PointsEstimator, refuse_fit_arguments
from .training import BinaryFit, run_fit_task, single_or_list, warn_of_useless_classifier
from .training_set import (
    BinaryProblem,
    FeatureSpace,
    Predictor,
    Solution,
    WeightedPoints,
    binary_problems,
    class_scores,
    class_weights,
    sample_weights,
)


@dataclass(frozen=True, eq=False)
class PreparedData:
    """A classifier's training set, merged and in the feature space, with the binary problems that a fit solves.

    Attributes
    ----------
    classes : ndarray (K,)
        The labels of the classes, sorted.
    sample : WeightedPoints
        The training points of positive weight; equal ones may be merged.
    space : FeatureSpace
        The points of ``sample`` in the space of the models.
    pairs : list of BinaryProblem
        The binary problems, "pairs" in this module: each pair of classes, or each class against the rest.
    cost : ndarray (m,)
        Sample weight times class weight of each point of ``sample``.
    """

    classes: np.ndarray
    sample: WeightedPoints
    space: FeatureSpace
    pairs: list[BinaryProblem]
    cost: FloatArray

    def data(self, pair: BinaryProblem) -> tuple[Points, FloatArray, FloatArray]:
        """Return the points, labels and costs (sample weight times class weight) of one problem."""
        return self.space.take(pair.index), pair.labels, self.cost[pair.index]

    def class_names(self, pair: BinaryProblem) -> tuple[str, str]:
        """Return the names of the classes -1 and +1 of one problem."""
        negative, positive = self.labels(pair)
        return "rest" if negative is None else str(negative), str(positive)

    def labels(self, pair: BinaryProblem) -> tuple[Any, Any]:
        """Return the labels of the classes -1 and +1 of one problem, None for all the rest."""
        labels = self.classes.tolist()
        return None if pair.negative < 0 else labels[pair.negative], labels[pair.positive]


class PointsClassifier(ClassifierMixin, PointsEstimator, ABC):  # type: ignore[misc]
    """The base class of classifiers on points: it validates labels, computes points' costs, and predicts the largest score.

    Attributes
    ----------
    class_weight : dict, "balanced" or None
        Factors of the sample weights by class, as in scikit-learn.
    classes_ : ndarray (K,)
        The labels of the classes, sorted; set by `fit`.
    """

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
        TypeError
            An argument that ``fit`` does not take.
        SolverError
            The solver found no point.
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

    def _costs(self, X: Points, y: np.ndarray, sample_weight: Any) -> tuple[np.ndarray, WeightedPoints, IntArray, FloatArray]:
        """Return the classes, the points of positive weight, their classes' indices, and sample weight times class weight."""
        weights = sample_weights(sample_weight, X)
        classes, codes = np.unique(y[weights > 0], return_inverse=True)
        require_two_classes(classes, "" if sample_weight is None else " among the points of positive weight")
        code = np.full(y.size, -1)
        code[weights > 0] = codes
        sample = self._merged(X, code, weights) if self._weighted else WeightedPoints.separate(weights)
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
    """The base class of classifiers with ``sample_weight``; a point of weight k is worth k copies, to the last bit."""

    _weighted = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **other: Any) -> Self:
        """Fit to n points (n × p; dense or CSR), their labels and weights ≥ 0.

        Raises
        ------
        InputError
            A parameter or the data cannot be used; says which, and what is needed.
        TypeError
            An argument that ``fit`` does not take.
        SolverError
            The solver found no point.
        """
        refuse_fit_arguments(self, other)
        return self._fit(X, y, sample_weight)


@dataclass(eq=False, repr=False)
class ModelClassifier(PointsClassifier, ModelEstimator, ABC):
    """The base class of classifiers that fit one model of `marginopt.models` for each binary problem.

    Subclasses give the feature space of the problems (`_space`), the model (`_problem`), the solver (`_solver`), and the
    classifier of a solution (`_solution`). Fitted attributes of all: ``classes_``, ``n_features_in_``, ``problem_`` (the model),
    ``result_``, ``certificate_`` (lists of these, in the order of ``pairs_``, where there are several problems), and ``pairs_``,
    the classes (negative, positive) of each problem, None standing for all the rest.

    Parameters
    ----------
    multi_class : {"ovo", "ovr"}
        One binary problem for each pair of classes, or one for each class against the rest.
    n_jobs : int or None
        Binary problems solved at a time (joblib).
    class_weight : dict, "balanced" or None
        Factors of the sample weights by class; only `WeightedClassifier` and its subclasses take it as a parameter.
    """

    #: Statuses that are no reason to warn.
    _expected: ClassVar[frozenset[Status]] = frozenset()

    _: KW_ONLY
    multi_class: str = "ovo"
    n_jobs: int | None = None
    class_weight: Any = field(default=None, init=False)

    @abstractmethod
    def _space(self, X: Points, sample: WeightedPoints) -> FeatureSpace:
        """Return the space of the problems."""

    @abstractmethod
    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        """Return the model of one binary problem."""

    @staticmethod
    @abstractmethod
    def _solution(problem: Model, result: Result) -> Solution:
        """Return the classifier of a result."""

    def _solver(self) -> Any:
        """Return the solver of the parameters."""
        return self.solver

    def _start(self, data: PreparedData, pair: BinaryProblem) -> Mapping[str, FloatArray] | None:
        """Return the start of a problem's solver."""
        return None

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        X, y = self._validated(X, y)
        data = self._prepare(X, y, sample_weight)
        self._set_fitted(data, self._solve_all(data))
        rows = data.sample.rows
        warn_of_useless_classifier(type(self).__name__, self._predict, X[rows], y[rows], data.cost)
        return self

    def _scores(self, X: Points) -> FloatArray:
        return decision_scores(self._predictor, self._pairs, self.classes_.size, X)

    def _solve_all(self, data: PreparedData) -> list[BinaryFit]:
        """Solve every binary problem, ``n_jobs`` of them at a time."""
        tasks = []
        for pair in data.pairs:
            problem, options = self._state_problem(data, pair), self._options(self._start(data, pair))
            tasks.append((type(self)._solution, problem, resolve_solver(self._solver()), options, self._expected))
        with choose_executor(self.n_jobs, name="n_jobs") as team:
            return team.run_all(run_fit_task, tasks)

    def _prepare(self, X: Points, y: np.ndarray, sample_weight: Any) -> PreparedData:
        classes, sample, codes, cost = self._costs(X, y, sample_weight)
        space = self._space(X, sample)
        return PreparedData(classes, sample, space, binary_problems(codes, classes.size, self.multi_class), cost)

    def _state_problem(self, data: PreparedData, pair: BinaryProblem) -> Model:
        self._class_names = data.class_names(pair)
        with self._no_advice():
            return self._named(self._problem(*data.data(pair), data.space), data.space, data.labels(pair))

    def _set_fitted(self, data: PreparedData, outcomes: Sequence[BinaryFit]) -> None:
        """Set the fitted attributes."""
        self._predictor = data.space.predictor(data.sample, data.pairs, [o.solution for o in outcomes])
        self._pairs = [BinaryProblem(np.zeros(0, dtype=np.int64), np.zeros(0), p.negative, p.positive) for p in data.pairs]
        self.classes_ = data.classes
        self.pairs_ = [data.labels(pair) for pair in data.pairs]
        self.problem_ = single_or_list([o.problem for o in outcomes])
        self.result_ = single_or_list([o.result for o in outcomes])
        self.certificate_ = single_or_list([o.result.certificate for o in outcomes])
        for name, value in self._predictor.attributes().items():
            setattr(self, name, value)


@dataclass(eq=False, repr=False)
class WeightedClassifier(WeightedPointsClassifier, ModelClassifier):
    """The base class of model classifiers with ``sample_weight`` and ``class_weight``."""

    _: KW_ONLY
    class_weight: Any = None


class LinearClassifier(ModelClassifier):
    """The base class of linear classifiers: ``coef_`` (problems × p) and ``intercept_`` (problems,) of the original features."""

    def _space(self, X: Points, sample: WeightedPoints) -> FeatureSpace:
        return self._linear_space(X, sample)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        w = result.values["w"]
        return Solution(w[1:], float(w[0]))


@dataclass(eq=False, repr=False)
class BranchAndBoundClassifier(WeightedClassifier, LinearClassifier):
    """The base class of linear classifiers by branch and bound. A search that ends at its limits gives no warning.

    Parameters
    ----------
    node_limit : int or None
        Largest number of nodes for each binary problem.
    random_state : int
        Seed of the solver.
    """

    _: KW_ONLY
    node_limit: int | None = None
    random_state: int = 0

    _expected = frozenset({Status.NODE_LIMIT, Status.TIME_LIMIT})

    def _options(self, start: Mapping[str, FloatArray] | None = None) -> Options:
        return replace(super()._options(start), node_limit=self.node_limit, seed=self.random_state)


@dataclass(eq=False, repr=False)
class KernelClassifier(ModelClassifier):
    """The base class of kernel classifiers Σ_j c_j k(x_j, x) + b of each problem.

    Their fitted attributes: ``support_`` (rows of the support vectors x_j in the training set), ``dual_coef_`` (the c_j, problems
    × support vectors) and ``intercept_`` (b).

    Parameters
    ----------
    gamma : float, str or None
        γ of the kernel, or the name of a rule for it (`models.kernels.kernels.gamma_by_rule`); None for the kernel's own rule.
    degree, coef0 : int, float
        Degree and constant of the polynomial kernel.
    """

    _: KW_ONLY
    gamma: Any = None
    degree: int = 2
    coef0: float = 0.0

    def _space(self, X: Points, sample: WeightedPoints) -> FeatureSpace:
        return self._kernel_space(X, sample)


def decision_scores(predictor: Predictor, pairs: Sequence[BinaryProblem], classes: int, X: Points) -> FloatArray:
    """Return the scores of the rows X: of the second of two ``classes`` (n,), or of all K ``classes`` (n × K)."""
    scores = predictor.scores(X)
    return scores[:, 0] if classes == 2 else class_scores(scores, pairs, classes)


def require_two_classes(classes: np.ndarray, scope: str = "") -> None:
    """Raise InputError if ``classes``, the distinct labels, are fewer than two; ``scope`` says in the message of which points."""
    if classes.size < 2:
        raise InputError(
            f"y must hold at least two classes; it has one class{scope}: {short_text(classes.tolist()[0])}", name="y"
        )
