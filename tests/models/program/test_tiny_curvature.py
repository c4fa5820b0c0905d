"""Curvature of matrices whose entries are near the end of float64's range."""

from __future__ import annotations

import numpy as np
import pytest

from marginopt.models.program.quadratic import curvature_bounds, matrix_convexity


@pytest.mark.parametrize("size", [1.0, 1e-290, 1e-303, 1e-310, 1e-323])
@pytest.mark.parametrize("order", [4, 20])
def test_tiny_diagonals_are_no_overflow(size: float, order: int) -> None:
    """The square of the scale that brings 1e-310 to one is infinite: that was a RuntimeWarning, and a bound of zero."""
    A = np.random.default_rng(0).normal(size=(order, order + 2))
    P = A @ A.T * size
    curvature = matrix_convexity(P)
    assert curvature.is_proved or size < 1e-300  # the last digits are gone there
    computed = curvature_bounds(P, np.ones(order, dtype=bool))
    if computed is not None:
        least, _ = computed
        assert (least > 0).all()
        assert np.linalg.eigvalsh(P / size - np.diag(least) / size)[0] >= -1e-9
    assert size < 1e-300 or computed is not None
