"""Rows of XX' for sparse data: by features and by dense blocks, the same numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models.kernels.float32 import SparseProducts
from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import RBF, Linear, Polynomial


def data(density, n=120, p=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < density)
    X[5] = 0.0  # a point without features
    X[:, 3] = 0.0  # a feature without points
    return X


@pytest.mark.parametrize("density", [0.05, 0.9])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_are_those_of_the_dense_product(density, kind):
    X = data(density)
    features = SparseProducts(sp.csr_array(X).astype(kind))
    for chosen in (np.array([7]), np.array([5, 0, 5]), np.arange(40)):
        wanted = X[chosen] @ X.T
        result = features.rows(chosen)
        assert result.dtype == kind
        assert result.flags.c_contiguous
        assert result == pytest.approx(wanted, abs=1e-4 if kind is np.float32 else 1e-12)
        out = np.full((chosen.size, 120), np.nan, dtype=kind)
        assert features.rows(chosen, out) is out
        assert (out == result).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_points_together_are_points_one_by_one(kind):
    X = data(0.3, n=130)
    X[::7] = (np.random.default_rng(3).random((19, 30)) < 0.9) * 1.0  # some points have many features
    features = SparseProducts(sp.csr_array(X).astype(kind))
    for chosen in (np.array([7]), np.arange(0, 130, 7), np.random.default_rng(0).permutation(130)[:70]):
        apart, together = np.empty((chosen.size, 130), dtype=kind), np.empty((chosen.size, 130), dtype=kind)
        for start in range(0, chosen.size, 32):
            part = slice(start, start + 32)
            features._scatter(chosen[part], apart[part])
            features._gather(chosen[part], together[part])
        tolerance = 1e-5 if kind is np.float32 else 1e-13
        np.testing.assert_allclose(together, apart, atol=tolerance)
        np.testing.assert_allclose(features.rows(chosen), X[chosen] @ X.T, atol=10 * tolerance)
    counts = (X != 0).sum(axis=0)
    np.testing.assert_array_equal(features._additions, (X != 0) @ counts)


@pytest.mark.parametrize("kernel", [RBF(0.1), Linear(), Polynomial(3, 0.2, 1.0)])
@pytest.mark.parametrize("density", [0.05, 0.9])
def test_sparse_and_dense_data_give_the_same_columns_and_products(kernel, density):
    X = data(density, n=1500)
    y = np.where(np.random.default_rng(1).random(1500) < 0.5, 1.0, -1.0)
    dense = KernelGram(X, kernel, y, offset=1.0, ridge=0.5)
    sparse = KernelGram(sp.csr_array(X), kernel, y, offset=1.0, ridge=0.5)
    a = np.random.default_rng(2).random(1500)  # more kernel values than the threshold of compiled code
    exact = dense.dense @ a
    scale = np.abs(exact).max()
    assert sparse.product(a) == pytest.approx(exact, abs=1e-12 * scale)
    assert dense.product(a) == pytest.approx(exact, abs=1e-12 * scale)
    for chosen in (np.array([3]), np.arange(20)):
        wanted = dense.columns(chosen).T
        assert sparse.single_columns(chosen) == pytest.approx(wanted, rel=1e-4, abs=1e-4)
        np.testing.assert_allclose(sparse.columns(chosen).T, wanted, rtol=1e-11, atol=1e-11)
