"""Odd requests of a solver, and odd data: our words or the right thing, and nothing on the terminal."""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from data import clouds
from facts import about, subjects
from mosek_reader import form_of_task
from programs import INFEASIBLE, UNBOUNDED, bounded_qp, form_of, knapsack
from sources import our_trees

import marginopt as mo
from marginopt.errors import InputError, MarginoptError, MarginoptWarning
from marginopt.models import Nonnegative, SecondOrder
from marginopt.models.model import as_model
from marginopt.solvers.records import Options
from marginopt.solvers.registry import all_solvers, get_solver, is_installed

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

_X, _Y = clouds(4, 12, 2, 0.0, order="turns", first=-1.0)
BACKENDS = [name for name, solver in sorted(all_solvers(discover=False).items()) if solver.reads_form]
INF = np.inf


def _wild() -> dict[str, Any]:
    """Programs with numbers that are infinite to some solver, without points or least values, or without variables to choose."""
    programs: dict[str, Any] = {"knapsack": knapsack(), "quadratic": bounded_qp(), "0-1": mo.ZeroOneSVM(_X, _Y, lam=1.0)}
    programs |= {f"infeasible {kind}": form for kind, form in INFEASIBLE.items()}
    programs |= {f"unbounded {kind}": form for kind, form in UNBOUNDED.items()}
    programs["crossing"] = form_of([1.0], lower=[2.0], upper=[1.0])
    programs["nothing to do"] = form_of([0.0])
    for big in (1e21, 1e70, 1e300):
        row = [("row", [[1.0, 1.0]], [-1.0], Nonnegative(1))]
        programs[f"side {big:g}"] = form_of([1.0, 1.0], [("row", [[1.0, 1.0]], [-big], Nonnegative(1))], [0, 0], [INF, INF])
        programs[f"cost {big:g}"] = form_of([big, 1.0], row, [0, 0], [INF, INF])
        programs[f"row {big:g}"] = form_of([1.0, 1.0], [("row", [[big, 1.0]], [-1.0], Nonnegative(1))], [0, 0], [INF, INF])
        programs[f"P {big:g}"] = form_of([1.0, -1.0], row, [0, 0], [INF, INF], np.diag([big, 1.0]))
        cone = [("cone", [[0.0, 0.0], [big, 0], [0, 1]], [big, 0, 0], SecondOrder(3))]
        programs[f"cone {big:g}"] = form_of([1.0, -1.0], cone)
        programs[f"hinge {big:g}"] = mo.HingeSVM(_X * big, _Y, lam=1.0)
    return programs


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.filterwarnings("ignore")
def test_solvers_print_nothing_and_raise_our_errors(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    solver = get_solver(name)
    if not is_installed(solver) or not solver.licence().usable:
        pytest.skip(f"{name} is not installed or not licensed")
    for kind, program in _wild().items():
        try:
            if solver.obstacle(as_model(program)) is None:
                mo.solve(program, name, time_limit=5)
        except MarginoptError:
            pass
        out, err = capfd.readouterr()
        assert not out and not err, (kind, out, err)


#: Formulations whose numbers pass the range of float64 or float32 on data of extreme scales.
EXTREME: dict[str, Callable[[np.ndarray], mo.Model]] = {
    "conic": lambda X: mo.ConicSVM(X, _Y, 1.0),
    "conic, kappa": lambda X: mo.ConicSVM(X, _Y, kappa=0.2),
    "L1 dual": lambda X: mo.L1SVMDual(X, _Y, C=1.0),
    "hulls": lambda X: mo.ConvexHullsDual(X, _Y, C=1.0),
    "ball": mo.MEBDual,
    "strongest": lambda X: mo.Margin(X, _Y, "strongest-conic", "l2"),
}


@pytest.mark.parametrize("scale", [1e150, 1e100, 1e-145])
@pytest.mark.parametrize("name", EXTREME)
def test_numbers_that_overflow_are_our_errors_or_answers_and_no_warnings(name: str, scale: float) -> None:
    try:
        model = EXTREME[name](_X * scale)
        model.form.inspect()
        result = mo.solve(model, time_limit=5)
        result.verify(model, exact=True)
    except MarginoptError:
        return
    assert not result.solved or np.isfinite(result.objective)


@pytest.mark.parametrize("name", ["time_limit", "memory_limit"])
def test_limits_that_limit_nothing(name: str) -> None:
    for value in (math.inf, 10**400, 1e300, Fraction(10**30)):
        assert getattr(Options(**{name: value}), name) is None
    assert mo.solve(knapsack(), "highs", time_limit=math.inf).solved
    assert mo.solve(_hinge(), "scip", time_limit=1e30).solved


def test_counts_that_are_too_large_for_any_solver() -> None:
    assert Options(iteration_limit=10**400, node_limit=10**30).iteration_limit == 2**31 - 1
    assert Options(threads=10**400).threads == 1024  # two thousand million threads took all memory of a machine
    for name in ("highs", "scip", "clarabel", "osqp", "piqp", "scs"):
        assert mo.solve(_hinge(), name, iteration_limit=10**400, node_limit=10**400).solved


def _hinge() -> mo.HingeSVM:
    return mo.HingeSVM(_X, _Y, lam=1.0)


@pytest.mark.parametrize(
    "option",
    [
        {"tol": INF}, {"tol": 1.0}, {"tol": 1e-300}, {"tol": 10**400}, {"tol": 0}, {"tol": -1.0}, {"tol": math.nan},
        {"tol": True}, {"tol": "1e-6"},
        {"time_limit": -1}, {"time_limit": math.nan}, {"time_limit": "5"}, {"time_limit": False}, {"time_limit": -(10**400)},
        {"iteration_limit": 0}, {"iteration_limit": 1.5}, {"iteration_limit": "3"}, {"threads": INF}, {"threads": -(10**400)},
        {"node_limit": math.nan}, {"memory_limit": "1 GB"}, {"seed": -1}, {"seed": None}, {"verbose": "no"}, {"progress": 0.5},
        {"start": [1.0]}, {"callback": 3}, {"native": 3},
    ],
    ids=lambda option: "-".join(f"{name} {str(value)[:12]}" for name, value in option.items()),
)  # fmt: skip
def test_odd_options_are_refused_at_every_door(option: dict[str, Any]) -> None:
    (name,) = option
    for call in (
        lambda: mo.solve(_hinge(), "clarabel", **option),
        lambda: mo.compare(_hinge(), ["clarabel"], **option),
        lambda: mo.path(_hinge(), "lam", [1.0, 2.0], solver="clarabel", **option),
    ):
        with pytest.raises(InputError, check=about(name)):
            call()


def test_solvers_of_other_packages_get_as_many_threads_as_there_are_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gurobi's 1,024 threads on two processors took 81 s for twelve points; our own searches share work among any number."""
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert [Options(threads=count).native_threads for count in (None, 1, 3, 4, 10**12)] == [None, 1, 3, 3, 3]
    backends = {file: tree for file, tree in our_trees().items() if file.startswith("solvers/backends/")}
    reads = {
        (file, node.attr)
        for file, tree in backends.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"threads", "native_threads"} and ast.unparse(node.value) == "options"
    }
    assert reads == {(f"solvers/backends/{name}.py", "native_threads") for name in ("clarabel", "gurobi", "highs", "mosek")}


