"""The stored results of a gap report: a data class (cell) for each kind of computation, written to JSON and read back.

The 0-1 problem of an instance is min ||w||² + λ Σ 1{u_i < 1}, u_i = y_i x_i'w the margin of point i; M are constants of its
big-M rows u_i ≥ 1 - M_i z_i, z_i in {0, 1}. A model *as stated* is a user's own, with any objective.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from types import UnionType
from typing import Any, ClassVar, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from ...errors import DataError, short_text
from ...solvers.certification.result import BoundKind
from ...solvers.records import Status

#: Identity of a problem in a report: the instance's name and λ, the cost of a margin violation; λ is None for a model as stated.
CellKey: TypeAlias = tuple[str, float | None]

_R = TypeVar("_R", bound="Record")

#: Largest numbers and counts that a record may hold: those of float64 and int64.
_LARGEST, _LARGEST_COUNT = float(np.finfo(np.float64).max), 2**63 - 1

#: Seconds, incumbent and lower bound at that time; None where there is none yet.
TracePoint: TypeAlias = tuple[float, float | None, float | None]

#: Encoding of a cell whose solver reads the data and no standard form.
STRUCTURED = "none: reads the data"


@dataclass(frozen=True)
class Record:
    """A data class that is stored as JSON and read back with its types checked.

    Attributes
    ----------
    added_fields : mapping
        Values of the fields that records of earlier versions lack.
    """

    added_fields: ClassVar[Mapping[str, Any]] = {}

    def record(self) -> dict[str, Any]:
        """Return the values by the names of the fields, for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_record(cls: type[_R], record: dict[str, Any]) -> _R:
        """Return the object whose `record` was stored.

        Raises
        ------
        DataError
            The record lacks a field, has one that is not known, or a value of another type.
        """
        names = {f.name for f in fields(cls)}
        record = {**cls.added_fields, **record} if isinstance(record, dict) else record
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
        Name of the instance, or of the model.
    lam : float or None
        λ; None for a model as stated.
    """

    instance: str
    lam: float | None

    @property
    def key(self) -> CellKey:
        """Return instance and λ."""
        return self.instance, self.lam

    @property
    def label(self) -> str:
        """Return instance and λ in words."""
        return problem_label(self.instance, self.lam)


class BoundingCell(Cell):
    """A cell with a lower bound of the problem's optimum, ``bound``, and the evidence for it, ``kind``.

    With a ``caveat`` the solved program's bound need not bound the optimum: it moves to ``target_bound``, and ``bound`` is None.
    """

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
        """Return whether the cell has a bound of the problem's optimum."""
        return self.bound is not None


def problem_label(name: str, lam: float | None) -> str:
    """Return an instance and λ in words; the name alone for a model as stated."""
    return name if lam is None else f"{name}, λ = {lam:g}"


@dataclass(frozen=True)
class InstanceCell(Cell):
    """The sizes of a problem (an instance at one λ, or a model as stated), and the classifier that the heuristic found.

    Parameters
    ----------
    source : str
        Source of the data or of the model, in words.
    n, p : int or None
        Points; features, a constant column not counted. None for a program without points.
    intercept : bool
        Whether X has a constant column.
    positives : int or None
        Points labelled +1; None where there are no two classes.
    objective : float or None
        Objective of the heuristic's classifier, from which valid M of the 0-1 loss follow; None without one.
    violations, misclassified : int or None
        Points with u < 1, and with u < 0, under it.
    seconds : float
        The heuristic's time, without what was compiled.
    floor : float or None
        A lower bound of the optimum that needs no solving: 0 for nonnegative costs.
    family : str
        Family of instances that differ in sizes and parameters only; empty if the instance stands alone.
    parameters : mapping of str to float
        Parameters of the generator, without n and p.
    lam_low, lam_high : float or None
        The ends between which λ was chosen (`LamChoiceTask`); None where λ was given.
    trivial : float or None
        Objective of the best classifier without features, for a model as stated; None for an instance, where it follows from the
        counts of labels.
    held_out : str
        Description of the held-out points; empty without them.
    test_error : float or None
        Share of these points that the heuristic's classifier gets wrong.
    """

    source: str
    n: int | None
    p: int | None
    intercept: bool
    positives: int | None
    objective: float | None
    violations: int | None
    misclassified: int | None
    seconds: float
    floor: float | None = 0.0
    family: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    lam_low: float | None = None
    lam_high: float | None = None
    trivial: float | None = None
    held_out: str = ""
    test_error: float | None = None

    added_fields: ClassVar[Mapping[str, Any]] = {
        "lam_low": None, "lam_high": None, "trivial": None, "held_out": "", "test_error": None,
    }  # fmt: skip


