"""The gap of scikit-learn's ``SGDClassifier``: its objective divided by α, at what the machine stores."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..models.arrays import FloatArray
from ..models.formulations.margin.margin_losses import Hinge, SquaredHinge
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.regularisers import SquaredNorm
from ..models.rounding import UNIT, Rounded, transposed_product
from ..solvers import solve
from .logistic import appraised_logistic
from .values import Audit, audited, hinge_cost, squared_norm

__all__ = ["audit_stochastic", "solved_bound"]

#: The relative gap to which our own optimum is found.
_TOL = 1e-9


def audit_stochastic(estimator: Any, X: FloatArray, signs: FloatArray, costs: FloatArray) -> Audit:
    """The audit of a fitted machine of two classes.

    Parameters
    ----------
    estimator : SGDClassifier
        With hinge, squared_hinge or log_loss, and the squared norm.
    X : ndarray (n, p)
    signs : ndarray (n,)
        -1 and +1.
    costs : ndarray (n,)
        Weights of class and sample over α n.

    Raises
    ------
    InputError
        Another loss or penalty.
    """
    name, intercept = estimator.loss, bool(estimator.fit_intercept)
    if name not in ("hinge", "squared_hinge", "log_loss") or estimator.penalty != "l2":
        raise InputError(
            "audit of SGDClassifier knows hinge, squared_hinge and log_loss with penalty='l2'; "
            f"it has {name} with {estimator.penalty}",
            name="machine",
        )
    w, counted = np.ravel(estimator.coef_).astype(np.float64), costs > 0.0
    X, signs, costs = X[counted], signs[counted], costs[counted]
    if intercept:
        X, w = np.column_stack([np.ones(X.shape[0]), X]), np.append(np.ravel(estimator.intercept_)[:1], w)
    if not np.isfinite(w).all():
        raise InputError("the machine stores numbers that are not finite")
    words = ", free intercept" if intercept else ", no intercept"
    if name == "log_loss":
        return appraised_logistic("SGDClassifier", X, signs, costs, w, intercept, words)
    squared = name == "squared_hinge"
    margins, error = transposed_product(np.ascontiguousarray((signs[:, None] * X).T), w)
    size = squared_norm(w[1:] if intercept else w, np.zeros(w.size - intercept))
    value = size.times(0.5) + hinge_cost(costs, 1.0, margins, error, squared)
    bound = solved_bound(X, signs, costs, squared, intercept)
    return audited("SGDClassifier", f"½||w||² + Σ c_i max(0, 1 - y_i f(x_i)){'²' if squared else ''}{words}", value, bound)


def solved_bound(X: FloatArray, signs: FloatArray, costs: FloatArray, squared: bool, intercept: bool) -> Rounded:
    """The proved bound of our own solve for costs > 0; 0, below which no cost is, where it has none."""
    loss = SquaredHinge() if squared else Hinge()
    model = Margin.of_checked(X, signs, loss, SquaredNorm(0.5), "free" if intercept else "penalised", costs)
    result = solve(model, tol=_TOL)
    proved = result.bound is not None and result.bound_kind == "proved"
    return Rounded(max(float(result.bound), 0.0) if proved and result.bound is not None else 0.0, UNIT)
