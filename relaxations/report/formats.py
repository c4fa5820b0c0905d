"""The file formats of a gap report: one HTML page, Markdown, CSV, JSON (the stored form, which is read back) or LaTeX.

Names are untrusted: no text of the data becomes mark-up, HTML, a link, mathematics or a formula of a spreadsheet. In HTML every
text is escaped by the templates' autoescape, and pictures are images, in which no script runs; the page needs no network and is
readable without JavaScript. In CSV a text that begins with =, +, - or @ (after tabs or line ends, too), which a spreadsheet reads
as a formula, stands on one line with an apostrophe before it; numbers are written in full precision, and intervals take two
columns.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from ...display import sanitise
from ...drawing import Picture
from ...errors import DataError, InputError, short_text
from ...files import READ_ERRORS, describe_read_error, parse_json, read_text, replace_control_characters
from ...models.arrays import FloatArray
from ...models.statement import typeset
from ...solvers.certification.result import BoundKind
from ...solvers.zero_one.check.checker import checker_script
from .cells import ExactCell, InstanceCell, KappaCell, RelaxationCell
from .document import Document, ReportScope
from .matrix import MatrixRow
from .means import exact_ratios, fraction_within
from .report_data import SWEPT_PARAMETERS, Interval, ReportData
from .tables import (
    EXACT_COLUMNS,
    KAPPA_COLUMNS,
    RELAXATION_COLUMNS,
    Column,
    Table,
    cell_text,
    exact_rows,
    long_texts,
    shown_text,
    sort_key,
)

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: Rows of one tabular, so that it fits a page.
_ROWS = 45
#: Characters on a line of a column of words, and the width of a column with longer texts.
_LINE, _WIDTH = 40, "48mm"
#: The problem whose optimum is ζ.
_PROBLEM = {
    ReportScope.ZERO_ONE: r"$\min \|w\|^2 + \lambda \sum_i 1\{y_i x_i^\top w < 1\}$; $\zeta$",
    ReportScope.STATED: r"$\zeta$ of a program, which is minimised,",
    ReportScope.BOTH: r"$\min \|w\|^2 + \lambda \sum_i 1\{y_i x_i^\top w < 1\}$, and models as they are stated; $\zeta$",
}
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$", '"': "''",
    "λ": r"$\lambda$", "ζ": r"$\zeta$", "κ": r"$\kappa$", "γ": r"$\gamma$", "σ": r"$\sigma$", "τ": r"$\tau$", "Σ": r"$\Sigma$",
    "ψ": r"$\psi$", "Γ": r"$\Gamma$", "²": r"$^2$", "₊": r"$_+$", "√": r"$\surd$", "×": r"$\times$", "·": r"$\cdot$",
    "≤": r"$\le$", "≥": r"$\ge$", "≻": r"$\succ$", "⪰": r"$\succeq$", "⌊": r"$\lfloor$", "⌋": r"$\rfloor$", "±": r"$\pm$",
    "∞": r"$\infty$", "§": r"\S{}", "ó": r"\'o", "é": r"\'e", "á": r"\'a", "ö": r'\"o', "ü": r'\"u', "ä": r'\"a',
    "Ö": r'\"O', "Ü": r'\"U', "Ä": r'\"A', "ß": r"{\ss}", "ø": r"{\o}", "Ø": r"{\O}", "æ": r"{\ae}", "Æ": r"{\AE}", "ł": r"{\l}",
    "Ł": r"{\L}", "–": "--", "’": "'",
}  # fmt: skip


def render_latex(document: Document) -> str:
    """Return the document as a whole LaTeX article."""
    data = document.data
    parts = [
        r"\documentclass[10pt]{article}",
        r"\usepackage{booktabs}",
        r"\setlength{\paperwidth}{297mm}\setlength{\paperheight}{210mm}",  # landscape: the tables are wide
        r"\ifdefined\pdfpagewidth\pdfpagewidth=\paperwidth\pdfpageheight=\paperheight\fi",
        r"\setlength{\textwidth}{275mm}\setlength{\oddsidemargin}{-14mm}\setlength{\textheight}{180mm}\setlength{\topmargin}{-25mm}",
        r"\setlength{\tabcolsep}{2pt}\setlength{\parindent}{0pt}\setlength{\emergencystretch}{3em}",
        r"\begin{document}",
        rf"\section*{{{document.title}}}",
        rf"{_PROBLEM[document.scope]} is the optimum, the gap $(\zeta - \mathrm{{bound}})/\zeta$.",
        "",
        *_items("Claims that contradict each other", data.contradictions),
        *_items("Findings", [finding.text for finding in document.findings]),
    ]
    for table in document.tables:
        parts += _section(table)
        if table.name == "exact-means":
            parts += _profiles(exact_ratios(data))
    parts += _items("How this was made", [f"{label}: {words}" for label, words in document.head])
    return "\n".join([*parts, r"\end{document}", ""])


def _items(title: str, lines: Sequence[str]) -> list[str]:
    return [rf"\subsection*{{{title}}}", *_list(lines)] if lines else []


def _list(lines: Sequence[str]) -> list[str]:
    items = [rf"\item {{}}{latex_escaped(line)}" for line in lines]  # the braces keep a bracket from being read as an argument
    return [r"\begin{itemize}\sloppy", *items, r"\end{itemize}"] if lines else []


def latex_escaped(text: str) -> str:
    """Return text as LaTeX that prints it; a character without a spelling here becomes its nearest in ASCII, else its name."""
    return "".join(_spelt(character) for character in text.replace("\n", " "))


def _spelt(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if not character.isprintable():  # a form feed ends a paragraph, others are no characters of LaTeX at all
        return " "
    if character.isascii():
        return character
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(c, c) for c in plain) or f"[{unicodedata.name(character, 'unknown').lower()}]"


def _section(table: Table) -> list[str]:
    columns = [c for c in table.columns if c.in_latex]
    long = _wide_columns(columns, table.rows)
    lines, size = [], _ROWS // 2 if long else _ROWS
    for part, first in enumerate(range(0, max(len(table.rows), 1), size)):
        caption = latex_escaped(f"{table.title}{', continued' if part else ''}. {table.note}").strip()
        lines += [
            r"\begin{table}[htbp]\centering\scriptsize",
            rf"\caption{{{caption}}}\label{{tab:{table.name}{f'-{part + 1}' if part else ''}}}",
            *_tabular(columns, long, table.rows[first : first + size]),
            r"\end{table}",
            r"\clearpage" if part % 4 == 3 else "",  # LaTeX keeps few floats waiting
        ]
    return [*lines, r"\clearpage", *_list(long_texts(columns, table.rows)), ""]


def _wide_columns(columns: Sequence[Column], rows: Sequence[Any]) -> set[str]:
    """Return the columns of words that take two lines, so that the table is no wider than the page."""
    words = [c for c in columns if not c.numeric]
    return {c.key for c in words if max((len(cell_text(c, row)) for row in rows), default=0) > _LINE}


def _tabular(columns: Sequence[Column], long: set[str], rows: Sequence[Any]) -> list[str]:
    layout = "".join("r" if c.numeric else rf"p{{{_WIDTH}}}" if c.key in long else "l" for c in columns)
    lines = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    lines += [" & ".join(latex_escaped(c.title) for c in columns) + r" \\ \midrule"]
    # a bracket after a line's end would be read as its argument
    lines += [" & ".join("{}" + latex_escaped(shown_text(c, row)) for c in columns) + r" \\" for row in rows]
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _profiles(ratios: dict[str, FloatArray]) -> list[str]:
    """Return performance profiles in LaTeX's picture environment: horizontal and vertical lines, a mark for each variant."""
    finite = [r[np.isfinite(r)] for r in ratios.values()]
    if len(ratios) < 2 or next(iter(ratios.values())).size < 2 or not any(f.size for f in finite):
        return []
    largest = max(10.0, 1.5 * max(float(f.max()) for f in finite if f.size))
    lines = [
        r"\subsection*{Performance profiles}",
        r"Part of the problems proved within $\tau$ times the fastest time, $\log_{10}\tau$ from 0 to "
        rf"{np.log10(largest):.2f}.\par\medskip",
        r"\setlength{\unitlength}{1mm}",
        r"\begin{picture}(160,64)(-8,-6)",
        r"\put(0,0){\line(1,0){100}}\put(0,0){\line(0,1){50}}",
        r"\put(-6,-1){0}\put(-6,49){1}\put(98,-5){$\tau$}",
    ]
    for k, (name, values) in enumerate(ratios.items()):
        lines += _steps(values, largest, k)
        y = 48 - 5 * k
        lines += [rf"\put(106,{y}){{{_mark(k)}}}\put(109,{y}){{\scriptsize {latex_escaped(name)}}}"]
    return [*lines, r"\end{picture}\par", ""]


