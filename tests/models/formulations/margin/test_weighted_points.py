"""Weights of points: the smallest ball about weighted points, nearest hulls with weights and the max-min problem over them."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from facts import about
from hypothesis import given, settings, strategies as st

import marginopt as mo
from marginopt.errors import InputError
from marginopt.solvers.polishing import polish

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
N = 18
RNG = np.random.default_rng(3)
Y = np.where(np.arange(N) < 8, 1.0, -1.0)
X = RNG.normal(size=(N, 2)) + 0.6 * Y[:, None]
S = RNG.uniform(0.3, 3.0, N)


@pytest.mark.parametrize("weights", [S, np.where(np.arange(N) < 3, 0.0, S)])
def test_the_weighted_ball_is_cvxpys(weights: np.ndarray) -> None:
    model = mo.Margin(X, Y, "ball", "none", sample_weight=weights)
    result = mo.solve(model, "clarabel", tol=1e-9)
    c = cp.Variable(2)
    stated = cp.Problem(cp.Minimize(cp.max(cp.hstack([s * cp.sum_squares(x - c) for s, x in zip(weights, X, strict=True)]))))
    stated.solve(solver="CLARABEL")
    assert result.objective == pytest.approx(stated.value, rel=1e-6)
    np.testing.assert_allclose(result.values["w"], c.value, atol=1e-3)
    assert model.objective(result.values["w"]) == pytest.approx(result.objective, rel=1e-6)
    assert model.dual_value(result.multipliers) == pytest.approx(result.objective, rel=1e-6)
    assert result.bound <= result.objective * (1 + 1e-9)
    assert "sum_i a_i c_i x_i'x_i" in str(model)
    scores = model.decision_function(result.values, X)
    np.testing.assert_allclose(scores, result.objective - ((X - c.value) ** 2).sum(axis=1), atol=2e-3)


def test_equal_weights_give_the_ball_of_the_points_and_its_kernel() -> None:
    for kernel in (mo.Linear(), mo.RBF(0.7)):
        ball = mo.solve(mo.Margin(X, Y, "ball", "none", sample_weight=2.0, kernel=kernel), "clarabel", tol=1e-9)
        assert ball.objective == pytest.approx(2.0 * mo.solve(mo.MEBDual(X, kernel), "clarabel", tol=1e-9).objective, rel=1e-5)


@given(seed=st.integers(0, 1000), wild=st.floats(0.0, 10.0), loss=st.sampled_from(["ball", "nearest-hulls"]))
@settings(max_examples=40)
def test_duals_bound_every_point_from_any_multipliers(seed: int, wild: float, loss: str) -> None:
    """Weak duality, in the stated objective at any w."""
    rng = np.random.default_rng(seed)
    model = mo.Margin(X, Y, loss, "none" if loss == "ball" else "half-l2", sample_weight=S)
    noise = {c.label: wild * rng.normal(size=c.rows) for c in model.form.constraints}
    w = rng.normal(size=2) * rng.choice([0.1, 1.0, 5.0])
    assert model.dual_value(noise) <= model.objective(w) + 1e-9


def test_nearest_hulls_is_cvxpys_and_the_primal_of_the_hulls_dual() -> None:
    model = mo.Margin(X, Y, "nearest-hulls", "half-l2", sample_weight=1.7 * S)
    result = mo.solve(model, "clarabel", tol=1e-9)
    w, levels, xi = cp.Variable(2), cp.Variable(2), cp.Variable(N, nonneg=True)
    stated = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + 0.5 * (1.7 * S) @ cp.square(xi) - cp.sum(levels)),
        [cp.multiply(Y, X @ w) + xi >= np.column_stack([Y > 0, Y < 0]).astype(float) @ levels],
    )
    stated.solve(solver="CLARABEL")
    assert result.objective == pytest.approx(stated.value, rel=1e-6)
    assert model.dual_value(result.multipliers) == pytest.approx(result.objective, rel=1e-7)
    assert model.objective(result.values["w"]) == pytest.approx(result.objective, rel=1e-6)
    dual = mo.ConvexHullsDual(X, Y, 1.7, mo.Linear(), S)
    other = mo.solve(dual, "smo", tol=1e-9)
    assert other.objective == pytest.approx(-result.objective, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(result.values, X), dual.decision_function(other.values, X), atol=1e-3)


def test_a_weight_of_two_is_two_copies() -> None:
    copies = np.repeat(np.arange(N), np.where(np.arange(N) % 3, 1, 2))
    weights = np.where(np.arange(N) % 3, 1.0, 2.0)
    once = mo.solve(mo.Margin(X, Y, "nearest-hulls", "half-l2", sample_weight=weights), "clarabel", tol=1e-9)
    twice = mo.solve(mo.Margin(X[copies], Y[copies], "nearest-hulls", "half-l2"), "clarabel", tol=1e-9)
    assert once.objective == pytest.approx(twice.objective, rel=1e-6)


KERNEL = {"kernel": mo.Polynomial(2, gamma=0.5), "parameter": "coef0", "upper": 3.0}


@pytest.mark.parametrize("settings_of", [{"gamma0": 0.2}, KERNEL])
def test_max_min_with_weights(settings_of: dict[str, Any]) -> None:
    """Inner problem against CVXPY, its derivative by differences, whole weights as copies, and an answer with a certificate."""
    model = mo.MaxMinSVM(X, Y, 2.0, sample_weight=S, **settings_of)
    problem = model.problem
    theta = np.array([0.4])

    def inner(at: np.ndarray) -> mo.Result:
        return mo.solve(problem.inner_problem(at), "smo", tol=1e-12)

    best, K = inner(theta), problem.kernel_matrix(theta)
    a = cp.Variable(N, nonneg=True)
    Q = np.outer(Y, Y) * K + np.diag(1.0 / (2.0 * S))
    stated = cp.Problem(cp.Minimize(0.5 * cp.quad_form(a, cp.psd_wrap(Q))), [cp.sum(a[Y > 0]) == 1, cp.sum(a[Y < 0]) == 1])
    stated.solve(solver="CLARABEL")
    assert best.objective == pytest.approx(stated.value, rel=1e-6)
    assert problem.value(best.values["a"], theta) == pytest.approx(best.objective, rel=1e-9)
    assert mo.solve(model.at(0.4), "smo", tol=1e-10).objective == pytest.approx(best.objective, rel=1e-6)
    quotient = (inner(theta + 1e-4).objective - inner(theta - 1e-4).objective) / 2e-4
    assert problem.derivative(best.values["a"], theta)[0] == pytest.approx(quotient, rel=1e-4)
    whole = np.where(np.arange(N) % 4, 1.0, 3.0)
    copies = np.repeat(np.arange(N), whole.astype(int))
    weighted = mo.solve(mo.MaxMinSVM(X, Y, 2.0, sample_weight=whole, **settings_of), "maxmin")
    repeated = mo.solve(mo.MaxMinSVM(X[copies], Y[copies], 2.0, **settings_of), "maxmin")
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-4)
    assert "diag(1/(C s_i))" in str(model)


def test_refusals() -> None:
    with pytest.raises(InputError, check=about("sample_weight")):
        mo.Margin(X, Y, "nearest-hulls", sample_weight=(Y > 0).astype(float))
    with pytest.raises(InputError, check=about("sample_weight")):
        mo.Margin(X, Y, "ball", "none", sample_weight=0.0)
    with pytest.raises(InputError, check=about("sample_weight")):
        mo.MaxMinSVM(X, Y, sample_weight=-S)


def test_far_points_without_weight_change_nothing() -> None:
    """They bounded the intercept by 1e8, and Gurobi's optimum was 25% above the truth."""
    X = np.array([[1.0, 0.5, -1.5], [1.0, -0.5, 1.5], [1.0, -7.5e7, -5e7], [1.0, -7.5e7, -5e7]])
    y, weights = np.array([-1.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.25, 0.0, 0.0])
    loss, norm = mo.margin.Ramp(0.25, 0.5), mo.margin.SquaredNorm(0.5)
    model = mo.Margin(X, y, loss, norm, intercept="free", sample_weight=weights)
    near = mo.Margin(X[:2], y[:2], loss, norm, intercept="free", sample_weight=weights[:2])
    np.testing.assert_array_equal(model.activity_bounds[1][:2], near.activity_bounds[1])
    for solver in mo.solvers.registry.solvers_that_read(model):  # margin-bb is always there, SCIP and Gurobi with their extras
        result = mo.solve(model, solver)
        assert result.status is mo.Status.OPTIMAL and result.objective == pytest.approx(0.2, rel=1e-6), solver


