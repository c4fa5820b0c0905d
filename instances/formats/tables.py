"""From a table of cells to an instance: which column is the label, which cells are not numbers."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import DataError, InputError
from ..arrays import FloatArray
from ..instance import Instance

__all__ = ["LABEL_NAMES", "Table", "label_column", "table_instance"]

#: A column of one of these names, in any case, is the label when none is chosen; failing that the last column.
LABEL_NAMES = ("label", "class", "target", "y")


@dataclass(frozen=True)
class Table:
    """Cells of text as read, every row as long as the first.

    Attributes
    ----------
    where : str
        The file, for messages.
    names : tuple of str or None
        Column names where the file has them.
    rows : list of list of str
        The cells.
    lines : list of int
        Line of the file, counting from 1, of each row.
    """

    where: str
    names: tuple[str, ...] | None
    rows: list[list[str]]
    lines: list[int]


def _columns(names: Sequence[str] | None, label: str) -> str:
    """What columns there are, those whose names are like the label first."""
    if names is None:
        return "it has no header"
    small = {name.strip().lower(): name for name in names}
    near = [small[name] for name in difflib.get_close_matches(label.strip().lower(), small, n=3)]
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


def table_instance(table: Table, label: str | int | None, name: str) -> Instance:
    """Turn cells into an instance; every cell outside the label column must be a finite number.

    Raises
    ------
    DataError
        No rows; a cell that is missing, not a number or not finite (line and column); a missing label; one class.
    """
    if not table.rows:
        raise DataError(f"{table.where} holds no rows of data")
    width = len(table.rows[0])
    target = label_column(table.where, table.names, width, label)
    for row, line in zip(table.rows, table.lines, strict=True):
        if row[target].strip() in {"", "?"}:
            raise DataError(f"{table.where}, line {line}: the label in {_column(table.names, target)} is missing")
    X = _numbers(table, target)
    names = None if table.names is None else [n for j, n in enumerate(table.names) if j != target]
    labels = [row[target].strip() for row in table.rows]
    try:
        return Instance.from_labels(X, labels, name, table.where, names)
    except DataError as error:
        raise DataError(f"{table.where}, label in {_column(table.names, target)}: {error}") from None


def _numbers(table: Table, target: int) -> FloatArray:
    cells = [row[:target] + row[target + 1 :] for row in table.rows]
    try:
        X = np.array(cells, dtype=np.float64)
    except ValueError:
        X = None
    if X is None or not np.isfinite(X).all():
        _raise_bad_cell(table, target)
    assert X is not None  # the line above raised
    return X


def _raise_bad_cell(table: Table, target: int) -> None:
    """Name the first cell that is not a finite number."""
    for row, line in zip(table.rows, table.lines, strict=True):
        for j, cell in enumerate(row):
            if j == target:
                continue
            text = cell.strip()
            try:
                fault = "" if np.isfinite(float(text)) else "not a finite number"
            except ValueError:
                missing = text.lower() in {"", "?", "na", "n/a", "null", "none"}
                fault = "missing" if missing else "not a number"
            if fault:
                raise DataError(
                    f"{table.where}, line {line}, {_column(table.names, j)}: {cell!r} is {fault}; features must be finite "
                    "numbers: missing='drop' or 'median', categories='indicators' and leave_out= read such columns; "
                    "label= chooses the label column"
                )


def _column(names: Sequence[str] | None, j: int) -> str:
    return f"column {j}, counting from 0" if names is None else f"column {names[j]!r}"
