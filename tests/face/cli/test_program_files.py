"""``marginopt solve | export | dual | conflict`` on the file of a program."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from data_files import points_file

import marginopt as mo
from marginopt.cli.main import main

PLAN = """NAME PLAN
OBJSENSE
    MAX
ROWS
 N profit
 L BAL
 L CAP
 G DEMAND
COLUMNS
    X1 profit 3.0 BAL 1.0
    X1 CAP 1.0 DEMAND 1.0
    X2 profit 2.0 BAL 1.0
    X2 CAP 3.0
RHS
    RHS BAL 4.0 CAP 6.0
    RHS DEMAND 1.0
BOUNDS
 UP BND X1 3.0
ENDATA
"""


@pytest.fixture(params=["plan.mps", "plan.mps.gz", "plan.lp", "plan.mof.json", "plan.cbf"])
def plan(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same program in every format."""
    path = tmp_path / str(request.param)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(PLAN.encode()))
        return path
    (tmp_path / "source.mps").write_text(PLAN)
    if path.suffix != ".mps":
        mo.read(tmp_path / "source.mps").write(path)
    else:
        path.write_text(PLAN)
    return path


@pytest.fixture
def impossible(tmp_path: Path) -> Path:
    path = tmp_path / "impossible.mps"
    path.write_text(PLAN.replace("RHS DEMAND 1.0", "RHS DEMAND 5.0"))
    return path


def _json(capsys: Any) -> Any:
    return json.loads(capsys.readouterr().out)


def test_solve(plan: Path, capsys: Any) -> None:
    assert main(["solve", str(plan), "--json", "--quiet"]) == 0
    record = _json(capsys)
    assert record["solved"] and abs(record["objective"]) == pytest.approx(11.0)
    assert list(record["values"].values()) == pytest.approx([3.0, 1.0])


def test_inspect_prints_latex(plan: Path, capsys: Any) -> None:
    assert main(["inspect", str(plan), "--latex"]) == 0
    assert capsys.readouterr().out.strip() == mo.read(plan).latex().strip()  # type: ignore[union-attr]


def test_an_infeasible_program_is_not_solved_whatever_is_to_be_saved(tmp_path: Path, capsys: Any) -> None:
    plan, out = tmp_path / "plan.mps", tmp_path / "plan.sol"
    plan.write_text(PLAN.replace("RHS DEMAND 1.0", "RHS DEMAND 5.0"))
    assert main(["solve", str(plan), "--quiet", "--save", str(out)]) == 1
    assert not out.exists() and str(out) in capsys.readouterr().err


def test_compare(plan: Path, capsys: Any) -> None:
    assert main(["compare", str(plan), "--solvers", "highs,scip", "--json", "--quiet"]) == 0
    assert [abs(row["objective"]) for row in _json(capsys)] == pytest.approx([11.0, 11.0])


