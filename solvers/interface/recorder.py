"""`Recorder` of a run (trace rows, callback, progress line) and `interrupt_flag` for Ctrl-C.

The driver of hand-written algorithms (`solvers.interface.algorithm`) and the backends of off-the-shelf solvers use both.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from ...status_line import StatusLine
from ..records import Options, Trace, TraceRow

#: Seconds between two rows of a backend's callback where no new incumbent was found.
_EVERY = 0.05
#: Seconds between two progress lines.
_SHOWN = 0.2
#: Seconds within which a second Ctrl-C is meant for the loop around the solves.
_AGAIN = 2.0
#: Absolute value from which a solver's number stands for a value that it does not have yet.
_NONE = 1e19
#: Largest residual of an interior point's pair of points at which the dual objective counts as a bound.
_FEASIBLE = 1e-5
#: Rows kept of a trace without `Options.trace_every`: a longer one is thinned to every second row, so memory stays bounded.
#: With that option the trace has every row at its interval, some 300 bytes each.
_ROWS = 4096


@dataclass(frozen=True)
class ProgressState:
    """The progress of a run as `Algorithm.measure` returns it: the run's own values, which no certificate has confirmed.

    Parameters
    ----------
    iteration : int
        Iterations (or nodes of a tree search) done.
    objective, bound : float
        Objective and lower bound of the minimised objective; NaN without an objective, -∞ or NaN without a bound.
    active : int
        Size of the active set (support vectors, open nodes); -1 where it has no meaning.
    columns : int
        Kernel columns computed so far; -1 where it has no meaning.
    step : str
        Kind of the last step, such as "newton" or "pair", for the trace.
    checkpoint : bool
        True at states that a repeated run also reaches, independent of the clock; only these get a trace row.
    """

    iteration: int
    objective: float
    bound: float = float("-inf")
    active: int = -1
    columns: int = -1
    step: str = ""
    checkpoint: bool = True


class Recorder:
    """The recorder of one run's trace rows: the driver adds a row after every step, a backend in its solver's callback.

    Parameters
    ----------
    name : str
        The solver's name, for messages.
    options : Options
        The options; ``callback``, ``progress``, ``trace_every`` and ``log_file`` are read.
    maximise : bool
        Whether the program is maximised: lines of progress and of log files have its sense. Trace rows have the sense of the
        form, which is minimised.

    Attributes
    ----------
    stopped : bool
        Whether the user's callback asked to stop (or raised an error inside `deferring_errors`).
    last : TraceRow
        The latest row, in the trace or not.
    next_row : float
        The time of `time.perf_counter` from which a row without a new incumbent is due. Callbacks that are called by the
        thousand compare with it before they record anything.
    """

    def __init__(self, name: str, options: Options, *, maximise: bool = False) -> None:
        self._name, self._options = name, options
        self._sign = -1.0 if maximise else 1.0
        self._start = time.perf_counter()
        self._rows: list[TraceRow] = []
        self._stride, self._seen, self._next_iteration = 1, 0, 0
        self._shown = 0.0  # a run that is shorter than the interval has its last row alone
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
        """Seconds since the start."""
        return time.perf_counter() - self._start

    def record_progress(self, progress: ProgressState) -> bool:
        """Record the progress of the run.

        Returns
        -------
        bool
            True if the user asks to stop.
        """
        seconds = self.seconds
        self.last = TraceRow(
            progress.iteration,
            seconds,
            float(progress.objective),
            float(progress.bound),
            progress.active,
            progress.columns,
            progress.step,
        )
        self.next_row = self._start + seconds + _EVERY if self._options.trace_every is None else -np.inf
        if progress.checkpoint:
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
        """Record the values of an off-the-shelf solver, and return True if the user asks to stop.

        A value of 1e19 or more stands for one that the solver does not have yet. ``infeasible`` is the larger residual of an
        interior point's pair of points: above 1e-5 the dual objective counts as no bound.
        """
        finite_bound = _known(bound) if infeasible <= _FEASIBLE else float("nan")
        return self.record_progress(ProgressState(iteration, _known(objective), finite_bound, active, step=step))

    @contextmanager
    def deferring_errors(self) -> Iterator[None]:
        """Catch errors in a native callback, which cannot pass through the solver's own frames; `trace` raises them."""
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - raised again by trace
            self._error, self.stopped = error, True

    def final_trace(self, iteration: int, objective: float | None, bound: float | None) -> Trace:
        """Return the trace of a backend's run, with the final state as its last row."""
        self.last = TraceRow(iteration, self.seconds, _known(objective), _known(bound), step="end")
        return self.trace()

    def trace(self) -> Trace:
        """Return all rows, the last one included, and end the progress line.

        Raises
        ------
        BaseException
            The error that was raised inside `deferring_errors`.
        """
        if self._error is not None:
            raise self._error
        if self._options.progress:
            self._line.write_line(self._said(self.last))
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


class _LastInterrupt:
    """The time of the process's last Ctrl-C, by the monotonic clock."""

    seconds = -np.inf


def forget_interrupt() -> None:
    """Forget the time of the last Ctrl-C, so that the next one counts as a first one, for tests that send several."""
    _LastInterrupt.seconds = -np.inf


@contextmanager
def interrupt_flag() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets; the second raises as usual. Outside the main thread it is never set.

    A second Ctrl-C within two seconds raises in a later solve, too: it is meant for the user's loop around the solves.
    """
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    previous = signal.getsignal(signal.SIGINT) or signal.SIG_DFL  # None: installed by other code than Python's

    def handle(signum: int, frame: FrameType | None) -> Any:
        seconds = time.monotonic()
        is_second, _LastInterrupt.seconds = seconds - _LastInterrupt.seconds < _AGAIN, seconds
        flag.set()
        signal.signal(signal.SIGINT, previous)
        if is_second and callable(previous):
            previous(signum, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, previous)
