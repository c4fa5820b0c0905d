"""Exact halfspace (Tukey) depth of a point z: the fewest data points in a closed half-space that holds z; `halfspace_depth`.

The search goes over the hyperplanes through z and d - 1 data points; the normal of such a hyperplane is called a ray. In this
package points are differences x_i - z. The search is compiled for coordinates that become small integers, compiled in float64
with a bound of its rounding for others, and rational where rounding leaves a count open.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import InputError, TooLargeError, count_text
from ...models.arrays import FloatArray, IntArray, as_array
from ..rational import Vector, reduce_rows, solve_linear

__all__ = ["HalfspaceDepth", "halfspace_depth"]

#: Largest number of bits of a coordinate before reduction; largest integer after it: `loops` multiplies two of that size exactly.
_MAX_BITS, _LARGEST = 60, 2**26


@dataclass(frozen=True, eq=False)
class _IntegerDepth:
    """The least weight of points on one side of a hyperplane through z that contains no point, and the ray beside its normal."""

    count: int  #: the least count below the limit, or the limit
    subset: IntArray  #: (d - 1,) points to which that ray is orthogonal; -1 if no count is below the limit
    complete: bool  #: whether all hyperplanes were enumerated
    hyperplanes: int  #: number of enumerated hyperplanes


def _integer_columns(points: Sequence[Sequence[Fraction]]) -> FloatArray | None:
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


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return the inner product of integers or of fractions."""
    return sum(x * y for x, y in zip(a, b, strict=True) if x and y)


def _integer_depth(A: FloatArray, weights: FloatArray, limit: int, end: float = math.inf) -> _IntegerDepth:
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
        Counts from this number on are not looked for.
    end : float
        Deadline, a value of ``time.perf_counter``.
    """
    from .loops import DEGENERATE, LARGE, HyperplaneEnumeration, next_degenerate_hyperplane

    d, n = A.shape
    if d == 1:
        count = int(min(weights[A[0] > 0].sum(), weights[A[0] < 0].sum()))
        return _IntegerDepth(min(count, limit), np.zeros(0, np.int64), True, 1)
    enumeration = HyperplaneEnumeration.of(A, weights, limit)
    first, step = 0, n if math.isinf(end) else 1
    while first < n and time.perf_counter() <= end:
        enumeration.counters[0], enumeration.counters[3], enumeration.chosen[0] = 0, first + step, first
        while (code := next_degenerate_hyperplane(enumeration)) == DEGENERATE:
            side_count, best = int(enumeration.counters[1]), int(enumeration.best[0])
            on_hyperplane = enumeration.value == 0.0
            coordinates = _coordinates(enumeration.levels, enumeration.labels, enumeration.chosen)
            inside = _integer_depth(A[np.ix_(coordinates, on_hyperplane)], weights[on_hyperplane], best - side_count)
            if side_count + inside.count < best:
                enumeration.best[0], enumeration.best[1:] = side_count + inside.count, enumeration.chosen
            enumeration.chosen[-1] += 1
        if code == LARGE:
            raise TooLargeError("a minor of the points' coordinates is too large for float64 to hold it exactly")
        first += step
    return _IntegerDepth(int(enumeration.best[0]), enumeration.best[1:].copy(), first >= n, int(enumeration.counters[2]))


def _coordinates(levels: FloatArray, labels: IntArray, chosen: IntArray) -> IntArray:
    """Return the d - 1 coordinates in which the chosen points are independent, those of their pivots."""
    last = labels[-1].copy()
    pivot = 0 if levels[-1, 0, chosen[-1]] != 0.0 else 1
    return np.append(last[2:], last[pivot])


# Halfspace depth in rational arithmetic: one ray with the points on its hyperplane, and small sets of points as a whole.

#: Limit of the subsets in rational arithmetic, which takes seconds, and number above which the integer search is tried first.
_MAX_SUBSETS, _FEW_SUBSETS = 20_000, 200

#: A number of points and a direction u whose closed half-space holds them.
_Candidate = tuple[int, Vector]


def _closed_halfspace_weight(points: Sequence[Vector], weights: Sequence[int], u: Vector) -> int:
    """Return the weight of the points with u'a ≥ 0."""
    return sum(w for a, w in zip(points, weights, strict=True) if _dot(u, a) >= 0)


def _independent_coordinates(points: Sequence[Vector]) -> list[int]:
    """Return coordinates on which the points have their full rank."""
    return reduce_rows([list(point) for point in points], len(points[0]))


