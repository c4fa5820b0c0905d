"""The papers as data: tables and figures, their published numbers, the runs that measure these again, and how names find them.

The modules of a paper's folder state its tables and figures in ``TABLES`` and ``FIGURES``.
"""

from __future__ import annotations

import csv
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from marginopt.drawing import Picture
from marginopt.errors import InputError, near_names, short_text

_T = TypeVar("_T")


@dataclass(frozen=True)
class ProtocolSize:
    """The part of a paper's protocol that is run (``--effort``), fixed before any outcome is known.

    Parameters
    ----------
    name : str
        "quick", "reduced" or "full".
    max_repetitions : int or None
        Largest number of repetitions; None for the paper's number.
    thinned : bool
        Whether grids of parameters are thinned and parameters selected on a part of the points; each table says how.
    one_row : bool
        Whether one row of each table is run, its cheapest.
    """

    name: str
    max_repetitions: int | None = None
    thinned: bool = False
    one_row: bool = False

    def seeds(self, paper_repetitions: int) -> range:
        """Return the seeds 0, 1, .. of the repetitions: as many as the paper has, or ``max_repetitions`` if that is less."""
        return range(paper_repetitions if self.max_repetitions is None else min(paper_repetitions, self.max_repetitions))

    def rows(self, every: Sequence[_T], quick: Sequence[_T]) -> Sequence[_T]:
        """Return ``quick`` if one row of each table is run, else ``every`` row."""
        return quick if self.one_row else every

    def grid(self, full: _T, thin: _T) -> _T:
        """Return ``thin`` if grids of parameters are thinned, else ``full``."""
        return thin if self.thinned else full


#: Values of ``--effort``, the cheapest first.
EFFORTS = {
    e.name: e
    for e in (
        ProtocolSize("quick", max_repetitions=2, thinned=True, one_row=True),
        ProtocolSize("reduced", max_repetitions=3, thinned=True),
        ProtocolSize("full"),
    )
}


def protocol_size(name: str, repetitions: int | None = None) -> ProtocolSize:
    """Return the effort of this name, with another largest number of repetitions if one is given."""
    if name not in EFFORTS:
        raise InputError(f"effort must be one of {', '.join(EFFORTS)}; it is {short_text(name)}", name="effort")
    if repetitions is None:
        return EFFORTS[name]
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 1:
        raise InputError(f"repetitions must be an integer ≥ 1; it is {short_text(repetitions)}", name="repetitions")
    return replace(EFFORTS[name], max_repetitions=repetitions)


#: Types of a run's parameters, which a store keeps as they are.
ParameterValue: TypeAlias = str | int | float | bool | None


class CellKind(StrEnum):
    """The meaning of a cell's number. The ledger counts errors and accuracies, and all other kinds apart."""

    RESULT = "error or accuracy"
    SIZE = "size of a set"
    STATISTIC = "statistic or conclusion computed from printed figures"
    COUNT = "number of models trained"
    PARAMETER = "selected parameter"
    SECONDS = "time"
    AVERAGE = "average made here"
    VARIANT = "variant beside a printed cell"


@dataclass(frozen=True)
class Paper:
    """A paper whose tables and figures are measured again.

    Parameters
    ----------
    name : str
        Name at the prompt ("conic"); that of its folder has underscores for hyphens.
    title, authors : str
    formulations : str
        Names of the package's formulations of its problems.
    """

    name: str
    title: str
    authors: str
    formulations: str


CONIC = Paper(
    "conic", "Robust support vector machines via conic optimization", "Cepeda, Gómez, Han", "ConicSVM, ZeroOneSVM, HingeSVM"
)
MAX_MIN = Paper("max-min", "MaxMin-L2-SVC-NCH", "Luo, Yang, Peng, Wang, Chen", "ConvexHullsDual, MaxMinSVM")
NPSVC = Paper(
    "npsvc",
    "NPSVC++: Nonparallel classifiers encounter representation learning",
    "Zhang, Lai, Zhou, Liang",
    "ChebyshevNPSVC, NonparallelSVM",
)
FRANK_WOLFE = Paper(
    "frank-wolfe",
    "Training support vector machines using Frank-Wolfe optimization methods",
    "Frandi, Ñanculef, Gasparo, Lodi, Sartori",
    "L2SVMDual, MEBDual",
)
PAPERS = {paper.name: paper for paper in (CONIC, MAX_MIN, NPSVC, FRANK_WOLFE)}


