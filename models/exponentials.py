"""Exponential and logarithm with proved bounds of their error, from additions, products and quotients of float64 alone.

Libraries state no proved error of their ``exp`` and ``log``, and these differ among processors. Here every function returns its
value and a bound of |value - exact|. u = 2⁻⁵³; the bounds hold for results that do not underflow.

*Exponential.* x = k ln 2 + r, |r| ≤ 0.35, with ln 2 = HI + LO: k·HI is exact (HI has 21 zero bits at its end) and so is x - k·HI,
so that r errs by 0.36u at most. Taylor's polynomial of degree 13 leaves 0.35¹⁴ e^0.35/14! < 0.1u; Horner's rule errs by
γ_26 Σ|r|ⁱ/i! ≤ 26.1u e^0.35 (Higham, *Accuracy and Stability of Numerical Algorithms*, section 5.1), the coefficients by u each.
Relative to e^r ≥ e^-0.35 the sum is below 57u; multiplication by 2ᵏ is exact.

*Logarithm.* x = m 2ᵉ, √½ ≤ m < √2, and log m = 2 artanh f = 2f Σ f²ⁱ/(2i + 1), f = (m - 1)/(m + 1), |f| < 0.1716. m - 1 is exact,
so f has a relative error of 2.1u; twelve terms leave 10⁻¹⁹ of the sum; all are positive, so Horner's rule errs by γ_24 of it.
Altogether log m errs by less than 32u |log m|, and e·HI + (log m + e·LO) adds one rounding of each sum.

*log(1 + t)*, 0 ≤ t ≤ 1, is the same series in f = t/(2 + t) ≤ 1/3 with 18 terms: relatively within 48u.
"""

from __future__ import annotations

import math

import numpy as np

from .arrays import FloatArray
from .rounding import UNIT

__all__ = ["entropy", "exponential", "logarithm", "logarithm_of_one_plus", "softplus"]

_HI, _LO = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
_LEAST, _MOST = -700.0, 709.0
#: Relative error of e^x and of log(1 + t).
_EXPONENTIAL, _ONE_PLUS = 64.0 * UNIT, 48.0 * UNIT
_TAYLOR = tuple(1.0 / math.factorial(i) for i in range(13, -1, -1))
_ODD = tuple(1.0 / (2 * i + 1) for i in range(17, -1, -1))


def exponential(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return e^x and the bound of its error; below -700 the value is 0, above 709 both are infinite."""
    x = np.asarray(x, dtype=np.float64)
    held = np.clip(x, _LEAST, _MOST)
    k = np.rint(held * (1.0 / math.log(2.0)))
    r = (held - k * _HI) - k * _LO
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
    inner = b > 0.0
    b, size = np.where(inner, b, 1.0), np.where(inner, c, 2.0)
    first, first_error = logarithm(size / b)
    second, _ = logarithm_of_one_plus(np.minimum(b / (size - b), 1.0))
    value = b * first + (size - b) * second
    # c - a, c/b, c - b and b/(c - b) are rounded once each: log(c/b) moves by 2u of its own, and b by u of itself
    error = b * (first_error + 8.0 * UNIT * (1.0 + np.abs(first))) + (size - b) * (2.0 * _ONE_PLUS * second)
    return np.where(inner, value, 0.0), np.where(inner, error * (1.0 + 1e-9) + 4.0 * UNIT * value, 0.0)


def _horner(coefficients: tuple[float, ...], x: FloatArray) -> FloatArray:
    """Return the polynomial with these coefficients, the highest power first."""
    value = np.full(np.shape(x), coefficients[0])
    for c in coefficients[1:]:
        value = value * x + c
    return value