def _mark(k: int) -> str:
    marks = (r"$\circ$", r"$\times$", r"$\diamond$", r"$\bullet$", r"$+$", r"$\star$", r"$\ast$", r"$\cdot$")
    return rf"\makebox(0,0){{{marks[k % len(marks)]}}}"


def _steps(values: FloatArray, largest: float, k: int) -> list[str]:
    scale = 100.0 / np.log(largest)
    taus = np.unique(np.concatenate([[1.0], values[np.isfinite(values)]]))
    lines, x, y = [], 0.0, 0.0
    for tau in taus:
        right, height = float(scale * np.log(tau)), 50.0 * fraction_within(values, float(tau))
        if right > x:
            lines.append(rf"\put({x:.2f},{y:.2f}){{\line(1,0){{{right - x:.2f}}}}}")
        if height > y:
            lines.append(rf"\put({right:.2f},{y:.2f}){{\line(0,1){{{height - y:.2f}}}}}")
            lines.append(rf"\put({right:.2f},{height:.2f}){{{_mark(k)}}}")
        x, y = right, height
    lines.append(rf"\put({x:.2f},{y:.2f}){{\line(1,0){{{100.0 - x:.2f}}}}}")
    return lines


# JSON: the stored form.

_JSON_NAME = "marginopt gap report"
#: Version of the JSON layout.
FORMAT_VERSION = 3
#: The layout without a digest, whose numbers anybody may have changed.
_WITHOUT_DIGEST = 2
_PARTS = ("instances", "relaxations", "exacts", "kappas")


