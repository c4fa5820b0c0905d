"""Margins decided in exact arithmetic: which points a classifier keeps, and the same classifier with its margins met.

A classifier that an equation a_i'w = 1 determines has margins of 1 - 1e-16 as often as 1 + 1e-16, and 1{a_i'w < 1} asks which.
Float64 decides where its error bound allows; the rows that are left by the sum of their products with nothing lost (a product is
two floats, and ``math.fsum`` rounds the sum once, so its sign is right), and by rational arithmetic where a product underflows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ...arrays import BoolArray, FloatArray
from ...rounding import gamma, two_product

__all__ = ["cheapest", "keeps", "stretched"]

#: Products above this have an error term that does not underflow.
_SAFE = 1e-250


def keeps(A: FloatArray, w: FloatArray) -> BoolArray:
    """Return whether a_i'w ≥ 1, for every row, of the numbers as they are stored."""
    u, error = _margins(A, w)
    met = np.asarray(u >= 1.0)
    unsure = np.abs(u - 1.0) <= error
    if unsure.any():
        met[unsure] = _reach_one(A[unsure], w)
    return met


def _reach_one(A: FloatArray, w: FloatArray) -> list[bool]:
    """a_i'w ≥ 1 for every row, of the numbers as they are stored."""
    with np.errstate(over="ignore", invalid="ignore"):
        products, errors = two_product(A, w)
    nothing = (A == 0.0) | (w == 0.0)
    products[nothing] = errors[nothing] = 0.0
    split = nothing | (np.isfinite(errors) & (np.abs(products) > _SAFE))
    rows = zip(split.all(axis=1).tolist(), products.tolist(), errors.tolist(), A, strict=True)
    return [math.fsum([-1.0, *p, *e]) >= 0.0 if exactly else _in_fractions(a, w) for exactly, p, e, a in rows]


def _in_fractions(a: FloatArray, w: FloatArray) -> bool:
    return sum((Fraction(x) * Fraction(v) for x, v in zip(a.tolist(), w.tolist(), strict=True)), Fraction(-1)) >= 0


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
    with np.errstate(over="ignore"):
        longer = w * max(factor, 1.0)
    return longer if np.isfinite(longer).all() and keeps(rows, longer).all() else None


def cheapest(
    A: FloatArray, w: FloatArray, kept: BoolArray, total: Callable[[FloatArray, BoolArray], float]
) -> tuple[FloatArray, BoolArray] | None:
    """The cheaper of w and w stretched to keep the rows ``kept``, with the rows that it keeps; None where neither may be.

    ``total`` is the cost of a classifier that keeps these rows, infinite where that is not allowed.
    """
    candidates = [(v, keeps(A, v)) for v in (stretched(A, w, kept), w) if v is not None]
    costs = [total(*candidate) for candidate in candidates]
    best = int(np.argmin(costs))
    return candidates[best] if np.isfinite(costs[best]) else None


def _margins(A: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.asarray(A @ w), 2.0 * gamma(w.size) * np.asarray(np.abs(A) @ np.abs(w))
