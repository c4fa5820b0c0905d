"""The pages of all four papers as a browser reads them: complete tables, anchors that lead somewhere, nothing from a network."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from marginopt.reproduction.comparison import Verdict, compare_cell
from marginopt.reproduction.page import write_pages
from marginopt.reproduction.previous_run import read_previous_run
from marginopt.reproduction.record import EFFORTS, PAPERS, Paper, PaperTable, paper_figures, paper_tables
from marginopt.reproduction.reproduce import FigureResult, Reproduction, TableResult


class Page(HTMLParser):
    """Anchors, links, sources, and of each section the words of its table's cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.rows: dict[str, list[list[str]]] = {}
        self.open: list[str] = []
        self.section = ""
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.anchors += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if tag == "a" else []
        self.sources += [values[name] for name in ("src", "srcset", "data") if name in values]
        assert tag not in ("link", "script", "iframe", "object")
        if tag == "section":
            self.section = values["id"]
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in ("td", "th"):
            self.rows[self.section][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.rows[self.section][-1][-1] += data


def reproduction(paper: Paper) -> Reproduction:
    """A page of the reduced effort: of every cell either a reason or, where it has runs, none."""
    effort = EFFORTS["reduced"]

    def cells(table: PaperTable) -> TableResult:
        entries = [entry for entry in table.cells(effort) if entry.published is not None]
        lacking = {run: "no such data: <urlopen error>" for entry in entries for run in entry.runs}
        return TableResult(table, tuple(compare_cell(entry, {}, lacking) for entry in entries))

    rows = [cells(table) for table in paper_tables().values() if table.paper is paper]
    drawn = tuple(FigureResult(one, one.draw({}), "no such data") for one in paper_figures().values() if one.paper is paper)
    return Reproduction(paper, tuple(rows), drawn, effort, (("versions", "x"),))


@pytest.mark.parametrize("name", list(PAPERS))
def test_a_page_is_whole_and_needs_no_network(name: str, tmp_path: Path) -> None:
    reproduced = reproduction(PAPERS[name])
    write_pages(reproduced, tmp_path)
    text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not re.search(r"url\((?!data:|%23|#)|@import", text)  # fragments are the picture's own
    assert all(source.startswith("data:") for source in page.sources)
    assert all(link.startswith("#") for link in page.links)
    assert len(set(page.anchors)) == len(page.anchors)
    assert {link[1:] for link in page.links} <= set(page.anchors)
    assert set(page.rows) == {one.table.name for one in reproduced.tables}
    for one in reproduced.tables:
        rows = page.rows.get(one.table.name, [])
        assert len({len(row) for row in rows}) <= 1  # every row has every column
        words = " ".join(cell for row in rows for cell in row)
        assert words.count("not run") == len(one.cells)


@pytest.mark.parametrize("name", list(PAPERS))
def test_the_committed_pages_explain_what_is_outside_and_say_how_all_was_made(name: str) -> None:
    pages = Path(__file__).parents[2] / "docs" / "papers"
    previous = read_previous_run(pages, name)
    rows = list(csv.DictReader((pages / f"{name}.csv").read_text(encoding="utf-8").splitlines()))
    assert previous.cells
    assert {row["verdict"] for row in rows} <= {str(verdict) for verdict in Verdict}
    for row in rows:
        assert row["notes"] or row["verdict"] not in (Verdict.ABOVE, Verdict.BELOW, Verdict.MISSING), row["cell"]
    assert {row["made"] for row in previous.cells.values()} | {made for _, made in previous.pictures.values()} == set(
        previous.headers
    )
    stated = {(table.name, " | ".join(e.labels)) for table in paper_tables().values() for e in table.cells(EFFORTS["reduced"])}
    assert set(previous.cells) <= stated  # no row of a table that is stated otherwise by now


@pytest.mark.parametrize("name", list(PAPERS))
def test_a_table_and_a_figure_are_one_link_from_the_top(name: str, tmp_path: Path) -> None:
    reproduced = reproduction(PAPERS[name])
    write_pages(reproduced, tmp_path)
    text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
    contents = text[text.index("<nav>") : text.index("</nav>")]
    for one in reproduced.tables:
        assert f'<a href="#{one.table.name}">{one.table.number}</a>' in contents
    for figure in reproduced.figures:
        assert f'<a href="#{figure.figure.name}">{figure.figure.number}</a>' in contents


def test_a_reason_stands_beside_its_cell_without_the_network_s_words(tmp_path: Path) -> None:
    write_pages(reproduction(PAPERS["max-min"]), tmp_path)
    text = (tmp_path / "max-min.html").read_text(encoding="utf-8")
    assert '<a href="#max-min-table-3-note-1" title="no such data">1</a>' in text
    assert "urlopen" not in text
