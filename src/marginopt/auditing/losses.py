"""The gaps of scikit-learn's machines with other losses and norms than the hinge and the square.

``LogisticRegression`` (its problem as a `LinearProblem`, appraised at what the machine stores), ``SGDClassifier``, ``LinearSVC``
with ``penalty="l1"`` or of Crammer and Singer, ``SVR``, ``NuSVR`` and ``LinearSVR``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ..errors import InputError
from ..models.arrays import FloatArray, IntArray, as_row_blocks
from ..models.formulations.margin.margin_losses import Hinge, SquaredHinge
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.regularisers import SquaredNorm
from ..models.formulations.multiclass import MulticlassSVM
from ..models.kernels.gram import GramOperator
from ..models.rounding import UNIT, Rounded, dot, total, transposed_product
from ..models.views import LinearLoss, LinearProblem
from ..solvers import solve
from ..solvers.interface.algorithm import Outcome
from ..solvers.linear.newton import LinearNewton
from ..solvers.records import Options
from .values import Audit, feasible, hinge_cost, make_audit, repaired_multipliers, scores, squared_kernel_norm, squared_norm

#: Gap to which our own multipliers are found, and steps that they may take.
_NEWTON_TOL, _NEWTON_STEPS = 1e-12, 60


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
    """
    check_logistic(estimator)
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
    view = LinearProblem(as_row_blocks(X), signs, costs, 0.5, LinearLoss.LOGISTIC, free)
    stored = {"margin": view.costs * expit(-view.y * (X @ w))}
    stored_appraisal = view.appraise({"w": w}, stored)
    best = max(
        stored_appraisal, view.appraise({"w": w}, {"margin": _logistic_multipliers(view)}), key=lambda appraisal: appraisal.bound
    )
    error = best.bound_error + 4.0 * UNIT * abs(best.bound)
    return make_audit(
        machine,
        f"½||w||² + Σ c_i log(1 + exp(-y_i f(x_i))){words}",
        Rounded(stored_appraisal.objective, stored_appraisal.error),
        Rounded(best.bound + best.bound_error, error),
    )


def check_logistic(estimator: Any) -> None:
    """Raise InputError for another norm than the square, or a softmax of two classes."""
    parameters = vars(estimator)
    square = parameters.get("penalty", "l2") in ("l2", "deprecated") and parameters.get("l1_ratio") in (None, 0)
    if not square or not np.isfinite(estimator.C):
        penalty = {name: parameters[name] for name in ("penalty", "l1_ratio", "C") if name in parameters}
        raise InputError(f"audit of LogisticRegression knows the squared norm (l1_ratio=0, a finite C); it has {penalty}")
    if parameters.get("multi_class", "auto") == "multinomial" and len(estimator.classes_) == 2:
        raise InputError("audit of LogisticRegression knows no softmax of two classes: leave multi_class out")


def _logistic_multipliers(view: LinearProblem) -> FloatArray:
    """Multipliers of our own optimum, or of as near a point as rounding lets the steps come."""
    solver, options = LinearNewton(sample=False), Options(tol=_NEWTON_TOL)
    state = solver.init(view, options, np.random.default_rng(0))
    for _ in range(_NEWTON_STEPS):
        if solver.advance(state, 0.0) is not Outcome.RUNNING:
            break
    multipliers = solver.answer(state).multipliers
    assert multipliers is not None
    return np.asarray(multipliers["margin"])


# The gap of scikit-learn's ``SGDClassifier``: its objective divided by α, at what the machine stores.

#: The relative gap to which our own optimum is found.
_SOLVE_TOL = 1e-9


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
    return make_audit("SGDClassifier", f"½||w||² + Σ c_i max(0, 1 - y_i f(x_i)){'²' if squared else ''}{words}", value, bound)


