"""Floating-point sums, products, exponentials and logarithms with bounds of their rounding errors, for certificates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from .arrays import FloatArray, Points

#: The unit roundoff of float64: the largest relative error of one operation.
UNIT = 2.0**-53
_SPLITTER = 2.0**27 + 1.0
#: Larger numbers overflow when they are split; their inner products get the a-priori bound.
_LARGE = 1e150
#: Terms up to which Python's exact sum is faster than the tree's passes.
_FEW = 250
#: Entries of a matrix that are split at once: 8 MB.
_AT_ONCE = 1_000_000
#: Share of x'Px from which the rounding error of a plain product Px is worth sums that keep their roundings; and the number of
#: stored entries of P up to which these are taken.
_CANCELS, _MOST_ENTRIES = 1e-9, 10_000_000


def round_down(exact: Fraction) -> float:
    """Return the largest float64 that is not above an exact number: for lower bounds that are fractions."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


@lru_cache(maxsize=4096)  # a certificate asks for the same few n again and again
def gamma(n: int) -> float:
    """Return γ_{n+2} = (n+2)u/(1 - (n+2)u), u the unit roundoff; the 2 more cover the roundings of the bound itself."""
    nu = float((n + 2) * UNIT)
    return nu / (1.0 - nu)


@dataclass(frozen=True)
class Rounded:
    """A real number that is within ``error`` of ``value``."""

    value: float
    error: float = 0.0

    @property
    def lower(self) -> float:
        """Return a lower bound of the number."""
        return float(np.nextafter(self.value - self.error, -np.inf)) if self.error > 0.0 else self.value

    @property
    def upper(self) -> float:
        """Return an upper bound of the number."""
        return float(np.nextafter(self.value + self.error, np.inf)) if self.error > 0.0 else self.value

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.error)

    def __add__(self, other: Rounded) -> Rounded:
        value = self.value + other.value
        return Rounded(value, (self.error + other.error + UNIT * abs(value)) * (1.0 + 4.0 * UNIT))

    def __sub__(self, other: Rounded) -> Rounded:
        return self + (-other)

    def times(self, factor: float) -> Rounded:
        """Return the product with an exact factor."""
        value = self.value * factor
        return Rounded(value, (abs(factor) * self.error + UNIT * abs(value)) * (1.0 + 4.0 * UNIT))


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a + b as sum + error without rounding."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a·b as product + error without rounding, for numbers below 1e150."""
    product = a * b
    (a1, a2), (b1, b2) = _split(a), _split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def total(terms: FloatArray) -> Rounded:
    """Return Σ terms with its error bound: one rounding for up to 250 terms below 1e150, else a tree of additions that keeps
    their roundings.
    """
    partial = np.asarray(terms, dtype=np.float64).ravel()
    if partial.size <= _FEW and float(np.abs(partial).max(initial=0.0)) < _LARGE:
        value = math.fsum(partial.tolist())
        return Rounded(value, UNIT * abs(value))
    errors_so_far, size = np.zeros(partial.size), 0
    while partial.size > 1:
        half = partial.size // 2
        sums, errors = two_sum(partial[:half], partial[half : 2 * half])
        errors_so_far[size : size + half] = errors
        size += half
        partial = np.concatenate([sums, partial[2 * half :]])
    corrections = errors_so_far[:size]
    value = float(partial[0]) + float(corrections.sum())
    return Rounded(value, (UNIT * abs(value) + gamma(size) * float(np.abs(corrections).sum())) * (1.0 + 8.0 * UNIT))


def total_of_positive(terms: FloatArray) -> Rounded:
    """Return Σ terms ≥ 0 with its error bound: sums of 16 terms, sums of 16 of these, ..., so that γ is of the tree's depth.

    It takes a tenth of `total`'s time. As no terms cancel, its error is a few units of the result, where that of `total` is half.
    """
    partial, depth = np.asarray(terms, dtype=np.float64).ravel(), 0
    while partial.size > _FEW:
        width = partial.size // 16
        sums = partial[: 16 * width].reshape(16, width).sum(axis=0)
        partial, depth = np.concatenate([sums, partial[16 * width :]]), depth + 16
    sum_and_error = total(partial)
    return Rounded(sum_and_error.value, (sum_and_error.error + gamma(depth) * sum_and_error.value) * (1.0 + 4.0 * UNIT))


