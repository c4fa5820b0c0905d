"""Sums and products with bounds of their rounding errors, against rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from marginopt.models.rounding import dot, entropy, round_down, total, total_of_positive

NUMBERS = st.floats(-1e140, 1e140, allow_nan=False)


@settings(deadline=None, max_examples=60)
@given(st.lists(NUMBERS, max_size=40))
def test_the_error_covers_the_exact_sum(terms: list[float]) -> None:
    value = total(np.array(terms))
    assert abs(Fraction(value.value) - sum(map(Fraction, terms), Fraction(0))) <= Fraction(value.error)


@pytest.mark.parametrize("n", [249, 250, 251, 3000])
def test_few_terms_and_many(n: int) -> None:
    """Terms are summed in one way up to some number, in another beyond it; both cancel to what is left."""
    rng = np.random.default_rng(n)
    terms = rng.normal(size=n) * 10.0 ** rng.integers(-12, 12, size=n)
    terms[-1] -= terms.sum()
    value, exact = total(terms), sum(map(Fraction, terms.tolist()), Fraction(0))
    assert abs(Fraction(value.value) - exact) <= Fraction(value.error)
    assert value.error <= 1e-16 * abs(value.value) + 1e-20 * np.abs(terms).sum()


@pytest.mark.parametrize("n", [0, 1, 250, 251, 4_017, 20_001])
@pytest.mark.parametrize("scale", [1.0, 1e152])
def test_sums_of_what_is_not_negative(n: int, scale: float) -> None:
    terms = np.random.default_rng(n).random(n) ** 30 * scale
    rows, exact = total_of_positive(terms), sum(map(Fraction, terms.tolist()), Fraction(0))
    assert abs(Fraction(rows.value) - exact) <= Fraction(rows.error)
    assert rows.error <= 1e-14 * rows.value


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.floats(-1e70, 1e70), st.floats(-1e70, 1e70)), min_size=1, max_size=30))
def test_the_error_covers_the_exact_product(pairs: list[tuple[float, float]]) -> None:
    # below 1e-140 the errors of products underflow, which no bound here speaks of
    rows = [(a if abs(a) > 1e-70 else 0.0, b if abs(b) > 1e-70 else 0.0) for a, b in pairs]
    a, b = np.array(rows).T
    exact = sum((Fraction(x) * Fraction(y) for x, y in rows), Fraction(0))
    value = dot(a, b)
    assert abs(Fraction(value.value) - exact) <= Fraction(value.error)


@settings(deadline=None, max_examples=60)
@given(st.fractions(-1_000_000, 1_000_000))
def test_a_fraction_is_rounded_down(exact: Fraction) -> None:
    assert Fraction(round_down(exact)) <= exact < Fraction(math.nextafter(round_down(exact), math.inf))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("c", [1e-310, 1e-3, 66.7, 1e300])
def test_entropies_of_the_smallest_numbers_are_finite(c: float) -> None:
    a = np.array([0.0, 5e-324, 1e-320, 1e-305, 1e-300, c, 0.5 * c, np.nextafter(c, 0.0)])
    a = a[a <= c]
    values, errors = entropy(a, c)
    assert np.isfinite(values).all() and np.isfinite(errors).all() and (errors >= 0.0).all()
    smaller = np.minimum(a, c - a)
    least = np.array([b * (math.log(c) - math.log(b)) if b > 0.0 else 0.0 for b in smaller])  # without (c - b) log(c/(c - b))
    assert (values + errors >= least * (1.0 - 1e-12)).all() and (values - errors <= (least + smaller) * (1.0 + 1e-12)).all()


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("error", [0.0, 1e-9])
def test_few_terms_of_many_are_not_zero(side: int, error: float) -> None:
    """Vectors of many zeros are added up where they are not zero, whichever side these are on."""
    rng = np.random.default_rng(side)
    factors = [rng.normal(size=2000), rng.normal(size=2000) * 10.0 ** rng.integers(-9, 9, size=2000)]
    factors[side][rng.random(2000) < 0.98] = 0.0
    a, b = factors
    exact = sum((Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)), Fraction(0))
    value = dot(a, b, np.full(2000, error) if error else 0.0)
    assert abs(Fraction(value.value) - exact) <= Fraction(value.error)
    assert value.error >= error * float(np.abs(a).sum())
    assert value.error <= error * float(np.abs(a).sum()) * (1.0 + 1e-9) + 1e-15 * float(np.abs(a * b).sum())
