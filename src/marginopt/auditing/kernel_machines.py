"""Audits of scikit-learn's kernel machines SVC, NuSVC, OneClassSVM, SVR and NuSVR, from the multipliers that they store.

An *audit* (`values.Audit`) is the objective at the stored coefficients, rounded up, and a lower bound of the optimum: the dual
value at the stored multipliers made feasible, rounded down. ρ is the margin of a ν-machine.

X is the training data (n × p; the kernel matrix for a precomputed kernel), ``signs`` the labels, -1 or +1, ``y`` the targets of a
regression, and ``weights`` the sample weights (n,); c_i is C times the weights of class and sample. φ is the kernel's feature
map, K the kernel matrix, and the score is f(x) = w'φ(x) + b with w = Σ_i β_i φ(x_i), where β_i = y_i a_i with multipliers a ≥ 0
for a classifier. `auditing.machines` states each machine's problem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InputError
from ..models.arrays import FloatArray
from ..models.kernels.gram import GramOperator, KernelGram, MatrixGram
from ..models.kernels.kernels import RBF, Kernel, Linear, Polynomial
from ..models.rounding import UNIT, Rounded, dot, total
from .values import (
    Audit,
    class_weights,
    feasible_multipliers,
    finite_numbers,
    hinge_cost,
    kernel_scores,
    make_audit,
    repaired_multipliers,
    squared_kernel_norm,
    tube_cost,
)

#: The condition of a bound by a kernel that no theorem shows to be positive semidefinite.
_ASSUMED = "the kernel matrix is positive semidefinite"


def audit_svc(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``SVC`` of two classes."""
    gram, condition = _kernel(estimator, X)
    top = estimator.C * class_weights(estimator, signs > 0) * weights
    stored, b = _multipliers(estimator, X.shape[0], weights), _number(estimator.intercept_)
    f, error = kernel_scores(gram, stored, b)
    value = squared_kernel_norm(gram, stored).times(0.5) + hinge_cost(top, 1.0, signs * f, error)
    repaired, outside = repaired_multipliers(signs * stored, signs, top, None)
    a = feasible_multipliers(repaired, signs, top, None)
    assert a is not None
    bound = total(a) - squared_kernel_norm(gram, signs * a).times(0.5)
    audit = make_audit("SVC", "½||w||² + Σ c_i max(0, 1 - y_i f(x_i)), free intercept", value, bound, condition, outside)
    other_signs = int((signs * stored < 0.0).sum())
    if not other_signs:
        return audit
    return audit.with_advice(
        f"{other_signs} stored multipliers have the sign of the other class: give the labels that fit saw, in their order"
    )


