"""`KernelNPSVC`: scikit-learn's checks, prediction (21), orientations, Nyström features, learned features, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data import three_clouds
from facts import about
from sklearn.exceptions import ConvergenceWarning

import marginopt.solvers as solvers
from marginopt.errors import InputError
from marginopt.estimators.npsvc import KernelNPSVC
from marginopt.models import RBF

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("orientation", ["one", "rest"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial"])
def test_separated_classes_are_told_apart(orientation: str, kernel: str) -> None:
    X, y = three_clouds()
    model = KernelNPSVC(kernel=kernel, orientation=orientation, intercept=1.0, coef0=1.0).fit(X, y)
    assert model.score(X, y) >= 0.9
    assert model.objectives_.shape == model.tau_.shape == (3,)
    assert model.decision_function(X).shape == (60, 3)
    assert model.transform(X).shape == (60, model.model_.d)
    assert len(model.history_) == model.n_iter_


def test_decision_is_formula_21() -> None:
    X, y = three_clouds()
    model = KernelNPSVC(standardise=False, gamma=0.3).fit(X, y)
    U, V, P = model.values_["U"], model.values_["V"], model.model_.P
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    beta = np.linalg.solve(np.linalg.cholesky(K + 1e-3 * np.eye(60)).T, U.T)
    norms = np.sqrt(((U - V @ P.T) ** 2).sum(axis=1) + (V**2).sum(axis=1))
    assert -model.decision_function(X) == pytest.approx(np.abs(K @ beta) / norms, rel=1e-6, abs=1e-9)


def test_answer_is_the_proved_optimum_for_its_projection() -> None:
    X, y = three_clouds()
    model = KernelNPSVC(c=2.0).fit(X, y)
    conic = solvers.solve(model.model_, "clarabel")
    assert float(model.values_["rho"]) == pytest.approx(conic.objective, rel=1e-5)
    assert model.certificate_.feasible(1e-9)
    assert 0.0 <= model.certificate_.gap <= 1e-6
    assert model.certificate_.bound <= conic.objective * (1 + 1e-6)


def test_precomputed_kernel_gives_the_same_classifier_without_the_graph() -> None:
    X, y = three_clouds()
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    plain = KernelNPSVC(standardise=False, gamma=0.3, mu=0.0).fit(X, y)
    fitted = KernelNPSVC(kernel="precomputed").fit(K, y)
    # rounding of K changes where the inner solves stop, at gaps of 1e-6: points within 1e-3 of each other
    assert fitted.decision_function(K) == pytest.approx(plain.decision_function(X), abs=1e-3)
    with pytest.raises(InputError, check=about("mu")):
        KernelNPSVC(kernel="precomputed", mu=0.1).fit(K, y)


def test_all_landmarks_reproduce_the_kernel() -> None:
    X, y = three_clouds()
    full = KernelNPSVC(gamma=0.3, mu=0.0, ridge=1e-8, max_iter=3, d=4).fit(X, y)
    landmarks = KernelNPSVC(gamma=0.3, mu=0.0, ridge=1e-8, max_iter=3, d=4, approximation="nystroem", components=60).fit(X, y)
    assert (full.predict(X) == landmarks.predict(X)).mean() >= 0.95


def test_fourier_features_approach_the_kernel() -> None:
    X, y = three_clouds(90)
    few = KernelNPSVC(gamma=0.3, approximation="fourier", components=2000, max_iter=2, tol=0.9, d=4).fit(X, y)
    Z = few.problem_.X
    assert pytest.approx(RBF(0.3).matrix(_standard(X), _standard(X)), abs=0.12) == Z @ Z.T
    assert (KernelNPSVC(gamma=0.3, d=4).fit(X, y).predict(X) == few.predict(X)).mean() >= 0.9


def _standard(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_same_random_state_same_classifier() -> None:
    X, y = three_clouds()
    a, b = (KernelNPSVC(random_state=3).fit(X, y).decision_function(X) for _ in range(2))
    assert (a == b).all()


def test_short_runs_warn() -> None:
    X, y = three_clouds()
    with pytest.warns(ConvergenceWarning):
        estimator = KernelNPSVC(max_iter=1, tol=1e-9).fit(X, y)
    assert estimator.n_iter_ == 1 and estimator.pareto_ > 1e-9


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"r1": 0.0}, "r1"),
        ({"orientation": "x"}, "orientation"),
        ({"kernel": "sigmoid"}, "kernel"),
        ({"approximation": "nystroem", "components": 0}, "components"),
        ({"approximation": "random"}, "approximation"),
        ({"approximation": "fourier", "kernel": "polynomial"}, "approximation"),
        ({"approximation": "nystroem", "ridge": -1.0}, "ridge"),
        ({"d": 1000}, "d"),
        ({"dual_weight": -1.0}, "dual_weight"),
        ({"eta": -1.0}, "eta"),
        ({"tau_weight": 2.0}, "tau_weight"),
        ({"classes_step": "both"}, "classes_step"),
        ({"intercept": -1.0}, "intercept"),
        ({"max_iter": 0}, "max_iter"),
        ({"neighbours": 60}, "neighbours"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], name: str) -> None:
    X, y = three_clouds()
    with pytest.raises(InputError, check=about(name)):
        KernelNPSVC(**parameters).fit(X, y)


def test_bad_data_are_named() -> None:
    X, y = three_clouds()
    with pytest.raises(InputError, check=about("y")):
        KernelNPSVC().fit(X, np.r_[["lonely"], y[1:]])
    with pytest.raises(InputError, check=about("y")):
        KernelNPSVC().fit(X, np.zeros(60))
    with pytest.raises(InputError, check=about("X")):
        KernelNPSVC().fit(np.ones((60, 3)), y)
    with pytest.raises(InputError, check=about("approximation")):
        KernelNPSVC(kernel="precomputed", approximation="nystroem").fit(np.eye(60), y)


def test_dual_values_bound_the_objectives_and_change_nothing():
    rng = np.random.default_rng(0)
    X, y = np.round(rng.standard_t(3, size=(45, 4)) + 100.0, 2), np.repeat(["a", "b", "c"], 15)
    X[:, 3] = rng.integers(0, 2, 45)
    X[1] = X[0]
    plain = KernelNPSVC("rbf", max_iter=4).fit(X, y)
    dual = KernelNPSVC("rbf", max_iter=4, dual_values=True).fit(X, y)
    assert all(step["dual"] <= step["largest"] * (1 + 1e-9) for step in dual.history_)
    assert all(step["gap"] == pytest.approx((step["largest"] - step["dual"]) / step["largest"]) for step in dual.history_)
    assert np.isnan([step["dual"] for step in plain.history_]).all()
    np.testing.assert_array_equal(plain.decision_function(X), dual.decision_function(X))
