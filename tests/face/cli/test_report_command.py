"""``marginopt report``: dimensions at the prompt, a store, going on with it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from data_files import points_file

from marginopt.cli.main import main
from marginopt.relaxations import CellStore, GapReport


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return points_file(tmp_path, 24, 0.7)


def run(*words: object) -> int:
    return main([str(word) for word in words])


def test_dimensions_and_a_store_that_goes_on(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, out = tmp_path / "cells.db", tmp_path / "out"
    asked = (
        "report", data, "--label", "label", "--sizes", "10,12", "--lam", "1,2", "--relaxations", "conic,single-point",
        "--exact", "scip", "--encodings", "bigm,indicator", "--big-m", "100x zero", "--kappas", "2", "--seeds", "1",
        "--time-limit", "60", "--store", store, "--out", out, "--quiet",
    )  # fmt: skip
    assert run(*asked) == 0
    output = capsys.readouterr()
    assert output.err == ""
    names = ("report.html", "report.md", "report.csv", "report-exact.csv", "report.json", "report.tex", "report-kappa.csv")
    assert all((out / name).stat().st_size > 100 and name in output.out for name in names)
    assert (out / "report-pictures" / "against-kappa.svg").is_file()
    report = GapReport.from_json(out / "report.json")
    assert [c.instance for c in report.instances[::2]] == [c.instance for c in report.instances[1::2]]
    assert sorted({c.n for c in report.instances}) == [10, 12]
    assert len(report.exacts) == 4 * 2 and len(report.relaxations) == 4 * 3 and len(report.kappas) == 4
    counts = CellStore(store).counts()
    assert counts == {"instance": 4, "relaxation": 12, "exact": 8, "kappa": 4, "request": 1}

    again = tmp_path / "again"
    assert run("report", "--store", store, "--continue", "--out", again, "--quiet") == 0
    assert CellStore(store).counts() == counts
    second = GapReport.from_json(again / "report.json")
    assert second.exacts == report.exacts and second.relaxations == report.relaxations and second.kappas == report.kappas


@pytest.mark.parametrize(
    ("words", "begun", "given"),
    [
        (("--lam", "3"), "--lam 1,2", "--lam 3"),
        (("--time-limit", "30"), "--time-limit 60.0", "--time-limit 30.0"),  # the default, which the report was not begun with
        (("--proofs",), "without --proofs", "is --proofs"),
        (("--node-limit", "5"), "without --node-limit", "--node-limit 5"),
        (("--label", "other"), "--label label", "--label other"),
    ],
)
def test_a_continued_report_refuses_other_options(
    words: tuple[str, ...], begun: str, given: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, out = tmp_path / "cells.db", ("--out", tmp_path / "out", "--quiet")
    arguments = ("--label", "label", "--sizes", "10", "--lam", "1,2", "--relaxations", "single-point", "--exact", "none")
    assert run("report", data, *arguments, "--time-limit", "60", "--store", store, *out) == 0
    capsys.readouterr()
    assert run("report", "--store", store, "--continue", *words, *out) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert begun in error and given in error
    assert run("report", "--store", store, "--continue", *arguments[2:], "--jobs", "1", *out) == 0


def test_generated_points_without_exact_solvers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = (
        "--generate",
        "2",
        "0.5",
        "clustered",
        "--sizes",
        "20,30",
        "--exact",
        "none",
        "--relaxations",
        "conic",
        "--jobs",
        "2",
    )
    assert run("report", *words, "--backend", "threading", "--out", out, "--json") == 0
    output = capsys.readouterr()
    assert str(out / "report.tex") in json.loads(output.out)["written"]
    assert output.err
    report = GapReport.from_json(out / "report.json")
    assert [c.n for c in report.instances] == [20, 30] and report.exacts == ()


def test_a_generated_family_of_ramp_problems(tmp_path: Path) -> None:
    """Another formulation than the 0-1 loss: its own point, relaxations and exact solves."""
    out, family = tmp_path / "out", ("--generate", "2", "0.3", "clustered", "--sizes", "8,12")
    asked = ("--formulations", "ramp", "--lam", "0.5,1", "--relaxations", "continuous", "--exact", "margin-bb")
    assert run("report", *family, *asked, "--out", out, "--quiet") == 0
    report = GapReport.from_json(out / "report.json")
    assert [c.n for c in report.instances] == [8, 8, 12, 12]
    assert {c.parameters["lam"] for c in report.instances} == {0.5, 1.0} and all("ramp" in c.family for c in report.instances)
    best = {c.instance: c.incumbent for c in report.exacts}
    for cell in report.instances:
        assert best[cell.instance] <= cell.objective * (1 + 1e-9)
        assert cell.objective <= best[cell.instance] * 1.05  # the procedure's point is near
    assert all(cell.bound <= best[cell.instance] for cell in report.relaxations)


def test_means_over_subsamples_stand_at_the_prompt(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--relaxations", "continuous", "--exact", "none", "--out", tmp_path / "out", "--quiet")
    title = "Relaxations over instances"
    for seeds, expected in ((("--subsample-seeds", "0-1"), True), ((), False)):
        assert run("report", data, "--label", "label", "--n", "16", *seeds, *arguments) == 0
        assert (title in capsys.readouterr().out) is expected


def test_replicates_with_chosen_lam_held_out_points_and_proofs(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    chosen = ("--n", "16", "--subsample-seeds", "0-1", "--lam", "auto", "--held-out", "0.25", "--proofs")
    arguments = ("--relaxations", "conic", "--exact", "zero-one-bb", "--time-limit", "60")
    assert run("report", data, "--label", "label", *chosen, *arguments, "--out", out, "--quiet") == 0
    report = GapReport.from_json(out / "report.json")
    assert [c.n for c in report.instances] == [12, 12] and len({c.family for c in report.instances}) == 1
    assert all(c.lam is not None and c.lam_low is not None and c.lam_low < c.lam for c in report.instances)
    assert all(c.test_error is not None and c.log for c in report.exacts)
    assert 'class="prove"' in (out / "report.html").read_text()
    models = ("--formulations", "zero-one", "--lam", "auto", "--relaxations", "continuous", "--exact", "none")
    assert run("report", data, "--label", "label", "--n", "16", *models, "--out", out, "--quiet") == 0
    (cell,) = GapReport.from_json(out / "report.json").instances
    assert cell.lam_low is not None and cell.lam_low < cell.parameters["lam"] and "zero-one" in cell.family


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--subsample-seeds", "0-3"), "--subsample-seeds"),
        (("--n", "10", "--subsample-seeds", "a-b"), "--subsample-seeds"),
        (("--held-out", "2"), "held"),
        (("--lam", "one"), "--lam"),
        (("--seeds", "1.5"), "--seeds"),
        (("--relaxations", "conik"), "conik"),
        (("--encodings", "big"), "encodings"),
        (("--kappa", "0.1", "--kappas", "3"), "--kappas"),
        (("--sizes", "20", "--n", "10"), "--n"),
        (("--formulations", "meb"), "meb"),
        (("--continue",), "--store"),
        (("--jobs", "0"), "jobs"),
        (("--jobs", "2", "--backend", "dusk"), "dusk"),
    ],
)
def test_wrong_use(words: tuple[str, ...], name: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", data, "--label", "label", "--out", tmp_path / "out", *words) == 2
    assert name in capsys.readouterr().err


def test_wrong_use_without_data(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ("--out", tmp_path / "out")
    assert run("report", "--sizes", "20", *out) == 2
    assert run("report", "--generate", "2", "0.5", "clustered", *out) == 2
    assert run("report", "--generate", "2", "half", "clustered", "--sizes", "20", *out) == 2
    CellStore(tmp_path / "empty.db")
    assert run("report", "--continue", "--store", tmp_path / "empty.db", *out) == 2
    assert run("report", data, "--continue", "--store", tmp_path / "empty.db", *out) == 2
    assert run("report", "--out", data) == 2
    errors = capsys.readouterr().err.splitlines()
    names = ("--sizes", "--generate", "--generate", "empty.db", "--continue", str(data))
    assert len(errors) == 6 and all(name in line for name, line in zip(names, errors, strict=True))


def test_three_classes_by_name_are_chosen_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file whose label is a word: the classes are called by their names, in advice and by --pair."""
    rng = np.random.default_rng(1)
    path = tmp_path / "trees.csv"
    kinds = np.repeat(["ash", "elm", "oak"], 8)
    rows = [f"{k},{a:.3f},{b:.3f}\n" for k, (a, b) in zip(kinds, rng.normal(size=(24, 2)), strict=True)]
    path.write_text("kind,height,girth\n" + "".join(rows), encoding="utf-8")
    results = ("--relaxations", "conic", "--exact", "none", "--out", tmp_path / "out", "--quiet")
    arguments = ("report", path, "--label", "kind", *results)
    assert run(*arguments) == 2
    error = capsys.readouterr().err
    assert all(name in error for name in ("ash", "elm", "oak", "--pair"))
    assert run(*arguments, "--pair", "ash", "yew") == 2
    assert "yew" in capsys.readouterr().err
    assert run(*arguments, "--pair", "ash", "oak") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("wrote ")
