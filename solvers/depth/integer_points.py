"""The least count for integer points, hyperplane by hyperplane, with recursion into hyperplanes that hold many points."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import TooLargeError
from ...models.arrays import FloatArray, IntArray

__all__ = ["Least", "least_count", "whole_numbers"]

#: Largest number of bits before reduction; largest integer after it.
_MAX_BITS, _LARGEST = 60, 2**26


@dataclass(frozen=True, eq=False)
class Least:
    """The result of a search for the least count.

    Parameters
    ----------
    count : int
        The least count below the limit, or the limit.
    subset : ndarray of int (d - 1,)
        Points that span the hyperplane beside which the least count occurs; -1 without one.
    whole : bool
        Whether all hyperplanes were examined.
    seen : int
        Number of examined hyperplanes.
    """

    count: int
    subset: IntArray
    whole: bool
    seen: int


def whole_numbers(points: Sequence[Sequence[Fraction]]) -> FloatArray | None:
    """Return the points as columns of small integers, each up to a positive factor, all up to a regular linear map; or None."""
    rows = []
    for point in points:
        scale = math.lcm(*(v.denominator for v in point))
        row = [v.numerator * (scale // v.denominator) for v in point]
        divisor = math.gcd(*row)
        if max(map(abs, row)) // divisor >= 2**_MAX_BITS:
            return None
        rows.append([v // divisor for v in row])
    columns = [list(column) for column in zip(*rows, strict=True)]
    while any(_shorten(columns, j, k) for j in range(len(columns)) for k in range(len(columns)) if j != k):
        pass
    largest = max(max(map(abs, column)) for column in columns)
    return np.array(columns, dtype=np.float64) if largest <= _LARGEST else None


def _shorten(columns: list[list[int]], j: int, k: int) -> bool:
    """Subtract the multiple of column k that shortens column j most; return False if no multiple shortens it."""
    multiple = round(Fraction(_dot(columns[j], columns[k]), _dot(columns[k], columns[k])))
    if multiple == 0:
        return False
    shorter = [a - multiple * b for a, b in zip(columns[j], columns[k], strict=True)]
    if _dot(shorter, shorter) >= _dot(columns[j], columns[j]):
        return False
    columns[j] = shorter
    return True


def _dot(a: list[int], b: list[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def least_count(A: FloatArray, weights: FloatArray, limit: int, end: float = math.inf) -> Least:
    """Return the fewest points with u'a > 0 over all u that are orthogonal to no point, if that count is below the limit.

    The least count of the open cells next to the normal r of a hyperplane is min(|{r'a > 0}|, |{r'a < 0}|) plus the least count
    of the points on the hyperplane, which does not depend on r. For d - 1 independent points the second term is 0. More points
    are counted recursively if the first term is below the least count so far.

    Parameters
    ----------
    A : ndarray (d, n)
        Integers of rank d, no two columns parallel.
    weights : ndarray (n,)
        Positive integers.
    limit : int
    end : float
        Deadline, a value of ``time.perf_counter``.

    Raises
    ------
    TooLargeError
        A minor of A is too large.
    """
    from .flats import CROWDED, LARGE, Flats, next_flat

    d, n = A.shape
    if d == 1:
        count = int(min(weights[A[0] > 0].sum(), weights[A[0] < 0].sum()))
        return Least(min(count, limit), np.zeros(0, np.int64), True, 1)
    flats = Flats.of(A, weights, limit)
    first, step = 0, n if math.isinf(end) else 1
    while first < n and time.perf_counter() <= end:
        flats.now[0], flats.now[3], flats.chosen[0] = 0, first + step, first
        while (code := next_flat(flats)) == CROWDED:
            beside, best = int(flats.now[1]), int(flats.best[0])
            on_hyperplane = flats.value == 0.0
            coordinates = _coordinates(flats.levels, flats.labels, flats.chosen)
            inside = least_count(A[np.ix_(coordinates, on_hyperplane)], weights[on_hyperplane], best - beside)
            if beside + inside.count < best:
                flats.best[0], flats.best[1:] = beside + inside.count, flats.chosen
            flats.chosen[-1] += 1
        if code == LARGE:
            raise TooLargeError("a minor of the points' coordinates is too large for float64 to hold it exactly")
        first += step
    return Least(int(flats.best[0]), flats.best[1:].copy(), first >= n, int(flats.now[2]))


def _coordinates(levels: FloatArray, labels: IntArray, chosen: IntArray) -> IntArray:
    """Return the d - 1 coordinates in which the chosen points are independent, those of their pivots."""
    last = labels[-1].copy()
    pivot = 0 if levels[-1, 0, chosen[-1]] != 0.0 else 1
    return np.append(last[2:], last[pivot])