def solved_bound(X: FloatArray, signs: FloatArray, costs: FloatArray, squared: bool, intercept: bool) -> Rounded:
    """The proved bound of our own solve for costs > 0; 0, below which no cost is, where it has none."""
    loss = SquaredHinge() if squared else Hinge()
    model = Margin.of_checked(X, signs, loss, SquaredNorm(0.5), "free" if intercept else "penalised", costs)
    result = solve(model, tol=_SOLVE_TOL)
    proved = result.bound is not None and result.bound_kind == "proved"
    return Rounded(max(float(result.bound), 0.0) if proved and result.bound is not None else 0.0, UNIT)


# The gap of scikit-learn's ``LinearSVC`` with ``penalty="l1"``.

#: Steps of our own, and the relative gap at which they end.
_PROXIMAL_STEPS, _PROXIMAL_TOL = 20_000, 1e-10
#: Relative distance from the box that covers the rounding of the scaled multipliers.
_INSIDE = 1e-12


def audit_l1(A: FloatArray, c: FloatArray, w: FloatArray, scale: float | None) -> Audit:
    """The audit of min ||w||_1 + Σ c_i max(0, 1 - a_i'w)².

    The dual is max Σ α_i - Σ α_i²/(4 c_i) over α ≥ 0, |A'α| ≤ 1. Slopes of the loss at a point near the optimum, scaled into that
    box, are its feasible points; accelerated proximal gradient steps lead to it (Beck and Teboulle, 2009).

    Parameters
    ----------
    A : ndarray (n, p)
        Rows y_i x_i, the last column that of the penalised intercept where there is one.
    c : ndarray (n,)
    w : ndarray (p,)
    scale : float or None
        ``intercept_scaling``; None without an intercept.
    """
    margins, error = transposed_product(np.ascontiguousarray(A.T), w)
    error = error + UNIT * np.abs(A[:, -1] * w[-1])
    size = total(np.abs(w)).times(1.0 + 2.0 * UNIT)
    value = size + hinge_cost(c, 1.0, margins, error, squared=True)
    bound = _best_l1_bound(A, c, w)
    intercept = "no intercept" if scale is None else f"the intercept penalised at scale {scale:g}"
    return make_audit("LinearSVC", f"||w||_1 + Σ c_i max(0, 1 - y_i f(x_i))², {intercept}", value, bound)


def _best_l1_bound(A: FloatArray, c: FloatArray, w: FloatArray) -> Rounded:
    """The largest dual value on the way of the proximal steps from w."""
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
    """The dual value of the slopes at w, at the best multiple that the box allows."""
    a = 2.0 * c * np.maximum(1.0 - A @ w, 0.0)
    gradient, error = transposed_product(A, a)
    largest = float((np.abs(gradient) + error).max(initial=0.0)) * (1.0 + _INSIDE)
    quarter = np.divide(a, 4.0 * c, out=np.zeros_like(a), where=c > 0)
    square = float(a @ quarter)
    multiple = min(1.0 / largest if largest > 0.0 else np.inf, float(a.sum()) / (2.0 * square) if square > 0.0 else 0.0)
    a, quarter = multiple * a, multiple * quarter
    return total(a) - dot(a, quarter, 4.0 * UNIT * np.abs(quarter))


# The gaps of scikit-learn's ``SVR`` and ``LinearSVR``.


def audit_svr(
    gram: GramOperator, beta: FloatArray, b: float, y: FloatArray, top: FloatArray, epsilon: float, condition: str
) -> Audit:
    """The audit of w = Σ β_i φ(x_i) and a free intercept b; the bound is the dual value of β made feasible.

    Parameters
    ----------
    gram : GramOperator
        The kernel matrix (n, n).
    beta, y, top : ndarray (n,)
        Multipliers, numbers, and c_i.
    b, epsilon : float
    condition : str
        As of `Audit`.
    """
    f, error = scores(gram, beta, b)
    value = squared_kernel_norm(gram, beta).times(0.5) + _tube_cost(top, y, f, error, epsilon, squared=False)
    signs = np.where(beta < 0.0, -1.0, 1.0)
    repaired, outside = repaired_multipliers(np.abs(beta), signs, top, None)
    a = feasible(repaired, signs, top, None) if (signs < 0.0).any() else np.zeros(y.size)  # of one sign, and Σβ = 0
    assert a is not None
    bound = _linear_part(signs * a, y, epsilon) - squared_kernel_norm(gram, signs * a).times(0.5)
    return make_audit("SVR", "½||w||² + Σ c_i (|y_i - f(x_i)| - ε)_+, free intercept", value, bound, condition, outside)


