"""Watching an off-the-shelf solver from its callback: the common trace, the user's callback, the progress line."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..records.options import Options
from ..records.trace import Trace, TraceRow

__all__ = ["Observer"]

#: Seconds between two rows where no new incumbent was found.
_EVERY = 0.05
#: What solvers write for "none yet".
_NONE = 1e19
#: Rows kept; a longer trace is thinned to every second row.
_ROWS = 4096


class Observer:
    """Collects rows from a solver's callback; an error of the user's callback stops the solve and is raised after it."""

    def __init__(self, name: str, options: Options) -> None:
        self._name, self._options = name, options
        self._start = time.perf_counter()
        self._rows: list[TraceRow] = []
        self._shown = -np.inf
        self._error: BaseException | None = None
        self.stopped = False

    def start(self) -> None:
        """Set the clock to zero: the solve begins."""
        self._start = time.perf_counter()

    def due(self) -> bool:
        """Whether a row without a new incumbent is wanted now; asked first by callbacks that are called often."""
        return not self._rows or self._seconds() - self._rows[-1].seconds >= _EVERY

    def see(self, iteration: int, objective: float, bound: float, *, active: int = -1, step: str = "") -> bool:
        """Record where the solve stands.

        Returns
        -------
        bool
            True where the user asks to stop.
        """
        row = TraceRow(iteration, self._seconds(), _known(objective), _known(bound), active=active, step=step)
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self._rows = self._rows[::2]
        if self._options.progress and row.seconds - self._shown >= 0.2:
            self._show(row)
        if self._options.callback is not None and not self.stopped:
            self.stopped = bool(self._options.callback(row))
        return self.stopped

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Around the body of a native callback: an error cannot pass through the solver's own frames, so it waits for `close`."""
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - raised again by close
            self._error, self.stopped = error, True

    def close(self, iteration: int, objective: float, bound: float) -> Trace:
        """End with the final state.

        Raises
        ------
        BaseException
            What a callback raised.
        """
        if self._error is not None:
            raise self._error
        row = TraceRow(iteration, self._seconds(), _known(objective), _known(bound), step="end")
        self._rows.append(row)
        if self._options.progress:
            self._show(row)
            sys.stderr.write("\n")
        return Trace(tuple(self._rows))

    def _seconds(self) -> float:
        return time.perf_counter() - self._start

    def _show(self, row: TraceRow) -> None:
        self._shown = row.seconds
        line = (
            f"{self._name}: {row.seconds:7.1f} s  {row.iteration} nodes or iterations  objective {row.objective:.8g}  "
            f"bound {row.bound:.8g}  gap {row.gap:.2e}"
        )
        sys.stderr.write(f"\r{line:<110}")
        sys.stderr.flush()


def _known(value: float) -> float:
    return float(value) if abs(value) < _NONE else float("nan")
