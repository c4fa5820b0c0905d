"""Base classes of a gap report's cells: stored records, the problems of the rows (subjects), and tasks that compute cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from types import UnionType
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar, get_args, get_origin, get_type_hints, runtime_checkable

import numpy as np

from ....errors import DataError, InputError, MarginoptError, UnsupportedModelError
from ....instances.instance import as_fraction, split_rows
from ....instances.naming import InstanceName
from ....models.arrays import FloatArray, Points
from ....models.decision import decided_labels
from ....models.formulations.zero_one import ZeroOneSVM
from ....models.model import Model, as_model
from ....solvers.certification.result import BoundKind
from ....solvers.interface.solver import Solver
from ....solvers.records import Options, Status
from ....solvers.registry import SolverSpec
from ...relaxed import bound_words
from ...strengthening import heuristic, heuristic_solution, tighten

#: What is solved: the instance's name and λ; None where a model was stated as it is.
Key: TypeAlias = tuple[str, float | None]

C = TypeVar("C", bound="Record")

#: Largest numbers and counts of a record.
_LARGEST, _LARGEST_COUNT = float(np.finfo(np.float64).max), 2**63 - 1


@runtime_checkable
class InstanceData(Protocol):
    """The part of an instance that a report reads (`marginopt.instances.Instance` has it)."""

    @property
    def X(self) -> Points:
        """Rows of data, taken literally."""

    @property
    def y(self) -> Any:
        """Labels -1, +1."""

    @property
    def name(self) -> str:
        """Name, one for each instance of a report."""

    @property
    def source(self) -> str:
        """The source of the data."""


@runtime_checkable
class GeneratedData(InstanceData, Protocol):
    """Data that say of what family they are and with which parameters they were drawn (`marginopt.instances.Instance` does)."""

    @property
    def family(self) -> str:
        """The family of data that differ in sizes and parameters alone; empty: the name."""

    @property
    def parameters(self) -> Mapping[str, float] | None:
        """Numbers by name; n and p are counted."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out points, on which errors are counted and nothing is fitted.

    Parameters
    ----------
    X, y : arrays
    words : str
        Description of the points.
    """

    X: Points
    y: Any
    words: str

    def error(self, model: Model, values: Mapping[str, FloatArray] | None) -> float | None:
        """Part of the points that a model's classifier puts into the other class; None without a point or a classifier.

        A score of 0 is of class -1, as in `Model.predict`.
        """
        if not values:
            return None
        try:
            scores = model.decision_function(values, self.X)
        except UnsupportedModelError:
            return None
        return float(np.mean(decided_labels(scores) != np.asarray(self.y)))


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """The data that remain when a part is held out, under the name of the whole."""

    X: Points
    y: Any
    name: str
    source: str
    family: str
    parameters: Mapping[str, float]

    @classmethod
    def of(cls, data: InstanceData, fraction: float, seed: int) -> tuple[TrainingPart, HeldOut]:
        """Split an instance at random, classes in proportion."""
        share = as_fraction(fraction, "held_out", 1.0)
        rows, out = split_rows(np.asarray(data.y), (1.0 - share, share), seed, True)
        y = np.asarray(data.y)
        if len(np.unique(y[rows])) < len(np.unique(y)):
            raise InputError(f"held_out={fraction:g} leaves {data.name} without points of one class", name="held_out")
        words = f"{out.size} of {y.size} points, chosen by seed {seed}, classes in proportion"
        family, parameters = (data.family, data.parameters or {}) if isinstance(data, GeneratedData) else ("", {})
        part = cls(data.X[rows], y[rows], data.name, f"{data.source}; without {words}", family, parameters)
        return part, HeldOut(data.X[out], y[out], words)


@dataclass(frozen=True)
class Record:
    """A data class that is stored as JSON and read back with its types checked.

    Attributes
    ----------
    added : mapping
        Fields that records of earlier versions did not have, with the values to read there.
    """

    added: ClassVar[Mapping[str, Any]] = {}

    def record(self) -> dict[str, Any]:
        """Return plain values by field."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_record(cls: type[C], record: dict[str, Any]) -> C:
        """Return the cell of a stored record.

        Raises
        ------
        DataError
            The record lacks a field or has one that is not known.
        """
        names = {f.name for f in fields(cls)}
        record = {**cls.added, **record} if isinstance(record, dict) else record
        if not isinstance(record, dict) or set(record) != names:
            content = sorted(record) if isinstance(record, dict) else type(record).__name__
            raise DataError(f"a {cls.__name__} of a stored report has the fields {sorted(names)}; found {content}", allowed=names)
        kinds = get_type_hints(cls)
        wrong = [name for name, value in record.items() if not _fits(value, kinds[name])]
        if wrong:
            raise DataError(f"{', '.join(wrong)} of a {cls.__name__} of a stored report are not what they must be", allowed=names)
        return cls(**record)


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value is one that JSON has for a field of this type; numbers are finite in double precision."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(_fits(value, kind) for kind in inner)
    if origin is abc.Mapping:
        return isinstance(value, Mapping) and all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    if origin is tuple:
        kinds = inner[:1] * len(value) if isinstance(value, list | tuple) and inner[1:] == (...,) else inner
        return isinstance(value, list | tuple) and len(value) == len(kinds) and all(map(_fits, value, kinds))
    if hint in (int, float):
        is_number = isinstance(value, Real if hint is float else Integral) and not isinstance(value, bool)
        return is_number and bool(abs(value) <= (_LARGEST if hint is float else _LARGEST_COUNT))  # type: ignore[arg-type]
    return hint is Any or isinstance(value, hint)


