"""Sums of rows of the checkers enclose the sums in rational arithmetic, by few units in the last place."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from marginopt.solvers.exact.check.arithmetic import row_sums_down, row_sums_up


@pytest.mark.parametrize(("columns", "spread"), [(0, 1), (1, 1), (3, 1), (5, 30), (8, 300)])
def test_row_sums_enclose_the_exact_sums(columns: int, spread: int) -> None:
    rng = np.random.default_rng(columns)
    x = rng.normal(size=(200, columns)) * 10.0 ** rng.integers(-spread, spread + 1, size=(200, columns)).clip(-300, 300)
    x[rng.random(x.shape) < 0.2] = 0.0
    x[:50, columns // 2 :] = -x[:50, : columns - columns // 2]  # terms cancel
    low, high = row_sums_down(x), row_sums_up(x)
    for row, a, b in zip(x.tolist(), low.tolist(), high.tolist(), strict=True):
        exact = sum(map(Fraction, row), Fraction(0))
        assert Fraction(a) <= exact <= Fraction(b)
        size = float(sum(map(abs, map(Fraction, row)), Fraction(0)))
        assert b - a <= 4.0 * max(columns, 1) * (np.spacing(size) + 5e-324)


def test_sums_beyond_the_largest_number_are_no_bound_on_the_wrong_side() -> None:
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        assert row_sums_down(np.array([[largest, largest]]))[0] <= largest
        assert row_sums_up(np.array([[largest, largest]]))[0] == np.inf
        assert row_sums_down(np.array([[-largest, -largest]]))[0] == -np.inf
