"""Compiled counts of points beside hyperplanes through z, for halfspace depth: integer points exactly, others in float64.

z is the point whose depth is sought, and points are the differences x_i - z of the n data points, in d dimensions. A count is the
smaller of the two weights of the points strictly on either side of a hyperplane through z; a ray is the normal of a hyperplane
that d - 1 independent points, its basis, span. A hyperplane with further points on it is degenerate.

*Integer points: `HyperplaneEnumeration`, `next_degenerate_hyperplane`.* Chosen points are eliminated without fractions (Bareiss,
1968): the remaining entries are minors of the matrix of points, integers, and a point is in the span of the chosen ones if its
entries are zero. A hyperplane through z is reported at its first basis in the points' order and at no other. No number may exceed
2²⁶ before two are multiplied; otherwise the enumeration fails.

Bareiss: Sylvester's identity and multistep integer-preserving Gaussian elimination, Mathematics of Computation 22, 1968.

*Points in float64: `RayCounts`, `examine_rays`, which count for every ray and leave out points within the rounding error.* The
points are unit vectors a_k, one column each. Chosen points are reflected away one after the other, and the
other points are replaced by their projections. After d - 2 reflections two coordinates remain, and r'a_j of the ray r
orthogonal to one more point k is the cross product of the projections of k and j. With π the product of the lengths of the
chosen points at their elimination, the rows have a smallest singular value of at least π (d - 1)^{-(d - 2)/2}, so a computed
r'a_j has an error of at most

    η = 100 d² (d - 1)^{(d - 2)/2} u / π,     u = 2⁻⁵³.

Values nearer to zero than η are not counted, so no count is above the true one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ..interface.numba_flags import Loops, by_reference

_loops = Loops(set(), Path(__file__).parent)
#: Decorators that compile in IEEE 754 arithmetic: ``entry`` for functions that Python calls, ``inner`` for those that they call.
entry, inner = _loops.entry, _loops.inner

#: Return codes of `next_degenerate_hyperplane`: all hyperplanes are enumerated; at a degenerate one; a number exceeds `_LARGEST`.
DONE, DEGENERATE, LARGE = 0, 1, 2
#: Twice the product of two such integers fits into 53 bits.
_LARGEST = 2.0**26


@by_reference
class HyperplaneEnumeration(NamedTuple):
    """An enumeration of the hyperplanes that points span; it stops at degenerate ones that may lower the count and resumes."""

    weights: FloatArray  #: (n,) positive integers
    levels: FloatArray  #: (d - 1, d, n) entries of the points after each elimination
    labels: IntArray  #: (d - 1, d) order of the coordinates; eliminated ones come last
    pivots: FloatArray  #: (d,) pivot of the elimination before each level; 1 at the first
    chosen: IntArray  #: (d - 1,) the chosen point of each level
    best: IntArray  #: (d,) the least count so far and the points of its hyperplane
    #: (4,) level of the enumeration (-1 at its end), count beside the current hyperplane, number of counted bases, and the
    #: number before which the first chosen point must lie
    counters: IntArray
    value: FloatArray  #: (n,) signed positions of the points relative to the current hyperplane

    @classmethod
    def of(cls, A: FloatArray, weights: FloatArray, limit: int) -> HyperplaneEnumeration:
        """Return the enumeration for (d, n) integers of rank d ≥ 2, no two columns parallel, and counts below the limit."""
        d, n = A.shape
        levels, labels = np.empty((d - 1, d, n)), np.zeros((d - 1, d), np.int64)
        levels[0], labels[0] = A, np.arange(d)
        best = np.full(d, -1)
        best[0] = limit
        counters = np.array([0, 0, 0, n], np.int64)
        return cls(weights, levels, labels, np.ones(d), np.zeros(d - 1, np.int64), best, counters, np.empty(n))


@inner
def _eliminate(enumeration: HyperplaneEnumeration, level: int, i: int) -> float:
    """Eliminate point i at a level and return its pivot, or 0 if a number is too large."""
    P, Q = enumeration.levels[level], enumeration.levels[level + 1]
    labels, next_labels, previous_pivot = enumeration.labels[level], enumeration.labels[level + 1], enumeration.pivots[level]
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
def _is_zero(P: Any, size: int, k: int) -> bool:
    """Return True if the remaining entries of point k are zero."""
    largest = 0.0
    for t in range(size):
        largest = max(largest, abs(P[t, k]))
    return largest == 0.0


@inner
def _is_first_basis(P: Any, Q: Any, size: int, i: int) -> bool:
    """Return True if every earlier point in the span of the chosen ones and i is in the span of the chosen ones."""
    j = 0
    while j < i and (not _is_zero(Q, size - 1, j) or _is_zero(P, size, j)):
        j += 1
    return j == i


@inner
def _count_sides(enumeration: HyperplaneEnumeration, P: Any, i: int) -> bool:
    """Record the weights beside the hyperplane of the chosen points and i; return True if it holds other points."""
    weights, value, chosen = enumeration.weights, enumeration.value, enumeration.chosen
    x, y = P[0, i], P[1, i]
    above = below = on_hyperplane = chosen_weight = 0.0
    for k in range(weights.size):
        v = x * P[1, k] - y * P[0, k]
        value[k] = v
        above += weights[k] if v > 0.0 else 0.0
        below += weights[k] if v < 0.0 else 0.0
        on_hyperplane += weights[k] if v == 0.0 else 0.0
    enumeration.counters[1] = int(min(above, below))
    enumeration.counters[2] += 1
    for t in range(chosen.size):
        chosen_weight += weights[chosen[t]]
    return on_hyperplane > chosen_weight


@inner
def _seen_before(enumeration: HyperplaneEnumeration, P: Any, i: int) -> bool:
    """Return True if a point before i, not in the span of the other chosen points, is on the hyperplane.

    The hyperplane was then seen before, with that point in place of i.
    """
    j = 0
    while j < i and (enumeration.value[j] != 0.0 or _is_zero(P, 2, j)):
        j += 1
    return j < i


@entry
def next_degenerate_hyperplane(enumeration: HyperplaneEnumeration) -> int:
    """Advance to the next degenerate hyperplane beside a count below ``best[0]``, record counts on the way; return the code."""
    chosen, best, counters, d = enumeration.chosen, enumeration.best, enumeration.counters, enumeration.levels.shape[1]
    while counters[0] >= 0:
        level = counters[0]
        P, count, i = enumeration.levels[level], d - level, chosen[level]
        if i >= (counters[3] if level == 0 else P.shape[1]):
            counters[0] -= 1
            if level > 0:
                chosen[level - 1] += 1
            continue
        if _is_zero(P, count, i):
            chosen[level] += 1
            continue
        if level == d - 2:
            degenerate = _count_sides(enumeration, P, i)
            if counters[1] < best[0] and degenerate and not _seen_before(enumeration, P, i):
                return DEGENERATE
            if counters[1] < best[0] and not degenerate:
                best[0] = counters[1]
                for t in range(d - 1):
                    best[1 + t] = chosen[t]
            chosen[level] += 1
            continue
        pivot = _eliminate(enumeration, level, i)
        if pivot == 0.0:
            return LARGE
        enumeration.pivots[level + 1] = pivot
        if _is_first_basis(P, enumeration.levels[level + 1], count, i):
            counters[0] += 1
            chosen[level + 1] = i + 1
        else:
            chosen[level] += 1
    return DONE


#: Least product of lengths that determines a ray beside rounding (2⁻⁵³); smaller ones are left to rational arithmetic.
_SINGULAR = 1e-9


class RayCounts(NamedTuple):
    """The counts of `examine_rays` and its work arrays."""

    best: IntArray  #: (d,) the least count so far and its subset
    below: IntArray  #: (capacity, d - 1) subsets with counts below counts[3]
    singular: IntArray  #: (capacity, d - 1) subsets, or initial parts padded with -1, that are numerically dependent
    counts: IntArray  #: (4,) numbers of entries of ``below`` and ``singular``, number of rays, and the limit of ``below``
    chosen: IntArray  #: (d - 1,) work array: chosen points
    levels: FloatArray  #: (d - 1, d, n) work array: projected points at each level
    products: FloatArray  #: (d - 1,) work array: products of the chosen points' lengths at their elimination

    @classmethod
    def of(cls, d: int, n: int, capacity: int, limit: int) -> RayCounts:
        """Return counts before the first ray, n points, d dimensions; ``below``, ``singular`` hold ``capacity`` subsets each."""
        best = np.full(d, np.iinfo(np.int64).max)
        below, singular = np.zeros((capacity, d - 1), np.int64), np.zeros((capacity, d - 1), np.int64)
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
def _record(store: Any, counts: Any, kind: Any, chosen: Any, size: Any) -> None:
    """Record a subset, padded with -1; beyond the capacity it is only counted."""
    position = counts[kind]
    counts[kind] += 1
    if position < store.shape[0]:
        for t in range(store.shape[1]):
            store[position, t] = chosen[t] if t < size else -1


@inner
def _count_rays(C: Any, weights: Any, chosen: Any, begin: Any, product: Any, factor: Any, output: Any) -> None:
    """Count the sides of every ray of the chosen points and one more, from two coordinates of each point."""
    n, size = C.shape[1], chosen.size
    tolerance = factor / product
    for k in range(begin, n):
        x, y = C[0, k], C[1, k]
        chosen[size - 1] = k
        if product * np.sqrt(x * x + y * y) < _SINGULAR:
            _record(output.singular, output.counts, 1, chosen, size)
            continue
        above, below = 0, 0
        for j in range(n):
            value = x * C[1, j] - y * C[0, j]
            above += weights[j] if value > tolerance else 0
            below += weights[j] if value < -tolerance else 0
        output.counts[2] += 1
        side_count = min(above, below)
        if side_count < output.best[0]:
            output.best[0] = side_count
            for t in range(size):
                output.best[1 + t] = chosen[t]
        if side_count < output.counts[3]:
            _record(output.below, output.counts, 0, chosen, size)


@entry
def examine_rays(A: Any, weights: Any, first: Any, output: Any) -> None:
    """Examine all rays whose subsets begin with point ``first``; for d = 2, where one point defines a ray, all rays.

    Parameters
    ----------
    A : ndarray (d, n)
        Unit columns, d ≥ 2.
    weights : ndarray of int (n,)
        Positive weights of the points.
    first : int
        The first point of the subsets.
    output : RayCounts
        The counts so far, which are updated.
    """
    d, n = A.shape
    factor = 100.0 * d * d * (d - 1.0) ** (0.5 * (d - 2.0)) * 2.0**-53
    chosen, levels, products = output.chosen, output.levels, output.products
    if d == 2:
        _count_rays(A, weights, chosen, 0, 1.0, factor, output)
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
            _record(output.singular, output.counts, 1, chosen, level + 1)
            chosen[level] += 1
            continue
        _project(levels[level], levels[level + 1], d - level, i)
        products[level + 1] = products[level] * length
        if level == d - 3:
            _count_rays(levels[d - 2], weights, chosen, i + 1, products[d - 2], factor, output)
            chosen[level] += 1
        else:
            level += 1
            chosen[level] = i + 1
