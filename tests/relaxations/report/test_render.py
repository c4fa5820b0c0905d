"""The report's formats: a pure function of what is stored, structure rather than bytes."""

from __future__ import annotations

import base64
import csv
import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from marginopt.errors import DataError
from marginopt.relaxations import ExactCell, GapReport, InstanceCell, RelaxationCell
from marginopt.relaxations.report.pictures.bars import gap_bars, loss_functions
from marginopt.relaxations.report.tables.means import report_tables
from marginopt.relaxations.report.tables.relaxations import COLUMNS, SUMMARY


def made_up() -> GapReport:
    instances = tuple(
        InstanceCell(name, 0.5, "made | up <here>", 50, 3, True, 25, 12.0, 9, 4, 0.1) for name in ("first & best", "second")
    )
    relaxations = tuple(
        cell
        for i in instances
        for cell in (
            RelaxationCell(
                i.instance, 0.5, "big-M, M from w=0", "piqp", "1.0", "optimal", "solved", 2.0, "proved", "argument", "",
                "M from w=0, valid", 4.0, 9.0, 12.5, 10, 5, None, 53, 50, 5000, 0.001, 0.002,
            ),
            RelaxationCell(
                i.instance, 0.5, "conic SDP", "clarabel", "1.0", "optimal", "Solved", 6.0 + 1 / 3, "proved", "argument",
                recovered=11.0, violations=9, misclassified=4, rank_ratio=0.25, variables=100, rows=200, bytes=9000,
                build_seconds=0.001, solve_seconds=0.05,
            ),
            RelaxationCell(i.instance, 0.5, "other", "mosek", reason="mosek is not installed: pip install mosek"),
        )
    )  # fmt: skip
    done = ExactCell(
        "first & best", 0.5, "scip", "9", "big-M", "incumbent", "optimal", "optimal", True, 10.0, 10.0, 10.0, "claimed by solver",
        1234, 8, 3, 0.1, 2.5, 30.0, 53, 50,
    )  # fmt: skip
    stopped = replace(done, instance="second", status="time limit", proven=False, bound=8.0)
    refused = tuple(ExactCell(i.instance, 0.5, "gurobi", reason="the licence allows 200 variables") for i in instances)
    meta = {
        "created": "2026-01-01T00:00:00+00:00",
        "versions": {"marginopt": "0.1.0", "numpy": "2.0"},
        "machine": "Linux x86_64, 2 cores",
        "options": {"time limit": 30.0, "exact": ["scip", "gurobi"]},
        "seed": 7,
        "base": "big-M, M from w=0",
    }
    return GapReport(instances, relaxations, (done, refused[0], stopped, refused[1]), meta)


