"""Per-point weights of the quadratic duals: one ridge 1/(C s_i) for each point, and weight k is worth k copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about

from marginopt.errors import InputError
from marginopt.models import RBF, ConvexHullsDual, L2SVMDual, Linear
from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import Polynomial, Precomputed, mean_squared_distance
from marginopt.solvers import solve

RNG = np.random.default_rng(17)
X = RNG.normal(size=(40, 3))
Y = np.where(RNG.random(40) < 0.5, -1.0, 1.0)
S = RNG.integers(1, 5, size=40)


@pytest.mark.parametrize("data", [X, sp.csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.4), Precomputed()], ids=lambda k: k.name)
def test_every_reading_of_a_ridge_by_point_is_one_matrix(kernel: Any, data: Any) -> None:
    points = X @ X.T if kernel == Precomputed() else data
    ridge = RNG.random(40) + 0.1
    gram = KernelGram(points, kernel, Y, offset=1.0, ridge=ridge, scale=2.0)
    K = kernel.matrix(points, points)
    Q = 2.0 * (np.outer(Y, Y) * (K + 1.0) + np.diag(ridge))
    chosen = np.array([7, 0, 39])
    np.testing.assert_allclose(gram.diagonal, np.diag(Q), rtol=1e-12)
    np.testing.assert_allclose(gram.columns(chosen), Q[:, chosen], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(gram.block(np.array([39, 3]), chosen), Q[np.ix_([39, 3], chosen)], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(gram.single_columns(chosen), Q[chosen], rtol=1e-4, atol=1e-4)
    a = RNG.random(40)
    np.testing.assert_allclose(gram.product(a), Q @ a, rtol=1e-11)


@pytest.mark.parametrize("model", [L2SVMDual, ConvexHullsDual])
def test_weight_k_is_k_copies(model: Any) -> None:
    weighted = model(X, Y, C=2.0, kernel=RBF(0.3), sample_weight=S)
    copies = model(np.repeat(X, S, axis=0), np.repeat(Y, S), C=2.0, kernel=RBF(0.3))
    one, other = solve(weighted, "smo", tol=1e-10), solve(copies, "smo", tol=1e-10)
    assert one.solved and other.solved
    assert one.objective == pytest.approx(other.objective, rel=1e-9)
    new = RNG.normal(size=(20, 3))
    np.testing.assert_allclose(
        weighted.decision_function(one.values, new), copies.decision_function(other.values, new), rtol=1e-3, atol=1e-5
    )
    # the certificate's summary reads the same ridge: it agrees with the decision function on the data themselves
    f = weighted.decision_function(one.values, X) * Y
    assert weighted.summary(one.values)["misclassified"] == (f < 0).sum()


def test_the_primal_point_of_weighted_points_closes_the_gap() -> None:
    model = L2SVMDual(X, Y, C=2.0, kernel=Linear(), sample_weight=S)
    a = solve(model, "smo", tol=1e-10).values["a"]
    point = model.primal_from_dual(a)
    w = X.T @ point["beta"]
    np.testing.assert_array_less(point["rho"] - point["xi"] - 1e-7, Y * (X @ w + point["b"]))
    primal = 0.5 * (w @ w + point["b"] ** 2 + 2.0 * (S * point["xi"] ** 2).sum()) - point["rho"]
    assert primal == pytest.approx(-model.simplex.objective(a), rel=1e-6)


@pytest.mark.parametrize("model", [L2SVMDual, ConvexHullsDual])
def test_weights_are_checked_and_stated(model: Any) -> None:
    for bad in (np.zeros(40), -S.astype(float), np.full(40, np.nan), np.ones(39)):
        with pytest.raises(InputError, check=about("sample_weight")):
            model(X, Y, sample_weight=bad)
    assert "s_i" in str(model(X, Y, sample_weight=S)) and "s_i" not in str(model(X, Y))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rules_for_gamma_count_a_weight_as_copies(form: Any) -> None:
    data = (X + 30.0) * (RNG.random(X.shape) < 0.6)
    copies = np.repeat(data, S, axis=0)
    m = np.mean([((a - b) ** 2).sum() for a in copies for b in copies])
    assert mean_squared_distance(form(data), S) == pytest.approx(m, rel=1e-12)
    assert mean_squared_distance(form(copies)) == pytest.approx(m, rel=1e-12)
    for kernel in (RBF("npsvc"), Polynomial(2)):
        assert kernel.fitted(form(data), S).gamma == pytest.approx(1.0 / m, rel=1e-12)
