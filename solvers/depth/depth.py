"""``halfspace_depth`` as users call it."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...errors import InputError, TooLargeError
from ...models.arrays import FloatArray, IntArray, as_array
from .exact import Found, beside, count, depth_of, independent, ray
from .whole import Least, least_count, whole_numbers

__all__ = ["HalfspaceDepth", "halfspace_depth"]

#: Subsets that are written down to be looked at in rational arithmetic.
_NOTED = 20_000
#: Sets with fewer rays than this are looked at in rational arithmetic alone.
_FEW = 200


@dataclass(frozen=True)
class HalfspaceDepth:
    """The halfspace depth of a point in a set.

    Parameters
    ----------
    depth : int
        Points of the half-space {x : direction'(x - z) ≥ 0}: the least number found, exactly counted.
    lower : int
        No closed half-space that holds z has fewer points.
    n : int
        Points of the set.
    direction : tuple of Fraction
        In rational numbers: float64 may not tell a tilt that sets points on the boundary aside. Empty where every point is z.
    rays : int
        Directions that were looked at.
    """

    depth: int
    lower: int
    n: int
    direction: tuple[Fraction, ...]
    rays: int

    @property
    def proved(self) -> bool:
        """Whether the depth is proved."""
        return self.lower == self.depth

    def __str__(self) -> str:
        if self.proved:
            return f"halfspace depth {self.depth} of {self.n} points (proved); {self.rays:,} directions"
        return f"halfspace depth between {self.lower} and {self.depth} of {self.n} points; {self.rays:,} directions"


def halfspace_depth(X: npt.ArrayLike, z: npt.ArrayLike, *, time_limit: float | None = None) -> HalfspaceDepth:
    """The halfspace (Tukey) depth of z in the points X, exactly:

        depth(z; X) = min over u ≠ 0 of |{i : u'(x_i - z) ≥ 0}|.

    It is the fewest points that a linear classifier through z must give up: the 0-1 loss without a norm. The minimum is next to a
    direction orthogonal to d - 1 of the points' differences from z. All C(n, d - 1) of them are looked at, by reflections in
    float64 whose rounding is bounded (what it may hide is left out of a count); the least count is confirmed in rational
    arithmetic. Points on one hyperplane through z, equal points and points at z are treated exactly.

    Parameters
    ----------
    X : array_like (n, d)
    z : array_like (d,)
    time_limit : float, optional
        Seconds; what was found by then, with the bound that follows from nothing: the points that are z.

    Returns
    -------
    HalfspaceDepth
        ``proved`` unless the time was over, or too many points lie on hyperplanes through z.

    Raises
    ------
    InputError
        X is no matrix of finite numbers, or z no point of its space.

    References
    ----------
    Tukey: Mathematics and the picturing of data, 1975. Dyckerhoff, Mozharovskyi: Exact computation of the halfspace depth, 2016.
    """
    points, centre = as_array(X, "X"), as_array(z, "z")
    if points.ndim != 2 or not points.size:
        raise InputError(f"X must be a matrix with a row for each point; its shape is {points.shape}")
    if centre.shape != points.shape[1:]:
        raise InputError(f"z must be a point of the same space: shape {points.shape[1:]}, not {centre.shape}")
    if not (np.isfinite(points).all() and np.isfinite(centre).all()):
        raise InputError("X and z must be finite")
    return _Search(points, centre, time_limit).run()


class _Search:
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
        self._at = lines.pop((), [0])[0]
        self._lines = list(lines)
        # of two opposite points a closed half-space holds one
        self._at += sum(min(sides) for sides in lines.values())
        kept = {key: ahead - behind for key, (ahead, behind) in lines.items() if ahead != behind}
        self._weights = [abs(weight) for weight in kept.values()]
        self._columns = independent([list(key) for key in kept]) if kept else []
        self._scale = [_power(max(abs(key[j]) for key in kept)) for j in self._columns]
        signs = [1 if weight > 0 else -1 for weight in kept.values()]
        self._points = [
            [sign * key[j] / s for j, s in zip(self._columns, self._scale, strict=True)]
            for key, sign in zip(kept, signs, strict=True)
        ]
        self._rays = 0

    def run(self) -> HalfspaceDepth:
        """The depth, with what time allows of a proof."""
        if not self._lines:
            return HalfspaceDepth(self._at, self._at, self._n, (), 0)
        if not self._points:
            return self._told(0, (0, []))
        d, m = len(self._columns), len(self._points)
        if d == 1 or math.comb(m, d - 1) <= _FEW:
            found = depth_of(self._points, self._weights)
            self._rays = max(math.comb(m, d - 1), 1)
            return self._told(found[0], found)
        least = self._by_flats()
        if least is not None:
            self._rays = least.seen
            return self._told(least.count if least.whole else 0, self._beside(least.subset))
        best, _, lower, singular = self._swept(0)
        found = self._beside(best)
        noted: list[list[int]] = []
        if lower is not None and lower < found[0]:
            # points on a ray's hyperplane: rounding hides on which side they can be put
            _, below, lower, singular = self._swept(found[0])
            noted = below.tolist()
        exact, complete = self._confirmed(found, itertools.chain(noted, self._completed(singular)))
        if lower is not None and complete:
            return self._told(exact[0], exact)
        return self._told(0 if lower is None or singular.size else min(lower, exact[0]), exact)

    def _by_flats(self) -> Least | None:
        """The least count of whole-numbered points; None where they are not, or too large."""
        A = whole_numbers(self._points)
        if A is None:
            return None
        try:
            return least_count(A, np.array(self._weights, dtype=np.float64), sum(self._weights) + 1, self._end)
        except TooLargeError:
            return None

    def _beside(self, subset: IntArray) -> Found:
        """The best direction next to a ray, or of the coordinates' where time allowed no ray."""
        found = ray(self._points, self._weights, subset.tolist()) if subset.size and subset[0] >= 0 else None
        if found is not None:
            return found
        d = len(self._columns)
        axes = [[Fraction(sign * (i == j)) for j in range(d)] for i in range(d) for sign in (1, -1)]
        return min(((count(self._points, self._weights, u), u) for u in axes), key=lambda found: found[0])

    def _told(self, lower: int, found: Found) -> HalfspaceDepth:
        direction = [Fraction(0)] * self._width
        for j, s, v in zip(self._columns, self._scale, found[1], strict=True):
            direction[j] = v / s
        direction = beside(direction, self._lines)
        return HalfspaceDepth(found[0] + self._at, lower + self._at, self._n, tuple(direction), self._rays)

    def _swept(self, limit: int) -> tuple[IntArray, IntArray, int | None, IntArray]:
        """The best subset, those with a count below the limit, the least count (None: not all were seen), singular ones."""
        from .rays import Notes, sweep

        floats = np.array([[float(v) for v in point] for point in self._points])
        A = np.ascontiguousarray((floats / np.linalg.norm(floats, axis=1, keepdims=True)).T)
        d, m = A.shape
        notes = Notes.of(d, m, _NOTED, limit)
        whole = True
        for first in range(1 if d == 2 else m - (d - 2)):
            if time.perf_counter() > self._end:
                whole = False
                break
            sweep(A, np.array(self._weights, dtype=np.int64), first, notes)
        below, singular, rays, _ = notes.counts.tolist()
        self._rays = rays
        whole = whole and max(below, singular) <= _NOTED
        best = notes.best[1:] if rays else notes.best[:0]
        return best, notes.below[:below], int(notes.best[0]) if whole else None, notes.singular[:singular]

    def _completed(self, singular: IntArray) -> Iterator[list[int]]:
        """The subsets that begin with one too nearly dependent for float64, unless it is dependent: then it makes no ray."""
        d, m = len(self._columns), len(self._points)
        for row in singular.tolist():
            chosen = [k for k in row if k >= 0]
            if len(independent([self._points[k] for k in chosen])) == len(chosen):
                for rest in itertools.combinations(range(chosen[-1] + 1, m), d - 1 - len(chosen)):
                    yield [*chosen, *rest]

    def _confirmed(self, found: Found, subsets: Iterator[list[int]]) -> tuple[Found, bool]:
        """The least of exact counts, and whether all were made."""
        for k, subset in enumerate(subsets):
            if k >= _NOTED or time.perf_counter() > self._end:
                return found, False
            try:
                other = ray(self._points, self._weights, subset)
            except TooLargeError:
                return found, False
            if other is not None and other[0] < found[0]:
                found = other
        return found, True


def _power(value: Fraction) -> Fraction:
    """A power of two near a positive number."""
    return Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())
