"""`NuSVC`: scikit-learn's solutions, what ν bounds, weights as copies, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from effort import trials
from facts import about
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import NuSVC

import marginopt as mo
from marginopt.errors import InputError


def _data(seed: int, n: int = 70) -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap; a binary, a shifted and a heavy-tailed column."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < 0.5).astype(float)
    X = np.column_stack([rng.normal(size=(n, 2)), group, 50.0 + rng.standard_t(4, size=n)])
    return X, np.where(X[:, 0] + group + 0.6 * rng.normal(size=n) > 0.5, "yes", "no")


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("seed", range(trials(2, 3)))
def test_it_is_scikit_learn_s(kernel: str, seed: int) -> None:
    """To 1e-6 in the scores, less the intercept, which is not unique where no support vector of a class is on the margin."""
    X, y = _data(seed)
    ours = mo.estimators.NuSVC(0.5, kernel, gamma=0.5, degree=2, coef0=1.0, tol=1e-9).fit(X, y)
    theirs = make_pipeline(StandardScaler(), NuSVC(nu=0.5, kernel=kernel, gamma=0.5, degree=2, coef0=1.0, tol=1e-12)).fit(X, y)
    assert ours.result_.gap <= 1e-6 and ours.result_.bound_kind == "proved"
    f, g = ours.decision_function(X), theirs.decision_function(X)
    rho = float(ours.result_.values["rho"][0])
    f, g = f * rho, g * rho
    np.testing.assert_allclose(f - f.mean(), (g - g.mean()) * (f.std() / g.std()), atol=1e-6)


@pytest.mark.parametrize("nu", [0.1, 0.4, 0.7])
def test_nu_bounds_both_shares(nu: float) -> None:
    X, y = _data(5)
    weights = np.random.default_rng(5).uniform(0.5, 2.0, len(y))
    fitted = mo.estimators.NuSVC(nu, gamma=0.5, class_weight="balanced", tol=1e-10).fit(X, y, sample_weight=weights)
    share = weights * np.where(y == "yes", 1.0 / weights[y == "yes"].sum(), 1.0 / weights[y == "no"].sum()) / 2.0
    margins = fitted.decision_function(X) * np.where(y == "yes", 1.0, -1.0)
    assert float(share[margins < 1.0 - 1e-5].sum()) <= nu + 1e-9
    assert float(share[fitted.support_].sum()) >= nu - 1e-6


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_weight_is_copies(kernel: str) -> None:
    X, y = _data(6, 30)
    weights = np.random.default_rng(6).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighed = mo.estimators.NuSVC(0.3, kernel).fit(X, y, sample_weight=weights)
    copied = mo.estimators.NuSVC(0.3, kernel).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighed.decision_function(X), copied.decision_function(X))


def test_several_classes() -> None:
    X, y = load_iris(return_X_y=True)
    fitted = mo.estimators.NuSVC(0.3, "linear").fit(X, y)
    assert fitted.coef_.shape == (3, 4) and fitted.score(X, y) > 0.9
    assert all(result.gap <= 1e-6 for result in fitted.result_)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"nu": 0.0}, "nu"),
        ({"nu": 1.5}, "nu"),
        ({"nu": "a"}, "nu"),
        ({"nu": 1.0}, "nu"),
        ({"kernel": "gauss"}, "kernel"),
        ({"intercept": "none", "kernel": "linear"}, "intercept"),
    ],
    ids=str,
)
def test_bad_parameters(parameters: dict[str, Any], named: str) -> None:
    X, y = _data(7)
    assert np.mean(y == "yes") != 0.5
    with pytest.raises(InputError, check=about(named)):
        mo.estimators.NuSVC(**parameters).fit(X, y)


def test_weights_of_the_model() -> None:
    """Only ratios of weights count, and a point without weight is not there."""
    X, y = _data(8, 30)
    Z, s = np.column_stack([np.ones(30), X[:, :3]]), np.where(y == "yes", 1.0, -1.0)
    weights = np.random.default_rng(8).integers(0, 3, 30).astype(float)
    plain = mo.solve(mo.models.NuSVM(Z, s, 0.3, sample_weight=weights), "piqp")
    scaled = mo.solve(mo.models.NuSVM(Z, s, 0.3, sample_weight=7.0 * weights), "piqp")
    mask = weights > 0
    without = mo.solve(mo.models.NuSVM(Z[mask], s[mask], 0.3, sample_weight=weights[mask]), "piqp")
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-6)
    assert without.objective == pytest.approx(plain.objective, rel=1e-6)
    for bad in (np.zeros(30), -weights, weights[:5]):
        with pytest.raises(InputError, check=about("sample_weight")):
            mo.models.NuSVM(Z, s, 0.3, sample_weight=bad)
