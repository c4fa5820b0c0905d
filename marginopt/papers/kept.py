"""What the pages of a folder say already: a run of some tables leaves the other cells as an earlier run measured them.

A cell is taken over only where the same experiment would be run for it today: same parameters, data sets among them, and layout
of the protocol, whatever the repetitions. The data themselves need not be at hand. Each keeps the time of its own run, and the
page says how that run was made.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..drawing import Picture
from ..errors import DataError
from .effort import Effort
from .judge import Judged, judge
from .record import Entry, Value
from .reproduce import FigureResult, Head, Reproduction, TableResult

__all__ = ["Kept", "identified", "read_kept", "updated"]


@dataclass(frozen=True)
class Kept:
    """A paper's pages in a folder.

    Parameters
    ----------
    cells : mapping
        The rows of the CSV file with a measured figure, by table and cell.
    pictures : mapping of str to (Picture, str)
        By name, with the time of the run.
    heads : mapping of str to head
        How each run was made, by its time.
    """

    cells: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    pictures: Mapping[str, tuple[Picture, str]] = field(default_factory=dict)
    heads: Mapping[str, Head] = field(default_factory=dict)


def identified(entry: Entry) -> str:
    """What is run for a cell, as a short digest: experiments, their layouts, and parameters but the seed."""
    every = {
        json.dumps([run.experiment.name, run.experiment.layout, [list(item) for item in run.items if item[0] != "seed"]])
        for run in entry.runs
    }
    return hashlib.sha256("\n".join(sorted(every)).encode("utf-8")).hexdigest()[:12]


def read_kept(folder: Path, name: str) -> Kept:
    """The pages of a paper in a folder; nothing where it has none.

    Raises
    ------
    DataError
        The files are there and are not what `write_pages` writes.
    """
    table, more = folder / f"{name}.csv", folder / f"{name}.json"
    if not table.is_file() or not more.is_file():
        return Kept()
    try:
        rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
        told = json.loads(more.read_text(encoding="utf-8"))
        return Kept(
            {(row["table"], row["cell"]): row for row in rows if row["made"]},
            {key: (_picture(folder / name / f"{key}.svg", key, one), one["made"]) for key, one in told["pictures"].items()},
            {made: tuple((label, words) for label, words in head) for made, head in told["heads"].items()},
        )
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise DataError(f"{table} and {more} are no pages of this version, write them in another folder: {error!r}") from error


def _picture(path: Path, name: str, told: Mapping[str, str]) -> Picture:
    return Picture(path.read_text(encoding="utf-8"), name, told["title"], told["caption"])


def updated(found: Reproduction, kept: Kept, fresh: Sequence[str]) -> Reproduction:
    """The paper with what an earlier run measured, but for the tables and figures of names ``fresh`` that this run has."""
    tables = tuple(_table(result, found.effort, kept, result.table.name in fresh) for result in found.tables)
    pictures = tuple(_figure(one, kept, one.figure.name in fresh) for one in found.pictures)
    used = dict.fromkeys(sorted(_times(tables, pictures)))
    return replace(found, tables=tables, pictures=pictures, earlier=tuple(kept.heads[made] for made in used))


def _times(tables: Sequence[TableResult], pictures: Sequence[FigureResult]) -> Iterator[str]:
    yield from {cell.made for result in tables for cell in result.cells if cell.made}
    yield from {one.made for one in pictures if one.made}


def _table(result: TableResult, effort: Effort, kept: Kept, fresh: bool) -> TableResult:
    """All cells that the table states: those that are neither published nor measured now may have been measured before."""
    now = {cell.words: cell for cell in result.cells}
    every = [judge(entry, {}, {}) for entry in result.table.entries(effort)]
    cells = (_cell(result.table.name, now.get(cell.words, cell), kept, fresh) for cell in every)
    return replace(result, cells=tuple(cell for cell in cells if cell.says_something))


def _cell(table: str, cell: Judged, kept: Kept, fresh: bool) -> Judged:
    row = kept.cells.get((table, cell.words))
    if row is None or (fresh and cell.value is not None) or row["runs"] != identified(cell.entry):
        return cell
    deviation = float(row["measured_std"]) if row["measured_std"] else None
    value = Value(float(row["measured"]), deviation, int(row["repetitions"]))
    return replace(cell, value=value, reason="", made=row["made"])


def _figure(one: FigureResult, kept: Kept, fresh: bool) -> FigureResult:
    if one.figure.name not in kept.pictures or (fresh and one.picture is not None):
        return one
    picture, made = kept.pictures[one.figure.name]
    return replace(one, picture=picture, reason="", made=made)
