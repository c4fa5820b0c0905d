"""Numbers with a bound of their rounding error: what certificates are computed in.

Every operation of float64 is exact up to a relative error u = 2⁻⁵³, so a sum of n terms in any order is off by at most
γ_n = nu/(1 - nu) times the sum of their absolute values (Higham, *Accuracy and Stability of Numerical Algorithms*, ch. 3). That
a-priori bound is what products with a matrix get. Where digits cancel, sums and inner products are split without error
(TwoSum of Knuth, TwoProduct of Dekker), which leaves u times the *result* and γ_n² times the absolute sum: Ogita, Rump and
Oishi, *Accurate sum and dot product* (2005). Nothing here depends on fused operations, on extended precision or on the order in
which a library sums. Numbers so small that products underflow (below 1e-146) are not covered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .arrays import FloatArray

__all__ = [
    "UNIT",
    "Rounded",
    "below",
    "dot",
    "gamma",
    "total",
    "total_of_positive",
    "transposed_product",
    "two_product",
    "two_sum",
]

#: Relative error of one operation.
UNIT = 2.0**-53
_SPLITTER = 2.0**27 + 1.0
#: Larger numbers overflow when they are split; their inner products get the a-priori bound.
_LARGE = 1e150
#: Terms up to which Python's exact sum is faster than the tree's passes.
_FEW = 250
#: Entries of a matrix that are split at once: 8 MB.
_AT_ONCE = 1_000_000


def below(exact: Fraction) -> float:
    """The largest number of float64 that is not above: a lower bound that was found as a fraction."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


def gamma(n: int) -> float:
    """γ_n = nu/(1 - nu), for n + 2 operations: the bound itself is computed in floating point."""
    nu = (n + 2) * UNIT
    return nu / (1.0 - nu)


@dataclass(frozen=True)
class Rounded:
    """A real number that is within ``error`` of ``value``."""

    value: float
    error: float = 0.0

    @property
    def lower(self) -> float:
        """No more than the number."""
        return float(np.nextafter(self.value - self.error, -np.inf)) if self.error > 0.0 else self.value

    @property
    def upper(self) -> float:
        """No less than the number."""
        return float(np.nextafter(self.value + self.error, np.inf)) if self.error > 0.0 else self.value

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.error)

    def __add__(self, other: Rounded) -> Rounded:
        value = self.value + other.value
        return Rounded(value, (self.error + other.error + UNIT * abs(value)) * (1.0 + 4.0 * UNIT))

    def __sub__(self, other: Rounded) -> Rounded:
        return self + (-other)

    def times(self, factor: float) -> Rounded:
        """The product with an exact factor."""
        value = self.value * factor
        return Rounded(value, (abs(factor) * self.error + UNIT * abs(value)) * (1.0 + 4.0 * UNIT))


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a + b = sum + error without rounding."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a·b = product + error without rounding, for numbers below 1e150."""
    product = a * b
    (a1, a2), (b1, b2) = _split(a), _split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def total(terms: FloatArray) -> Rounded:
    """Σ terms: rounded once where they are few; else the roundings of a tree of additions are kept and added at the end."""
    partial = np.asarray(terms, dtype=np.float64).ravel()
    if partial.size <= _FEW and float(np.abs(partial).max(initial=0.0)) < _LARGE:
        value = math.fsum(partial.tolist())
        return Rounded(value, UNIT * abs(value))
    lost, size = np.zeros(partial.size), 0
    while partial.size > 1:
        half = partial.size // 2
        sums, errors = two_sum(partial[:half], partial[half : 2 * half])
        lost[size : size + half] = errors
        size += half
        partial = np.concatenate([sums, partial[2 * half :]])
    return _with_corrections(float(partial[0]), lost[:size])


def total_of_positive(terms: FloatArray) -> Rounded:
    """Σ terms, none of which is negative: sums of 16 at a time in any order, and of these again, so that γ is of their depth.

    A tenth of `total`'s time. Where nothing cancels its error is a few units of the result, not half of one.
    """
    partial, depth = np.asarray(terms, dtype=np.float64).ravel(), 0
    while partial.size > _FEW:
        width = partial.size // 16
        whole = partial[: 16 * width].reshape(16, width).sum(axis=0)
        partial, depth = np.concatenate([whole, partial[16 * width :]]), depth + 16
    sum_and_error = total(partial)
    return Rounded(sum_and_error.value, (sum_and_error.error + gamma(depth) * sum_and_error.value) * (1.0 + 4.0 * UNIT))


def dot(a: FloatArray, b: FloatArray, error: FloatArray | float = 0.0) -> Rounded:
    """a'b; ``error`` bounds the error that every b_i comes with."""
    a, b = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    exact = isinstance(error, float) and error == 0.0
    error = np.broadcast_to(error, a.shape)
    if a.size > _FEW:  # a few support vectors of many points: zeros add nothing, and nothing to the error
        fewer = a if not exact or np.count_nonzero(a) <= np.count_nonzero(b) else b
        if 4 * np.count_nonzero(fewer) < a.size:
            held = np.flatnonzero(fewer)
            a, b, error = a[held], b[held], error[held]
    given = 0.0 if exact else float(np.abs(a) @ error)
    given *= 1.0 + gamma(a.size)
    largest = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    if not largest < _LARGE:
        return Rounded(float(a @ b), gamma(a.size) * float(np.abs(a) @ np.abs(b)) + given)
    products, errors = two_product(a, b)
    leading = total(products)
    rest = float(errors.sum())
    value = leading.value + rest
    bound = leading.error + UNIT * abs(value) + gamma(a.size) * float(np.abs(errors).sum()) + given
    return Rounded(value, bound * (1.0 + 8.0 * UNIT))


def transposed_product(A: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A'x with a bound of the error of every entry, split without error as in `dot`: digits that cancel are kept."""
    a, x = np.asarray(A, dtype=np.float64), np.asarray(x, dtype=np.float64)
    largest = max(float(np.abs(a).max(initial=0.0)), float(np.abs(x).max(initial=0.0)))
    if not largest < _LARGE or not x.size:
        return np.asarray(a.T @ x), gamma(x.size) * (np.abs(a).T @ np.abs(x))
    value, error = np.zeros(a.shape[1]), np.zeros(a.shape[1])
    width = max(1, _AT_ONCE // x.size)
    for start in range(0, a.shape[1], width):
        part = slice(start, start + width)
        sums, lost = two_product(a[:, part], x[:, None])
        small, size = lost.sum(axis=0), np.abs(lost).sum(axis=0)
        while sums.shape[0] > 1:
            half = sums.shape[0] // 2
            pairs, lost = two_sum(sums[:half], sums[half : 2 * half])
            small, size = small + lost.sum(axis=0), size + np.abs(lost).sum(axis=0)
            sums = np.concatenate([pairs, sums[2 * half :]])
        value[part] = sums[0] + small
        error[part] = (UNIT * np.abs(value[part]) + gamma(2 * x.size + 64) * size) * (1.0 + 8.0 * UNIT)
    return value, error


def _split(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def _with_corrections(leading: float, lost: FloatArray) -> Rounded:
    value = leading + float(lost.sum())
    return Rounded(value, (UNIT * abs(value) + gamma(lost.size) * float(np.abs(lost).sum())) * (1.0 + 8.0 * UNIT))
