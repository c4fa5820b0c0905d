"""Ipopt through Pyomo, run for real by the library in CasADi's wheel: what it reads, proves and calls local."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data import clouds
from facts import about
from ipopt_executable import install
from programs import form_of, solve

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import Block, Constraint, L2SVMDual, MEBDual, Model, Nonnegative, Power, Quadratic, StandardForm
from marginopt.models.formulations.nonparallel.chebyshev import ChebyshevNPSVC
from marginopt.models.formulations.stiefel import StiefelQP
from marginopt.models.model import as_model
from marginopt.solvers import Options, Status
from marginopt.solvers.backends import pyomo as backend

X, Y = clouds(4, 14, 2, 0.0, order="turns", first=-1.0)


@pytest.fixture
def ipopt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The solver that Pyomo finds on a path that holds the executable alone."""
    pytest.importorskip("casadi", reason="casadi is not installed")
    pytest.importorskip("pyomo.environ", reason="Pyomo is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert backend.discover() == ()
    install(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (solver,) = (s for s in backend.discover() if s.info.name == "pyomo:ipopt")
    return solver


def powers() -> StandardForm:
    """min x + y + z² where x^.3 y^.7 ≥ |z| and z ≥ 1."""
    cone = Constraint("mean", np.eye(3), np.zeros(3), Power(3, 1, 0.3))
    least = Constraint("least", np.array([[0.0, 0.0, 1.0]]), np.array([-1.0]), Nonnegative(1))
    q, infinite = np.array([1.0, 1.0, 0.0]), np.full(3, np.inf)
    P = Quadratic(matrix=np.diag([0.0, 0.0, 2.0]))
    return StandardForm("powers", (Block("x", (3,)),), q, (cone, least), -infinite, infinite, np.zeros(3, bool), P)


CONVEX = {
    "hinge": mo.HingeSVM(X, Y, lam=0.7),
    "l2 dual": L2SVMDual(X, Y, 2.0),
    "ball": MEBDual(X),
    "second-order": mo.Margin(X, Y, "hinge", mo.margin.GroupL1((0, 0, 0))),
    "logistic": mo.Margin(X, Y, "logistic", "l2"),
    "exponential": mo.Margin(X, Y, "exponential", "elastic-net"),
    "powers": as_model(powers()),
}


@pytest.mark.parametrize("name", CONVEX)
def test_its_multipliers_prove_the_optimum(ipopt: Any, name: str) -> None:
    model = CONVEX[name]
    result = mo.solve(model, ipopt)
    assert result.status is Status.OPTIMAL and result.bound_kind == "proved"
    assert result.objective == pytest.approx(mo.solve(model, "clarabel", tol=1e-8).objective, rel=1e-5)


def _local_and_global() -> dict[str, tuple[Model, str]]:
    rng = np.random.default_rng(3)
    H = rng.normal(size=(4, 4))
    y = np.arange(10) % 2
    points = np.column_stack([rng.normal(size=(10, 2)) + 1.5 * y[:, None] * [1.0, 0.0], np.ones(10)])
    return {
        "orthonormal columns": (StiefelQP(H + H.T, rng.normal(size=(4, 1))), "P"),
        "nonparallel, P free": (ChebyshevNPSVC(points, y, d=1, mu=0.1), "P"),
    }


@pytest.mark.parametrize("name", _local_and_global())
def test_its_points_of_nonconvex_problems_are_local(ipopt: Any, name: str) -> None:
    """A stationary point without a bound, never below the bound of a global search."""
    pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    model, block = _local_and_global()[name]
    local, search = mo.solve(model, ipopt), mo.solve(model, "gurobi", tol=1e-4, time_limit=60)
    assert local.status is Status.STATIONARY and local.bound_kind == "none"
    P = local.values[block]
    np.testing.assert_allclose(P.T @ P, np.eye(P.shape[1]), atol=1e-6)
    assert local.objective >= search.bound - 1e-6 * abs(search.bound)


def test_limits_and_options_reach_it(ipopt: Any) -> None:
    assert mo.solve(CONVEX["logistic"], ipopt, iteration_limit=1).status is Status.ITERATION_LIMIT
    raw = ipopt.solve_form(CONVEX["hinge"].form, Options(time_limit=5, threads=1, native={"mu_strategy": "adaptive"}))
    assert raw.status is Status.OPTIMAL and raw.details["options_not_taken"] == ["threads"]
    with pytest.raises(InputError, check=about("bogus")):
        mo.solve(CONVEX["hinge"], ipopt, native={"bogus": 1})


def test_multipliers_of_bounds_have_our_sign(ipopt: Any) -> None:
    form = form_of([0.0, -3.0], [("sum", [[1, 1]], [-1], Nonnegative(1))], [0.5, 0], [1, 1], np.eye(2))
    raw, theirs = ipopt.solve_form(form, Options()), solve(form, "clarabel")
    np.testing.assert_allclose(raw.reduced, form.join(theirs.reduced), atol=1e-5)
    assert raw.reduced[0] > 0.1 and raw.reduced[1] < -0.1
    np.testing.assert_allclose(raw.multipliers["sum"], theirs.multipliers["sum"], atol=1e-5)