@dataclass(frozen=True)
class Experiment:
    """A kind of measurement: a function from the parameters of one run to the numbers that it measures.

    Parameters
    ----------
    name : str
        Name in the store's keys.
    measure : callable
        From a run's parameters to its record of numbers, words and lists; a function of a module, since it runs in other
        processes. It raises `DataError` for data that cannot be had.
    data : callable
        From a run's parameters to the names of its data sets, whose content is a part of the store's key.
    layout : int
        Version of the protocol. A new one keeps stored runs of an older protocol from being taken for it.
    """

    name: str
    measure: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    data: Callable[[Mapping[str, Any]], Sequence[str]] = field(default=lambda parameters: ())
    layout: int = 1


@dataclass(frozen=True)
class Run:
    """One run of an experiment with its parameters, as pairs (name, value) sorted by name."""

    experiment: Experiment
    items: tuple[tuple[str, ParameterValue], ...]

    @classmethod
    def of(cls, experiment: Experiment, **parameters: ParameterValue) -> Run:
        """Return the run of an experiment with these parameters."""
        return cls(experiment, tuple(sorted(parameters.items())))

    @property
    def parameters(self) -> dict[str, ParameterValue]:
        """Return the parameters by name."""
        return dict(self.items)


#: Records of measured numbers by run; runs whose data cannot be had are absent.
Results: TypeAlias = Mapping[Run, Mapping[str, Any]]


@dataclass(frozen=True)
class PublishedNumber:
    """A number that a paper prints.

    Parameters
    ----------
    value : float
    deviation : float or None
        The printed standard deviation.
    unit : float
        Unit of the last printed digit: the value is known to half of it either way.
    repetitions : int or None
        Number of repetitions that value and deviation are taken over, if the paper says so.
    """

    value: float
    deviation: float | None = None
    unit: float = 0.0
    repetitions: int | None = None

    @classmethod
    def of(cls, value: str, deviation: str = "", repetitions: int | None = None) -> PublishedNumber | None:
        """Return the number of a printed text such as "83.40", whose digits give the unit; None for an empty text."""
        if not value:
            return None
        mantissa, _, exponent = value.lower().partition("e")
        places = len(mantissa.partition(".")[2])
        unit = 10.0 ** (int(exponent or 0) - places)
        return cls(float(value), float(deviation) if deviation else None, unit, repetitions)


