"""Audits of scikit-learn's linear machines: LinearSVC, LinearSVR, SGDClassifier and LogisticRegression of two classes.

An *audit* (`values.Audit`) is the objective at the stored coefficients, rounded up, and a proved lower bound of the optimum,
rounded down. `auditing.machines`, which calls these functions, states each machine's problem. X is the training data (n × p),
``signs`` the labels, -1 or +1, ``y`` the targets or the labels of several classes, and ``weights`` the sample weights (n,). c_i
is C (1/(αn) in SGDClassifier) times the weights of class and sample, f(x) = w'x + b the score, ε the half-width of the tube of a
regression.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ..errors import InputError
from ..models import Model
from ..models.arrays import FloatArray, as_row_blocks
from ..models.formulations.margin.margin_losses import Hinge, SquaredHinge
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.regularisers import SquaredNorm
from ..models.formulations.multiclass import MulticlassSVM
from ..models.rounding import UNIT, Rounded, dot, total, transposed_product
from ..models.views import LinearLoss, LinearProblem
from ..solvers import solve
from ..solvers.interface.algorithm import Outcome
from ..solvers.linear.newton import LinearNewton
from ..solvers.records import Options
from .values import (
    Audit,
    class_codes,
    class_weights,
    finite_numbers,
    half_squared_norm,
    hinge_cost,
    linear_scores,
    make_audit,
    squared_norm,
    tube_cost,
)

#: Relative gap of Newton's method for multipliers of the logistic loss, and its largest number of steps.
_NEWTON_TOL, _NEWTON_STEPS = 1e-12, 60
#: The relative gap of our own solves.
_SOLVE_TOL = 1e-9
#: Largest number of proximal gradient steps, and the relative gap at which they end.
_PROXIMAL_STEPS, _PROXIMAL_TOL = 20_000, 1e-10
#: Relative distance from the box that covers the rounding of the scaled multipliers.
_INSIDE = 1e-12
#: Most passes of dual coordinate ascent: `_PASSES`, and so many more that small data get `_UPDATES` updates of a multiplier;
#: largest step times curvature in a pass that is the last one.
_PASSES, _UPDATES, _ASCENT_TOL = 200, 400_000, 1e-12


def audit_logistic(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``LogisticRegression`` of two classes with the squared norm as regulariser."""
    check_logistic(estimator)
    costs = estimator.C * class_weights(estimator, signs > 0, weights) * weights
    penalised = estimator.solver == "liblinear"
    scale = float(estimator.intercept_scaling) if penalised else 1.0
    X, w = _intercept_first(estimator, X, scale)
    free = bool(estimator.fit_intercept) and not penalised
    words = "free intercept" if free else f"the intercept penalised at scale {scale:g}"
    counted = costs > 0.0
    return _appraised_logistic(estimator, X[counted], signs[counted], costs[counted], w, free, words)


