"""The frame of the executable papers: what is found, how a cell is judged, what a kill leaves, what a page says."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from facts import about

from marginopt.cli.main import main
from marginopt.errors import InputError
from marginopt.relaxations import CellStore
from marginopt.reproduction.comparison import NOT_RUN, Verdict, compare_cell, mean_summary
from marginopt.reproduction.page import _slug, write_ledger_page, write_pages
from marginopt.reproduction.record import (
    CONIC,
    EFFORTS,
    Experiment,
    PaperCell,
    PaperTable,
    PublishedNumber,
    Run,
    paper_figures,
    paper_tables,
    protocol_size,
    tables_and_figures,
)
from marginopt.reproduction.reproduce import reproduce
from marginopt.reproduction.task import measure_runs, read_stored_runs
from marginopt.solvers.parallel.executor import SerialExecutor


def measure(run: Mapping[str, Any]) -> dict[str, Any]:
    return {"value": run["base"] + 0.1 * run["seed"]}


COUNTED = Experiment("test", measure)


def entry(there: PublishedNumber | None, base: float, repetitions: int = 3) -> PaperCell:
    runs = tuple(Run.of(COUNTED, base=base, seed=seed) for seed in range(repetitions))
    return PaperCell(("row",), there, runs, mean_summary("value"))


@pytest.mark.parametrize(
    ("there", "base", "verdict"),
    [
        (PublishedNumber.of("1.0", "0.2"), 0.9, Verdict.INSIDE),
        (PublishedNumber.of("1.0", "0.2"), 1.2, Verdict.ABOVE),
        (PublishedNumber.of("1.0", "0.2"), 0.5, Verdict.BELOW),
        (PublishedNumber.of("1.0", "0"), 0.94, Verdict.INSIDE),  # 1.04: rounds to the printed 1.0
        (PublishedNumber.of("1.0", "0"), 0.99, Verdict.ABOVE),  # 1.09
        (PublishedNumber.of("110", ""), 109.8, Verdict.INSIDE),
        (None, 1.0, Verdict.UNPUBLISHED),
    ],
)
def test_a_cell_is_inside_one_published_deviation_or_half_its_last_digit(
    there: PublishedNumber | None, base: float, verdict: Verdict
) -> None:
    one = entry(there, base)
    judged = compare_cell(one, {run: measure(run.parameters) for run in one.runs}, {})
    assert judged.verdict is verdict
    assert judged.value is not None
    assert judged.value.mean == pytest.approx(base + 0.1)
    assert judged.value.deviation == pytest.approx(0.1)


def test_a_cell_without_data_says_why() -> None:
    one = entry(PublishedNumber.of("1.0", "0.2"), 1.0)
    judged = compare_cell(one, {}, dict.fromkeys(one.runs, "no such data"))
    assert judged.verdict is Verdict.MISSING
    assert judged.reason == "no such data"


@pytest.mark.parametrize(("printed", "unit"), [("1.0", 0.1), ("110", 1.0), ("6.33E-003", 1e-5), ("3.05e-05", 1e-7)])
def test_units_are_those_of_the_printed_digits(printed: str, unit: float) -> None:
    published = PublishedNumber.of(printed)
    assert published is not None
    assert published.unit == pytest.approx(unit)


def test_efforts() -> None:
    assert protocol_size("quick").one_row
    assert list(protocol_size("full", 2).seeds(20)) == [0, 1]
    assert list(EFFORTS["full"].seeds(20)) == list(range(20))
    with pytest.raises(InputError, check=about("effort")):
        protocol_size("some")
    with pytest.raises(InputError, check=about("repetitions")):
        protocol_size("full", 0)


def test_names_are_of_papers_tables_and_figures() -> None:
    assert tables_and_figures([])[0] == list(paper_tables().values())
    assert [t.name for t in tables_and_figures(["conic-table-1"])[0]] == ["conic-table-1"]
    assert {t.paper.name for t in tables_and_figures(["conic"])[0]} == {"conic"}
    assert tables_and_figures(["fw", "maxmin", "npsvc++"]) == tables_and_figures(["frank-wolfe", "max-min", "npsvc"])
    assert [t.name for t in tables_and_figures(["fw-table-2"])[0]] == ["frank-wolfe-table-2"]
    with pytest.raises(InputError, check=about("conic-table1", allowed=["conic-table-1"])):
        tables_and_figures(["conic-table1"])


@pytest.mark.parametrize("name", list(paper_tables()))
@pytest.mark.parametrize("effort", list(EFFORTS))
def test_every_table_states_its_cells_at_every_effort(name: str, effort: str) -> None:
    table = paper_tables()[name]
    entries = table.cells(EFFORTS[effort])
    assert entries
    assert all(len(one.labels) == len(table.headings) for one in entries)
    assert len({one.labels for one in entries}) == len(entries)
    assert all(one.runs or one.missing for one in entries)


@pytest.mark.parametrize("name", list(paper_figures()))
def test_figures_without_runs_are_not_drawn_or_need_none(name: str) -> None:
    figure = paper_figures()[name]
    drawn = figure.draw({})
    assert (drawn is None) == bool(figure.runs(EFFORTS["reduced"]))


def test_what_is_stored_is_not_run_again(tmp_path: Path) -> None:
    runs = entry(None, 1.0).runs
    records, lacking = measure_runs(runs[:2], tmp_path / "runs.db", SerialExecutor(), False)
    assert len(records) == 2
    assert not lacking
    there, missing = read_stored_runs(runs, tmp_path / "runs.db")
    assert there == records
    assert list(missing.values()) == [NOT_RUN]


def test_one_row_is_measured_and_the_others_are_as_the_store_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [replace(entry(None, base), labels=(name, "x")) for name, base in (("first", 1.0), ("second", 2.0), ("third", 3.0))]
    table = PaperTable("test", CONIC, "Table 0", "a table", ("row", "column"), "", "", lambda effort: cells)
    monkeypatch.setattr("marginopt.reproduction.reproduce.tables_and_figures", lambda names: ([table], []))
    store = tmp_path / "runs.db"

    def means(*rows: str) -> list[float | None]:
        (reproduction,) = reproduce(["test"], store=store, progress=False, rows=rows)
        return [None if cell.value is None else cell.value.mean for cell in reproduction.tables[0].cells]

    assert means("second") == [pytest.approx(2.1)]
    assert _count(store) == 3
    assert means("third") == [pytest.approx(2.1), pytest.approx(3.1)]
    assert means() == [pytest.approx(1.1), pytest.approx(2.1), pytest.approx(3.1)]
    with pytest.raises(InputError, check=about("fourth", allowed=["first", "second", "third"])):
        means("fourth")


def test_a_kill_costs_what_is_being_computed(tmp_path: Path) -> None:
    """Killed after some runs are stored; the second start finds them and ends with all."""
    store = tmp_path / "runs.db"
    words = ("reproduce", "conic-table-4", "--quick", "--repetitions", "1", "--out", str(tmp_path), "--store", str(store))
    begun = subprocess.Popen(
        [sys.executable, "-m", "marginopt.cli.main", *words],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 300.0
    while time.monotonic() < deadline and begun.poll() is None and (not store.exists() or _count(store) < 2):
        time.sleep(0.2)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    count = _count(store)
    assert count >= 2
    assert not (tmp_path / "conic.md").exists()
    assert main([*words, "--stored", "--quiet"]) == 0
    rows = list(csv.DictReader((tmp_path / "conic.csv").read_text(encoding="utf-8").splitlines()))
    every = [row for row in rows if row["cell"].startswith("validation points")]  # the other rows share their runs
    assert sum(int(row["repetitions"]) for row in every) == count


def _count(store: Path) -> int:
    return sum(CellStore(store).counts().values())


def test_a_page_says_published_measured_verdict_runs_and_how(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    CellStore(store)
    (reproduction,) = reproduce(["conic-table-2", "conic-figure-1"], store=store, run=False, progress=False, command="as asked")
    assert reproduction.paper is CONIC
    assert reproduction.missing_count == len(reproduction.tables[0].cells)
    written = write_pages(reproduction, tmp_path)
    assert {path.name for path in written} == {"conic.html", "conic.md", "conic.csv", "conic.json", "conic-figure-1.svg"}
    for name in ("conic.html", "conic.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert all(word in text for word in ("published", "measured", "2.8 ± 0.3", "not run", "as asked", "versions", "seeds"))
        assert str(tmp_path) not in text
    lines = (tmp_path / "conic.md").read_text(encoding="utf-8").splitlines()
    anchors = {_slug(line.removeprefix("## ")) for line in lines if line.startswith("## ")}
    assert {line.partition("(#")[2].partition(")")[0] for line in lines if "(#" in line} <= anchors
    assert "Table 2" in write_ledger_page(tmp_path).read_text(encoding="utf-8")


def test_the_prompt_lists_and_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["reproduce"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in (*paper_tables(), *paper_figures()))
    assert main(["reproduce", "conic-tabel-1", "--out", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()
    assert main(["reproduce", "conic", "--stored", "--out", str(tmp_path)]) == 2
    assert "no store" in capsys.readouterr().err
