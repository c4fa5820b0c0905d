"""Bounds of changed 0-1 models by products: proved, as of models from parts, and never below what the objective allows."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt.relaxations import gap_report, relax
from marginopt.relaxations.bounds import form_relaxations
from marginopt.solvers.records import Status

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

X, Y = clouds(3, 12)
GROUP = (X[:, 1] > np.median(X[:, 1])).astype(float)
SHIFT = (GROUP - GROUP.mean()) @ X / len(Y)


def fair() -> mo.Model:
    return mo.ZeroOneSVM(X, Y, lam=1.0).with_constraint(lambda v: [SHIFT @ v.w <= 0.02, SHIFT @ v.w >= -0.02])


@pytest.mark.parametrize("name", ["products", "products-separated"])
def test_bounds_of_a_changed_model_are_proved(name: str) -> None:
    relaxed = relax(fair(), name, time_limit=60.0)
    optimum = mo.solve(fair(), "scip", time_limit=60.0)
    assert optimum.solved
    assert relaxed.bound_kind == "proved" and relaxed.target_bound >= relax(fair(), "continuous").bound - 1e-6
    assert relaxed.bound <= optimum.objective * (1.0 + 1e-6) and relaxed.objective >= optimum.objective * (1.0 - 1e-6)


def test_a_bound_is_at_least_the_least_value_of_the_objective() -> None:
    stopped = relax(fair(), "products", "clarabel", iteration_limit=1)
    relaxed = replace(stopped, result=replace(stopped.result, certificate=None))
    assert relaxed.result.status is not Status.OPTIMAL and relaxed.result.best_bound[0] < 0.0
    assert (relaxed.bound, relaxed.bound_kind) == (0.0, "proved") and "negative" in relaxed.argument


def test_a_row_says_that_its_solve_did_not_end() -> None:
    report = gap_report({"fair": fair()}, ["products"], None, solver=("clarabel", {"max_iter": 1}), progress=False)
    (cell,) = report.relaxations
    assert cell.bound == 0.0 and cell.status in str(report)
    assert report.best[cell.key].low == 0.0


def test_rounds_of_separation_leave_time_for_the_last_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    original, calls = form_relaxations.solve_problem, []

    def slow(*arguments: object, limit: float) -> object:
        calls.append(arguments)
        result = original(*arguments)  # type: ignore[arg-type]
        time.sleep(limit)
        return result

    def next_triangles(*arguments: object) -> np.ndarray:
        return triangles[5 * len(calls) : 5 * len(calls) + 5]

    triangles = form_relaxations.all_triangles(len(Y))
    monkeypatch.setattr(form_relaxations, "violated_triangles", next_triangles)
    monkeypatch.setattr(form_relaxations, "solve_problem", partial(slow, limit=1.5))
    relaxed = relax(fair(), "products-separated", time_limit=5.0)
    assert len(calls) <= 2 and relaxed.result.status is Status.OPTIMAL
