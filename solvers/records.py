"""The records of a solve: `Options`, which a user gives, and `Answer`, which a solver returns, with its status and trace."""

from __future__ import annotations

import enum
import math
import numbers
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeAlias

import numpy as np

from ..display import Display, Displayable, Tabular
from ..errors import InputError, WriteError, count_text, short_text
from ..files import check_target
from ..models.arrays import FloatArray
from ..models.model import Model


class Status(enum.Enum):
    """The end of a solve: the solver's claim in an `Answer`, the judged status in a `Result`."""

    OPTIMAL = "optimal to the tolerance"
    INACCURATE = "the certificate does not support the solver's claim to the tolerance"
    STATIONARY = "stationary point of a nonconvex problem; no global claim"
    INFEASIBLE = "no feasible point exists"
    UNBOUNDED = "the objective is unbounded"
    TIME_LIMIT = "stopped at the time limit"
    ITERATION_LIMIT = "stopped at the iteration limit"
    NODE_LIMIT = "stopped at the node limit"
    MEMORY_LIMIT = "stopped at the memory limit"
    INTERRUPTED = "interrupted"
    STALLED = "no further progress in floating-point arithmetic; the point is the best found"
    FAILED = "the solver ended without a point that can be certified"

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return getattr, (Status, self.name)  # by its name: sentences change

    @property
    def solved(self) -> bool:
        """Return whether the status is OPTIMAL or STATIONARY."""
        return self in (Status.OPTIMAL, Status.STATIONARY)

    @property
    def stopped(self) -> bool:
        """Return whether a limit or the user ended the run."""
        return self in (Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.NODE_LIMIT, Status.MEMORY_LIMIT, Status.INTERRUPTED)

    @property
    def message(self) -> str:
        """The sentence that explains the status."""
        return self.value

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


