"""Parser of CSV text into tables of cells."""

from __future__ import annotations

import csv
import io
import re

from ...errors import DataError
from ..arrays import as_number
from .tables import Kind, Table, check_ragged, lines_of

__all__ = ["MISSING", "parse_csv"]

#: Cells that hold nothing. The spellings are these alone: Na is sodium, and none is a word.
MISSING = frozenset({"", "?", "NA", "na", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "Null"})
#: Numbers with a decimal comma, and with a point.
_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
_POINT = re.compile(r"\s*[+-]?(?:\d[\d,]*\.\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
#: A word, or a text in quotes, between blanks.
_WORD = re.compile(r'\s*(?:"((?:[^"]|"")*)"(?!\S)|([^\s"]\S*))')
#: Header of the column of row names: pandas and R leave it empty, and pandas calls it so when it reads it back.
_INDEX_NAMES = frozenset({"", "Unnamed: 0"})
_LABELS = frozenset({"label", "class", "target", "y"})

_Cells = list[str]


def parse_csv(text: str, where: str, header: bool | None = None, delimiter: str | None = None) -> Table:
    """Parse delimited text. Between other delimiters than commas, numbers may have decimal commas: 1,5 for 1.5.

    Parameters
    ----------
    text, where : str
        The content, and the file's name for messages.
    header : bool, optional
        Whether the first row holds names. By default it does if some column is a word there and numbers below, or if it names
        a label.
    delimiter : str, optional
        By default whichever of comma, semicolon, tab and bar is most frequent in the first line, or else white space.

    Raises
    ------
    DataError
        Ragged rows (line, cells found and needed), quotes that do not close, or a first row of which it cannot be told whether
        it is a header.
    """
    first = _QUOTED.sub("", next((line for line in lines_of(text) if line.strip()), ""))
    if delimiter is None:
        delimiter = max(",;\t|", key=first.count)
    rows, lines = _delimited(text, where, delimiter) if delimiter in first else _spaced(text, where)
    if delimiter != ",":
        rows = _with_points(rows)
    names = None
    if rows and (_looks_like_header(where, rows, lines) if header is None else header):
        names = tuple(rows.pop(0))
        lines.pop(0)
    check_ragged(where, rows, lines, None if names is None else len(names))
    kinds: dict[int, Kind] = {0: "index"} if names and names[0] in _INDEX_NAMES and any(names[1:]) else {}
    return Table(where, names, [[None if cell in MISSING else cell for cell in row] for row in rows], lines, kinds)


def _delimited(text: str, where: str, delimiter: str) -> tuple[list[_Cells], list[int]]:
    """Rows with their first lines; blank lines are skipped, and so is no row of empty cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines, before = [], [], 0
    try:
        for row in reader:
            if len(row) > 1 or any(cell.strip() for cell in row):
                rows.append([cell.strip() for cell in row])
                lines.append(before + 1)
            before = reader.line_num
    except csv.Error as error:
        raise DataError(f"{where}, line {reader.line_num}: {error}") from None
    return rows, lines


def _spaced(text: str, where: str) -> tuple[list[_Cells], list[int]]:
    """Rows of words between blanks; quotes hold blanks together."""
    rows, lines = [], []
    for number, line in enumerate(lines_of(text), 1):
        row, at = [], 0
        while (match := _WORD.match(line, at)) is not None:
            row.append(match[2] if match[1] is None else match[1].replace('""', '"').strip())
            at = match.end()
        if line[at:].strip():
            raise DataError(f"{where}, line {number}: a quote that does not close: {line[at:].strip()[:60]!r}")
        if row:
            rows.append(row)
            lines.append(number)
    return rows, lines


def _with_points(rows: list[_Cells]) -> list[_Cells]:
    """Decimal commas as points; as it is where a number has a point, since its commas may group thousands."""
    if any(_POINT.fullmatch(cell) for row in rows for cell in row):
        return rows
    return [[cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in row] for row in rows]


def _looks_like_header(where: str, rows: list[_Cells], lines: list[int]) -> bool:
    """Decide whether the first row holds names.

    Raises
    ------
    DataError
        It holds a word above numbers, like names, and numbers above numbers, like data.
    """
    numbers = [as_number(cell) is not None for cell in rows[0]]
    if len(rows) == 1:
        return not any(numbers)
    below = [_numeric(rows[1:], j) for j in range(len(rows[0]))]
    named = [above not in MISSING and not number for above, number in zip(rows[0], numbers, strict=True)]
    if any(name and numeric for name, numeric in zip(named, below, strict=True)):
        if any(number and numeric for number, numeric in zip(numbers, below, strict=True)):
            raise DataError(
                f"{where}, line {lines[0]}: it holds words and numbers above numbers: names of columns, or a row of data with a "
                "cell that is no number? read_csv(path, header=True or False) says which"
            )
        return True
    return not any(numbers) and any(cell.lower() in _LABELS for cell in rows[0])


def _numeric(rows: list[_Cells], j: int) -> bool:
    """Return whether a column begins with a number, cells that hold nothing aside."""
    cell = next((row[j] for row in rows if j < len(row) and row[j] not in MISSING), None)
    return cell is not None and as_number(cell) is not None
