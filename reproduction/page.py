"""Write a paper's page as HTML, Markdown, CSV (all cells) and JSON (how runs were made), and the ledger of all papers."""

from __future__ import annotations

import csv
import functools
import io
import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from marginopt.files import write_text
from marginopt.relaxations.report.formats import markdown_escaped

from .comparison import ComparedCell, Verdict
from .ledger import CellCounts, figures_with_reasons, read_ledger
from .previous_run import computation_digest
from .record import CellKind, MeasuredNumber, PaperTable, PublishedNumber
from .reproduce import Reproduction, TableResult

if TYPE_CHECKING:
    from jinja2 import Environment

_COLUMNS = (
    "table", "cell", "kind", "published", "published_std", "published_repetitions", "measured", "measured_std", "repetitions",
    "verdict", "welch", "reason", "notes", "runs", "made",
)  # fmt: skip
#: Words for the outcome of Welch's test.
_WELCH = {True: "equal", False: "different", None: ""}
_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class TableGrid:
    """A table of a page: rows and columns of cells with their headings.

    Parameters
    ----------
    headings : tuple of str
        Headings of the labels that name the rows.
    columns : tuple of str
        Headings of the columns of cells.
    rows : tuple of (labels, cells)
        The cells in the order of the columns; None where the table has none there.
    """

    headings: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[ComparedCell | None, ...]], ...]


def table_grid(result: TableResult) -> TableGrid:
    """Return the cells of a table by row and column, in the order of first appearance; a table without columns gets one."""
    table = result.table
    split = len(table.headings) - table.column_levels
    cells = {cell.paper_cell.labels: cell for cell in result.cells}
    columns = list(dict.fromkeys(labels[split:] for labels in cells))
    rows = list(dict.fromkeys(labels[:split] for labels in cells))
    return TableGrid(
        table.headings[:split],
        tuple(", ".join(column) if column else "published, measured" for column in columns),
        tuple((row, tuple(cells.get((*row, *column)) for column in columns)) for row in rows),
    )


@functools.cache
def _environment(html: bool) -> Environment:
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=html, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters.update(plain=markdown_escaped, slug=_slug, reason=_reason)
    made.globals.update(
        heading=lambda result: _heading(result.table),
        table_grid=table_grid,
        published=_published,
        measured=_measured,
        verdict=_verdict,
        marks=_marks,
        numbered=_numbered,
        in_markdown=_in_markdown,
        notes=_notes,
        share=_share,
        results=counts_in_words,
        link=_link,
        tested=_tested,
        Verdict=Verdict,
    )
    return made


def _heading(table: PaperTable) -> str:
    return f"{table.number}: {table.title}"


def _link(table: PaperTable) -> str:
    """Return the number of a table as a link to its place on its paper's page."""
    return f"[{table.number}]({table.paper.name}.md#{_slug(_heading(table))})"


def _tested(count: CellCounts) -> str:
    return f"{count.equal} of {count.tested}" if count.tested else "no test"


