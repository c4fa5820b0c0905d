"""The one recorder of a run, whoever runs it: trace rows, the user's callback, the progress line, Ctrl-C."""

from __future__ import annotations

import atexit
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import cloudpickle
import numpy as np

from ...display import StatusLine
from ...models.deadline import OutOfTimeError
from ..records import Answer, Options, Status, Trace, TraceRow

#: Seconds between two rows of a backend's callback where no new incumbent was found.
_EVERY = 0.05
#: Seconds between two progress lines.
_SHOWN = 0.2
#: What solvers write for "none yet".
_NONE = 1e19
#: Residual of an interior point's points from which on their dual objective counts as a bound.
_FEASIBLE = 1e-5
#: Rows kept of a trace without `Options.trace_every`: a longer one is thinned to every second row, so memory stays bounded.
#: With it the trace has every row that was asked for, some 300 bytes each.
_ROWS = 4096


@dataclass(frozen=True)
class Measure:
    """The progress of a run: running values that cost (next to) nothing; the certificate is recomputed later.

    ``objective`` and ``bound`` are in the form's minimisation sense; NaN or -inf where there is none. An algorithm whose runs
    repeat says with ``checkpoint`` whether it stands where a repeated run stands too: only then the trace takes a row.

    Parameters
    ----------
    iteration : int
    objective, bound : float
    active : int
        Size of the active set; -1 where it has no meaning.
    columns : int
        Kernel columns computed so far; -1 where it has no meaning.
    step : str
        Kind of the last step.
    checkpoint : bool
    """

    iteration: int
    objective: float
    bound: float = float("-inf")
    active: int = -1
    columns: int = -1
    step: str = ""
    checkpoint: bool = True


