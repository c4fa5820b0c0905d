"""Gram operators: columns, diagonal and product agree with the matrix of the formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models import Quadratic
from marginopt.models.kernels.gram import BLOCK, KernelGram, MatrixGram, piece_sizes, product_in_pieces
from marginopt.models.kernels.kernels import RBF, CallableKernel, Kernel, Linear, Polynomial, Precomputed
from marginopt.models.rounding import gamma, two_product

RNG = np.random.default_rng(7)
X = RNG.normal(size=(90, 4)) * (RNG.random((90, 4)) < 0.7)
Y = np.where(RNG.random(90) < 0.5, -1.0, 1.0)


def _cases() -> list[Any]:
    inner = X @ X.T
    kernels: list[tuple[Kernel, Any]] = [
        (Linear(), X),
        (Linear(), sp.csr_array(X)),
        (RBF(0.3), X),
        (RBF(0.3), sp.csr_array(X)),
        (Polynomial(2, 0.5, 1.0), X),
        (Precomputed(), inner),
        (Precomputed(), sp.csr_array(inner)),
        (CallableKernel(lambda A, B: np.asarray(A @ B.T) + 2.0), X),
    ]
    return [pytest.param(k, data, id=f"{k.name}-{type(data).__name__}") for k, data in kernels]


@pytest.mark.parametrize(("kernel", "data"), _cases())
@pytest.mark.parametrize("signed", [False, True])
def test_every_reading_is_one_matrix(kernel: Kernel, data: Any, signed: bool) -> None:
    K = kernel.matrix(data, data)
    signs = Y if signed else None
    s = Y if signed else np.ones(90)
    gram = KernelGram(data, kernel, signs, offset=1.0, ridge=0.25, scale=2.0)
    Q = 2.0 * (np.outer(s, s) * (K + 1.0) + 0.25 * np.eye(90))
    assert gram.n == 90
    np.testing.assert_allclose(gram.diagonal, np.diag(Q), rtol=1e-12)
    np.testing.assert_allclose(gram.dense, Q, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(gram.dense, gram.dense.T)
    chosen = np.array([5, 0, 88, 5])  # any order, repeated
    np.testing.assert_allclose(gram.columns(chosen), Q[:, chosen], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(gram.column(17), Q[:, 17], rtol=1e-11, atol=1e-11)
    assert gram.column(17).flags.c_contiguous
    for a in (RNG.normal(size=90), np.eye(90)[3], np.zeros(90)):
        np.testing.assert_allclose(gram.product(a), Q @ a, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["product", "product_error"])
def test_what_is_kept_for_a_vector_is_neither_another_s_nor_the_caller_s(name: str) -> None:
    def gram() -> KernelGram:
        return KernelGram(X, Linear(), Y, offset=1.0, ridge=0.25)

    kept, a = gram(), np.eye(90)[3]
    np.testing.assert_array_equal(getattr(kept, name)(a), getattr(gram(), name)(a))
    getattr(kept, name)(a)[:] = np.nan
    np.testing.assert_array_equal(getattr(kept, name)(a), getattr(gram(), name)(a))
    a[5] = 2.0
    np.testing.assert_array_equal(getattr(kept, name)(a), getattr(gram(), name)(a))


def test_columns_do_not_change_the_data() -> None:
    K = X @ X.T
    K.flags.writeable = False
    gram = KernelGram(K, Precomputed(), Y, offset=1.0, ridge=1.0)
    before = K.copy()
    gram.columns(np.arange(3))
    gram.product(np.ones(90))
    np.testing.assert_array_equal(K, before)


def test_matrix_gram() -> None:
    Q = X.T @ X
    gram = MatrixGram(Q)
    np.testing.assert_array_equal(gram.diagonal, np.diag(Q))
    np.testing.assert_array_equal(gram.columns(np.array([2, 1])), Q[:, [2, 1]])
    np.testing.assert_allclose(gram.product(np.ones(4)), Q.sum(axis=1))
    np.testing.assert_allclose(gram.dense, Q)


@pytest.mark.parametrize("rows", [1, 5, BLOCK, BLOCK + 1])
@pytest.mark.parametrize("terms", [1, BLOCK, BLOCK + 1, 5000, 71 * 71])
def test_a_sum_in_pieces_has_as_many_roundings_as_a_piece_and_pieces(rows: int, terms: int) -> None:
    rng = np.random.default_rng(rows + terms)
    A, x = rng.normal(size=(terms, rows)).T, rng.normal(size=terms)
    computed = product_in_pieces(A, x)
    for row, value in zip(A, computed.tolist(), strict=True):
        exact = math.fsum(np.concatenate(two_product(row, x)).tolist())
        assert abs(value - exact) <= gamma(sum(piece_sizes(terms)) + 2) * float(np.abs(row) @ np.abs(x))


def exact_product(gram: KernelGram, K: Sequence[Sequence[Fraction]], a: np.ndarray) -> list[Fraction]:
    """Return Q a in rationals: Q_ij = scale·(s_i s_j (K_ij + offset) + δ_ij ridge_i)."""
    assert gram.signs is not None
    s, ridge = gram.signs.tolist(), np.broadcast_to(gram.ridge, gram.n).tolist()
    signed = [Fraction(i) * Fraction(v) for i, v in zip(s, a.tolist(), strict=True)]
    sums = [sum(((k + Fraction(gram.offset)) * v for k, v in zip(row, signed, strict=True)), Fraction(0)) for row in K]
    parts = zip(s, sums, ridge, a.tolist(), strict=True)
    return [Fraction(gram.scale) * (Fraction(i) * v + Fraction(r) * Fraction(w)) for i, v, r, w in parts]


@pytest.mark.parametrize("form", ["dense", "sparse", "precomputed"])
@pytest.mark.parametrize("seed", range(5))
def test_products_whose_terms_cancel_keep_their_digits(form: str, seed: int) -> None:
    """Hulls that meet: Σ s_i a_i x_i is 1e-16 of its terms, and what is left of a'Qa is the ridge."""
    rng = np.random.default_rng(seed)
    points = np.round(rng.normal(size=(6, 2)), 2) * 10.0 ** rng.integers(0, 7)
    X = np.vstack([points, points])
    s = np.repeat([1.0, -1.0], 6)
    a = np.tile(rng.random(6), 2) * (1.0 + 2.0**-52 * rng.integers(-2, 3, size=12))
    exact_points = [[Fraction(v) for v in row] for row in X.tolist()]
    K = [[sum((u * v for u, v in zip(left, right, strict=True)), Fraction(0)) for right in exact_points] for left in exact_points]
    data, kernel = (sp.csr_array(X), Linear()) if form == "sparse" else (X, Linear())
    if form == "precomputed":
        matrix = X @ X.T
        K, data, kernel = [[Fraction(v) for v in row] for row in matrix.tolist()], matrix, Precomputed()
    gram = KernelGram(data, kernel, s, offset=1.0, ridge=1e-3, scale=2.0)
    value, error = gram.rounded_product(a)
    truth = exact_product(gram, K, a)
    assert all(abs(Fraction(v) - t) <= Fraction(e) for v, e, t in zip(value.tolist(), error.tolist(), truth, strict=True))
    square = Quadratic(operator=gram).evaluate(a)
    exact_square = sum((Fraction(v) * t for v, t in zip(a.tolist(), truth, strict=True)), Fraction(0))
    assert abs(Fraction(square.value) - exact_square) <= Fraction(square.error)
    if form != "precomputed":  # a rounded matrix need not cancel
        assert square.error <= 1e-10 * square.value
        assert square.error <= 1e-3 * float(np.abs(a) @ gram.product_error(a))
