"""The cost of the returned coefficients is the objective that the result states, however early the solver stopped."""

from __future__ import annotations

import numpy as np
import pytest

import marginopt as mo
from marginopt.margin import L1
from marginopt.solvers import Status
from marginopt.solvers.polishing import polish


def _two_classes(n: int, scale: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), scale * rng.normal(size=(n, 2))])
    return X, np.where(X[:, 1] + scale * rng.normal(size=n) > 0.0, 1.0, -1.0)


def _cost(X: np.ndarray, y: np.ndarray, w: np.ndarray, loss: str, C: float) -> float:
    """½||w||² + C Σ of the losses, from the data."""
    short = np.maximum(1.0 - y * (X @ w), 0.0)
    return 0.5 * float(w @ w) + C * float((short**2 if loss == "squared-hinge" else short).sum())


@pytest.mark.parametrize("options", [{"tol": 0.3}, {"iteration_limit": 1}], ids=["loose", "one iteration"])
@pytest.mark.parametrize("solver", ["clarabel", "osqp", "piqp"])
@pytest.mark.parametrize(("loss", "C"), [("hinge", 1e6), ("squared-hinge", 1e6), ("hinge", 1.0)])
def test_continuous_programs_state_what_w_costs(loss, C, solver, options):
    X, y = _two_classes(20, 1.0, 3)
    result = mo.solve(mo.Margin(X, y, loss, "half-l2", sample_weight=C), solver, **options)
    assert result.objective == pytest.approx(_cost(X, y, result.values["w"], loss, C), rel=1e-6)
    assert result.certificate.primal_residual <= 1e-9
    if result.status is Status.OPTIMAL:
        assert result.gap <= options.get("tol", 1e-3)


def test_named_and_changed_models_state_what_w_costs():
    X, y = _two_classes(20, 1.0, 3)
    plain = mo.HingeSVM(X, y, lam=1e6)
    changed = plain.with_constraint(lambda v: [v.w[1] <= 0.1])
    for model in (plain, changed):
        result = mo.solve(model, "clarabel", iteration_limit=1)
        short = np.maximum(1.0 - y * (X @ result.values["w"]), 0.0)
        cost = float(result.values["w"] @ result.values["w"]) + 1e6 * float(short.sum())
        assert result.objective == pytest.approx(cost, rel=1e-6)


@pytest.mark.filterwarnings("ignore:.*scales differ")
def test_small_norms_of_large_data_are_counted():
    """Rows |w_j| ≤ a_j may be missed by 1e-9, which is the whole norm where the data are of size 1e9."""
    X, y = _two_classes(6, 1e9, 5)
    model = mo.Margin(X, y, "ramp", L1(1.0), sample_weight=10.0)
    w = np.array([0.0, 4e-10, 3e-10])
    point, _ = polish(model.form, {**model.complete({"w": w}), "a": np.zeros(3)}, model)
    short = np.clip(1.0 - y * (X @ point["w"]), 0.0, 2.0)
    cost = float(np.abs(point["w"]).sum()) + 10.0 * float(short.sum())
    assert model.form.objective(model.form.join(point)) == pytest.approx(cost, rel=1e-6)
