"""Compiled: hyperplanes that whole-numbered points span, each once, in float64 that holds every number exactly.

Chosen points are eliminated without fractions (Bareiss, 1968): what is left of the others are minors of the matrix of points,
whole numbers, and a point is in the chosen ones' span where it is zero. A hyperplane through z is met from its first basis in the
points' order and from no other. No number may exceed 2²⁶ before two are multiplied; where one does, all is given up.

Bareiss: Sylvester's identity and multistep integer-preserving Gaussian elimination, Mathematics of Computation 22, 1968.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ..interface.by_reference import by_reference
from ..interface.compiled import Loops

__all__ = ["CROWDED", "DONE", "LARGE", "Flats", "next_flat"]

_loops = Loops(set(), Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner

#: Why `next_flat` returned: nothing is left, a hyperplane with more points than span it, a number that is too large.
DONE, CROWDED, LARGE = 0, 1, 2
#: Twice the product of two such numbers is a whole number of 53 bits.
_LARGEST = 2.0**26


@by_reference
class Flats(NamedTuple):
    """A search that stops and goes on anywhere.

    Parameters
    ----------
    weights : ndarray (n,)
        Positive whole numbers.
    levels : ndarray (d - 1, d, n)
        What is left of the points after each choice.
    labels : ndarray of int (d - 1, d)
        Which coordinates are left; those eliminated come last.
    pivots : ndarray (d,)
    chosen : ndarray of int (d - 1,)
    best : ndarray of int (d,)
        The least count so far and its points.
    now : ndarray of int (4,)
        Level, least weight strictly on one side of the hyperplane in hand, hyperplanes seen, and where first points end.
    value : ndarray (n,)
        The points' positions with respect to the hyperplane in hand.
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
        """Before the first hyperplane: (d, n) whole numbers of rank d ≥ 2, no two columns parallel; counts below the limit."""
        d, n = A.shape
        levels, labels = np.empty((d - 1, d, n)), np.zeros((d - 1, d), np.int64)
        levels[0], labels[0] = A, np.arange(d)
        best = np.full(d, -1)
        best[0] = limit
        now = np.array([0, 0, 0, n], np.int64)
        return cls(weights, levels, labels, np.ones(d), np.zeros(d - 1, np.int64), best, now, np.empty(n))


@inner
def _eliminate(flats: Flats, level: int, i: int) -> float:
    """Eliminate point i of a level: its pivot, or 0 where a number is too large."""
    P, Q = flats.levels[level], flats.levels[level + 1]
    labels, left, before = flats.labels[level], flats.labels[level + 1], flats.pivots[level]
    many, n = P.shape[0] - level, P.shape[1]
    c = 0
    for t in range(many):
        if abs(P[t, i]) > abs(P[c, i]):
            c = t
    pivot, largest, to = P[c, i], 0.0, 0
    for t in range(P.shape[0]):
        left[t] = labels[t]
    for t in range(many):
        if t == c:
            continue
        other = P[t, i]
        left[to] = labels[t]
        for k in range(n):
            v = (pivot * P[t, k] - other * P[c, k]) / before
            Q[to, k] = v
            largest = max(largest, abs(v))
        to += 1
    left[many - 1] = labels[c]
    return pivot if largest <= _LARGEST else 0.0


@inner
def _zero(P: Any, many: int, k: int) -> bool:
    """Whether nothing is left of point k."""
    left = 0.0
    for t in range(many):
        left = max(left, abs(P[t, k]))
    return left == 0.0


@inner
def _first_basis(P: Any, Q: Any, many: int, i: int) -> bool:
    """Whether every earlier point in the span of the chosen ones and i is in that of the chosen ones."""
    j = 0
    while j < i and (not _zero(Q, many - 1, j) or _zero(P, many, j)):
        j += 1
    return j == i


@inner
def _sides(flats: Flats, P: Any, i: int) -> bool:
    """Note the weights beside the hyperplane of the chosen points and i; whether other points are on it."""
    weights, value, chosen = flats.weights, flats.value, flats.chosen
    x, y = P[0, i], P[1, i]
    above = under = on = own = 0.0
    for k in range(weights.size):
        v = x * P[1, k] - y * P[0, k]
        value[k] = v
        above += weights[k] if v > 0.0 else 0.0
        under += weights[k] if v < 0.0 else 0.0
        on += weights[k] if v == 0.0 else 0.0
    flats.now[1] = int(min(above, under))
    flats.now[2] += 1
    for t in range(chosen.size):
        own += weights[chosen[t]]
    return on > own


@inner
def _earlier(flats: Flats, P: Any, i: int) -> bool:
    """Whether a point before i that the others do not span is on the hyperplane in hand: it was met before."""
    j = 0
    while j < i and (flats.value[j] != 0.0 or _zero(P, 2, j)):
        j += 1
    return j < i


@entry
def next_flat(flats: Flats) -> int:
    """Go on to a hyperplane with more points than span it and less than ``best`` beside it; counts at the others are noted."""
    chosen, best, now, d = flats.chosen, flats.best, flats.now, flats.levels.shape[1]
    while now[0] >= 0:
        level = now[0]
        P, many, i = flats.levels[level], d - level, chosen[level]
        if i >= (now[3] if level == 0 else P.shape[1]):
            now[0] -= 1
            if level > 0:
                chosen[level - 1] += 1
            continue
        if _zero(P, many, i):
            chosen[level] += 1
            continue
        if level == d - 2:
            crowded = _sides(flats, P, i)
            if now[1] < best[0] and crowded and not _earlier(flats, P, i):
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
        if _first_basis(P, flats.levels[level + 1], many, i):
            now[0] += 1
            chosen[level + 1] = i + 1
        else:
            chosen[level] += 1
    return DONE
