"""The gap of scikit-learn's ``LogisticRegression``: its problem as a `LinearProblem`, appraised at what the machine stores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ..errors import InputError
from ..models.arrays import FloatArray, in_blocks
from ..models.rounding import UNIT, Rounded
from ..models.views import LinearLoss, LinearProblem
from ..solvers.interface.algorithm import Outcome
from ..solvers.linear.newton import LinearNewton
from ..solvers.records import Options
from .values import Audit, audited

__all__ = ["appraised_logistic", "audit_logistic"]

#: Gap to which our own multipliers are found, and steps that they may take.
_TOL, _STEPS = 1e-12, 60


def audit_logistic(estimator: Any, X: FloatArray, signs: FloatArray, costs: FloatArray) -> Audit:
    """The audit of a fitted machine of two classes.

    Parameters
    ----------
    estimator : LogisticRegression
        With the squared norm alone.
    X : ndarray (n, p)
    signs : ndarray (n,)
        -1 and +1.
    costs : ndarray (n,)
        C times the weights of class and sample, ≥ 0.

    Raises
    ------
    InputError
        Another penalty, none, or the softmax of two classes that older versions of scikit-learn call multinomial.
    """
    _check(estimator)
    w, counted = np.ravel(estimator.coef_).astype(np.float64), costs > 0.0
    intercept, penalised = float(np.ravel(estimator.intercept_)[0]), estimator.solver == "liblinear"
    words = ", no intercept"
    if estimator.fit_intercept:
        scale = float(estimator.intercept_scaling) if penalised else 1.0
        X, w = np.column_stack([np.full(X.shape[0], scale), X]), np.concatenate([[intercept / scale], w])
        words = f", the intercept penalised at scale {scale:g}" if penalised else ", free intercept"
    if not np.isfinite(w).all():
        raise InputError("the machine stores numbers that are not finite")
    free = bool(estimator.fit_intercept) and not penalised
    return appraised_logistic("LogisticRegression", X[counted], signs[counted], costs[counted], w, free, words)


def appraised_logistic(
    machine: str, X: FloatArray, signs: FloatArray, costs: FloatArray, w: FloatArray, free: bool, words: str
) -> Audit:
    """Return the audit of w, whose first entry is the intercept where it is free, on points of costs > 0."""
    view = LinearProblem(in_blocks(X), signs, costs, 0.5, LinearLoss.LOGISTIC, free)
    stored = {"margin": view.costs * expit(-view.y * (X @ w))}
    stored_appraisal = view.appraise({"w": w}, stored)
    best = max(stored_appraisal, view.appraise({"w": w}, {"margin": _multipliers(view)}), key=lambda appraisal: appraisal.bound)
    error = best.bound_error + 4.0 * UNIT * abs(best.bound)
    return audited(
        machine,
        f"½||w||² + Σ c_i log(1 + exp(-y_i f(x_i))){words}",
        Rounded(stored_appraisal.objective, stored_appraisal.error),
        Rounded(best.bound + best.bound_error, error),
    )


def _check(estimator: Any) -> None:
    parameters = vars(estimator)
    square = parameters.get("penalty", "l2") in ("l2", "deprecated") and parameters.get("l1_ratio") in (None, 0)
    if not square or not np.isfinite(estimator.C):
        raise InputError("audit of LogisticRegression knows the squared norm (l1_ratio=0, a finite C)")
    if parameters.get("multi_class", "auto") == "multinomial":
        raise InputError("audit of LogisticRegression knows no softmax: fit two classes, or OneVsRestClassifier")


def _multipliers(view: LinearProblem) -> FloatArray:
    """Multipliers of our own optimum, or of as near a point as rounding lets the steps come."""
    solver, options = LinearNewton(sample=False), Options(tol=_TOL)
    state = solver.init(view, options, np.random.default_rng(0))
    for _ in range(_STEPS):
        if solver.advance(state, 0.0) is not Outcome.RUNNING:
            break
    multipliers = solver.answer(state).multipliers
    assert multipliers is not None
    return np.asarray(multipliers["margin"])
