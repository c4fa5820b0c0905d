"""The cleaning of a table before it is numbers: columns left out, missing cells, categories; only at the caller's request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from ...errors import DataError, InputError
from ..arrays import as_number
from .tables import Kind, Table, feature_columns, label_column, target_column

__all__ = ["Categories", "Missing", "Tidying"]

#: Levels up to which a column of words is taken for categories, and not for names of rows.
_MOST_LEVELS = 50

Missing: TypeAlias = Literal["refuse", "drop", "median"]
Categories: TypeAlias = Literal["refuse", "indicators"]
_Cells: TypeAlias = list[str | None]


@dataclass(frozen=True)
class Tidying:
    """The operations on the features of a table before they are read as numbers.

    Parameters
    ----------
    missing : {"refuse", "drop", "median"}
        Cells that hold nothing: an error; their rows left out; the median of the column's other cells (in a column of categories:
        none of them).
    categories : {"refuse", "indicators"}
        Columns of words: an error; a column of 0 and 1 for each word, for the second alone where there are two.
    leave_out : sequence of str or int
        Columns that are no features, by name or index.

    Raises
    ------
    InputError
        Another value.
    """

    missing: Missing = "refuse"
    categories: Categories = "refuse"
    leave_out: Sequence[str | int] = ()

    def __post_init__(self) -> None:
        for name, kinds in (("missing", get_args(Missing)), ("categories", get_args(Categories))):
            if getattr(self, name) not in kinds:
                raise InputError(f"{name} must be one of {', '.join(kinds)}; it is {getattr(self, name)!r}")
        if isinstance(self.leave_out, (str, int)):
            object.__setattr__(self, "leave_out", (self.leave_out,))

    @property
    def asked(self) -> bool:
        """Return whether anything is to be done."""
        return self != Tidying()

    def applied(self, table: Table, label: str | int | None) -> tuple[Table, int, str]:
        """The tidied table, the place of its label, and what was done, in words.

        Raises
        ------
        DataError
            No rows are left; a column without a value; more words in a column than categories have.
        InputError
            A column to leave out that is the label.
        """
        if not table.rows:
            return table, 0, ""
        width = len(table.rows[0])
        target = target_column(table, label)
        out = [label_column(table.where, table.names, width, column) for column in self.leave_out]
        if target in out:
            raise InputError(f"leave_out names the label's column, {self.leave_out[out.index(target)]!r}")
        features = feature_columns(table, target, out)
        notes = [f"without {', '.join(_name(table, j) for j in out)}"] if out else []
        rows, lines = table.rows, table.lines
        if self.missing == "drop":
            whole = [all(row[j] is not None for j in (*features, target)) for row in rows]
            rows = [row for row, good in zip(rows, whole, strict=True) if good]
            lines = [line for line, good in zip(lines, whole, strict=True) if good]
            if not rows:
                raise DataError(f"{table.where}: every row has a missing value; missing='median' keeps them")
            notes += [f"{len(whole) - len(rows)} rows with missing values left out"] if len(rows) < len(whole) else []
        columns: list[tuple[str, _Cells]] = []
        kinds: dict[int, Kind] = {}
        for j in features:
            if table.kinds.get(j) == "string" and self.categories == "refuse":
                kinds[len(columns)] = "string"
            columns += self._column(table, j, [row[j] for row in rows], notes)
        cells = [[*(column[k] for _, column in columns), row[target]] for k, row in enumerate(rows)]  # the label comes last
        names = None if table.names is None else (*(name for name, _ in columns), table.names[target])
        return replace(table, names=names, rows=cells, lines=lines, kinds=kinds, outputs=()), len(columns), "; ".join(notes)

    def _column(self, table: Table, j: int, cells: _Cells, said: list[str]) -> list[tuple[str, _Cells]]:
        """One column's features, by name; what is not asked for is left to the reader, which refuses it."""
        name, present = _name(table, j), [cell for cell in cells if cell is not None]
        if not present:
            raise DataError(f"{table.where}: column {name!r} has no value; leave it out (leave_out)")
        if table.kinds.get(j) == "string" or any(as_number(cell) is None for cell in present):
            return self._indicators(table, name, cells, present, said) if self.categories == "indicators" else [(name, cells)]
        if self.missing == "median" and len(present) < len(cells):
            middle = f"{float(np.median([float(cell) for cell in present])):.17g}"
            said.append(f"{len(cells) - len(present)} missing {name} at the median {float(middle):g}")
            cells = [middle if cell is None else cell for cell in cells]
        return [(name, cells)]

    def _indicators(self, table: Table, name: str, cells: _Cells, held: list[str], said: list[str]) -> list[tuple[str, _Cells]]:
        levels = sorted(set(held))
        if len(levels) > _MOST_LEVELS:
            raise DataError(
                f"{table.where}: column {name!r} has {len(levels)} different words; up to {_MOST_LEVELS} are categories. "
                "Leave it out (leave_out)"
            )
        if self.missing == "refuse" and len(held) < len(cells):
            return [(name, cells)]  # refused, with its line
        said.append(f"{name} as {len(levels)} categories")
        shown = levels[1:] if len(levels) == 2 else levels
        return [(f"{name}={level}", ["1" if cell == level else "0" for cell in cells]) for level in shown]


def _name(table: Table, j: int) -> str:
    return str(j) if table.names is None else table.names[j]