class Page(HTMLParser):
    """Tables, sources, scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._open: str | None = None
        self._depth: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        self._depth.append(tag)
        if tag == "table":
            self._open = given["id"]
            self.tables[str(self._open)] = []
        elif tag == "tr" and self._open:
            self.tables[self._open].append([])
        elif tag in ("td", "th") and self._open:
            self.tables[self._open][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._open = None

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self._open and self.tables[self._open] and self.tables[self._open][-1]:
            self.tables[self._open][-1][-1] += data.strip()


def test_html_is_self_contained_and_complete() -> None:
    report = made_up()
    page = Page(report.html())
    assert {"html", "head", "title", "style", "script", "figure", "figcaption"} <= {tag for tag, _ in page.tags}
    sources = [str(value) for tag, given in page.tags for name, value in given.items() if name in ("src", "href")]
    assert len(sources) == 2 and all(s.startswith("data:image/svg+xml;base64,") for s in sources)
    for source in sources:
        svg = base64.b64decode(source.partition(",")[2]).decode()
        assert svg.lstrip().startswith("<?xml") and svg.rstrip().endswith("</svg>")
    assert not any(tag in ("link", "iframe", "object") for tag, _ in page.tags)
    assert page.tables["instances"][0] == [c.title for c in SUMMARY]
    assert page.tables["relaxations"][0] == [c.title for c in COLUMNS]
    assert len(page.tables["instances"]) == 1 + 2
    assert len(page.tables["relaxations"]) == 1 + 2 * 3 * 2
    assert all(len(row) == len(COLUMNS) for row in page.tables["relaxations"])
    words = " ".join(page.text)
    for column in COLUMNS:
        assert column.explanation in words
    for piece in (
        "seed: 7",
        "marginopt 0.1.0",
        "Linux x86_64, 2 cores",
        "first & best",
        "mosek is not installed",
        "200 variables",
    ):
        assert piece in words, piece


def test_html_shows_gaps_and_intervals() -> None:
    table = Page(made_up().html()).tables["relaxations"]
    head = table[0]
    rows = [dict(zip(head, row, strict=True)) for row in table[1:]]
    conic = [r for r in rows if r["relaxation"] == "conic SDP" and r["exact solver"] == "scip"]
    assert conic[0]["gap"] == "36.67%" and conic[0]["exact status"] == "optimal"
    assert conic[1]["gap"] == "[20.83%, 36.67%]" and conic[1]["exact status"] == "time limit"
    assert conic[1]["gap closed"] == "[54.17%, 72.22%]"
    assert all(r["gap"] == "" for r in rows if r["exact solver"] == "gurobi")


def test_every_numeric_cell_has_a_sort_key() -> None:
    page = Page(made_up().html())
    keys = [given["data-key"] for tag, given in page.tags if tag == "td" and given.get("class") == "number"]
    assert keys and all(str(float(str(k))) for k in keys)
    heads = [given for tag, given in page.tags if tag == "th"]
    assert all(given["title"] for given in heads)


def test_markdown_tables_are_well_formed() -> None:
    text = made_up().markdown()
    tables = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
    counts = {line.count("|") - 1 for line in tables}
    assert counts == {len(table.columns) for table in report_tables(made_up())}
    # two instances, twelve rows, two relaxations that ran, four exact solves, one exact variant that ran
    assert len(tables) == (2 + 2) + (2 + 12) + (2 + 2) + (2 + 4) + (2 + 1)
    assert "made \\| up" in text
    assert "[20.83%, 36.67%]" in text and "seed: 7" in text


def test_csv_holds_raw_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(made_up().csv())))
    assert len(rows) == 12
    conic = next(r for r in rows if r["relaxation"] == "conic SDP" and r["exact_solver"] == "scip" and r["instance"] == "second")
    assert float(conic["bound"]) == 6.0 + 1 / 3
    assert float(conic["gap_low"]) == (8.0 - (6.0 + 1 / 3)) / 8.0
    assert float(conic["gap_high"]) == (10.0 - (6.0 + 1 / 3)) / 10.0
    assert conic["rank_ratio"] == "0.25" and conic["nodes"] == "1234"
    other = next(r for r in rows if r["relaxation"] == "other")
    assert other["bound"] == "" and "not installed" in other["kind"]


def test_stored_reports_render_the_same(tmp_path: Path) -> None:
    report = made_up()
    again = GapReport.from_json(report.to_json(tmp_path / "report.json"))
    assert again.instances == report.instances
    assert again.relaxations == report.relaxations
    assert again.exacts == report.exacts
    for name in ("html", "markdown", "csv", "json", "latex"):
        assert getattr(again, name)() == getattr(report, name)(), name
    assert str(again) == str(report)


def test_files_are_written_where_asked(tmp_path: Path) -> None:
    report = made_up()
    paths = [report.to_html(tmp_path / "r.html"), report.to_markdown(str(tmp_path / "r.md")), report.to_csv(tmp_path / "r.csv")]
    assert [p.name for p in paths] == ["r.html", "r.md", "r.csv"]
    assert paths[0].read_text(encoding="utf-8") == report.html()


def test_contradictions_are_shown() -> None:
    report = made_up()
    wrong = replace(report.relaxations[1], bound=11.5)
    shown = GapReport(report.instances, (wrong,), report.exacts, report.meta)
    assert "exceeds the objective" in shown.html() and "exceeds the objective" in shown.markdown()
    assert "exceeds the objective" not in report.html()


def test_text_and_notebook_forms() -> None:
    report = made_up()
    assert "conic SDP" in str(report) and len(str(report).splitlines()) == 13
    assert report._repr_html_().count("<table") == 2


def test_pictures_are_drawn_without_exact_solvers_and_without_bounds() -> None:
    report = made_up()
    for exacts in (report.exacts, ()):
        svg = gap_bars(GapReport(report.instances, report.relaxations, exacts, report.meta))
        assert svg.rstrip().endswith("</svg>")
    assert gap_bars(report) == gap_bars(report)
    assert loss_functions() == loss_functions()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "not a stored gap report"),
        ("[]", "its format"),
        (json.dumps({"format": "marginopt gap report", "format_version": 99}), "layout 99"),
        (json.dumps({"format": "marginopt gap report", "format_version": 2}), "lacks instances"),
        (json.dumps({"format": "marginopt gap report", "format_version": 1}), "lacks instances"),
    ],
)
def test_unreadable_reports(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        GapReport.from_json(path)
    with pytest.raises(DataError, match="no file"):
        GapReport.from_json(tmp_path / "missing.json")
