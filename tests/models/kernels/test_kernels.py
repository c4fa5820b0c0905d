"""Kernels against their formulas, entry by entry; the three mean-distance rules against double loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import ConvergenceWarning

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.arrays import as_points
from marginopt.models.kernels.kernels import (
    RBF,
    CallableKernel,
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    as_kernel,
    expansion,
    gamma_by_rule,
    mean_squared_distance,
    squared_distances,
)
from marginopt.solvers.records import Status

points = st.tuples(st.integers(1, 6), st.integers(1, 4)).flatmap(
    lambda s: hnp.arrays(np.float64, s, elements=st.floats(-5, 5, allow_subnormal=False))
)

FORMULAS = [
    (Linear(), lambda x, z: sum(a * b for a, b in zip(x, z, strict=True))),
    (RBF(0.3), lambda x, z: math.exp(-0.3 * sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))),
    (Polynomial(3, 0.2, 1.5), lambda x, z: (0.2 * sum(a * b for a, b in zip(x, z, strict=True)) + 1.5) ** 3),
    (Polynomial(2, 2.0), lambda x, z: (2.0 * sum(a * b for a, b in zip(x, z, strict=True))) ** 2),
    (CallableKernel(lambda X, Z: np.asarray(X @ Z.T + 1.0)), lambda x, z: 1 + sum(a * b for a, b in zip(x, z, strict=True))),
]


def loops(kernel_function: Any, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.array([[kernel_function(x, z) for z in Z] for x in X])


@given(points, st.sampled_from(FORMULAS))
def test_entries(X: np.ndarray, case: tuple[Kernel, Any]) -> None:
    kernel, formula = case
    Z = X[::2] + 0.5
    expected = loops(formula, X, Z)
    np.testing.assert_allclose(kernel.matrix(X, Z), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(kernel.diagonal(X), [formula(x, x) for x in X], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3), Polynomial(3, 0.2, 1.5)], ids=str)
def test_sparse_data_give_the_same(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 4)) * (rng.random((7, 4)) < 0.5)
    Z = rng.normal(size=(3, 4))
    sparse, other = sp.csr_array(X), sp.csr_array(Z)
    for first, second in ((sparse, other), (sparse, Z), (X, other)):
        result = kernel.matrix(first, second)
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, kernel.matrix(X, Z), atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(sparse), kernel.diagonal(X), atol=1e-12)


@given(points)
def test_squared_distances(X: np.ndarray) -> None:
    expected = np.array([[((x - z) ** 2).sum() for z in X] for x in X])
    distances = squared_distances(X, X)
    np.testing.assert_allclose(distances, expected, atol=1e-11)
    assert (distances >= 0).all()


@given(points)
def test_mean_distance_over_all_pairs_the_diagonal_included(X: np.ndarray) -> None:
    n = len(X)
    brute = sum(float(((X[i] - X[j]) ** 2).sum()) for i in range(n) for j in range(n)) / n**2
    assert mean_squared_distance(X) == pytest.approx(brute, rel=1e-10, abs=1e-14)
    assert mean_squared_distance(as_points(sp.csr_array(X))) == pytest.approx(brute, rel=1e-10, abs=1e-14)


def test_three_rules_by_brute_force() -> None:
    X = np.random.default_rng(1).normal(size=(9, 3))
    n = len(X)
    mean = sum(((X[i] - X[j]) ** 2).sum() for i in range(n) for j in range(n)) / n**2
    assert gamma_by_rule("frank-wolfe", X) == pytest.approx(1 / (2 * mean))
    assert gamma_by_rule("frank-wolfe-polynomial", X) == pytest.approx(1 / mean)
    assert gamma_by_rule("npsvc", X) == pytest.approx(1 / mean)
    assert RBF("npsvc").fitted(X).gamma == pytest.approx(1 / mean)
    assert RBF().fitted(X).gamma == pytest.approx(1 / (2 * mean))
    assert Polynomial().fitted(X).gamma == pytest.approx(1 / mean)
    assert RBF(0.5).fitted(X) == RBF(0.5)


@pytest.mark.parametrize("sparse", [False, True])
def test_mean_distance_does_not_cancel(sparse: bool) -> None:
    X = np.array([[1e8, 0.0], [1e8 + 1.0, 0.0], [1e8, 1.0]])
    given_points = as_points(sp.csr_array(X) if sparse else X)
    assert mean_squared_distance(given_points) == pytest.approx(8.0 / 9.0, rel=1e-7)


@pytest.mark.parametrize("value", [0.1, 1e9, 0.0])
def test_equal_rows_have_no_rule(value: float) -> None:
    X = np.full((7, 3), value)
    for rows in (X, as_points(sp.csr_array(X))):
        with pytest.raises(InputError, check=about("gamma")):
            gamma_by_rule("npsvc", rows)


def test_constant_diagonals() -> None:
    assert RBF(1.0).constant_diagonal
    assert not any(k.constant_diagonal for k in (Linear(), Polynomial(2, 1.0), Precomputed()))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: RBF(0.0), "gamma"),
        (lambda: RBF("median"), "gamma"),
        (lambda: Polynomial(0, 1.0), "degree"),
        (lambda: Polynomial(1.5, 1.0), "degree"),
        (lambda: Polynomial(2, 1.0, -1.0), "coef0"),
        (lambda: RBF().matrix(np.eye(2), np.eye(2)), "gamma"),
        (lambda: as_kernel("rbf", np.eye(2)), "kernel"),
        (lambda: as_kernel(Precomputed(), np.ones((2, 3))), "X"),
        (lambda: as_kernel(Precomputed(), np.array([[1.0, 2], [3, 1]])), "X"),
        (lambda: as_kernel(Precomputed(), sp.csr_array(np.array([[1.0, 2], [3, 1]]))), "X"),
        (lambda: Precomputed().matrix(np.ones((1, 2)), np.eye(3)), "X"),
        (lambda: CallableKernel(lambda X, Z: np.ones(2)).matrix(np.eye(2), np.eye(2)), "function"),
        (lambda: CallableKernel(lambda X, Z: np.full((2, 2), np.nan)).matrix(np.eye(2), np.eye(2)), "function"),
    ],
)
def test_bad_kernels(make: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        make()


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3), Polynomial(2, 0.5, 1.0)], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_expansion(kernel: Kernel, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginopt.models.kernels.kernels._BLOCK_ENTRIES", 5)  # several blocks
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(11, 3)), rng.normal(size=(6, 3))
    c = rng.normal(size=6) * (np.arange(6) % 3 > 0)
    expected = kernel.matrix(X, Z) @ c
    first, second = (sp.csr_array(X), sp.csr_array(Z)) if sparse else (X, Z)
    np.testing.assert_allclose(expansion(kernel, first, second, c), expected, atol=1e-12)
    np.testing.assert_array_equal(expansion(kernel, first, second, np.zeros(6)), np.zeros(11))


def test_expansion_of_a_precomputed_kernel() -> None:
    K = np.array([[2.0, 1, 0], [1, 2, 1]])
    np.testing.assert_allclose(expansion(Precomputed(), K, np.eye(3), np.array([1.0, 0, 2])), [2, 3])


def test_texts() -> None:
    assert str(RBF("npsvc")) == "k(x,z) = exp(-npsvc ||x - z||^2)"
    assert str(RBF(0.25)) == "k(x,z) = exp(-0.25 ||x - z||^2)"
    assert str(Polynomial(3, 0.5, 1.0)) == "k(x,z) = (0.5 x'z + 1)^3"
    for kernel in (Linear(), RBF(0.1), Polynomial(2, 1.0), Precomputed(), CallableKernel(max)):  # type: ignore[arg-type]
        assert kernel.latex.startswith("k(x")
        assert "k(x" in str(kernel)


def test_a_kernel_function_is_not_called_without_points() -> None:
    """Pairwise kernels of scikit-learn refuse arrays without rows, which solvers ask for where no point is at its bound."""

    def strict(X: Any, Z: Any) -> Any:
        assert len(X) and len(Z)
        return np.asarray(X @ Z.T)

    kernel, X = CallableKernel(strict), np.eye(3)
    assert kernel.matrix(X[:0], X).shape == (0, 3) and kernel.matrix(X, X[:0]).shape == (3, 0)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 3))[:, :2]
    y = np.where(points[:, 0] ** 2 + points[:, 1] > 0.5, 1, -1)

    def gaussian(X: Any, Z: Any) -> Any:
        assert len(X) and len(Z)
        return np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(axis=-1))

    assert mo.estimators.NCHSVC(kernel=gaussian).fit(points, y).result_.solved


class _Directed(Kernel):
    """k(x, z) = x'Az with A ≠ A'."""

    name = "directed"
    latex = r"x^\top A z"

    def matrix(self, X: Any, Z: Any) -> Any:
        return X @ np.array([[1.0, 0.5], [0.0, 1.0]]) @ Z.T

    def diagonal(self, X: Any) -> Any:
        return np.diag(self.matrix(X, X))


@pytest.mark.parametrize("kernel", [_Directed(), lambda X, Z: X[:, :1] * np.ones(len(Z))], ids=["class", "function"])
@pytest.mark.parametrize("name", ["L2SVC", "NuSVC", "NCHSVC", "ConicSVC", "MEBOneClass", "EpsilonSVR", "KernelNPSVC"])
def test_a_kernel_that_is_not_symmetric_is_refused(kernel: Any, name: str) -> None:
    """Claims would be of a matrix, and predictions of another one."""
    X = np.random.default_rng(1).normal(size=(40, 2))
    estimator = getattr(mo.estimators, name)(kernel=kernel)
    with pytest.raises(InputError) as caught:
        estimator.fit(X, X[:, 0] if name == "EpsilonSVR" else np.where(X[:, 0] > 0.0, 1, -1))
    assert caught.value.name == "kernel"


@pytest.mark.parametrize("name", ["L2SVC", "MEBOneClass"])
def test_a_kernel_that_is_not_convex_is_warned_of(name: str) -> None:
    X = np.random.default_rng(1).normal(size=(40, 2))

    def indefinite(A: Any, B: Any) -> Any:
        return np.tanh(A @ B.T - 1.0)

    estimator = getattr(mo.estimators, name)(kernel=indefinite)
    with pytest.warns(ConvergenceWarning) as caught:
        estimator.fit(X, np.where(X[:, 0] > 0.0, 1, -1))
    assert estimator.result_.status is Status.STATIONARY and "positive semidefinite" in str(caught[0].message)


@pytest.mark.parametrize("values", ["a", [["a"]], None, 1j], ids=str)
def test_a_kernel_function_that_returns_no_numbers(values: Any) -> None:
    with pytest.raises(InputError):
        mo.estimators.L2SVC(kernel=lambda X, Z: values).fit(np.eye(4), [1, 1, -1, -1])
