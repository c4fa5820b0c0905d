"""The one answer that backends and algorithms give alike; a result holds it, judged."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from ...display import Display, Displayed, Tabular
from ...errors import WriteError
from ...models.arrays import FloatArray
from ...models.model import Model

__all__ = ["Answer", "Status", "Trace", "TraceRow", "Update", "UpdateKind"]


class Status(enum.Enum):
    """The end of a solve, as judged after the certificate was recomputed."""

    OPTIMAL = "optimal to the tolerance"
    INACCURATE = "the certificate does not support the solver's claim to the tolerance"
    STATIONARY = "stationary point of a nonconvex problem; no global claim"
    INFEASIBLE = "no feasible point exists"
    UNBOUNDED = "the objective is unbounded"
    TIME_LIMIT = "stopped at the time limit; the point and the bound are the best found"
    ITERATION_LIMIT = "stopped at the iteration limit; the point and the bound are the best found"
    NODE_LIMIT = "stopped at the node limit; the point and the bound are the best found"
    MEMORY_LIMIT = "stopped at the memory limit; the point and the bound are the best found"
    INTERRUPTED = "interrupted; the point and the bound are the best found"
    STALLED = "no further progress in floating-point arithmetic; the relative gap says how good the point is"
    FAILED = "the solver ended without a point that can be certified"

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return getattr, (Status, self.name)  # by its name: sentences change

    @property
    def solved(self) -> bool:
        """Return whether the answer that was asked for was reached."""
        return self in (Status.OPTIMAL, Status.STATIONARY)

    @property
    def stopped(self) -> bool:
        """Return whether a limit or the user ended the run."""
        return self in (
            Status.TIME_LIMIT,
            Status.ITERATION_LIMIT,
            Status.NODE_LIMIT,
            Status.MEMORY_LIMIT,
            Status.INTERRUPTED,
        )

    @property
    def message(self) -> str:
        """The sentence that explains the status."""
        return self.value

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


#: Relative gap below zero that is none.
_LEVEL = 1e-9
#: Rows at either end that a notebook shows.
_SHOWN = 5


@dataclass(frozen=True)
class TraceRow:
    """One line of a trace.

    Parameters
    ----------
    iteration : int
        Iterations (or nodes of a tree search) done.
    seconds : float
        Since the start of the solve.
    objective : float
        Of the current (incumbent) point, minimised; NaN where there is none.
    bound : float
        Lower bound; NaN where there is none, as before an interior point's points are feasible.
    active : int
        Size of the active set (support vectors, open nodes); -1 where it has no meaning.
    columns : int
        Kernel columns computed so far; -1 where it has no meaning.
    step : str
        Kind of the last step: toward, away, drop, pair, newton, branch, ...
    """

    iteration: int
    seconds: float
    objective: float
    bound: float = float("nan")
    active: int = -1
    columns: int = -1
    step: str = ""

    @property
    def gap(self) -> float:
        """Relative gap, (objective - bound)/max(|objective|, |bound|); NaN without a bound."""
        return relative_gap(self.objective, self.bound)


@dataclass(frozen=True)
class Trace(Displayed, Tabular):
    """The rows of one solve, in order."""

    rows: tuple[TraceRow, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> TraceRow:
        return self.rows[index]

    def column(self, name: str) -> FloatArray:
        """One numeric field (or ``"gap"``) of every row."""
        allowed = [f.name for f in fields(TraceRow) if f.name != "step"] + ["gap"]
        if name not in allowed:
            raise KeyError(f"a trace has the columns {', '.join(allowed)}, not {name!r}")
        return np.array([getattr(row, name) for row in self.rows], dtype=np.float64)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each row, the gap with it."""
        return [{**asdict(row), "gap": row.gap} for row in self.rows]

    def display(self) -> Display:
        """Return the notebook view: the first and the last rows."""
        head = ("iteration", "seconds", "objective", "bound", "gap", "active", "step")
        few = self.rows if len(self.rows) <= 2 * _SHOWN else (*self.rows[:_SHOWN], None, *self.rows[-_SHOWN:])
        return Display(
            f"trace of {len(self.rows)} rows",
            head=head,
            rows=tuple(("...",) if r is None else tuple(_words(getattr(r, name)) for name in head) for r in few),
            words=("step",),
        )

    def __repr__(self) -> str:
        if not self.rows:
            return "Trace(empty)"
        last = self.rows[-1]
        return (
            f"Trace({len(self.rows)} rows; last: iteration {last.iteration}, objective {last.objective:.8g}, gap {last.gap:.2g})"
        )


