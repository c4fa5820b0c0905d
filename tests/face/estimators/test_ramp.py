"""`RampSVC`: the optimum of the ramp where the budget allows it, a proved interval where not, outliers that do not pull."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import marginopt as mo
from marginopt.errors import InputError


def data(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n, p, n_informative=2, n_redundant=0, flip_y=0.15, random_state=4)


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_it_is_the_optimum_that_a_mixed_integer_solver_finds(intercept: str) -> None:
    X, y = data(16, 2)
    boxes = mo.estimators.RampSVC(0.8, intercept=intercept, node_limit=3000, tol=1e-6).fit(X, y)
    other = mo.estimators.MarginClassifier("ramp", lam=0.8, intercept=intercept, solver="scip").fit(X, y)
    assert boxes.result_.objective == pytest.approx(other.result_.objective, rel=1e-5)
    assert boxes.result_.bound <= other.result_.objective * (1 + 1e-9)
    assert isinstance(boxes.problem_, mo.RampSVM)


def test_many_features_within_a_budget() -> None:
    """Where the solver by name refuses: no more than six coefficients."""
    X, y = data(60, 12)
    fitted = mo.estimators.RampSVC(node_limit=20).fit(X, y)
    assert 0.0 <= fitted.result_.bound <= fitted.result_.objective
    hinge = mo.estimators.HingeSVC().fit(X, y)
    w = np.concatenate([hinge.intercept_, hinge.coef_[0] / fitted.coef_[0] * fitted.result_.values["w"][1:]])
    assert fitted.result_.objective <= fitted.problem_.objective(w)
    assert fitted.score(X, y) > 0.6


def test_an_outlier_does_not_pull() -> None:
    x = np.concatenate([np.linspace(-2.0, -1.0, 10), np.linspace(1.0, 2.0, 10), [-60.0]])
    y = np.array([0] * 10 + [1] * 10 + [1])
    ramp = mo.estimators.RampSVC(lam=2.0, standardise=False).fit(x[:, None], y)
    assert (ramp.predict(x[:20, None]) == y[:20]).all()
    with pytest.warns(ConvergenceWarning):
        hinge = mo.estimators.HingeSVC(lam=2.0, standardise=False).fit(x[:, None], y)
    assert (hinge.predict(x[:, None]) == 1).all()
    assert (hinge.predict(x[:20, None]) != y[:20]).any()


def test_refusals() -> None:
    with pytest.raises(InputError, check=about("lam")):
        mo.estimators.RampSVC(lam=0.0).fit(*data(20, 2))
    with pytest.raises(InputError, check=about("intercept")):
        mo.estimators.RampSVC(intercept="none").fit(*data(20, 2))
