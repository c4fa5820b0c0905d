"""Primal-dual interior-point steps on a box QP in factor form: for the ill-conditioned ones, where descent crawls.

Mehrotra's predictor-corrector on Qa + q - z + y = 0, z_i(a_i - l_i) = μ, y_i(u_i - a_i) = μ. A step solves (Θ + ZZ')Δ = ρ with
the diagonal Θ = D + z/(a - l) + y/(u - a): through I + Z'Θ⁻¹Z of order r where r < m (Ferris, Munson 2003), else directly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from ...models.arrays import FloatArray
from ...models.views import BoxQP
from .newton import FinishRun

__all__ = ["interior_operations", "interior_point"]

_STEPS = 60
#: Fraction of the way to the boundary.
_FRACTION = 0.995


def interior_operations(view: BoxQP) -> float:
    """Scalar operations of a run of some twenty steps."""
    m, r = view.n, view.Z.shape[1] if view.coarse is None else view.width
    return 20.0 * (m * r * r + r**3 / 3.0) if view.gram is None and r < m else 20.0 * m**3 / 3.0 + m * m * r


def interior_point(view: BoxQP, aim: Callable[[], float]) -> FinishRun:
    """From the middle of the box until the duality gap is at most ``aim()`` or no longer falls; fixed variables stay fixed."""
    moving = view.upper > view.lower
    Z, ridge = view.Z[moving], view.ridge[moving]
    lower, upper = view.lower[moving], view.upper[moving]
    whole = np.where(moving, 0.0, view.lower)
    q = (view.product(whole) + view.q)[moving]
    Q = view.among(moving) if view.gram is not None or Z.shape[1] >= Z.shape[0] else None

    def product(x: FloatArray) -> FloatArray:
        return np.asarray(Z @ (Z.T @ x) if Q is None else Q @ x)

    a = 0.5 * (lower + upper)
    scale = float(np.abs(product(a) + ridge * a + q).max(initial=0.0)) + 1e-300
    z, y = np.full(a.size, scale), np.full(a.size, scale)
    best, best_gap, failures, steps = None, np.inf, 0, 0
    for _ in range(_STEPS):
        whole[moving] = a
        gap = view.gap(whole)
        failures = 0 if gap < 0.9 * best_gap else failures + 1
        if gap < best_gap:
            best, best_gap = whole.copy(), gap
        if gap <= aim() or failures >= 5:
            break
        s, t = a - lower, upper - a
        gradient = product(a) + ridge * a + q
        mu = float(s @ z + t @ y) / (2 * a.size)
        try:
            solve = _factor(Z, Q, ridge + z / s + y / t)
        except np.linalg.LinAlgError:
            break
        steps += 1
        da = solve(-gradient)  # predictor: the multipliers' terms cancel with μ = 0
        dz, dy = -z - z / s * da, -y + y / t * da
        primal, dual = _length(s, t, da), _length(z, y, None, dz, dy)
        ahead = float((s + primal * da) @ (z + dual * dz) + (t - primal * da) @ (y + dual * dy)) / (2 * a.size)
        centre = mu * (max(ahead, 0.0) / mu) ** 3 if mu > 0 else 0.0
        low, high = (centre - da * dz) / s, (centre + da * dy) / t
        step = solve(-gradient + low - high)
        dz, dy = low - z - z / s * step, high - y + y / t * step
        primal, dual = _FRACTION * _length(s, t, step), _FRACTION * _length(z, y, None, dz, dy)
        both = min(primal, dual)  # one length for both: the stationarity residual then falls with it
        a, z, y = a + both * step, z + both * dz, y + both * dy
        a = np.clip(a, lower + 1e-16 * (upper - lower), upper - 1e-16 * (upper - lower))
        if not (a > lower).all() or not (a < upper).all():
            break
    assert best is not None
    return FinishRun(best, best_gap, steps, interior_operations(view) * steps / 20.0)


def _factor(Z: FloatArray, Q: FloatArray | None, theta: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The solver of (diag(θ) + ZZ')x = b."""
    if Q is not None:
        matrix = Q.copy()
        matrix[np.diag_indices(theta.size)] += theta
        whole = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True)
        return lambda b: np.asarray(scipy.linalg.cho_solve(whole, b))
    root = Z / np.sqrt(theta)[:, None]
    small = root.T @ root
    small[np.diag_indices(Z.shape[1])] += 1.0
    factor = scipy.linalg.cho_factor(small, lower=True, overwrite_a=True)

    def once(b: FloatArray) -> FloatArray:
        scaled = b / theta
        return np.asarray(scaled - (Z @ scipy.linalg.cho_solve(factor, Z.T @ scaled)) / theta)

    def solve(b: FloatArray) -> FloatArray:
        x = once(b)
        return x + once(b - theta * x - Z @ (Z.T @ x))  # one refinement: the update formula cancels near the end

    return solve


def _length(
    s: FloatArray, t: FloatArray, d: FloatArray | None, ds: FloatArray | None = None, dt: FloatArray | None = None
) -> float:
    """Longest step in [0, 1] that keeps s + αd and t - αd (or s + αds, t + αdt) nonnegative."""
    if d is not None:
        ds, dt = d, -d
    assert ds is not None
    assert dt is not None
    longest = 1.0
    for value, change in ((s, ds), (t, dt)):
        falling = change < 0
        if falling.any():
            longest = min(longest, float((-value[falling] / change[falling]).min()))
    return longest
