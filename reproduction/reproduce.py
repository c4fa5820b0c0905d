"""Run the papers' tables and figures and gather what came out."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

from marginopt.drawing import Picture
from marginopt.errors import InputError
from marginopt.relaxations import CellStore
from marginopt.relaxations.report.runner import blas, machine
from marginopt.solvers.parallel import Cluster, choose_executor

from .comparison import ComparedCell, Verdict, compare_cell
from .finding import asked
from .record import PAPERS, Paper, PaperFigure, PaperTable, ProtocolSize, Results, Run, protocol_size
from .task import measure_all, stored

#: How a run was made: machine, versions, seeds, command, time.
Head: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TableResult:
    """A table and its cells as measured."""

    table: PaperTable
    cells: tuple[ComparedCell, ...]

    def count(self, *verdicts: Verdict) -> int:
        """Number of cells of these verdicts."""
        return sum(cell.verdict in verdicts for cell in self.cells)

    @property
    def inside(self) -> int:
        """Cells inside one published deviation."""
        return self.count(Verdict.INSIDE)

    @property
    def judged(self) -> int:
        """Cells that were measured and are judged."""
        return self.count(Verdict.INSIDE, Verdict.ABOVE, Verdict.BELOW)


@dataclass(frozen=True)
class FigureResult:
    """A redrawn figure, or the reason why there is none; ``made`` is the time of the earlier run that drew it, if one did."""

    figure: PaperFigure
    picture: Picture | None
    reason: str
    made: str = ""


@dataclass(frozen=True)
class Reproduction:
    """One paper: its tables and figures as measured, and how.

    Parameters
    ----------
    paper : Paper
    tables : tuple of TableResult
    pictures : tuple of FigureResult
    effort : ProtocolSize
    head : tuple of (str, str)
        Machine, versions, seeds, command.
    earlier : tuple of heads
        Of the runs that measured cells and figures before this one (`kept`).
    """

    paper: Paper
    tables: tuple[TableResult, ...]
    pictures: tuple[FigureResult, ...]
    effort: ProtocolSize
    head: Head
    earlier: tuple[Head, ...] = ()

    @property
    def created(self) -> str:
        """The time of this run."""
        return dict(self.head).get("created", "")

    @property
    def heads(self) -> tuple[Head, ...]:
        """Return the headers (machine, time, versions) of all runs whose results the page shows."""
        return tuple(head for head in (self.head, *self.earlier) if any(self.share(head))) or (self.head,)

    def share(self, head: Head) -> tuple[int, int]:
        """Return the numbers of cells and figures that one run measured."""
        made = "" if head is self.head else dict(head)["created"]
        cells = sum(cell.made == made and cell.value is not None for table in self.tables for cell in table.cells)
        return cells, sum(one.made == made and one.picture is not None for one in self.pictures)

    @property
    def inside(self) -> int:
        """Cells inside one published deviation."""
        return sum(table.inside for table in self.tables)

    @property
    def judged(self) -> int:
        """Cells that were measured and are judged."""
        return sum(table.judged for table in self.tables)

    @property
    def missing(self) -> int:
        """Cells without a measured figure."""
        return sum(table.count(Verdict.MISSING) for table in self.tables)


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
    """Measure published tables and figures again.

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
        False: what the store has, and nothing is run.
    command : str
        For the head.
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
    tables, figures = asked(names)
    path = Path(store)
    if not run and not path.is_file():
        raise InputError(f"there is no store {path}: run the tables first")
    CellStore(path)  # a file that is none is an error now
    now, rest = _runs(tables, figures, much, rows if run else ())
    now, rest = (now, rest) if run else ([], [*now, *rest])
    with choose_executor(jobs, cluster) as team:
        results, lacking = measure_all(now, path, team, progress)
    had, unknown = stored(rest, path)
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
    """The runs of these rows, of all that is wanted where none is given; and the other ones."""
    parts: list[PaperTable | PaperFigure] = [*tables, *figures]
    every = dict.fromkeys(run for one in parts for run in one.runs(effort))
    read = dict.fromkeys(run for table in tables for run in table.borrowed(effort) if run not in every)
    if not rows:
        return list(every), list(read)
    known = dict.fromkeys(entry.labels[0] for table in tables for entry in table.entries(effort))
    for row in rows:
        if row not in known:
            raise InputError(
                f"no table asked for has a row {row!r}; its rows are {', '.join(known) or 'none'}", name=row, allowed=known
            )
    now = dict.fromkeys(run for table in tables for run in table.runs(effort, rows))
    return list(now), [run for run in (*every, *read) if run not in now]


def _cells(table: PaperTable, effort: ProtocolSize, results: Results, lacking: Mapping[Run, str]) -> tuple[ComparedCell, ...]:
    """The cells; one that is neither published nor measured says nothing and is left out."""
    cells = (compare_cell(entry, results, lacking) for entry in table.entries(effort))
    return tuple(cell for cell in cells if cell.says_something)


def _drawn(figure: PaperFigure, effort: ProtocolSize, results: Results, lacking: Mapping[Run, str]) -> FigureResult:
    picture, runs = figure.draw(results), figure.runs(effort)
    reasons = dict.fromkeys(lacking[run] for run in runs if run in lacking)
    otherwise = "Too little was measured." if runs else f"The {effort.name} effort runs nothing for it."
    return FigureResult(figure, picture, "" if picture else " ".join(reasons) or otherwise)


def _head(effort: ProtocolSize, command: str) -> Head:
    packages = ("marginopt", "numpy", "scipy", "scikit-learn", "numba", "piqp")
    versions = [f"python {platform.python_version()}", *(f"{name} {metadata.version(name)}" for name in packages)]
    most = ("the paper's number" if effort.most is None else f"at most {effort.most}") + " (each cell says how many were done)"
    grids = "thinned as each table says" if effort.thin else "the paper's"
    return (
        ("effort", f"{effort.name}: repetitions {most}, grids {grids}" + (", one row of each table" if effort.one_row else "")),
        ("command", command or "reproduction.reproduce"),
        ("seeds", "0, 1, .., one for each repetition"),
        ("machine", machine()),
        ("BLAS", "; ".join(blas()) + "; one thread for a run"),
        ("versions", ", ".join(versions)),
        ("created", datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")),
    )
