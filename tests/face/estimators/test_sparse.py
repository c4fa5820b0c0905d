"""`SparseSVC`: the optimum among all supports, the curve of its objective, a proved interval within a budget."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import InputError
from marginopt.estimators import SparseSVC


def data(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw features of different kinds and scales, one of them constant, and noisy labels of two of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-2.0, 2.0, p) + rng.uniform(-3.0, 3.0, p)
    X[:, 1] = X[:, 1] > np.median(X[:, 1])
    X[:, 2] = 7.0
    scores = X[:, 0] / X[:, 0].std() + 2.0 * X[:, 1] + 0.7 * rng.standard_normal(n)
    return X, np.where(scores > np.median(scores), "yes", "no")


def best_of_supports(X: np.ndarray, y: np.ndarray, k: int, loss: str, C: float) -> float:
    """Return the least objective of all supports of k features, each a convex problem."""
    deviation = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    signs, ones = np.where(y == "yes", 1.0, -1.0), np.ones((len(y), 1))
    models = [
        mo.Margin(np.hstack([ones, Z[:, list(support)]]), signs, loss, "half-l2", "free", C)
        for support in itertools.combinations(range(X.shape[1]), k)
    ]
    return min(float(mo.solve(model, tol=1e-8).objective) for model in models)


@pytest.mark.parametrize(("loss", "C"), [("hinge", 1.0), ("squared-hinge", 0.1), ("logistic", 3.0)])
def test_the_curve_is_that_of_the_enumeration_of_supports(loss: str, C: float) -> None:
    X, y = data(30, 5)
    model = SparseSVC(3, C=C, loss=loss, curve=True, tol=1e-6).fit(X, y)
    assert model.curve_.values == (1, 2, 3) and model.curve_[-1] is model.result_
    for k, result in zip(model.curve_.values, model.curve_, strict=True):
        best = best_of_supports(X, y, k, loss, C)
        assert result.solved and result.bound <= best * (1 + 1e-7)
        assert result.objective == pytest.approx(best, rel=3e-6)
    assert model.gap_ == model.result_.gap <= 1e-6
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.coef_[0]))
    assert model.support_.size == 3 and 2 not in model.support_
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], model.decision_function(X), atol=1e-9)


def test_a_count_that_does_not_bind_is_the_problem_without_it() -> None:
    X, y = data(40, 4)
    every = SparseSVC(9, loss="logistic", curve=True, tol=1e-8).fit(X, y)
    assert every.curve_.values == (1, 2, 3, 4)
    plain = mo.estimators.LogisticRegression(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(every.decision_function(X), plain.decision_function(X), atol=1e-3)
    objectives = every.curve_.objectives
    assert (np.diff(objectives) <= 1e-6 * objectives[1:]).all()


def test_a_budget_leaves_a_proved_interval() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 14)), rng.integers(0, 2, 60)
    model = SparseSVC(4, C=10.0, node_limit=2, curve=True).fit(X, y)
    assert model.result_.status is mo.Status.NODE_LIMIT
    assert 0.0 < model.gap_ == model.result_.gap
    bounds = [result.bound for result in model.curve_][:-1]
    assert bounds == sorted(bounds, reverse=True)  # each one holds for fewer features
    assert model.support_.size <= 4


def test_several_classes_have_a_curve_each() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 20)
    X = rng.standard_normal((60, 4)) + np.eye(4)[y] * 2.0
    model = SparseSVC(1, curve=True).fit(X, y)
    assert len(model.curve_) == len(model.pairs_) == 3
    assert ((model.coef_ != 0.0).sum(axis=1) == 1).all()
    assert set(model.support_) == set(np.flatnonzero(model.coef_.any(axis=0)))
    assert model.gap_ == max(result.gap for result in model.result_)
    model.set_params(curve=False).fit(X, y)
    with pytest.raises(InputError):
        model.draw_curve()


def test_the_picture_shows_objectives_and_bounds() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y = data(30, 5)
    model = SparseSVC(3, curve=True).fit(X, y)
    ax = model.draw_curve()
    objectives, bounds = (line.get_ydata() for line in ax.lines)
    np.testing.assert_array_equal(objectives, model.curve_.objectives)
    np.testing.assert_array_equal(bounds, [result.bound for result in model.curve_])
    assert model.draw_curve(ax) is ax


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"k": 0}, "k"),
        ({"k": 1.5}, "k"),
        ({"k": "few"}, "k"),
        ({"C": 0.0}, "C"),
        ({"loss": "ramp"}, "loss"),
    ],
)
def test_refusals(parameters: dict[str, object], name: str) -> None:
    X, y = data(20, 4)
    with pytest.raises(InputError) as error:
        SparseSVC(**parameters).fit(X, y)
    assert error.value.name == name