def _rational_depth(points: Sequence[Vector], weights: Sequence[int]) -> _Candidate:
    """Return the fewest points with u'a ≥ 0 over all u ≠ 0, and such a u, for a set without zeros, by all its hyperplanes."""
    columns, width = _independent_coordinates(points), len(points[0])
    if len(columns) < width:
        # only the values u'a matter: the omitted coordinates of u are zero
        depth, u = _rational_depth([[point[j] for j in columns] for point in points], weights)
        lifted = [Fraction(0)] * width
        for j, v in zip(columns, u, strict=True):
            lifted[j] = v
        return depth, lifted
    if width == 1:
        above = sum(w for a, w in zip(points, weights, strict=True) if a[0] > 0)
        below = sum(weights) - above
        return (above, [Fraction(1)]) if above <= below else (below, [Fraction(-1)])
    if math.comb(len(points), width - 1) > _FEW_SUBSETS and (subset := _by_whole_numbers(points, weights)) is not None:
        best = _best_side_of_ray(points, weights, subset)
        assert best is not None
        return best
    if math.comb(len(points), width - 1) > _MAX_SUBSETS:
        raise TooLargeError(f"{len(points)} points on one hyperplane through z have more rays than rational arithmetic takes")
    candidates = (_best_side_of_ray(points, weights, subset) for subset in itertools.combinations(range(len(points)), width - 1))
    return min((f for f in candidates if f is not None), key=lambda f: f[0])


def _by_whole_numbers(points: Sequence[Vector], weights: Sequence[int]) -> list[int] | None:
    """Return the points of the best hyperplane if float64 represents all integers of the computation exactly, else None."""
    A = _integer_columns(points)
    if A is None:
        return None
    try:
        return _integer_depth(A, np.array(weights, dtype=np.float64), sum(weights) + 1).subset.tolist()
    except TooLargeError:
        return None


def _best_side_of_ray(points: Sequence[Vector], weights: Sequence[int], subset: Sequence[int]) -> _Candidate | None:
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
        depth_on_hyperplane, tilt = _rational_depth([points[k] for k in on_hyperplane], [weights[k] for k in on_hyperplane])
    above = sum(w for v, w in zip(values, weights, strict=True) if v > 0)
    below = sum(w for v, w in zip(values, weights, strict=True) if v < 0)
    side = r if above <= below else [-a for a in r]
    return min(above, below) + depth_on_hyperplane, _tilted(side, tilt, points, values)


def _move_off_points(u: Vector, points: Sequence[Sequence[Fraction]]) -> Vector:
    """Return a direction that agrees with u on the side of all points off its hyperplane, and has no point on its hyperplane."""
    values = [_dot(u, point) for point in points]
    on_hyperplane = [point for v, point in zip(values, points, strict=True) if v == 0]
    if not on_hyperplane:
        return u
    # on the directions of the moment curve a point's values are a polynomial, with fewer roots than the point has coordinates
    powers = ([Fraction(s) ** j for j in range(len(u))] for s in itertools.count(1))
    tilt = next(t for t in powers if all(_dot(t, point) for point in on_hyperplane))
    return _tilted(u, tilt, points, values)


def _tilted(u: Vector, tilt: Vector, points: Sequence[Sequence[Fraction]], values: Sequence[Fraction]) -> Vector:
    """Return u moved along ``tilt`` by so little that no point changes its side, ``values`` their products with ±u."""
    shifts = [abs(_dot(tilt, point)) for point in points]
    step = min((abs(v) / m / 2 for v, m in zip(values, shifts, strict=True) if v and m), default=Fraction(1))
    return [a + step * b for a, b in zip(u, tilt, strict=True)]


def _orthogonal(rows: Sequence[Vector]) -> Vector | None:
    """Return the direction orthogonal to d - 1 rows; None if they are dependent."""
    d, columns = len(rows[0]), _independent_coordinates(rows)
    if len(columns) < d - 1:
        return None
    (last,) = set(range(d)) - set(columns)
    solution = solve_linear([[row[j] for j in columns] for row in rows], [-row[last] for row in rows])
    assert solution is not None
    r = [Fraction(1)] * d
    for j, v in zip(columns, solution, strict=True):
        r[j] = v
    return r


#: Largest number of subsets that are recorded for rational arithmetic.
_MAX_RECORDED = 20_000
#: Number of rays up to which a set is treated in rational arithmetic alone.
_FEW_RAYS = 200