def _words(value: Any) -> str:
    """Nothing for what there is not: NaN, or -1 of a count."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return "" if value == -1 else str(value)


def relative_gap(primal: float, bound: float) -> float:
    """(primal - bound)/max(|primal|, |bound|): 0 where both are 0, NaN where either is missing.

    A bound that is above by no more than 1e-9 of that is level with the point, which is feasible to such a tolerance.
    """
    if not (np.isfinite(primal) and np.isfinite(bound)):
        return float("inf") if np.isfinite(primal) and bound == -np.inf else float("nan")
    scale = max(abs(primal), abs(bound))
    gap = 0.0 if scale == 0.0 else (primal - bound) / scale
    return 0.0 if -_LEVEL <= gap < 0.0 else gap


class UpdateKind(enum.Enum):
    """The use of an earlier, related problem that a solver kept; the value is its message."""

    BUILT = "built"
    UPDATED = "updated in place"
    REBUILT = "rebuilt"
    STARTED = "started from earlier results"
    CLOSED = "closed by earlier results"


@dataclass(frozen=True)
class Update:
    """The kind of an update, and what was updated or why it was not."""

    kind: UpdateKind
    what: str = ""

    @classmethod
    def read(cls, text: str) -> Update:
        """Read the record from the text that ``str`` gives, as stored results hold it."""
        # exempt (text): an update in a file of results
        kind, _, what = text.partition(": ")
        return cls(UpdateKind(kind), what)

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.what}" if self.what else self.kind.value


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a solver before certification. All values in the form's minimisation sense.

    A backend fills in all that it knows, for the (bridged) form that it was given; an algorithm gives its point, its bound and
    what is peculiar to it, and the driver adds status, objective, iterations, trace and times.

    Parameters
    ----------
    status : Status
        The solver's claim in our vocabulary.
    native_status : str
        The solver's own word.
    values : mapping of label to array, optional
        Primal point by block of the form; None where there is none.
    multipliers : mapping of label to array, optional
        z_k by constraint, by the signs of `models.program.form`: in the dual cone (free for equalities), and
        P x + q = Σ F_k'z_k + ζ.
    reduced : ndarray (n,), optional
        ζ, the bounds' multipliers; None counts as zeros where multipliers are given (a solver whose bounds were rows).
    objective, bound : float, optional
        As claimed by the solver.
    proved : bool
        Whether ``bound`` is proved by the solver's own arithmetic on valid dual points, rather than claimed.
    root_bound : float, optional
        The bound of a tree search before its first branching.
    farkas : mapping of label to array, optional
        Multipliers by constraint that prove infeasibility (`solvers.certification.rays`).
    ray : mapping of label to array, optional
        Direction by block that proves unboundedness.
    stationarity : float, optional
        First-order residual of a nonconvex problem, where the algorithm measures one.
    nodes, iterations : int, optional
    trace : Trace
    history : sequence of mapping
        What an algorithm of outer iterations saw in each of them.
    build_seconds, solve_seconds : float
        Time of translating and loading the model, and of solving.
    compile_seconds : float
        Time of compiling loops, once for a machine, most of it before the solving began.
    version : str
        The solver's; ours where it is empty.
    bridges : tuple of str
        The reformulations between the form and what the solver read, in order.
    update : Update, optional
        What was done with what was kept of an earlier problem of one path.
    polished : str
        How the point was improved after the solver had ended; empty where it was not.
    optimised_parameters : mapping of name to value
        What the solver determined beside the form's variables: parameters of the model that it moved (γ or P of a minimax
        model), weights of objectives.
    model : Model, optional
        The model at the parameters that were moved: point, multipliers and certificate are that one's.
    same_problem : bool
        Whether ``model`` states the given problem with other constants (a big-M from the point found), so that its bounds are the
        given one's; else it is an inner problem, whose bound bounds nothing else.
    write_error : WriteError, optional
        Why a file that the run was to write (a proof log) is not there: ``solve`` raises it, with the result.
    bound_caveat : str
        On whose word the bound rests beside this process's, in words for the evidence; empty where on nobody's.
    details : mapping
        Anything else worth showing. For people: no code reads it.
    """

    status: Status = Status.FAILED
    native_status: str = ""
    values: Mapping[str, FloatArray] | None = None
    multipliers: Mapping[str, FloatArray] | None = None
    reduced: FloatArray | None = None
    objective: float | None = None
    bound: float | None = None
    proved: bool = False
    root_bound: float | None = None
    farkas: Mapping[str, FloatArray] | None = None
    ray: Mapping[str, FloatArray] | None = None
    stationarity: float | None = None
    nodes: int | None = None
    iterations: int | None = None
    trace: Trace = field(default_factory=Trace)
    history: Sequence[Mapping[str, Any]] = ()
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    compile_seconds: float = 0.0
    version: str = ""
    bridges: tuple[str, ...] = ()
    update: Update | None = None
    polished: str = ""
    optimised_parameters: Mapping[str, Any] = field(default_factory=dict)
    model: Model | None = None
    same_problem: bool = False
    write_error: WriteError | None = None
    bound_caveat: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def times(self) -> str:
        """The time of each part, in words."""
        compiling = f"{self.compile_seconds:.3g} s compiling (once for a machine), " if self.compile_seconds >= 0.01 else ""
        return f"{compiling}{self.build_seconds:.3g} s building, {self.solve_seconds:.3g} s solving"
