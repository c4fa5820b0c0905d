"""Logs in files and on a replaced standard output; rows of a trace by iterations; paths that say where they start warm."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt.errors import InputError, WriteError
from marginopt.solvers import Options
from marginopt.solvers.interface.backend import native_log

X, y = clouds(3, 30, 3)


def test_a_native_log_is_added_to_a_file_under_the_solvers_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "solver.log"
    for solver in ("clarabel", "highs"):
        mo.solve(mo.HingeSVM(X, y), solver, log_file=log)
    lines = log.read_text().splitlines()
    assert {"clarabel", "highs"} <= set(lines) and len(lines) > 20
    assert capfd.readouterr().out == ""


def test_a_replaced_standard_output_gets_the_log_and_the_processs_own_comes_back(capfd: pytest.CaptureFixture[str]) -> None:
    seen = io.StringIO()
    with redirect_stdout(seen):
        mo.solve(mo.HingeSVM(X, y), "clarabel", verbose=True)
    assert "iter" in seen.getvalue()
    os.write(1, b"after")
    assert capfd.readouterr().out == "after"


def test_descriptors_are_given_back_where_a_solver_fails(tmp_path: Path) -> None:
    with (tmp_path / "first").open("w") as stream:
        free = stream.fileno()  # the lowest descriptor that is free
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), native_log("any", Options(log_file=tmp_path / "log")):
            os.write(1, b"words\n")
            raise ZeroDivisionError
    assert (tmp_path / "log").read_text() == 3 * "any\nwords\n"
    with (tmp_path / "second").open("w") as stream:
        assert stream.fileno() == free


def test_an_algorithm_of_ours_logs_the_rows_of_its_trace(tmp_path: Path) -> None:
    log = tmp_path / "rows.log"
    result = mo.solve(mo.L2SVMDual(X, y, C=1.0), "smo", trace_every=5, log_file=log)
    lines = log.read_text().splitlines()
    assert all(line.startswith("smo: ") for line in lines)
    assert len(lines) in (len(result.trace), len(result.trace) - 1)  # the last state is a row of the trace in any case


@pytest.mark.parametrize("solver", ["smo", "mfw", "scip", "linear-newton"])
@pytest.mark.parametrize("every", [1, 7])
def test_rows_are_so_many_iterations_apart_and_the_answer_is_the_same(solver: str, every: int) -> None:
    model = {
        "scip": mo.ZeroOneSVM(X, y, lam=1.0),
        "linear-newton": mo.HingeSVM(X, y),
    }.get(solver, mo.L2SVMDual(X, y, C=1.0))
    plain, rows = mo.solve(model, solver, seed=1), mo.solve(model, solver, trace_every=every, seed=1)
    assert rows.objective == pytest.approx(plain.objective, rel=1e-5)
    steps = np.diff(rows.trace.column("iteration"))
    assert (steps[:-1] >= every).all() and len(rows.trace) >= 2
    if solver in ("smo", "mfw"):  # these stop after so many iterations by themselves
        assert (steps == every).mean() > 0.7


def test_a_path_says_where_it_starts_warm() -> None:
    path = mo.path(mo.L2SVMDual(X, y, C=1.0), "C", [1.0, 2.0, 3.0], solver="smo")
    assert path.warm_starts == 2 and path.in_place_updates == 0
    assert str(path[0].update) == "built"
    updated_path = mo.path(mo.HingeSVM(X, y), "lam", [1.0, 2.0], solver="clarabel")
    assert updated_path.warm_starts == 0 and updated_path.in_place_updates == 1


@pytest.mark.parametrize("option", [{"trace_every": 0}, {"trace_every": 1.5}, {"log_file": 3}])
def test_values_out_of_range_are_refused(option: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Options(**option)  # type: ignore[arg-type]


def test_a_log_that_cannot_be_written_is_refused_before_the_solve(tmp_path: Path) -> None:
    with pytest.raises(WriteError):
        mo.solve(mo.HingeSVM(X, y), "clarabel", log_file=tmp_path / "none" / "log")