@pytest.mark.parametrize("name", ["clarabel", "piqp"])
def test_a_start_that_is_not_used_is_warned_of(name: str) -> None:
    best = mo.solve(_hinge(), "clarabel")
    with pytest.warns(MarginoptWarning) as caught:
        mo.solve(_hinge(), name, start=best.values)
    assert subjects(caught) == ["start"]


def test_gurobi_s_suboptimal_cone_has_a_point_and_no_multipliers() -> None:
    solver = get_solver("gurobi")
    if not is_installed(solver) or not solver.licence().usable:
        pytest.skip("gurobi is not installed or not licensed")
    form = form_of([1.0, -1.0], [("cone", [[0.0, 0.0], [1e18, 0], [0, 1]], [1e18, 0, 0], SecondOrder(3))])
    result = mo.solve(form, "gurobi")
    assert result.status is not mo.Status.OPTIMAL or result.multipliers is not None


def test_crossing_bounds_are_infeasible_and_proved() -> None:
    result = mo.solve(form_of([1.0], lower=[2.0], upper=[1.0]), "osqp")
    assert result.status is mo.Status.INFEASIBLE and result.ray_residual == 0.0


def test_indicators_go_to_mosek_as_disjunctions_and_come_back() -> None:
    pytest.importorskip("mosek")
    model = mo.ZeroOneSVM(_X, _Y, lam=0.7, encoding="indicator")
    with model.to_mosek() as task:
        assert task.getnumdjc() == _Y.size and task.getdjcname(3) == "margin[3]"
        back = form_of_task(task)
    rows, again = model.form.constraint("margin"), back.constraint("margin")
    for seed in range(5):
        values = model.point(np.random.default_rng(seed).normal(size=3))
        x = np.append(model.form.join(values), 0.0)[: back.n]
        assert np.array_equal(again.value(np.resize(x, back.n)), rows.value(model.form.join(values)))
