"""Regressors: `EpsilonSVR`, support vector regression, and `MarginRegressor` of any loss of residuals.

f(x) = w'x + b is the regression function, y_i the target of point i, s_i its sample weight. Equal points with equal targets are
merged before the problem is stated, so that a point of weight k and k copies of it state the same problem.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_points, as_positive
from ..models.formulations.margin.loss import Loss
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.named_formulations import EpsilonSVR as EpsilonSVRModel
from ..models.formulations.margin.parts_by_name import LOSSES, part_by_name
from ..models.model import Model
from ..solvers.certification.result import Result
from ..solvers.records import Options, Status
from .base import EstimatorInfo, ModelEstimator, refuse_fit_arguments
from .training import solve_with_warning
from .training_set import BinaryProblem, FeatureSpace, Solution, WeightedPoints, expansion_coefficients, is_linear, sample_weights


@dataclass(eq=False, repr=False)
class ModelRegressor(RegressorMixin, ModelEstimator, ABC):  # type: ignore[misc]
    """The base class of regressors that fit one model of `marginopt.models`.

    Subclasses give the feature space (`_space`), the model (`_problem`) and the function of a solution (`_solution`).
    Fitted attributes of all: ``problem_`` (the model), ``result_``, ``certificate_`` and ``n_features_in_``.
    """

    @abstractmethod
    def _space(self, X: Points, sample: WeightedPoints) -> FeatureSpace:
        """Return the space of the problem."""

    @abstractmethod
    def _problem(self, X: Points, y: FloatArray, weight: FloatArray, space: FeatureSpace) -> Model:
        """Return the model."""

    @abstractmethod
    def _solution(self, problem: Model, result: Result) -> Solution:
        """Return the function of a result."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **other: Any) -> Self:
        """Fit to n points (n × p; dense or CSR), their targets and weights ≥ 0.

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
        X, y = self._validate(X, y, y_numeric=True, ensure_min_samples=2)
        points, targets = as_points(X), np.asarray(y, dtype=np.float64)
        weights = sample_weights(sample_weight, points)
        sample = self._merged(points, np.unique(targets, return_inverse=True)[1], weights)
        space = self._space(points, sample)
        everyone = np.arange(sample.rows.size)
        with self._no_advice():
            problem = self._problem(space.take(everyone), targets[sample.rows], sample.weight, space)
        problem = self._named(problem, space)
        work = copy.copy(problem)  # the one that is kept carries no compiled form
        limits = frozenset({Status.NODE_LIMIT, Status.TIME_LIMIT})
        result = solve_with_warning(work, self.solver, self._options(), limits, "regressor")
        pair = BinaryProblem(everyone, np.ones(everyone.size), -1, 0)
        self._predictor = space.predictor(sample, [pair], [self._solution(work, result)])
        self.problem_, self.result_, self.certificate_ = problem, result, result.certificate
        for name, value in self._predictor.attributes().items():
            setattr(self, name, value[0] if name in ("coef_", "intercept_") else value)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the predicted targets (n,)."""
        points = self._new_points(X)
        return self._predictor.scores(points)[:, 0]