@dataclass(frozen=True)
class HalfspaceDepth:
    """The halfspace depth of a point in a set.

    Parameters
    ----------
    depth : int
        Number of points of the half-space {x : direction'(x - z) ≥ 0}, the least number found, counted exactly.
    lower : int
        Proved lower bound of the number of points in every closed half-space that holds z.
    n : int
        Number of points of the set.
    direction : tuple of Fraction
        A direction that attains the depth. It is rational, since float64 may not represent the tilt that separates points on
        the boundary. Empty if every point equals z.
    rays : int
        Number of examined directions.
    """

    depth: int
    lower: int
    n: int
    direction: tuple[Fraction, ...]
    rays: int

    @property
    def proved(self) -> bool:
        """True if it is proved that no closed half-space that holds z has fewer points."""
        return self.lower == self.depth

    def __str__(self) -> str:
        if self.proved:
            return (
                f"halfspace depth {self.depth} of {count_text(self.n, 'point')} (proved); "
                f"{count_text(self.rays, 'direction', spec=',')}"
            )
        return (
            f"halfspace depth between {self.lower} and {self.depth} of {count_text(self.n, 'point')}; "
            f"{count_text(self.rays, 'direction', spec=',')}"
        )


def halfspace_depth(X: npt.ArrayLike, z: npt.ArrayLike, *, time_limit: float | None = None) -> HalfspaceDepth:
    """Compute the halfspace (Tukey) depth of z in the points X exactly.

        depth(z; X) = min over u ≠ 0 of |{i : u'(x_i - z) ≥ 0}|.

    The depth is the least number of points that a linear classifier through z misclassifies: the 0-1 loss without a norm. The
    minimum occurs next to a direction orthogonal to d - 1 of the differences x_i - z. All C(n, d - 1) directions are examined: in
    integers if the coordinates become small ones, else by reflections in float64 with bounded rounding. There points within the
    rounding error are not counted, and rational arithmetic confirms the least count. Points on one hyperplane through z, equal
    points and points at z are treated exactly.

    Parameters
    ----------
    X : array_like (n, d)
        The points.
    z : array_like (d,)
        The point whose depth is computed.
    time_limit : float, optional
        Time limit in seconds. At the limit the best direction so far is returned, with a simple lower bound: the points at z,
        and one of every two opposite points.

    Returns
    -------
    HalfspaceDepth
        Proved unless the time limit was reached, or too many points lie on hyperplanes through z.

    Raises
    ------
    InputError
        X is not a matrix of finite numbers, or z is not a point of its space.

    References
    ----------
    Tukey: Mathematics and the picturing of data, 1975. Dyckerhoff, Mozharovskyi: Exact computation of the halfspace depth, 2016.
    """
    points, centre = as_array(X, "X"), as_array(z, "z")
    if points.ndim != 2 or not points.size:
        raise InputError(f"X must be a matrix with a row for each point; its shape is {points.shape}", name="X")
    if centre.shape != points.shape[1:]:
        raise InputError(f"z must be a point of the same space: shape {points.shape[1:]}, not {centre.shape}", name="z")
    if not (np.isfinite(points).all() and np.isfinite(centre).all()):
        raise InputError("X and z must be finite", name="X")
    return _Search(points, centre, time_limit).run()


