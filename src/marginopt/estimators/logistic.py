"""`LogisticRegression`: probabilities of classes, with a proved optimum."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_positive
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.regularisers import SquaredNorm
from ..models.formulations.margin.smooth_losses import Logistic
from ..models.model import Model
from .base import EstimatorInfo
from .classifier import LinearClassifier, WeightedClassifier
from .training_set import Space


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
        As `L2SVC`. ``tol`` is a relative duality gap, and proved.
    multi_class : {"ovr", "ovo"}
        One class against the rest, whose probabilities are divided by their sum; or one against one, which has no probabilities.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        For rows as they come.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        See `ModelClassifier`.
    """

    C: float = 1.0
    _: KW_ONLY
    intercept: str = "free"
    multi_class: str = "ovr"

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
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


ESTIMATORS = (EstimatorInfo(LogisticRegression, Margin, "logistic regression, with probabilities"),)
