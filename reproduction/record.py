"""Records of executable papers: papers, tables, figures, published numbers, runs, and the share of a protocol that is run."""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from marginopt.drawing import Picture
from marginopt.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class ProtocolSize:
    """The share of a table that is run: the paper's protocol, or less of it. Never tuned to the outcome.

    Parameters
    ----------
    name : str
    most : int or None
        Repetitions at most; None for the paper's number.
    thin : bool
        Grids of parameters thinned, selections on a part of the points: each table says how.
    one_row : bool
        One row of each table, its cheapest.
    """

    name: str
    most: int | None = None
    thin: bool = False
    one_row: bool = False

    def repetitions(self, of_paper: int) -> range:
        """Seeds of the repetitions."""
        return range(of_paper if self.most is None else min(of_paper, self.most))

    def rows(self, every: Sequence[T], quick: Sequence[T]) -> Sequence[T]:
        """The rows that are run."""
        return quick if self.one_row else every

    def grid(self, full: T, thin: T) -> T:
        """A grid, or the thinned one."""
        return thin if self.thin else full


EFFORTS = {
    e.name: e
    for e in (
        ProtocolSize("quick", most=2, thin=True, one_row=True),
        ProtocolSize("reduced", most=3, thin=True),
        ProtocolSize("full"),
    )
}


def protocol_size(name: str, repetitions: int | None = None) -> ProtocolSize:
    """An effort by name, with another number of repetitions where one is given."""
    if name not in EFFORTS:
        raise InputError(f"effort must be one of {', '.join(EFFORTS)}; it is {name!r}", name="effort")
    if repetitions is None:
        return EFFORTS[name]
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 1:
        raise InputError(f"repetitions must be an integer ≥ 1; it is {repetitions!r}", name="repetitions")
    return replace(EFFORTS[name], most=repetitions)


#: What parameters of a run are made of: a store keeps them as they are.
Plain: TypeAlias = str | int | float | bool | None


class CellKind(StrEnum):
    """The meaning of a cell's figure: the ledger counts the errors and accuracies that the papers print, and the rest apart."""

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
    """A paper.

    Parameters
    ----------
    name : str
        At the prompt: "conic".
    title, authors : str
    formulations : str
        What it states, in the package's names.
    """

    name: str
    title: str
    authors: str
    formulations: str


