"""Slopes of the right sign, where a variable has a bound on one side alone: multipliers moved together do for all at once.

A variable x_j ≥ 0 without an upper bound asks for s_j ≥ 0, not for s_j = 0. Computed multipliers miss that by a rounding error
on many variables at once, and no multipliers may make all of those slopes zero. Often one direction of the multipliers raises
them all: that of the row Σ x_j = 1 on a simplex. What it costs is a rounding error times the right-hand side; what it gives is
judged like any other multipliers, so nothing here needs to be proved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse.linalg import lsqr

from ..arrays import BoolArray, FloatArray
from .cones import Nonnegative, Zero
from .multiplier_repair import Multipliers

__all__ = ["raised"]

#: A direction must raise every slope in question by this share of what it is asked for.
_GAIN = 0.25
#: Steps of LSQR: a direction that takes longer is given up.
_STEPS = 200


def raised(z: Multipliers, slope: FloatArray, error: FloatArray) -> Multipliers | None:
    """z moved along linear rows until no one-sided slope descends beyond its error; None where no such direction was found."""
    form = z.form
    below, above = ~np.isfinite(form.lower), ~np.isfinite(form.upper)
    sign = above.astype(np.float64) - below
    short = np.where(sign != 0.0, error - sign * slope, 0.0)
    wanting = short > 0.0
    rows, free = _linear_rows(z)
    if not wanting.any() or not rows.any():
        return None
    E = z.rows.F[np.flatnonzero(rows)]
    y = lsqr(E.T, -sign, atol=1e-12, btol=1e-12, iter_lim=_STEPS)[0]
    y = np.where(free[rows], y, np.maximum(y, 0.0))
    gain = -sign * (E.T @ y)
    if not np.isfinite(gain).all() or gain[wanting].min() < _GAIN:
        return None
    moved = z.z.copy()
    moved[rows] += 4.0 * float((short[wanting] / gain[wanting]).max()) * y
    return replace(z, z=moved)


def _linear_rows(z: Multipliers) -> tuple[BoolArray, BoolArray]:
    """Return the mask of linear rows, and the mask of equations."""
    cones = [(c.cone, c.rows) for c in z.form.constraints]
    linear = np.concatenate([np.full(size, isinstance(cone, Zero | Nonnegative)) for cone, size in cones] or [np.zeros(0, bool)])
    equal = np.concatenate([np.full(size, isinstance(cone, Zero)) for cone, size in cones] or [np.zeros(0, bool)])
    return linear, equal
