"""`ZeroOneSVC`: class costs and sample weights end to end, repeated points as weights, the budget form."""

import numpy as np
import pytest
from facts import about, ended

import marginopt as mo
from marginopt.errors import InputError, SolverError


def data(n=24, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    return rng.normal(size=(n, 2)) * 0.8 + 0.5 * y[:, None], y


def exact(**options):
    return mo.estimators.ZeroOneSVC(standardise=False, tol=1e-9, node_limit=None, **options)


def value(X, y, w, cost):
    """The objective of a classifier, from its definition."""
    margins = y * (X @ w[1:] + w[0])
    return float(w @ w + cost[margins < 1 - 1e-9].sum())


@pytest.mark.parametrize("intercept", ["penalised", "free"])
def test_costs_of_classes_and_points_are_those_of_the_model(intercept):
    X, y = data()
    sample = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    fitted = exact(lam=3.0, intercept=intercept, class_weight={-1: 0.5, 1: 4.0}).fit(X, y, sample_weight=sample)
    cost = 3.0 * sample * np.where(y < 0, 0.5, 4.0)
    model = mo.ZeroOneSVM(np.column_stack([np.ones(len(y)), X]), y.astype(float), lam=cost, intercept=intercept)
    direct = mo.solve(model, "zero-one-bb", engine="conflicts", tol=1e-9)
    assert fitted.result_.objective == pytest.approx(direct.objective, rel=1e-8)
    plain = exact(lam=3.0, intercept=intercept).fit(X, y)
    w = np.concatenate([plain.intercept_, plain.coef_[0]])
    if intercept == "penalised":
        assert value(X, y, np.concatenate([fitted.intercept_, fitted.coef_[0]]), cost) == pytest.approx(
            direct.objective, rel=1e-8
        )
        assert value(X, y, w, cost) >= direct.objective * (1 - 1e-9)
    violated = [(y * (X @ f.coef_[0] + f.intercept_) < 1 - 1e-9) for f in (plain, fitted)]
    # eight times the cost of the positive points: fewer of them are violated
    assert violated[1][y > 0].sum() < violated[0][y > 0].sum()


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
def test_repeated_points_are_weights(engine):
    X, y = data(16, seed=2)
    times = np.random.default_rng(3).integers(1, 4, len(y))
    ones = np.ones(len(y))
    once = mo.ZeroOneSVM(np.column_stack([ones, X]), y.astype(float), lam=2.0 * times)
    often = mo.ZeroOneSVM(np.repeat(once.X, times, axis=0), np.repeat(once.y, times), lam=2.0)
    a, b = (mo.solve(model, "zero-one-bb", engine=engine, tol=1e-9) for model in (once, often))
    assert a.objective == pytest.approx(b.objective, rel=1e-8)
    weighted = exact(lam=2.0).fit(X, y, sample_weight=times.astype(float))
    assert weighted.result_.objective == pytest.approx(a.objective, rel=1e-8)


def test_a_budget_of_violations():
    X, y = data(20, seed=4)
    fitted = exact(kappa=0.35).fit(X, y)
    assert (y * (X @ fitted.coef_[0] + fitted.intercept_) < 1 - 1e-9).sum() <= 7
    assert fitted.result_.gap <= 1e-8
    with pytest.raises(InputError, check=about("lam")):
        exact(kappa=0.35, lam=1.0).fit(X, y)
    with pytest.raises(InputError, check=about("kappa")):
        exact(kappa=0.35, class_weight={-1: 2.0, 1: 1.0}).fit(X, y)
    with pytest.raises(SolverError, check=ended("infeasible")):
        exact(kappa=0.0).fit(*data(60, seed=5))