#: Largest excess of a bound over the objective, relative to the larger one, that counts as a gap of zero.
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
        Seconds since the start of the solve.
    objective : float
        Objective of the current (incumbent) point, minimised; NaN without one.
    bound : float
        Lower bound; NaN without one, such as before the points of an interior-point method are feasible.
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
class Trace(Displayable, Tabular):
    """The rows of one solve, in order.

    Parameters
    ----------
    rows : tuple of TraceRow
        The rows.
    """

    rows: tuple[TraceRow, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> TraceRow:
        return self.rows[index]

    def column(self, name: str) -> FloatArray:
        """Return one numeric field (or ``"gap"``) of every row.

        Parameters
        ----------
        name : str

        Returns
        -------
        ndarray (rows,)
            NaN for a missing objective, bound or gap; -1 for a count without a meaning.

        Raises
        ------
        KeyError
            There is no such field.
        """
        allowed = [f.name for f in fields(TraceRow) if f.name != "step"] + ["gap"]
        if name not in allowed:
            raise KeyError(f"a trace has the columns {', '.join(allowed)}, not {short_text(name)}")
        return np.array([getattr(row, name) for row in self.rows], dtype=np.float64)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each row, with its gap."""
        return [{**asdict(row), "gap": row.gap} for row in self.rows]

    def display(self) -> Display:
        """Return the notebook view: the first and the last rows."""
        head = ("iteration", "seconds", "objective", "bound", "gap", "active", "step")
        shown_rows = self.rows if len(self.rows) <= 2 * _SHOWN else (*self.rows[:_SHOWN], None, *self.rows[-_SHOWN:])
        return Display(
            f"trace of {count_text(len(self.rows), 'row')}",
            head=head,
            rows=tuple(("...",) if r is None else tuple(_words(getattr(r, name)) for name in head) for r in shown_rows),
            words=("step",),
        )

    def __repr__(self) -> str:
        if not self.rows:
            return "Trace(empty)"
        last = self.rows[-1]
        return (
            f"Trace({count_text(len(self.rows), 'row')}; last: iteration {last.iteration}, "
            f"objective {last.objective:.8g}, gap {last.gap:.2g})"
        )


def _words(value: Any) -> str:
    """Return the text of a cell; empty for NaN and for a count of -1."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return "" if value == -1 else str(value)


def relative_gap(primal: float, bound: float) -> float:
    """Return (primal - bound)/max(|primal|, |bound|).

    The gap is 0 where both are 0, and where the bound exceeds the primal value by at most 1e-9 of the larger: a point is feasible
    to such a tolerance. It is infinite for a finite primal value and a bound of -∞, and NaN for other values that are not finite.

    Parameters
    ----------
    primal, bound : float

    Returns
    -------
    float
    """
    if not (np.isfinite(primal) and np.isfinite(bound)):
        return float("inf") if np.isfinite(primal) and bound == -np.inf else float("nan")
    scale = max(abs(primal), abs(bound))
    gap = 0.0 if scale == 0.0 else (primal - bound) / scale
    return 0.0 if -_LEVEL <= gap < 0.0 else gap


class UpdateKind(enum.Enum):
    """The way in which a solver used an earlier, related problem; the value is its message."""

    BUILT = "built"
    UPDATED = "updated in place"
    REBUILT = "rebuilt"
    WARM = "warm start from the last solution"
    STARTED = "started from earlier results"
    CLOSED = "closed by earlier results"


@dataclass(frozen=True)
class Update:
    """The kind of an update, and what was updated or why it was not."""

    kind: UpdateKind  #: the use of the earlier problem
    detail: str = ""  #: the parts updated, or the reason why nothing was

    @classmethod
    def read(cls, text: str) -> Update:
        """Read the record from the text that ``str`` gives, as stored results hold it."""
        # exempt (text): an update in a file of results
        kind, _, detail = text.partition(": ")
        return cls(UpdateKind(kind), detail)

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.detail}" if self.detail else self.kind.value


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a solver before certification. All values in the form's minimisation sense.

    A backend fills in all fields that it knows, for the form that it was given, which bridges may have reformulated. An algorithm
    gives its point, its bound and its particular fields, and the driver adds status, objective, iterations, trace and times.

    Parameters
    ----------
    status : Status
        The solver's claim.
    native_status : str
        The solver's own name of its status.
    values : mapping of label to array, optional
        Primal point by block of the form; None without one.
    multipliers : mapping of label to array, optional
        z_k by constraint, by the signs of `models.program.form`: in the dual cone (free for equalities), and
        P x + q = Σ F_k'z_k + ζ.
    reduced : ndarray (n,), optional
        The reduced costs ζ, multipliers of the bounds; None counts as zeros where multipliers are given (a solver whose bounds
        were rows).
    objective, bound : float, optional
        Objective and bound that the solver claims.
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
        Nodes of a tree search, and iterations.
    trace : Trace
        The rows of the run.
    history : sequence of mapping
        Records of an algorithm's outer iterations, one for each.
    build_seconds, solve_seconds : float
        Time of translating and loading the model, and of solving.
    compile_seconds : float
        Time of compiling loops, once for a machine, most of it before the solving began.
    version : str
        The solver's version; if empty, that of its package is taken.
    bridges : tuple of str
        The reformulations (bridges) between the form and what the solver read, in order.
    update : Update, optional
        How the solver used its model of the problem before, on a path.
    polished : str
        How the point was improved after the solver had ended; empty where it was not.
    optimised_parameters : mapping of name to value
        Values that the solver determined beside the form's variables: parameters of the model (γ or P of a minimax model),
        weights of objectives.
    model : Model, optional
        The model at the parameters that the solver determined, to which point, multipliers and certificate belong.
    same_problem : bool
        Whether ``model`` is the given problem with other constants (a big-M from the point found), so that its bounds hold
        for the given problem. Otherwise it is an inner problem, whose bounds hold for itself alone.
    write_error : WriteError, optional
        The error of a file that the run could not write (a proof log): ``solve`` raises it, with the result.
    integrality : float, optional
        The tolerance on integers that the run ended with, where the solver may choose another than it was given.
    bound_caveat : str
        Caveat of a bound that rests on results of other processes; empty without one.
    details : mapping
        Further facts for people; no code depends on them.
    pool : sequence of mapping of label to array
        Further points by block, best first, where the solver was asked for several.
    proof : str
        The file of the proof log that the run wrote; empty where it wrote none.
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
    integrality: float | None = None
    bound_caveat: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    pool: Sequence[Mapping[str, FloatArray]] = ()
    proof: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.status, Status):
            raise InputError(
                f"the status of an answer is one of marginopt.solvers.Status, such as Status.OPTIMAL; "
                f"it is {short_text(self.status)}",
                name="status",
                allowed=[status.name for status in Status],
            )

    @property
    def excludes_all_points(self) -> bool:
        """Return whether an exact search left no point: the bound that it proves of the objective is infinite."""
        return self.status is Status.INFEASIBLE and self.proved and self.bound == math.inf

    @property
    def times(self) -> str:
        """The time of each part, in words."""
        compiling = f"{self.compile_seconds:.3g} s compiling (once for a machine), " if self.compile_seconds >= 0.01 else ""
        return f"{compiling}{self.build_seconds:.3g} s building, {self.solve_seconds:.3g} s solving"


