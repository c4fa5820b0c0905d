"""Pages brought up to date table by table: what a run has not measured stays as an earlier one measured it, and says so."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from facts import at

from marginopt.cli.main import main
from marginopt.drawing import Picture
from marginopt.errors import DataError
from marginopt.reproduction.comparison import Verdict, compare_cell, mean_summary
from marginopt.reproduction.page import write_pages
from marginopt.reproduction.previous_run import computation_digest, read_previous_run, with_previous_run
from marginopt.reproduction.record import (
    CONIC,
    EFFORTS,
    Experiment,
    PaperCell,
    PaperFigure,
    PaperTable,
    ProtocolSize,
    PublishedNumber,
    Run,
)
from marginopt.reproduction.reproduce import FigureResult, Reproduction, TableResult

COUNTED = Experiment("counted", lambda run: {"value": run["base"] + run["seed"] / 3.0})
FIRST, SECOND = "2026-01-01T00:00:00+00:00", "2026-02-02T00:00:00+00:00"
FIGURE = PaperFigure("figure", CONIC, "Figure 1", "a figure", lambda effort: (), lambda results: None)


def entry(base: float, repetitions: int = 3, experiment: Experiment = COUNTED, label: str = "row") -> PaperCell:
    runs = tuple(Run.of(experiment, base=base, seed=seed) for seed in range(repetitions))
    return PaperCell((label,), PublishedNumber.of("1.0", "0.2"), runs, mean_summary("value"))


def table(name: str, *entries: PaperCell) -> PaperTable:
    stated: Callable[[ProtocolSize], Sequence[PaperCell]] = lambda effort: entries  # noqa: E731
    return PaperTable(name, CONIC, name, "a table", ("label",), "", "", stated)


def measured(one: PaperTable, only: Callable[[PaperCell], bool] = lambda entry: True, effort: str = "full") -> TableResult:
    """Its cells, those that ``only`` says measured."""
    entries = one.cells(EFFORTS[effort])
    results = {run: run.experiment.measure(run.parameters) for e in entries if only(e) for run in e.runs}
    return TableResult(one, tuple(compare_cell(e, results, dict.fromkeys(e.runs, "absent")) for e in entries))


def page(created: str, *tables: TableResult, picture: Picture | None = None, effort: str = "full") -> Reproduction:
    head = (("versions", f"those of {created}"), ("created", created))
    return Reproduction(CONIC, tables, (FigureResult(FIGURE, picture, f"why at {created}"),), EFFORTS[effort], head)


def rows(folder: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    every = csv.DictReader((folder / "conic.csv").read_text(encoding="utf-8").splitlines())
    return {(row["table"], row["cell"]): row for row in every}


def never(entry: PaperCell) -> bool:
    return False


def test_what_was_not_run_again_stays_and_says_when_it_was(tmp_path: Path) -> None:
    old, new = table("old", entry(0.8)), table("new", entry(0.7))
    drawn = Picture("<svg/>", "figure", "a figure", "drawn then")
    write_pages(page(FIRST, measured(old), measured(new, never), picture=drawn), tmp_path)
    first = rows(tmp_path)
    now = page(SECOND, measured(old, never), measured(new))
    both = with_previous_run(now, read_previous_run(tmp_path, "conic"), ["new"])
    write_pages(both, tmp_path)
    result = rows(tmp_path)
    assert result["old", "row"] == first["old", "row"]
    assert result["old", "row"]["made"] == FIRST
    assert result["new", "row"]["made"] == SECOND
    assert both.missing_count == 0
    assert both.figures[0].picture == drawn
    for name in ("conic.md", "conic.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert f"those of {FIRST}" in text
        assert f"those of {SECOND}" in text
        assert "drawn then" in text
        assert "Cells: 1, figures: 1." in text
    again = with_previous_run(
        page("2026-03-03", measured(old, never), measured(new, never)), read_previous_run(tmp_path, "conic"), []
    )
    write_pages(again, tmp_path)
    assert rows(tmp_path) == result  # nothing was run: nothing changes, and this run's head is not shown
    assert "2026-03-03" not in (tmp_path / "conic.md").read_text(encoding="utf-8")


def test_a_figure_of_cells_shows_what_the_tables_show(tmp_path: Path) -> None:
    shown = replace(FIGURE, draw_cells=lambda cells: Picture(f"<svg>{sorted(cells)}</svg>", "figure", "a figure", "of cells"))
    old, new = table("old", entry(0.8)), table("new", entry(0.7))

    def at(created: str, *tables: TableResult) -> Reproduction:
        one = page(created, *tables)
        return replace(one, figures=(replace(one.figures[0], figure=shown),))

    write_pages(at(FIRST, measured(old), measured(new, never)), tmp_path)
    for created, made, ran in ((SECOND, "", lambda e: True), ("2026-03-03", SECOND, never)):  # drawn for new cells, then kept
        now = at(created, measured(old, never), measured(new, ran))
        both = with_previous_run(now, read_previous_run(tmp_path, "conic"), [])
        write_pages(both, tmp_path)
        (drawn,) = both.figures
        assert drawn.picture is not None
        assert drawn.picture.svg == "<svg>[('new', 'row'), ('old', 'row')]</svg>"
        assert drawn.made == made


def test_a_cell_that_was_run_again_is_the_new_one(tmp_path: Path) -> None:
    one = table("one", entry(0.8, 3))
    write_pages(page(FIRST, measured(one)), tmp_path)
    fewer = table("one", entry(0.8, 2))
    for asked, repetitions, made in ((["one"], 2, ""), ([], 3, FIRST)):
        (cell,) = with_previous_run(page(SECOND, measured(fewer)), read_previous_run(tmp_path, "conic"), asked).tables[0].cells
        assert cell.value is not None
        assert (cell.value.repetitions, cell.made) == (repetitions, made)


@pytest.mark.parametrize(
    "other",
    [entry(0.9), entry(0.8, experiment=replace(COUNTED, layout=2)), entry(0.8, experiment=replace(COUNTED, name="other"))],
    ids=["parameters", "layout", "experiment"],
)
def test_figures_of_another_protocol_are_not_taken_over(other: PaperCell, tmp_path: Path) -> None:
    write_pages(page(FIRST, measured(table("one", entry(0.8)))), tmp_path)
    changed = page(SECOND, measured(table("one", other), never))
    (cell,) = with_previous_run(changed, read_previous_run(tmp_path, "conic"), ["one"]).tables[0].cells
    assert cell.verdict is Verdict.MISSING


def test_the_repetitions_are_no_part_of_what_is_run() -> None:
    assert computation_digest(entry(0.8, 2)) == computation_digest(entry(0.8, 5))


def by_effort(effort: ProtocolSize) -> Sequence[PaperCell]:
    """Two cells, thinned ones of other experiments that are not judged; the quick effort has the first alone."""
    cells = effort.rows(((0.8, "one"), (0.9, "two")), ((0.8, "one"),))
    return [
        replace(entry(base - 0.1 * effort.thinned, label=label), caveat="fewer points" if effort.thinned else "")
        for base, label in cells
    ]


def labelled(label: str, entry: PaperCell) -> bool:
    return entry.labels == (label,)


WIDE = replace(table("wide"), cells=by_effort)
TIMES = ("2026-01-01", "2026-02-02", "2026-03-03")


@pytest.mark.parametrize("order", list(itertools.permutations(EFFORTS)))
def test_pages_updated_at_several_efforts_have_the_cells_of_all(order: Sequence[str], tmp_path: Path) -> None:
    """Each effort measures one cell that no other does, ``quick`` the first of the wide table."""
    only = {effort: table(effort, entry(0.8)) for effort in EFFORTS}
    for effort, made in zip(order, TIMES, strict=True):
        mine = [measured(one, (lambda e: True) if name == effort else never, effort) for name, one in only.items()]
        label = "one" if effort == "quick" else "two"
        wide = measured(WIDE, partial(labelled, label), effort)
        output = page(made, *mine, wide, effort=effort)
        write_pages(with_previous_run(output, read_previous_run(tmp_path, "conic"), [effort, "wide"]), tmp_path)
    cells = rows(tmp_path)
    when = dict(zip(order, TIMES, strict=True))
    later = max("reduced", "full", key=order.index)
    assert {key: row["made"] for key, row in cells.items()} == {
        ("quick", "row"): when["quick"],
        ("reduced", "row"): when["reduced"],
        ("full", "row"): when["full"],
        ("wide", "one"): when["quick"],
        ("wide", "two"): when[later],
    }
    assert (cells["wide", "two"]["verdict"] == Verdict.UNJUDGED) == (later == "reduced")  # judged as what it was measured as
    assert list(read_previous_run(tmp_path, "conic").headers) == sorted(
        TIMES, reverse=True
    )  # whatever is updated: the latest first


def test_a_row_that_nobody_measured_stays_with_its_reason(tmp_path: Path) -> None:
    write_pages(page(FIRST, measured(WIDE, never)), tmp_path)
    first = rows(tmp_path)
    fewer = page(SECOND, measured(WIDE, never, "quick"), effort="quick")
    write_pages(with_previous_run(fewer, read_previous_run(tmp_path, "conic"), []), tmp_path)
    assert rows(tmp_path) == first
    assert first["wide", "two"]["notes"] == "absent"
    assert f"why at {FIRST}" in (tmp_path / "conic.md").read_text(encoding="utf-8")  # the figure too


def test_a_page_is_the_same_where_the_data_are_not_at_hand(tmp_path: Path) -> None:
    """A judgement, and the reason why a cell is missing, may rest on data: an update of another table leaves both."""
    here, there = (
        replace(entry(0.8), caveat="" if judged else "other points", notes=(note,))
        for judged, note in ((True, "as printed"), (False, "other"))
    )
    write_pages(page(FIRST, measured(table("one", here)), measured(WIDE, never)), tmp_path)
    first = rows(tmp_path)
    absent = TableResult(WIDE, tuple(replace(cell, reason="no data here") for cell in measured(WIDE, never).cells))
    output = page(SECOND, measured(table("one", there), never), absent)
    write_pages(with_previous_run(output, read_previous_run(tmp_path, "conic"), []), tmp_path)
    assert rows(tmp_path) == first
    write_pages(
        with_previous_run(output, read_previous_run(tmp_path, "conic"), ["wide"]), tmp_path
    )  # asked for, it says what is so now
    assert {row["notes"] for (name, _), row in rows(tmp_path).items() if name == "wide"} == {"no data here"}


def test_heads_keep_their_order_where_nothing_is_new(tmp_path: Path) -> None:
    one, other = table("one", entry(0.8)), table("other", entry(0.8))
    write_pages(page(FIRST, measured(one), measured(other, never)), tmp_path)
    write_pages(
        with_previous_run(page(SECOND, measured(one, never), measured(other)), read_previous_run(tmp_path, "conic"), ["other"]),
        tmp_path,
    )
    before = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("conic.*")}
    idle = page("2026-03-03", measured(one, never), measured(other, never))
    write_pages(with_previous_run(idle, read_previous_run(tmp_path, "conic"), []), tmp_path)
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("conic.*")} == before


def test_a_page_whose_run_was_killed_while_it_wrote_is_completed_by_the_next(tmp_path: Path) -> None:
    """The table of cells is new, the file that says how they were made is not: what came before stays."""
    old, new = table("old", entry(0.8)), table("new", entry(0.7))
    write_pages(page(FIRST, measured(old), measured(new, never)), tmp_path)
    heads = (tmp_path / "conic.json").read_text(encoding="utf-8")
    both = page(SECOND, measured(old, never), measured(new))
    write_pages(with_previous_run(both, read_previous_run(tmp_path, "conic"), ["new"]), tmp_path)
    whole = rows(tmp_path)
    (tmp_path / "conic.json").write_text(heads, encoding="utf-8")
    write_pages(
        with_previous_run(both, read_previous_run(tmp_path, "conic"), []), tmp_path
    )  # its store has the new cells, whatever is asked
    assert rows(tmp_path) == whole


def test_an_unpublished_cell_stays_too(tmp_path: Path) -> None:
    one = table("one", replace(entry(0.8), published=None))
    write_pages(page(FIRST, measured(one)), tmp_path)
    nothing = replace(page(SECOND), tables=(TableResult(one, ()),))  # cells that say nothing are left out of a run's tables
    (cell,) = with_previous_run(nothing, read_previous_run(tmp_path, "conic"), []).tables[0].cells
    assert cell.made == FIRST


def test_files_that_are_no_pages_are_refused(tmp_path: Path) -> None:
    assert not read_previous_run(tmp_path, "conic").cells
    write_pages(page(FIRST, measured(table("one", entry(0.8)))), tmp_path)
    (tmp_path / "conic.json").write_text('{"heads": {}}', encoding="utf-8")
    with pytest.raises(DataError, check=at("conic.json")):
        read_previous_run(tmp_path, "conic")


def test_the_prompt_updates_a_page_table_by_table(tmp_path: Path) -> None:
    words = ("--quick", "--quiet", "--out", str(tmp_path))
    assert main(["reproduce", "frank-wolfe-table-5", *words]) == 0
    assert main(["reproduce", "frank-wolfe-table-6", *words, "--update"]) == 0
    lines = (tmp_path / "frank-wolfe.csv").read_text(encoding="utf-8").splitlines()
    done = {row["table"] for row in csv.DictReader(lines) if row["measured"]}
    assert {"frank-wolfe-table-6", "frank-wolfe-table-5"} <= done
    assert len(list(tmp_path.glob("*.md"))) == 5  # the other papers' pages, and the index
