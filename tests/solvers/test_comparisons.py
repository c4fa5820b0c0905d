"""`compare` on several models: a table of seconds, reasons of what did not run, a performance profile."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.solvers import Answer, Backend, Options, Status
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.backends.scip import Scip
from marginopt.solvers.compare import Comparison, Comparisons


def programs() -> list[mo.StandardForm]:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 3))
    return [mo.from_qp(B @ B.T + scale * np.eye(5), -rng.random(5), lb=0.0, ub=1.0) for scale in (0.1, 1.0)]


def test_a_list_and_a_mapping_of_models() -> None:
    made = programs()
    listed = mo.compare(made, ["clarabel", "osqp"])
    named = mo.compare({"a": made[0], "b": made[1]}, ["clarabel", "osqp"])
    assert isinstance(listed, Comparisons) and list(listed) == ["quadratic program 1", "quadratic program 2"]
    assert list(named) == ["a", "b"] and named.solvers == ("clarabel", "osqp") and len(named) == 2
    for name, program in zip(named, made, strict=True):
        assert named[name]["clarabel"].objective == pytest.approx(mo.solve(program, "clarabel").objective, rel=1e-6)
    assert {record["model"] for record in named.records()} == {"a", "b"} and len(named.records()) == 4
    assert "2 of 2" in str(named)
    assert set(mo.performance_profile(named).ratios) == {"clarabel", "osqp"}


def test_nodes_have_a_mean_where_every_solver_counts_them() -> None:
    data = mo.load("wdbc").prepared()
    models = [mo.ZeroOneSVM(data.subsample(12, seed), lam=1.0) for seed in (0, 1)]
    table = mo.compare(models, ["zero-one-bb"])
    nodes = np.array([one["zero-one-bb"].nodes for one in table.values()])
    row = next(cells for cells in table.display().rows if cells[0] == "mean nodes")
    assert float(row[1]) == pytest.approx(float(np.exp(np.log(nodes + 10.0).mean()) - 10.0), rel=1e-3, abs=1e-6)
    assert "mean nodes" not in {cells[0] for cells in mo.compare(programs(), ["clarabel"]).display().rows}


def test_what_does_not_suit_is_a_line_with_its_reason() -> None:
    d = mo.load("wdbc").prepared().subsample(12, 0)
    both = mo.compare([programs()[0], mo.ConicSVM(d.X[:, :3], d.y, 1.0)], ["piqp", "clarabel"])
    reasons = [row.reason for table in both.tables.values() for row in table.rows]
    assert sum(map(bool, reasons)) == 1


@pytest.mark.parametrize("models", [[], {}, [3], {"a": "b"}])
def test_what_are_no_models_is_refused(models: object) -> None:
    with pytest.raises(mo.errors.InputError):
        mo.compare(models, ["clarabel"])  # type: ignore[call-overload]


class Unfinished(Backend):
    """A backend that somebody is writing."""

    info = replace(Clarabel.info, name="unfinished")

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def solve_form(self, form: mo.StandardForm, options: Options) -> Answer:
        """Return what is to be returned, or raise it."""
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome(form)  # type: ignore[no-any-return]


class UnfinishedOfIntegers(Unfinished):
    """One that reads the 0-1 problem."""

    info = replace(Scip.info, name="unfinished-integers")


def test_a_backend_that_returns_no_answer_is_told_so() -> None:
    program = programs()[0]
    with pytest.raises(mo.errors.InputError, check=about("solve_form")):
        mo.solve(program, Unfinished(lambda form: None))
    with pytest.raises(mo.errors.InputError, check=about("status")):
        mo.solve(program, Unfinished(lambda form: Answer(status="optimal")))  # type: ignore[arg-type]
    with pytest.raises(mo.errors.InputError, check=about("x")):
        mo.solve(program, Unfinished(lambda form: Answer(Status.OPTIMAL, values={"x": np.zeros(2)}, objective=0.0)))


def test_an_error_of_a_backend_is_a_row_that_says_where(tmp_path: Path) -> None:
    models = dict(zip("ab", programs(), strict=True))
    tables = mo.compare(models, [Unfinished(ZeroDivisionError("mine")), "clarabel"])
    for name, table in tables.items():
        failed, solved = table.rows
        assert failed.result is None and failed.status == "failed" and solved.result is not None
        assert all(word in failed.reason for word in ("ZeroDivisionError", "mine", "solve_form", "test_comparisons.py"))
        assert [record["status"] for record in table.records()] == ["failed", "optimal"]
        assert any(name in note and failed.reason in note for note in tables.notes)
        loaded = Comparison.load(table.save(tmp_path / "table.npz"))
        assert [(row.status, row.reason) for row in loaded.rows] == [(row.status, row.reason) for row in table.rows]
    with pytest.raises(ZeroDivisionError):  # whoever solves one problem gets the error itself
        mo.solve(models["a"], Unfinished(ZeroDivisionError("mine")))


def test_an_interrupt_of_a_backend_ends_the_comparison() -> None:
    with pytest.raises(KeyboardInterrupt):
        mo.compare(programs(), [Unfinished(KeyboardInterrupt())])


def test_an_interrupt_keeps_the_rows_that_are_finished() -> None:
    """Raise Ctrl-C as a backend in Python hears it: in the middle of a grid."""
    models = dict(zip("ab", programs(), strict=True))
    calls: list[str] = []

    def interrupted_in_the_second(form: mo.StandardForm) -> Answer:
        calls.append(form.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return Answer(Status.OPTIMAL, values={"x": np.zeros(5)}, objective=0.0)

    tables = mo.compare(models, ["clarabel", Unfinished(interrupted_in_the_second), "osqp"])
    assert list(tables["a"].results) == ["clarabel", "unfinished", "osqp"] and list(tables["b"].results) == ["clarabel"]
    assert [row.status for row in tables["b"].rows] == ["not run"] * 3
    assert all(row.reason for row in tables["b"].rows[1:])
    assert len(tables.records()) == 6


def test_an_error_of_the_certification_is_raised_and_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of this package must not look like a fault of the backend."""

    def faulty(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(importlib.import_module("marginopt.solvers.solve"), "judge", faulty)
    with pytest.raises(ZeroDivisionError, check=lambda error: error.args == ("ours",)):
        mo.compare(programs()[0], ["clarabel"])
    table = mo.compare(programs()[0], [Unfinished(ZeroDivisionError("mine"))])
    assert [row.status for row in table.rows] == ["failed"]


class Broken(mo.HingeSVM):
    """A formulation that somebody is writing, whose form and view end in an error."""

    def compile(self) -> mo.StandardForm:
        raise self.fault

    def view(self, kind: type[Any]) -> Any:
        raise self.fault

    @property
    def fault(self) -> Exception:
        return ZeroDivisionError("the formulation's")


class Oversized(Broken):
    """A formulation whose form is too large."""

    @property
    def fault(self) -> Exception:
        return mo.errors.TooLargeError("too large")


@pytest.mark.parametrize("solver", ["clarabel", "linear-newton"])
def test_an_error_of_the_model_s_form_or_view_is_raised_and_no_row(solver: str) -> None:
    """The solver of the form builds it in its own call."""
    with pytest.raises(ZeroDivisionError, check=lambda error: error.args == ("the formulation's",)):
        mo.compare(Broken(np.column_stack([np.ones(4), np.arange(4.0)]), np.array([1.0, -1.0, 1.0, -1.0])), [solver])


def test_a_form_that_is_too_large_is_a_row() -> None:
    table = mo.compare(Oversized(np.column_stack([np.ones(4), np.arange(4.0)]), np.array([1.0, -1.0, 1.0, -1.0])), ["clarabel"])
    assert [(row.result, row.status) for row in table.rows] == [(None, "not run")]


def test_an_error_of_a_backend_is_a_row_of_the_gap_report() -> None:
    X = np.column_stack([np.ones(8), np.linspace(-1.0, 1.0, 8)])
    model = mo.ZeroOneSVM(X, np.repeat([-1.0, 1.0], 4), 1.0)
    faulty = UnfinishedOfIntegers(ZeroDivisionError("mine"))
    report = mo.gap_report({"one": model}, relaxations=["big-m"], solver=faulty, exact=[faulty], time_limit=5)
    cells = [*report.relaxations, *report.exacts]
    assert len(cells) == 2 and all("ZeroDivisionError" in cell.reason for cell in cells)


def test_a_proved_infeasibility_or_unboundedness_counts_as_solved() -> None:
    one = np.eye(1)
    programs = {
        "infeasible": mo.from_qp(one, [0.0], G=np.array([[1.0], [-1.0]]), h=[0.0, -1.0]),
        "unbounded": mo.from_qp(0.0 * one, [1.0]),
    }
    tables = mo.compare(programs, ["clarabel", "highs"])
    assert {str(r.status) for table in tables.values() for r in table.results.values()} == set(programs)
    assert all(r.conclusive and not r.solved and r.status_kind == "proved" for t in tables.values() for r in t.results.values())
    assert all(np.isfinite(table.fastest_seconds) for table in tables.values()) and str(tables).count("2 of 2") == 2
    profile = mo.performance_profile(tables)
    assert "2 instances" in str(profile) and "1 instance " in str(mo.performance_profile({"one": tables["infeasible"]}))
    assert all(np.isfinite(ratios).all() for ratios in profile.ratios.values())
    claimed = replace(tables["infeasible"]["clarabel"], ray_proved=False)
    assert not claimed.conclusive


def test_reasons_stand_below_the_table_and_not_in_it() -> None:
    table = mo.compare(programs()[0], [Unfinished(ZeroDivisionError("mine " * 40)), "clarabel"])
    for text in (str(table), table.to_markdown()):
        rows = [line for line in text.splitlines() if "optimal" in line or line.startswith(("unfinished  ", "| unfinished"))]
        assert len(rows) == 2 and not any("mine" in row for row in rows) and "mine mine" in text
    page = table.display().html()
    assert "mine" not in page[: page.index("</table>")] and "mine mine" in page


def test_a_callback_that_nobody_calls_is_said() -> None:
    program, rows = programs()[0], list[Any]()
    with pytest.warns(mo.errors.MarginoptWarning) as warned:
        assert mo.solve(program, "osqp", callback=rows.append).solved
    assert [warning.message.name for warning in warned] == ["callback"] and not rows  # type: ignore[union-attr]
    assert mo.solve(program, "clarabel", callback=rows.append).solved and rows


def test_models_with_the_same_reason_share_one_note() -> None:
    hinge = mo.HingeSVM([[1.0, 1.0], [1.0, -1.0]], [1.0, -1.0], lam=1.0)
    tables = mo.compare(dict.fromkeys("abcd", hinge), ["zero-one-bb", "clarabel"])
    (note,) = tables.notes
    assert tables["a"].rows[0].reason in note


def test_a_search_that_a_limit_ended_shows_its_gap() -> None:
    model = mo.ZeroOneSVM(mo.load("wdbc").prepared().subsample(40, 0), lam=1.0)
    table = mo.compare({"a": model, "b": mo.HingeSVM(model.X, model.y, lam=1.0)}, ["zero-one-bb"], node_limit=1)
    result = table["a"]["zero-one-bb"]
    assert not result.conclusive
    cells = {row[0]: row[1] for row in table.display().rows}
    assert float(cells["a"].removeprefix("gap ")) == pytest.approx(result.gap, rel=0.05)
    assert cells["b"] == "-"
