"""Every solver in a forked child of a process that has used it: the optimum, in seconds, whatever threads its library keeps."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import highspy
import numpy as np
import pytest
from data import clouds
from programs import bounded_qp, knapsack

import marginopt as mo
from marginopt.models.model import Model
from marginopt.models.program.form import StandardForm
from marginopt.solvers.registry import all_solvers, solvers_that_read

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

#: Seconds after which a child hangs: a fresh process, which some solvers take there, starts in two or three.
_PATIENCE = 60.0
_X, _Y = clouds(4, 14, 2, 0.3, order="turns", first=-1.0)
PROBLEMS: dict[str, Model | StandardForm] = {
    "knapsack": knapsack(),
    "0-1": mo.ZeroOneSVM(_X, _Y, lam=1.0),
    "quadratic": bounded_qp(),
    "dual": mo.L2SVMDual(_X[:, 1:], _Y, C=1.0),
    "conic": mo.ConicSVM(_X, _Y, lam=1.0),
    "margin": mo.Margin(_X, _Y, mo.margin.Ramp(), mo.margin.L0(1.0), domain=mo.margin.Box(-5.0, 5.0)),
}


def of(name: str) -> Model | StandardForm | None:
    """The first problem that the solver reads."""
    return next((problem for problem in PROBLEMS.values() if name in _readers(problem)), None)


def _readers(problem: Model | StandardForm) -> list[str]:
    from marginopt.models.model import as_model

    key = id(problem)
    if key not in _KNOWN:
        _KNOWN[key] = solvers_that_read(as_model(problem))
    return _KNOWN[key]


_KNOWN: dict[int, list[str]] = {}


def in_child(call: Callable[[], bool]) -> str:
    """ "right", "wrong" or "hangs": what a forked child makes of the call."""
    pid = os.fork()
    if pid == 0:  # no pytest, no atexit: nothing of the parent's is flushed twice
        try:
            os._exit(0 if call() else 1)
        finally:
            os._exit(2)
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        ended, code = os.waitpid(pid, os.WNOHANG)
        if ended:
            return "right" if code == 0 else "wrong"
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"


def solves_in_child(problem: Model | StandardForm, name: str, **options: Any) -> str:
    """The same solve in this process, then in a child."""
    here = mo.solve(problem, name, **options)
    assert here.values

    def again() -> bool:
        there = mo.solve(problem, name, **options)
        return there.status is here.status and bool(np.isclose(there.objective, here.objective, rtol=1e-3))

    return in_child(again)


@pytest.mark.parametrize("name", sorted(all_solvers(discover=False)))
def test_every_solver_after_a_fork(name: str) -> None:
    problem = of(name)
    if problem is None:
        pytest.skip(f"{name} is not installed or licensed, or reads another kind of problem")
    assert solves_in_child(problem, name, time_limit=30) == "right"


def test_highs_with_threads_after_a_fork() -> None:
    """Its scheduler has four threads here, and none of them in the child."""
    assert solves_in_child(knapsack(), "highs", threads=4, parallel="on") == "right"
    assert solves_in_child(bounded_qp(), "highs", threads=4) == "right"
    assert in_child(lambda: mo.solve(knapsack(), "highs", parallel="on").solved) == "right"
    highspy.Highs.resetGlobalScheduler(True)


def test_highs_hangs_without_its_new_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law can fail: with the mend taken out the child hangs."""
    monkeypatch.setattr("marginopt.solvers.backends.highs.call_outside_fork", lambda module, call: call())
    monkeypatch.setattr(sys.modules[__name__], "_PATIENCE", 3.0)
    mo.solve(knapsack(), "highs", threads=4, parallel="on")
    assert in_child(lambda: bool(mo.solve(knapsack(), "highs", parallel="on").values)) == "hangs"
    highspy.Highs.resetGlobalScheduler(True)


def test_clarabel_s_pool_of_threads_after_a_fork() -> None:
    assert solves_in_child(mo.HingeSVM(_X, _Y, lam=1.0), "clarabel", direct_solve_method="faer", threads=4) == "right"


def test_scs_in_many_children() -> None:
    """Its factorisation hung in one of thirty: in a child it has a process of its own."""
    model = mo.HingeSVM(_X, _Y, lam=1.0)
    assert mo.solve(model, "scs").solved
    assert in_child(lambda: mo.solve(model, "scs", time_limit=30).solved) == "right"
