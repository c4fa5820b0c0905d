"""The hinge problem of a node, smoothed, and descents of the ramp itself by such problems."""

from __future__ import annotations

import numpy as np

from ....models.arrays import BoolArray, FloatArray
from .compiled import entry, inner
from .envelopes import objective

__all__ = ["FINE", "descend", "solve_hinge"]

#: Newton steps for each smoothing; smoothings of a node that deserves care.
_STEPS, FINE = 12, 8


@inner
def solve_hinge(
    A: FloatArray, slopes: FloatArray, q: FloatArray, penalised: BoolArray, lo: FloatArray, hi: FloatArray, w: FloatArray,
    alpha: FloatArray, smoothings: int,
) -> None:
    """w and α of min Σ d_j w_j² - q'w + Σ s_i (1 - a_i'w)_+ over the box, hinges smoothed.

    Any w and α that come out are valid; each smoothing is a tenth of the one before.
    """
    n, p = A.shape
    u, gradient, step, trial = np.empty(n), np.empty(p), np.empty(p), np.empty(p)
    H = np.empty((p, p))
    smooth = 0.3
    for _ in range(smoothings):
        for _ in range(_STEPS):
            value = _smoothed(A, slopes, q, penalised, w, smooth, u)
            for j in range(p):
                gradient[j] = (2.0 * w[j] if penalised[j] else 0.0) - q[j]
                for k in range(p):
                    H[j, k] = 0.0
                H[j, j] = 2.0 if penalised[j] else 0.0
            for i in range(n):
                r = 1.0 - u[i]
                if slopes[i] <= 0.0 or r <= 0.0:
                    continue
                a = slopes[i] * min(r / smooth, 1.0)
                for j in range(p):
                    gradient[j] -= a * A[i, j]
                if r < smooth:
                    curve = slopes[i] / smooth
                    for j in range(p):
                        for k in range(j + 1):
                            H[j, k] += curve * A[i, j] * A[i, k]
            _held(A, slopes, penalised, u, smooth, H)
            slope = _direction(H, gradient, lo, hi, w, step)
            if slope > -1e-12 * (1.0 + abs(value)):
                break
            t, falls = 1.0, False
            for _ in range(20):
                for j in range(p):
                    trial[j] = min(max(w[j] + t * step[j], lo[j]), hi[j])
                falls = _smoothed(A, slopes, q, penalised, trial, smooth, u) <= value + 1e-4 * t * slope
                if falls:
                    break
                t *= 0.5
            if not falls:
                break
            w[:] = trial
        smooth *= 0.1
    smooth *= 10.0
    _smoothed(A, slopes, q, penalised, w, smooth, u)
    for i in range(n):
        alpha[i] = slopes[i] * min(max((1.0 - u[i]) / smooth, 0.0), 1.0)


@inner
def _held(A: FloatArray, slopes: FloatArray, penalised: BoolArray, u: FloatArray, smooth: float, H: FloatArray) -> None:
    """Curvature for a free intercept that few smoothed corners see: s/r of squares that lie above the hinges and touch them."""
    for j in range(penalised.size):
        if penalised[j]:
            continue
        above = 0.0
        for i in range(slopes.size):
            r = 1.0 - u[i]
            if slopes[i] > 0.0 and r > 0.0:
                above += slopes[i] * A[i, j] * A[i, j] / max(r, smooth)
        H[j, j] = max(H[j, j], 0.1 * above, 1e-9)


@inner
def _smoothed(
    A: FloatArray, slopes: FloatArray, q: FloatArray, penalised: BoolArray, w: FloatArray, smooth: float, u: FloatArray
) -> float:
    """The node's objective with smoothed hinges; u = Aw."""
    value = 0.0
    for j in range(w.size):
        value += (w[j] * w[j] if penalised[j] else 0.0) - q[j] * w[j]
    for i in range(slopes.size):
        at = 0.0
        for j in range(w.size):
            at += A[i, j] * w[j]
        u[i] = at
        r = 1.0 - at
        if r > 0.0 and slopes[i] > 0.0:
            value += slopes[i] * (r - 0.5 * smooth if r > smooth else 0.5 * r * r / smooth)
    return value


@inner
def _direction(
    H: FloatArray, gradient: FloatArray, lo: FloatArray, hi: FloatArray, w: FloatArray, step: FloatArray
) -> float:
    """Newton's step in the coordinates that the box leaves free (Cholesky, lower part of H); returns gradient · step."""
    p = w.size
    free = np.empty(p, dtype=np.bool_)
    for j in range(p):
        free[j] = not ((w[j] <= lo[j] and gradient[j] > 0.0) or (w[j] >= hi[j] and gradient[j] < 0.0))
    for j in range(p):
        step[j] = 0.0
        for k in range(j + 1):
            if not (free[j] and free[k]):
                H[j, k] = 1.0 if j == k else 0.0
    for j in range(p):
        for k in range(j + 1):
            total = H[j, k]
            for m in range(k):
                total -= H[j, m] * H[k, m]
            H[j, k] = np.sqrt(max(total, 1e-300)) if j == k else total / H[k, k]
    for j in range(p):
        total = -gradient[j] if free[j] else 0.0
        for k in range(j):
            total -= H[j, k] * step[k]
        step[j] = total / H[j, j]
    for j in range(p - 1, -1, -1):
        total = step[j]
        for k in range(j + 1, p):
            total -= H[k, j] * step[k]
        step[j] = total / H[j, j]
    along = 0.0
    for j in range(p):
        along += gradient[j] * step[j]
    return along


@entry
def descend(
    A: FloatArray, costs: FloatArray, penalised: BoolArray, height: float, width: float, lo: FloatArray, hi: FloatArray,
    w: FloatArray,
) -> float:
    """Give up the points beyond the ramp, solve for the rest as hinges, and again, as long as the objective falls; w in place.

    The concave part of the ramp is linearised at w: each turn lowers the objective, or ends (the convex-concave procedure).
    """
    n, p = A.shape
    slopes, alpha, q, at = np.empty(n), np.empty(n), np.zeros(p), w.copy()
    best = objective(A, costs, penalised, height, width, w)
    for _ in range(50):
        for i in range(n):
            u = 0.0
            for j in range(p):
                u += A[i, j] * at[j]
            slopes[i] = costs[i] * height / width if u >= 1.0 - width else 0.0
        solve_hinge(A, slopes, q, penalised, lo, hi, at, alpha, FINE)
        value = objective(A, costs, penalised, height, width, at)
        if not value < best - 1e-12 * abs(best):
            break
        best = value
        w[:] = at
    return best