def dot(a: FloatArray, b: FloatArray, error: FloatArray | float = 0.0) -> Rounded:
    """Return a'b with its error bound; ``error`` bounds the error that each b_i comes with."""
    a, b = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    exact = isinstance(error, float) and error == 0.0
    error = np.broadcast_to(error, a.shape)
    if a.size > _FEW:  # a few support vectors of many points: zeros add nothing, and nothing to the error
        fewer = a if not exact or np.count_nonzero(a) <= np.count_nonzero(b) else b
        if 4 * np.count_nonzero(fewer) < a.size:
            nonzero = np.flatnonzero(fewer)
            a, b, error = a[nonzero], b[nonzero], error[nonzero]
    input_error = 0.0 if exact else float(np.abs(a) @ error)
    input_error *= 1.0 + gamma(a.size)
    largest = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    if not largest < _LARGE:
        return Rounded(float(a @ b), gamma(a.size) * float(np.abs(a) @ np.abs(b)) + input_error)
    products, errors = two_product(a, b)
    leading = total(products)
    error_sum = float(errors.sum())
    value = leading.value + error_sum
    bound = leading.error + UNIT * abs(value) + gamma(a.size) * float(np.abs(errors).sum()) + input_error
    return Rounded(value, bound * (1.0 + 8.0 * UNIT))


