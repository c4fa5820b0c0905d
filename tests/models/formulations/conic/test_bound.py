"""Certified bounds and exactly feasible points of the conic SVM, against brute evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from effort import trials
from facts import about
from scipy.optimize import minimize

from marginopt.errors import InputError
from marginopt.models import conic_bound as bounds
from marginopt.models.conic_bound import certified_bound, conic_multipliers, dual_value, primal_point, repair_gamma
from marginopt.models.views import ConicProblem


def problem(rng, n=15, p=3, lam=0.7, kappa=None, metric=False):
    A = rng.standard_normal((n, p)) + 0.4
    if not metric:
        return ConicProblem(A, lam, kappa)
    root = rng.standard_normal((p, p))
    return ConicProblem(A, lam, kappa, root @ root.T + 0.1 * np.eye(p))


def conic_loss(r, gamma, lam):
    """Proposition 1."""
    middle = 2 * np.sqrt(lam * gamma) * r - gamma * r * r
    with np.errstate(divide="ignore"):
        return np.where(r <= 0, 0.0, np.where(r <= np.sqrt(lam / gamma), middle, lam))


@pytest.mark.parametrize("v", [-0.8, 0.0, 0.3, 1.1, 5.0])
def test_conjugate_in_the_dual_value_is_that_of_psi(v):
    # one point, p = 1: D = -γ + v - ψ*(v) - ¼ g²/S, so ψ* can be read off and compared with the supremum on a grid
    lam, gamma, a = 0.5, 0.3, 0.9
    value = dual_value(ConicProblem(np.array([[a]]), lam, None), np.array([gamma]), np.array([v]))
    star = -value - gamma + v - 0.25 * (a * (2 * gamma - v)) ** 2 / (1 - gamma * a * a)
    r = np.linspace(-20, 20, 400001)
    supremum = (v * r - conic_loss(r, gamma, lam) - gamma * r * r).max()
    assert star == pytest.approx(supremum, abs=1e-6)


@pytest.mark.parametrize("metric", [False, True])
@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_bound_is_the_minimum_over_w_for_that_gamma(seed, metric):
    rng = np.random.default_rng(seed)
    model = problem(rng, metric=metric)
    gamma = repair_gamma(model.A, rng.uniform(0, 1, model.A.shape[0]), model.metric, margin=0.2)
    norm = np.eye(3) if model.metric is None else model.metric

    def value(w):
        return w @ norm @ w + conic_loss(1 - model.A @ w, gamma, model.lam).sum()

    options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 5000}
    starts = [size * rng.standard_normal(3) for size in (0.1, 0.5, 1.0)]
    runs = [minimize(value, w, method="Nelder-Mead", options=options) for w in starts]
    best = min(runs, key=lambda run: run.fun)
    bound = certified_bound(model, gamma)
    assert bound.value <= best.fun + 1e-9
    assert bound.value == pytest.approx(best.fun, rel=1e-6)
    assert dual_value(model, bound.gamma, bound.v) == pytest.approx(bound.value, rel=1e-12)


def test_gamma_of_any_quality_gives_a_bound_below_every_feasible_point():
    rng = np.random.default_rng(3)
    for kappa in (None, 0.2):
        model = problem(rng, n=25, p=4, lam=0.4 if kappa is None else None, kappa=kappa)
        upper = min(primal_point(model, 0.3 * rng.standard_normal(4), 3.0 * np.eye(4)).objective for _ in range(20))
        for gamma in (np.zeros(25), rng.standard_normal(25), 1e6 * rng.uniform(0, 1, 25), 1e-9 * np.ones(25)):
            assert 0.0 <= certified_bound(model, gamma).value <= upper


def test_repair_leaves_a_positive_definite_matrix():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((30, 5)) * 10.0 ** rng.uniform(-6, 6, 5)
    for margin in (1e-10, 1e-6):
        gamma = repair_gamma(A, rng.uniform(-1, 1, 30), margin=margin)
        assert (gamma >= 0).all() and gamma.max() > 0
        eigenvalues = np.linalg.eigvalsh(np.eye(5) - (A * gamma[:, None]).T @ A)
        assert eigenvalues[0] >= 0.9 * margin


def test_dual_value_refuses_what_is_not_in_gamma():
    model = ConicProblem(np.array([[1.0], [2.0]]), 1.0, None)
    assert dual_value(model, np.array([1.0, 1.0]), np.zeros(2)) == -np.inf  # S < 0
    assert dual_value(model, np.array([-0.1, 0.0]), np.zeros(2)) == -np.inf
    assert dual_value(model, np.array([0.1, 0.0]), np.array([0.1, 0.1])) == -np.inf  # v_2 ≠ 0 = γ_2


def test_wrong_lengths_are_named():
    model = ConicProblem(np.ones((3, 2)), None, 0.5)
    with pytest.raises(InputError, check=about("gamma")):
        certified_bound(model, np.ones(4))
    with pytest.raises(InputError, check=about("mu")):
        dual_value(model, np.zeros(3), np.zeros(3))
    with pytest.raises(InputError, check=about("w")):
        primal_point(model, np.ones(3))
    with pytest.raises(InputError, check=about("W")):
        primal_point(model, np.ones(2), np.ones((3, 3)))
    with pytest.raises(InputError, check=about("kappa")):
        primal_point(ConicProblem(np.ones((3, 2)), None, 0.0), np.ones(2))


@pytest.mark.parametrize("kappa", [None, 0.01, 0.4])
@pytest.mark.parametrize("metric", [False, True])
def test_recovered_points_are_feasible(kappa, metric):
    rng = np.random.default_rng(8)
    model = problem(rng, n=20, p=4, lam=0.3 if kappa is None else None, kappa=kappa, metric=metric)
    for W in (None, np.zeros((4, 4)), rng.standard_normal((4, 4)), 5.0 * np.eye(4)):
        w = rng.standard_normal(4)
        point = primal_point(model, w, W)
        v = point.values
        u = model.A @ w
        hull = np.einsum("ij,ij->i", model.A @ v["W"], model.A) - 2 * u + 1
        scale = max(1.0, np.abs(hull).max())
        assert np.linalg.eigvalsh(v["W"] - np.outer(w, w))[0] >= -1e-12 * np.abs(v["W"]).max()
        assert (v["z"] >= 0).all() and (v["z"] <= 1).all()
        assert (hull - v["s"] - v["t"] >= -1e-12 * scale).all()
        assert (v["s"] * v["z"] - v["r_plus"] ** 2 >= -1e-12 * scale).all()
        assert (v["t"] * (1 - v["z"]) - v["r_minus"] ** 2 >= -1e-12 * scale).all()
        assert np.abs(v["r_plus"] - v["r_minus"] - 1 + u).max() <= 1e-14 * scale
        if kappa is not None:
            assert v["z"].sum() <= kappa * 20 * (1 + 1e-12)
        norm = np.eye(4) if model.metric is None else model.metric
        value = (norm * v["W"]).sum() + (0 if model.lam is None else model.lam * v["z"].sum())
        assert point.objective == pytest.approx(value, rel=1e-10)


def test_scale_of_the_spread_is_optimal_in_the_lambda_form():
    rng = np.random.default_rng(9)
    model = problem(rng, n=20, p=3, lam=2.0)
    w, V = 0.1 * rng.standard_normal(3), np.eye(3)
    best = primal_point(model, w, np.outer(w, w) + V).objective
    square = np.maximum(1 - model.A @ w, 0) ** 2
    d = np.einsum("ij,ij->i", model.A, model.A)

    def value(t):
        active = square > 0
        return w @ w + 3 * t + 2.0 * (square[active] / (square + t * d)[active]).sum()

    assert best <= min(value(t) for t in np.geomspace(1e-4, 1e4, 2000)) + 1e-10


def test_multipliers_satisfy_stationarity_in_w_and_W():
    rng = np.random.default_rng(10)
    model = problem(rng, n=12, p=3)
    bound = certified_bound(model, rng.uniform(0, 0.1, 12))
    multipliers = conic_multipliers(model, bound.gamma, bound.v)
    violated = multipliers["violated"].reshape(-1, 3)
    assert (2 * violated[:, 0] * violated[:, 1] >= violated[:, 2] ** 2 - 1e-12).all()
    # the Lagrangian's constant is the bound: -τ - Σγ + Σv - Σ(multiplier of 1 - z)
    remaining = multipliers["kept"].reshape(-1, 3)
    constant = -multipliers["lifted"][0] - bound.gamma.sum() + bound.v.sum() - remaining[:, 1].sum()
    assert constant == pytest.approx(bound.value, rel=1e-9)


def test_a_margin_that_rounding_eats_is_followed_by_a_larger_one(monkeypatch):
    # with hundreds of thousands of points the rounding of Σγ_i a_i a_i' is more than the least margin; here the margin is less
    model = problem(np.random.default_rng(0))
    gamma = np.full(model.A.shape[0], 1.0)
    monkeypatch.setattr(bounds, "TRIAL_EIGENVALUES", (1e-6,))
    wanted = certified_bound(model, gamma)
    monkeypatch.setattr(bounds, "TRIAL_EIGENVALUES", (1e-18, 1e-6))
    assert 0.0 < wanted.value == certified_bound(model, gamma).value
