"""The error allowed for a radial kernel's entries: a bound wherever the points are, which does not grow with γ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models import RBF, L2SVMDual
from marginopt.models.kernels.further_kernels import Mixture, RationalQuadratic
from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import gamma_by_rule
from marginopt.solvers import solve
from marginopt.solvers.records import Status

RNG = np.random.default_rng(5)
GRID = RNG.integers(0, 1024, size=(12, 3)) / 1024
GRID[5] = GRID[2]  # equal points
SIGNS = np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
KERNELS: list[tuple[Callable[[float], Any], Callable[[float, Any], Any]]] = [
    (RBF, lambda g, d: np.exp(-g * d)),
    (lambda g: RationalQuadratic(g, 2.0), lambda g, d: (1 + g * d / 2) ** -2),
    (lambda g: Mixture(RBF(g), RBF(2 * g), 0.25), lambda g, d: 0.75 * np.exp(-g * d) + 0.25 * np.exp(-2 * g * d)),
]


@pytest.mark.parametrize("points", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3, 1e6, 1e12, 1e18])
@pytest.mark.parametrize("which", range(3), ids=["rbf", "rational-quadratic", "mixture"])
def test_products_are_within_their_error(which: int, gamma: float, offset: float, points: Any) -> None:
    make, exact = KERNELS[which]
    X = (GRID + offset).astype(np.longdouble)
    K = exact(gamma, ((X[:, None] - X[None]) ** 2).sum(axis=-1)) * np.outer(SIGNS, SIGNS)
    gram = KernelGram(points(GRID + offset), make(gamma), signs=SIGNS)
    a = RNG.random(12)
    error = gram.product_error(a)
    assert (np.abs(K @ a.astype(np.longdouble) - gram.product(a)) <= error).all()
    assert error.max() < 1e-7
    everyone = np.arange(12)
    np.testing.assert_allclose(gram.columns(everyone), K.astype(float), atol=1e-9)
    np.testing.assert_allclose(gram.block(everyone, everyone), K.astype(float), atol=1e-9)


@pytest.mark.parametrize("gamma", [1e6, 1e12, 1e16])
def test_the_unit_matrix_is_known_to_the_last_bits(gamma: float) -> None:
    Z, y = np.array([[0.1], [0.7], [0.35], [0.9]]), np.array([1.0, -1, 1, -1])
    result = solve(L2SVMDual(Z, y, C=1.0, kernel=RBF(gamma)))
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(0.25, rel=1e-14)
    assert result.gap < 1e-12


def test_the_rule_scale_sees_no_offset() -> None:
    for rows in (GRID + 1e8, sp.csr_array(GRID + 1e8)):
        assert gamma_by_rule("scale", rows) == pytest.approx(1.0 / (3 * GRID.var()), rel=1e-6)
