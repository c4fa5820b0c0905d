"""Store the rows of `zero_one.py` in files: each is written when it is measured, and not measured again."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Columns:
    """The columns of one table."""

    names: tuple[str, ...]  #: names in order
    keys: int  #: number of columns, the first ones, that identify a run


#: The columns of `zero_one.py`'s tables, by command.
CLUSTERS = Columns(
    ("n", "p", "sigma", "outliers", "lam", "seed", "solver", "form", "threads", "seconds", "gap", "nodes", "objective"), 9
)
BROOKS = Columns(
    ("n", "d", "C", "set", "threads", "limit", "tol", "seconds", "upper", "lower", "gap", "nodes", "engine"), 7
)  # fmt: skip
TARGETS = Columns(("n", "p", "lam", "sigma", "outliers", "seed", "tol", "threads", "allowed", "seconds", "gap", "nodes"), 8)
REAL = Columns(
    ("data", "n", "p", "lam", "threads", "limit", "tol", "objective", "gap", "seconds", "nodes", "violated", "wrong"), 7
)  # fmt: skip

#: A row of a table: texts by column.
Cell = dict[str, str]


def word(value: object) -> str:
    """Return the text of a value in a file and in a key."""
    return f"{value:.8g}" if isinstance(value, float) else str(value)


class Rows:
    """Rows of one table on the screen and, as they come, in a file; those that the file had are known.

    Parameters
    ----------
    columns : Columns
    path : Path, optional
        No file without it.

    Raises
    ------
    SystemExit
        The file holds another table.
    """

    def __init__(self, columns: Columns, path: Path | None) -> None:
        self._columns, self._path = columns, path
        self.known: dict[tuple[str, ...], Cell] = {}
        if path is not None and path.exists():
            for row in read(columns, [path]):
                self.known[self._key(row)] = row
        elif path is not None:
            path.write_text(",".join(columns.names) + "\n")
        print(" ".join(f"{name:>10}" for name in columns.names), flush=True)

    def _key(self, row: Cell) -> tuple[str, ...]:
        return tuple(row[name] for name in self._columns.names[: self._columns.keys])

    def has(self, *key: object) -> bool:
        """Return whether the row of these key values is there."""
        return tuple(word(value) for value in key) in self.known

    def add(self, *values: object) -> None:
        """Add a row, the values of all columns in order: print it, and append it to the file."""
        row = dict(zip(self._columns.names, (word(value) for value in values), strict=True))
        print(" ".join(f"{value:>10}" for value in row.values()), flush=True)
        self.known[self._key(row)] = row
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(",".join(row.values()) + "\n")

    def all(self) -> list[Cell]:
        """Return every row, those from the file first."""
        return list(self.known.values())


def read(columns: Columns, paths: Iterable[Path]) -> list[Cell]:
    """Return the rows of several files of one table; of rows with equal keys the last one counts."""
    rows: dict[tuple[str, ...], Cell] = {}
    for path in paths:
        with path.open() as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != columns.names:
                raise SystemExit(f"{path} is no table with the columns {', '.join(columns.names)}")
            for row in reader:
                rows[tuple(row[name] for name in columns.names[: columns.keys])] = row
    return list(rows.values())


def columns_of(path: Path, kinds: Sequence[Columns] = (CLUSTERS, BROOKS, TARGETS, REAL)) -> Columns:
    """Return the columns of the table that a file holds."""
    with path.open() as file:
        names = tuple(file.readline().strip().split(","))
    for columns in kinds:
        if columns.names == names:
            return columns
    raise SystemExit(f"{path} holds no table of zero_one.py: its columns are {', '.join(names)}")
