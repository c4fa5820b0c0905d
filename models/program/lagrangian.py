"""A lower bound of a convex form's optimum from any multipliers: the Lagrangian, minimised exactly over the bounds.

For z_k in the dual cones and d = q - Σ F_k'z_k,

    inf over l ≤ x ≤ u of  ½x'Px + d'x   ≥   -½ x̂'P x̂ + Σ_j min over [l_j, u_j] of (P x̂ + d)_j x_j

for *every* x̂ (P ⪰ 0: the quadratic lies above its tangents). The multipliers are first moved into their dual cones and
x̂ is chosen so that (P x̂ + d)_j = 0 on the unbounded variables, so what is returned is a bound that holds, up to
rounding of its own evaluation, whatever quality the multipliers had; where no finite bound follows it is -inf.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.linalg

from ..arrays import BoolArray, FloatArray, to_dense
from .form import StandardForm

__all__ = ["lagrangian_bound"]


def lagrangian_bound(form: StandardForm, x: FloatArray | None, multipliers: Mapping[str, FloatArray]) -> float:
    """Lower bound of the continuous form's optimum (see the module's text).

    Parameters
    ----------
    form : StandardForm
        Integrality is ignored: the bound is one of the continuous relaxation, valid for the form as well.
    x : ndarray (n,), optional
        Point at which the quadratic is linearised on the bounded variables; zero where it is not given.
    multipliers : mapping of label to array
        z_k; a constraint without an entry counts with z_k = 0.
    """
    d = form.q.copy()
    value = form.r
    for c in form.constraints:
        if c.label in multipliers:
            z = c.cone.project_dual(np.asarray(multipliers[c.label], dtype=np.float64))
            d -= c.F.T @ z
            value -= float(z @ c.g)
    free = ~np.isfinite(form.lower) & ~np.isfinite(form.upper)
    hat = np.zeros(form.n) if x is None else np.array(x, dtype=np.float64)
    slope = d
    if form.quadratic is not None:
        if free.any() and not _stationary_on(form, free, hat, d):
            return -np.inf
        product = form.quadratic.product(hat)
        value -= 0.5 * float(hat @ product)
        slope = product + d
        slope[free] = 0.0  # solved for above; what is left is rounding
    elif np.any(d[free] != 0.0):
        return -np.inf
    bounded = ~free
    s, low, high = slope[bounded], form.lower[bounded], form.upper[bounded]
    # x_j = l_j where the slope is positive, u_j where it is negative; 0 · ∞ does not occur: zero slopes are skipped
    corner = np.where(s > 0, low, high)
    used = s != 0
    return value + float(np.sum(s[used] * corner[used]))


def _stationary_on(form: StandardForm, free: BoolArray, hat: FloatArray, d: FloatArray) -> bool:
    """Change ``hat`` on the free variables so that (P hat + d) vanishes there; False where P_FF is singular."""
    assert form.quadratic is not None
    indices = np.flatnonzero(free)
    block = to_dense(form.quadratic.materialised[:, indices][indices, :])
    hat[free] = 0.0
    right = -(form.quadratic.product(hat) + d)[free]
    diagonal = np.diagonal(block)
    if not (diagonal > 0).all():
        # a variable without curvature must have zero slope of itself
        flat = diagonal <= 0
        if np.any(right[flat] != 0.0) or np.any(block[flat] != 0.0):
            return False
        keep = np.flatnonzero(~flat)
        block, targets = block[np.ix_(keep, keep)], np.flatnonzero(free)[keep]
        right = right[keep]
    else:
        targets = np.flatnonzero(free)
    try:
        hat[targets] = scipy.linalg.cho_solve(scipy.linalg.cho_factor(block, lower=True), right) if targets.size else right
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(hat[targets]).all())
