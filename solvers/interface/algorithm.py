"""`Algorithm`, the base class of hand-written methods: parameters, a state, one step at a time, on one shared driver.

A concrete algorithm is a frozen data class whose fields are its parameters. It reads a *view*, the arrays of a model in the form
of one kind of problem (`models.views`). ``init`` makes the state, whose fields have the symbols of the algorithm's paper,
``advance`` works for about a budget of seconds, ``measure`` returns the progress. The driver (`Algorithm.run`) is the same for
every algorithm: stopping, time, trace, callback, progress, interruption and the answer's other fields.
"""

from __future__ import annotations

import enum
import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from ...errors import UnsupportedModelError, checked_return
from ...models.arrays import reserve_threads
from ...models.deadline import deadline, limit_clock, loading
from ...models.model import Model
from ..records import Answer, Options, Status
from .native_options import replace_parameters
from .recorder import ProgressState, Recorder, interrupt_flag
from .solver import KeptModel, Solver, SolverInfo

if TYPE_CHECKING:
    from .compile_times import CompileClock

#: Seconds for which one call of ``advance`` works: short enough for Ctrl-C, long enough that its overhead does not count.
ADVANCE_SECONDS = 0.05
#: Seconds of the shortest call of ``advance``: about an iteration.
_SHORT = 1e-4

#: Types of the structural view that an algorithm reads, and of its state.
V = TypeVar("V")
S = TypeVar("S")


class Outcome(enum.Enum):
    """The outcome of one call of ``advance``."""

    RUNNING = "more to do"
    CONVERGED = "the algorithm's own stopping rule holds"
    STALLED = "no further progress in floating-point arithmetic"
    STATIONARY = "a stationary point of a nonconvex problem"
    INFEASIBLE = "no feasible point exists"
    ITERATION_LIMIT = "the iteration limit was reached"
    NODE_LIMIT = "the node limit was reached"
    MEMORY_LIMIT = "the memory limit was reached"
    TIME_LIMIT = "the next step would end after the time limit"
    UNWRITTEN = "a file that the run was to write cannot be written"


#: The status of the answer by the last outcome; RUNNING has none, since a limit or the user ended the run.
_STATUS_OF_OUTCOME = {
    Outcome.CONVERGED: Status.OPTIMAL,
    Outcome.STALLED: Status.STALLED,
    Outcome.STATIONARY: Status.STATIONARY,
    Outcome.INFEASIBLE: Status.INFEASIBLE,
    Outcome.ITERATION_LIMIT: Status.ITERATION_LIMIT,
    Outcome.NODE_LIMIT: Status.NODE_LIMIT,
    Outcome.MEMORY_LIMIT: Status.MEMORY_LIMIT,
    Outcome.TIME_LIMIT: Status.TIME_LIMIT,
    Outcome.UNWRITTEN: Status.INTERRUPTED,
}