class Recorder:
    """Collects the rows of one run; the driver adds them after every step, backends from their solver's callback.

    Parameters
    ----------
    name : str
        The solver's, for messages.
    options : Options
        Callback, verbosity and limits.
    maximise : bool
        Whether the program is maximised: lines of progress and of log files have its sense. Rows have that of the form, which is
        minimised.

    Attributes
    ----------
    stopped : bool
        Whether the user's callback asked to stop (or raised an error inside `deferring_errors`).
    last : TraceRow
        The latest row, whether it was kept or not.
    next_row : float
        The time of `time.perf_counter` from which a row without a new incumbent is wanted. Callbacks that are called by the
        thousand compare with it before they call anything.
    """

    def __init__(self, name: str, options: Options, *, maximise: bool = False) -> None:
        self._name, self._options = name, options
        self._sign = -1.0 if maximise else 1.0
        self._start = time.perf_counter()
        self._rows: list[TraceRow] = []
        self._stride, self._seen, self._next_iteration = 1, 0, 0
        self._shown = -np.inf
        self._error: BaseException | None = None
        self.stopped = False
        self.last = TraceRow(0, -np.inf, float("nan"))
        self.next_row = -np.inf

    @cached_property
    def _line(self) -> StatusLine:
        """The progress line, made where progress is shown."""
        return StatusLine()

    def start(self) -> None:
        """Set the clock to zero: the solve begins."""
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._start

    def record_measure(self, measure: Measure) -> bool:
        """Record where the run stands.

        Returns
        -------
        bool
            True where the user asks to stop.
        """
        seconds = self.seconds
        self.last = TraceRow(
            measure.iteration,
            seconds,
            float(measure.objective),
            float(measure.bound),
            measure.active,
            measure.columns,
            measure.step,
        )
        self.next_row = self._start + seconds + _EVERY if self._options.trace_every is None else -np.inf
        if measure.checkpoint:
            self._keep(self.last)
        if self._options.progress and self.last.seconds - self._shown >= _SHOWN:
            self._shown = self.last.seconds
            self._line.show(self._said(self.last))
        if self._options.callback is not None and not self.stopped:
            self.stopped = bool(self._options.callback(self.last))
        return self.stopped

    def record_values(
        self, iteration: int, objective: float, bound: float, *, active: int = -1, step: str = "", infeasible: float = 0.0
    ) -> bool:
        """Record the values of an off-the-shelf solver, which writes a huge number for a value that it does not have yet.

        ``infeasible`` is the larger residual of an interior point's pair of points. Until it is small the dual objective bounds
        nothing, and lies above the primal one as often as below it: there is no bound yet.
        """
        finite_bound = _known(bound) if infeasible <= _FEASIBLE else float("nan")
        return self.record_measure(Measure(iteration, _known(objective), finite_bound, active, step=step))

    @contextmanager
    def deferring_errors(self) -> Iterator[None]:
        """Around the body of a native callback: an error cannot pass through the solver's own frames, so it waits for `trace`."""
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - raised again by trace
            self._error, self.stopped = error, True

    def final_trace(self, iteration: int, objective: float | None, bound: float | None) -> Trace:
        """The trace of a backend's run, with the final state as its last row."""
        self.last = TraceRow(iteration, self.seconds, _known(objective), _known(bound), step="end")
        return self.trace()

    def trace(self) -> Trace:
        """All rows, the last one included; ends the progress line.

        Raises
        ------
        BaseException
            What the user's callback raised inside `deferring_errors`.
        """
        if self._error is not None:
            raise self._error
        if self._options.progress:
            self._line.keep(self._said(self.last))
        rows = self._rows if self._rows and self._rows[-1] is self.last else [*self._rows, self.last]
        return Trace(tuple(rows))

    def _keep(self, row: TraceRow) -> None:
        if self._options.trace_every is not None:
            if row.iteration >= self._next_iteration:
                self._rows.append(row)
                self._next_iteration = row.iteration + self._options.trace_every
                self._log(row)
            return
        self._log(row)
        if self._seen % self._stride == 0:
            self._rows.append(row)
            if len(self._rows) >= _ROWS:
                self._rows, self._stride = self._rows[::2], 2 * self._stride
        self._seen += 1

    def _log(self, row: TraceRow) -> None:
        if self._options.log_file is not None:
            with Path(self._options.log_file).open("a", encoding="utf-8") as stream:
                stream.write(self._said(row) + "\n")

    def _said(self, row: TraceRow) -> str:
        active = f"  active {row.active}" if row.active >= 0 else ""
        objective, bound = self._sign * row.objective, self._sign * row.bound
        figures = (("gap", row.gap, ".2e"), ("objective", objective, ".8g"), ("bound", bound, ".8g"))
        shown_figures = "".join(f"  {name} {value:{form}}" for name, value, form in figures if np.isfinite(value))
        return f"{self._name}: {row.seconds:.1f} s{shown_figures}  iteration {row.iteration}{active}"


def _known(value: float | None) -> float:
    return float(value) if value is not None and abs(value) < _NONE else float("nan")


@contextmanager
def interrupt_flag() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets; the second Ctrl-C raises as usual. In other threads than the main one it never sets."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    previous = signal.getsignal(signal.SIGINT) or signal.SIG_DFL  # None: installed by other code than Python's

    def handle(signum: int, frame: FrameType | None) -> Any:
        flag.set()
        signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, handle)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, previous)


# A call of a library that looks at no clock and hears no signal, in a thread of its own beside which Python does both.
#
# A library's loop in C returns to Python when it is done, and a signal handler waits until then. In a thread of its own it
# can be *left*: the caller goes on, and the thread ends when the call does. What it works on must then not be touched any
# more. A call that holds Python's lock can be left in a process of its own alone, which is ended.
#
# A fork copies a library's memory without its threads: a library that waits for one of them waits for ever in the child.
# `forked_with` tells which libraries the parent had loaded, and `call_outside_fork` gives pools that belong to a thread a fresh
# start.

