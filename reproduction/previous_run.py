"""Take over cells and figures of earlier runs from their pages, for a run that measures only some tables (``--update``).

A cell is taken over only where some effort would run the same experiment for it today: same parameters, data sets among them,
and layout of the protocol, whatever the repetitions. The data themselves need not be at hand. Each cell keeps the time of
its own run, and the page says how that run was made. So pages that are updated from several stores, at several efforts, have all
their cells.
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
from marginopt.errors import DataError, short_text

from .comparison import NOT_RUN, ComparedCell, Verdict, compare_cell
from .record import EFFORTS, MeasuredMeans, MeasuredNumber, PaperCell, ProtocolSize
from .reproduce import FigureResult, Reproduction, RunHeader, TableResult


@dataclass(frozen=True)
class PreviousRun:
    """The cells and figures of a paper that earlier runs wrote into a folder.

    Parameters
    ----------
    cells : mapping
        Rows of the CSV file with a measured number, by table and cell.
    missing : mapping
        Reasons why other rows have no measured number, by table and cell.
    reasons : mapping of str to str
        Reasons why figures are not drawn, by name.
    pictures : mapping of str to (Picture, str)
        Drawn figures by name, with the time of their run.
    headers : mapping of str to RunHeader
        How each run was made, by its time.
    """

    cells: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[tuple[str, str], str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, tuple[Picture, str]] = field(default_factory=dict)
    headers: Mapping[str, RunHeader] = field(default_factory=dict)


def computation_digest(cell: PaperCell) -> str:
    """Return a short digest of a cell's computation: experiments, their layouts, and parameters but the seed."""
    every = {
        json.dumps([run.experiment.name, run.experiment.layout, [list(item) for item in run.items if item[0] != "seed"]])
        for run in cell.runs
    }
    return hashlib.sha256("\n".join(sorted(every)).encode("utf-8")).hexdigest()[:12]


def read_previous_run(folder: Path, name: str) -> PreviousRun:
    """Read the earlier run of a paper from a folder; empty if there is none."""
    table, more = folder / f"{name}.csv", folder / f"{name}.json"
    if not table.is_file() or not more.is_file():
        return PreviousRun()
    try:
        rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
        stored = json.loads(more.read_text(encoding="utf-8"))
        heads = {made: tuple((label, words) for label, words in head) for made, head in stored["heads"].items()}
        return PreviousRun(
            # a run that was killed while it wrote has no head yet: its store has its cells
            {(row["table"], row["cell"]): row for row in rows if row["made"] in heads},
            {(row["table"], row["cell"]): row["notes"] for row in rows if not row["made"]},
            stored.get("reasons", {}),  # pages of an earlier version have none
            {key: (_picture(folder / name / f"{key}.svg", key, one), one["made"]) for key, one in stored["pictures"].items()},
            heads,
        )
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise DataError(
            f"{table} and {more} are no pages of this version, write them in another folder: {short_text(error)}", file=more
        ) from error


def _picture(path: Path, name: str, text: Mapping[str, str]) -> Picture:
    return Picture(path.read_text(encoding="utf-8"), name, text["title"], text["caption"])


def with_previous_run(reproduction: Reproduction, previous: PreviousRun, fresh_names: Sequence[str]) -> Reproduction:
    """Return a run with the tables and figures outside ``fresh_names`` taken over from an earlier run."""
    tables = tuple(
        _table(result, reproduction.effort, previous, result.table.name in fresh_names) for result in reproduction.tables
    )
    cells = {
        (result.table.name, c.paper_cell.label): c.value.mean for result in tables for c in result.cells if c.value is not None
    }
    pictures = tuple(_figure(one, previous, one.figure.name in fresh_names, cells) for one in reproduction.figures)
    used = sorted(set(_times(tables, pictures)), reverse=True)
    return replace(reproduction, tables=tables, figures=pictures, earlier=tuple(previous.headers[made] for made in used))


def _times(tables: Sequence[TableResult], pictures: Sequence[FigureResult]) -> Iterator[str]:
    yield from (cell.made for result in tables for cell in result.cells if cell.made)
    yield from (one.made for one in pictures if one.made)


def _table(result: TableResult, effort: ProtocolSize, previous: PreviousRun, fresh: bool) -> TableResult:
    """Return the cells of this effort and those that the pages have by any, in the order of the whole table."""
    now = {entry.label: compare_cell(entry, {}, {}) for entry in result.table.cells(effort)}
    now |= {cell.paper_cell.label: cell for cell in result.cells}
    stated: dict[str, list[PaperCell]] = defaultdict(list)
    for one in (*reversed(EFFORTS.values()), effort):
        for entry in result.table.cells(one):
            stated[entry.label].append(entry)
    name = result.table.name
    cells = (_cell(name, entries, now.get(words), previous, fresh) for words, entries in stated.items())
    return replace(result, cells=tuple(cell for cell in cells if cell is not None and cell.has_number))


def _cell(
    table: str, entries: Sequence[PaperCell], now: ComparedCell | None, previous: PreviousRun, fresh: bool
) -> ComparedCell | None:
    """Return a cell of this run, or as the pages have it; ``entries`` are the efforts' statements of it, the present one last."""
    measured = now is not None and now.value is not None
    earlier = None if fresh and measured else _earlier(table, entries, previous)
    if earlier is not None or measured or (fresh and now is not None):
        return earlier or now
    return _missing(table, entries[0], previous) or now


def _earlier(table: str, entries: Sequence[PaperCell], previous: PreviousRun) -> ComparedCell | None:
    """Return a cell as the pages have it measured, judged if it was: the data of its judgement need not be at hand now."""
    row = previous.cells.get((table, entries[0].label))
    entry = None if row is None else next((one for one in reversed(entries) if computation_digest(one) == row["runs"]), None)
    if row is None or entry is None:
        return None
    if entry.published is not None and entry.is_compared != (row["verdict"] != Verdict.UNJUDGED):
        entry = replace(entry, caveat=row["reason"], notes=(row["notes"],) if row["notes"] else ())
    deviation = float(row["measured_std"]) if row["measured_std"] else None
    value = MeasuredNumber(float(row["measured"]), deviation, int(row["repetitions"]))
    return replace(compare_cell(entry, {}, {}), value=value, reason="", made=row["made"])


def _missing(table: str, entry: PaperCell, previous: PreviousRun) -> ComparedCell | None:
    """Return a cell that the pages have, and that neither they nor this run measured; None if they lack it."""
    at = (table, entry.label)
    if at not in previous.missing and at not in previous.cells:
        return None
    return replace(compare_cell(entry, {}, {}), reason=previous.missing.get(at, NOT_RUN))


def _figure(one: FigureResult, previous: PreviousRun, fresh: bool, cells: MeasuredMeans) -> FigureResult:
    """Return a figure of this run or as kept; one that shows cells is drawn from them anew, so that it and the tables agree."""
    earlier = previous.pictures.get(one.figure.name)
    if one.figure.draw_cells is not None:
        drawn = one.figure.draw_cells(cells)
        made = earlier[1] if earlier is not None and earlier[0] == drawn else ""
        return one if drawn is None else replace(one, picture=drawn, reason="", made=made)
    if one.picture is not None and (fresh or earlier is None):
        return one
    if earlier is None:
        return one if fresh else replace(one, reason=previous.reasons.get(one.figure.name, one.reason))
    picture, made = earlier
    return replace(one, picture=picture, reason="", made=made)