class _Search:
    """One call of `halfspace_depth`: points on one line through z are merged, their numbers on both sides cancelled."""

    def __init__(self, X: FloatArray, z: FloatArray, time_limit: float | None) -> None:
        self._end = math.inf if time_limit is None else time.perf_counter() + time_limit
        self._n, self._width = X.shape
        centre = [Fraction(v) for v in z.tolist()]
        lines: dict[tuple[Fraction, ...], list[int]] = {}
        for row in X.tolist():
            a = [Fraction(v) - c for v, c in zip(row, centre, strict=True)]
            length = next((v for v in a if v), Fraction(0))
            key = tuple(v / length for v in a) if length else ()
            lines.setdefault(key, [0, 0])[length < 0] += 1
        self._always_counted = lines.pop((), [0])[0]
        self._keys = list(lines)
        # a closed half-space holds at least one of two opposite points
        self._always_counted += sum(min(sides) for sides in lines.values())
        net_counts = {key: positive - negative for key, (positive, negative) in lines.items() if positive != negative}
        self._weights = [abs(weight) for weight in net_counts.values()]
        self._columns = _independent_coordinates([list(key) for key in net_counts]) if net_counts else []
        self._scale = [_nearby_power_of_two(max(abs(key[j]) for key in net_counts)) for j in self._columns]
        signs = [1 if weight > 0 else -1 for weight in net_counts.values()]
        self._points = [
            [sign * key[j] / s for j, s in zip(self._columns, self._scale, strict=True)]
            for key, sign in zip(net_counts, signs, strict=True)
        ]
        self._rays = 0

    def run(self) -> HalfspaceDepth:
        """Return the depth, with a lower bound as far as the time limit permits."""
        if not self._keys:
            return HalfspaceDepth(self._always_counted, self._always_counted, self._n, (), 0)
        if not self._points:
            return self._result(0, (0, []))
        d, m = len(self._columns), len(self._points)
        if d == 1 or math.comb(m, d - 1) <= _FEW_RAYS:
            candidate = _rational_depth(self._points, self._weights)
            self._rays = max(math.comb(m, d - 1), 1)
            return self._result(candidate[0], candidate)
        integer_result = self._integer_search()
        if integer_result is not None:
            self._rays = integer_result.hyperplanes
            return self._result(integer_result.count if integer_result.complete else 0, self._best_beside(integer_result.subset))
        best, _, lower, singular = self._examine_all_rays(0)
        candidate = self._best_beside(best)
        recorded: list[list[int]] = []
        if lower is not None and lower < candidate[0]:
            # rounding hides the sides of points on a ray's hyperplane
            _, below, lower, singular = self._examine_all_rays(candidate[0])
            recorded = below.tolist()
        exact, complete = self._confirm(candidate, itertools.chain(recorded, self._complete_singular(singular)))
        if lower is not None and complete:
            return self._result(exact[0], exact)
        return self._result(0 if lower is None or singular.size else min(lower, exact[0]), exact)

    def _integer_search(self) -> _IntegerDepth | None:
        """Return the result of the search for integer points; None for other points, or too large integers."""
        A = _integer_columns(self._points)
        if A is None:
            return None
        try:
            return _integer_depth(A, np.array(self._weights, dtype=np.float64), sum(self._weights) + 1, self._end)
        except TooLargeError:
            return None

    def _best_beside(self, subset: IntArray) -> _Candidate:
        """Return the best direction next to a ray, or along an axis without a ray or one that rational arithmetic can treat."""
        candidate = self._beside(subset.tolist()) if subset.size and subset[0] >= 0 else None
        if candidate is not None:
            return candidate
        d = len(self._columns)
        axes = [[Fraction(sign * (i == j)) for j in range(d)] for i in range(d) for sign in (1, -1)]
        return min(
            ((_closed_halfspace_weight(self._points, self._weights, u), u) for u in axes), key=lambda candidate: candidate[0]
        )

    def _beside(self, subset: Sequence[int]) -> _Candidate | None:
        """Return the better side of a ray; None where too many points lie on its hyperplane for rational arithmetic."""
        try:
            return _best_side_of_ray(self._points, self._weights, subset)
        except TooLargeError:
            return None

    def _result(self, lower: int, candidate: _Candidate) -> HalfspaceDepth:
        direction = [Fraction(0)] * self._width
        for j, s, v in zip(self._columns, self._scale, candidate[1], strict=True):
            direction[j] = v / s
        direction = _move_off_points(direction, self._keys)
        return HalfspaceDepth(
            candidate[0] + self._always_counted, lower + self._always_counted, self._n, tuple(direction), self._rays
        )

    def _examine_all_rays(self, limit: int) -> tuple[IntArray, IntArray, int | None, IntArray]:
        """Return the best subset, those with counts below the limit, the least count (None if incomplete), singular subsets."""
        from .loops import RayCounts, examine_rays

        floats = np.array([[float(v) for v in point] for point in self._points])
        A = np.ascontiguousarray((floats / np.linalg.norm(floats, axis=1, keepdims=True)).T)
        d, m = A.shape
        output = RayCounts.of(d, m, _MAX_RECORDED, limit)
        complete = True
        for first in range(1 if d == 2 else m - (d - 2)):
            if time.perf_counter() > self._end:
                complete = False
                break
            examine_rays(A, np.array(self._weights, dtype=np.int64), first, output)
        below, singular, rays, _ = output.counts.tolist()
        self._rays = rays
        complete = complete and max(below, singular) <= _MAX_RECORDED
        best = output.best[1:] if rays else output.best[:0]
        return best, output.below[:below], int(output.best[0]) if complete else None, output.singular[:singular]

    def _complete_singular(self, singular: IntArray) -> Iterator[list[int]]:
        """Yield the subsets that begin with one that is singular in float64 but independent in rational arithmetic."""
        d, m = len(self._columns), len(self._points)
        for row in singular.tolist():
            chosen = [k for k in row if k >= 0]
            if len(_independent_coordinates([self._points[k] for k in chosen])) == len(chosen):
                for completion in itertools.combinations(range(chosen[-1] + 1, m), d - 1 - len(chosen)):
                    yield [*chosen, *completion]

    def _confirm(self, best: _Candidate, subsets: Iterator[list[int]]) -> tuple[_Candidate, bool]:
        """Return the least exact count, and True if all subsets were counted."""
        for k, subset in enumerate(subsets):
            if k >= _MAX_RECORDED or time.perf_counter() > self._end:
                return best, False
            try:
                other = _best_side_of_ray(self._points, self._weights, subset)
            except TooLargeError:
                return best, False
            if other is not None and other[0] < best[0]:
                best = other
        return best, True


def _nearby_power_of_two(value: Fraction) -> Fraction:
    """Return a power of two near a positive number."""
    return Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())
