"""Linear classifiers: `MarginClassifier` of any loss and regulariser, `LogisticRegression`, and `MulticlassSVC`.

f(x) = w'x + b is the decision function of a binary problem, and y_i f(x_i) the margin of point i.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_positive
from ..models.formulations.margin.loss import Loss
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.parts_by_name import LOSSES, part_by_name
from ..models.formulations.margin.regularisers import SquaredNorm
from ..models.formulations.margin.smooth_losses import Logistic
from ..models.formulations.multiclass import MulticlassSVM
from ..models.model import Model
from ..solvers.records import Status
from .base import EstimatorInfo, ModelEstimator
from .classifier import BranchAndBoundClassifier, LinearClassifier, WeightedClassifier, WeightedPointsClassifier
from .training import solve_for_classifier, warn_of_useless_classifier
from .training_set import FeatureSpace, LinearPredictor


@dataclass(eq=False, repr=False)
class MarginClassifier(BranchAndBoundClassifier):
    """Linear classifier of a composed problem, `marginopt.Margin`: min R(w) + λ Σ s_i ℓ(y_i f(x_i)).

    Parameters
    ----------
    loss : Loss or str
        A loss of margins of `marginopt.margin`, or its name, such as "hinge", "squared-hinge", "logistic", "ramp", "zero-one".
    regulariser : Regulariser or str
        R, or its name: "l2", "half-l2", "l1", "l0", "elastic-net", "none".
    lam : float
        λ > 0; s_i = sample weight × class weight multiplies it.
    intercept : {"penalised", "free"}
        Whether the intercept is part of the regulariser.
    domain : Domain or str
        The allowed values of intercept and coefficients ("reals": all), the intercept first. The coefficients are those of
        standardised features unless ``standardise=False``. It may name columns of the fitted data frame.
    subject_to : Restriction or sequence of Restriction
        Restrictions of each binary problem. They may name classes, and columns of the frame that the classifier is fitted on:
        ``mo.parity("gender")``, ``mo.error_budget("yes", .1)``. Points are counted whatever their weight. Rows of X may be
        named where there are two classes.
    solver : str
        "auto", or any solver that reads the problem.
    tol : float, optional
        Relative gap at which to stop; the solver's own default where it is not given.
    node_limit : int, optional
        Largest number of nodes for each binary problem with a nonconvex loss (the same on every machine).
    time_limit : float, optional
        Seconds for each binary problem; a search that ends at one of the two limits gives its best classifier, without a warning.
    verbose : bool
        Whether to print progress: marginopt's solvers on standard error, other solvers as they log.
    random_state : int
        Seed of the solver.
    multi_class, n_jobs, class_weight, standardise
        One against one ("ovo") or the rest ("ovr"); problems at a time; weights of classes; whether to scale features first.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        Of the original features, not the standardised ones.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.

    Raises
    ------
    InputError
        When it is fitted: λ ≤ 0, an unknown name, a loss that is not one of margins.
    """

    loss: Any = "hinge"
    regulariser: Any = "l2"
    _: KW_ONLY
    lam: float = 1.0
    intercept: str = "penalised"
    domain: Any = "reals"
    subject_to: Any = ()
    tol: float | None = None

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        loss: Loss = part_by_name(self.loss, LOSSES, "loss")
        if not loss.reads_class_labels:
            raise InputError(
                f"{type(loss).__name__} is no loss of margins, so it makes no classifier; use mo.Margin itself", name="loss"
            )
        lam = as_positive(self.lam, "lam")
        intercept: Any = self.intercept
        domain, subject_to = (self._without_names(parts, X, y) for parts in (self.domain, self.subject_to))
        return Margin(X, y, loss, self.regulariser, intercept, lam * cost, domain, subject_to)


@dataclass(eq=False, repr=False)
class MulticlassSVC(WeightedPointsClassifier, ModelEstimator):
    """Linear classifier of several classes in one problem, `marginopt.MulticlassSVM`: min ½Σ||w_k||² + λ Σ s_i ℓ(margins of i).

    The margins of a point of class y are (w_y - w_k)'x for the other classes k.

    Parameters
    ----------
    loss : {"crammer-singer", "weston-watkins", "zero-one"}
        ℓ: Crammer and Singer's hinge of the least margin, Weston and Watkins' sum of hinges, or 1 for a point with a margin
        below 1, a mixed-integer program: give a ``time_limit``.
    lam : float
        λ > 0; s_i = sample weight × class weight multiplies it.
    solver : str
        "auto", or any solver that reads the problem.
    tol : float, optional
        Relative gap at which to stop; the solver's own default where it is not given.
    time_limit : float, optional
        Seconds; a search that ends there gives its best classifier, without a warning.
    verbose : bool
        Whether to print progress: marginopt's solvers on standard error, other solvers as they log.
    class_weight : dict, "balanced" or None
        Factors of the sample weights by class, as in scikit-learn.
    standardise : bool
        Whether to scale features to mean 0 and deviation 1; coefficients are of the original features.

    Attributes
    ----------
    coef_, intercept_ : ndarray (K, p), (K,)
        One vector for each of ``classes_``.
    problem_, result_, certificate_, classes_, n_features_in_
        Model, result and certificate of the one problem for all classes; the labels; the number of features.

    Raises
    ------
    InputError
        When it is fitted: λ ≤ 0, an unknown loss, one class only.
    """

    loss: str = "crammer-singer"
    _: KW_ONLY
    lam: float = 1.0
    tol: float | None = None
    class_weight: Any = None

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        points, labels = self._validated(X, y)
        classes, sample, codes, cost = self._costs(points, labels, sample_weight)
        space = self._linear_space(points, sample)
        with self._no_advice():
            problem = MulticlassSVM(space.Z, codes, self.loss, as_positive(self.lam, "lam") * cost)
        problem = self._named(problem, space, classes.tolist())
        result = solve_for_classifier(problem, self.solver, self._options(), frozenset({Status.NODE_LIMIT, Status.TIME_LIMIT}))
        W = result.values["W"]
        self._predictor = LinearPredictor(W[:, 1:], W[:, 0], space.scaling)
        for name, value in self._predictor.attributes().items():
            setattr(self, name, value)
        self.classes_ = classes
        self.problem_, self.result_, self.certificate_ = problem, result, result.certificate
        warn_of_useless_classifier(type(self).__name__, self._predict, points[sample.rows], labels[sample.rows], cost)
        return self

    def _scores(self, X: Points) -> FloatArray:
        scores = self._predictor.scores(X)
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores


@dataclass(eq=False, repr=False)
class LogisticRegression(WeightedClassifier, LinearClassifier):
    """Logistic regression, `marginopt.Margin` with the logistic loss: min ½||w||² + C Σ s_i log(1 + e^{-y_i f(x_i)}).

    The probability of the second class is 1/(1 + e^{-f(x)}). For two classes, ``standardise=False`` and the default intercept it
    is the problem of scikit-learn's ``LogisticRegression``; with ``intercept="penalised"``, that of its ``solver="liblinear"``.

    Parameters
    ----------
    C : float
        C > 0; s_i = sample weight × class weight multiplies it.
    intercept : {"free", "penalised"}
        Whether the intercept is part of ||w||².
    solver, tol, n_jobs, class_weight, standardise, time_limit, verbose
        The solver, its relative gap (proved), problems solved at a time, factors of the weights by class, whether to scale
        features first, seconds of each solve, whether to print progress.
    multi_class : {"ovr", "ovo"}
        One class against the rest, whose probabilities are divided by their sum; or one against one, which has no probabilities.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        Of the original features, not the standardised ones.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.
    """

    C: float = 1.0
    _: KW_ONLY
    intercept: str = "free"
    multi_class: str = "ovr"

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        intercept: Any = self.intercept
        return Margin(X, y, Logistic(), SquaredNorm(0.5), intercept, as_positive(self.C, "C") * cost)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of ``classes_`` for rows (n × p): an array n × K whose rows sum to 1.

        Raises
        ------
        InputError
            More than two classes, one against one.
        """
        scores = self._checked_scores(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        logs = log_expit(scores)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))  # all scores may be far below zero
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`, finite also where a probability rounds to 0.

        Raises
        ------
        InputError
            As `predict_proba`.
        """
        scores = self._checked_scores(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        logs = log_expit(scores)
        largest = logs.max(axis=1, keepdims=True)
        return np.asarray(logs - largest - np.log(np.exp(logs - largest).sum(axis=1, keepdims=True)))

    def _checked_scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        if len(self._pairs) > 1 and self._pairs[0].negative >= 0:
            raise InputError("probabilities of several classes need multi_class='ovr': votes of pairs have none")
        return self.decision_function(X)


ESTIMATORS = (
    EstimatorInfo(MarginClassifier, Margin, "any loss and regulariser, composed"),
    EstimatorInfo(MulticlassSVC, MulticlassSVM, "several classes in one problem"),
    EstimatorInfo(LogisticRegression, Margin, "logistic regression, with probabilities"),
)
