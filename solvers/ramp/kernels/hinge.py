"""The hinge problem of a node, smoothed, and descents of the ramp itself by such problems."""

from __future__ import annotations

import numpy as np

from ....models.arrays import FloatArray
from .compiled import entry, inner
from .envelopes import objective
from .records import Node, Ramp

__all__ = ["FINE", "descend", "solve_hinge"]

#: Newton steps for each smoothing; smoothings of a node that deserves care.
_STEPS, FINE = 12, 8


@inner
def solve_hinge(r: Ramp, k: Node, smoothings: int) -> None:
    """w and α of min Σ d_j w_j² - q'w + Σ s_i (1 - a_i'w)_+ over the box, hinges smoothed.

    Any w and α that come out are valid; each smoothing is a tenth of the one before.
    """
    smooth = 0.3
    for _ in range(smoothings):
        for _ in range(_STEPS):
            value = _smoothed(r, k, k.w, smooth)
            _derivatives(r, k, smooth)
            _held(r, k, smooth)
            slope = _direction(k)
            if slope > -1e-12 * (1.0 + abs(value)) or not _stepped(r, k, smooth, value, slope):
                break
        smooth *= 0.1
    smooth *= 10.0
    _smoothed(r, k, k.w, smooth)
    for i in range(k.alpha.size):
        k.alpha[i] = k.slopes[i] * min(max((1.0 - k.u[i]) / smooth, 0.0), 1.0)


@inner
def _derivatives(r: Ramp, k: Node, smooth: float) -> None:
    """Gradient and the lower part of the matrix of the smoothed problem at margins u."""
    A, H, n, p = r.A, k.H, k.slopes.size, k.w.size
    for j in range(p):
        k.gradient[j] = (2.0 * k.w[j] if r.penalised[j] else 0.0) - k.q[j]
        for m in range(p):
            H[j, m] = 0.0
        H[j, j] = 2.0 if r.penalised[j] else 0.0
    for i in range(n):
        slack = 1.0 - k.u[i]
        if k.slopes[i] <= 0.0 or slack <= 0.0:
            continue
        a = k.slopes[i] * min(slack / smooth, 1.0)
        for j in range(p):
            k.gradient[j] -= a * A[i, j]
        if slack < smooth:
            curve = k.slopes[i] / smooth
            for j in range(p):
                for m in range(j + 1):
                    H[j, m] += curve * A[i, j] * A[i, m]


@inner
def _stepped(r: Ramp, k: Node, smooth: float, value: float, slope: float) -> bool:
    """Whether w could be moved along the step, the longest of halved lengths that lowers the objective enough."""
    t = 1.0
    for _ in range(20):
        for j in range(k.w.size):
            k.trial[j] = min(max(k.w[j] + t * k.step[j], k.lo[j]), k.hi[j])
        if _smoothed(r, k, k.trial, smooth) <= value + 1e-4 * t * slope:
            for j in range(k.w.size):
                k.w[j] = k.trial[j]
            return True
        t *= 0.5
    return False


@inner
def _held(r: Ramp, k: Node, smooth: float) -> None:
    """Curvature for a free intercept that few smoothed corners see: s/r of squares that lie above the hinges and touch them."""
    for j in range(k.w.size):
        if r.penalised[j]:
            continue
        above = 0.0
        for i in range(k.slopes.size):
            slack = 1.0 - k.u[i]
            if k.slopes[i] > 0.0 and slack > 0.0:
                above += k.slopes[i] * r.A[i, j] * r.A[i, j] / max(slack, smooth)
        k.H[j, j] = max(k.H[j, j], 0.1 * above, 1e-9)


@inner
def _smoothed(r: Ramp, k: Node, w: FloatArray, smooth: float) -> float:
    """The node's objective at w with smoothed hinges; u = Aw."""
    value = 0.0
    for j in range(w.size):
        value += (w[j] * w[j] if r.penalised[j] else 0.0) - k.q[j] * w[j]
    for i in range(k.slopes.size):
        at = 0.0
        for j in range(w.size):
            at += r.A[i, j] * w[j]
        k.u[i] = at
        slack = 1.0 - at
        if slack > 0.0 and k.slopes[i] > 0.0:
            value += k.slopes[i] * (slack - 0.5 * smooth if slack > smooth else 0.5 * slack * slack / smooth)
    return value


@inner
def _direction(k: Node) -> float:
    """Newton's step in the coordinates that the box leaves free (Cholesky, lower part of H); returns gradient · step."""
    p, H, gradient, step, free = k.w.size, k.H, k.gradient, k.step, k.free
    for j in range(p):
        free[j] = not ((k.w[j] <= k.lo[j] and gradient[j] > 0.0) or (k.w[j] >= k.hi[j] and gradient[j] < 0.0))
    for j in range(p):
        step[j] = 0.0
        for m in range(j + 1):
            if not (free[j] and free[m]):
                H[j, m] = 1.0 if j == m else 0.0
    for j in range(p):
        for m in range(j + 1):
            total = H[j, m]
            for l in range(m):
                total -= H[j, l] * H[m, l]
            H[j, m] = np.sqrt(max(total, 1e-300)) if j == m else total / H[m, m]
    for j in range(p):
        total = -gradient[j] if free[j] else 0.0
        for m in range(j):
            total -= H[j, m] * step[m]
        step[j] = total / H[j, j]
    for j in range(p - 1, -1, -1):
        total = step[j]
        for m in range(j + 1, p):
            total -= H[m, j] * step[m]
        step[j] = total / H[j, j]
    along = 0.0
    for j in range(p):
        along += gradient[j] * step[j]
    return along


@entry
def descend(r: Ramp, k: Node, w: FloatArray) -> float:
    """Give up the points beyond the ramp, solve for the rest as hinges, and again, as long as the objective falls; w in place.

    The concave part of the ramp is linearised at w: each turn lowers the objective, or ends (the convex-concave procedure).
    The node gives the box; the rest of it is overwritten.
    """
    n, p = r.A.shape
    for j in range(p):
        k.q[j] = 0.0
        k.w[j] = w[j]
    best = objective(r, w)
    for _ in range(50):
        for i in range(n):
            u = 0.0
            for j in range(p):
                u += r.A[i, j] * k.w[j]
            k.slopes[i] = r.costs[i] * r.height / r.width if u >= 1.0 - r.width else 0.0
        solve_hinge(r, k, FINE)
        value = objective(r, k.w)
        if not value < best - 1e-12 * abs(best):
            break
        best = value
        for j in range(p):
            w[j] = k.w[j]
    return best
