"""Bounds of an imported CVXPY problem are those that its author stated, and values of its variables change nothing."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC

import marginopt as mo
from marginopt.models.importing.cvxpy import with_stated_bounds

X = np.array([[1.0, 2.0], [1.0, -1.0]])
Y = np.array([1.0, -1.0])


def overlapping(seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = np.c_[np.ones(30), rng.normal(size=(30, 3))]
    return points, np.where(points[:, 1] + rng.normal(size=30) > 0, 1.0, -1.0)


def hinge() -> cp.Problem:
    w = cp.Variable(2, name="w")
    return cp.Problem(cp.Minimize(cp.sum_squares(w) + cp.sum(cp.pos(1 - cp.multiply(Y, X @ w)))))


def test_a_hinge_with_multiply_has_its_optimum() -> None:
    result = mo.solve(mo.from_cvxpy(hinge()), "clarabel")
    assert result.status is mo.Status.OPTIMAL
    assert result.objective == pytest.approx(5 / 9, abs=1e-7)
    assert result.bound_kind == "proved"


def test_a_constraint_with_multiply_does_not_make_a_model_infeasible() -> None:
    points, y = overlapping()
    model = mo.HingeSVM(points, y, lam=1.0).with_constraint(lambda v: [cp.sum(cp.pos(0.5 - cp.multiply(y, points @ v.w))) <= 14])
    result = mo.solve(model, "clarabel")
    assert result.status is mo.Status.OPTIMAL
    assert result.objective == pytest.approx(22.69590838, abs=1e-6)


@pytest.mark.parametrize("solver", [name for name in cp.installed_solvers() if name in SOLVER_MAP_CONIC])
def test_no_bound_of_an_auxiliary_variable_reaches_a_solver(solver: str) -> None:
    """The problem states no bound; what CVXPY infers by itself for solvers with bounded variables is wrong."""
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.norm1(x) + cp.sum(cp.pos(1 - cp.multiply(Y, X @ x)))))
    data, _, _ = with_stated_bounds(problem).get_problem_data(solver, solver_opts={})
    assert data.get("lower_bounds") is None
    assert data.get("upper_bounds") is None


def test_stated_bounds_are_bounds() -> None:
    x = cp.Variable(3, name="x", bounds=[np.array([-1.0, -np.inf, 0.0]), 2.0])
    n = cp.Variable(2, name="n", nonpos=True)
    z = cp.Variable(2, name="z", boolean=True)
    problem = cp.Problem(cp.Minimize(cp.norm1(x) + cp.sum(z) - cp.sum(n) + cp.sum(cp.pos(1 - cp.multiply(Y, X @ z)))))
    form = mo.from_cvxpy(problem)
    np.testing.assert_array_equal(form.lower[form.slices["x"]], [-1.0, -np.inf, 0.0])
    np.testing.assert_array_equal(form.upper[form.slices["x"]], [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(form.upper[form.slices["n"]], [0.0, 0.0])
    np.testing.assert_array_equal(form.lower[form.slices["z"]], [0.0, 0.0])
    named = [form.slices[label] for label in ("x", "n", "z")]
    auxiliary = np.setdiff1d(np.arange(form.n), np.concatenate([np.arange(s.start, s.stop) for s in named]))
    assert not np.isfinite(form.lower[auxiliary]).any()
    assert not np.isfinite(form.upper[auxiliary]).any()


@pytest.mark.parametrize("value", [None, "optimum", "outside"])
def test_values_of_variables_change_nothing_and_stay(value: str | None) -> None:
    points, y = overlapping()
    w = cp.Variable(4, name="w")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) + cp.sum(cp.pos(1 - cp.multiply(y, points @ w)))), [w[3] >= 0.2])
    blank = mo.from_cvxpy(problem)
    if value == "optimum":
        problem.solve(solver="CLARABEL")
    elif value == "outside":
        w.value = np.full(4, -1e3)
    before = None if w.value is None else w.value.copy()
    form = mo.from_cvxpy(problem)
    assert form.equals(blank)
    np.testing.assert_array_equal(w.value, before)