CONIC = Paper(
    "conic",
    "Robust support vector machines via conic optimization",
    "Cepeda, Gómez, Han",
    "ConicSVM, ZeroOneSVM, HingeSVM",
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
    """A measurement and its inputs.

    Parameters
    ----------
    name : str
        The store's name.
    measure : callable
        From a run's parameters to its record of numbers, words and lists; a function of a module, since it runs in other
        processes. Data that cannot be had are a `DataError`.
    data : callable
        The names of the data sets that parameters ask for: what they hold is a part of the run's identity.
    layout : int
        Raised when the protocol changes, so that stored runs of an older one are not taken for it.
    """

    name: str
    measure: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    data: Callable[[Mapping[str, Any]], Sequence[str]] = field(default=lambda parameters: ())
    layout: int = 1


@dataclass(frozen=True)
class Run:
    """One measurement: an experiment and all that determines it."""

    experiment: Experiment
    items: tuple[tuple[str, Plain], ...]

    @classmethod
    def of(cls, experiment: Experiment, **parameters: Plain) -> Run:
        """The run of these parameters."""
        return cls(experiment, tuple(sorted(parameters.items())))

    @property
    def parameters(self) -> dict[str, Plain]:
        """Parameters by name."""
        return dict(self.items)


#: What was measured; runs that could not be had are not in it.
Results: TypeAlias = Mapping[Run, Mapping[str, Any]]


@dataclass(frozen=True)
class Published:
    """A printed figure.

    Parameters
    ----------
    value : float
    deviation : float or None
        The printed standard deviation.
    unit : float
        Half of it is the rounding of the printed value.
    repetitions : int or None
        Repetitions that value and deviation are of, where the paper says so.
    """

    value: float
    deviation: float | None = None
    unit: float = 0.0
    repetitions: int | None = None

    @classmethod
    def of(cls, value: str, deviation: str = "", repetitions: int | None = None) -> Published | None:
        """Read the printed words; None where there are none."""
        if not value:
            return None
        mantissa, _, exponent = value.lower().partition("e")
        places = len(mantissa.partition(".")[2])
        unit = 10.0 ** (int(exponent or 0) - places)
        return cls(float(value), float(deviation) if deviation else None, unit, repetitions)


@functools.cache
def published(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of ``facts/<name>.csv``: published figures, words as printed."""
    text = (Path(__file__).parent / "facts" / f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@dataclass(frozen=True)
class Value:
    """A measured figure: mean, standard deviation (n - 1) over the repetitions, and their number."""

    mean: float
    deviation: float | None
    repetitions: int


#: Measured means by table and cell (`Entry.words`).
Cells: TypeAlias = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Entry:
    """One cell of a table.

    Parameters
    ----------
    labels : tuple of str
        Row and column, one word for each of the table's headings.
    published : Published or None
    runs : tuple of Run
        What it is measured by; none where it cannot be.
    summary : callable
        From the records of these runs, in their order, to the figure; None where they do not tell. The records of runs that
        are not there are left out.
    notes : tuple of str
        The erratum or choice that explains it.
    missing : str
        Why nobody can measure it here.
    caveat : str
        Why the measured figure is shown and not judged, in a few words ("another set"); empty where it is judged.
    kind : CellKind, optional
        Where it is another than the table's.
    borrowed : bool
        Whether its runs are another table's: they are read where a store has them, and never started for this one.
    """

    labels: tuple[str, ...]
    published: Published | None
    runs: tuple[Run, ...]
    summary: Callable[[Sequence[tuple[Run, Mapping[str, Any]]]], Value | None]
    notes: tuple[str, ...] = ()
    missing: str = ""
    caveat: str = ""
    kind: CellKind | None = None
    borrowed: bool = False

    @property
    def compared(self) -> bool:
        """Return whether it is judged."""
        return not self.caveat

    @property
    def words(self) -> str:
        """Row and column in a line."""
        return " | ".join(self.labels)


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper; its file ends with ``TABLES``.

    Parameters
    ----------
    name : str
        At the prompt: "conic-table-1".
    paper : Paper
    number, title : str
        "Table 1", and what it shows.
    headings : tuple of str
        Of the labels of its cells.
    unit : str
        Of the figures.
    protocol : str
        What a repetition does, with the choices that the paper leaves open.
    entries : callable
        Its cells under an effort, "quick", "reduced" or "full".
    notes : tuple of str
        Errata and choices that concern the whole table.
    across : int
        How many of the last labels name the columns of the printed table; 0 writes one cell to a line.
    kind : CellKind
        Of its cells that say nothing else.
    """

    name: str
    paper: Paper
    number: str
    title: str
    headings: tuple[str, ...]
    unit: str
    protocol: str
    entries: Callable[[ProtocolSize], Sequence[Entry]]
    notes: tuple[str, ...] = ()
    across: int = 0
    kind: CellKind = CellKind.RESULT

    def kind_of(self, entry: Entry) -> CellKind:
        """Return the kind of one of its cells; a cell without a printed figure is a variant."""
        return CellKind.VARIANT if entry.published is None else entry.kind or self.kind

    def runs(self, effort: ProtocolSize, rows: Sequence[str] = ()) -> list[Run]:
        """Return the runs that it starts, each once; of the rows whose first label is given, where any is."""
        entries = (entry for entry in self.entries(effort) if not entry.borrowed and (not rows or entry.labels[0] in rows))
        return list(dict.fromkeys(run for entry in entries for run in entry.runs))

    def borrowed(self, effort: ProtocolSize) -> list[Run]:
        """Return the runs of other tables that it reads."""
        return list(dict.fromkeys(run for entry in self.entries(effort) if entry.borrowed for run in entry.runs))


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, redrawn from what is measured; its file ends with ``FIGURES``.

    Parameters
    ----------
    name, paper, number, title
        As of `PaperTable`.
    needs : callable
        The runs that it is drawn from, under an effort, "quick", "reduced" or "full".
    draw : callable
        From what was measured to the picture; None where too little was.
    note : str
    of_cells : callable, optional
        Where the figure shows what tables show: from their cells to the picture. Pages that keep cells of earlier runs, whose
        records they have not, draw it by this.
    """

    name: str
    paper: Paper
    number: str
    title: str
    needs: Callable[[ProtocolSize], Sequence[Run]]
    draw: Callable[[Results], Picture | None]
    note: str = ""
    of_cells: Callable[[Cells], Picture | None] | None = None

    def runs(self, effort: ProtocolSize) -> list[Run]:
        """Return the runs that it needs, each once."""
        return list(dict.fromkeys(self.needs(effort)))
