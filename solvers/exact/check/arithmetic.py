"""Arithmetic of the proof checkers with guaranteed directions of rounding: outward-rounded floats, exact sums, rational numbers.

"Rounded down" (up) means a float64 that is at most (at least) the exact result. A *log* is the proof that an exact search has
written; T is the matrix of the rotated coordinates v, w = T v, in which it states its boxes.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

#: A float64 array.
Array = npt.NDArray[np.float64]


class InvalidProofError(Exception):
    """The log does not prove its claim; the message says why."""


def round_up(x: Any) -> Any:
    """Return the next float64 above each entry."""
    return np.nextafter(x, np.inf)


def round_down(x: Any) -> Any:
    """Return the next float64 below each entry."""
    return np.nextafter(x, -np.inf)


def sum_down(x: Array) -> float:
    """Return Σx, rounded down."""
    return math.nextafter(math.fsum(x.tolist()), -math.inf)


def sum_up(x: Array) -> float:
    """Return Σx, rounded up."""
    return math.nextafter(math.fsum(x.tolist()), math.inf)


def row_sums_down(x: Array) -> Array:
    """Return the sum of each row, rounded down: column after column, since rows are many and short."""
    return np.asarray(reduce(lambda total, column: round_down(total + column), x.T, np.zeros(len(x))))


def row_sums_up(x: Array) -> Array:
    """Return the sum of each row, rounded up."""
    return -row_sums_down(-x)


def segment_sums(rows: Array, sizes: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the sums of consecutive segments of rows, ``sizes`` rows in each, and bounds on their rounding errors.

    Each entry of ``rows`` is a rounded product, and the error is against the exact sum of the exact products. For k products it
    is at most k 2^-53 times the sum of their absolute values, plus k 2^-1075 for underflow. The bound returned is twice that.
    """
    run, count = np.repeat(np.arange(len(sizes)), sizes), sizes[:, None].astype(np.float64)
    sums, reach = (
        np.array([np.bincount(run, column, len(sizes)) for column in parts.T], float).reshape(-1, len(sizes)).T
        for parts in (rows, np.abs(rows))
    )
    return sums, round_up(round_up(count * 2.0**-52 * reach) + count * 2.0**-1074)


def ceil_to_float(exact: Fraction) -> float:
    """Return the least float64 that is not below the fraction."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


#: Largest absolute exponent of multipliers, so that each of them is 0 or a normal float64.
_LARGEST_EXPONENT = 900


def decode_multipliers(exponent: Any, text: Any, count: int) -> Array:
    """Return multipliers from their text in a log record: ``count`` integers of four bytes in base 64, times 2^exponent."""
    numbers, power = np.frombuffer(base64.b64decode(text, validate=True), dtype="<i4"), int(exponent)
    if numbers.shape != (count,) or abs(power) > _LARGEST_EXPONENT or (numbers < 0).any():
        raise InvalidProofError("the multipliers of a record are invalid")
    return np.ldexp(numbers.astype(np.float64), power)


@dataclass(frozen=True)
class RationalPoint:
    """A point of rational coordinates, for the exact evaluation of a log's incumbent w."""

    coordinates: tuple[Fraction, ...]

    @classmethod
    def of(cls, w: Sequence[float], size: int) -> RationalPoint:
        """Return the point of a log's list of finite numbers; raise InvalidProofError unless it has ``size`` entries."""
        if len(w) != size:
            raise InvalidProofError("the incumbent has the wrong length")
        return cls(tuple(Fraction(float(x)) for x in w))

    def product(self, row: Iterable[float]) -> Fraction:
        """Return the inner product row'w."""
        return sum((Fraction(a) * x for a, x in zip(row, self.coordinates, strict=True)), Fraction(0))

    def product_and_size(self, row: Iterable[float]) -> tuple[Fraction, Fraction]:
        """Return row'w and Σ_j |row_j w_j|."""
        terms = [Fraction(a) * x for a, x in zip(row, self.coordinates, strict=True)]
        return sum(terms, Fraction(0)), sum(map(abs, terms), Fraction(0))

    def square(self, weights: Iterable[float]) -> Fraction:
        """Return Σ_j weight_j w_j²."""
        return sum((Fraction(d) * x * x for d, x in zip(weights, self.coordinates, strict=True)), Fraction(0))


def gram_eigenvalue_bound(T: Array) -> float:
    """Return σ > 0 with ||T v||² ≥ σ||v||² for all v: Gershgorin's lower bound of the eigenvalues of T'T, rounded down.

    The bound is computed in rational arithmetic; it is 1 for a matrix T without columns. Raise InvalidProofError if the bound is
    not positive, since T may then be singular.
    """
    k = T.shape[1]
    columns = [[Fraction(x) for x in T[:, j].tolist()] for j in range(k)]
    curvature: Fraction | None = None
    for i in range(k):
        row = [sum((a * b for a, b in zip(columns[i], columns[j], strict=True)), Fraction(0)) for j in range(k)]
        reach = row[i] - sum((abs(x) for j, x in enumerate(row) if j != i), Fraction(0))
        curvature = reach if curvature is None else min(curvature, reach)
    if curvature is None:
        return 1.0
    if curvature <= 0:
        raise InvalidProofError("T is not close enough to a multiple of a rotation")
    sigma = float(curvature)
    return sigma if Fraction(sigma) <= curvature else math.nextafter(sigma, 0.0)


def rotate_rows(rows: Array, T: Array) -> tuple[Array, Array]:
    """Return T'a_i for each row a_i of ``rows`` as float64, and bounds on the error of each entry, from rational arithmetic."""
    columns = [[Fraction(x) for x in T[:, j].tolist()] for j in range(T.shape[1])]
    g, radius = np.zeros(rows.shape), np.zeros(rows.shape)
    for i, row in enumerate(rows.tolist()):
        exact_row = [Fraction(x) for x in row]
        for j, column in enumerate(columns):
            exact = sum((a * t for a, t in zip(exact_row, column, strict=True)), Fraction(0))
            g[i, j] = float(exact)
            radius[i, j] = round_up(float(abs(exact - Fraction(float(g[i, j])))))
    return g, radius
