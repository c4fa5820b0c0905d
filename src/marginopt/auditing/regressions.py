"""The gaps of scikit-learn's ``SVR`` and ``LinearSVR``."""

from __future__ import annotations

import numpy as np

from ..models.arrays import FloatArray
from ..models.kernels.gram import GramOperator
from ..models.rounding import UNIT, Rounded, dot, total, transposed_product
from .values import Audit, audited, feasible, hinge_cost, mended, norm, scores, squared_norm

__all__ = ["audit_linear_svr", "audit_svr"]


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
    value = norm(gram, beta).times(0.5) + _tube_cost(top, y, f, error, epsilon, squared=False)
    signs = np.where(beta < 0.0, -1.0, 1.0)
    near, outside = mended(np.abs(beta), signs, top, None)
    a = feasible(near, signs, top, None) if (signs < 0.0).any() else np.zeros(y.size)  # of one sign, and Σβ = 0
    assert a is not None
    bound = _linear_part(signs * a, y, epsilon) - norm(gram, signs * a).times(0.5)
    return audited("SVR", "½||w||² + Σ c_i (|y_i - f(x_i)| - ε)_+, free intercept", value, bound, condition, outside)


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
    return audited("LinearSVR", f"½||w||² + Σ c_i (|y_i - f(x_i)| - ε)_+{power}, {intercept}", value, bound)


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