def render_json(report: ReportData) -> str:
    """Return the report as JSON with a digest of its content; numbers are read back exactly."""
    stored: dict[str, Any] = {"format": _JSON_NAME, "format_version": FORMAT_VERSION}
    for part in _PARTS:
        stored[part] = [cell.record() for cell in getattr(report, part)]
    stored["meta"] = dict(report.meta)
    stored["sha256"] = _digest(stored)
    return json.dumps(stored, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _digest(stored: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything that is stored beside it; numbers that are not finite are an error."""
    content = {name: value for name, value in stored.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode("utf-8")).hexdigest()


def read_json(path: Path) -> ReportData:
    """Return the report of a file that `render_json` made.

    A file of the earlier layout 2 has no digest, so the kind of its bounds is "stored", not "proved".

    Raises
    ------
    DataError
        No such file, no JSON, not a report of this layout, or one that was changed after it was written.
    """
    try:
        return _report(parse_json(read_text(path)))
    except DataError as error:
        raise DataError(str(error), file=path) from error
    except READ_ERRORS as error:
        raise DataError(f"{path} is not a stored gap report: {describe_read_error(error)}", file=path) from error


def _report(stored: Any) -> ReportData:
    if not isinstance(stored, dict) or stored.get("format") != _JSON_NAME:
        raise DataError(f"it is not a stored gap report: its format is not {short_text(_JSON_NAME)}")
    layout = stored.get("format_version")
    if layout not in (_WITHOUT_DIGEST, FORMAT_VERSION):
        raise DataError(f"it has layout {layout}; this version reads {_WITHOUT_DIGEST} and {FORMAT_VERSION}")
    missing = [part for part in (*_PARTS, "meta") if part not in stored]
    if missing:
        raise DataError(f"it lacks {', '.join(missing)}")
    digest = _digest(stored)
    if layout == _WITHOUT_DIGEST:
        stored = replace_control_characters(
            {**stored, **{part: [_as_stored(record) for record in stored[part]] for part in _PARTS}}
        )
    elif stored.get("sha256") != digest:
        raise DataError("it was changed after it was written: its numbers prove nothing; make the report again")
    return ReportData(
        tuple(InstanceCell.from_record(record) for record in stored["instances"]),
        tuple(RelaxationCell.from_record(record) for record in stored["relaxations"]),
        tuple(ExactCell.from_record(record) for record in stored["exacts"]),
        dict(stored["meta"]),
        tuple(KappaCell.from_record(record) for record in stored["kappas"]),
    )


def _as_stored(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a cell with its kinds of bounds replaced by "stored": nobody verified them."""
    kinds = {
        name for name in ("kind", "target_kind", "exact_kind") if record.get(name, BoundKind.NONE.value) != BoundKind.NONE.value
    }
    return {**record, **dict.fromkeys(kinds, BoundKind.STORED.value)}


# CSV: one line for each row, exact solve or κ, raw numbers.

#: First characters of a formula, with their full-width forms, which some spreadsheets read alike.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def render_csv(report: ReportData, table: str = "rows") -> str:
    """Return one table as CSV: "rows" (relaxations), "exacts" (exact solves) or "kappas" (the sweep over κ, the share of points
    that may violate their margin). Numbers are in full precision, missing ones empty.
    """
    tables: Mapping[str, tuple[Sequence[Column], Iterable[Any]]] = {
        "rows": (RELAXATION_COLUMNS, report.rows),
        "exacts": (EXACT_COLUMNS, exact_rows(report)),
        "kappas": (KAPPA_COLUMNS, report.kappas),
    }
    if table not in tables:
        raise InputError(f"table must be one of {', '.join(tables)}; it is {short_text(table)}", name="table")
    columns, rows = tables[table]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([name for c in columns for name in ([f"{c.key}_low", f"{c.key}_high"] if c.interval else [c.key])])
    for row in rows:
        writer.writerow([cell for c in columns for cell in _csv_cells(c, row)])
    return buffer.getvalue()


def _csv_cells(column: Column, row: Any) -> list[object]:
    value = column.value(row)
    if column.interval:
        return [value.low, value.high] if isinstance(value, Interval) else ["", ""]
    return ["" if value is None else _csv_text(value) if isinstance(value, str) else value]


def _csv_text(value: str) -> str:
    """Return text on one line that no spreadsheet takes for a formula."""
    line = "".join(c if c.isprintable() else " " for c in value)
    # exempt (text): a cell that a spreadsheet would run
    return f"'{line}" if line.lstrip().startswith(_FORMULA) else line


def _csv_files(document: Document, stem: str) -> dict[str, str]:
    data = document.data
    files = {f"{stem}.csv": render_csv(data)}
    if data.exacts:
        files[f"{stem}-exact.csv"] = render_csv(data, "exacts")
    if data.kappas:
        files[f"{stem}-kappa.csv"] = render_csv(data, "kappas")
    return files


# Markdown.

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "://": ":&#47;&#47;", "www.": "www&#46;"}
_MARKED = r"\`*_{}[]#!|~$^"


def render_markdown(document: Document, pictures: str | None = None) -> str:
    """Return the document in Markdown, with links to pictures in the folder ``pictures`` if it is given."""
    data = document.data
    parts = [f"# {document.title}", ""]
    if data.contradictions:
        parts += ["## Contradictions", "", *(f"- **{markdown_escaped(line)}**" for line in data.contradictions), ""]
    parts += ["## Findings", "", *(f"- {markdown_escaped(finding.text)}" for finding in document.findings), ""]
    for table in document.tables:
        note = [table.note, ""] if table.note else []
        parts += [f"## {table.title}", "", *note, *_markdown_table(table.columns, table.rows), ""]
    if pictures is not None:
        parts += ["## Pictures", "", *(line for p in document.pictures for line in _markdown_picture(p, pictures))]
    parts += ["## What the columns say", ""]
    for table in document.tables:
        parts += [f"*{table.title}*", "", *(f"- **{c.title}**: {markdown_escaped(c.explanation)}" for c in table.columns), ""]
    parts += [
        "## How this was made",
        "",
        *(f"- {markdown_escaped(label)}: {markdown_escaped(words)}" for label, words in document.head),
        "",
    ]
    return "\n".join(parts)


def _markdown_picture(picture: Picture, folder: str) -> list[str]:
    return [f"![{picture.title}]({quote(folder)}/{picture.name}.svg)", "", markdown_escaped(picture.caption), ""]


def _markdown_table(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    lines = ["| " + " | ".join(c.title for c in columns) + " |"]
    lines.append("|" + "|".join(" ---: " if c.numeric else " --- " for c in columns) + "|")
    lines += ["| " + " | ".join(_markdown_cell(c, row) for c in columns) + " |" for row in rows]
    notes = [f"- {markdown_escaped(text)}" for text in long_texts(columns, rows)]
    return [*lines, "", *notes] if notes else lines


def _markdown_cell(column: Column, row: Any) -> str:
    text = shown_text(column, row)
    return text if column.numeric else markdown_escaped(text)  # numbers hold no mark-up


def markdown_escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    words = "".join(c if c.isprintable() else " " for c in text)
    words = "".join(f"\\{c}" if c in _MARKED else c for c in words)
    for raw, entity in _ENTITIES.items():
        words = words.replace(raw, entity)
    return words


def _markdown_files(document: Document, stem: str) -> dict[str, str]:
    folder = f"{stem}-pictures"
    return {f"{stem}.md": render_markdown(document, folder), **{f"{folder}/{p.name}.svg": p.svg for p in document.pictures}}


# One HTML page, from the templates.

_TEMPLATES = Path(__file__).parent / "templates"
#: Tables that stand below the matrix; the others' rows are the matrix and its details.
_TABLES = ("relaxation-means", "exact-means", "kappas")
#: Where a table of the document is on the page.
_PLACES = {"instances": "matrix", "relaxations": "details", "exacts": "details"}
#: Texts of links to these places.
_TITLES = {"matrix": "Gaps", "details": "Details by instance"}
#: Columns of the matrix between the instance and the relaxations.
_NUMBERS = ("λ", "n", "p", "optimum ζ")


@cache
def _environment() -> Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, finalize=_finished,
    )  # fmt: skip
    environment.globals.update(shown_text=shown_text, long_texts=long_texts, sort_key=_html_key, symbols=SWEPT_PARAMETERS)
    environment.filters |= {"css": _css, "typeset": typeset}
    return environment


def _finished(value: object) -> object:
    """Return the value that a template writes: plain text without control characters; mark-up of this module unchanged."""
    return sanitise(value) if type(value) is str else value


def _css(text: str) -> Markup:
    """Return text for a string of a style sheet: all but letters, digits and spaces by their code points."""
    from markupsafe import Markup

    return Markup("".join(c if c.isalnum() or c == " " else f"\\{ord(c):x} " for c in text))


def _html_key(column: Column, row: object) -> str:
    value = sort_key(column, row)
    return "" if value == float("inf") else str(value)


def _runs(document: Document, row: MatrixRow) -> list[tuple[object, ExactCell, float]]:
    return [(row.instance, run, document.data.best[row.instance.key].high) for run in row.runs]


def render_html(document: Document) -> str:
    """Return the document as one HTML page."""
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
        on_page=lambda table: [c for c in table.columns if not c.in_picture],
        matrix_columns=[*_NUMBERS, *document.matrix.relaxations, *document.matrix.solvers],
        details=[c for c in columns["relaxations"] if c.in_details],
        runs=[c for c in columns.get("exacts", ()) if c.in_details],
        runs_of=lambda row: _runs(document, row),
        checker=checker_script() if any(cell.log for cell in document.data.exacts) else "",
    )  # fmt: skip


