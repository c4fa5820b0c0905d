"""`compare` on several models: a table of seconds, reasons of what did not run, a performance profile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.solvers import Answer, Backend, Options, Status
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.compare import Comparisons


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
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome(form)  # type: ignore[no-any-return]


def test_a_backend_that_returns_no_answer_is_told_so() -> None:
    program = programs()[0]
    with pytest.raises(mo.errors.InputError, check=about("solve_form")):
        mo.solve(program, Unfinished(lambda form: None))
    with pytest.raises(mo.errors.InputError, check=about("status")):
        mo.solve(program, Unfinished(lambda form: Answer(status="optimal")))  # type: ignore[arg-type]
    with pytest.raises(mo.errors.InputError, check=about("x")):
        mo.solve(program, Unfinished(lambda form: Answer(Status.OPTIMAL, values={"x": np.zeros(2)}, objective=0.0)))


def test_an_error_of_a_backend_says_whose_and_where() -> None:
    models = dict(zip("ab", programs(), strict=True))
    with pytest.raises(ZeroDivisionError) as raised:
        mo.compare(models, [Unfinished(ZeroDivisionError("mine"))])
    assert any("unfinished" in note and "quadratic program" in note for note in raised.value.__notes__)


def test_a_callback_that_nobody_calls_is_said() -> None:
    program, rows = programs()[0], list[Any]()
    with pytest.warns(mo.errors.MarginoptWarning) as warned:
        assert mo.solve(program, "osqp", callback=rows.append).solved
    assert [warning.message.name for warning in warned] == ["callback"] and not rows  # type: ignore[union-attr]
    assert mo.solve(program, "clarabel", callback=rows.append).solved and rows