#: Seconds before the first look at the event, between two at most, and those that a call has to end by itself once it is set.
_FIRST, _LOOK, _GRACE = 0.001, 0.05, 0.1
#: Share of the time limit, and seconds, after which a call is left: solvers look at their own clock between iterations.
_LATE, _LATER = 1.05, 0.2
#: Share of the limit, and seconds, within which a run has kept it.
_ALLOWED = 1.1, 0.5
#: Seconds that the interpreter waits, when it ends, for calls that were left: one that returns into an interpreter that is being
#: taken down can end the process by a signal.
_LAST = 5.0
#: The native status of a call that did not return at its limit.
LEFT = "abandoned at the limit"

T = TypeVar("T")
_left: list[threading.Thread] = []
#: Names of the modules that were loaded when this process was forked; empty in a process that was not.
_before_fork: set[str] = set()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=lambda: _before_fork.update(sys.modules))


class CallTimeout(OutOfTimeError):
    """The call did not end when it was to; what it works on is not to be touched any more."""

    def __init__(self, status: Status) -> None:
        super().__init__(LEFT)
        self.status = status


def forked_with(module: str) -> bool:
    """Return whether this process is a fork of one that had the module loaded: its library may miss its threads."""
    return module in _before_fork


def call_outside_fork(module: str, call: Callable[[], T]) -> T:
    """Return the result of a call; in a fork of a process that had the module loaded, in a new thread.

    HiGHS keeps its pool of threads for each thread that calls it: a new one waits for none that the fork has left behind.
    """
    if not forked_with(module):
        return call()
    results: list[T] = []
    run_until(lambda: results.append(call()), threading.Event())
    return results[0]


def timeout_at(begin: float, limit: float | None) -> float:
    """Return the time at which a call that began at ``begin`` is left, on `time.perf_counter`'s clock."""
    return math.inf if limit is None else begin + _LATE * limit + _LATER


def time_allowance(limit: float) -> float:
    """Seconds within which a run has kept its time limit."""
    return _ALLOWED[0] * limit + _ALLOWED[1]


def time_limit_remark(answer: Answer, options: Options, reason: str) -> str:
    """Return the remark on a solver that took more than its limit, a tenth of it and half a second; empty otherwise.

    ``reason`` is what of the solver does not look at the limit (`SolverInfo.time_limit_caveat`).
    """
    limit, spent = options.time_limit, answer.build_seconds + answer.solve_seconds
    if limit is None or spent <= time_allowance(limit):
        return ""
    return f"took {spent:.2g} s for a time limit of {limit:.2g} s" + (
        f": it does not look at the clock in {reason}" if reason else ""
    )


def run_with_timeout(call: Callable[[], T], options: Options, begin: float) -> T:
    """Return the call's value if the call ends within the time limit that began at ``begin``.

    Without a limit the call runs in this thread. A call that holds Python's lock while it works cannot be left.

    Raises
    ------
    CallTimeout
        It was left, at `timeout_at`.
    """
    if options.time_limit is None:
        return call()
    outcome: list[T] = []
    if not run_until(lambda: outcome.append(call()), threading.Event(), timeout_at(begin, options.time_limit)):
        raise CallTimeout(Status.TIME_LIMIT)
    return outcome[0]


def run_hearing_interrupts(call: Callable[[], T], options: Options, begin: float) -> T:
    """Return the call's value as `run_with_timeout` does, where Ctrl-C is heard though the library catches the signal.

    A library's handler belongs to the process, so any thread of BLAS or of the user's may run it. Beside the call, which runs in
    a thread of its own, Python's handler is installed again at each look.

    Raises
    ------
    CallTimeout
        It was left, at `timeout_at`.
    """
    handler = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if handler is None:
        return run_with_timeout(call, options, begin)
    outcome: list[T] = []
    deadline = timeout_at(begin, options.time_limit)
    if not run_until(lambda: outcome.append(call()), threading.Event(), deadline, lambda: signal.signal(signal.SIGINT, handler)):
        raise CallTimeout(Status.TIME_LIMIT)
    return outcome[0]