def _slug(heading: str) -> str:
    """Return the anchor that Markdown's readers give a heading: small letters, hyphens for blanks, no punctuation."""
    return "".join(c for c in heading.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def write_pages(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write a paper's page in all formats; return the paths."""
    name = reproduction.paper.name
    pictures = [one.picture for one in reproduction.figures if one.picture is not None]
    if pictures:
        (folder / name).mkdir(exist_ok=True)
    return [
        *(picture.save(folder / name / f"{picture.name}.svg") for picture in pictures),
        write_text(folder / f"{name}.html", _environment(True).get_template("paper.html").render(reproduction=reproduction)),
        write_text(folder / f"{name}.md", _environment(False).get_template("paper.md").render(reproduction=reproduction)),
        write_text(folder / f"{name}.csv", _rows(reproduction)),
        write_text(folder / f"{name}.json", _made(reproduction)),  # last: it says which runs and pictures the others have
    ]


def write_ledger_page(folder: Path) -> Path:
    """Write README.md, the ledger of the papers whose pages are in a folder, from their files alone; return its path."""
    template = _environment(False).get_template("index.md")
    return write_text(folder / "README.md", template.render(ledger=read_ledger(folder), figures=figures_with_reasons(folder)))


def _number(value: float, unit: float, more: int = 1) -> str:
    """Return a number with ``more`` digits than the paper prints; counts as whole numbers."""
    if unit <= 0:
        return f"{value:.4g}"
    places = max(0, round(-math.log10(unit))) + (more if unit >= 0.1 else 0)
    if unit >= 1.0 and value == round(value):
        return f"{value:.0f}"
    return f"{value:.{places}f}" if abs(value) < 1e7 and places <= 5 else f"{value:.{3 + more}g}"


def _published(there: PublishedNumber | None) -> str:
    if there is None:
        return ""
    value = _number(there.value, there.unit, 0)
    return value if there.deviation is None else f"{value} ± {there.deviation:g}"


def _measured(cell: ComparedCell) -> str:
    value: MeasuredNumber | None = cell.value
    if value is None:
        return ""
    unit = 0.0 if cell.paper_cell.published is None else cell.paper_cell.published.unit
    number = _number(value.mean, unit)
    return number if value.deviation is None else f"{number} ± {_number(value.deviation, unit)}"


def _verdict(cell: ComparedCell) -> str:
    """Return the verdict in a word or two; empty without a published number."""
    if cell.verdict is Verdict.UNPUBLISHED:
        return ""
    if cell.verdict is Verdict.UNJUDGED and cell.ratio is not None:
        return _beside(cell, cell.ratio)
    return "" if cell.verdict is Verdict.UNJUDGED else str(cell.verdict)


def _beside(cell: ComparedCell, ratio: float) -> str:
    """Return the distance of a cell that is not judged: a factor, or the difference where it is near the printed number."""
    if cell.value is None or cell.paper_cell.published is None or abs(ratio - 1.0) > 0.05:
        return f"{ratio:.2g} × published"
    difference = cell.value.mean - cell.paper_cell.published.value
    words = _number(abs(difference), cell.paper_cell.published.unit)
    return f"{words} {'above' if difference > 0 else 'below'}, not judged" if float(words) else "as printed, not judged"


def _in_markdown(result: TableResult, cell: ComparedCell | None) -> str:
    """Return a cell on one line of a Markdown table; empty without a cell."""
    if cell is None:
        return ""
    repetitions = f" ({cell.value.repetitions})" if cell.value else ""
    marks = _marks(result, cell)
    below = markdown_escaped(_verdict(cell)) + repetitions + (f" <sup>{marks}</sup>" if marks else "")
    measured = f"**{markdown_escaped(_measured(cell))}**" if cell.value else ""
    return "<br>".join(
        part for part in (markdown_escaped(_published(cell.paper_cell.published)), measured, below.strip()) if part
    )


def _notes(result: TableResult) -> list[str]:
    return list(dict.fromkeys(note for cell in result.cells for note in _own(cell)))


def _own(cell: ComparedCell) -> tuple[str, ...]:
    """Return the reason why a cell was not run, or else its notes."""
    if cell.verdict is Verdict.MISSING:
        return (_reason(cell.reason),) if cell.reason else ()
    return cell.paper_cell.notes


def _reason(why: str) -> str:
    """Return a reason without the network's own words."""
    return why.partition(": <urlopen")[0]


def _numbered(result: TableResult, cell: ComparedCell) -> list[tuple[int, str]]:
    """Return a cell's notes with their numbers in the table."""
    every = _notes(result)
    return [(every.index(note) + 1, note) for note in _own(cell)]


def _marks(result: TableResult, cell: ComparedCell) -> str:
    """Return the numbers of a cell's notes; "open" for a cell outside without notes."""
    numbers = ", ".join(str(k) for k, _ in _numbered(result, cell))
    return numbers or ("open" if cell.verdict in (Verdict.ABOVE, Verdict.BELOW) else "")


def _share(inside: int, judged: int) -> str:
    return "none judged" if judged == 0 else f"{inside} of {judged} inside ({100.0 * inside / judged:.0f}%)"


def counts_in_words(reproduction: Reproduction) -> str:
    """Return the paper's printed errors and accuracies in numbers, as the ledger counts them."""
    cells = [(table.table, cell) for table in reproduction.tables for cell in table.cells]
    verdicts = Counter(cell.verdict for table, cell in cells if table.kind_of(cell.paper_cell) is CellKind.RESULT)
    outside = verdicts[Verdict.ABOVE] + verdicts[Verdict.BELOW]
    return (
        f"Of {verdicts.total()} printed errors and accuracies {verdicts[Verdict.INSIDE]} are inside, {outside} outside, "
        f"{verdicts[Verdict.UNJUDGED]} measured and not judged, {verdicts[Verdict.MISSING]} not run"
    )


def _rows(reproduction: Reproduction) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for result in reproduction.tables:
        for cell in result.cells:
            there, here = cell.paper_cell.published, cell.value
            writer.writerow(
                [
                    result.table.name,
                    cell.paper_cell.label,
                    result.table.kind_of(cell.paper_cell),
                    *_printed(there),
                    *(("", "", 0) if here is None else (f"{here.mean:.10g}", _word(here.deviation), here.repetitions)),
                    cell.verdict,
                    _WELCH[cell.equal_by_welch],
                    _reason(cell.reason) if cell.verdict is Verdict.MISSING else cell.paper_cell.caveat,
                    " ".join(_own(cell)),
                    *(("", "") if here is None else (computation_digest(cell.paper_cell), cell.made or reproduction.created)),
                ]
            )
    return text.getvalue()


def _printed(there: PublishedNumber | None) -> tuple[object, object, object]:
    if there is None:
        return "", "", ""
    return there.value, "" if there.deviation is None else there.deviation, there.repetitions or ""


def _made(reproduction: Reproduction) -> str:
    """Return JSON of how runs were made, by their times, and of the figures' captions or the reasons why they are not drawn."""
    pictures = {
        one.figure.name: {"title": one.picture.title, "caption": one.picture.caption, "made": one.made or reproduction.created}
        for one in reproduction.figures
        if one.picture is not None
    }
    reasons = {one.figure.name: _reason(one.reason) for one in reproduction.figures if one.picture is None}
    heads = {dict(head).get("created", ""): head for head in reproduction.headers}
    parts = {"heads": heads, "pictures": pictures, "reasons": reasons}
    return json.dumps(parts, indent=1, ensure_ascii=False) + "\n"


def _word(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"
