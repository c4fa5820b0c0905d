"""Gap reports as one self-contained HTML page, from the templates: no network, readable without JavaScript.

Names are untrusted: every text is escaped by the templates' autoescape, and pictures are images, in which no script runs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ....display import legible
from ....models.statement import typeset
from ....solvers.zero_one.check.checker import checker_script
from ..cells.exact import ExactCell
from ..columns import Column, shown, sort_key
from ..data import SWEPT
from ..document import Document
from ..tables import Row
from .format import Format

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["FORMAT", "fragment", "render_html"]

_TEMPLATES = Path(__file__).parents[1] / "templates"
#: Columns of the tables that open from a row of the matrix.
_DETAILS = (
    "relaxation", "m_range", "bound", "kind", "bounds", "relaxation_solver", "relaxation_status", "gap", "closed", "verdict",
    "recovered", "violations", "misclassified", "seconds", "test_error",
)  # fmt: skip
_RUNS = (
    "solver", "encoding", "m_source", "seed", "status", "incumbent", "bound", "kind", "root_gap", "left", "nodes", "violations",
    "misclassified", "seconds", "bound_seconds", "test_error",
)  # fmt: skip
#: Tables that stand below the matrix; the others' rows are the matrix and its details.
_TABLES = ("relaxation-means", "exact-means", "kappas")
#: Where a table of the document is on the page.
_PLACES = {"instances": "matrix", "relaxations": "details", "exacts": "details"}
#: What links to them say.
_TITLES = {"matrix": "Gaps", "details": "Details by instance"}
#: Columns of the matrix between the instance and the relaxations.
_NUMBERS = ("λ", "n", "p", "optimum ζ")


@cache
def _environment() -> Environment:
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, finalize=_finished,
    )  # fmt: skip
    made.globals.update(shown=shown, sort_key=_key, symbols=SWEPT)
    made.filters |= {"css": _css, "typeset": typeset}
    return made


def _finished(value: object) -> object:
    """Return the text that a template writes: escaped, but for our own mark-up."""
    return legible(value) if type(value) is str else value


def _css(text: str) -> Markup:
    """Text inside a string of a style sheet: all but letters, digits and spaces by their code points."""
    from markupsafe import Markup

    return Markup("".join(c if c.isalnum() or c == " " else f"\\{ord(c):x} " for c in text))


def _key(column: Column, row: object) -> str:
    value = sort_key(column, row)
    return "" if value == float("inf") else str(value)


def _runs(document: Document, row: Row) -> list[tuple[object, ExactCell, float]]:
    """The exact runs of one instance as rows of their table."""
    return [(row.instance, run, document.data.best[row.instance.key].high) for run in row.runs]


def render_html(document: Document) -> str:
    """The page."""
    pictures, columns = document.pictures, {t.name: t.columns for t in document.tables}
    shown_on_page = {p.name for p in pictures} | {t.name for t in document.tables if t.name in _TABLES} | {"matrix", "details"}
    titles = {**_TITLES, **{p.name: p.title for p in pictures}, **{t.name: t.title for t in document.tables}}
    places = {f.anchor: _PLACES.get(f.anchor, f.anchor) for f in document.findings}
    anchors = {name: place if place in shown_on_page else "matrix" for name, place in places.items()}
    return _environment().get_template("report.html").render(
        document=document,
        data=document.data,
        matrix=document.matrix,
        pictures=pictures,
        tables=[t for t in document.tables if t.name in _TABLES],
        anchors={name: {"place": place, "title": titles[place]} for name, place in anchors.items()},
        on_page=lambda table: [c for c in table.columns if not c.drawn],
        matrix_columns=[*_NUMBERS, *document.matrix.relaxations, *document.matrix.solvers],
        details=[c for c in columns["relaxations"] if c.key in _DETAILS],
        runs=[c for c in columns.get("exacts", ()) if c.key in _RUNS],
        runs_of=lambda row: _runs(document, row),
        checker=checker_script() if any(cell.log for cell in document.data.exacts) else "",
    )  # fmt: skip


def fragment(document: Document) -> str:
    """Findings and matrix alone, for a notebook."""
    return _environment().get_template("fragment.html").render(document=document, data=document.data, matrix=document.matrix)


FORMAT = Format(".html", "one self-contained page", lambda document, stem: {f"{stem}.html": render_html(document)}, rank=10)
