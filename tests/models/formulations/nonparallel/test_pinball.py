"""A hyperplane at a quantile of one class: optima by hand and by SLSQP, every point and multiplier, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about
from scipy.optimize import minimize

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import RBF, Linear, PinballTwinSVM


def _clouds() -> tuple[np.ndarray, np.ndarray]:
    """Three classes about (k, 1), with a constant column."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 12)
    return np.column_stack([rng.normal(size=36) + 3.0 * y, rng.normal(size=36) + 1.0, np.ones(36)]), y


@pytest.mark.parametrize(("c", "nu", "tau"), [(0.2, 3.0, 0.5), (0.5, 1.0, 0.0), (3.0, 1.0, 0.5)])
def test_two_points_by_hand(c: float, nu: float, tau: float) -> None:
    """min ½t² + 3νt + c max(-t, τt) over the line: t = c - 3ν where that is negative, else 0."""
    model = PinballTwinSVM([[1.0], [1.0], [3.0], [3.0]], ["a", "a", "b", "b"], "a", c=c, nu=nu, tau=tau)
    t = min(c - 3.0 * nu, 0.0)
    result = mo.solve(model, tol=1e-9)
    assert result.values["u"] == pytest.approx([t], abs=1e-6)
    assert result.objective == pytest.approx(0.5 * t * t + (3.0 * nu - c) * t, abs=1e-8)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.4)])
def test_the_optimum_is_bounded_by_every_point_and_every_multiplier(kernel: object) -> None:
    X, y = _clouds()
    rng = np.random.default_rng(1)
    for model in PinballTwinSVM.one_per_class(X, y, c=0.7, nu=1.5, tau=0.3, kernel=kernel):
        result = mo.solve(model, tol=1e-9)
        u = result.values["u"]
        assert model.objective(u) == pytest.approx(result.objective, rel=1e-7) and result.objective < -0.01
        for _ in range(20):
            assert model.objective(u + 0.1 * rng.normal(size=u.size)) >= result.objective - 1e-9
            margin = rng.uniform(0.0, model.c / 12, 12)
            overshoot = rng.uniform(0.0, model.c / 12, 12)
            assert model.bound(None, {"margin": margin, "overshoot": overshoot}).value <= result.objective + 1e-9


def test_the_smooth_problem_with_slacks_has_the_same_optimum() -> None:
    """SLSQP on min ½||u||² + ν/m 1'Bu + c/k 1'ξ, ξ ≥ -Au, ξ ≥ τAu."""
    X, y = _clouds()
    for model in PinballTwinSVM.one_per_class(X, y, c=0.7, nu=1.5, tau=0.3):
        A, b = X[model.inside], 1.5 * X[~model.inside].mean(axis=0)
        k, p = A.shape
        rows = np.vstack([np.hstack([A, np.eye(k)]), np.hstack([-0.3 * A, np.eye(k)])])
        smooth = minimize(
            lambda v, b=b, p=p, k=k: 0.5 * v[:p] @ v[:p] + b @ v[:p] + 0.7 * v[p:].sum() / k,
            np.concatenate([np.zeros(p), np.ones(k)]),
            jac=lambda v, b=b, p=p, k=k: np.concatenate([v[:p] + b, np.full(k, 0.7 / k)]),
            constraints=[{"type": "ineq", "fun": lambda v, rows=rows: rows @ v, "jac": lambda v, rows=rows: rows}],
            method="SLSQP", options={"ftol": 1e-14, "maxiter": 1000},
        )  # fmt: skip
        assert mo.solve(model, tol=1e-9).objective == pytest.approx(smooth.fun, rel=1e-6)


def test_a_share_of_the_class_is_on_the_negative_side() -> None:
    """Optimality in the intercept w, where it is nearly free: ν - c of the class's weight lies below, between c and -τc above."""
    X, y = _clouds()
    model = PinballTwinSVM(X[:, :2], y, 0, c=1.0, nu=0.5, tau=0.5, kernel=RBF(0.2), offset=1e3)
    f = model.features.project(mo.solve(model, tol=1e-10).values["u"][:, None], X[:, :2])[:, 0]
    below, above = np.mean(f[:12] < -1e-6), np.mean(f[:12] > 1e-6)
    # Σ λ_i = ν with λ = c/k below, -τ c/k above and between them on the hyperplane
    assert below - 0.5 * above <= 0.5 + 1e-9 <= (1.0 - above) - 0.5 * above + 2e-9


def test_the_hyperplanes_tell_the_classes_apart() -> None:
    X, y = _clouds()
    models = PinballTwinSVM.one_per_class(3.0 * X, y, kernel=RBF(0.2))
    distances = [np.abs(model.decision_function(mo.solve(model).values, 3.0 * X)) for model in models]
    assert np.mean(np.argmin(distances, axis=0) == y) > 0.9


@pytest.mark.parametrize("wrong", [{"target": 4}, {"c": 0.0}, {"nu": -1.0}, {"tau": -0.1}, {"c": float("nan")}, {"y": [1] * 36}])
def test_what_is_refused(wrong: dict[str, object]) -> None:
    X, y = _clouds()
    with pytest.raises(InputError):
        PinballTwinSVM(**{"X": X, "y": y, "target": 0, **wrong})  # type: ignore[arg-type]


def test_a_hyperplane_without_a_normal_vector_has_no_distance() -> None:
    X, y = _clouds()
    with pytest.raises(InputError, check=about("nu")):
        PinballTwinSVM(X, y, 0).decision_function({"u": np.zeros(3)}, X)
