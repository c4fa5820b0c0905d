"""From a table of cells to an instance: which column is the label, which cells are not numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from ...errors import DataError, InputError, near_names
from ..arrays import FloatArray, as_number
from ..instance import Instance

__all__ = [
    "LABEL_NAMES",
    "Kind",
    "Table",
    "check_ragged",
    "column_name",
    "feature_columns",
    "label_column",
    "lines_of",
    "table_instance",
    "target_column",
]

#: A column of one of these names, in any case, is the label when none is chosen; failing that the last column.
LABEL_NAMES = ("label", "class", "target", "y")


#: A column of cells; words alone; dates; names of rows; a column that the file itself says is not used.
Kind: TypeAlias = Literal["cell", "string", "date", "index", "unused"]
_LINE_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """Split text at line ends, which are LF, CR and both: Python's splitlines knows others, which formats do not."""
    return _LINE_END.split(text)


@dataclass(frozen=True)
class Table:
    """Cells of text as read, every row as long as the first; None is a cell that holds nothing.

    Attributes
    ----------
    where : str
        The file, for messages.
    names : tuple of str or None
        Column names where the file has them.
    rows : list of list of str or None
        The cells.
    lines : list of int
        Line of the file, counting from 1, of each row.
    kinds : mapping of int to str
        Kinds of columns that are not cells.
    outputs : tuple of int
        Columns that the file itself calls its outputs.
    """

    where: str
    names: tuple[str, ...] | None
    rows: list[list[str | None]]
    lines: list[int]
    kinds: Mapping[int, Kind] = field(default_factory=dict)
    outputs: tuple[int, ...] = ()


def _columns(names: Sequence[str] | None, label: str) -> str:
    """Return the names of the columns, those like the label first."""
    if names is None:
        return "it has no header"
    near = near_names(label.strip(), names)
    hint = f"did you mean {' or '.join(near)}? " if near and label not in names else ""
    return f"{hint}its columns are {', '.join(names[:20])}{' ...' if len(names) > 20 else ''}"


def label_column(where: str, names: Sequence[str] | None, width: int, label: str | int | None) -> int:
    """Find the label column: by name, by index (negative from the end), or by the rule of `LABEL_NAMES`."""
    if width < 2:
        raise DataError(f"{where}: a label and at least one feature are needed, got {width} column(s)")
    if label is None:
        known = [j for j, name in enumerate(names or ()) if name.strip().lower() in LABEL_NAMES]
        return known[0] if len(known) == 1 else width - 1
    if isinstance(label, str):
        matches = [j for j, name in enumerate(names or ()) if name == label]
        if len(matches) == 1:
            return matches[0]
        if not label.lstrip("-").isdecimal():
            what = "more than one column" if matches else "no column"
            raise DataError(f"{where} has {what} named {label!r} for the label; {_columns(names, label)}")
    try:
        index = int(label)
    except (TypeError, ValueError):
        raise InputError(f"label must be a column's name or index, got {label!r}") from None
    if isinstance(label, bool) or not -width <= index < width:
        raise InputError(f"label column {label!r} is not one of the {width} columns 0..{width - 1} of {where}")
    return index % width


def target_column(table: Table, label: str | int | None) -> int:
    """Find the label column of a table: the one asked for, the file's own output, or the rule of `LABEL_NAMES`.

    Raises
    ------
    DataError
        No such column, or the file has several outputs and none was chosen.
    """
    width = len(table.rows[0])
    if label is not None:
        return label_column(table.where, table.names, width, label)
    if len(table.outputs) > 1:
        outputs = ", ".join(column_name(table.names, j) for j in table.outputs)
        raise DataError(f"{table.where} has the outputs {outputs}; label= chooses one")
    if table.outputs:
        return table.outputs[0]
    columns = [j for j in range(width) if table.kinds.get(j) not in ("index", "unused")]
    names = None if table.names is None else [table.names[j] for j in columns]
    return columns[label_column(table.where, names, len(columns), None)]


