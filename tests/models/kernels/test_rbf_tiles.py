"""Powers of two of products of points: the polynomial's remainder, every shape, and the proved error of products with them."""

from fractions import Fraction
from math import factorial

import numba as nb
import numpy as np
import pytest

from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import RBF
from marginopt.models.kernels.panels import STRIP, PointStrips
from marginopt.models.kernels.rbf_tiles import EXP2_DOUBLE, EXP2_SINGLE, TILE_ROWS, tile_intrinsic

RNG = np.random.default_rng(7)
#: ln 2 to 60 digits.
LN2 = Fraction(693147180559945309417232121458176568075500134360255254120680, 10**60)


def two_to(r: Fraction) -> Fraction:
    return sum(((LN2 * r) ** k / factorial(k) for k in range(30)), Fraction(0))


@pytest.mark.parametrize(("coefficients", "digits"), [(EXP2_SINGLE, 24), (EXP2_DOUBLE, 53)])
def test_the_polynomial_is_within_its_remainder(coefficients, digits):
    n = len(coefficients)
    remainder = Fraction(LN2) ** n * Fraction(3, 2) / factorial(n) * 2 / 4**n
    rounding = sum(Fraction(c) * Fraction(1, 2**k) for k, c in enumerate(coefficients)) / 2**53  # the coefficients' own
    rounding = rounding - Fraction(1, 2**53)  # the first is one
    for k in range(-50, 51):
        r = Fraction(k, 100)
        value = sum((Fraction(c) * r**i for i, c in enumerate(coefficients)), Fraction(0))
        assert abs(value - two_to(r)) <= remainder + rounding
    assert remainder < Fraction(1, 2 ** (digits + 3))


def formula(Z, half, points, direct):
    exponents = points.astype(np.longdouble) @ Z.T.astype(np.longdouble) - direct[:, None] - half
    return np.exp2(np.clip(exponents, -1000.0 if Z.dtype == np.float64 else -125.0, 0.0))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "p", "m"), [(1, 1, 1), (40, 3, 13), (300, 20, 16), (33, 0, 3), (64, 7, 1)])
def test_powers_of_every_shape(kind, n, p, m):
    Z, points = RNG.standard_normal((n, p)).astype(kind), RNG.standard_normal((m, p)).astype(kind)
    half, computed = 0.5 * np.square(Z).sum(axis=1), 0.5 * np.square(points).sum(axis=1)
    expected, strips = formula(Z, half, points, computed), PointStrips(Z, half)
    for first in range(0, n, STRIP):
        for stop in {first, n, min(n, first + STRIP)}:
            out = np.full((m, stop - first), np.nan, dtype=kind)
            strips.write_powers(points, computed, first, out)
            assert np.abs(out - expected[:, first:stop]).max(initial=0.0) <= 60 * np.finfo(kind).eps


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_far_points_and_coinciding_ones(kind):
    Z = np.array([[0.0], [1.0], [30.0], [1e4]], dtype=kind)
    half, out = 0.5 * Z[:, 0] ** 2, np.empty((4, 4), dtype=kind)
    PointStrips(Z, half).write_powers(Z, half, 0, out)
    assert (np.diagonal(out) == 1.0).all()
    assert ((out[:2, 2:] >= 0.0) & (out[:2, 2:] <= 3e-38)).all()
    PointStrips(Z, half - kind(1.0)).write_powers(Z, half, 0, out)  # rounding must not bring a value above one
    assert (out <= 1.0).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_other_machines_have_other_rows_and_the_same_values(kind):
    """Two rows at once, as without AVX-512, and eight."""
    width = 128 // np.dtype(kind).itemsize
    points = RNG.standard_normal((width, 6)).astype(kind)
    points[:, 5] = 0.5 * np.square(points[:, :5]).sum(axis=1)
    items = []
    for rows in (2, 8):
        tile, out, strips = tile_intrinsic(rows), np.empty((8, width), dtype=kind), np.ascontiguousarray(points.T)[None]

        @nb.njit
        def run(points, strips, out, tile=tile, rows=rows):
            for i in range(0, 8, rows):
                tile(points, i, strips, 0, out, i, 0)

        run(points[:8].copy(), strips, out)
        items.append(out)
    assert (items[0] == items[1]).all()
    assert TILE_ROWS in (2, 8)


@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_products_are_within_their_proved_error(shift, scale):
    """Points far from the origin and of very different norms, beside extended precision."""
    X = RNG.standard_normal((1500, 4)) * scale * np.exp(RNG.standard_normal((1500, 1))) + shift
    a = RNG.standard_normal(1500) * (RNG.random(1500) < 0.97)
    gram = KernelGram(X, RBF(0.4 / scale), offset=1.0, ridge=0.5)
    long, exact = X.astype(np.longdouble), np.zeros(1500, dtype=np.longdouble)
    for i in np.flatnonzero(a):
        exact += a[i] * (np.exp(-np.longdouble(0.4 / scale) * np.square(long - long[i]).sum(axis=1)) + 1.0)
    error = np.abs(gram.product(a) - (exact + 0.5 * a))
    assert (error <= gram.product_error(a)).all()
    assert np.count_nonzero(a) * 1500 > 2_000_000  # the compiled path
