"""The compiled RBF columns and products agree with the kernel's formula to the last digits of their precision."""

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import RBF
from marginopt.models.kernels.rbf import RBFExponents

RNG = np.random.default_rng(3)
N = 700  # more than one block of 512, and no multiple of a block
X = RNG.normal(size=(N, 5)) * (RNG.random((N, 5)) < 0.6)


@pytest.mark.parametrize("gamma", [1e-6, 0.2, 30.0])
@pytest.mark.parametrize("points", [X, X + 100.0, sp.csr_array(X)], ids=["dense", "far", "sparse"])
def test_products_and_columns(gamma, points):
    K = RBF(gamma).matrix(X, X)
    exponents = RBFExponents.of(RBF(gamma), points)
    weights = RNG.normal(size=N) * (RNG.random(N) < 0.5)
    product = exponents.product(weights)
    assert product == pytest.approx(K @ weights, abs=1e-13 * np.abs(weights).sum())
    signs = np.where(RNG.random(N) < 0.5, -1.0, 1.0).astype(np.float32)
    chosen = np.array([5, 699, 0, 511])
    expected = 2.0 * (signs[chosen][:, None] * signs) * (K[chosen] + 0.5)
    store = np.full((4, N), np.nan, dtype=np.float32)
    block = exponents.single_rows(chosen, signs, 0.5, 2.0, store)
    # a float32 exponent is a sum of 5 products and two halved squares of z, each at most max ||z||² = 2γ log₂e max ||x||²
    size = 2.0 * gamma * np.log2(np.e) * np.square(X - (0.0 if sp.issparse(points) else X.mean(axis=0))).sum(axis=1).max()
    assert np.abs(store - expected).max() <= 2.0 * (np.log(2.0) * (5 + 2) * 2.0**-24 * size + 4 * 2.0**-24)
    assert block is store
    assert exponents.single_rows(chosen[:1], signs, 0.5, 2.0) == pytest.approx(store[:1], abs=1e-5 * max(1.0, gamma))


def test_far_points_give_zero_not_a_wrong_power():
    points = np.array([[0.0], [1.0], [30.0], [1e3]])
    exponents = RBFExponents.of(RBF(1.0), points)
    assert exponents.product(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(
        np.array([1.0, np.exp(-1.0), 0.0, 0.0]), rel=1e-9, abs=1e-300
    )
    single = exponents.single_rows(np.array([0, 3]), np.ones(4, dtype=np.float32), 0.0, 1.0)
    assert single[0, 2:] == pytest.approx([0.0, 0.0], abs=1e-37)


def test_a_large_product_is_the_compiled_one_and_equals_the_small():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1600, 3))
    y = np.where(points[:, 0] > 0, 1.0, -1.0)
    a = rng.random(1600)
    gram = KernelGram(points, RBF(0.3), y, offset=1.0, ridge=0.1)
    assert gram.product(a) == pytest.approx(gram.dense @ a, rel=1e-11, abs=1e-9)
    few = np.where(np.arange(1600) < 900, a, 0.0)
    assert gram.product(few) == pytest.approx(gram.dense @ few, rel=1e-11, abs=1e-9)