@dataclass(frozen=True)
class Cell(Record):
    """The stored result of one computation on one instance at one λ.

    Parameters
    ----------
    instance : str
        Name of the instance.
    lam : float or None
        λ; None for a model as it was stated.
    """

    instance: str
    lam: float | None

    @property
    def key(self) -> Key:
        """Instance and λ."""
        return self.instance, self.lam

    @property
    def where(self) -> str:
        """Instance and λ in words."""
        return where(self.instance, self.lam)


class BoundingCell(Cell):
    """A cell whose ``bound`` bounds the 0-1 optimum or is None: with a caveat it is that of the program that was solved alone."""

    bound: float | None
    kind: str
    caveat: str

    def __post_init__(self) -> None:
        if self.caveat and (self.bound is not None or self.kind != BoundKind.NONE):
            object.__setattr__(self, "target_bound", self.bound)
            object.__setattr__(self, "target_kind", self.kind)
            object.__setattr__(self, "bound", None)
            object.__setattr__(self, "kind", BoundKind.NONE.value)

    @property
    def bounds_optimum(self) -> bool:
        """Return whether there is a bound and it is one of the 0-1 optimum."""
        return self.bound is not None


def where(name: str, lam: float | None) -> str:
    """An instance and λ in words; the name of a model that was stated as it is."""
    return name if lam is None else f"{name}, λ = {lam:g}"


@dataclass(frozen=True, eq=False)
class Subject(ABC):
    """The problem of a row of the report, with its name.

    Parameters
    ----------
    name, source : str
    model : Model
    family : str
        Shown beside results, as ``parameters``: they determine none, and are no part of a store's key.
    parameters : mapping of str to float
    test : HeldOut, optional
        The points held out.
    """

    name: str
    source: str
    model: Model
    family: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)
    test: HeldOut | None = None

    @property
    @abstractmethod
    def lam(self) -> float | None:
        """λ; None where the model says what it is."""

    @property
    @abstractmethod
    def data(self) -> dict[str, Any]:
        """Return the data that determine the problem, for the store's key."""

    @property
    def parts(self) -> dict[str, Any]:
        """Return everything that determines the subject, for the store's key."""
        test = {} if self.test is None else {"held out": [self.test.X, self.test.y]}
        return {"name": self.name, "source": self.source, **self.data, **test}

    @abstractmethod
    def incumbent(self, options: Options) -> tuple[FloatArray, float] | None:
        """Return the heuristic's classifier and its objective; None where no point is known."""

    def error(self, values: Mapping[str, FloatArray] | None) -> float | None:
        """Return the part of the points held out that a classifier gets wrong; None where there are none."""
        return None if self.test is None else self.test.error(self.model, values)

    @property
    def optimum(self) -> str:
        """The optimum that the bounds bound, in words."""
        return "the optimum" if self.lam is None else "the 0-1 optimum"

    @property
    def where(self) -> str:
        """Name and λ in words."""
        return where(self.name, self.lam)


@dataclass(frozen=True, eq=False)
class InstanceAt(Subject):
    """The 0-1 problem on an instance at one λ, with M of the incumbent where there is one by then."""

    model: ZeroOneSVM

    @classmethod
    def of(cls, data: InstanceData, lam: float, test: HeldOut | None = None) -> InstanceAt:
        """Return the problem of an instance, with family and parameters where it has them."""
        family, parameters = (data.family, data.parameters or {}) if isinstance(data, GeneratedData) else ("", {})
        return cls(data.name, data.source, ZeroOneSVM(data.X, data.y, lam=lam), family, parameters, test)

    def incumbent(self, options: Options) -> tuple[FloatArray, float]:
        """Return the heuristic's classifier and its objective."""
        return heuristic(self.model, options.seed)

    @property
    def lam(self) -> float:
        """λ."""
        assert isinstance(self.model.lam, float)
        return self.model.lam

    @property
    def data(self) -> dict[str, Any]:
        """Data and λ."""
        return {"X": self.model.X, "y": self.model.y, "lam": self.model.lam}

    def tightened(self, w: FloatArray) -> InstanceAt:
        """Return the subject with the objective of a classifier as the upper bound behind M."""
        return replace(self, model=tighten(self.model, w))


