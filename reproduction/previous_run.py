"""The cells of the pages of a folder: a run of some tables leaves the others as an earlier run measured them.

A cell is taken over only where some effort would run the same experiment for it today: same parameters, data sets among them,
and layout of the protocol, whatever the repetitions. The data themselves need not be at hand. Each keeps the time of its own run,
and the page says how that run was made. So pages that are updated from several stores, at several efforts, have all their cells.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from marginopt.drawing import Picture
from marginopt.errors import DataError

from .comparison import NOT_RUN, ComparedCell, Verdict, compare_cell
from .record import EFFORTS, Cells, Entry, ProtocolSize, Value
from .reproduce import FigureResult, Head, Reproduction, TableResult


@dataclass(frozen=True)
class Kept:
    """The cells and figures of a paper that an earlier run wrote into a folder.

    Parameters
    ----------
    cells : mapping
        The rows of the CSV file with a measured figure, by table and cell.
    missing : mapping
        Why the other rows have none, by table and cell.
    reasons : mapping of str to str
        Why a figure is not drawn, by name.
    pictures : mapping of str to (Picture, str)
        By name, with the time of the run.
    heads : mapping of str to head
        How each run was made, by its time.
    """

    cells: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[tuple[str, str], str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, tuple[Picture, str]] = field(default_factory=dict)
    heads: Mapping[str, Head] = field(default_factory=dict)


def identified(entry: Entry) -> str:
    """Return a short digest of a cell's computation: experiments, their layouts, and parameters but the seed."""
    every = {
        json.dumps([run.experiment.name, run.experiment.layout, [list(item) for item in run.items if item[0] != "seed"]])
        for run in entry.runs
    }
    return hashlib.sha256("\n".join(sorted(every)).encode("utf-8")).hexdigest()[:12]


def read_kept(folder: Path, name: str) -> Kept:
    """Read the earlier run of a paper from a folder; empty if there is none."""
    table, more = folder / f"{name}.csv", folder / f"{name}.json"
    if not table.is_file() or not more.is_file():
        return Kept()
    try:
        rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
        stored = json.loads(more.read_text(encoding="utf-8"))
        heads = {made: tuple((label, words) for label, words in head) for made, head in stored["heads"].items()}
        return Kept(
            # a run that was killed while it wrote has no head yet: its store has its cells
            {(row["table"], row["cell"]): row for row in rows if row["made"] in heads},
            {(row["table"], row["cell"]): row["notes"] for row in rows if not row["made"]},
            stored.get("reasons", {}),  # pages of an earlier version have none
            {key: (_picture(folder / name / f"{key}.svg", key, one), one["made"]) for key, one in stored["pictures"].items()},
            heads,
        )
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise DataError(
            f"{table} and {more} are no pages of this version, write them in another folder: {error!r}", file=more
        ) from error


def _picture(path: Path, name: str, text: Mapping[str, str]) -> Picture:
    return Picture(path.read_text(encoding="utf-8"), name, text["title"], text["caption"])


def updated(reproduction: Reproduction, previous: Kept, fresh: Sequence[str]) -> Reproduction:
    """Return a run with the tables and figures that are not named in ``fresh`` taken over from an earlier run."""
    tables = tuple(_table(result, reproduction.effort, previous, result.table.name in fresh) for result in reproduction.tables)
    cells = {(result.table.name, c.entry.words): c.value.mean for result in tables for c in result.cells if c.value is not None}
    pictures = tuple(_figure(one, previous, one.figure.name in fresh, cells) for one in reproduction.pictures)
    used = sorted(set(_times(tables, pictures)), reverse=True)
    return replace(reproduction, tables=tables, pictures=pictures, earlier=tuple(previous.heads[made] for made in used))


def _times(tables: Sequence[TableResult], pictures: Sequence[FigureResult]) -> Iterator[str]:
    yield from (cell.made for result in tables for cell in result.cells if cell.made)
    yield from (one.made for one in pictures if one.made)


def _table(result: TableResult, effort: ProtocolSize, previous: Kept, fresh: bool) -> TableResult:
    """The cells of this effort and those that the pages have by any, in the order of the whole table."""
    now = {entry.words: compare_cell(entry, {}, {}) for entry in result.table.entries(effort)}
    now |= {cell.entry.words: cell for cell in result.cells}
    stated: dict[str, list[Entry]] = defaultdict(list)
    for one in (*reversed(EFFORTS.values()), effort):
        for entry in result.table.entries(one):
            stated[entry.words].append(entry)
    name = result.table.name
    cells = (_cell(name, entries, now.get(words), previous, fresh) for words, entries in stated.items())
    return replace(result, cells=tuple(cell for cell in cells if cell is not None and cell.says_something))


def _cell(table: str, entries: Sequence[Entry], now: ComparedCell | None, previous: Kept, fresh: bool) -> ComparedCell | None:
    """A cell of this run, or as the pages have it; ``entries`` are the efforts' statements of it, the one in hand last."""
    measured = now is not None and now.value is not None
    earlier = None if fresh and measured else _earlier(table, entries, previous)
    if earlier is not None or measured or (fresh and now is not None):
        return earlier or now
    return _missing(table, entries[0], previous) or now


def _earlier(table: str, entries: Sequence[Entry], previous: Kept) -> ComparedCell | None:
    """A cell as the pages have it measured, judged if it was: data that its judgement rests on need not be at hand now."""
    row = previous.cells.get((table, entries[0].words))
    entry = None if row is None else next((one for one in reversed(entries) if identified(one) == row["runs"]), None)
    if row is None or entry is None:
        return None
    if entry.published is not None and entry.compared != (row["verdict"] != Verdict.UNJUDGED):
        entry = replace(entry, caveat=row["reason"], notes=(row["notes"],) if row["notes"] else ())
    deviation = float(row["measured_std"]) if row["measured_std"] else None
    value = Value(float(row["measured"]), deviation, int(row["repetitions"]))
    return replace(compare_cell(entry, {}, {}), value=value, reason="", made=row["made"])


def _missing(table: str, entry: Entry, previous: Kept) -> ComparedCell | None:
    """A cell that the pages have, and neither they nor this run measured; nothing where they have it not."""
    at = (table, entry.words)
    if at not in previous.missing and at not in previous.cells:
        return None
    return replace(compare_cell(entry, {}, {}), reason=previous.missing.get(at, NOT_RUN))


def _figure(one: FigureResult, previous: Kept, fresh: bool, cells: Cells) -> FigureResult:
    """A figure of this run or as kept; one that shows cells is drawn from them anew, so that it and the tables agree."""
    earlier = previous.pictures.get(one.figure.name)
    if one.figure.of_cells is not None:
        drawn = one.figure.of_cells(cells)
        made = earlier[1] if earlier is not None and earlier[0] == drawn else ""
        return one if drawn is None else replace(one, picture=drawn, reason="", made=made)
    if one.picture is not None and (fresh or earlier is None):
        return one
    if earlier is None:
        return one if fresh else replace(one, reason=previous.reasons.get(one.figure.name, one.reason))
    picture, made = earlier
    return replace(one, picture=picture, reason="", made=made)