def run_in_subprocess(call: Callable[[], Answer], options: Options, begin: float) -> Answer:
    """Run a call that holds Python's lock in a process of its own, which is ended when the call is left.

    The process is a fresh interpreter, not a fork, whose locks may be held for ever by threads that it does not have. To start it
    takes about a second of processor time. Ctrl-C leaves the call as the time limit does.

    Raises
    ------
    CallTimeout
        It was left, at `timeout_at` or at Ctrl-C.
    Exception
        What the call raised.
    """
    deadline = timeout_at(begin, options.time_limit)
    if time.perf_counter() > deadline:
        raise CallTimeout(Status.TIME_LIMIT)
    task = cloudpickle.dumps(call)
    seconds = deadline - time.perf_counter()
    alarm = seconds if math.isfinite(seconds) else None
    start = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import _serve; _serve({alarm})"
    process = subprocess.Popen(
        [sys.executable, "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    outcome: list[bytes] = []
    try:
        with interrupt_flag() as stop:
            completed = run_until(lambda: outcome.append(process.communicate(task)[0]), stop, deadline)
    finally:
        process.kill()  # says nothing to one that has ended
    if not completed:
        raise CallTimeout(Status.INTERRUPTED if stop.is_set() else Status.TIME_LIMIT)
    if process.returncode:
        word = f"its process ended with code {process.returncode}"
        return Answer(Status.FAILED, word, solve_seconds=time.perf_counter() - begin)
    answer = pickle.loads(outcome[0])
    if isinstance(answer, Exception):
        raise answer
    # what it took to start the process counts
    return replace(answer, build_seconds=time.perf_counter() - begin - answer.solve_seconds)


def _serve(seconds: float | None) -> None:
    """In the process of its own: make the call that standard input holds and write what it gives to standard output.

    The alarm ends the process where its parent was killed before it could, and needs no lock. What libraries print goes to
    standard error.
    """
    if seconds is not None and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, max(seconds, _LOOK))
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    call = pickle.load(sys.stdin.buffer)
    try:
        answer = call()
    except Exception as error:  # noqa: BLE001 - raised again by `apart`
        answer = error
    with output:
        cloudpickle.dump(answer, output)


def run_until(
    call: Callable[[], None], stop: threading.Event, deadline: float = math.inf, on_look: Callable[[], object] | None = None
) -> bool:
    """Run ``call`` until it returns, ``stop`` is set or the deadline passes.

    Parameters
    ----------
    call : callable
        Runs in a daemon thread; releases Python's lock while it works.
    stop : threading.Event
        Set by a signal handler, or by the user's callback.
    deadline : float
        On `time.perf_counter`'s clock.
    on_look : callable, optional
        Called beside the running call, in the caller's thread.

    Returns
    -------
    bool
        False where the call was left: it may still run.

    Raises
    ------
    BaseException
        What the call raised.
    """
    raised: list[BaseException] = []

    def work() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            raised.append(error)

    run = copy_context().run  # a new thread has no deadline of its own
    thread = threading.Thread(target=run, args=(work,), name="marginopt: a solver's call", daemon=True)
    thread.start()
    pause = _FIRST
    try:
        while thread.is_alive() and not stop.is_set() and time.perf_counter() < deadline:
            thread.join(min(pause, max(deadline - time.perf_counter(), 0.0)))
            pause = min(2.0 * pause, _LOOK)
            if on_look is not None and thread.is_alive():
                on_look()
        if thread.is_alive():
            thread.join(_GRACE)
    finally:  # Ctrl-C leaves the call, too
        if thread.is_alive():
            _left[:] = [thread, *(other for other in _left if other.is_alive())]
    if raised:
        raise raised[0]
    return not thread.is_alive()


@atexit.register
def _wait() -> None:
    """Give calls that were left some time to return while there is an interpreter to return to."""
    deadline = time.monotonic() + _LAST
    for thread in _left:
        thread.join(max(deadline - time.monotonic(), 0.0))