@dataclass(frozen=True, eq=False)
class ModelSubject(Subject):
    """A model as somebody stated it: composed, changed, or a program from elsewhere."""

    @classmethod
    def of(cls, name: str, model: Model, family: str = "", parameters: Mapping[str, float] | None = None) -> ModelSubject:
        """Return the subject of a model under a name, with the model's statement as the source."""
        return cls(name, f"{model.statement.title}: {model.statement.sizes}", model, family, parameters or {})

    def incumbent(self, options: Options) -> tuple[FloatArray, float] | None:
        """Return the best point that a heuristic for its kind of loss finds; None where none is known."""
        try:
            return heuristic_solution(self.model, options)
        except MarginoptError:
            return None  # the rows say why the model cannot be solved

    @property
    def lam(self) -> None:
        """None: the model has its own."""
        return None

    @property
    def data(self) -> dict[str, Any]:
        """The model with its data."""
        return {"model": self.model}


@dataclass(frozen=True, eq=False)
class ModelAtLam:
    """A problem that a function of λ states, under a name.

    Parameters
    ----------
    naming : InstanceName
        To which λ is added.
    state : callable
        λ to model.
    """

    naming: InstanceName
    state: Callable[[float], Model]

    @property
    def name(self) -> str:
        """The name without λ."""
        return self.naming.name

    def at(self, lam: float) -> ModelSubject:
        """The model at one λ, which its name says."""
        named = self.naming.changed({}, {"lam": lam})
        return ModelSubject.of(named["name"], as_model(self.state(lam)), named["family"], named["parameters"])


#: Layout of the stored records: cells of another one are computed anew.
LAYOUT = 2

#: What a task is about.
S = TypeVar("S", bound=Subject)


@dataclass(frozen=True, eq=False)
class Task(ABC, Generic[S]):
    """The computation of one cell.

    Parameters
    ----------
    subject : Subject
        An instance at one λ, or a model.
    options : Options
    """

    subject: S
    options: Options

    #: The kind of the record in the store: "instance", "relaxation", "exact", "kappa" or "lam".
    kind: ClassVar[str]

    @property
    @abstractmethod
    def label(self) -> str:
        """The kind of computation: tasks of one label take about as long."""

    @property
    def solvers(self) -> dict[str, Solver]:
        """The solvers that were asked for, by the labels that cells bear; ``auto`` is none of them."""
        return {}

    @property
    def parts(self) -> dict[str, Any]:
        """Return everything that determines the cell, for the store's key."""
        return {"layout": LAYOUT, **self.subject.parts, "options": self.options.record()}

    @abstractmethod
    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Return the record to store (its ``cell`` beside whatever else later tasks need), and whether it is worth keeping.

        ``threads`` stands in for an unlimited number: a process's share of the machine.
        """

    @abstractmethod
    def progress_text(self, record: dict[str, Any]) -> str:
        """Return the record in a few words, for the progress line."""


class SolverTask(Task[S]):
    """A cell of one solver, which is stored unless it could not run or was interrupted."""

    solver: SolverSpec

    @property
    def solvers(self) -> dict[str, Solver]:
        """The one that was asked for."""
        return self.solver.by_label

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Solve, and return the cell."""
        cell = self._cell(self.options.with_default_threads(threads)).record()
        return {"cell": cell}, not cell["reason"] and cell["status"] != str(Status.INTERRUPTED)

    @abstractmethod
    def _cell(self, options: Options) -> Record:
        """The cell of a solve."""

    def progress_text(self, record: dict[str, Any]) -> str:
        """Status, bound, incumbent, seconds."""
        return f"{self.subject.where}: {self.label}: {outcome(record['cell'], self.subject.optimum)}"


def as_number(value: float | None) -> float | None:
    """The number, or None where it is missing or not finite."""
    return float(value) if value is not None and np.isfinite(value) else None


def as_count(figures: Mapping[str, float], name: str) -> int | None:
    """A figure as an integer; None where it is missing."""
    return int(figures[name]) if name in figures else None


def outcome(cell: dict[str, Any], target: str = "the 0-1 optimum") -> str:
    """A cell's record in a few words."""
    if cell["reason"]:
        return f"not run: {cell['reason']}"
    caveat = cell.get("caveat", "")
    prefix = "target_" if caveat else ""
    bound = bound_words(cell[f"{prefix}bound"], cell[f"{prefix}kind"], caveat, target)
    point = f", incumbent {cell['incumbent']:.7g}" if cell.get("incumbent") is not None else ""
    return f"{cell['status']}, {bound}{point} ({cell['solve_seconds']:.2f} s)"