def transposed_product(A: Points, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A'x and bounds of its entries' errors; products are split without error as in `dot`: digits that cancel are kept."""
    x = np.asarray(x, dtype=np.float64)
    if sp.issparse(A):
        return _sparse_transposed_product(A, x)
    a = np.asarray(A, dtype=np.float64)
    largest = max(float(np.abs(a).max(initial=0.0)), float(np.abs(x).max(initial=0.0)))
    if not largest < _LARGE or not x.size:
        return np.asarray(a.T @ x), gamma(x.size) * (np.abs(a).T @ np.abs(x))
    value, error = np.zeros(a.shape[1]), np.zeros(a.shape[1])
    width = max(1, _AT_ONCE // x.size)
    for start in range(0, a.shape[1], width):
        part = slice(start, start + width)
        sums, errors = two_product(a[:, part], x[:, None])
        small, size = errors.sum(axis=0), np.abs(errors).sum(axis=0)
        while sums.shape[0] > 1:
            half = sums.shape[0] // 2
            pairs, errors = two_sum(sums[:half], sums[half : 2 * half])
            small, size = small + errors.sum(axis=0), size + np.abs(errors).sum(axis=0)
            sums = np.concatenate([pairs, sums[2 * half :]])
        value[part] = sums[0] + small
        error[part] = (UNIT * np.abs(value[part]) + gamma(2 * x.size + 64) * size) * (1.0 + 8.0 * UNIT)
    return value, error


def _sparse_transposed_product(A: sp.csr_array, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A'x of a sparse matrix by exact sums of the products of each column, and bounds of its entries' errors."""
    columns = sp.csc_array(A)
    largest = max(float(np.abs(columns.data).max(initial=0.0)), float(np.abs(x).max(initial=0.0)))
    if not largest < _LARGE:
        return np.asarray(columns.T @ x), gamma(x.size) * np.asarray(abs(columns).T @ np.abs(x))
    terms = np.stack(two_product(columns.data, x[columns.indices]), axis=1).ravel().tolist()
    ends = (2 * columns.indptr).tolist()
    value = np.array([math.fsum(terms[start:end]) for start, end in pairwise(ends)])
    return value, UNIT * np.abs(value)


def cancels(x: FloatArray, product: FloatArray, error: FloatArray, entries: int) -> bool:
    """Return whether the terms of x'(Px) cancel so far that Px should be summed again with its roundings.

    ``error`` bounds the errors of ``product``; P is stored in ``entries`` numbers.
    """
    return entries <= _MOST_ENTRIES and not float(np.abs(x) @ error) <= _CANCELS * abs(float(x @ product))


def _split(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


#: log 2 as the sum of a number with few digits, whose small multiples are exact, and the rest.
_HI, _LO = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
#: Interval of x on which e^x is computed.
_LEAST, _MOST = -700.0, 709.0
#: Relative error of e^x and of log(1 + t).
_EXPONENTIAL, _ONE_PLUS = 64.0 * UNIT, 48.0 * UNIT
#: Share of c below which an entropy's argument a, or c - a, is too small for c/a to be a number of float64.
_NEGLIGIBLE = 2.0**-1000
#: Coefficients of the series of e^x, and of artanh(f)/f in f², the highest power first.
_TAYLOR = tuple(1.0 / math.factorial(i) for i in range(13, -1, -1))
_ODD = tuple(1.0 / (2 * i + 1) for i in range(17, -1, -1))


def exponential(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return e^x and the bound of its error; below -700 the value is 0, above 709 both are infinite."""
    x = np.asarray(x, dtype=np.float64)
    clipped = np.clip(x, _LEAST, _MOST)
    k = np.rint(clipped * (1.0 / math.log(2.0)))
    r = (clipped - k * _HI) - k * _LO
    value = np.ldexp(_horner(_TAYLOR, r), k.astype(np.int64))
    low, high = x < _LEAST, x > _MOST
    error = np.where(low, 1e-304, np.where(high, np.inf, _EXPONENTIAL * value))
    return np.where(low, 0.0, np.where(high, np.inf, value)), error


def logarithm(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log x of x > 0 and the bound of its error; of zero -∞, exactly."""
    x = np.asarray(x, dtype=np.float64)
    positive = (x > 0.0) & (x < np.inf)
    m, e = np.frexp(np.where(positive, x, 1.0))
    small = m < math.sqrt(0.5)
    m, e = np.where(small, 2.0 * m, m), np.where(small, e - 1, e).astype(np.float64)
    f = (m - 1.0) / (m + 1.0)
    fraction = 2.0 * f * _horner(_ODD[6:], f * f)
    value = e * _HI + (fraction + e * _LO)
    error = UNIT * (34.0 * np.abs(fraction) + 2.0 * np.abs(value)) + 2.0**-80 * np.abs(e)
    return np.where(positive, value, np.where(x == np.inf, np.inf, -np.inf)), np.where(positive, error, 0.0)


def logarithm_of_one_plus(t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(1 + t) of 0 ≤ t ≤ 1 and the bound of its error."""
    t = np.asarray(t, dtype=np.float64)
    f = t / (2.0 + t)
    value = 2.0 * f * _horner(_ODD, f * f)
    return value, _ONE_PLUS * value


def softplus(v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(1 + e^v) = max(v, 0) + log(1 + e^-|v|) and the bound of its error."""
    v = np.asarray(v, dtype=np.float64)
    power, _ = exponential(-np.abs(v))
    tail, _ = logarithm_of_one_plus(power)
    value = np.maximum(v, 0.0) + tail
    return value, UNIT * np.abs(value) + 2.0 * (_EXPONENTIAL + _ONE_PLUS) * tail + 1e-300


def entropy(a: FloatArray, c: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Return a log(c/a) + (c - a) log(c/(c - a)) of 0 ≤ a ≤ c and the bound of its error: c times the entropy of a/c, ≥ 0.

    With b = min(a, c - a) it is b log(c/b) + (c - b) log(1 + b/(c - b)), whose terms are positive and relatively exact to 1e-14.
    """
    a, c = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(c, dtype=np.float64))
    b = np.minimum(a, c - a)
    inner = b > c * _NEGLIGIBLE  # elsewhere c/b may overflow, and the entropy is less than 2000 b
    smallest, b, size = np.maximum(b, 0.0), np.where(inner, b, 1.0), np.where(inner, c, 2.0)
    first, first_error = logarithm(size / b)
    second, _ = logarithm_of_one_plus(np.minimum(b / (size - b), 1.0))
    value = b * first + (size - b) * second
    # c - a, c/b, c - b and b/(c - b) are rounded once each: this changes log(c/b) by at most 2u, and b by at most u b
    error = b * (first_error + 8.0 * UNIT * (1.0 + np.abs(first))) + (size - b) * (2.0 * _ONE_PLUS * second)
    return np.where(inner, value, 0.0), np.where(inner, error * (1.0 + 1e-9) + 4.0 * UNIT * value, 2000.0 * smallest)


def _horner(coefficients: tuple[float, ...], x: FloatArray) -> FloatArray:
    """Return the polynomial with these coefficients, the highest power first."""
    value = np.full(np.shape(x), coefficients[0])
    for c in coefficients[1:]:
        value = value * x + c
    return value
