"""What a claim of infeasibility or unboundedness is worth: its ray, checked from the form's data alone.

*Infeasible* (Farkas): z_k in K_k* and ζ = -ΣF_k'z_k with ζ ≥ 0 where only a lower bound exists, ≤ 0 where only an upper one,
0 where none; then every x of the form has 0 ≤ Σ<z_k, F_k x + g_k> + Σ ζ_j (x_j - bound_j) = Σ<z_k, g_k> - Σ ζ_j bound_j,
so a negative right side leaves no x.

*Unbounded*: a feasible point and d with F_k d in K_k, P d = 0, d_j ≥ 0 (≤ 0) where a lower (an upper) bound exists and q'd < 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...models.arrays import FloatArray
from ...models.program.form import StandardForm
from ..records.status import Status

__all__ = ["evidence", "farkas_residual", "ray_residual"]

#: Largest residual of a ray that supports the claim: a Farkas proof then excludes every point with ||x||_1 < 1e5.
_SUPPORTED = 1e-5


def farkas_residual(form: StandardForm, z: Mapping[str, FloatArray]) -> float:
    """Largest violation of the proof's conditions for a right side of -1: 0 is a proof, infinity is none.

    A residual ε excludes every point with ||x||_1 < 1/ε, in units of the largest finite bound of a variable where that exceeds 1:
    points of that size are no strangers to the form.
    """
    bounds = np.abs(np.concatenate([form.lower[np.isfinite(form.lower)], form.upper[np.isfinite(form.upper)]]))
    unit = max(1.0, float(bounds.max(initial=0.0)))
    zeta, value, outside = np.zeros(form.n), 0.0, 0.0
    for c in form.constraints:
        part = np.asarray(z.get(c.label, np.zeros(c.rows)), dtype=np.float64)
        zeta -= c.F.T @ part
        value += float(part @ c.g)
        outside = max(outside, c.cone.dual_violation(part))
    low, high = np.isfinite(form.lower), np.isfinite(form.upper)
    up, down = np.maximum(zeta, 0.0), np.maximum(-zeta, 0.0)
    outside = max(outside, float(up[~low].max(initial=0.0)), float(down[~high].max(initial=0.0)))
    value += float(down[high] @ form.upper[high]) - float(up[low] @ form.lower[low])
    return unit * outside / -value if value < 0.0 else float("inf")


def ray_residual(form: StandardForm, d: FloatArray) -> float:
    """Largest violation of the ray's conditions for a slope q'd of -1: 0 is a ray, infinity is none.

    Bounds count in units of the largest finite one, as in `farkas_residual`; the curvature Pd relative to |P| |d| as well, since
    a small P is no flat one.
    """
    bounds = np.abs(np.concatenate([form.lower[np.isfinite(form.lower)], form.upper[np.isfinite(form.upper)]]))
    unit = max(1.0, float(bounds.max(initial=0.0)))
    slope = float(form.q @ d)
    outside = max((c.cone.violation(np.asarray(c.F @ d)) for c in form.constraints if c.rows), default=0.0)
    bent = 0.0
    if form.quadratic is not None:
        curvature = float(np.abs(form.quadratic.product(d)).max(initial=0.0))
        outside = max(outside, curvature)
        largest = float(np.abs(form.quadratic.csc.data).max(initial=0.0)) if curvature else 1.0
        bent = curvature / (largest * float(np.abs(d).max(initial=0.0))) if curvature else 0.0
    outside = max(outside, float(np.maximum(-d, 0.0)[np.isfinite(form.lower)].max(initial=0.0)))
    outside = max(outside, float(np.maximum(d, 0.0)[np.isfinite(form.upper)].max(initial=0.0)))
    return max(unit * outside / -slope, bent) if slope < 0.0 else float("inf")


def evidence(status: Status, residual: float | None) -> tuple[str, bool]:
    """What stands behind a claim of infeasibility or unboundedness, in words, and whether a ray that was given contradicts it.

    ``residual`` is that of the ray; None where the solver gave none.
    """
    infeasible = status is Status.INFEASIBLE
    if residual is None:
        return "claimed by the solver, without a ray that could be checked", False
    if not residual <= _SUPPORTED:
        return f"the ray that the solver gave does not support the claim: residual {residual:.1e}, {_SUPPORTED:g} is needed", True
    if infeasible:
        reach = "excludes every point" if residual == 0 else f"excludes every point with ||x||_1 < {1 / residual:.1e}"
        return f"Farkas multipliers checked, residual {residual:.1e}: {reach}", False
    return f"ray of descent checked, residual {residual:.1e}: unbounded if any point is feasible", False