def audit_nu_svc(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``NuSVC`` of two classes, which stores a/ρ; its margin ρ follows from Σa = νn."""
    _refuse_weights("NuSVC", estimator, weights)
    stored, b = _multipliers(estimator, X.shape[0]), _number(estimator.intercept_)
    size = float(np.abs(stored).sum())
    rho = estimator.nu * X.shape[0] / size if size > 0.0 else np.inf
    if not np.isfinite(rho) or not np.isfinite(rho * b):
        raise InputError("the machine stores no multipliers from which its margin ρ follows", name="estimator")
    problem = "½||w||² - ν n ρ + Σ max(0, ρ - y_i f(x_i)), free intercept"
    return _audit_with_level("NuSVC", estimator, problem, X, signs, (rho * stored, rho * b, rho))


def audit_one_class(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``OneClassSVM``, whose ``offset_`` is the margin ρ; all signs are 1."""
    _refuse_weights("OneClassSVM", estimator, weights)
    problem = "½||w||² - ν n ρ + Σ max(0, ρ - w'φ(x_i))"
    stored, rho = _multipliers(estimator, X.shape[0]), _number(estimator.offset_)
    return _audit_with_level("OneClassSVM", estimator, problem, X, signs, (stored, 0.0, rho))


def _audit_with_level(
    machine: str, estimator: Any, problem: str, X: FloatArray, signs: FloatArray, point: tuple[FloatArray, float, float]
) -> Audit:
    """Return the audit of w = Σ c_i φ(x_i), b and the margin ρ; the bound is -½a'Ka at an a with 0 ≤ a ≤ 1, Σa ≥ νn."""
    coefficients, b, rho = point
    gram, condition = _kernel(estimator, X)
    sum_of_multipliers, ones = estimator.nu * signs.size, np.ones(signs.size)
    f, error = kernel_scores(gram, coefficients, b)
    value = (
        squared_kernel_norm(gram, coefficients).times(0.5)
        + Rounded(rho).times(-sum_of_multipliers)
        + hinge_cost(ones, rho, signs * f, error)
    )
    repaired, outside = repaired_multipliers(signs * coefficients, signs, ones, sum_of_multipliers)
    a = feasible_multipliers(repaired, signs, ones, sum_of_multipliers)
    bound = Rounded(-np.inf) if a is None else squared_kernel_norm(gram, signs * a).times(-0.5)
    return make_audit(machine, problem, value, bound, condition, outside, floor=-np.inf)


def audit_svr(estimator: Any, X: FloatArray, y: FloatArray, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``SVR``; the bound is the dual value of its multipliers made feasible."""
    gram, condition = _kernel(estimator, X)
    beta, b = _multipliers(estimator, X.shape[0], weights), _number(estimator.intercept_)
    top, epsilon = estimator.C * weights, float(estimator.epsilon)
    f, error = kernel_scores(gram, beta, b)
    value = squared_kernel_norm(gram, beta).times(0.5) + tube_cost(top, y, f, error, epsilon, squared=False)
    signs = np.where(beta < 0.0, -1.0, 1.0)
    repaired, outside = repaired_multipliers(np.abs(beta), signs, top, None)
    feasible_beta = _of_sum_zero(repaired, signs, top)
    linear = dot(y, feasible_beta) - total(np.abs(feasible_beta)).times(epsilon)
    bound = linear - squared_kernel_norm(gram, feasible_beta).times(0.5)
    return make_audit("SVR", "½||w||² + Σ c_i (|y_i - f(x_i)| - ε)_+, free intercept", value, bound, condition, outside)


def audit_nu_svr(estimator: Any, X: FloatArray, y: FloatArray, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``NuSVR`` at the half-width ε ≥ 0 of the tube that is best for its w and b.

    The dual is max Σ y_i β_i - ½ β'Kβ over |β_i| ≤ C, Σβ = 0, Σ|β| ≤ C ν n: Schölkopf et al., New support vector algorithms,
    2000. The slope of the objective in ε is C times (ν n less the number of residuals beyond ε), so that the best ε is a
    residual.
    """
    _refuse_weights("NuSVR", estimator, weights)
    gram, condition = _kernel(estimator, X)
    n, C, nu = y.size, float(estimator.C), float(estimator.nu)
    beta, top = _multipliers(estimator, n), np.full(n, C)
    f, error = kernel_scores(gram, beta, _number(estimator.intercept_))
    epsilon = float(np.sort(np.abs(y - f))[::-1][min(int(nu * n), n - 1)])
    value = squared_kernel_norm(gram, beta).times(0.5) + tube_cost(top, y, f, error, epsilon, squared=False)
    value = value + Rounded(epsilon, 4.0 * UNIT * epsilon).times(C * nu * n)
    signs = np.where(beta < 0.0, -1.0, 1.0)
    repaired, outside = repaired_multipliers(np.abs(beta), signs, top, None)
    excess = float(repaired.sum()) / (C * nu * n)
    repaired = repaired / excess * (1.0 - 1e-12) if excess > 1.0 - 1e-12 else repaired
    outside = max(outside, (excess - 1.0) * nu)
    feasible_beta = _of_sum_zero(repaired, signs, top)
    bound = dot(y, feasible_beta) - squared_kernel_norm(gram, feasible_beta).times(0.5)
    return make_audit("NuSVR", "½||w||² + C ν n ε + C Σ (|y_i - f(x_i)| - ε)_+, free intercept", value, bound, condition, outside)


def _of_sum_zero(sizes: FloatArray, signs: FloatArray, top: FloatArray) -> FloatArray:
    """Return multipliers near these sizes and signs, at most ``top``, whose sum is zero exactly; zeros where no sign is -1."""
    if not (signs < 0.0).any():
        return np.zeros(sizes.size)
    a = feasible_multipliers(sizes, signs, top, None)
    assert a is not None
    return signs * a


def _refuse_weights(machine: str, estimator: Any, weights: FloatArray) -> None:
    if vars(estimator).get("class_weight") is not None or (weights != 1.0).any():
        raise InputError(f"audit of {machine} knows no weights: LIBSVM solves another problem with them than the one it states")


def _kernel(estimator: Any, X: FloatArray) -> tuple[GramOperator, str]:
    """Return the kernel matrix of the training data, with its errors, and the condition of a bound by it; empty if none."""
    from sklearn.metrics.pairwise import pairwise_kernels

    name = estimator.kernel
    if callable(name):
        return MatrixGram(np.asarray(name(X, X), dtype=np.float64)), _ASSUMED
    if name == "precomputed":
        return MatrixGram(X), _ASSUMED
    gamma, coef0 = float(estimator._gamma), float(estimator.coef0)
    kernels: dict[str, Callable[[], Kernel]] = {"linear": Linear}
    if gamma > 0.0:
        kernels["rbf"] = lambda: RBF(gamma)
    if gamma > 0.0 and coef0 >= 0.0 and int(estimator.degree) == estimator.degree >= 1:
        kernels["poly"] = lambda: Polynomial(int(estimator.degree), gamma, coef0)
    if name in kernels:
        return KernelGram(X, kernels[name]()), ""
    shape = {"poly": {"degree": estimator.degree}}.get(name, {})
    kernel_options = {} if name == "rbf" else {"coef0": coef0}
    return MatrixGram(pairwise_kernels(X, metric=name, gamma=gamma, **kernel_options, **shape)), _ASSUMED


def _multipliers(estimator: Any, n: int, weights: FloatArray | None = None) -> FloatArray:
    """Return y_i a_i of every training point, as stored.

    LIBSVM numbers only the points of positive weight, and scikit-learn stores its numbers in ``support_``. A machine without
    stored support vectors (a precomputed kernel) predicts with these numbers as columns of the kernel matrix, so there they count
    all rows.
    """
    counted = np.arange(n)
    if weights is not None and estimator.support_vectors_.shape[0]:
        counted = np.flatnonzero(weights > 0.0)
    if estimator.support_.max(initial=-1) >= counted.size:
        raise InputError(f"the machine was fitted on more than the {counted.size} rows of X that count", name="X")
    multipliers = np.zeros(n)
    multipliers[counted[estimator.support_]] = np.ravel(estimator.dual_coef_)
    return finite_numbers(multipliers)


def _number(stored: Any) -> float:
    """Return an intercept or an offset."""
    return float(finite_numbers(stored).ravel()[0])
