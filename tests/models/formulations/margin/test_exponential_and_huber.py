"""The exponential and Huber losses: a smooth minimiser's optimum with a proved gap, forms that are the losses, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import marginopt as mo
from marginopt.errors import InputError
from marginopt.margin import ExponentialLoss, Huber

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
RNG = np.random.default_rng(5)
X = np.column_stack([np.ones(70), RNG.normal(size=(70, 2)), RNG.random(70) < 0.3])
SIGNS = np.where(X[:, 1] + RNG.normal(size=70) > 0.1, 1.0, -1.0)
TARGETS = 3.0 + X[:, 1] - 2.0 * X[:, 2] + RNG.standard_t(2, size=70)
C = np.linspace(0.2, 2.0, 70)


@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.parametrize(("loss", "y"), [("exponential", SIGNS), ("huber", TARGETS), (Huber(0.1), TARGETS)])
def test_the_optimum(loss: object, y: np.ndarray, intercept: str) -> None:
    model = mo.Margin(X, y, loss, "half-l2", intercept=intercept, sample_weight=C)
    result = mo.solve(model, tol=1e-6)
    assert result.status is mo.Status.OPTIMAL and result.gap <= 1e-6
    optimum = minimize(model.objective, result.values["w"], method="BFGS", options={"gtol": 1e-8})
    assert result.objective == pytest.approx(optimum.fun, rel=1e-6) and result.bound <= optimum.fun * (1 + 1e-12)
    assert model.dual_value(result.multipliers) == pytest.approx(optimum.fun, rel=1e-5)


@pytest.mark.parametrize(("loss", "y"), [("exponential", SIGNS), ("huber", TARGETS)])
@pytest.mark.parametrize("regulariser", ["l1", "elastic-net"])
def test_other_regularisers(loss: str, y: np.ndarray, regulariser: str) -> None:
    model = mo.Margin(X, y, loss, regulariser, intercept="free", sample_weight=0.5)
    result = mo.solve(model, tol=1e-6)
    assert result.status is mo.Status.OPTIMAL and result.gap <= 1e-6
    assert model.objective(result.values["w"]) == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize(("loss", "y"), [("exponential", SIGNS), (Huber(0.7), TARGETS)])
def test_the_form_is_the_loss(loss: object, y: np.ndarray) -> None:
    model = mo.Margin(X, y, loss, sample_weight=C)
    for _ in range(5):
        w = RNG.normal(size=4)
        x = model.form.join(model.complete({"w": w}))
        assert max(c.cone.violation(c.value(x)) for c in model.form.constraints) <= 1e-9
        assert model.form.objective(x) == pytest.approx(model.objective(w), rel=1e-12)


def test_values() -> None:
    assert Huber(2.0).values(np.array([0.0, 1.0, -2.0, 3.0, -5.0])).tolist() == [0.0, 0.5, 2.0, 4.0, 8.0]
    assert ExponentialLoss().values(np.array([0.0, -np.log(2.0), -1e4])) == pytest.approx([1.0, 2.0, np.inf])


def test_bad_input() -> None:
    for delta in (0.0, -1.0, np.nan, "one"):
        with pytest.raises(InputError):
            Huber(delta)
    with pytest.raises(InputError):
        mo.Margin(X, SIGNS, "huber", subject_to=mo.keep([0]))
    with pytest.raises(InputError):
        mo.Margin(X, TARGETS, "exponential")