def audit_nu_svr(gram: GramOperator, beta: FloatArray, b: float, y: FloatArray, C: float, nu: float, condition: str) -> Audit:
    """The audit of w = Σ β_i φ(x_i), a free intercept b and the ε ≥ 0 that is best for them.

    The dual is max Σ y_i β_i - ½ β'Kβ over |β_i| ≤ C, Σβ = 0, Σ|β| ≤ C ν n: Schölkopf et al., New support vector algorithms,
    2000. The slope in ε is ν n less the number of residuals beyond ε, so that a residual is best.

    Parameters
    ----------
    gram : GramOperator
        The kernel matrix (n, n).
    beta, y : ndarray (n,)
        Multipliers and numbers.
    b, C, nu : float
    condition : str
        As of `Audit`.
    """
    f, error = scores(gram, beta, b)
    n, top = y.size, np.full(y.size, C)
    epsilon = float(np.sort(np.abs(y - f))[::-1][min(int(nu * n), n - 1)])
    value = squared_kernel_norm(gram, beta).times(0.5) + _tube_cost(top, y, f, error, epsilon, squared=False)
    value = value + Rounded(epsilon, 4.0 * UNIT * epsilon).times(C * nu * n)
    signs = np.where(beta < 0.0, -1.0, 1.0)
    repaired, outside = repaired_multipliers(np.abs(beta), signs, top, None)
    excess = float(repaired.sum()) / (C * nu * n)
    repaired = repaired / excess * (1.0 - 1e-12) if excess > 1.0 - 1e-12 else repaired
    outside = max(outside, (excess - 1.0) * nu)
    a = feasible(repaired, signs, top, None) if (signs < 0.0).any() else np.zeros(n)  # of one sign, and Σβ = 0
    assert a is not None
    bound = dot(y, signs * a) - squared_kernel_norm(gram, signs * a).times(0.5)
    return make_audit("NuSVR", "½||w||² + C ν n ε + C Σ (|y_i - f(x_i)| - ε)_+, free intercept", value, bound, condition, outside)


def audit_crammer_singer(X: FloatArray, codes: IntArray, costs: FloatArray, W: FloatArray, words: str) -> Audit:
    """The audit of min ½ Σ_k ||w_k||² + Σ c_i max_k (1{k ≠ y_i} + (w_k - w_{y_i})'x_i), beside the proved bound of our own solve.

    Parameters
    ----------
    X : ndarray (n, p)
        A last column of the penalised intercepts where there are some.
    codes : ndarray (n,)
        Classes 0, ..., K - 1.
    costs : ndarray (n,)
    W : ndarray (K, p)
    words : str
        What the intercept is.
    """
    columns = np.ascontiguousarray(X.T)
    products = [transposed_product(columns, w) for w in W]
    f, error = np.array([f for f, _ in products]).T, np.array([error for _, error in products]).T
    error = error + UNIT * np.abs(X[:, [-1]] * W[:, -1])  # the stored intercept over its scale is rounded
    rows = np.arange(codes.size)
    short = (f + (np.arange(W.shape[0]) != codes[:, None])).max(axis=1) - f[rows, codes]
    rounding = error.max(axis=1) + error[rows, codes] + 4.0 * UNIT * (1.0 + np.abs(f).max(axis=1))
    sizes = [squared_norm(w, UNIT * np.abs(w)).times(0.5) for w in W]
    value = sum(sizes[1:], sizes[0]) + dot(costs, short, rounding)
    counted = costs > 0.0
    bound = Rounded(0.0)
    if np.unique(codes[counted]).size > 1:
        result = solve(MulticlassSVM(X[counted], codes[counted], sample_weight=costs[counted]), tol=_SOLVE_TOL)
        if result.bound is not None and result.bound_kind == "proved":
            bound = Rounded(max(float(result.bound), 0.0), UNIT)
    problem = "½ Σ_k ||w_k||² + Σ c_i max_k (1{k ≠ y_i} + f_k(x_i) - f_{y_i}(x_i))"
    return make_audit("LinearSVC", f"{problem}, {words}", value, bound)