class Algorithm(Solver, Generic[V, S]):
    """A hand-written algorithm on a view ``V`` with a state ``S``.

    Attributes
    ----------
    single_threaded_blas : bool
        Whether BLAS runs with one thread: for algorithms whose time is spent in kernel blocks, which ``threads`` threads share
        (`models.kernels`), or whose dense algebra is too small for two.
    compiled_variants : sequence of mapping
        Parameter values for which other code is compiled, by name: `marginopt.warm_up` runs with each.
    expected_compile_seconds : float
        Seconds for which the first run on a machine compiles (benchmarks/results/first-minute.md); the status line shows them.
    """

    info: ClassVar[SolverInfo]
    single_threaded_blas: ClassVar[bool] = False
    compiled_variants: ClassVar[Sequence[Mapping[str, Any]]] = ({},)
    expected_compile_seconds: ClassVar[float] = 2.5

    def load(self, view: V) -> None:
        """Import and compile the loops that a run on this view needs; the time limit does not count it."""
        return

    @property
    def compiles(self) -> bool:
        """Return whether the algorithm has compiled loops: a subclass that has them overrides `load`."""
        return type(self).load is not Algorithm.load

    @abstractmethod
    def init(self, view: V, options: Options, rng: np.random.Generator) -> S:
        """Return the state before the first step.

        ``options.start`` holds the user's values to start from, if any, and ``options.iteration_limit`` the iteration at which
        ``advance`` is to return ``Outcome.ITERATION_LIMIT``.
        """

    @abstractmethod
    def advance(self, state: S, seconds: float) -> Outcome:
        """Continue for about ``seconds``, a few times that at most, and leave the state consistent."""

    @abstractmethod
    def measure(self, state: S) -> ProgressState:
        """Return the progress of the run."""

    @abstractmethod
    def answer(self, state: S) -> Answer:
        """Return the current point with multipliers and the algorithm's own results; called once, at the end.

        The driver adds status, objective, iterations, trace and times. ``bound`` (with ``proved``) is given only where the
        algorithm carries a valid bound that the model cannot recompute from a point.
        """

    def abandon(self, state: S) -> None:
        """Release the files of a run that an error has ended, such as an error of the callback; by default there are none."""

    def with_native_options(self, native: Mapping[str, Any]) -> Self:
        """Return the same algorithm with parameters replaced by the user's native options; unknown names are an error."""
        return replace_parameters(self, native) if native else self

    def obstacle(self, model: Model) -> str | None:
        """Return the reason why the algorithm cannot solve the model: no view that it reads, or a view that it refuses."""
        view = self.view_of(model)
        return self.info.missing_view_reason(model) if view is None else self.view_obstacle(view, model)

    def view_obstacle(self, view: V, model: Model) -> str | None:
        """Return the reason why the algorithm refuses a view of a model; None for one that it solves, the default."""
        return None

    def view_of(self, model: Model) -> V | None:
        """Return the first view that both the algorithm and the model know; None without one."""
        for kind in self.info.views:
            view: object = model.view(kind)
            if view is not None:
                return cast("V", view)
        return None

    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        """Run until the algorithm's rule, a limit, the callback or Ctrl-C ends it.

        ``kept_model``, what a solver keeps between the solves of a path, is for subclasses. An algorithm that does not read
        ``options.iteration_limit`` is stopped after the first ``advance`` that reaches it. The time limit counts from the start
        of ``init``, after `load` has loaded compiled code (or compiled it, once for a machine); seconds in which the run loads or
        compiles more code do not count. The point is that of ``answer`` after the last completed ``advance``, or after ``init``
        if the callback stops the run before. There is no point if none was found, or if numbers overflow (status FAILED, or what
        the certificate says of the point: no warning).
        """
        solver = self.with_native_options({**self._rows_by(options.trace_every), **options.native})
        threads = reserve_threads(options.threads) if self.single_threaded_blas else nullcontext()
        with threads, np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if not self.compiles:  # Numba is not even imported
                return solver._drive(model, options, None)
            with loading():
                from .compile_times import compile_clock

            with compile_clock(self.info.name, options.progress, self.expected_compile_seconds) as clock:
                answer = solver._drive(model, options, clock)
                clock.warn_beyond(options.time_limit)
            return answer

    def _rows_by(self, iterations: int | None) -> dict[str, int]:
        """Return the parameter ``stride``, after which ``advance`` returns; empty for algorithms without it."""
        named = {f.name for f in fields(self)}  # type: ignore[arg-type]
        return {"stride": iterations} if iterations is not None and "stride" in named else {}

    def _drive(self, model: Model, options: Options, clock: CompileClock | None) -> Answer:
        begin = limit_clock()
        view = self.view_of(model)
        if view is None:
            raise UnsupportedModelError(f"{self.info.name} cannot read {model.name}: {self.obstacle(model)}", name=self.info.name)
        with loading():
            self.load(view)
        search = _SearchClock(clock)
        recorder = Recorder(self.info.name, options)
        try:
            with interrupt_flag() as interrupted:
                with deadline(np.inf if options.time_limit is None else search.start + options.time_limit):
                    state = self.init(view, options, np.random.default_rng(options.seed))
                try:
                    with deadline(np.inf):  # a step ends by its own budget, so that its point is kept
                        status, outcome = self._advance_until_stopped(state, options, recorder, interrupted, search)
                except BaseException:
                    self.abandon(state)
                    raise
            solve_seconds = search.seconds
            answer = checked_return(self.answer(state), Answer, "answer", self.info.name)
        except np.linalg.LinAlgError as error:  # numbers overflow
            return Answer(Status.FAILED, str(error))
        trace, last = recorder.trace(), recorder.last
        return replace(
            answer,
            status=status,
            native_status=(status if outcome is Outcome.RUNNING else outcome).name.lower(),
            objective=last.objective if np.isfinite(last.objective) else None,
            iterations=last.iteration,
            trace=trace,
            build_seconds=search.start - begin,
            compile_seconds=0.0 if clock is None else clock.seconds,
            solve_seconds=solve_seconds,
        )

    def _advance_until_stopped(
        self, state: S, options: Options, recorder: Recorder, interrupted: threading.Event, search: _SearchClock
    ) -> tuple[Status, Outcome]:
        """Advance until the algorithm's rule, a limit, the callback or Ctrl-C ends the run."""
        outcome = Outcome.RUNNING
        shortest = options.trace_every is not None and not self._rows_by(1)
        longest = _SHORT if shortest or options.iteration_limit is not None else ADVANCE_SECONDS
        status = Status.INTERRUPTED if recorder.record_progress(self._progress(state)) else None
        while status is None:
            outcome = self.advance(state, _budget(options, search, longest))
            checked_return(outcome, Outcome, "advance", self.info.name)
            progress = self._progress(state)
            stop = recorder.record_progress(progress)
            if not shortest:  # under an iteration limit calls double, so that the first one does not go far beyond it
                longest = min(2.0 * longest, ADVANCE_SECONDS)
            if outcome is not Outcome.RUNNING:
                status = _STATUS_OF_OUTCOME[outcome]
            elif interrupted.is_set() or stop:
                status = Status.INTERRUPTED
            elif options.iteration_limit is not None and progress.iteration >= options.iteration_limit:
                status = Status.ITERATION_LIMIT
            elif options.time_limit is not None and search.seconds >= options.time_limit:
                status = Status.TIME_LIMIT
        return status, outcome

    def _progress(self, state: S) -> ProgressState:
        return checked_return(self.measure(state), ProgressState, "measure", self.info.name)


class _SearchClock:
    """Clock of a run from its making on, without the seconds in which code is loaded or compiled.

    Parameters
    ----------
    clock : CompileClock, optional
        The clock of compilation; None for an algorithm without compiled code.
    """

    def __init__(self, clock: CompileClock | None) -> None:
        self._timer = None if clock is None else clock.code_timer
        self._code_before = 0.0 if self._timer is None else self._timer.seconds
        self.start = limit_clock()

    @property
    def seconds(self) -> float:
        """Return the seconds so far."""
        code = 0.0 if self._timer is None else self._timer.seconds - self._code_before
        return max(limit_clock() - self.start - code, 0.0)


def _budget(options: Options, search: _SearchClock, longest: float) -> float:
    if options.time_limit is None:
        return longest
    remaining = options.time_limit - search.seconds
    return float(np.clip(remaining, _SHORT, longest))
