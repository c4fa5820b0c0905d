"""Margins decided in exact arithmetic: which points a classifier keeps, and the same classifier with its margins met.

A classifier that an equation a_i'w = 1 determines has margins of 1 - 1e-16 as often as 1 + 1e-16, and 1{a_i'w < 1} asks which.
Float64 decides where its error bound allows; the few rows that are left are decided by rational arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...arrays import BoolArray, FloatArray
from ...rounding import gamma

__all__ = ["keeps", "stretched"]


def keeps(A: FloatArray, w: FloatArray) -> BoolArray:
    """Whether a_i'w ≥ 1, for every row, of the numbers as they are stored."""
    u, error = _margins(A, w)
    met = u >= 1.0
    exact = [Fraction(float(v)) for v in w]
    for i in np.flatnonzero(np.abs(u - 1.0) <= error):
        met[i] = sum((Fraction(float(a)) * v for a, v in zip(A[i], exact, strict=True) if a), Fraction(0)) >= 1
    return np.asarray(met)


def stretched(A: FloatArray, w: FloatArray, kept: BoolArray) -> FloatArray | None:
    """(1 + s)w with the least s ≥ 0, up to rounding, for which it keeps all rows ``kept``; None where none does."""
    rows = A[kept]
    if keeps(rows, w).all():
        return w
    u, error = _margins(rows, w)
    if not (u > 2.0 * error).all():
        return None
    # u_i + s·u_i - error, less the rounding of the new w, which is no more than that error
    factor = float(((1.0 + 2.0 * error) / (u - error)).max()) * (1.0 + 2.0**-50)
    longer = w * max(factor, 1.0)
    return longer if keeps(rows, longer).all() else None


def _margins(A: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.asarray(A @ w), 2.0 * gamma(w.size) * np.asarray(np.abs(A) @ np.abs(w))