@dataclass(frozen=True)
class RelaxationCell(BoundingCell):
    """One relaxation solved on one instance, or the reason why it was not.

    Parameters
    ----------
    relaxation : str
        Name of the relaxation.
    solver, version : str
        Name of the solver, and the version of its package.
    status, native_status : str
        The status, also in the solver's own words.
    bound : float or None
        Lower bound of the problem's optimum; None with a caveat.
    kind : str
        Evidence for the bound: "proved", "claimed by solver" or "none".
    argument : str
        Why a proved bound holds.
    caveat : str
        Why the relaxation's optimum need not bound the problem's; empty if it does.
    target_bound, target_kind : float or None, str
        With a caveat: the bound of the relaxation's own optimum alone.
    m_source : str
        Where M comes from, and whether it is valid; empty where the relaxation has no M.
    m_low, m_high : float or None
        Smallest and largest M_i.
    against_m : bool
        Whether the picture of bounds against M has a point for this bound (`Reduction.against_m`).
    beside_m : bool
        Whether that picture shows the bound as a horizontal line (`Reduction.beside_m`).
    recovered : float or None
        The problem's objective at the classifier recovered from the relaxation.
    violations, misclassified : int or None
        Points with u < 1, and with u < 0, under that classifier.
    rank_ratio : float or None
        Second over first eigenvalue of W, which stands for ww'; None for relaxations without W.
    variables, rows, bytes : int or None
        Size of the form that was solved.
    build_seconds, solve_seconds : float or None
        Seconds of building and of solving.
    reason : str
        Why there is no result; empty if there is one.
    test_error : float or None
        Share of the held-out points that the recovered classifier gets wrong.
    """

    relaxation: str
    solver: str
    version: str = ""
    status: str = "not run"
    native_status: str = ""
    bound: float | None = None
    kind: str = "none"
    argument: str = ""
    caveat: str = ""
    m_source: str = ""
    m_low: float | None = None
    m_high: float | None = None
    recovered: float | None = None
    violations: int | None = None
    misclassified: int | None = None
    rank_ratio: float | None = None
    variables: int | None = None
    rows: int | None = None
    bytes: int | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    reason: str = ""
    against_m: bool = False
    beside_m: bool = False
    target_bound: float | None = None
    target_kind: str = "none"
    test_error: float | None = None

    added_fields: ClassVar[Mapping[str, Any]] = {"target_bound": None, "target_kind": "none", "test_error": None}


@dataclass(frozen=True)
class ExactCell(BoundingCell):
    """One run of an exact solver on a problem under a time limit, or the reason why it did not run.

    Parameters
    ----------
    solver, version : str
        Name of the solver, and the version of its package.
    encoding, m_source : str
        Encoding that the solver read, and the source of its big-M constants.
    status, native_status : str
        The status, also in the solver's own words.
    proven : bool
        Whether the status is "optimal", without a caveat.
    incumbent : float or None
        True objective of the solver's point, recomputed (from w for the 0-1 loss).
    claimed : float or None
        Objective that the solver claims.
    bound : float or None
        Lower bound of the problem's optimum; None with a caveat.
    kind : str
        Evidence for the bound: "proved", "claimed by solver" or "none".
    nodes : int or None
        Nodes of the search tree.
    violations, misclassified : int or None
        Points with u < 1, and with u < 0, under the solver's classifier.
    build_seconds, solve_seconds, time_limit : float or None
        Seconds of building and of solving, and the limit of the latter.
    variables, rows : int or None
        Size of the form that the solver read.
    m_slack : float or None
        Smallest slack of a big-M row in use at the solver's point; at zero, M may cut off better points.
    reason : str
        Why the solver did not run; empty if it ran.
    seed : int
        Seed of the solver.
    root : float or None
        The bound after the root node, where the solver gives one.
    bound_seconds : float or None
        Seconds until the trace's bound was the final one, up to 1e-6 of it.
    prepare_seconds : float or None
        Seconds of making the strengthened encoding, which solves a relaxation first; None for other encodings.
    caveat : str
        Why the encoding may cut off the optimum (an M that is not proved valid); empty where it is exact.
    target_bound, target_kind : float or None, str
        With a caveat: the bound of the encoded program's own optimum alone.
    test_error : float or None
        Share of the held-out points that the solver's classifier gets wrong.
    trace : tuple of TracePoint
        Incumbent and bound over time, as the solver's callback tells them; thinned.
    log : str
        The proof log, compressed by gzip, in base64; empty without one.
    log_digest : str
        Digest of the problem that the log must prove; empty without a log.
    """

    solver: str
    version: str = ""
    encoding: str = ""
    m_source: str = ""
    status: str = "not run"
    native_status: str = ""
    proven: bool = False
    incumbent: float | None = None
    claimed: float | None = None
    bound: float | None = None
    kind: str = "none"
    nodes: int | None = None
    violations: int | None = None
    misclassified: int | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    time_limit: float | None = None
    variables: int | None = None
    rows: int | None = None
    m_slack: float | None = None
    reason: str = ""
    seed: int = 0
    root: float | None = None
    bound_seconds: float | None = None
    prepare_seconds: float | None = None
    caveat: str = ""
    trace: tuple[TracePoint, ...] = ()
    target_bound: float | None = None
    target_kind: str = "none"
    test_error: float | None = None
    log: str = ""
    log_digest: str = ""

    added_fields: ClassVar[Mapping[str, Any]] = {
        "target_bound": None, "target_kind": "none", "test_error": None, "log": "", "log_digest": "",
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "trace", tuple(_trace_point(point) for point in self.trace))  # JSON knows lists only

    @property
    def variant(self) -> str:
        """Return solver, encoding and M in words, without the defaults: means over instances and seeds are taken by it."""
        words = [self.solver]
        if self.encoding not in ("", "big-M", STRUCTURED):
            words.append(self.encoding)
        if self.m_source not in ("", "incumbent", "M from incumbent"):
            words.append(self.m_source)
        return ", ".join(words)