@functools.cache
def published_rows(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of ``facts/<name>.csv``: published numbers as printed, by column."""
    text = (Path(__file__).parent / "facts" / f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@dataclass(frozen=True)
class MeasuredNumber:
    """A measured number: mean and sample standard deviation over the repetitions, and the number of these."""

    mean: float
    deviation: float | None
    repetitions: int


#: Measured means by table and cell (`PaperCell.label`).
MeasuredMeans: TypeAlias = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class PaperCell:
    """One cell of a paper's table: its published number, and the runs that measure it again.

    Parameters
    ----------
    labels : tuple of str
        Row and column, one word for each of the table's headings.
    published : PublishedNumber or None
    runs : tuple of Run
        The runs that measure it; empty if no run can.
    summary : callable
        From pairs of these runs and their records, absent runs left out, to the measured number; None without one.
    notes : tuple of str
        Errata and choices that explain the number.
    missing : str
        Why it cannot be measured here; empty if it can.
    caveat : str
        Why the measured number is shown and not judged, in a few words ("another set"); empty if it is judged.
    kind : CellKind, optional
        The cell's kind if it differs from the table's.
    borrows_runs : bool
        Whether its runs belong to another table: they are read from the store, and never started for this cell.
    """

    labels: tuple[str, ...]
    published: PublishedNumber | None
    runs: tuple[Run, ...]
    summary: Callable[[Sequence[tuple[Run, Mapping[str, Any]]]], MeasuredNumber | None]
    notes: tuple[str, ...] = ()
    missing: str = ""
    caveat: str = ""
    kind: CellKind | None = None
    borrows_runs: bool = False

    @property
    def is_compared(self) -> bool:
        """Return whether the measured number is judged against the published one."""
        return not self.caveat

    @property
    def label(self) -> str:
        """Return the words of row and column on one line."""
        return " | ".join(self.labels)


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper; ``TABLES`` of a module lists it.

    Parameters
    ----------
    name : str
        Name at the prompt ("conic-table-1").
    paper : Paper
    number, title : str
        "Table 1", and what the table shows.
    headings : tuple of str
        Headings of the cells' labels.
    unit : str
        Unit of the numbers.
    protocol : str
        What a repetition does, with the choices that the paper leaves open.
    cells : callable
        From an effort to the table's cells.
    notes : tuple of str
        Errata and choices that concern the whole table.
    column_levels : int
        Number of labels, the last ones, that name the columns of the printed table; 0 writes one cell to a line.
    kind : CellKind
        Kind of the cells that state no kind of their own.
    """

    name: str
    paper: Paper
    number: str
    title: str
    headings: tuple[str, ...]
    unit: str
    protocol: str
    cells: Callable[[ProtocolSize], Sequence[PaperCell]]
    notes: tuple[str, ...] = ()
    column_levels: int = 0
    kind: CellKind = CellKind.RESULT

    def kind_of(self, cell: PaperCell) -> CellKind:
        """Return the kind of one of its cells; a cell without a published number is a variant."""
        return CellKind.VARIANT if cell.published is None else cell.kind or self.kind

    def runs(self, effort: ProtocolSize, rows: Sequence[str] = ()) -> list[Run]:
        """Return the runs that the table starts, each once; if ``rows`` are given, those of rows with these first labels."""
        cells = (cell for cell in self.cells(effort) if not cell.borrows_runs and (not rows or cell.labels[0] in rows))
        return list(dict.fromkeys(run for cell in cells for run in cell.runs))

    def borrowed_runs(self, effort: ProtocolSize) -> list[Run]:
        """Return the runs of other tables that its cells read."""
        return list(dict.fromkeys(run for cell in self.cells(effort) if cell.borrows_runs for run in cell.runs))


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, redrawn from measured numbers; ``FIGURES`` of a module lists it.

    Parameters
    ----------
    name, paper, number, title
        As for `PaperTable`.
    required_runs : callable
        From an effort to the runs that the figure is drawn from.
    draw : callable
        From the records of runs to the picture; None if too few were measured.
    note : str
        Sentence under the picture.
    draw_cells : callable, optional
        From the means of tables' cells to the picture, for a figure that shows numbers of tables. Pages that keep cells of
        earlier runs, without the records, draw it from these.
    """

    name: str
    paper: Paper
    number: str
    title: str
    required_runs: Callable[[ProtocolSize], Sequence[Run]]
    draw: Callable[[Results], Picture | None]
    note: str = ""
    draw_cells: Callable[[MeasuredMeans], Picture | None] | None = None

    def runs(self, effort: ProtocolSize) -> list[Run]:
        """Return the runs that the figure is drawn from, each once."""
        return list(dict.fromkeys(self.required_runs(effort)))


#: Other words for a paper, alone or before "-table-1".
_SHORT = {"fw": "frank-wolfe", "maxmin": "max-min", "npsvc++": "npsvc"}


@functools.cache
def _modules() -> tuple[object, ...]:
    home = __name__.rpartition(".")[0]
    folders = [importlib.import_module(f"{home}.{name.replace('-', '_')}") for name in PAPERS]
    return tuple(
        importlib.import_module(f"{folder.__name__}.{module.name}")
        for folder in folders
        for module in pkgutil.iter_modules(folder.__path__)
    )


@functools.cache
def paper_tables() -> dict[str, PaperTable]:
    """Return all tables by name, paper by paper."""
    table_list = [table for module in _modules() for table in getattr(module, "TABLES", ())]
    return {table.name: table for table in sorted(table_list, key=_order)}


@functools.cache
def paper_figures() -> dict[str, PaperFigure]:
    """Return all figures by name, paper by paper."""
    figure_list = [figure for module in _modules() for figure in getattr(module, "FIGURES", ())]
    return {figure.name: figure for figure in sorted(figure_list, key=_order)}


def _order(one: PaperTable | PaperFigure) -> tuple[int, str]:
    return list(PAPERS).index(one.paper.name), one.name


def tables_and_figures(names: Sequence[str]) -> tuple[list[PaperTable], list[PaperFigure]]:
    """Return the tables and figures that names select: a paper's name selects all of its own, no name selects everything.

    "fw" is "frank-wolfe", "fw-table-2" its Table 2; "maxmin" and "npsvc++" are understood too.
    """
    long = [_long(name) for name in names]
    for name in long:
        if name not in PAPERS and name not in paper_tables() and name not in paper_figures():
            known = [*PAPERS, *paper_tables(), *paper_figures()]
            close = near_names(name, known, 4)
            hint = f"did you mean {' or '.join(close)}?" if close else f"papers are {', '.join(PAPERS)}."
            message = f"no paper, table or figure is called {short_text(name)}; {hint} marginopt reproduce lists them"
            raise InputError(message, name=name, allowed=known)
    wanted = set(long)

    def chosen(one: PaperTable | PaperFigure) -> bool:
        return not wanted or one.name in wanted or one.paper.name in wanted

    return [t for t in paper_tables().values() if chosen(t)], [f for f in paper_figures().values() if chosen(f)]


def _long(name: str) -> str:
    """Return a name with the paper's own word in place of a short one."""
    first, dash, rest = name.partition("-")
    return f"{_SHORT.get(first, first)}{dash}{rest}"
