"""Points of zeros and ones: kernel values by bits are those of the formula, and other points are left alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from marginopt.models.kernels.further_kernels import RationalQuadratic
from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import RBF, Polynomial
from marginopt.models.kernels.panels import BitDistances


def binary(n, p, seed=0):
    X = (np.random.default_rng(seed).random((n, p)) < 0.3) * 1.0
    X[n // 2] = 0.0  # a point without features
    return X


@pytest.mark.parametrize("p", [1, 32, 33, 100, 129])  # one word to five, full ones among them
@pytest.mark.parametrize("value", [1.0, -0.25])
@pytest.mark.parametrize("kernel", [RBF(0.3), RationalQuadratic(0.3, 2.0)], ids=["rbf", "rational"])
def test_values_are_the_formula(p, value, kernel):
    rng = np.random.default_rng(1)
    n = 700  # more than one block of 512, and no multiple of it
    X = value * binary(n, p)
    K = kernel.matrix(X, X)
    bits = BitDistances.of(kernel, sp.csr_array(X))
    assert bits is not None
    weights = rng.normal(size=n) * (rng.random(n) < 0.5)
    np.testing.assert_allclose(bits.product(weights), K @ weights, rtol=0, atol=1e-12 * np.abs(weights).sum())
    signs = np.where(rng.random(n) < 0.5, -1.0, 1.0).astype(np.float32)
    rows, columns = np.array([5, 699, 0, 5]), rng.permutation(n)[:600]
    wanted = 2.0 * np.outer(signs[rows], signs) * (K[rows] + 0.5)
    store = np.full((4, n), np.nan, dtype=np.float32)
    assert bits.single_rows(rows, signs, 0.5, 2.0, store) is store
    np.testing.assert_allclose(store, wanted, rtol=2.0**-22)
    np.testing.assert_allclose(bits.single_block(rows, columns, signs, 0.5, 2.0), wanted[:, columns], rtol=2.0**-22)


def test_threads_change_nothing():
    X, rng = sp.csr_array(binary(1500, 50)), np.random.default_rng(2)
    bits, signs, weights = BitDistances.of(RBF(0.1), X), np.ones(1500, dtype=np.float32), rng.random(1500)
    assert bits is not None
    rows = []
    for threads in (1, 3):
        with threadpool_limits(threads, "blas"):
            rows.append((bits.product(weights), bits.single_rows(np.arange(1400), signs, 0.0, 1.0)))
    for one, other in zip(*rows, strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_points_have_no_bits():
    X = binary(60, 40)
    assert BitDistances.of(RBF(0.1), sp.csr_array(X)) is not None
    repeated = sp.csr_array((np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 2))
    wide = sp.csr_array((np.ones(60), (np.arange(60), np.arange(60) * 100)), shape=(60, 6000))
    other = X.copy()
    other[np.nonzero(X)[0][-1], np.nonzero(X)[1][-1]] = 2.0
    for points in (other, repeated, wide, np.zeros((5, 3))):
        matrix = points if points is repeated else sp.csr_array(points)
        assert BitDistances.of(RBF(0.1), matrix) is None
        array = KernelGram(matrix, RBF(0.1)).single_columns(np.array([1]))
        np.testing.assert_allclose(array[0], RBF(0.1).matrix(matrix.toarray(), matrix.toarray())[1], atol=1e-6)


@pytest.mark.parametrize("kernel", [RBF(0.2), RationalQuadratic(0.2, 1.5)], ids=["rbf", "rational"])
def test_the_gram_operator_is_one_matrix(kernel):
    n = 1500  # more kernel values than the threshold of compiled code
    X, rng = binary(n, 70), np.random.default_rng(3)
    y, ridge, a = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.random(n), rng.random(n)
    gram = KernelGram(sp.csr_array(X), kernel, y, offset=1.0, ridge=ridge, scale=2.0)
    Q = 2.0 * (np.outer(y, y) * (kernel.matrix(X, X) + 1.0) + np.diag(ridge))
    rows, columns = np.array([3, 0, 1499]), np.array([0, 7, 1499, 3])
    np.testing.assert_allclose(gram.product(a), Q @ a, rtol=1e-11, atol=1e-9)
    assert (np.abs(gram.product(a) - Q @ a) <= 2.0 * gram.product_error(a)).all()
    np.testing.assert_allclose(gram.single_columns(rows), Q[rows], rtol=1e-6)
    np.testing.assert_allclose(gram.single_block(rows, columns), Q[np.ix_(rows, columns)], rtol=1e-6)


@pytest.mark.parametrize("p", [70, 300, 900])  # distances of a byte; of a byte, since no point has half of the features; of two
def test_panels_hold_distances(p):
    n, rng = 1500, np.random.default_rng(4)
    X = (rng.random((n, p)) < {70: 0.6, 300: 0.1, 900: 0.3}[p]) * 1.0
    kernel, y, ridge = RationalQuadratic(0.2, 1.5), np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.random(n)
    gram = KernelGram(sp.csr_array(X), kernel, y, offset=1.0, ridge=ridge, scale=2.0)
    Q = 2.0 * (np.outer(y, y) * (kernel.matrix(X, X) + 1.0) + np.diag(ridge))
    points, rows = rng.permutation(n)[:1200], rng.permutation(n)[:40]
    panel = gram.panel(points)
    assert gram.entry_dtype == panel.entries.kind == (np.uint16 if p == 900 else np.uint8)
    distances = (X[rows][:, None, :] != X[points][None, :, :]).sum(axis=2)
    for stop in (0, 1, 513, 1200):
        out = np.full((rows.size, stop), 7, dtype=gram.entry_dtype)
        panel.rows(rows, out)
        np.testing.assert_array_equal(out, distances[:, :stop])
        tiles = [(first, last, tile.copy()) for first, last, tile in panel.tiles(rows, stop)]
        assert [first for first, *_ in tiles] == [0, *(last for _, last, _ in tiles)][: len(tiles)]
        np.testing.assert_array_equal(np.hstack([tile for *_, tile in tiles]) if tiles else out, distances[:, :stop])
    weights = rng.standard_normal(points.size).astype(np.float32)
    np.testing.assert_allclose(panel.product(rows, weights), Q[np.ix_(rows, points)] @ weights, rtol=0, atol=1e-3)


def test_other_matrices_are_stored_as_float32():
    X = binary(60, 40)
    assert KernelGram(X, RBF(0.1)).entry_dtype == np.float32
    assert KernelGram(sp.csr_array(X), Polynomial(2, 0.1, 1.0)).entry_dtype == np.float32
    assert KernelGram(sp.csr_array(X * np.arange(1.0, 41.0)), RBF(0.1)).entry_dtype == np.float32