def _trace_point(point: Any) -> TracePoint:
    try:
        seconds, incumbent, bound = point
    except (TypeError, ValueError) as error:
        raise DataError(f"a trace of a stored report holds (seconds, incumbent, bound); found {short_text(point)}") from error
    return seconds, incumbent, bound


@dataclass(frozen=True)
class KappaCell(Record):
    """The conic relaxation of min ||w||² subject to at most κn margin violations at one κ (Cepeda, Gómez and Han 2024, App. C).

    Parameters
    ----------
    instance : str
        Name of the instance.
    kappa : float
        κ, the share of points that may violate their margin.
    budget : int
        ⌊κn⌋, the violations that the 0-1 problem allows.
    solver, version, status, native_status : str
        Solver of the relaxation, the version of its package, and the status, also in the solver's own words.
    bound : float or None
        Lower bound of that problem's optimum.
    kind : str
        Evidence for the bound: "proved", "claimed by solver" or "none".
    recovered : float or None
        ||w||² of a classifier with at most ⌊κn⌋ violations: an upper bound.
    share : float or None
        Σz/n at the relaxation's point, z_i in [0, 1] the relaxed violation of point i.
    rank_ratio : float or None
        Second over first eigenvalue of W, which stands for ww'.
    misclassified : int or None
        Points that the recovered classifier gets wrong.
    build_seconds, solve_seconds : float or None
        Seconds of building and of solving the relaxation.
    reason : str
        Why the relaxation has no result; empty if it has one.
    exact_solver, exact_status : str
        Solver and status of the exact solve of the 0-1 problem with the budget; "not asked", or why it did not run.
    exact_objective, exact_bound : float or None
        ||w||² of its classifier, and its lower bound.
    exact_kind : str
        Kind of that bound, as ``kind``.
    exact_nodes, exact_seconds : int or None, float or None
        Nodes and seconds of the exact solve.
    """

    instance: str
    kappa: float
    budget: int
    solver: str
    version: str = ""
    status: str = "not run"
    native_status: str = ""
    bound: float | None = None
    kind: str = "none"
    recovered: float | None = None
    share: float | None = None
    rank_ratio: float | None = None
    misclassified: int | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    reason: str = ""
    exact_solver: str = ""
    exact_status: str = "not asked"
    exact_objective: float | None = None
    exact_bound: float | None = None
    exact_kind: str = "none"
    exact_nodes: int | None = None
    exact_seconds: float | None = None

    @property
    def proven(self) -> bool:
        """Return whether the optimum within the budget is known."""
        return self.exact_status == str(Status.OPTIMAL)


@dataclass(frozen=True)
class LamChoice(Record):
    """The λ chosen for a problem (``lam="auto"``), and the ends of the range that it is chosen from.

    There are no ends if the intercept alone is the best known classifier at every λ, or at no λ.

    Parameters
    ----------
    name : str
        Name of the problem at this λ.
    lam : float
        The chosen λ.
    low : float or None
        Above this λ a classifier is known that is better than every classifier without features.
    high : float or None
        Above this λ the classifier of the least known cost of violations is the best known.
    """

    name: str
    lam: float
    low: float | None
    high: float | None