@dataclass(eq=False, repr=False)
class EpsilonSVR(ModelRegressor):
    """Support vector regression, `marginopt.models.EpsilonSVR`: min ½||w||² + C Σ s_i (|y_i - f(x_i)| - ε)_+, the intercept free.

    Parameters
    ----------
    C : float
        > 0; s_i is the sample weight.
    epsilon : float
        ε ≥ 0, half the width of the tube.
    kernel : {"rbf", "linear", "polynomial", "poly", "precomputed"}, Kernel or callable
        The kernel; with "precomputed", X is the kernel matrix (n × n).
    gamma, degree, coef0
        γ of "rbf" and "polynomial", a number or the name of a rule (`gamma_by_rule`); degree and constant of "polynomial".
    solver, tol, standardise, time_limit, verbose
        The solver, its relative gap, whether to scale features (not targets), seconds, progress (`ModelEstimator`).

    Attributes
    ----------
    coef_ : ndarray (p,)
        Weights of the original features; with the linear kernel only.
    support_, dual_coef_, kernel_
        With other kernels: points on or outside the tube, and their multipliers (1 × support vectors);
        f = Σ dual_coef_ k(x_i, x) + intercept_.
    intercept_ : float
        The constant of f.
    problem_, result_, certificate_, n_features_in_
        The model, its result and certificate, and the number of features.

    Raises
    ------
    InputError
        When it is fitted: C ≤ 0, ε < 0, no such kernel.
    """

    C: float = 1.0
    kernel: Any = "rbf"
    _: KW_ONLY
    epsilon: float = 0.1
    gamma: Any = None
    degree: int = 2
    coef0: float = 0.0

    def _space(self, X: Points, sample: WeightedPoints) -> FeatureSpace:
        return self._linear_space(X, sample) if is_linear(self.kernel) else self._kernel_space(X, sample)

    def _problem(self, X: Points, y: FloatArray, weight: FloatArray, space: FeatureSpace) -> Model:
        return EpsilonSVRModel(X, y, as_positive(self.C, "C") * weight, self.epsilon, kernel=space.kernel)

    def _solution(self, problem: Model, result: Result) -> Solution:
        assert isinstance(problem, EpsilonSVRModel)
        w = result.values["w"]
        return Solution(w[1:] if problem.kernel is None else expansion_coefficients(problem.composition, result), float(w[0]))


@dataclass(eq=False, repr=False)
class MarginRegressor(ModelRegressor):
    """Linear regressor of a composed problem, `marginopt.models.Margin`: min R(w) + λ Σ s_i ℓ(y_i - f(x_i)).

    Parameters
    ----------
    loss : Loss or str
        A loss of residuals of `marginopt.margin`, or its name: "epsilon-insensitive", "squared-epsilon-insensitive", "huber".
    regulariser : Regulariser or str
        R, or its name: "l2", "half-l2", "l1", "l0", "elastic-net", "none".
    domain, subject_to
        Allowed values of intercept and coefficients; restrictions, such as ``mo.at_most(3).nonzero``.
    solver, tol, node_limit, time_limit, verbose, random_state, standardise
        The solver, its relative gap, limits, progress and seed; whether to scale features (not targets) first.
    lam : float
        λ > 0; s_i, the sample weight, multiplies it.
    intercept : {"free", "penalised"}
        Whether the intercept is part of the regulariser.

    Attributes
    ----------
    coef_, intercept_ : ndarray (p,), float
        Of the original features, not the standardised ones.
    problem_, result_, certificate_, n_features_in_
        The model, its result and certificate, and the number of features.

    Raises
    ------
    InputError
        When it is fitted: λ ≤ 0, an unknown name, a loss that is not one of residuals.
    """

    loss: Any = "epsilon-insensitive"
    regulariser: Any = "half-l2"
    _: KW_ONLY
    lam: float = 1.0
    intercept: str = "free"
    domain: Any = "reals"
    subject_to: Any = ()
    tol: float | None = None
    node_limit: int | None = None
    random_state: int = 0

    def _options(self, start: Mapping[str, FloatArray] | None = None) -> Options:
        return replace(super()._options(start), node_limit=self.node_limit, seed=self.random_state)

    def _space(self, X: Points, sample: WeightedPoints) -> FeatureSpace:
        return self._linear_space(X, sample)

    def _problem(self, X: Points, y: FloatArray, weight: FloatArray, space: FeatureSpace) -> Model:
        loss: Loss = part_by_name(self.loss, LOSSES, "loss")
        if not loss.of_residuals:
            raise InputError(
                f"{type(loss).__name__} is no loss of residuals, so it makes no regressor; use mo.models.Margin itself",
                name="loss",
            )
        lam = as_positive(self.lam, "lam")
        intercept: Any = self.intercept
        domain, subject_to = (self._without_names(parts, X, y) for parts in (self.domain, self.subject_to))
        return Margin(X, y, loss, self.regulariser, intercept, lam * weight, domain, subject_to)

    def _solution(self, problem: Model, result: Result) -> Solution:
        w = result.values["w"]
        return Solution(w[1:], float(w[0]))


ESTIMATORS = (
    EstimatorInfo(EpsilonSVR, EpsilonSVRModel, "support vector regression"),
    EstimatorInfo(MarginRegressor, Margin, "any loss of residuals and regulariser, composed"),
)
