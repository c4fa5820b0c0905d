"""Regressors: scikit-learn's solutions, weights as copies, proved gaps, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError
from marginopt.models.kernels.kernels import RBF


def _data(seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A binary, a shifted and a heavy-tailed column, and rows that occur twice."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < 0.4).astype(float)
    X = np.column_stack([rng.normal(size=n), group, 100.0 + rng.normal(size=n), rng.standard_t(3, size=n)])
    target = np.sin(2.0 * X[:, 0]) + group + 0.2 * rng.normal(size=n)
    return np.vstack([X, X[:5]]), np.concatenate([target, target[:5]])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("seed", range(3))
def test_support_vector_regression_is_scikit_learn_s(kernel: str, seed: int) -> None:
    X, target = _data(seed)
    ours = mo.estimators.EpsilonSVR(2.0, kernel, epsilon=0.2, gamma=0.4, degree=2, coef0=1.0, tol=1e-10).fit(X, target)
    machine = SVR(C=2.0, kernel=kernel, epsilon=0.2, gamma=0.4, degree=2, coef0=1.0, tol=1e-10)
    theirs = make_pipeline(StandardScaler(), machine).fit(X, target)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)  # the root of the gap
    Z = StandardScaler().fit_transform(X)
    K = pairwise_kernels(Z, Z[machine.support_], kernel, filter_params=True, gamma=0.4, degree=2, coef0=1.0)
    norm = float(machine.dual_coef_[0] @ K[machine.support_] @ machine.dual_coef_[0])
    excess = np.maximum(np.abs(target - K @ machine.dual_coef_[0] - machine.intercept_) - 0.2, 0.0)
    assert ours.result_.objective == pytest.approx(0.5 * norm + 2.0 * excess.sum(), rel=1e-6)
    assert ours.result_.gap <= 1e-6 and ours.result_.bound_kind == "proved"


def test_coefficients_of_the_features_and_of_the_points() -> None:
    X, target = _data(3)
    linear = mo.estimators.EpsilonSVR(1.0, "linear").fit(X, target)
    assert linear.coef_.shape == (4,) and isinstance(linear.intercept_, float)
    np.testing.assert_allclose(X @ linear.coef_ + linear.intercept_, linear.predict(X), atol=1e-8)
    kernel = mo.estimators.EpsilonSVR(1.0, RBF(0.3), standardise=False).fit(X, target)
    scores = RBF(0.3).matrix(X, X[kernel.support_]) @ kernel.dual_coef_[0] + kernel.intercept_
    np.testing.assert_allclose(scores, kernel.predict(X), atol=1e-9)
    assert 0 < kernel.support_.size < len(X)
    assert float(np.abs(kernel.dual_coef_).max()) <= 1.0 + 1e-9


def test_a_kernel_and_its_matrix() -> None:
    X, target = _data(4)
    of_points = mo.estimators.EpsilonSVR(1.0, RBF(0.2), standardise=False, tol=1e-10).fit(X, target)
    K = RBF(0.2).matrix(X, X)
    of_matrix = mo.estimators.EpsilonSVR(1.0, "precomputed", tol=1e-10).fit(K, target)
    np.testing.assert_allclose(of_matrix.predict(K), of_points.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    "regressor",
    [
        mo.estimators.EpsilonSVR(),
        mo.estimators.EpsilonSVR(kernel="linear"),
        mo.estimators.MarginRegressor("huber"),
        mo.estimators.MarginRegressor("squared-epsilon-insensitive", "elastic-net"),
    ],
    ids=str,
)
def test_a_weight_is_copies(regressor: Any) -> None:
    X, target = _data(5, 25)
    weights = np.random.default_rng(5).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    weighed = clone(regressor).fit(X, target, sample_weight=weights)
    copied = clone(regressor).fit(X[rows], target[rows])
    np.testing.assert_array_equal(weighed.predict(X), copied.predict(X))
    restored = pickle.loads(pickle.dumps(weighed))
    np.testing.assert_array_equal(restored.predict(X), weighed.predict(X))


def test_sparse_rows_are_the_same_problem() -> None:
    X, target = _data(6, 30)
    X[np.abs(X) < 0.5] = 0.0
    for regressor in (mo.estimators.EpsilonSVR(standardise=False), mo.estimators.MarginRegressor(standardise=False)):
        dense = clone(regressor).fit(X, target).predict(X)
        sparse = clone(regressor).fit(sp.csr_array(X), target).predict(sp.csr_array(X))
        np.testing.assert_allclose(sparse, dense, atol=1e-4)


def test_the_composition_is_support_vector_regression() -> None:
    X, target = _data(7)
    named = mo.estimators.EpsilonSVR(0.5, "linear", epsilon=0.3, tol=1e-10).fit(X, target)
    composed = mo.estimators.MarginRegressor(margin.EpsilonInsensitive(0.3), lam=0.5, tol=1e-10).fit(X, target)
    assert composed.result_.objective == pytest.approx(named.result_.objective, rel=1e-9)
    np.testing.assert_allclose(composed.coef_, named.coef_, atol=1e-4)


def test_parts_restrict_the_regressor() -> None:
    X, target = make_friedman1(50, 6, noise=0.5, random_state=0)
    fixed = mo.estimators.MarginRegressor("huber", subject_to=mo.fixed({1: 0.0})).fit(X, target)
    assert fixed.coef_[0] == pytest.approx(0.0, abs=1e-8)
    positive = mo.estimators.MarginRegressor("huber", domain=margin.Box([-np.inf] + [0.0] * 6, np.inf)).fit(X, target)
    assert (positive.coef_ >= -1e-9).all()
    sparse = mo.estimators.MarginRegressor("huber", "l1", lam=0.02).fit(X, target)
    assert (np.abs(sparse.coef_) < 1e-6).any()


def test_targets_within_the_tube_need_no_slope() -> None:
    """The zero function is an answer for a regressor, and nothing to warn of."""
    X, _ = _data(8)
    fitted = mo.estimators.EpsilonSVR(epsilon=0.5).fit(X, np.full(len(X), 3.0))
    np.testing.assert_allclose(fitted.predict(X), 3.0, atol=0.5 + 1e-6)
    assert fitted.result_.objective == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize(
    ("regressor", "named"),
    [
        (mo.estimators.EpsilonSVR(C=0.0), "C"),
        (mo.estimators.EpsilonSVR(C=np.nan), "C"),
        (mo.estimators.EpsilonSVR(epsilon=-0.1), "epsilon"),
        (mo.estimators.EpsilonSVR(kernel="gauss"), "kernel"),
        (mo.estimators.EpsilonSVR(kernel="precomputed"), "X"),
        (mo.estimators.MarginRegressor(lam=-1.0), "lam"),
        (mo.estimators.MarginRegressor("hinge"), "loss"),
        (mo.estimators.MarginRegressor("hubber"), "hubber"),
        (mo.estimators.MarginRegressor(intercept="none"), "intercept"),
    ],
    ids=str,
)
def test_bad_parameters(regressor: Any, named: str) -> None:
    X, target = _data(9, 20)
    with pytest.raises(InputError, check=about(named)):
        regressor.fit(X, target)


def test_bad_data() -> None:
    X, target = _data(10, 20)
    with pytest.raises(ValueError):
        mo.estimators.EpsilonSVR().fit(X, np.where(np.arange(len(X)) == 3, np.nan, target))
    with pytest.raises(ValueError):
        mo.estimators.EpsilonSVR().fit(X, target[:-1])
    with pytest.raises(InputError, check=about("sample_weight")):
        mo.estimators.EpsilonSVR().fit(X, target, sample_weight=-np.ones(len(X)))
    with pytest.raises(InputError, check=about("sample_weight")):
        mo.estimators.EpsilonSVR().fit(X, target, sample_weight=np.zeros(len(X)))
    with pytest.raises(TypeError):
        mo.estimators.EpsilonSVR().fit(X, target, groups=target)
    with pytest.raises(ValueError):
        mo.estimators.EpsilonSVR().fit(X, target).predict(X[:, :2])
