"""Panels of float32 kernel values between some points and any others, in tiles."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models.kernels.further_kernels import Laplacian
from marginopt.models.kernels.gram import KernelGram, MatrixGram
from marginopt.models.kernels.kernels import RBF, Linear, Polynomial
from marginopt.models.kernels.panels import BlockPanel, ExponentPanel

N = 1400
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 4))
SIGNS = np.where(RNG.random(N) < 0.5, 1.0, -1.0)
RIDGE = np.linspace(0.5, 2.0, N)
#: More points than a tile has columns, in no order; the rows are some of them and some others.
POINTS = RNG.permutation(N)[:1200]
ROWS = RNG.permutation(N)[:90]


def gram(kind):
    kernel = {"linear": Linear(), "polynomial": Polynomial(2, 0.3, 1.0), "laplacian": Laplacian(0.2)}.get(kind, RBF(0.2))
    points = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0)) if kind == "sparse" else X
    whole = KernelGram(points, kernel, SIGNS, offset=1.0, ridge=RIDGE, scale=0.5)
    return MatrixGram(whole.dense) if kind == "matrix" else whole


@cache
def entries_of(kind):
    """Q between the rows and the points, which many panels are held against."""
    return gram(kind).dense[np.ix_(ROWS, POINTS)]


@pytest.mark.parametrize("kind", ["rbf", "sparse", "linear", "polynomial", "laplacian", "matrix"])
@pytest.mark.parametrize("stop", [0, 1, 1024, 1025, 1200])
def test_tiles_are_the_matrix(kind, stop):
    operator = gram(kind)
    Q, panel = entries_of(kind), operator.panel(POINTS)
    assert isinstance(panel, ExponentPanel if kind == "rbf" else BlockPanel)
    out = np.full((ROWS.size, stop), np.nan, dtype=np.float32)
    panel.rows(ROWS, out)
    if kind == "rbf":  # powers alone
        entries = panel.entries
        computed = np.outer(entries.signs[ROWS], entries.signs[POINTS[:stop]])
        out = computed * (entries.step * out + entries.shift) + np.equal.outer(ROWS, POINTS[:stop]) * entries.loading[ROWS, None]
    assert (np.abs(out - Q[:, :stop]) <= 2e-5 * np.maximum(np.abs(Q[:, :stop]), 1.0)).all()
    edges = [(first, last) for first, last, _ in panel.tiles(ROWS, stop)]
    assert [first for first, _ in edges] == [0, *(last for _, last in edges)][: len(edges)]
    assert sum(last - first for first, last in edges) == stop


@pytest.mark.parametrize("kind", ["rbf", "sparse", "polynomial"])
def test_products(kind):
    operator = gram(kind)
    weights = RNG.standard_normal(POINTS.size).astype(np.float32)
    product = operator.panel(POINTS).product(ROWS, weights)
    assert product.dtype == np.float64
    assert product == pytest.approx(entries_of(kind) @ weights, abs=2e-3)


def test_no_points():
    panel = gram("rbf").panel(np.zeros(0, dtype=np.int64))
    assert list(panel.tiles(ROWS, 0)) == []
    assert (panel.product(ROWS, np.zeros(0, dtype=np.float32)) == 0).all()
