"""Newton's method for a convex piecewise quadratic function of a few variables and many residuals.

min over w of w'Sw + b'w + Σ χ_i(1 - a_i'w), χ_i convex and piecewise quadratic, S ⪰ 0: the inner problem of the conic bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.linalg as sl
from scipy.linalg.lapack import dposv as posv

from ..arrays import FloatArray

__all__ = ["Slopes", "newton_piecewise"]

#: χ' and χ'' (from one side) at r, every residual at once.
Slopes: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

#: The line search ends where the slope is this part of the first one.
_FLAT = 0.1


def newton_piecewise(
    rows: FloatArray, S: FloatArray, linear: FloatArray, slopes: Slopes, w: FloatArray, floor: float, limit: int = 80
) -> FloatArray:
    """The minimiser from ``w``; ends where Newton's decrement is below ``floor``, or after ``limit`` steps.

    S may be nearly singular, so that steps are longer than anything of interest by many orders and halving them would not do: the
    slope along the step increases with its length and its root is found instead.

    Parameters
    ----------
    rows : ndarray (n, p)
        a_i.
    S : ndarray (p, p)
    linear : ndarray (p,)
        b.
    slopes : callable
    w : ndarray (p,)
        Start.
    floor : float
    limit : int
    """
    r = 1.0 - rows @ w
    V, rate = slopes(r)
    for _ in range(limit):
        gradient = 2.0 * (S @ w) + linear - rows.T @ V
        hessian = 2.0 * S + (rows * rate[:, None]).T @ rows
        hessian.flat[:: len(w) + 1] += 1e-14 * hessian.trace() / len(w)
        step = _solved(hessian, -gradient)
        descent = float(gradient @ step)
        if -descent <= floor:
            break
        change = rows @ step
        length = _length(slopes, r, change, V, 2.0 * float(step @ S @ step), descent)
        w = w + length * step
        r = 1.0 - rows @ w
        V, rate = slopes(r)
    return w


def _solved(hessian: FloatArray, right: FloatArray) -> FloatArray:
    """By Cholesky; by LDL' where rounding made it indefinite."""
    _, step, indefinite = posv(hessian, right, lower=1)  # SciPy's doors to it take longer than it does
    return np.asarray(sl.solve(hessian, right, assume_a="sym", check_finite=False) if indefinite else step)


def _length(slopes: Slopes, r: FloatArray, change: FloatArray, before: FloatArray, curvature: float, descent: float) -> float:
    """Return the step length at which the slope is small: 1, or a root by Newton's method inside a bracket that shrinks on a log
    scale.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(100):
        V, rate = slopes(r - t * change)
        slope = descent + curvature * t - float(change @ (V - before))
        if abs(slope) <= -_FLAT * descent or (t == 1.0 and slope <= 0.0):
            return t
        low, high = (t, high) if slope <= 0.0 else (low, t)
        if high - low <= 1e-6 * high:
            break
        trial = t - slope / (curvature + float(change @ (rate * change)) + 1e-300)
        shortest = low if low > 0.0 else 1e-3 * high
        t = trial if shortest < trial < high else (0.5 * (low + high) if low > 0.0 else 0.1 * high)
    return low if low > 0.0 else high
