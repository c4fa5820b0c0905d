"""`ConicSVM` with a cost for each point, and its kernel form with another offset than 1."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt.models.kernels.kernels import RBF, Linear
from marginopt.models.views import ConicProblem

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def points(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return np.column_stack([np.ones(n), rng.normal(size=(n, 2)) + 0.4 * y[:, None]]), y


def dense(K: np.ndarray, lam: np.ndarray) -> float:
    """Conic (21) over <K, W>, with rows K_i, by CVXPY."""
    n = len(K)
    M, z = cp.Variable((n + 1, n + 1), PSD=True), cp.Variable(n)
    W, w = M[1:, 1:], M[0, 1:]
    constraints = [M[0, 0] == 1, z >= 0, z <= 1]
    for i in range(n):
        u = K[i] @ w
        hull = cp.quad_over_lin(cp.pos(1 - u), z[i]) + cp.quad_over_lin(cp.neg(1 - u), 1 - z[i])
        constraints.append(cp.trace(np.outer(K[i], K[i]) @ W) - 2 * u + 1 >= hull)
    program = cp.Problem(cp.Minimize(cp.trace(K @ W) + lam @ z), constraints)
    program.solve(solver="CLARABEL")
    return float(program.value)


@pytest.mark.parametrize("seed", range(trials(1, 3)))
def test_the_offset_is_that_of_the_kernel_in_a_dense_program(seed: int) -> None:
    X, y = points(seed, 6)
    lam = np.random.default_rng(seed).uniform(0.2, 1.0, 6)
    for offset, price in ((0.0, 0.5), (1.0, lam), (0.0, lam), (1.0, 0.5))[: trials(2, 4)]:
        K = np.outer(y, y) * (RBF(0.5).matrix(X[:, 1:], X[:, 1:]) + offset)
        model = mo.ConicSVM(X[:, 1:], y, lam=price, kernel=RBF(0.5), offset=offset)
        result = mo.solve(model, "clarabel", tol=1e-9)
        assert result.objective == pytest.approx(dense(K, np.broadcast_to(price, 6)), rel=1e-5)
        assert result.bound <= result.objective + 1e-6
        scores = model.decision_function(result.values, X[:, 1:])
        assert np.allclose(y * scores, K @ result.values["w"], atol=1e-8)


def test_costs_of_points_are_those_of_repeated_points_and_bound_the_zero_one_loss() -> None:
    X, y = points(4, 10)
    times = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1, 1])
    weighted = mo.solve(mo.ConicSVM(X, y, lam=0.4 * times), "clarabel", tol=1e-9)
    repeated = mo.solve(mo.ConicSVM(np.repeat(X, times, axis=0), np.repeat(y, times), lam=0.4), "clarabel", tol=1e-9)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-6)
    equal = mo.ConicSVM(X, y, lam=np.full(10, 0.4))
    assert mo.solve(equal, "clarabel").objective == pytest.approx(mo.solve(mo.ConicSVM(X, y, lam=0.4)).objective, rel=1e-6)
    assert equal.view(ConicProblem) is None and equal.value_at_zero == pytest.approx(4.0)
    exact = mo.solve(mo.ZeroOneSVM(X, y, lam=0.4 * times), "zero-one-bb")
    assert weighted.bound <= exact.objective + 1e-9


def test_costs_and_offsets_that_are_none_are_refused() -> None:
    X, y = points(0, 8)
    for parts in (
        {"lam": np.zeros(8)}, {"lam": np.ones(7)}, {"lam": np.full(8, np.nan)}, {"lam": 1.0, "offset": 0.0},
        {"lam": 1.0, "kernel": Linear(), "offset": -1.0},
    ):  # fmt: skip
        with pytest.raises(mo.errors.InputError):
            mo.ConicSVM(X, y, **parts)  # type: ignore[arg-type]