def feature_columns(table: Table, target: int, left_out: Sequence[int] = ()) -> list[int]:
    """List the columns that are features: not the label, names of rows, or columns that the file says are not used.

    Raises
    ------
    DataError
        A date among them.
    """
    outputs = table.outputs if target in table.outputs else ()
    barred = {target, *left_out, *outputs}
    columns = [j for j in range(len(table.rows[0])) if j not in barred and table.kinds.get(j) not in ("index", "unused")]
    date = next((j for j in columns if table.kinds.get(j) == "date"), None)
    if date is not None:
        raise DataError(f"{table.where}: {column_name(table.names, date)} is a date; leave it out (leave_out)")
    return columns


def check_ragged(where: str, rows: Sequence[Sequence[object]], lines: list[int], width: int | None) -> None:
    """Raise DataError for a row that is longer or shorter than the header, or else the first row."""
    for row, line in zip(rows, lines, strict=True):
        needed = len(rows[0]) if width is None else width
        if len(row) != needed:
            origin = "the first row" if width is None else "the header"
            raise DataError(f"{where}, line {line}: {len(row)} cells where {origin} has {needed}")


def table_instance(table: Table, label: str | int | None, name: str) -> Instance:
    """Turn cells into an instance; every cell of a feature must be a finite number.

    Raises
    ------
    DataError
        No rows; a cell that is missing, not a number or not finite (line and column); a missing label; one class; two columns
        of one name.
    """
    if not table.rows:
        raise DataError(f"{table.where} holds no rows of data")
    target = target_column(table, label)
    features = feature_columns(table, target)
    if not features:
        raise DataError(f"{table.where}: a label and at least one feature are needed")
    labels = [row[target] for row in table.rows]
    if None in labels:
        line = table.lines[labels.index(None)]
        raise DataError(f"{table.where}, line {line}: the label in {column_name(table.names, target)} is missing")
    names = None if table.names is None else [table.names[j] for j in features]
    _check_names(table, features)
    X = _numbers(table, features)
    try:
        return Instance.from_labels(X, labels, name, table.where, names)
    except DataError as error:
        raise DataError(f"{table.where}, label in {column_name(table.names, target)}: {error}") from None


def _check_names(table: Table, features: list[int]) -> None:
    names = [] if table.names is None else [table.names[j] for j in features]
    second = next((name for k, name in enumerate(names) if name in names[:k]), None) if len(set(names)) < len(names) else None
    if second is not None:
        columns = [j for j in features if table.names is not None and table.names[j] == second]
        raise DataError(
            f"{table.where}: more than one column is named {second!r} (columns {', '.join(map(str, columns))}, counting from 0); "
            "leave_out= takes one away"
        )


def _numbers(table: Table, features: list[int]) -> FloatArray:
    cells = [[row[j] for j in features] for row in table.rows]
    plain = all(cell is not None and cell.isascii() and "_" not in cell for row in cells for cell in row)
    if plain and not any(table.kinds.get(j) == "string" for j in features):
        try:
            X = np.array(cells, dtype=np.float64)
        except ValueError:
            raise _bad_cell(table, features) from None
        if np.isfinite(X).all():
            return X
    raise _bad_cell(table, features)


def _bad_cell(table: Table, features: list[int]) -> DataError:
    """The error that names the first cell that is not a finite number."""
    advice = (
        "features must be finite numbers: missing='drop' or 'median', categories='indicators' and leave_out= read such columns; "
        "label= chooses the label column"
    )
    for row, line in zip(table.rows, table.lines, strict=True):
        for j in features:
            cell = row[j]
            number = None if cell is None else as_number(cell)
            place = f"{table.where}, line {line}, {column_name(table.names, j)}"
            if cell is None:
                return DataError(f"{place}: the value is missing; {advice}")
            if number is None:
                return DataError(f"{place}: {cell!r} is not a number; {advice}")
            if not np.isfinite(number):
                return DataError(f"{place}: {cell!r} is not a finite number; {advice}")
            if table.kinds.get(j) == "string":
                return DataError(f"{place}: the column is declared as text; {advice}")
    raise AssertionError("every cell is a finite number")


def column_name(names: Sequence[str] | None, j: int) -> str:
    """Name a column in a message."""
    return f"column {j}, counting from 0" if names is None else f"column {names[j]!r}"
