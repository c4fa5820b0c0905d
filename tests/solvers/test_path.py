"""Paths: updates give what rebuilding gives, for every solver that keeps a model, and say what they did."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from effort import part as spread
from facts import about

import marginopt as mo
from marginopt.models import Block, Constraint, Nonnegative, Quadratic, StandardForm
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.interface.solver import KeptModel, changed_parts
from marginopt.solvers.parallel.executor import Job, SerialExecutor
from marginopt.solvers.path import SolutionPath
from marginopt.solvers.records import Answer, Options, Status, UpdateKind

path_module = importlib.import_module("marginopt.solvers.path")
_RNG = np.random.default_rng(0)
_X = np.column_stack([np.ones(30), _RNG.normal(size=(30, 2))])
_Y = np.where(_X[:, 1] + _RNG.normal(size=30) > 0, 1.0, -1.0)
_TOL = {"clarabel": 1e-6, "osqp": 1e-4, "piqp": 1e-6, "gurobi": 1e-6, "highs": 1e-6}
#: Solvers that cannot change everything, and what they can, in the names of the parts of a quadratic program.
_SOME = {"scs": {"q", "r", "g"}, "scip": {"q", "r", "F", "g", "bounds"}}


def _need(solver: str) -> None:
    if solver == "gurobi":
        pytest.importorskip("gurobipy", reason="gurobipy is not installed")


@pytest.mark.parametrize("solver", list(_TOL))
@pytest.mark.parametrize(
    ("model", "parameter", "values", "part"),
    [
        (mo.HingeSVM(_X, _Y), "lam", np.geomspace(0.05, 10, 7), "q"),
        (mo.L2SVMDual(_X, _Y, 1.0, mo.RBF(0.5)), "C", np.geomspace(0.1, 10, 7), "P"),
        (mo.ConvexHullsDual(_X, _Y, C=1.0, kernel=mo.RBF(0.5)), "kernel", [mo.RBF(g) for g in (0.2, 0.5, 1.0)], "P"),
    ],
    ids=["lam", "C", "kernel"],
)
def test_updates_give_what_rebuilding_gives(solver: str, model: mo.Model, parameter: str, values: list, part: str) -> None:
    _need(solver)
    updated_path = mo.path(model, parameter, values, solver=solver)
    anew = mo.path(model, parameter, values, solver=solver, update=False)
    # scaled for the first form, an update may be too inaccurate: then the form is built anew
    poor = "rebuilt: the update's answer was not accurate"
    assert {r.details["update"] for r in updated_path[1:]} <= {f"updated in place: {part}", poor}
    assert updated_path.in_place_updates >= len(values) - 3
    assert anew.in_place_updates == 0
    assert updated_path[0].details["update"] == "built"
    assert updated_path[1].details["update"] == f"updated in place: {part}"
    np.testing.assert_allclose(updated_path.objectives, anew.objectives, rtol=_TOL[solver])
    assert {r.status for r in updated_path} == {r.status for r in anew} == {mo.Status.OPTIMAL}  # small objectives included
    assert all(r.bound_kind == "proved" for r in updated_path)


def test_the_kappa_path_of_the_conic_svm() -> None:
    values = np.linspace(0.05, 0.6, 6)
    updated_path = mo.path(mo.ConicSVM(_X, _Y, kappa=0.1), "kappa", values, solver="clarabel")
    anew = mo.path(mo.ConicSVM(_X, _Y, kappa=0.1), "kappa", values, solver="clarabel", update=False)
    assert [r.details["update"] for r in updated_path][1:] == ["updated in place: g"] * 5
    np.testing.assert_allclose(updated_path.objectives, anew.objectives, rtol=2e-6)
    assert (np.diff(updated_path.objectives) <= 1e-6).all()  # a larger budget costs nothing
    assert [r.details["kappa"] for r in updated_path] == list(values)


def test_operator_splitting_keeps_its_workspace() -> None:
    # a value that comes twice: the workspace stands at its solution, whatever the processor's rounding
    values = [0.05, 0.05, 0.3, 0.3]
    updated_path = mo.path(mo.ConicSVM(_X, _Y, kappa=0.1), "kappa", values, solver="scs")
    anew = mo.path(mo.ConicSVM(_X, _Y, kappa=0.1), "kappa", values, solver="scs", update=False)
    assert updated_path.in_place_updates == 3
    np.testing.assert_allclose(updated_path.objectives, anew.objectives, rtol=1e-4)
    assert [updated_path[k].iterations * 5 <= anew[k].iterations for k in (1, 3)] == [True, True]
    lam = [mo.path(mo.HingeSVM(_X, _Y), "lam", [0.5, 0.8], solver="scs", update=u).objectives for u in (True, False)]
    np.testing.assert_allclose(*lam, rtol=1e-5)


@pytest.mark.parametrize("solver", ["gurobi", "scip"])
def test_integer_models_are_updated(solver: str) -> None:
    _need(solver)
    X, y = _X[:9, :2], _Y[:9]
    values = [0.2, 0.5, 2.0]
    model = mo.ZeroOneSVM(X, y, big_m=20.0)
    updated_path = mo.path(model, "lam", values, solver=solver)
    anew = mo.path(model, "lam", values, solver=solver, update=False)
    assert updated_path.in_place_updates == 2
    assert anew.in_place_updates == 0
    np.testing.assert_allclose(updated_path.objectives, anew.objectives, rtol=1e-5)
    moved = mo.path(mo.ZeroOneSVM(X, y), "lam", values, solver=solver)  # M moves with λ: coefficients too
    assert moved[1].details["update"] == "updated in place: F, q"
    np.testing.assert_allclose(moved.objectives, updated_path.objectives, rtol=1e-5)


@pytest.mark.parametrize("solver", ["gurobi", "scip", "highs", "clarabel"])
def test_fixing_variables_is_an_update_of_bounds(solver: str) -> None:
    _need(solver)
    X, y = _X[:9, :2], _Y[:9]
    model: mo.Model = mo.ZeroOneSVM(X, y, big_m=20.0)
    label = "z"
    if solver in ("highs", "clarabel"):
        model, label = mo.HingeSVM(X, y), "xi"
    best = mo.solve(model, solver)
    free = np.full(9, np.nan)
    wrong = np.where(np.arange(9) < 2, 1.0 - np.round(best.values[label]), np.nan)
    values = [{label: free}, {label: wrong}, {label: best.values[label]}, {label: free}]
    updated_path = mo.path(model, "fixed", values, solver=solver)
    two = ", ".join(f"{label}[{j}] = {wrong[j]:g}" for j in (0, 1))
    assert [r.details["fixed"] for r in updated_path] == ["none", two, f"{label}: 9", "none"]
    by_index = mo.path(model, "fixed", [{label: {0: wrong[0], 1: wrong[1]}}], solver=solver)
    assert by_index[0].objective == pytest.approx(updated_path[1].objective, rel=1e-6) and two in str(by_index)
    anew = mo.path(model.form, "fixed", values, solver=solver, update=False)
    np.testing.assert_allclose(updated_path.objectives, anew.objectives, rtol=1e-6)
    assert updated_path[1].objective > best.objective * (1 + 1e-6)
    assert updated_path[2].objective == pytest.approx(best.objective, rel=1e-6)
    assert updated_path[3].objective == pytest.approx(best.objective, rel=1e-6)
    if solver == "clarabel":  # bounds are rows of its model
        assert updated_path[1].details["update"].startswith("rebuilt: constraints")
    else:
        assert [r.details["update"] for r in updated_path[1:]] == ["updated in place: bounds"] * 3


def test_wrong_fixings_are_named() -> None:
    model = mo.HingeSVM(_X, _Y)
    for value, name in (
        ({"zz": np.zeros(3)}, "zz"),
        ({"w": np.zeros(2)}, "w"),
        ({"xi": np.full(30, -1.0)}, "fixed"),
        ({"w": np.full(3, np.inf)}, "fixed"),
        (3.0, "fixed"),
    ):
        with pytest.raises(mo.errors.InputError, check=about(name)):
            mo.path(model, "fixed", [value], solver="clarabel")


def test_a_new_structure_is_rebuilt_and_says_why() -> None:
    path = mo.path(mo.ConicSVM(_X, _Y, kappa=0.1), "kappa", [0.5, 0.3], solver="clarabel")
    assert path[1].details["update"] == "updated in place: g"
    # the linear kernel's matrix k + 1 has zeros, the other's has none
    data, y = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([1.0, -1, -1, 1])
    mixed = mo.path(mo.L2SVMDual(data, y, 1.0), "kernel", [mo.RBF(1.0), mo.Linear()], solver="clarabel")
    assert mixed[1].details["update"] == "rebuilt: non-zeros of P in other places"


def test_solvers_that_keep_nothing_start_from_the_last_point() -> None:
    path = mo.path(mo.L2SVMDual(_X, _Y), "C", [0.5, 0.6], solver="smo")
    assert path.in_place_updates == 0
    assert path[1].update is not None and path[1].update.kind is UpdateKind.WARM
    auto = mo.path(mo.L2SVMDual(_X, _Y, 1.0, mo.RBF(0.5)), "C", [1.0, 1.1])
    assert len({r.solver for r in auto}) == 1
    np.testing.assert_allclose(
        auto.objectives, mo.path(mo.L2SVMDual(_X, _Y, 1.0, mo.RBF(0.5)), "C", [1.0, 1.1], solver="clarabel").objectives, rtol=1e-6
    )


def test_the_table() -> None:
    path = mo.path(mo.HingeSVM(_X, _Y), "lam", [0.5, 1.0], solver="clarabel")
    assert path.in_place_updates == 1
    assert len(path) == len(list(path)) == 2


def test_wrong_use_is_named() -> None:
    model = mo.HingeSVM(_X, _Y)
    with pytest.raises(mo.errors.InputError, check=about("parameter")):
        mo.path(model, "kapa", [1.0])
    with pytest.raises(mo.errors.InputError, check=about("values")):
        mo.path(model, "lam", [])
    with pytest.raises(mo.errors.InputError, check=about("model")):
        mo.path(model.form, "lam", [1.0])  # a form has variables, and no parameters
    with pytest.raises(mo.errors.InputError, check=about("lam")):
        mo.path(model, "lam", [1.0, -1.0], solver="clarabel")


def _form(**changes: object) -> StandardForm:
    rows = Constraint("rows", sp.csr_array(np.array([[1.0, 2.0], [0.0, 1.0]])), np.array([-1.0, -1.0]), Nonnegative(2))
    form = StandardForm(
        name="small",
        blocks=(Block("x", (2,)),),
        q=np.array([1.0, 1.0]),
        constraints=(rows,),
        lower=np.array([0.0, -np.inf]),
        upper=np.array([5.0, 5.0]),
        integer=np.zeros(2, dtype=bool),
        quadratic=Quadratic(matrix=sp.csc_array(np.array([[2.0, 0.5], [0.5, 1.0]]))),
    )
    return form.replace(**changes)


_CHANGES: dict[str, dict[str, object]] = {
    "q": {"q": np.array([2.0, -1.0])},
    "r": {"r": 3.0},
    "P": {"quadratic": Quadratic(matrix=sp.csc_array(np.array([[3.0, 0.1], [0.1, 1.0]])))},
    "g": {"constraints": (Constraint("rows", _form().constraints[0].F, np.array([-2.0, 0.5]), Nonnegative(2)),)},
    "F": {"constraints": (Constraint("rows", sp.csr_array(np.array([[2.0, 1.0], [0.0, 3.0]])), -np.ones(2), Nonnegative(2)),)},
    "bounds": {"lower": np.array([0.3, -np.inf]), "upper": np.array([4.0, 3.0])},
}


@pytest.mark.parametrize(("solver", "part"), spread(product([*_TOL, *_SOME], _CHANGES), 3, kind=lambda cell: cell[0]))
def test_every_part_is_updated_alone(solver: str, part: str) -> None:
    """From the same first form to one in which a single part differs, and back."""
    _need(solver)
    from marginopt.solvers import Options, get_solver
    from marginopt.solvers.solve import solve_problem

    first, second = _form(), _form(**_CHANGES[part])
    kept_model = KeptModel()
    result = [solve_problem(form, solver, Options(tol=1e-6), kept_model) for form in (first, second, first)]
    kept_model.close()
    anew = [mo.solve(form, solver, tol=1e-6) for form in (first, second, first)]
    for k, (a, b) in enumerate(zip(result, anew, strict=True)):
        assert a.objective == pytest.approx(b.objective, rel=1e-5, abs=1e-7), k
        assert a.status is b.status is mo.Status.OPTIMAL
    assert get_solver(solver).info.name == solver
    # a solver without bounds has them as rows
    name = "g" if part == "bounds" and not get_solver(solver).info.bounds else part
    note = f"updated in place: {name}"
    if solver in _SOME and name not in _SOME[solver]:
        # the epigraph of SCIP's linear objective holds P
        note = f"rebuilt: the solver does not update {'F of cones' if (solver, part) == ('scip', 'P') else name}"
    assert [r.details["update"] for r in result] == ["built", note, note]


@pytest.mark.parametrize("solver", [*_TOL, *_SOME])
def test_other_options_are_not_remembered(solver: str) -> None:
    """A kept model that was stopped by a limit is not stopped by it again."""
    _need(solver)
    from marginopt.solvers import Options
    from marginopt.solvers.solve import solve_problem

    kept_model, form = KeptModel(), _form()
    for tol, note in ((1e-6, "built"), (1e-5, "rebuilt: other options"), (1e-5, "updated in place: nothing")):
        result = solve_problem(form, solver, Options(tol=tol), kept_model)
        assert result.details["update"] == note
        assert result.status is mo.Status.OPTIMAL
    kept_model.close()


def test_parts_and_reasons() -> None:
    first = _form()
    for part, change in _CHANGES.items():
        assert changed_parts(first, _form(**change)) == (frozenset({part}), "")
    sparser = Constraint("rows", sp.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]])), -np.ones(2), Nonnegative(2))
    assert changed_parts(first, _form(constraints=(sparser,)))[1] == "non-zeros of rows in other places"
    assert changed_parts(first, _form(quadratic=None))[1] == "non-zeros of P in other places"
    assert changed_parts(first, _form(lower=np.zeros(2)))[1] == "bounds on other variables"
    assert changed_parts(first, _form(lower=np.zeros(2)), any_bounds=True) == (frozenset({"bounds"}), "")
    conic = mo.ConicSVM(_X, _Y, kappa=0.1).form
    lifted = conic.constraint("lifted")
    moved = Constraint("lifted", sp.csr_array(2 * lifted.F), lifted.g + 1.0, lifted.cone)
    other = conic.replace(constraints=tuple(moved if c.label == "lifted" else c for c in conic.constraints))
    assert changed_parts(conic, other) == (frozenset({"F of cones", "g of cones"}), "")
    assert "constraints" in changed_parts(first, _form(constraints=()))[1]


_SHARING: list[tuple[mo.Model, str, list[float]]] = [
    (mo.HingeSVM(_X, _Y), "lam", [0.5, 2.0]),
    (mo.ConicSVM(_X, _Y, kappa=0.1), "kappa", [0.2, 0.3, 0.0, 0.4]),
    (mo.ConicSVM(_X, _Y, lam=1.0, kernel=mo.RBF(0.5)), "lam", [0.2, 3.0]),
    (mo.L1SVMDual(_X, _Y, C=1.0, kernel=mo.RBF(0.5)), "C", [0.5, 4.0]),
    (mo.L1SVMDual(_X, _Y, C=1.0, sample_weight=np.linspace(1, 2, 30)), "C", [0.5, 4.0]),
    (mo.L2SVMDual(_X, _Y, 1.0), "C", [0.5, 4.0]),
]


@pytest.mark.parametrize(("model", "parameter", "values"), _SHARING, ids=lambda v: getattr(v, "name", ""))
def test_a_moved_model_is_the_new_model(model: mo.Model, parameter: str, values: list[float]) -> None:
    """The parts that models of a path share are those of a new model, form, views and certificates."""
    import dataclasses

    moved = model
    for value in values:
        moved.form  # noqa: B018 - compiled before the next is made of it
        moved = moved.with_parameter(parameter, value)
        anew = dataclasses.replace(model, **{parameter: value})
        assert anew.form.diff(moved.form).empty
        assert str(moved) == str(anew)
        x = np.full(anew.form.n, 0.01)
        z = {c.label: np.full(c.rows, 0.02) for c in anew.form.constraints}
        assert moved.bound(x, z).value == anew.bound(x, z).value
    with pytest.raises(mo.errors.InputError):
        moved.with_parameter(parameter, -1.0)


class InterruptedClarabel(Clarabel):
    """Clarabel, which Ctrl-C interrupts in a call."""

    def __init__(self, call: int | None) -> None:
        self.call, self.calls = call, 0

    def run(self, model: mo.Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        self.calls += 1
        if self.calls == self.call:
            raise KeyboardInterrupt
        return super().run(model, options, kept_model)


class InterruptedExecutor(SerialExecutor):
    """Workers that finish the tasks from the last to the first, until Ctrl-C ends the wait for the first two."""

    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        for number, task in reversed(list(enumerate(tasks))):
            if number == 1:
                raise KeyboardInterrupt
            yield number, job(task, None)


@pytest.mark.parametrize(("update", "jobs"), [(True, None), (False, None), (False, 2)])
def test_an_interrupt_keeps_the_values_that_are_solved(
    update: bool, jobs: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_module, "choose_executor", lambda jobs, cluster: InterruptedExecutor() if jobs else SerialExecutor())
    call = None if jobs else 3
    solved = mo.path(mo.HingeSVM(_X, _Y), "lam", [0.5, 1.0, 2.0, 4.0], solver=InterruptedClarabel(call), update=update, jobs=jobs)
    assert len(solved) == 2 and all(r.solved for r in solved)
    assert (solved.values, solved.unsolved) == (((2.0, 4.0), (0, 1)) if jobs else ((0.5, 1.0), (2, 3)))
    assert [r.details["lam"] for r in solved] == list(solved.values)
    loaded = SolutionPath.load(solved.save(tmp_path / "path.npz"))
    assert loaded.unsolved == solved.unsolved and loaded.values == solved.values


@pytest.mark.parametrize("update", [True, False])
def test_an_interrupt_before_any_value_is_raised(update: bool) -> None:
    with pytest.raises(KeyboardInterrupt):
        mo.path(mo.HingeSVM(_X, _Y), "lam", [0.5, 1.0], solver=InterruptedClarabel(1), update=update)


class StoppedClarabel(InterruptedClarabel):
    """Clarabel, which takes Ctrl-C in a call and returns its point."""

    def run(self, model: mo.Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        self.calls += 1
        if self.calls != self.call:
            return Clarabel.run(self, model, options, kept_model)
        answer = Clarabel.run(self, model, dataclasses.replace(options, iteration_limit=3), KeptModel())
        return dataclasses.replace(answer, status=Status.INTERRUPTED)


@pytest.mark.parametrize("update", [True, False])
def test_an_interrupt_that_a_solver_takes_ends_the_path(update: bool) -> None:
    """Its result is the last one; a callback that stops a solve goes on with the next value."""
    values, model = [0.5, 1.0, 2.0, 4.0], mo.HingeSVM(_X, _Y)
    ended = mo.path(model, "lam", values, solver=StoppedClarabel(2), update=update)
    assert (ended.values, ended.unsolved) == ((0.5, 1.0), (2, 3))
    assert [r.status for r in ended][1] is Status.INTERRUPTED
    stopped = mo.path(model, "lam", values, solver=StoppedClarabel(2), update=update, callback=lambda row: False)
    assert stopped.values == tuple(values)
