"""The command line: what it prints, and exit codes that mean something."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_files import points_file

from marginopt.book.entries import find_entry, load_entries, save_entries
from marginopt.cli.main import COMMANDS, main, parser
from marginopt.estimators import RampSVC
from marginopt.models.formulations import all_formulations
from marginopt.models.record import DataKind


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    return points_file(tmp_path)


def run(capsys: Any, *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def test_every_command_has_help(capsys: Any) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            parser(command).parse_args([command, "--help"])
        assert stop.value.code == 0
        assert command in capsys.readouterr().out


def test_solvers_lists_what_there_is(capsys: Any) -> None:
    code, out, _ = run(capsys, "solvers", "--json")
    names = {row["name"] for row in json.loads(out)}
    assert code == 0
    assert {"clarabel", "scip", "highs", "mfw", "gurobi", "mosek"} <= names
    code, out, _ = run(capsys, "solvers")
    assert code == 0
    assert "clarabel" in out


def test_formulations_lists_every_record(capsys: Any) -> None:
    code, out, _ = run(capsys, "formulations", "--json")
    assert code == 0
    assert {row["class"] for row in json.loads(out)} == {info.key for info in all_formulations().values()}
    assert "Conic" in run(capsys, "formulations")[1]


def test_estimators_describe_one_by_name(capsys: Any) -> None:
    code, out, _ = run(capsys, "estimators", "rampsvc", "--json")
    record = json.loads(out)
    assert code == 0 and record["class"] == "RampSVC" and record["model"] == "RampSVM"
    assert set(record["parameters"]) == set(RampSVC().get_params())
    _, out, _ = run(capsys, "estimators", "RampSVC")
    assert all(name in out for name in record["parameters"])
    code, _, err = run(capsys, "estimators", "RampSVCC")
    assert code == 2 and "RampSVC" in err


@pytest.mark.parametrize("name", all_formulations())
def test_every_formulation_is_stated_and_solved_at_the_prompt(capsys: Any, csv: Path, tmp_path: Path, name: str) -> None:
    info = all_formulations()[name]
    source = csv
    if info.small is not None:
        source = tmp_path / "arrays.npz"
        arrays = dict(info.small(np.random.default_rng(3)))
        if info.data is not DataKind.ARRAYS:
            arrays["X"] = arrays["X"][:, 1:]  # the prompt puts the intercept's column there
        np.savez(source, **arrays)
    code, out, _ = run(capsys, "inspect", name, source, "--json")
    records = json.loads(out)
    assert code == 0
    assert records["model"] == info.key
    assert "variables" in records or records["no_form"]
    code, out, _ = run(capsys, "inspect", name, source)
    assert records["statement"] in out
    code, out, err = run(capsys, "solve", name, source, "--json", "--time-limit", "300")
    record = json.loads(out)
    assert code == 0, err
    assert record["model"] == info.key
    assert np.isfinite(record["objective"])


def test_data_lists_the_catalogue_and_one_set(capsys: Any, csv: Path) -> None:
    code, out, _ = run(capsys, "data", "--json")
    assert code == 0
    assert any(entry["name"] == "wdbc" for entry in json.loads(out))
    code, out, _ = run(capsys, "data", csv, "--json")
    assert code == 0
    assert json.loads(out)["n"] == 16


def test_inspect_shows_mathematics_form_and_latex(capsys: Any, csv: Path) -> None:
    code, out, _ = run(capsys, "inspect", "zero-one", csv, "--lam", "0.5", "--json")
    assert code == 0
    assert json.loads(out)["rows"] == 16 and json.loads(out)["features"]
    code, out, _ = run(capsys, "inspect", "conic", csv, "--kappa", "0.1", "--latex")
    assert code == 0
    assert r"\succeq" in out  # LaTeX, no sentence
    code, out, _ = run(capsys, "inspect", "l2svm", csv, "--json")
    assert json.loads(out)["variables"] == 16


@pytest.mark.parametrize("model", ["hinge", "conic", "l2svm", "meb"])
def test_solve_exits_0_when_solved(capsys: Any, csv: Path, model: str, tmp_path: Path) -> None:
    target = tmp_path / "result.npz"
    code, out, _ = run(capsys, "solve", model, csv, "--solver", "clarabel", "--json", "--save", target)
    record = json.loads(out)
    assert code == 0
    assert record["status"] == "OPTIMAL"
    assert record["gap"] <= 1e-6
    assert target.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "hinge", "DATA", "--solver", "clarabel", "--n", "10"),
        ("solve", "--solver", "clarabel", "hinge", "--n", "10", "DATA"),
        ("solve", "hinge", "--solver", "clarabel", "--n", "10", "DATA"),
    ],
)
def test_options_stand_before_between_and_after_the_words(capsys: Any, csv: Path, words: tuple[str, ...]) -> None:
    assert main([str(csv) if word == "DATA" else word for word in words]) == 0
    assert "HingeSVM by clarabel" in capsys.readouterr().out


def test_an_entry_is_named_after_the_options(capsys: Any, tmp_path: Path) -> None:
    name = "zero-one/flipped-n16-p1-s0-lam1"
    entries = tmp_path / "entries.jsonl"
    save_entries(entries, [find_entry(name, load_entries())])
    assert main(["book", "verify", "--entries", str(entries), name]) == 0
    assert name in capsys.readouterr().out


def test_solve_names_the_classes(capsys: Any, tmp_path: Path) -> None:
    words = tmp_path / "words.csv"
    words.write_text("a,label\n" + "".join(f"{k % 5 + (k % 2)},{'yes' if k % 2 else 'no'}\n" for k in range(12)))
    assert json.loads(run(capsys, "solve", "hinge", words, "--label", "label", "--json")[1])["classes"] == ["no", "yes"]
    shown = run(capsys, "solve", "hinge", words, "--label", "label")[1].splitlines()[-1]
    assert "yes" in shown and "no" in shown


def test_solve_exits_1_when_not_solved(capsys: Any, csv: Path) -> None:
    """The two clouds overlap, so the hard-margin problem κ = 0 is infeasible."""
    code, out, _ = run(capsys, "solve", "conic", csv, "--kappa", "0", "--solver", "clarabel", "--quiet", "--json")
    assert code == 1
    assert json.loads(out)["status"] == "INFEASIBLE"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("solve", "hinge", "no-such-set"), "no-such-set"),
        (("solve", "hinge", "missing.csv"), "missing.csv"),
        (("solve", "hinge", "{csv}", "--lam", "-1"), "lam"),
        (("solve", "hinge", "{csv}", "--solver", "clarabell"), "clarabel"),
        (("solve", "conic", "{csv}", "--solver", "piqp"), "piqp"),
        (("solve", "conic", "{csv}", "--kappa", "0.1", "--lam", "1"), "kappa"),
        (("compare", "hinge", "{csv}", "--solvers", "clarabel,nothing"), "nothing"),
        (("solve", "hinje", "{csv}"), "hinge"),
        (("solve", "hinge", "{csv}", "--kappa", "0.1"), "--kappa"),
        (("solve", "hinge", "{csv}", "--lam", "much"), "--lam"),
        (("solve", "l2svm", "{csv}", "--kernel", "sigmoid"), "--kernel"),
        (("solve", "stiefel", "{csv}"), "npz"),
    ],
)
def test_wrong_use_exits_2_and_names_what(capsys: Any, csv: Path, words: tuple[str, ...], name: str) -> None:
    code, _, err = run(capsys, *(word.replace("{csv}", str(csv)) for word in words))
    assert code == 2
    assert name in err


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_argument_is_wrong_use(capsys: Any, command: str) -> None:
    chosen = parser(command).chosen_command
    assert chosen is not None
    for count, action in enumerate(action for action in chosen._actions if not action.option_strings):
        with pytest.raises(SystemExit) as stop:
            main([command, *["list" if command == "book" else "x"] * count, ""])
        assert stop.value.code == 2
        assert str(action.metavar or action.dest) in capsys.readouterr().err


def test_compare_prints_a_row_for_each_solver(capsys: Any, csv: Path) -> None:
    code, out, _ = run(capsys, "compare", "conic", csv, "--solvers", "clarabel,piqp", "--json", "--quiet")
    rows = json.loads(out)
    assert code == 0
    assert [row["status"] for row in rows] == ["optimal", "not run"]
    assert rows[1]["reason"] and "reason" not in {key for key, value in rows[0].items() if value}


def test_the_proof_of_a_ramp_is_verified_with_its_data(capsys: Any, csv: Path, tmp_path: Path) -> None:
    log = tmp_path / "proof.log"
    assert run(capsys, "solve", "ramp", csv, "--solver", "margin-bb", "--proof", log, "--quiet")[0] == 0
    code, out, _ = run(capsys, "check-proof", log, "--data", csv, "--formulation", "ramp", "--json")
    assert code == 0 and json.loads(out)["own_data"]
    code, out, _ = run(capsys, "check-proof", log, "--data", csv, "--formulation", "ramp", "--lam", "2", "--json")
    assert code == 1 and not json.loads(out)["own_data"]


def test_a_proof_is_written_verified_and_refused_when_damaged(capsys: Any, csv: Path, tmp_path: Path) -> None:
    log = tmp_path / "proof.jsonl"
    code, _, _ = run(capsys, "solve", "zero-one", csv, "--solver", "zero-one-bb", "--proof", log, "--quiet")
    assert code == 0
    code, out, _ = run(capsys, "check-proof", log, "--json")
    assert code == 0
    report = json.loads(out)
    assert report["valid"] and report["gap"] <= 1e-6 and not report["own_data"]
    code, out, _ = run(capsys, "check-proof", log, "--data", csv, "--json")
    assert code == 0 and json.loads(out)["own_data"]
    code, out, _ = run(capsys, "check-proof", log, "--data", csv, "--lam", "2", "--json")
    assert code == 1 and not json.loads(out)["own_data"]
    log.write_text("".join(log.read_text(encoding="utf-8").splitlines(keepends=True)[:-2]), encoding="utf-8")
    code, out, _ = run(capsys, "check-proof", log, "--json")
    assert code == 1
    assert not json.loads(out)["valid"]
    code, _, err = run(capsys, "check-proof", tmp_path / "missing")
    assert code == 2 and str(tmp_path / "missing") in err


def test_report_writes_four_files(capsys: Any, csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _, _ = run(capsys, "report", csv, "--out", out, "--exact", "scip", "--time-limit", "20", "--quiet")
    assert code == 0
    for suffix in ("html", "md", "csv", "json"):
        assert (out / f"report.{suffix}").stat().st_size > 200


def test_the_installed_command_runs() -> None:
    done = subprocess.run([sys.executable, "-m", "marginopt.cli.main", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("marginopt ")