def render_notebook(document: Document) -> str:
    """Return findings and main table as HTML for a cell of a notebook."""
    return _environment().get_template("fragment.html").render(document=document, data=document.data, matrix=document.matrix)


# The formats by their suffixes.


@dataclass(frozen=True)
class ReportFormat:
    """A file format of the report.

    Parameters
    ----------
    name : str
        The format in words.
    files : callable
        Function of a document and a file's stem that returns texts by file name, relative to the folder, the main one first.
    """

    name: str
    files: Callable[[Document, str], Mapping[str, str]]


#: The file formats by their suffixes.
FORMATS: Mapping[str, ReportFormat] = {
    ".html": ReportFormat("one self-contained page", lambda document, stem: {f"{stem}.html": render_html(document)}),
    ".md": ReportFormat("Markdown with its pictures beside it", _markdown_files),
    ".csv": ReportFormat("CSV: rows, exact solves, sweep over κ", _csv_files),
    ".json": ReportFormat("JSON: everything that is stored", lambda document, stem: {f"{stem}.json": render_json(document.data)}),
    ".tex": ReportFormat("LaTeX with booktabs", lambda document, stem: {f"{stem}.tex": render_latex(document)}),
}


def format_of_suffix(path: str | Path) -> ReportFormat:
    """Return the format that the suffix of a path names; `InputError` for another suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        suffixes = ", ".join(f"{suffixes} ({f.name})" for suffixes, f in FORMATS.items())
        raise InputError(f"a report is written by the suffix of its file, one of {suffixes}; the path is {path}", name="path")
    return FORMATS[suffix]
