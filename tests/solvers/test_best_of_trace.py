"""The point that an algorithm returns is the best that its trace has seen."""

from __future__ import annotations

import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt.solvers import Status

X, Y = clouds(2, 16, 2, 0.7, order="halves")


def _returned(result: mo.Result) -> tuple[float, list[float]]:
    """The objective in the form's sense, and those of the trace, without a row that has none."""
    return result.sign * result.objective, [row.objective for row in result.trace if np.isfinite(row.objective)]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("parameters", [{}, {"eta": 1.0}, {"gamma": 0.0}])
def test_k_npsvcpp_whose_objective_rises_and_falls(seed: int, parameters: dict[str, float]) -> None:
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(21, 2)), np.arange(21) % 3
    Z[y == 1] += 1.5
    Z[y == 2, 0] -= 1.5
    model = mo.ChebyshevNPSVC(Z, y, kernel=mo.RBF([0.1, 0.3, 1.0, 3.0][seed]), mu=0.01, r1=0.3, r2=0.3)
    for limit in (4, 12):
        result = mo.solve(model, ("kernel-npsvcpp", parameters), seed=seed, iteration_limit=limit)
        objective, seen = _returned(result)
        assert objective <= min(seen) * (1.0 + 2e-6)
        assert result.status in (Status.STATIONARY, Status.STALLED, Status.ITERATION_LIMIT)


@pytest.mark.parametrize("limit", [1, 5, None])
@pytest.mark.parametrize(
    ("model", "solver"),
    [
        (mo.RampSVM(X, Y, lam=0.6), "margin-bb"),
        (mo.ZeroOneSVM(X, Y, lam=0.6), "zero-one-bb"),
        (mo.Margin(X, Y, "zero-one", "l1", sample_weight=0.5), "margin-bb"),
        (mo.L2SVMDual(X, Y, C=1.0), "smo"),
        (mo.L2SVMDual(X, Y, C=1.0), "pga"),
    ],
)
def test_searches_and_descents(model: mo.Model, solver: str, limit: int | None) -> None:
    options = {} if limit is None else {"node_limit" if solver.endswith("-bb") else "iteration_limit": limit}
    objective, seen = _returned(mo.solve(model, solver, **options))
    assert seen and objective <= min(seen) + 1e-9 * abs(min(seen))
