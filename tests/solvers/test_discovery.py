"""Solvers that CVXPY or qpsolvers come to reach, GPU ones among them, are in the table and solve with nothing written here.

The installs are simulated: the interfaces of CuClarabel (CVXPY) and of a new solver of qpsolvers, with Clarabel's and DAQP's
arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.solvers import registry

_RNG = np.random.default_rng(0)
_X = np.column_stack([np.ones(12), _RNG.normal(size=(12, 2))])
_Y = np.where(_X[:, 1] + 0.3 * _RNG.normal(size=12) > 0, 1.0, -1.0)


@pytest.fixture(autouse=True)
def _discovered_anew() -> Iterator[None]:
    registry._discovered.cache_clear()
    yield
    registry._discovered.cache_clear()


def _rows() -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in mo.solvers().rows}


def test_a_gpu_solver_that_cvxpy_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy
    from cvxpy.reductions.solvers import defines
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL

    assert "cvxpy:cuclarabel" not in _rows()

    class OnGpu(CLARABEL):  # type: ignore[misc]
        """CuClarabel's place in CVXPY's tables."""

        def name(self) -> str:
            return "CUCLARABEL"

    interface = OnGpu()
    monkeypatch.setitem(defines.SOLVER_MAP_CONIC, "CUCLARABEL", interface)
    monkeypatch.setattr(defines, "INSTALLED_CONIC_SOLVERS", [*defines.INSTALLED_CONIC_SOLVERS, "CUCLARABEL"])
    there = [*cvxpy.installed_solvers(), "CUCLARABEL", "CUOPT"]  # type: ignore[no-untyped-call]
    monkeypatch.setattr(cvxpy, "installed_solvers", lambda: there)
    monkeypatch.setattr(defines, "INSTALLED_SOLVERS", [*defines.INSTALLED_SOLVERS, "CUCLARABEL"])
    registry._discovered.cache_clear()
    row = _rows()["cvxpy:cuclarabel"]
    assert row["installed"] == "yes"
    assert "semidefinite" in row["reads"]
    assert "second-order cones" in row["reads"]
    assert "CUCLARABEL, through CVXPY" in row["summary"]
    assert "cvxpy:cuclarabel" in str(mo.solvers())
    assert "integer" in _rows()["cvxpy:cuopt"]["reads"]
    model = mo.ConicSVM(_X, _Y, lam=1.0)
    result = mo.solve(model, "cvxpy:cuclarabel")
    assert result.status is mo.Status.OPTIMAL
    assert result.bound_kind == "proved"
    assert result.objective == pytest.approx(mo.solve(model, "clarabel").objective, rel=1e-5)
    with pytest.raises(mo.errors.InputError, check=about("cvxpy:cuclarabell")):
        mo.solve(model, "cvxpy:cuclarabell")


def test_a_solver_that_qpsolvers_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    qpsolvers = pytest.importorskip("qpsolvers", reason="qpsolvers is not installed")
    pytest.importorskip("daqp", reason="daqp is not installed")
    from qpsolvers.solvers import solve_function

    def on_gpu(problem: Any, initvals: Any = None, verbose: bool = False, *, max_iter: int = 100) -> Any:
        """Options: ``max_iter`` is the limit."""
        return solve_function["daqp"](problem, iter_limit=max_iter)

    assert "gpuqp" not in _rows()
    monkeypatch.setitem(solve_function, "gpuqp", on_gpu)
    monkeypatch.setattr(qpsolvers, "available_solvers", [*qpsolvers.available_solvers, "gpuqp"])
    monkeypatch.setattr(qpsolvers, "dense_solvers", [*qpsolvers.dense_solvers, "gpuqp"])
    registry._discovered.cache_clear()
    row = _rows()["gpuqp"]
    assert row["installed"] == "yes"
    assert row["reads"] == "quadratic objective"
    model = mo.L2SVMDual(_X, _Y, 2.0, mo.RBF(0.5))
    result = mo.solve(model, "gpuqp")
    assert result.objective == pytest.approx(mo.solve(model, "clarabel").objective, rel=1e-5)
    with pytest.raises(mo.errors.InputError, check=about("max_itr")):
        mo.solve(model, "gpuqp", max_itr=3)
    shown = mo.compare(model, ["gpuqp", "clarabel"])
    assert [row.result is not None for row in shown.rows] == [True, True]


def test_without_the_interfaces_nothing_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for module in ("cvxpy", "qpsolvers"):
        monkeypatch.setitem(sys.modules, module, None)
    rows = _rows()
    assert not [name for name in rows if name.startswith("cvxpy:")]
    assert "proxqp" not in rows
    assert "clarabel" in rows
