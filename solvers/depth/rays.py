"""Compiled counts for all directions orthogonal to d - 1 of the points; points within the rounding error are not counted.

The points are unit vectors a_k in d dimensions, one column each. Chosen points are reflected away one after the other, and the
other points are replaced by their projections. After d - 2 reflections two coordinates remain, and r'a_j of the ray r orthogonal
to one more point k is the cross product of the projections of k and j. With π the product of the lengths of the chosen points at
their elimination, the rows have a smallest singular value of at least π (d - 1)^{-(d - 2)/2}, so a computed r'a_j has an error of
at most

    η = 100 d² (d - 1)^{(d - 2)/2} u / π,     u = 2⁻⁵³.

Values nearer to zero than η are not counted, so no count is above the true one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ..interface.numba_flags import Loops

__all__ = ["Notes", "sweep"]

_loops = Loops(set(), Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner

#: Least product of lengths that determines a ray; smaller ones are left to rational arithmetic.
_SINGULAR = 1e-9


class Notes(NamedTuple):
    """The output and the work arrays of a sweep.

    Parameters
    ----------
    best : ndarray of int (d,)
        The least count so far and its subset.
    below : ndarray of int (most, d - 1)
        Subsets with counts below counts[3].
    singular : ndarray of int (most, d - 1)
        Subsets, or initial parts padded with -1, that are numerically dependent.
    counts : ndarray of int (4,)
        Numbers of entries of ``below`` and ``singular``, number of rays, and the limit of ``below``.
    chosen, levels, products
        Work arrays: chosen points, projected points of each level, products of lengths.
    """

    best: IntArray
    below: IntArray
    singular: IntArray
    counts: IntArray
    chosen: IntArray
    levels: FloatArray
    products: FloatArray

    @classmethod
    def of(cls, d: int, n: int, most: int, limit: int) -> Notes:
        """Return empty output with a capacity of ``most`` subsets."""
        best = np.full(d, np.iinfo(np.int64).max)
        below, singular = np.zeros((most, d - 1), np.int64), np.zeros((most, d - 1), np.int64)
        counts, chosen = np.array([0, 0, 0, limit], dtype=np.int64), np.zeros(d - 1, np.int64)
        return cls(best, below, singular, counts, chosen, np.zeros((d - 1, d, n)), np.ones(d - 1))


@inner
def _project(P: Any, Q: Any, m: Any, i: Any) -> None:
    """Reflect point i onto the first of m coordinates and keep the other m - 1 coordinates of every point."""
    n = P.shape[1]
    length = 0.0
    for t in range(m):
        length += P[t, i] * P[t, i]
    length = np.sqrt(length)
    first = P[0, i] + (length if P[0, i] >= 0 else -length)
    scale = 1.0 / (length * abs(first))
    for k in range(n):
        product = first * P[0, k]
        for t in range(1, m):
            product += P[t, i] * P[t, k]
        product *= scale
        for t in range(1, m):
            Q[t - 1, k] = P[t, k] - product * P[t, i]


@inner
def _record(store: Any, counts: Any, which: Any, chosen: Any, many: Any) -> None:
    """Record a subset, padded with -1; beyond the capacity it is only counted."""
    position = counts[which]
    counts[which] += 1
    if position < store.shape[0]:
        for t in range(store.shape[1]):
            store[position, t] = chosen[t] if t < many else -1


@inner
def _count_rays(C: Any, weights: Any, chosen: Any, begin: Any, product: Any, factor: Any, notes: Any) -> None:
    """Count the sides of every ray of the chosen points and one more, from two coordinates of each point."""
    n, size = C.shape[1], chosen.size
    tolerance = factor / product
    for k in range(begin, n):
        x, y = C[0, k], C[1, k]
        chosen[size - 1] = k
        if product * np.sqrt(x * x + y * y) < _SINGULAR:
            _record(notes.singular, notes.counts, 1, chosen, size)
            continue
        above, below = 0, 0
        for j in range(n):
            value = x * C[1, j] - y * C[0, j]
            above += weights[j] if value > tolerance else 0
            below += weights[j] if value < -tolerance else 0
        notes.counts[2] += 1
        side_count = min(above, below)
        if side_count < notes.best[0]:
            notes.best[0] = side_count
            for t in range(size):
                notes.best[1 + t] = chosen[t]
        if side_count < notes.counts[3]:
            _record(notes.below, notes.counts, 0, chosen, size)


@entry
def sweep(A: Any, weights: Any, first: Any, notes: Any) -> None:
    """Examine all rays whose subsets begin with point ``first``; for d = 2, where one point defines a ray, all rays.

    Parameters
    ----------
    A : ndarray (d, n)
        Unit columns, d ≥ 2.
    weights : ndarray of int (n,)
    first : int
    notes : Notes
        Output.
    """
    d, n = A.shape
    factor = 100.0 * d * d * (d - 1.0) ** (0.5 * (d - 2.0)) * 2.0**-53
    chosen, levels, products = notes.chosen, notes.levels, notes.products
    if d == 2:
        _count_rays(A, weights, chosen, 0, 1.0, factor, notes)
        return
    for t in range(d):
        for k in range(n):
            levels[0, t, k] = A[t, k]
    chosen[0], level = first, 0
    while level >= 0:
        i = chosen[level]
        if (level == 0 and i != first) or i > n - (d - 1 - level):
            level -= 1
            if level >= 0:
                chosen[level] += 1
            continue
        length = 0.0
        for t in range(d - level):
            length += levels[level, t, i] ** 2
        length = np.sqrt(length)
        if products[level] * length < _SINGULAR:
            _record(notes.singular, notes.counts, 1, chosen, level + 1)
            chosen[level] += 1
            continue
        _project(levels[level], levels[level + 1], d - level, i)
        products[level + 1] = products[level] * length
        if level == d - 3:
            _count_rays(levels[d - 2], weights, chosen, i + 1, products[d - 2], factor, notes)
            chosen[level] += 1
        else:
            level += 1
            chosen[level] = i + 1