def test_values_are_printed_by_name_and_the_file_that_was_written(tmp_path: Path, capsys: Any) -> None:
    plan, out = tmp_path / "plan.mps", tmp_path / "plan.sol"
    plan.write_text(PLAN.replace("RHS BAL 4.0", "RHS BAL 3.0"))
    assert main(["solve", str(plan), "--quiet", "--save", str(out)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["X1", "3"] in lines and not any(line[:1] == ["X2"] for line in lines)  # X2 is 0
    assert str(out) in lines[-1]
    assert main(["certify", str(plan), str(out)]) == 0


@pytest.mark.parametrize("solver", ["highs", "scip", "clarabel"])
def test_progress_has_the_sense_of_the_program(solver: str, tmp_path: Path, capsys: Any) -> None:
    plan = tmp_path / "plan.mps"
    plan.write_text(PLAN)
    mo.solve(mo.read(plan), solver, progress=True)
    last = capsys.readouterr().err.splitlines()[-1].split()
    assert float(last[last.index("objective") + 1]) == pytest.approx(11.0, rel=1e-6)


def test_the_dual_of_an_integer_program_is_that_of_its_relaxation(tmp_path: Path, capsys: Any) -> None:
    plan, out = tmp_path / "plan.lp", tmp_path / "dual.lp"
    plan.write_text("Maximize\n obj: x + y\nSubject To\n c: 2 x + 3 y <= 6\nBounds\n x <= 2\n y <= 2\nGeneral\n x y\nEnd\n")
    assert main(["dual", str(plan)]) == 2 and "--relaxed" in capsys.readouterr().err
    assert main(["dual", str(plan), "--relaxed", "--out", str(out)]) == 0
    assert mo.solve(mo.read(out)).objective == pytest.approx(mo.solve(mo.read(plan).relaxed()).objective)


def test_a_reader_that_closes_its_pipe_is_no_failure(tmp_path: Path) -> None:
    plan = tmp_path / "plan.mps"
    plan.write_text(PLAN)
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "marginopt", "solve", str(plan), "--quiet"]
    process = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert process.returncode == 0 and process.stderr == b""


def test_the_dual_has_the_same_optimum(plan: Path, tmp_path: Path, capsys: Any) -> None:
    assert main(["dual", str(plan)]) == 0 and capsys.readouterr().out.strip()
    out = tmp_path / "dual.mps"
    assert main(["dual", str(plan), "--out", str(out), "--json"]) == 0
    assert _json(capsys)["file"] == str(out)
    assert abs(mo.solve(mo.read(out)).objective) == pytest.approx(11.0)


def test_export_writes_the_program_in_other_formats(plan: Path, tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "out"
    assert main(["export", str(plan), str(folder), "--format", "mps,lp", "--json", "--quiet"]) == 0
    (record,) = _json(capsys)["problems"]
    assert abs(record["value"]) == pytest.approx(11.0) and len(record["files"]) == 2
    for name in record["files"]:
        assert abs(mo.solve(mo.read(folder / name)).objective) == pytest.approx(11.0)


def test_export_to_a_file_writes_that_file_alone(plan: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out.lp"
    assert main(["export", str(plan), str(out), "--json"]) == 0
    assert _json(capsys)["file"] == str(out) and out.is_file() and not (tmp_path / "manifest.json").exists()
    assert abs(mo.solve(mo.read(out)).objective) == pytest.approx(11.0)
    assert main(["export", str(plan), str(out), "--format", "mps"]) == 2 and "--format" in capsys.readouterr().err


def test_conflict_names_rows_that_exclude_each_other(impossible: Path, capsys: Any) -> None:
    assert main(["conflict", str(impossible)]) == 0
    out = capsys.readouterr().out
    assert "DEMAND" in out or "BAL" in out
    assert main(["solve", str(impossible), "--quiet"]) == 1


def test_a_program_with_a_point_has_no_conflict(plan: Path) -> None:
    assert main(["conflict", str(plan)]) == 1


def test_dual_and_conflict_take_a_formulation_on_data(tmp_path: Path, capsys: Any) -> None:
    data = [str(points_file(tmp_path, 24, 0.7)), "--label", "label"]
    out = tmp_path / "dual.npz"
    assert main(["solve", "hinge", *data, "--json", "--quiet"]) == 0
    optimum = _json(capsys)["objective"]
    assert main(["dual", "hinge", *data, "--out", str(out)]) == 0
    assert abs(mo.solve(mo.read(out)).objective) == pytest.approx(optimum, rel=1e-5)
    assert main(["conflict", "hinge", *data]) == 1
    assert main(["conflict", "hard-margin", *data]) == 0
    assert main(["dual", "hinge"]) == main(["conflict", "nothing", *data]) == 2


@pytest.mark.parametrize("words", [["solve", "hinge"], ["solve", "nothing.csv"], ["dual", "nothing.mps"], ["conflict", "x.csv"]])
def test_what_is_no_program_is_wrong_use(words: list[str], capsys: Any) -> None:
    assert main(words) == 2
    assert words[1] in capsys.readouterr().err


def test_a_result_is_saved_before_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of a pipe may leave after the first line, or somebody presses Ctrl-C: the file stays."""
    plan, out = tmp_path / "plan.mps", tmp_path / "plan.sol"
    plan.write_text(PLAN)

    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("marginopt.cli.commands.print_answer", leave)
    assert main(["solve", str(plan), "--quiet", "--save", str(out)]) != 0
    assert out.exists()


def test_variables_of_a_solution_file_that_the_program_does_not_have_are_counted(tmp_path: Path, capsys: Any) -> None:
    plan, out = tmp_path / "plan.mps", tmp_path / "plan.sol"
    plan.write_text(PLAN)
    main(["solve", str(plan), "--quiet", "--save", str(out)])
    out.write_text(out.read_text() + "NOBODY 7\n")
    capsys.readouterr()
    assert main(["certify", str(plan), str(out), "--json"]) == 0
    assert _json(capsys)["unknown_variables"] == 1
    assert main(["certify", str(plan), str(out)]) == 0
    assert any(line.split()[:1] == ["1"] for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_value_that_is_no_number_is_no_point(tmp_path: Path, value: str) -> None:
    plan, out = tmp_path / "plan.mps", tmp_path / "plan.sol"
    plan.write_text(PLAN)
    form = mo.read(plan)
    out.write_text("".join(f"{name} {value if k == 1 else 0}\n" for k, name in enumerate(form.names())))
    with pytest.raises(mo.errors.DataError) as caught:
        mo.io.read_solution(form, out)
    assert Path(str(caught.value.file)) == out
