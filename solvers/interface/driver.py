"""The one driver of every hand-written algorithm: stopping, time, trace, callback, progress, interruption."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from ...errors import UnsupportedModelError
from ..records.answer import Answer
from ..records.options import Options
from ..records.status import Status
from ..records.trace import Trace, TraceRow, relative_gap
from .algorithm import Algorithm, Measure, Outcome
from .solver import Problem

__all__ = ["drive", "interrupt_flag"]

V = TypeVar("V")
S = TypeVar("S")

#: Seconds that one call of ``advance`` is asked to work: short enough for Ctrl-C, long enough to cost nothing.
BUDGET = 0.05
#: Rows kept of a trace; a longer one is thinned to every second row, so memory stays bounded.
_TRACE_ROWS = 4096

_STATUS = {
    Outcome.CONVERGED: Status.OPTIMAL,
    Outcome.STALLED: Status.STALLED,
    Outcome.STATIONARY: Status.STATIONARY,
    Outcome.INFEASIBLE: Status.INFEASIBLE,
    Outcome.ITERATION_LIMIT: Status.ITERATION_LIMIT,
    Outcome.NODE_LIMIT: Status.NODE_LIMIT,
    Outcome.MEMORY_LIMIT: Status.MEMORY_LIMIT,
}


def drive(algorithm: Algorithm[V, S], problem: Problem, options: Options) -> Answer:
    """Run an algorithm on a problem until its rule, a limit, the callback or Ctrl-C ends it.

    The time limit counts from the start of ``init``, after compiled code was loaded. The returned point is whatever ``answer``
    gives after the last completed ``advance``: a valid, usable point in every case.
    """
    algorithm = algorithm.accept(options.native)
    build_start = time.perf_counter()
    view = algorithm.view_of(problem)
    if view is None:
        raise UnsupportedModelError(f"{algorithm.info.name} cannot read {problem.name}: {algorithm.obstacle(problem)}")
    algorithm.load(view)
    start = time.perf_counter()
    recorder = _Recorder(algorithm.info.name, options, start)
    with interrupt_flag() as interrupted:
        state = algorithm.init(view, options, np.random.default_rng(options.seed))
        status = recorder.add(algorithm.measure(state))
        while status is None:
            outcome = algorithm.advance(state, _budget(options, start))
            stop = recorder.add(algorithm.measure(state))
            if outcome is not Outcome.RUNNING:
                status = _STATUS[outcome]
            elif interrupted.is_set() or stop is not None:
                status = Status.INTERRUPTED
            elif options.time_limit is not None and time.perf_counter() - start >= options.time_limit:
                status = Status.TIME_LIMIT
    recorder.close()
    answer = algorithm.answer(state)
    last = recorder.last
    return replace(
        answer,
        status=status,
        native_status=status.name.lower() if status not in _STATUS.values() else outcome_word(status),
        objective=last.objective if np.isfinite(last.objective) else None,
        iterations=last.iteration,
        trace=recorder.trace(),
        build_seconds=start - build_start,
        solve_seconds=time.perf_counter() - start,
    )


def outcome_word(status: Status) -> str:
    """The algorithm's own word for how it ended."""
    return next(outcome.name.lower() for outcome, mapped in _STATUS.items() if mapped is status)


def _budget(options: Options, start: float) -> float:
    if options.time_limit is None:
        return BUDGET
    left = options.time_limit - (time.perf_counter() - start)
    return float(np.clip(left, 1e-4, BUDGET))


class _Recorder:
    """Collects trace rows, calls the callback, rewrites the progress line."""

    def __init__(self, name: str, options: Options, start: float) -> None:
        self._name, self._options, self._start = name, options, start
        self._rows: list[TraceRow] = []
        self._every, self._seen = 1, 0
        self._shown = 0.0
        self.last = TraceRow(0, 0.0, float("nan"))

    def add(self, measure: Measure) -> Status | None:
        """Record where the run stands; INTERRUPTED where the callback asks to stop."""
        seconds = time.perf_counter() - self._start
        self.last = TraceRow(
            measure.iteration, seconds, measure.objective, measure.bound, measure.active, measure.columns, measure.step
        )
        if measure.checkpoint:
            self._keep(self.last)
        if self._options.progress and seconds - self._shown >= 0.2:
            self._shown = seconds
            self._print(self.last)
        callback = self._options.callback
        return Status.INTERRUPTED if callback is not None and callback(self.last) else None

    def _keep(self, row: TraceRow) -> None:
        if self._seen % self._every == 0:
            self._rows.append(row)
            if len(self._rows) >= _TRACE_ROWS:
                self._rows, self._every = self._rows[::2], 2 * self._every
        self._seen += 1

    def _print(self, row: TraceRow) -> None:
        gap = relative_gap(row.objective, row.bound)
        active = f"  active {row.active}" if row.active >= 0 else ""
        line = (
            f"{self._name}: {row.seconds:7.1f} s  iteration {row.iteration}  objective {row.objective:.8g}  gap {gap:.2e}{active}"
        )
        sys.stderr.write(f"\r{line:<110}")
        sys.stderr.flush()

    def close(self) -> None:
        """End the progress line."""
        if self._options.progress:
            self._print(self.last)
            sys.stderr.write("\n")

    def trace(self) -> Trace:
        """All rows, the last one included."""
        rows = self._rows if self._rows and self._rows[-1] is self.last else [*self._rows, self.last]
        return Trace(tuple(rows))


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
