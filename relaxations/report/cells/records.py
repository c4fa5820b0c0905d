"""What a gap report stores: one frozen record for each instance, relaxation and exact solve; plain numbers and words only."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol, TypeAlias, TypeVar

from ....errors import DataError
from ....models.arrays import Points

__all__ = ["STRUCTURED", "Data", "ExactCell", "InstanceCell", "Key", "Record", "RelaxationCell", "TracePoint"]

#: What is solved: the instance's name and λ.
Key: TypeAlias = tuple[str, float]
#: Seconds, incumbent and lower bound at that time; None where there is none yet.
TracePoint: TypeAlias = tuple[float, float | None, float | None]

C = TypeVar("C", bound="Record")

#: The encoding of a solver that reads the data and no form.
STRUCTURED = "none: reads the data"


class Data(Protocol):
    """What a report needs of an instance (`marginopt.Instance` has it)."""

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
        """Where the data come from."""


@dataclass(frozen=True)
class Record:
    """A record that JSON can hold."""

    def record(self) -> dict[str, Any]:
        """Plain values by field."""
        return asdict(self)

    @classmethod
    def from_record(cls: type[C], record: dict[str, Any]) -> C:
        """The cell of a record.

        Raises
        ------
        DataError
            The record lacks a field or has one that is not known.
        """
        names = {f.name for f in fields(cls)}
        if not isinstance(record, dict) or set(record) != names:
            found = sorted(record) if isinstance(record, dict) else type(record).__name__
            raise DataError(f"a {cls.__name__} of a stored report has the fields {sorted(names)}; found {found}")
        return cls(**record)


@dataclass(frozen=True)
class _Cell(Record):
    """A cell of one instance at one λ."""

    instance: str
    lam: float

    @property
    def key(self) -> Key:
        """Instance and λ."""
        return self.instance, self.lam


@dataclass(frozen=True)
class InstanceCell(_Cell):
    """An instance at one λ, and the classifier that the heuristic found on it.

    Parameters
    ----------
    source : str
    n, p : int
        Points; features, a constant column not counted.
    intercept : bool
        Whether X has a constant column.
    positives : int
        Points labelled +1.
    objective : float
        True 0-1 objective of the heuristic's classifier: the upper bound UB behind tightened M.
    violations, misclassified : int
        Points with u < 1, and with u < 0, under it.
    seconds : float
        The heuristic's time.
    """

    source: str
    n: int
    p: int
    intercept: bool
    positives: int
    objective: float
    violations: int
    misclassified: int
    seconds: float


@dataclass(frozen=True)
class RelaxationCell(_Cell):
    """One relaxation solved on one instance, or the reason why it was not.

    Parameters
    ----------
    relaxation, solver, version, status, native_status : str
    bound : float or None
        Lower bound of the relaxation's optimum.
    kind : str
        "proved", "claimed by solver" or "none".
    argument : str
        Why a proved bound holds.
    caveat : str
        Why the bound may not be one of the 0-1 optimum; empty where it is.
    m_source : str
        Where M comes from, and whether it is valid; empty where the relaxation has no M.
    m_low, m_high : float or None
    recovered : float or None
        True 0-1 objective of the classifier recovered from the relaxation.
    violations, misclassified : int or None
        Of that classifier.
    rank_ratio : float or None
        Second over first eigenvalue of W; None for relaxations without W.
    variables, rows, bytes : int or None
        Size of the form that was solved.
    build_seconds, solve_seconds : float or None
    reason : str
        Why there is no result; empty where there is one.
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

    @property
    def bounds_optimum(self) -> bool:
        """Whether there is a bound and it is one of the 0-1 optimum."""
        return self.bound is not None and not self.caveat


@dataclass(frozen=True)
class ExactCell(_Cell):
    """One exact solver on one instance under the time limit, or the reason why it did not run.

    Parameters
    ----------
    solver, version, encoding, m_source, status, native_status : str
    proven : bool
        Whether the optimum was reached (status "optimal").
    incumbent : float or None
        True 0-1 objective of the solver's point, recomputed from w.
    claimed : float or None
        Objective that the solver claims.
    bound : float or None
    kind : str
        "proved" (our own exact solver), "claimed by solver" or "none".
    nodes : int or None
    violations, misclassified : int or None
    build_seconds, solve_seconds, time_limit : float or None
    variables, rows : int or None
    m_slack : float or None
        Smallest slack of a big-M row in use at the solver's point; zero would mean that M may cut something off.
    reason : str
    seed : int
        Of the solver.
    root : float or None
        The bound after the root node, where the solver gives one.
    bound_seconds : float or None
        When the trace's bound first was the final one, up to 1e-6 of it.
    prepare_seconds : float or None
        Before the solver: the relaxation behind γ* of the strengthened encoding.
    caveat : str
        Why the encoding may cut off the optimum (an M that is not proved valid); empty where it is exact.
    trace : tuple of TracePoint
        Incumbent and bound over time, as the solver's callback tells them; thinned.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "trace", tuple(_trace_point(point) for point in self.trace))  # JSON knows lists only

    @property
    def bounds_optimum(self) -> bool:
        """Whether there is a bound and it is one of the 0-1 optimum."""
        return self.bound is not None and not self.caveat

    @property
    def variant(self) -> str:
        """Solver, and its encoding and M where they are not the usual ones: what is compared over instances and seeds."""
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
        raise DataError(f"a trace of a stored report holds (seconds, incumbent, bound); found {point!r}") from error
    return seconds, incumbent, bound
