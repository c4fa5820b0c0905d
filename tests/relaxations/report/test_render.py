"""The report's formats: a pure function of what is stored, structure rather than bytes."""

from __future__ import annotations

import csv
import html
import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from facts import about, at
from report_examples import made_up

from marginopt.errors import DataError, InputError
from marginopt.models.statement import typeset
from marginopt.relaxations import GapReport
from marginopt.relaxations.losses import draw_losses
from marginopt.relaxations.report.formats import FORMATS, format_of_suffix
from marginopt.relaxations.report.pictures import gap_bars
from marginopt.relaxations.report.tables import report_tables


class Page(HTMLParser):
    """Tables, ids, links, sources of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.tables: list[list[list[str]]] = []
        self._cell = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
            self._cell = False  # cells need no end tag
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "table"):
            self._cell = False

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self._cell:
            self.tables[-1][-1][-1] += data.strip("\n")

    def values(self, *names: str) -> list[str]:
        """Values of attributes, in order."""
        return [str(value) for _, problem in self.tags for name, value in problem.items() if name in names]


def test_a_long_reason_is_short_in_its_cell_and_whole_below_the_table() -> None:
    made = made_up()
    reason = f"mosek cannot solve it: {' '.join(f'word{k}' for k in range(40))}"
    relaxations = tuple(replace(cell, reason=cell.reason and reason) for cell in made.relaxations)
    report = GapReport(made.instances, relaxations, tuple(replace(c, reason=c.reason and reason) for c in made.exacts), made.meta)
    for text, row in ((str(report), "first"), (report.markdown(), "|"), (report.latex(), "{}"), (report.html(), "<tr>")):
        lines = [line for line in text.splitlines() if "mosek cannot solve it" in line and "title=" not in line]
        shortened = [line for line in lines if "word20" not in line]
        whole = [line for line in lines if "word20" in line]
        assert shortened and all("..." in line and "word39" in line for line in shortened)
        assert whole and not any("..." in line or line.startswith(row) for line in whole)
    assert report.markdown().count(reason) == 2  # once below each of the two tables
    assert report.csv().count(reason) == 2  # in the cells, which machines read


def test_html_is_self_contained_and_complete() -> None:
    report = made_up()
    page = Page(report.html())
    assert {"html", "head", "title", "style", "script", "figure", "figcaption", "main", "nav"} <= {tag for tag, _ in page.tags}
    sources = page.values("src")
    assert len(sources) == len(report.pictures) and all(s.startswith("data:image/svg+xml,") for s in sources)
    for source in sources:
        picture = ElementTree.fromstring(unquote(source.partition(",")[2]))
        assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert not any(tag in ("link", "iframe", "object") for tag, _ in page.tags)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    links = page.values("href")
    assert links and all(link.startswith("#") and link[1:] in ids for link in links)
    words = " ".join(page.text)
    for table in report.document.tables:
        assert all(typeset(column.explanation) in words for column in table.columns)
    assert report.checksum in words
    for piece in ("numpy 2.0", "Linux x86_64, 2 cores", "first & best", "mosek is not installed", "200 variables"):
        assert piece in words, piece


def test_one_thing_is_counted_in_the_singular(tmp_path: Path) -> None:
    whole = made_up()
    one = GapReport(whole.instances[:1], tuple(c for c in whole.relaxations if c.instance == "first & best"), (), {})
    for report, words in ((whole, "2 instances, "), (one, "1 instance, ")):
        assert words in " ".join(report.write(tmp_path / "r.html")[0].read_text(encoding="utf-8").split())


def test_each_row_is_on_the_page_once() -> None:
    report = made_up()
    matrix, *others = Page(report.html()).tables
    assert len(matrix) == 1 + len(report.instances)
    assert matrix[0] == ["instance", "λ", "n", "p", "optimum ζ", "big-M, M from w=0", "conic SDP", "other", "scip", "gurobi"]
    assert all(len(row) == len(matrix[0]) for row in matrix)
    assert [row[0] for row in matrix[1:]] == ["first & best", "second"]
    bounds = [row for table in others for row in table if "6.333333" in row]
    assert len(bounds) == 2  # of two instances, once each


def test_the_matrix_shows_intervals_and_kinds() -> None:
    matrix = Page(made_up().html()).tables[0]
    first, second = (dict(zip(matrix[0], row, strict=True)) for row in matrix[1:])
    assert first["conic SDP"] == "36.67% proved" and second["conic SDP"] == "[20.8, 36.7]% proved"
    assert first["optimum ζ"] == "10 claimed" and second["optimum ζ"] == "[8, 10]"
    assert first["scip"] == "2.5 s claimed; 1,234 nodes" and second["scip"] == "[8, 10] in 2.5 s claimed; 1,234 nodes"
    assert first["other"] == "not run" and first["gurobi"] == "not run"
    again = GapReport(made_up().instances, (replace(made_up().relaxations[1], caveat="M too small"),), ())
    assert "no bound of ζ" in [row[-1] for row in Page(again.html()).tables[0]]


def test_what_sorts_has_a_key_and_what_is_filtered_a_value() -> None:
    page = Page(made_up().html())
    cells = [text for row in page.tables[0][1:] for text in row[1:]]
    intervals = [text for text in cells if text.startswith("[")]
    assert len(intervals) == 4  # of the second: the optimum, two gaps, the run
    body = page.tags[: next(k for k, (tag, problem) in enumerate(page.tags) if problem.get("id") == "pictures")]
    assert len([problem for tag, problem in body if tag == "td" and "data-key" in problem]) == len(intervals)
    assert all(text[0].isdigit() for text in cells if text not in ("not run", *intervals))
    rows = [problem for tag, problem in page.tags if tag == "tr" and "data-family" in problem]
    assert len(rows) == 2 and all(problem["data-n"] == "50" and problem["data-lam"] == "0.5" for problem in rows)


def test_every_finding_is_a_sentence() -> None:
    document = made_up().document
    assert 3 <= len(document.findings) <= 6
    assert all(f.text.endswith(".") for f in document.findings)
    assert GapReport(made_up().instances, (), ()).document.findings


def test_trivial_optima_are_marked_and_left_out_of_means() -> None:
    report = made_up()
    assert report.trivial == frozenset()
    # the smaller class costs 1 + 25 λ = 13.5, so an optimum of 13.5 needs no feature
    worse = replace(report.instances[1], objective=13.5)
    cells = [replace(c, recovered=None) for c in report.relaxations if c.instance == "second"]
    trivial = GapReport((report.instances[0], worse), (*report.relaxations[:3], *cells), report.exacts[:2], report.meta)
    assert trivial.trivial == {("second", 0.5)}
    means = next(t for t in trivial.document.tables if t.name == "relaxation-means")
    assert all(row.instances == 1 for row in means.rows) and "1 of 2 instances" in means.note
    assert "trivial: the intercept alone" in trivial.html()


def test_formats_go_by_suffix(tmp_path: Path) -> None:
    assert list(FORMATS) == [".html", ".md", ".csv", ".json", ".tex"]
    assert format_of_suffix("a/REPORT.MD") is FORMATS[".md"]
    with pytest.raises(InputError, check=about("path")):
        made_up().write("report.pdf")
    paths = made_up().write_all(tmp_path / "new" / "folder")
    assert all(path.stat().st_size > 100 for path in paths)
    names = {"report.html", "report.md", "report.csv", "report-exact.csv", "report.json", "report.tex"}
    assert names == {path.name for path in paths if path.suffix != ".svg"}


def test_markdown_tables_are_well_formed() -> None:
    text = made_up().markdown()
    tables = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
    counts = {line.count("|") - 1 for line in tables}
    assert counts == {len(table.columns) for table in report_tables(made_up())}
    # two instances (families), six rows, two relaxations that ran on each, four exact solves, one exact variant that ran on each
    assert len(tables) == (2 + 2) + (2 + 6) + (2 + 4) + (2 + 4) + (2 + 2)
    assert "made \\| up &lt;here&gt;" in text
    assert "[20.8, 36.7]%" in text and "seed: 7" in text


def test_csv_holds_raw_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(made_up().csv())))
    assert len(rows) == 6
    conic = next(r for r in rows if r["relaxation"] == "conic SDP" and r["instance"] == "second")
    assert float(conic["bound"]) == 6.0 + 1 / 3
    assert float(conic["gap_low"]) == (8.0 - (6.0 + 1 / 3)) / 8.0
    assert float(conic["gap_high"]) == (10.0 - (6.0 + 1 / 3)) / 10.0
    assert conic["rank_ratio"] == "0.25" and conic["kind"] == "proved" and conic["bounds"] == "ζ"
    runs = list(csv.DictReader(io.StringIO(made_up().csv("exacts"))))
    assert len(runs) == 4 and runs[0]["nodes"] == "1234" and runs[0]["kind"] == "claimed by solver"
    other = next(r for r in rows if r["relaxation"] == "other")
    assert other["bound"] == "" and "not installed" in other["kind"]


def test_stored_reports_render_the_same(tmp_path: Path) -> None:
    report = made_up()
    again = GapReport.from_json(report.write(tmp_path / "report.json")[0])
    assert again.instances == report.instances
    assert again.relaxations == report.relaxations
    assert again.exacts == report.exacts
    for name in ("html", "markdown", "csv", "json", "latex"):
        assert getattr(again, name)() == getattr(report, name)(), name
    assert str(again) == str(report)


def test_files_are_written_where_asked(tmp_path: Path) -> None:
    report = made_up()
    paths = [report.write(path)[0] for path in (tmp_path / "r.html", str(tmp_path / "r.md"), tmp_path / "r.csv")]
    assert [p.name for p in paths] == ["r.html", "r.md", "r.csv"]
    assert paths[0].read_text(encoding="utf-8") == report.html()


def test_contradictions_are_shown() -> None:
    report = made_up()
    wrong = replace(report.relaxations[1], bound=11.5)
    shown = GapReport(report.instances, (wrong,), report.exacts, report.meta)
    (contradiction,) = shown.contradictions
    assert html.escape(contradiction, quote=False) in shown.markdown()
    assert html.escape(contradiction, quote=False) in shown.html()
    assert contradiction in str(shown)
    assert report.contradictions == ()


def test_text_and_notebook_forms() -> None:
    report = made_up()
    tables = str(report).split("\n\n")
    assert [len(table.splitlines()) for table in tables] == [4, 8, len(report.exacts) + 2]  # optima, relaxations, exact solves
    assert "conic SDP" in tables[1] and "the licence allows 200 variables" in tables[2]
    assert report._repr_html_().count("<table") == 1 and "<script" not in report._repr_html_()


def test_pictures_are_drawn_without_exact_solvers_and_without_bounds() -> None:
    report = made_up()
    for exacts in (report.exacts, ()):
        svg = gap_bars(GapReport(report.instances, report.relaxations, exacts, report.meta))
        assert svg is not None and svg.rstrip().endswith("</svg>")
    assert gap_bars(GapReport(report.instances, (), ())) is None
    assert gap_bars(report) == gap_bars(report)
    assert draw_losses() == draw_losses()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "not a stored gap report"),
        ("[]", "its format"),
        (json.dumps({"format": "marginopt gap report", "format_version": 99}), "layout 99"),
        (json.dumps({"format": "marginopt gap report", "format_version": 2}), "lacks instances"),
        (json.dumps({"format": "marginopt gap report", "format_version": 1}), "layout 1"),
    ],
)
def test_unreadable_reports(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(DataError, check=at(path)):
        GapReport.from_json(path)
    with pytest.raises(DataError, check=at("missing.json")):
        GapReport.from_json(tmp_path / "missing.json")