#: Called with each new trace row; returning True stops the solve (status INTERRUPTED).
Callback: TypeAlias = Callable[[TraceRow], "bool | None"]


#: Options that are numbers, each with its least value and the value from which it is no limit.
_NUMBERS = (("time_limit", 0.0, 1e9), ("tol", 1e-16, None), ("memory_limit", 0.0, 1e18))
#: The largest count that every solver takes: no run reaches it.
_COUNT = 2**31 - 1
#: Options that are counts, each with its least and its largest value; larger ones are lowered. OpenMP reserves memory by thread.
_COUNTS = (
    ("threads", 1, 1024), ("iteration_limit", 1, _COUNT), ("node_limit", 1, _COUNT), ("trace_every", 1, _COUNT), ("seed", 0, None)
)  # fmt: skip


def _number(name: str, value: Any, minimum: float, maximum: float | None) -> float | None:
    """Return the option as a number; None for a limit too large to matter. ``maximum`` is None for a tolerance."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | numbers.Real):
        raise InputError(f"{name} must be a number > 0; it is {short_text(value)}", name=name)
    number: Any = value
    if maximum is not None and number >= maximum:
        return None
    if not number > 0:
        raise InputError(f"{name} must be a number > 0; it is {short_text(value)}", name=name)
    if maximum is None and not minimum <= number < 1:
        raise InputError(
            f"{name} must be a relative gap of at least {minimum:g} and below 1; it is {short_text(value)}", name=name
        )
    return float(number)


@dataclass(frozen=True)
class Options:
    """Common options of a solve.

    Parameters
    ----------
    time_limit : float, optional
        Seconds of solving; None, infinity, or 1e9 and more are no limit. Preparations of an algorithm of this package count.
        Compiling loops before the run does not count, nor, for most solvers of other packages, building their model.
    tol : float, optional
        Relative gap at which to stop, (objective - bound)/max(|objective|, |bound|), below 1. By default each solver has its own
        (`SolverInfo.tolerance`), mostly 1e-6.
    threads : int, optional
        Threads the solver may use, 1,024 at most, and in solvers of other packages as many as there are processors; by default
        all.
    seed : int
        Seed of whatever the solver draws.
    iteration_limit, node_limit : int, optional
        Largest numbers of iterations, and of nodes of a tree search.
    memory_limit : float, optional
        Largest memory, in bytes; 1e18 and more are no limit.
    trace_every : int, optional
        Iterations between two rows of the trace, at least; with 1 the trace has every row that the solver reports, some 300 bytes
        each. By default rows are taken by time and thinned to at most 4,096.
    verbose : bool
        Whether the solver writes its own log to standard output, or into the notebook.
    log_file : str or Path, optional
        A file to which the solver's own log is added; for algorithms of this package, a line for each row of the trace.
    progress : bool
        Whether to show one line with the current gap, rewritten in place.
    start : mapping of label to array, optional
        Values to start from, of all or some blocks or, by name, of single variables; mixed-integer solvers complete them.
    callback : callable, optional
        A `Callback`; solvers whose record gives `Gives.TRACE` call it with each new row.
    native : mapping
        The solver's own options, by its own names.
    """

    time_limit: float | None = None
    tol: float | None = None
    threads: int | None = None
    seed: int = 0
    iteration_limit: int | None = None
    node_limit: int | None = None
    memory_limit: float | None = None
    trace_every: int | None = None
    verbose: bool = False
    log_file: str | os.PathLike[str] | None = None
    progress: bool = False
    start: Mapping[str, FloatArray] | None = None
    callback: Callback | None = None
    native: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, minimum, maximum in _NUMBERS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _number(name, value, minimum, maximum))
        for name, minimum, maximum in _COUNTS:
            value = getattr(self, name)
            if value is None and name != "seed":
                continue
            if isinstance(value, bool) or not (isinstance(value, int | numbers.Integral) and int(value) >= minimum):
                raise InputError(f"{name} must be an integer ≥ {minimum}; it is {short_text(value)}", name=name)
            object.__setattr__(self, name, int(value) if maximum is None else min(int(value), maximum))
        for name in ("verbose", "progress"):
            value = getattr(self, name)
            if not isinstance(value, int | np.bool_):
                raise InputError(f"{name} must be True or False; it is {short_text(value)}", name=name)
            object.__setattr__(self, name, bool(value))
        if not isinstance(self.native, Mapping):
            raise InputError(f"native must map names of options to values; it is a {type(self.native).__name__}", name="native")
        start: object = self.start
        if start is not None and not isinstance(start, Mapping):
            file_advice = ": read_solution(model, path).values reads it" if isinstance(start, str | os.PathLike) else ""
            raise InputError(
                "start must map labels of variables to arrays, as result.values does; "
                f"it is a {type(start).__name__}{file_advice}",
                name="start",
            )
        if self.log_file is not None:
            if not isinstance(self.log_file, str | os.PathLike):
                raise InputError(f"log_file must be the name of a file; it is a {type(self.log_file).__name__}", name="log_file")
            check_target(self.log_file, "the solver's log")
        if self.callback is not None and not callable(self.callback):
            raise InputError(
                f"callback must be a function of one trace row; it is a {type(self.callback).__name__}", name="callback"
            )

    @property
    def native_threads(self) -> int | None:
        """Return the threads for a solver of another package, as many as there are processors at most; None if not given.

        Threads that wait actively for each other, a thousand of them on two processors, take minutes for a small model.
        """
        return None if self.threads is None else min(self.threads, os.cpu_count() or 1)

    @classmethod
    def of(cls, options: Options | None = None, **overrides: Any) -> Options:
        """Return options (the defaults unless given) with some replaced.

        ``solve``, ``compare`` and ``path`` read their keywords here: a name of `COMMON_OPTIONS` is a common option, any other is
        the solver's own and is added to ``native``.

        Raises
        ------
        InputError
            A value that is out of range; ``options`` of another type.
        """
        if not (options is None or isinstance(options, Options)):
            raise InputError(f"options must be Options(...), or keywords; they are a {type(options).__name__}", name="options")
        base = cls() if options is None else options
        if not overrides:
            return base
        common = {name: value for name, value in overrides.items() if name in COMMON_OPTIONS}
        native_options = {name: value for name, value in overrides.items() if name not in COMMON_OPTIONS and name != "native"}
        native = overrides.get("native", {})
        if not isinstance(native, Mapping):
            raise InputError(f"native must map names of options to values; it is a {type(native).__name__}", name="native")
        return replace(base, **common, native={**base.native, **native, **native_options})

    def tolerance(self, default: float) -> float:
        """Return the relative gap ``tol`` if it is given, else the solver's ``default``."""
        return default if self.tol is None else self.tol

    def residual_tolerance(self, default: float) -> float:
        """Return the relative gap from which a backend sets the tolerances of a continuous solver: ``tol``, but at most 1e-3.

        Residuals follow these tolerances, and the objective of a point that violates its rows by more proves nothing.
        """
        return min(self.tolerance(default), 1e-3)

    def search_gap(self, default: float) -> float:
        """Return the relative gap at which another package's mixed-integer search stops.

        It is a little below the tolerance: a point that is moved onto its rows afterwards may cost more than the package says.
        """
        return 0.9 * self.tolerance(default)

    def with_time_spent(self, seconds: float) -> Options:
        """Return these options when ``seconds`` of the time limit are spent, with at least a millisecond (or the limit) left."""
        if self.time_limit is None:
            return self
        return replace(self, time_limit=max(self.time_limit - seconds, min(self.time_limit, 1e-3)))

    def with_time_limited_to(self, seconds: float) -> Options:
        """Return these options with a time limit of at most ``seconds`` (a millisecond, if that is less)."""
        limit = np.inf if self.time_limit is None else self.time_limit
        return self if limit <= seconds else replace(self, time_limit=max(seconds, 1e-3))

    def with_default_threads(self, threads: int | None) -> Options:
        """Return these options with ``threads`` as the number of threads, if they have none of their own."""
        return self if self.threads is not None or threads is None else replace(self, threads=threads)

    def record(self) -> dict[str, Any]:
        """Return the seed, the numbers that are given, labels of the start and native options, for a stored result."""
        plain = {
            name: getattr(self, name)
            for name in ("time_limit", "tol", "threads", "iteration_limit", "node_limit", "memory_limit", "trace_every")
            if getattr(self, name) is not None
        }
        plain["seed"] = self.seed
        if self.start is not None:
            plain["start"] = sorted(self.start)
        if self.native:
            plain["native"] = {k: v if isinstance(v, (bool, int, float, str)) else repr(v) for k, v in self.native.items()}
        return plain


#: Names of the options that mean the same for every solver.
COMMON_OPTIONS = frozenset(f.name for f in fields(Options)) - {"native"}
