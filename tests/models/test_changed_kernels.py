"""Changes of models with a kernel: what was proved stays proved with every solver, and points are explained as given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data import clouds
from effort import trials

import marginopt as mo
from marginopt.models.program.lagrangian import dual_bound

KERNELS = {"linear": mo.Linear(), "rbf": mo.RBF(0.5)}
CHANGES: dict[str, Any] = {
    "fixed": lambda model: model.with_fixed({"a": {0: 0.1}}),
    "row": lambda model: model.with_constraint(lambda v: v.a[0] + v.a[1] <= 0.1),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dual", [mo.L2SVMDual, mo.ConvexHullsDual])
def test_a_changed_dual_is_proved_with_every_solver(dual: Any, kernel: str, change: str) -> None:
    """Weights a ≥ 0 have no upper bound: slopes 1e-12 below zero on several of them left no bound of the changed form."""
    rng = np.random.default_rng(5)
    y = np.repeat([-1.0, 1.0], 7)
    X = rng.normal(size=(14, 3)) + 0.5 * y[:, None]
    model = CHANGES[change](dual(X, y, kernel=KERNELS[kernel]))
    least = mo.solve(model, "clarabel", tol=1e-9)
    for solver in ("highs", "piqp", "osqp"):
        result = mo.solve(model, solver)
        assert result.status is mo.Status.OPTIMAL, solver
        assert result.bound_kind == "proved"
        assert result.objective == pytest.approx(least.objective, rel=1e-5)
        assert result.bound <= least.objective + 1e-9


@pytest.mark.parametrize("seed", range(trials(10, 20)))
def test_raised_slopes_bound_from_any_multipliers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, 12, 2, 0.5, order="halves", first=-1.0)
    model = mo.L2SVMDual(X, y, kernel=mo.RBF(1.0)).with_fixed({"a": {0: 0.1}})
    least = mo.solve(model, "clarabel", tol=1e-9)
    for size in (1e-12, 1e-6, 1.0, 1e3):
        x = least.values["a"] + size * rng.normal(size=12)
        wild = {label: z + size * rng.normal(size=z.shape) for label, z in least.multipliers.items()}
        bound = dual_bound(model.form, x, wild)
        assert -np.inf < bound.value <= least.objective + 1e-9 * (1 + abs(least.objective))


def test_the_kernel_zero_one_problem_is_explained_in_the_points_that_were_given() -> None:
    """Its X are images, and the scores of images are those of nothing."""
    X, y = clouds(3, 8, 2, 0.5, order="halves", first=-1.0)
    X = X[:, -2:]
    model = mo.ZeroOneSVM(X, y, lam=1.0, kernel=mo.RBF(0.5))
    for stated in (model, model.with_fixed({"w": {0: 0.0}}), model.relaxed()):
        result = mo.solve(stated, time_limit=60)
        explained = stated.explain(result)
        assert np.allclose([row.score for row in explained.points], stated.decision_function(result.values, X))
