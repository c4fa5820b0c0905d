"""`ConicSVM` and `StrongestConic` with a free intercept: a bound of it takes the place of its square."""

from __future__ import annotations

import itertools
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from effort import trials
from facts import about

import marginopt as mo
from marginopt.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def drawn(seed: int, n: int = 14) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], n // 2)
    return np.column_stack([np.ones(n), rng.normal(size=(n, 2)) + 0.5 * y[:, None] + 0.7]), y


def written_out(X: np.ndarray, y: np.ndarray, lam: np.ndarray | float, B: float) -> float:
    """The optimum of the semidefinite program, from its mathematics."""
    n, p = X.shape
    A = y[:, None] * X
    w, W, z = cp.Variable((p, 1)), cp.Variable((p, p), symmetric=True), cp.Variable(n)
    over, under = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    rows = [cp.bmat([[np.ones((1, 1)), w.T], [w, W]]) >> 0, over - under == 1 - A @ w[:, 0], W[0, 0] <= B**2, z >= 0, z <= 1]
    for i, a in enumerate(A):
        hull = cp.trace(np.outer(a, a) @ W) - 2 * a @ w[:, 0] + 1
        rows.append(hull >= cp.quad_over_lin(over[i], z[i]) + cp.quad_over_lin(under[i], 1 - z[i]))
    problem = cp.Problem(cp.Minimize(cp.trace(W) - W[0, 0] + np.broadcast_to(lam, n) @ z), rows)
    return float(problem.solve(solver="CLARABEL"))


@pytest.mark.parametrize("seed", range(trials(2, 10)))
def test_it_is_the_program_of_its_mathematics(seed: int) -> None:
    X, y = drawn(seed)
    for lam in (0.6, np.random.default_rng(seed).uniform(0.3, 1.0, y.size)):
        model = mo.ConicSVM(X, y, lam=lam, intercept="free", intercept_bound=1.5)
        result = mo.solve(model, "clarabel", tol=1e-8)
        assert result.objective == pytest.approx(written_out(X, y, lam, 1.5), rel=1e-5)
        assert result.bound <= result.objective * (1 + 1e-6) and result.values["W"][0, 0] <= 1.5**2 * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(trials(3, 30)))
def test_its_proved_bound_is_positive_and_below_the_optimum_of_the_count(seed: int) -> None:
    X, y = drawn(seed)
    exact = mo.solve(mo.ZeroOneSVM(X, y, lam=0.6, intercept="free"), "zero-one-bb")
    model = mo.ConicSVM(X, y, lam=0.6, intercept="free")
    result = mo.solve(model, "clarabel")
    assert result.bound_kind == "proved" and 0.0 < result.bound <= exact.objective
    assert result.bound == pytest.approx(result.objective, rel=1e-4)
    assert abs(exact.values["w"][0]) <= model.intercept_radius


def test_the_multiplier_of_the_bound_is_a_price_of_the_intercept() -> None:
    """Duality: the optimum with the square of the intercept at a price ρ, less ρB², is largest at ρ*, and there the optimum."""
    X, y = drawn(4)
    result = mo.solve(mo.ConicSVM(X, y, lam=0.6, intercept="free", intercept_bound=1.5), "clarabel", tol=1e-9)
    (best,) = np.ravel(result.multipliers["bounded"])

    def at(price: float) -> float:
        scaled = X * np.array([1.0 / np.sqrt(price), 1.0, 1.0])
        return mo.solve(mo.ConicSVM(scaled, y, lam=0.6), "conic-ipm", tol=1e-9).objective - price * 1.5**2

    assert at(best) == pytest.approx(result.objective, rel=1e-5)
    assert max(at(best / 3.0), at(3.0 * best)) < result.objective


def test_without_a_bound_the_optimum_is_zero() -> None:
    """The point of the docstring: W_11 = M, nothing else, and z = 1/(1 + M) meet every hull row."""
    X, y = drawn(1)
    values = []
    for B in (10.0, 100.0, 1000.0):
        model = mo.ConicSVM(X, y, lam=0.6, intercept="free", intercept_bound=B)
        n, M = y.size, B**2
        W, z = np.zeros((3, 3)), np.full(n, 1.0 / (1.0 + M))
        W[0, 0] = M
        point = {"w": np.zeros(3), "W": W, "z": z, "r_plus": np.ones(n), "r_minus": np.zeros(n), "s": 1.0 / z, "t": np.zeros(n)}
        certificate = mo.certify(model, point)
        assert certificate.primal_residual <= 1e-9
        values.append(certificate.objective)
    assert values[0] > 50.0 * values[1] > 2500.0 * values[2]


def test_a_budget_of_violations_with_a_free_intercept() -> None:
    """Two of eight points may be left out; the optimum is positive since B² < 1/κ - 1."""
    X, y = drawn(2, 8)
    w, is_kept = cp.Variable(3), cp.Parameter(8, nonneg=True)
    hard = cp.Problem(cp.Minimize(cp.sum_squares(w[1:])), [cp.multiply(y, X @ w) >= 1 - 1e3 * (1 - is_kept), cp.abs(w[0]) <= 1.0])
    values = []
    for left_out in itertools.combinations(range(8), 2):
        is_kept.value = np.where(np.isin(np.arange(8), left_out), 0.0, 1.0)
        values.append(float(hard.solve(solver="CLARABEL")))
    result = mo.solve(mo.ConicSVM(X, y, kappa=0.25, intercept="free", intercept_bound=1.0), "clarabel")
    assert result.bound_kind == "proved" and 0.0 < result.bound <= min(values) < np.inf
    wide = mo.solve(mo.ConicSVM(X, y, kappa=0.25, intercept="free", intercept_bound=1.8), "clarabel")
    assert wide.objective == pytest.approx(0.0, abs=1e-6) and wide.bound == 0.0


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"lam": 1.0, "intercept": "none"}, "intercept"),
        ({"kappa": 0.2, "intercept": "free"}, "intercept_bound"),
        ({"kappa": 0.0, "intercept": "free"}, "intercept"),
        ({"lam": 1.0, "intercept": "free", "kernel": mo.RBF(1.0)}, "intercept"),
        ({"lam": 1.0, "intercept": "free", "intercept_bound": -1.0}, "intercept_bound"),
        ({"lam": 1.0, "intercept_bound": 1.0}, "intercept_bound"),
    ],
)
def test_refusals(options: dict[str, Any], name: str) -> None:
    X, y = drawn(0)
    with pytest.raises(InputError, check=about(name)):
        mo.ConicSVM(X, y, **options)
    with pytest.raises(InputError, check=about("intercept")):
        mo.ConicSVM(X[:, 1:], y, lam=1.0, intercept="free")
