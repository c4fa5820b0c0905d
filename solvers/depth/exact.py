"""The same in rational arithmetic: one ray, points that lie on its hyperplane included, and small sets of points as a whole."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ...errors import TooLargeError
from ..rational.form import Vector, solve_linear
from .whole import least_count, whole_numbers

__all__ = ["Found", "beside", "count", "depth_of", "independent", "ray"]

#: Subsets of one small set that are looked at, and how many of them make it worth while to look for whole numbers.
_MOST, _FEW = 20_000, 200

#: A count and a direction that has it.
Found = tuple[int, Vector]


def count(points: Sequence[Vector], weights: Sequence[int], u: Vector) -> int:
    """Weight of the points with u'a ≥ 0."""
    return sum(w for a, w in zip(points, weights, strict=True) if _dot(u, a) >= 0)


def independent(points: Sequence[Vector]) -> list[int]:
    """Coordinates on which the points have the rank that they have."""
    rows = [list(point) for point in points]
    kept: list[int] = []
    for j in range(len(rows[0])):
        k = next((i for i in range(len(kept), len(rows)) if rows[i][j]), None)
        if k is None:
            continue
        top = len(kept)
        rows[top], rows[k] = rows[k], rows[top]
        for i in range(top + 1, len(rows)):
            if rows[i][j]:
                factor = rows[i][j] / rows[top][j]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[top], strict=True)]
        kept.append(j)
    return kept


def depth_of(points: Sequence[Vector], weights: Sequence[int]) -> Found:
    """The fewest points with u'a ≥ 0 over all u ≠ 0 of a set without zeros, by all of its hyperplanes.

    Raises
    ------
    TooLargeError
        It has more subsets than are looked at.
    """
    columns, width = independent(points), len(points[0])
    if len(columns) < width:
        # u counts by its values on the points: the coordinates left out are zero
        least, u = depth_of([[point[j] for j in columns] for point in points], weights)
        lifted = [Fraction(0)] * width
        for j, v in zip(columns, u, strict=True):
            lifted[j] = v
        return least, lifted
    if width == 1:
        above = sum(w for a, w in zip(points, weights, strict=True) if a[0] > 0)
        under = sum(weights) - above
        return (above, [Fraction(1)]) if above <= under else (under, [Fraction(-1)])
    if math.comb(len(points), width - 1) > _FEW and (subset := _by_whole_numbers(points, weights)) is not None:
        best = ray(points, weights, subset)
        assert best is not None
        return best
    if math.comb(len(points), width - 1) > _MOST:
        raise TooLargeError(f"{len(points)} points on one hyperplane through z have more rays than rational arithmetic takes")
    found = (ray(points, weights, subset) for subset in itertools.combinations(range(len(points)), width - 1))
    return min((f for f in found if f is not None), key=lambda f: f[0])


def _by_whole_numbers(points: Sequence[Vector], weights: Sequence[int]) -> list[int] | None:
    """The points of the best hyperplane where float64 holds all that is computed exactly, else None."""
    A = whole_numbers(points)
    if A is None:
        return None
    try:
        return least_count(A, np.array(weights, dtype=np.float64), sum(weights) + 1).subset.tolist()
    except TooLargeError:
        return None


def ray(points: Sequence[Vector], weights: Sequence[int], subset: Sequence[int]) -> Found | None:
    """The better side of the ray orthogonal to d - 1 points, tilted so that those on its hyperplane count least.

    None where the subset is dependent: it makes no ray.
    """
    r = _orthogonal([points[k] for k in subset])
    if r is None:
        return None
    values = [_dot(r, point) for point in points]
    on = [k for k, v in enumerate(values) if v == 0]
    if len(on) == len(subset):
        tilt = solve_linear([points[k] for k in on], [Fraction(-1)] * len(on))
        assert tilt is not None
        rest = 0
    else:
        rest, tilt = depth_of([points[k] for k in on], [weights[k] for k in on])
    above = sum(w for v, w in zip(values, weights, strict=True) if v > 0)
    under = sum(w for v, w in zip(values, weights, strict=True) if v < 0)
    sign = 1 if above <= under else -1
    moved = [abs(_dot(tilt, point)) for point in points]
    step = min((abs(v) / m / 2 for v, m in zip(values, moved, strict=True) if v and m), default=Fraction(1))
    return min(above, under) + rest, [sign * a + step * b for a, b in zip(r, tilt, strict=True)]


def beside(u: Vector, points: Sequence[Sequence[Fraction]]) -> Vector:
    """A direction that sees no point that u sees on another side and has none on its hyperplane."""
    values = [_dot(u, point) for point in points]
    on = [point for v, point in zip(values, points, strict=True) if v == 0]
    if not on:
        return u
    # a point's values on the moment curve's directions are a polynomial: zero at fewer numbers than it has coordinates
    powers = ([Fraction(s) ** j for j in range(len(u))] for s in itertools.count(1))
    tilt = next(t for t in powers if all(_dot(t, point) for point in on))
    moved = [abs(_dot(tilt, point)) for point in points]
    step = min((abs(v) / m / 2 for v, m in zip(values, moved, strict=True) if v and m), default=Fraction(1))
    return [a + step * b for a, b in zip(u, tilt, strict=True)]


def _orthogonal(rows: Sequence[Vector]) -> Vector | None:
    """The direction orthogonal to d - 1 rows; None where they are dependent."""
    d, columns = len(rows[0]), independent(rows)
    if len(columns) < d - 1:
        return None
    (last,) = set(range(d)) - set(columns)
    found = solve_linear([[row[j] for j in columns] for row in rows], [-row[last] for row in rows])
    assert found is not None
    r = [Fraction(1)] * d
    for j, v in zip(columns, found, strict=True):
        r[j] = v
    return r


def _dot(u: Sequence[Fraction], a: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(u, a, strict=True) if x and y), Fraction(0))