def audit_stochastic(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``SGDClassifier`` of two classes; its objective is divided by the parameter α."""
    loss, intercept = estimator.loss, bool(estimator.fit_intercept)
    if loss not in ("hinge", "squared_hinge", "log_loss") or estimator.penalty != "l2":
        raise InputError(
            "audit of SGDClassifier knows hinge, squared_hinge and log_loss with penalty='l2'; "
            f"it has {loss} with {estimator.penalty}",
            name="estimator",
        )
    if estimator.early_stopping:
        raise InputError(
            "SGDClassifier with early_stopping holds rows out that it does not name: fit with early_stopping=False",
            name="estimator",
        )
    costs = class_weights(estimator, signs > 0) * weights / (estimator.alpha * X.shape[0])
    counted = costs > 0.0
    X, w = _intercept_first(estimator, X[counted], 1.0)
    signs, costs = signs[counted], costs[counted]
    if loss == "log_loss":
        return _appraised_logistic(estimator, X, signs, costs, w, intercept, "free intercept")
    squared = loss == "squared_hinge"
    margins, error = transposed_product(np.ascontiguousarray((signs[:, None] * X).T), w)
    norm = squared_norm(w[1:] if intercept else w, np.zeros(w.size - intercept))
    value = norm.times(0.5) + hinge_cost(costs, 1.0, margins, error, squared)
    bound = _hinge_bound(X, signs, costs, squared, intercept)
    words = "free intercept" if intercept else "no intercept"
    return make_audit("SGDClassifier", f"½||w||² + Σ c_i max(0, 1 - y_i f(x_i)){'²' if squared else ''}, {words}", value, bound)


def _intercept_first(estimator: Any, X: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """Return X and the stored w; with an intercept both have it first, as a column of the scale."""
    w = np.ravel(estimator.coef_).astype(np.float64)
    if estimator.fit_intercept:
        X = np.column_stack([np.full(X.shape[0], scale), X])
        w = np.append(np.ravel(estimator.intercept_)[:1] / scale, w)
    return X, finite_numbers(w)


def _appraised_logistic(
    estimator: Any, X: FloatArray, signs: FloatArray, costs: FloatArray, w: FloatArray, free: bool, intercept: str
) -> Audit:
    """Return the audit of w, whose first entry is the intercept where it is free, on points of costs > 0."""
    view = LinearProblem(as_row_blocks(X), signs, costs, 0.5, LinearLoss.LOGISTIC, free)
    stored = view.appraise({"w": w}, {"margin": view.costs * expit(-view.y * (X @ w))})
    near_optimum = view.appraise({"w": w}, {"margin": _logistic_multipliers(view)})
    best = max(stored, near_optimum, key=lambda appraisal: np.nan_to_num(appraisal.bound, nan=-np.inf))
    error = best.bound_error + 4.0 * UNIT * abs(best.bound)
    words = intercept if estimator.fit_intercept else "no intercept"
    return make_audit(
        type(estimator).__name__,
        f"½||w||² + Σ c_i log(1 + exp(-y_i f(x_i))), {words}",
        Rounded(stored.objective, stored.error),
        Rounded(best.bound + best.bound_error, error),
    )


def check_logistic(estimator: Any) -> None:
    """Raise InputError for a ``LogisticRegression`` without the squared norm as regulariser, or with a softmax of two classes."""
    parameters = vars(estimator)
    square = parameters.get("penalty", "l2") in ("l2", "deprecated") and parameters.get("l1_ratio") in (None, 0)
    if not square or not np.isfinite(estimator.C):
        penalty = {name: parameters[name] for name in ("penalty", "l1_ratio", "C") if name in parameters}
        raise InputError(f"audit of LogisticRegression knows the squared norm (l1_ratio=0, a finite C); it has {penalty}")
    if parameters.get("multi_class", "auto") == "multinomial" and len(estimator.classes_) == 2:
        raise InputError("audit of LogisticRegression knows no softmax of two classes: leave multi_class out")


def _logistic_multipliers(view: LinearProblem) -> FloatArray:
    """Return the multipliers of our own optimum, or of a point as near to it as rounding allows."""
    solver, options = LinearNewton(sample=False), Options(tol=_NEWTON_TOL)
    state = solver.init(view, options, np.random.default_rng(0))
    for _ in range(_NEWTON_STEPS):
        if solver.advance(state, 0.0) is not Outcome.RUNNING:
            break
    multipliers = solver.answer(state).multipliers
    assert multipliers is not None
    return np.asarray(multipliers["margin"])


def audit_linear_svc(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``LinearSVC`` of two classes."""
    costs = estimator.C * class_weights(estimator, signs > 0, weights) * weights
    X, W, words = _intercept_last(estimator, X)
    A, w = signs[:, None] * X, W[0]
    margins, error = transposed_product(np.ascontiguousarray(A.T), w)
    error = error + UNIT * np.abs(A[:, -1] * w[-1])
    if estimator.penalty == "l1":
        value = total(np.abs(w)).times(1.0 + 2.0 * UNIT) + hinge_cost(costs, 1.0, margins, error, squared=True)
        problem = f"||w||_1 + Σ c_i max(0, 1 - y_i f(x_i))², {words}"
        return make_audit("LinearSVC", problem, value, _best_l1_bound(A, costs, w))
    squared = estimator.loss == "squared_hinge"
    value = squared_norm(w, UNIT * np.abs(w)).times(0.5) + hinge_cost(costs, 1.0, margins, error, squared)
    counted = costs > 0.0
    bound = _hinge_bound(X[counted], signs[counted], costs[counted], squared, False) if counted.any() else Rounded(0.0)
    return make_audit("LinearSVC", f"½||w||² + Σ c_i max(0, 1 - y_i f(x_i)){'²' if squared else ''}, {words}", value, bound)


def _intercept_last(estimator: Any, X: FloatArray, noun: str = "intercept") -> tuple[FloatArray, FloatArray, str]:
    """Return X, the stored rows of weights, and the intercept in words; a penalised intercept is the last column of both.

    The stored intercept over its scale is rounded, so that the audited machine differs from the stored one by rounding.
    """
    W = np.atleast_2d(estimator.coef_).astype(np.float64)
    if not estimator.fit_intercept:
        return X, finite_numbers(W), f"no {noun}"
    scale = float(estimator.intercept_scaling)
    X, W = np.column_stack([X, np.full(X.shape[0], scale)]), np.column_stack([W, np.ravel(estimator.intercept_) / scale])
    return X, finite_numbers(W), f"the {noun} penalised at scale {scale:g}"


def _hinge_bound(X: FloatArray, signs: FloatArray, costs: FloatArray, squared: bool, free: bool) -> Rounded:
    """Return the bound of ½||w||² + Σ c_i max(0, 1 - y_i x_i'w), or its squares, by our own solve; the costs are positive."""
    loss = SquaredHinge() if squared else Hinge()
    return _solved_bound(Margin.of_checked(X, signs, loss, SquaredNorm(0.5), "free" if free else "penalised", costs))


def _solved_bound(model: Model) -> Rounded:
    """Return the proved bound of our own solve; without one 0, since no objective is negative."""
    result = solve(model, tol=_SOLVE_TOL)
    if result.bound is None or result.bound_kind != "proved":
        return Rounded(0.0)
    return Rounded(max(float(result.bound), 0.0), UNIT)


def _best_l1_bound(A: FloatArray, c: FloatArray, w: FloatArray) -> Rounded:
    """Return a bound of min ||w||_1 + Σ c_i max(0, 1 - a_i'w)²: the largest dual value on the way of proximal steps from w.

    The dual is max Σ α_i - Σ α_i²/(4 c_i) over α ≥ 0, |A'α| ≤ 1. Slopes of the loss at a point near the optimum, scaled into that
    box, are its feasible points; accelerated proximal gradient steps lead to it (Beck and Teboulle, 2009).
    """
    best = _l1_bound(A, c, w)
    curvature = 2.0 * float(np.linalg.norm(np.sqrt(c)[:, None] * A, 2)) ** 2
    if not (np.isfinite(curvature) and curvature > 0.0):
        return best
    extrapolated, t = w, 1.0
    for k in range(1, _PROXIMAL_STEPS + 1):
        slope = -2.0 * A.T @ (c * np.maximum(1.0 - A @ extrapolated, 0.0))
        step = extrapolated - slope / curvature
        new = np.sign(step) * np.maximum(np.abs(step) - 1.0 / curvature, 0.0)
        if float((extrapolated - new) @ (new - w)) > 0.0:  # the momentum leads uphill
            t = 1.0
        longer = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        extrapolated, w, t = new + (t - 1.0) / longer * (new - w), new, longer
        if k % 50 == 0:
            best = max(best, _l1_bound(A, c, w), key=lambda bound: bound.lower)
            if _l1_value(A, c, w) - best.lower <= _PROXIMAL_TOL * abs(best.value):
                break
    return best


def _l1_value(A: FloatArray, c: FloatArray, w: FloatArray) -> float:
    return float(np.abs(w).sum() + c @ np.maximum(1.0 - A @ w, 0.0) ** 2)


def _l1_bound(A: FloatArray, c: FloatArray, w: FloatArray) -> Rounded:
    """Return the dual value of the slopes at w, at the best multiple that the box allows."""
    a = 2.0 * c * np.maximum(1.0 - A @ w, 0.0)
    gradient, error = transposed_product(A, a)
    largest = float((np.abs(gradient) + error).max(initial=0.0)) * (1.0 + _INSIDE)
    quarter = np.divide(a, 4.0 * c, out=np.zeros_like(a), where=c > 0)
    square = float(a @ quarter)
    multiple = min(1.0 / largest if largest > 0.0 else np.inf, float(a.sum()) / (2.0 * square) if square > 0.0 else 0.0)
    a, quarter = multiple * a, multiple * quarter
    return total(a) - dot(a, quarter, 4.0 * UNIT * np.abs(quarter))


def audit_crammer_singer(estimator: Any, X: FloatArray, y: Any, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``LinearSVC`` of Crammer and Singer; the bound is that of a new solve by this package."""
    codes = class_codes(estimator, y)
    costs = estimator.C * weights * class_weights(estimator, codes, weights)
    X, W, words = _intercept_last(estimator, X, "intercepts")
    W = W if len(W) > 1 else np.vstack([-0.5 * W, 0.5 * W])
    f, error = linear_scores(X, W)
    error = error + UNIT * np.abs(X[:, [-1]] * W[:, -1])  # the stored intercept over its scale is rounded
    rows = np.arange(codes.size)
    shortfall = (f + (np.arange(W.shape[0]) != codes[:, None])).max(axis=1) - f[rows, codes]
    rounding = error.max(axis=1) + error[rows, codes] + 4.0 * UNIT * (1.0 + np.abs(f).max(axis=1))
    value = half_squared_norm(W, UNIT * np.abs(W)) + dot(costs, shortfall, rounding)
    counted = costs > 0.0
    bound = Rounded(0.0)
    if np.unique(codes[counted]).size > 1:
        bound = _solved_bound(MulticlassSVM(X[counted], codes[counted], sample_weight=costs[counted]))
    problem = "½ Σ_k ||w_k||² + Σ c_i max_k (1{k ≠ y_i} + f_k(x_i) - f_{y_i}(x_i))"
    return make_audit("LinearSVC", f"{problem}, {words}", value, bound)


def audit_linear_svr(estimator: Any, X: FloatArray, y: FloatArray, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``LinearSVR``.

    The dual is max Σ y_i β_i - ε Σ|β_i| - ½||X'β||² over |β| ≤ c, or less Σ β_i²/(4 c_i) without that box for the squared loss:
    Ho and Lin, Large-scale linear support vector regression, 2012, (8)-(11). Every β of the box is feasible.
    """
    c, epsilon = estimator.C * weights, float(estimator.epsilon)
    squared = estimator.loss == "squared_epsilon_insensitive"
    X, W, words = _intercept_last(estimator, X)
    w = W[0]
    f, error = transposed_product(np.ascontiguousarray(X.T), w)
    error = error + UNIT * np.abs(X[:, -1] * w[-1])
    value = squared_norm(w, UNIT * np.abs(w)).times(0.5) + tube_cost(c, y, f, error, epsilon, squared)
    outside = np.maximum(np.abs(y - f) - epsilon, 0.0)
    start = np.sign(y - f) * (2.0 * c * outside if squared else np.where(outside > 0.0, c, 0.0))
    beta = _ascent(X, y, c, start, epsilon, squared)
    linear = dot(y, beta) - total(np.abs(beta)).times(epsilon)
    bound = linear - squared_norm(*transposed_product(X, beta)).times(0.5)
    if squared:
        quarter = np.divide(beta, 4.0 * c, out=np.zeros_like(beta), where=c > 0)
        bound = bound - dot(beta, quarter, UNIT * np.abs(quarter))
    return make_audit("LinearSVR", f"½||w||² + Σ c_i (|y_i - f(x_i)| - ε)_+{'²' if squared else ''}, {words}", value, bound)


def _ascent(X: FloatArray, y: FloatArray, c: FloatArray, beta: FloatArray, epsilon: float, squared: bool) -> FloatArray:
    """Return β by dual coordinate ascent, Ho and Lin 2012, algorithm 1."""
    top = np.full(c.size, np.inf) if squared else c
    diagonal = np.divide(0.5, c, out=np.full(c.size, np.inf), where=c > 0) if squared else np.zeros(c.size)
    beta = np.where(c > 0, np.clip(beta, -top, top), 0.0)
    curvature = np.einsum("ij,ij->i", X, X) + diagonal
    w = X.T @ beta
    for _ in range(_PASSES + _UPDATES // c.size):
        largest = 0.0
        for i in np.flatnonzero((c > 0) & (curvature > 0)):
            old = float(beta[i])
            centre = curvature[i] * old + y[i] - float(X[i] @ w) - (diagonal[i] * old if squared else 0.0)
            new = np.sign(centre) * max(abs(centre) - epsilon, 0.0) / curvature[i]
            new = min(max(new, -top[i]), top[i])
            if new != old:
                w += (new - old) * X[i]
                beta[i] = new
                largest = max(largest, abs(new - old) * curvature[i])
        if largest <= _ASCENT_TOL:
            break
    return beta
