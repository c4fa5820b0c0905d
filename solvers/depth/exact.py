"""Halfspace depth in rational arithmetic: one ray with the points on its hyperplane, and small sets of points as a whole."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ...errors import TooLargeError
from ..rational.form import Vector, solve_linear
from .integer_points import least_count, whole_numbers

__all__ = ["Found", "beside", "count", "depth_of", "independent", "ray"]

#: Largest number of subsets of one small set, and the number above which the integer method is tried.
_MAX_SUBSETS, _FEW_SUBSETS = 20_000, 200

#: A count and a direction that attains it.
Found = tuple[int, Vector]


def count(points: Sequence[Vector], weights: Sequence[int], u: Vector) -> int:
    """Return the weight of the points with u'a ≥ 0."""
    return sum(w for a, w in zip(points, weights, strict=True) if _dot(u, a) >= 0)


def independent(points: Sequence[Vector]) -> list[int]:
    """Return coordinates on which the points have their full rank."""
    rows = [list(point) for point in points]
    coordinates: list[int] = []
    for j in range(len(rows[0])):
        k = next((i for i in range(len(coordinates), len(rows)) if rows[i][j]), None)
        if k is None:
            continue
        rank = len(coordinates)
        rows[rank], rows[k] = rows[k], rows[rank]
        for i in range(rank + 1, len(rows)):
            if rows[i][j]:
                factor = rows[i][j] / rows[rank][j]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank], strict=True)]
        coordinates.append(j)
    return coordinates


def depth_of(points: Sequence[Vector], weights: Sequence[int]) -> Found:
    """Return the fewest points with u'a ≥ 0 over all u ≠ 0, and such a u, for a set without zeros, by all its hyperplanes.

    Raises
    ------
    TooLargeError
        The set has more subsets than are enumerated.
    """
    columns, width = independent(points), len(points[0])
    if len(columns) < width:
        # only the values u'a matter: the omitted coordinates of u are zero
        depth, u = depth_of([[point[j] for j in columns] for point in points], weights)
        lifted = [Fraction(0)] * width
        for j, v in zip(columns, u, strict=True):
            lifted[j] = v
        return depth, lifted
    if width == 1:
        above = sum(w for a, w in zip(points, weights, strict=True) if a[0] > 0)
        below = sum(weights) - above
        return (above, [Fraction(1)]) if above <= below else (below, [Fraction(-1)])
    if math.comb(len(points), width - 1) > _FEW_SUBSETS and (subset := _by_whole_numbers(points, weights)) is not None:
        best = ray(points, weights, subset)
        assert best is not None
        return best
    if math.comb(len(points), width - 1) > _MAX_SUBSETS:
        raise TooLargeError(f"{len(points)} points on one hyperplane through z have more rays than rational arithmetic takes")
    candidates = (ray(points, weights, subset) for subset in itertools.combinations(range(len(points)), width - 1))
    return min((f for f in candidates if f is not None), key=lambda f: f[0])


def _by_whole_numbers(points: Sequence[Vector], weights: Sequence[int]) -> list[int] | None:
    """Return the points of the best hyperplane if float64 represents all integers of the computation exactly, else None."""
    A = whole_numbers(points)
    if A is None:
        return None
    try:
        return least_count(A, np.array(weights, dtype=np.float64), sum(weights) + 1).subset.tolist()
    except TooLargeError:
        return None


def ray(points: Sequence[Vector], weights: Sequence[int], subset: Sequence[int]) -> Found | None:
    """Return the better side of the ray orthogonal to d - 1 points, tilted so that the points on its hyperplane count least.

    None if the subset is dependent and so defines no ray.
    """
    r = _orthogonal([points[k] for k in subset])
    if r is None:
        return None
    values = [_dot(r, point) for point in points]
    on_hyperplane = [k for k, v in enumerate(values) if v == 0]
    if len(on_hyperplane) == len(subset):
        tilt = solve_linear([points[k] for k in on_hyperplane], [Fraction(-1)] * len(on_hyperplane))
        assert tilt is not None
        depth_on_hyperplane = 0
    else:
        depth_on_hyperplane, tilt = depth_of([points[k] for k in on_hyperplane], [weights[k] for k in on_hyperplane])
    above = sum(w for v, w in zip(values, weights, strict=True) if v > 0)
    below = sum(w for v, w in zip(values, weights, strict=True) if v < 0)
    sign = 1 if above <= below else -1
    shifts = [abs(_dot(tilt, point)) for point in points]
    step = min((abs(v) / m / 2 for v, m in zip(values, shifts, strict=True) if v and m), default=Fraction(1))
    return min(above, below) + depth_on_hyperplane, [sign * a + step * b for a, b in zip(r, tilt, strict=True)]


def beside(u: Vector, points: Sequence[Sequence[Fraction]]) -> Vector:
    """Return a direction that agrees with u on the side of all points off its hyperplane, and has no point on its hyperplane."""
    values = [_dot(u, point) for point in points]
    on_hyperplane = [point for v, point in zip(values, points, strict=True) if v == 0]
    if not on_hyperplane:
        return u
    # on the directions of the moment curve a point's values are a polynomial, with fewer roots than the point has coordinates
    powers = ([Fraction(s) ** j for j in range(len(u))] for s in itertools.count(1))
    tilt = next(t for t in powers if all(_dot(t, point) for point in on_hyperplane))
    shifts = [abs(_dot(tilt, point)) for point in points]
    step = min((abs(v) / m / 2 for v, m in zip(values, shifts, strict=True) if v and m), default=Fraction(1))
    return [a + step * b for a, b in zip(u, tilt, strict=True)]


def _orthogonal(rows: Sequence[Vector]) -> Vector | None:
    """Return the direction orthogonal to d - 1 rows; None if they are dependent."""
    d, columns = len(rows[0]), independent(rows)
    if len(columns) < d - 1:
        return None
    (last,) = set(range(d)) - set(columns)
    solution = solve_linear([[row[j] for j in columns] for row in rows], [-row[last] for row in rows])
    assert solution is not None
    r = [Fraction(1)] * d
    for j, v in zip(columns, solution, strict=True):
        r[j] = v
    return r


def _dot(u: Sequence[Fraction], a: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(u, a, strict=True) if x and y), Fraction(0))
