"""`reproduce`: measure the papers' tables and figures again, and return each paper's cells and pictures as a `Reproduction`."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

from marginopt.drawing import Picture
from marginopt.errors import InputError, short_text
from marginopt.relaxations import CellStore
from marginopt.relaxations.report.runner import describe_blas, describe_machine
from marginopt.solvers.parallel import Cluster, choose_executor

from .comparison import ComparedCell, Verdict, compare_cell
from .record import PAPERS, Paper, PaperFigure, PaperTable, ProtocolSize, Results, Run, protocol_size, tables_and_figures
from .task import measure_runs, read_stored_runs

#: How a run was made, as pairs of label and words: effort, command, machine, versions, time.
RunHeader: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TableResult:
    """A table with its cells as measured."""

    table: PaperTable
    cells: tuple[ComparedCell, ...]

    def count_cells(self, *verdicts: Verdict) -> int:
        """Return the number of cells with one of these verdicts."""
        return sum(cell.verdict in verdicts for cell in self.cells)

    @property
    def inside_count(self) -> int:
        """Return the number of cells inside one published deviation."""
        return self.count_cells(Verdict.INSIDE)

    @property
    def judged_count(self) -> int:
        """Return the number of cells that were measured and are judged."""
        return self.count_cells(Verdict.INSIDE, Verdict.ABOVE, Verdict.BELOW)


@dataclass(frozen=True)
class FigureResult:
    """A redrawn figure, or the reason why it is not drawn; ``made`` is the time of the earlier run that drew it, else empty."""

    figure: PaperFigure
    picture: Picture | None
    reason: str
    made: str = ""


@dataclass(frozen=True)
class Reproduction:
    """One paper's tables and figures as measured, and how the runs were made.

    Parameters
    ----------
    paper : Paper
    tables : tuple of TableResult
    figures : tuple of FigureResult
    effort : ProtocolSize
    header : RunHeader
        How this run was made.
    earlier : tuple of RunHeader
        How the earlier runs were made whose cells and figures are taken over (`previous_run`).
    """

    paper: Paper
    tables: tuple[TableResult, ...]
    figures: tuple[FigureResult, ...]
    effort: ProtocolSize
    header: RunHeader
    earlier: tuple[RunHeader, ...] = ()

    @property
    def created(self) -> str:
        """Return date and time of this run."""
        return dict(self.header).get("created", "")

    @property
    def headers(self) -> tuple[RunHeader, ...]:
        """Return the headers (machine, time, versions) of all runs whose results the page shows."""
        return tuple(header for header in (self.header, *self.earlier) if any(self.counts_of_run(header))) or (self.header,)

    def counts_of_run(self, header: RunHeader) -> tuple[int, int]:
        """Return the numbers of shown cells and figures that the run with this header measured."""
        made = "" if header is self.header else dict(header)["created"]
        cells = sum(cell.made == made and cell.value is not None for table in self.tables for cell in table.cells)
        return cells, sum(one.made == made and one.picture is not None for one in self.figures)

    @property
    def inside_count(self) -> int:
        """Return the number of cells inside one published deviation."""
        return sum(table.inside_count for table in self.tables)

    @property
    def judged_count(self) -> int:
        """Return the number of cells that were measured and are judged."""
        return sum(table.judged_count for table in self.tables)

    @property
    def missing_count(self) -> int:
        """Return the number of cells without a measured number."""
        return sum(table.count_cells(Verdict.MISSING) for table in self.tables)


# exempt (arguments): users give them by name
def reproduce(
    names: Sequence[str] = (),
    *,
    effort: str = "quick",
    repetitions: int | None = None,
    store: str | Path,
    jobs: int | None = None,
    progress: bool = True,
    run: bool = True,
    command: str = "",
    cluster: Cluster = None,
    rows: Sequence[str] = (),
) -> list[Reproduction]:
    """Measure tables and figures of the papers again, or read what a store has of them.

    Parameters
    ----------
    names : sequence of str
        Papers ("conic"), tables ("conic-table-1"), figures; all where none is given.
    effort : {"quick", "reduced", "full"}
        One row of each table and few repetitions; all rows with thinned grids and few repetitions; the paper's protocol.
    repetitions : int, optional
        Another number of repetitions at most.
    store : path-like
        The file that keeps every run when it is done: what it has is not run again, and a kill costs what is being computed.
    jobs : int, optional
        Runs at a time, by joblib; -1 for all cores. Where it is not given, one, or what an enclosing ``joblib.parallel_config``
        says.
    progress : bool
        Lines on standard error.
    run : bool
        Whether to run what the store lacks; False reads the store alone.
    command : str
        Command that the header shows.
    cluster : distributed.Client or str, optional
        As in `gap_report`. Workers find the data sets as this process does: in the directory that ``MARGINOPT_DATA`` names there.
    rows : sequence of str
        First labels of rows ("USPS"): only their cells are measured, all others and the figures are as the store has them.

    Returns
    -------
    list of Reproduction
        One for each paper that is asked for.

    Raises
    ------
    InputError
        An unknown name or effort; no table asked for has such a row.
    DataError
        The store's file is not a store.
    """
    much = protocol_size(effort, repetitions)
    tables, figures = tables_and_figures(names)
    path = Path(store)
    if not run and not path.is_file():
        raise InputError(f"there is no store {path}: run the tables first")
    CellStore(path)  # a file that is none is an error now
    now, rest = _runs(tables, figures, much, rows if run else ())
    now, rest = (now, rest) if run else ([], [*now, *rest])
    with choose_executor(jobs, cluster) as team:
        results, lacking = measure_runs(now, path, team, progress)
    had, unknown = read_stored_runs(rest, path)
    results, lacking = {**had, **results}, {**unknown, **lacking}
    head = _head(much, command)
    pages = []
    for paper in PAPERS.values():
        mine = tuple(TableResult(table, _cells(table, much, results, lacking)) for table in tables if table.paper is paper)
        drawn = tuple(_drawn(figure, much, results, lacking) for figure in figures if figure.paper is paper)
        if mine or drawn:
            pages.append(Reproduction(paper, mine, drawn, much, head))
    return pages


def _runs(
    tables: Sequence[PaperTable], figures: Sequence[PaperFigure], effort: ProtocolSize, rows: Sequence[str]
) -> tuple[list[Run], list[Run]]:
    """Return the runs to do, of ``rows`` alone if some are given, and the other runs."""
    parts: list[PaperTable | PaperFigure] = [*tables, *figures]
    every = dict.fromkeys(run for one in parts for run in one.runs(effort))
    read = dict.fromkeys(run for table in tables for run in table.borrowed_runs(effort) if run not in every)
    if not rows:
        return list(every), list(read)
    known = dict.fromkeys(entry.labels[0] for table in tables for entry in table.cells(effort))
    for row in rows:
        if row not in known:
            raise InputError(
                f"no table asked for has a row {short_text(row)}; its rows are {', '.join(known) or 'none'}",
                name=row,
                allowed=known,
            )
    now = dict.fromkeys(run for table in tables for run in table.runs(effort, rows))
    return list(now), [run for run in (*every, *read) if run not in now]


def _cells(table: PaperTable, effort: ProtocolSize, results: Results, lacking: Mapping[Run, str]) -> tuple[ComparedCell, ...]:
    """Return the cells of a table without those that are neither published nor measured."""
    cells = (compare_cell(entry, results, lacking) for entry in table.cells(effort))
    return tuple(cell for cell in cells if cell.has_number)


def _drawn(figure: PaperFigure, effort: ProtocolSize, results: Results, lacking: Mapping[Run, str]) -> FigureResult:
    picture, runs = figure.draw(results), figure.runs(effort)
    reasons = dict.fromkeys(lacking[run] for run in runs if run in lacking)
    otherwise = "Too little was measured." if runs else f"The {effort.name} effort runs nothing for it."
    return FigureResult(figure, picture, "" if picture else " ".join(reasons) or otherwise)


def _head(effort: ProtocolSize, command: str) -> RunHeader:
    packages = ("marginopt", "numpy", "scipy", "scikit-learn", "numba", "piqp")
    versions = [f"python {platform.python_version()}", *(f"{name} {metadata.version(name)}" for name in packages)]
    most = (
        "the paper's number" if effort.max_repetitions is None else f"at most {effort.max_repetitions}"
    ) + " (each cell says how many were done)"
    grids = "thinned as each table says" if effort.thinned else "the paper's"
    return (
        ("effort", f"{effort.name}: repetitions {most}, grids {grids}" + (", one row of each table" if effort.one_row else "")),
        ("command", command or "reproduction.reproduce"),
        ("seeds", "0, 1, .., one for each repetition"),
        ("machine", describe_machine()),
        ("BLAS", "; ".join(describe_blas()) + "; one thread for a run"),
        ("versions", ", ".join(versions)),
        ("created", datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")),
    )
