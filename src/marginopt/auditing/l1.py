"""The gap of scikit-learn's ``LinearSVC`` with ``penalty="l1"``."""

from __future__ import annotations

import numpy as np

from ..models.arrays import FloatArray
from ..models.rounding import UNIT, Rounded, dot, total, transposed_product
from .values import Audit, audited, hinge_cost

__all__ = ["audit_l1"]

#: Steps of our own, and the relative gap at which they end.
_STEPS, _TOL = 20_000, 1e-10
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
    bound = _best_bound(A, c, w)
    intercept = "no intercept" if scale is None else f"the intercept penalised at scale {scale:g}"
    return audited("LinearSVC", f"||w||_1 + Σ c_i max(0, 1 - y_i f(x_i))², {intercept}", value, bound)


def _best_bound(A: FloatArray, c: FloatArray, w: FloatArray) -> Rounded:
    """The largest dual value on the way of the proximal steps from w."""
    best = _bound(A, c, w)
    curvature = 2.0 * float(np.linalg.norm(np.sqrt(c)[:, None] * A, 2)) ** 2
    if not (np.isfinite(curvature) and curvature > 0.0):
        return best
    ahead, t = w, 1.0
    for k in range(1, _STEPS + 1):
        slope = -2.0 * A.T @ (c * np.maximum(1.0 - A @ ahead, 0.0))
        step = ahead - slope / curvature
        new = np.sign(step) * np.maximum(np.abs(step) - 1.0 / curvature, 0.0)
        if float((ahead - new) @ (new - w)) > 0.0:  # the momentum leads uphill
            t = 1.0
        longer = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        ahead, w, t = new + (t - 1.0) / longer * (new - w), new, longer
        if k % 50 == 0:
            best = max(best, _bound(A, c, w), key=lambda bound: bound.lower)
            if _value(A, c, w) - best.lower <= _TOL * abs(best.value):
                break
    return best


def _value(A: FloatArray, c: FloatArray, w: FloatArray) -> float:
    return float(np.abs(w).sum() + c @ np.maximum(1.0 - A @ w, 0.0) ** 2)


def _bound(A: FloatArray, c: FloatArray, w: FloatArray) -> Rounded:
    """The dual value of the slopes at w, at the best multiple that the box allows."""
    a = 2.0 * c * np.maximum(1.0 - A @ w, 0.0)
    pulled, error = transposed_product(A, a)
    largest = float((np.abs(pulled) + error).max(initial=0.0)) * (1.0 + _INSIDE)
    quarter = np.divide(a, 4.0 * c, out=np.zeros_like(a), where=c > 0)
    square = float(a @ quarter)
    multiple = min(1.0 / largest if largest > 0.0 else np.inf, float(a.sum()) / (2.0 * square) if square > 0.0 else 0.0)
    a, quarter = multiple * a, multiple * quarter
    return total(a) - dot(a, quarter, 4.0 * UNIT * np.abs(quarter))
