"""Parsers of CSV and ARFF text into tables of cells."""

from __future__ import annotations

import csv
import io
import re

from ...errors import DataError
from .tables import Table

__all__ = ["parse_arff", "parse_csv"]

#: Digits of the index of a column, zeros in front included: Python reads no number of 5,000.
_DIGITS = 18
#: Numbers with a decimal comma, and with a point.
_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
_POINT = re.compile(r"\s*[+-]?(?:\d[\d,]*\.\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
#: Cells that neither speak for nor against a header.
EMPTY = {"", "?", "na", "n/a", "nan", "null", "none"}


def parse_csv(text: str, where: str, header: bool | None = None, delimiter: str | None = None) -> Table:
    """Parse delimited text. Between other delimiters than commas, numbers may have decimal commas: 1,5 for 1.5.

    Parameters
    ----------
    text, where : str
        The content, and the file's name for messages.
    header : bool, optional
        Whether the first row holds names. By default it does if some column is not a number there and is one in the
        second row.
    delimiter : str, optional
        By default whichever of comma, semicolon, tab and bar is most frequent in the first line, or else white space.

    Raises
    ------
    DataError
        Ragged rows (line, cells found and needed), or quotes that do not close.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    if delimiter is None:
        delimiter = max(",;\t|", key=first.count)
    if delimiter in first:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    else:
        squeezed = "\n".join(" ".join(line.split()) for line in text.splitlines())
        reader = csv.reader(io.StringIO(squeezed), delimiter=" ", strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise DataError(f"{where}, line {reader.line_num}: {error}") from None
    if delimiter != ",":
        rows = _with_points(rows)
    names = None
    if rows and (_looks_like_header(rows) if header is None else header):
        names = tuple(cell.strip() for cell in rows.pop(0))
        lines.pop(0)
    _check_ragged(where, rows, lines, None if names is None else len(names))
    return Table(where, names, rows, lines)


def _with_points(rows: list[list[str]]) -> list[list[str]]:
    """Decimal commas as points; as it is where a number has a point, since its commas may group thousands."""
    if any(_POINT.fullmatch(cell) for row in rows for cell in row):
        return rows
    return [[cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in row] for row in rows]


def _looks_like_header(rows: list[list[str]]) -> bool:
    if len(rows) == 1:
        return not any(_is_number(cell) for cell in rows[0])
    return any(
        not _is_number(above) and above.strip().lower() not in EMPTY and _is_number(below)
        for above, below in zip(rows[0], rows[1], strict=False)
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _check_ragged(where: str, rows: list[list[str]], lines: list[int], width: int | None) -> None:
    for row, line in zip(rows, lines, strict=True):
        needed = len(rows[0]) if width is None else width
        if len(row) != needed:
            origin = "the first row" if width is None else "the header"
            raise DataError(f"{where}, line {line}: {len(row)} cells where {origin} has {needed}")


ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.+)", re.IGNORECASE)
CELL = re.compile(r"\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,]*)\s*(?:,|$)")


def parse_arff(text: str, where: str) -> Table:
    """Parse ARFF: dense or sparse rows, quoted names and values; comments and blank lines are skipped.

    Raises
    ------
    DataError
        A line that is not ARFF, no attributes, no data section, ragged rows, or a sparse index out of range.
    """
    names: list[str] = []
    defaults: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    in_data = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("%"):
            continue
        place = f"{where}, line {number}"
        if in_data:
            rows.append(_sparse_row(line, defaults, place) if line.startswith("{") else _cells(line))
            lines.append(number)
        elif line.lower().startswith("@attribute"):
            name, default = _attribute(line, place)
            names.append(name)
            defaults.append(default)
        elif line.lower().startswith("@data"):
            in_data = True
        elif not line.lower().startswith("@relation"):
            raise DataError(f"{place}: not an ARFF declaration: {line[:60]!r}")
    if not names or not in_data:
        raise DataError(f"{where} is not ARFF: it has {'no @data section' if names else 'no @attribute lines'}")
    _check_ragged(where, rows, lines, len(names))
    return Table(where, tuple(names), rows, lines)


def _attribute(line: str, place: str) -> tuple[str, str]:
    """Name of the attribute, and the value that a sparse row leaves out (0, or the first category)."""
    match = ATTRIBUTE.match(line)
    if match is None:
        raise DataError(f"{place}: an attribute needs a name and a type: {line[:60]!r}")
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.startswith("{"):
        return name, _cells(kind.strip("{}"))[0]
    if kind.split()[0].lower() not in {"numeric", "real", "integer", "string"}:
        raise DataError(f"{place}: attribute {name!r} has type {kind!r}; numeric and nominal ones can be used")
    return name, "0"


def _cells(line: str) -> list[str]:
    cells, at = [], 0
    while True:
        match = CELL.match(line, at)
        assert match is not None  # the last alternative matches any text
        cells.append(_unquote(match[1].strip()))
        if not match[0].endswith(","):
            return cells
        at = match.end()


def _sparse_row(line: str, defaults: list[str], place: str) -> list[str]:
    row = list(defaults)
    if not line.endswith("}"):
        raise DataError(f"{place}: a sparse row must close with '}}'")
    for entry in (part.strip() for part in line[1:-1].split(",")):
        if not entry:
            continue
        index, _, value = entry.partition(" ")
        if not index.isdecimal() or len(index) > _DIGITS or int(index) >= len(row) or not value.strip():
            raise DataError(f"{place}: {entry[:60]!r} is not an index below {len(row)} and a value")
        row[int(index)] = _unquote(value.strip())
    return row


def _unquote(cell: str) -> str:
    if len(cell) >= 2 and cell[0] == cell[-1] and cell[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", cell[1:-1])
    return cell