def test_integers_of_points_without_weight_do_not_hold_the_others() -> None:
    """SCIP's point cost 0.0596 with the far points on their sides of the hyperplane; the optimum of the two near ones is 0.05."""
    far = 5e7 * np.array([[0.5, -3.0, 2.5], [-4.0, 0.5, 2.5], [0.0, -3.5, 4.0], [3.5, -2.5, -4.0], [-1.0, 2.5, 2.0]])
    X = np.vstack([[-1.0, -1.0, -0.5], [1.0, 1.0, 0.5], far])
    y, weights = np.where(np.arange(7) == 1, 1.0, -1.0), np.array([1.0, 1.25, 0.0, 0.0, 0.0, 0.0, 0.0])
    loss = mo.margin.PiecewiseLinear(((-1.5, 1.0), (-1.25, 1.0), (-1.25, 0.5), (0.5, 0.0), (1.5, 0.0)))
    model = mo.Margin(X, y, loss, mo.margin.SquaredNorm(0.25), sample_weight=weights, domain=mo.margin.Box(-1.0, 1.0))
    values = model.complete({"w": np.array([0.0, 0.3125, 0.375])})
    best, _ = polish(model.form, values, model)
    assert model.form.objective(model.form.join(best)) == pytest.approx(0.25 * 0.25 / 2.25, rel=1e-6)