def audit_linear_svr(
    X: FloatArray, y: FloatArray, w: FloatArray, c: FloatArray, epsilon: float, squared: bool, scale: float | None
) -> Audit:
    """The audit of w, whose last entry belongs to the column of the penalised intercept where there is one.

    The dual is max Σ y_i β_i - ε Σ|β_i| - ½||X'β||² over |β| ≤ c, or less Σ β_i²/(4 c_i) without that box for the squared loss:
    Ho and Lin, Large-scale linear support vector regression, 2012, (8)-(11). Every β of the box is feasible.
    """
    f, error = transposed_product(np.ascontiguousarray(X.T), w)
    error = error + UNIT * np.abs(X[:, -1] * w[-1])
    value = squared_norm(w, UNIT * np.abs(w)).times(0.5) + _tube_cost(c, y, f, error, epsilon, squared)
    outside = np.maximum(np.abs(y - f) - epsilon, 0.0)
    start = np.sign(y - f) * (2.0 * c * outside if squared else np.where(outside > 0.0, c, 0.0))
    beta = _ascent(X, y, c, start, epsilon, squared)
    bound = _linear_part(beta, y, epsilon) - squared_norm(*transposed_product(X, beta)).times(0.5)
    if squared:
        quarter = np.divide(beta, 4.0 * c, out=np.zeros_like(beta), where=c > 0)
        bound = bound - dot(beta, quarter, UNIT * np.abs(quarter))
    intercept = "no intercept" if scale is None else f"the intercept penalised at scale {scale:g}"
    power = "²" if squared else ""
    return make_audit("LinearSVR", f"½||w||² + Σ c_i (|y_i - f(x_i)| - ε)_+{power}, {intercept}", value, bound)


def _tube_cost(c: FloatArray, y: FloatArray, f: FloatArray, error: FloatArray, epsilon: float, squared: bool) -> Rounded:
    """Σ c_i (|y_i - f_i| - ε)_+, or of its squares, of predictions that come with these errors."""
    residuals = np.abs(y - f)
    return hinge_cost(c, -epsilon, -residuals, (error + UNIT * residuals) * (1.0 + 4.0 * UNIT), squared)


def _linear_part(beta: FloatArray, y: FloatArray, epsilon: float) -> Rounded:
    """Σ y_i β_i - ε Σ|β_i|."""
    return dot(y, beta) - total(np.abs(beta)).times(epsilon)


def _ascent(X: FloatArray, y: FloatArray, c: FloatArray, beta: FloatArray, epsilon: float, squared: bool) -> FloatArray:
    """Dual coordinate ascent, Ho and Lin 2012, algorithm 1."""
    top = np.full(c.size, np.inf) if squared else c
    diagonal = np.divide(0.5, c, out=np.full(c.size, np.inf), where=c > 0) if squared else np.zeros(c.size)
    beta = np.where(c > 0, np.clip(beta, -top, top), 0.0)
    curvature = np.einsum("ij,ij->i", X, X) + diagonal
    w = X.T @ beta
    for _ in range(200 + 400_000 // c.size):
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
        if largest <= 1e-12:
            break
    return beta
