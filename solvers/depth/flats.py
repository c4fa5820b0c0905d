"""Compiled enumeration of the hyperplanes that integer points span, each once, exactly in float64.

Chosen points are eliminated without fractions (Bareiss, 1968): the remaining entries are minors of the matrix of points,
integers, and a point is in the span of the chosen ones if its entries are zero. A hyperplane through z is reported at its first
basis in the points' order and at no other. No number may exceed 2²⁶ before two are multiplied; otherwise the enumeration fails.

Bareiss: Sylvester's identity and multistep integer-preserving Gaussian elimination, Mathematics of Computation 22, 1968.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ..interface.by_reference import by_reference
from ..interface.numba_flags import Loops

__all__ = ["CROWDED", "DONE", "LARGE", "Flats", "next_flat"]

_loops = Loops(set(), Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner

#: Return codes of `next_flat`: finished, a hyperplane with more points than a basis, a number that is too large.
DONE, CROWDED, LARGE = 0, 1, 2
#: Twice the product of two such integers fits into 53 bits.
_LARGEST = 2.0**26


@by_reference
class Flats(NamedTuple):
    """An enumeration of hyperplanes that can stop and resume anywhere.

    Parameters
    ----------
    weights : ndarray (n,)
        Positive integers.
    levels : ndarray (d - 1, d, n)
        Entries of the points after each elimination.
    labels : ndarray of int (d - 1, d)
        Order of the coordinates; eliminated ones come last.
    pivots : ndarray (d,)
    chosen : ndarray of int (d - 1,)
    best : ndarray of int (d,)
        The least count so far and the points of its hyperplane.
    now : ndarray of int (4,)
        Level, least weight strictly on one side of the current hyperplane, number of hyperplanes, end of the first points.
    value : ndarray (n,)
        Signed positions of the points relative to the current hyperplane.
    """

    weights: FloatArray
    levels: FloatArray
    labels: IntArray
    pivots: FloatArray
    chosen: IntArray
    best: IntArray
    now: IntArray
    value: FloatArray

    @classmethod
    def of(cls, A: FloatArray, weights: FloatArray, limit: int) -> Flats:
        """Return the enumeration for (d, n) integers of rank d ≥ 2, no two columns parallel, and counts below the limit."""
        d, n = A.shape
        levels, labels = np.empty((d - 1, d, n)), np.zeros((d - 1, d), np.int64)
        levels[0], labels[0] = A, np.arange(d)
        best = np.full(d, -1)
        best[0] = limit
        now = np.array([0, 0, 0, n], np.int64)
        return cls(weights, levels, labels, np.ones(d), np.zeros(d - 1, np.int64), best, now, np.empty(n))


@inner
def _eliminate(flats: Flats, level: int, i: int) -> float:
    """Eliminate point i at a level and return its pivot, or 0 if a number is too large."""
    P, Q = flats.levels[level], flats.levels[level + 1]
    labels, next_labels, previous_pivot = flats.labels[level], flats.labels[level + 1], flats.pivots[level]
    count, n = P.shape[0] - level, P.shape[1]
    c = 0
    for t in range(count):
        if abs(P[t, i]) > abs(P[c, i]):
            c = t
    pivot, largest, target = P[c, i], 0.0, 0
    for t in range(P.shape[0]):
        next_labels[t] = labels[t]
    for t in range(count):
        if t == c:
            continue
        other = P[t, i]
        next_labels[target] = labels[t]
        for k in range(n):
            v = (pivot * P[t, k] - other * P[c, k]) / previous_pivot
            Q[target, k] = v
            largest = max(largest, abs(v))
        target += 1
    next_labels[count - 1] = labels[c]
    return pivot if largest <= _LARGEST else 0.0


@inner
def _is_zero(P: Any, many: int, k: int) -> bool:
    """Return True if the remaining entries of point k are zero."""
    largest = 0.0
    for t in range(many):
        largest = max(largest, abs(P[t, k]))
    return largest == 0.0


@inner
def _is_first_basis(P: Any, Q: Any, many: int, i: int) -> bool:
    """Return True if every earlier point in the span of the chosen ones and i is in the span of the chosen ones."""
    j = 0
    while j < i and (not _is_zero(Q, many - 1, j) or _is_zero(P, many, j)):
        j += 1
    return j == i


@inner
def _count_sides(flats: Flats, P: Any, i: int) -> bool:
    """Record the weights beside the hyperplane of the chosen points and i; return True if it holds other points."""
    weights, value, chosen = flats.weights, flats.value, flats.chosen
    x, y = P[0, i], P[1, i]
    above = below = on_hyperplane = chosen_weight = 0.0
    for k in range(weights.size):
        v = x * P[1, k] - y * P[0, k]
        value[k] = v
        above += weights[k] if v > 0.0 else 0.0
        below += weights[k] if v < 0.0 else 0.0
        on_hyperplane += weights[k] if v == 0.0 else 0.0
    flats.now[1] = int(min(above, below))
    flats.now[2] += 1
    for t in range(chosen.size):
        chosen_weight += weights[chosen[t]]
    return on_hyperplane > chosen_weight


@inner
def _seen_before(flats: Flats, P: Any, i: int) -> bool:
    """Return True if a point before i, not in the span of the others, is on the hyperplane, which was then seen before."""
    j = 0
    while j < i and (flats.value[j] != 0.0 or _is_zero(P, 2, j)):
        j += 1
    return j < i


@entry
def next_flat(flats: Flats) -> int:
    """Advance to a hyperplane with more points than a basis and less than ``best`` beside it; record the counts of the others."""
    chosen, best, now, d = flats.chosen, flats.best, flats.now, flats.levels.shape[1]
    while now[0] >= 0:
        level = now[0]
        P, count, i = flats.levels[level], d - level, chosen[level]
        if i >= (now[3] if level == 0 else P.shape[1]):
            now[0] -= 1
            if level > 0:
                chosen[level - 1] += 1
            continue
        if _is_zero(P, count, i):
            chosen[level] += 1
            continue
        if level == d - 2:
            crowded = _count_sides(flats, P, i)
            if now[1] < best[0] and crowded and not _seen_before(flats, P, i):
                return CROWDED
            if now[1] < best[0] and not crowded:
                best[0] = now[1]
                for t in range(d - 1):
                    best[1 + t] = chosen[t]
            chosen[level] += 1
            continue
        pivot = _eliminate(flats, level, i)
        if pivot == 0.0:
            return LARGE
        flats.pivots[level + 1] = pivot
        if _is_first_basis(P, flats.levels[level + 1], count, i):
            now[0] += 1
            chosen[level + 1] = i + 1
        else:
            chosen[level] += 1
    return DONE
