"""`MarginClassifier`: the same as the estimators of its instances, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError, SolverError


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(60, 4, n_informative=2, n_redundant=0, flip_y=0.1, random_state=4)
    return X, y


def test_the_hinge_is_hinge_svc(data: Any) -> None:
    ours, theirs = mo.MarginClassifier(lam=2.0, tol=1e-8).fit(*data), mo.HingeSVC(lam=2.0, tol=1e-8).fit(*data)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_l1_leaves_features_out(data: Any) -> None:
    dense = mo.MarginClassifier("squared-hinge", "l2").fit(*data)
    sparse = mo.MarginClassifier("squared-hinge", "l1", lam=0.05).fit(*data)
    assert (np.abs(sparse.coef_) < 1e-6).sum() > (np.abs(dense.coef_) < 1e-6).sum()
    assert sparse.score(*data) > 0.6


def test_ramp_and_restrictions(data: Any) -> None:
    X, y = data[0][:24], data[1][:24]
    fitted = mo.MarginClassifier("ramp", "l1", subject_to=mo.fixed({1: 0.0}), solver="scip", time_limit=60).fit(X, y)
    assert fitted.coef_[0, 0] == pytest.approx(0.0, abs=1e-8)
    assert fitted.problem_.name == "Margin"


def test_refusals(data: Any) -> None:
    with pytest.raises(InputError, match="no loss of margins"):
        mo.MarginClassifier("epsilon-insensitive").fit(*data)
    with pytest.raises(InputError, match="there is no loss 'hing'; did you mean hinge"):
        mo.MarginClassifier("hing").fit(*data)
    with pytest.raises(InputError, match="lam must be"):
        mo.MarginClassifier(lam=-1.0).fit(*data)


def test_an_empty_problem_and_an_endless_one_say_so() -> None:
    """Restrictions that exclude each other are no question of separable classes, and no other solver helps against ν with L1."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 12)
    X = rng.normal(size=(24, 2)) + 0.9 * y[:, None]
    slope = np.array([[0.0, 1.0, 0.0]])
    apart = [margin.LinearRows(slope, np.array([low]), np.array([low + 1.0])) for low in (2.0, -3.0)]
    with pytest.raises(SolverError, match="no classifier that satisfies its restrictions: rows lower, rows 2 upper cannot hold"):
        mo.MarginClassifier("hinge", "l2", subject_to=apart).fit(X, y)
    with pytest.raises(SolverError, match="its objective is unbounded; another regulariser"):
        mo.MarginClassifier("nu", "l1").fit(X, y)
