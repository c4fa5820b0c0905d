"""The RBF kernel's series: its leading terms against all of them, what they leave, and where there is none."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import RBF, Linear
from marginopt.models.kernels.rbf import leading_terms


def exponents(terms, p):
    items = []
    for term in terms:
        if term.parent < 0:
            items.append((0,) * p)
            continue
        a = list(items[term.parent])
        a[term.axis] += 1
        assert a[term.axis] == term.exponent
        items.append(tuple(a))
    return items


def mean_square(a, variances):
    """The mean of u^{2a}e^{-u²}/a! over normal u, coordinate by coordinate, from its moments."""
    odd = [math.prod(range(1, 2 * k, 2)) for k in a]
    return math.prod(o * t**k / (math.factorial(k) * (1 + 2 * t) ** (k + 0.5)) for o, k, t in zip(odd, a, variances, strict=True))


def gram(n=60, p=3, gamma=0.1, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + 5.0
    return KernelGram(X, RBF(gamma), np.where(rng.random(n) < 0.5, 1.0, -1.0), **options)


def rows(series, n):
    out = np.empty((series.count, n), dtype=np.float32)
    series.rows(np.arange(n), out)
    return out.astype(np.float64)


@pytest.mark.parametrize("variances", [(0.3,), (1.0, 0.2), (5.0, 0.5, 0.01), (0.05, 0.05, 0.05)])
def test_the_leading_terms_are_the_largest_of_all(variances):
    terms = exponents(leading_terms(np.array(variances), 40), len(variances))
    assert len(set(terms)) == 40
    sizes = [mean_square(a, variances) for a in terms]
    assert sizes == pytest.approx(sorted(sizes, reverse=True), rel=1e-12)
    every = itertools.product(range(45), repeat=len(variances))
    best = sorted((mean_square(a, variances) for a in every if sum(a) < 45), reverse=True)[:40]
    assert sizes == pytest.approx(best, rel=1e-9)


def test_terms_end_where_points_have_no_directions():
    assert len(leading_terms(np.zeros(4), 10)) == 1
    assert {term.axis for term in leading_terms(np.array([0.1, 0.0]), 10)[1:]} == {0}
    same = KernelGram(np.ones((5, 2)), RBF(1.0), offset=1.0).taylor_series(9)
    assert same.count == 2
    assert rows(same, 5).T @ rows(same, 5) == pytest.approx(np.full((5, 5), 2.0))


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_what_the_terms_leave_is_positive_semidefinite_and_vanishes(offset):
    Q = gram(offset=offset, ridge=np.linspace(0.5, 1.5, 60), scale=0.5)
    K = Q.dense - np.diag(Q.loading)
    last = K
    for count in (4, 20, 100, 700):
        B = rows(Q.taylor_series(count), 60)
        assert len(B) == count
        left = K - B.T @ B
        assert np.linalg.eigvalsh(left).min() > -1e-5
        assert np.linalg.eigvalsh(last - left).min() > -1e-5  # more terms leave less
        last = left
    assert np.abs(last).max() < 1e-3
    assert rows(Q.taylor_series(700), 60)[:20] == pytest.approx(rows(Q.taylor_series(20), 60))


def test_points_are_taken_in_any_order():
    series, order = gram(offset=1.0).taylor_series(30), np.array([7, 3, 59])
    out = np.empty((30, 3), dtype=np.float32)
    series.rows(order, out)
    assert np.array_equal(out, rows(series, 60)[:, order].astype(np.float32))


def test_a_translation_and_a_rotation_of_the_points_leave_the_same_matrix():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3)) * np.array([3.0, 1.0, 0.3])
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    first, second = (rows(KernelGram(Z, RBF(0.2)).taylor_series(25), 40) for Z in (X, X @ turn - 7.0))
    assert first.T @ first == pytest.approx(second.T @ second, abs=1e-5)


def test_there_is_none_for_other_kernels_sparse_points_many_features_and_a_negative_offset():
    X = np.random.default_rng(0).standard_normal((20, 6))
    assert KernelGram(X, Linear()).taylor_series(50) is None
    assert KernelGram(sp.csr_array(X), RBF(0.1)).taylor_series(50) is None
    assert KernelGram(X, RBF(0.1)).taylor_series(6) is None
    assert KernelGram(X, RBF(0.1), offset=-0.1).taylor_series(50) is None
    assert KernelGram(X, RBF(0.1)).taylor_series(7) is not None
