"""Numba's compilations during a run: timed apart, and reported to a waiting user.

Loops are compiled once for a machine and kept on disk. Nothing is said where they are found there, in files and pipes (but where
progress is asked for), and by worker processes.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar

from numba.core import event

from ...code_cache import CodeCache
from ...display import StatusLine

#: Seconds of compiling after which it is said.
PATIENCE = 1.0
#: Steps of the loop that `slowdown` times, and their seconds on the processor that solvers' `compiling` was measured on.
_STEPS, _USUAL = 300_000, 0.012


class CompileClock(event.Listener):
    """Seconds that Numba spends compiling while it listens; a function that another one needs is part of that one's time.

    The garbage collector rests meanwhile: the compiler's objects live until it is done, and looking through them is a tenth of
    the time.

    Parameters
    ----------
    name : str
        Of the solver, for the line.
    shown : bool
        Whether there is to be a line.
    usual : float
        Seconds that it takes on the processor it was measured on; 0 where nobody knows.
    """

    #: The clock of the outermost run: solvers that call others have one line.
    outermost: ClassVar[CompileClock | None] = None

    def __init__(self, name: str, shown: bool, usual: float = 0.0) -> None:
        self._name, self._shows, self._usual = name, shown, usual
        self._depth = self._functions = 0
        self._start = 0.0
        self._total = 0.0
        self._shown = self._collects = False

    @cached_property
    def _line(self) -> StatusLine:
        """The line about compilation, made where it is shown."""
        return StatusLine()

    @property
    def seconds(self) -> float:
        """Return the seconds so far."""
        return self._total + (time.perf_counter() - self._start if self._depth else 0.0)

    def on_start(self, event: Any) -> None:
        """A function is about to be compiled."""
        if self._depth == 0:
            self._start = time.perf_counter()
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        if self._shows and self.seconds >= PATIENCE:
            if not self._shown:
                self._shown, self._usual = True, self._usual * slowdown()
            estimate = f", about {self._usual:.0f} s" if self.seconds < self._usual else ""  # wrong by then, and not said
            self._line.show(f"compiling {self._name} {_how_often()}{estimate}: {self._functions} functions, {self.seconds:.0f} s")

    def on_end(self, event: Any) -> None:
        """Record the end of a compilation."""
        self._depth -= 1
        self._functions += 1
        if self._depth == 0:
            self._total += time.perf_counter() - self._start
            if self._collects:
                gc.enable()

    def close(self) -> None:
        """End the line of progress, if one was written."""
        if self._shown:
            self._line.keep(f"compiled {self._name} {_how_often()}: {self._functions} functions, {self.seconds:.0f} s")


def slowdown() -> float:
    """Return the factor by which this machine is slower now than the reference machine, its other work included."""
    begin = time.perf_counter()
    sum(k * k for k in range(_STEPS))
    return (time.perf_counter() - begin) / _USUAL


@contextmanager
def compile_clock(name: str, progress: bool, usual: float = 0.0) -> Iterator[CompileClock]:
    """A clock for a run of this solver, which usually compiles for so many seconds; the line ends with the block."""
    outer = CompileClock.outermost
    clock = CompileClock(name, outer is None and _somebody_looks(progress), usual)
    if outer is None:
        CompileClock.outermost = clock
    try:
        with event.install_listener("numba:compile", clock):
            yield clock
    finally:
        if outer is None:
            CompileClock.outermost = None
        clock.close()


def _how_often() -> str:
    return "once for this machine" if CodeCache.on_disk else "for this process (NUMBA_CACHE_DIR can name a folder to keep it in)"


def _somebody_looks(progress: bool) -> bool:
    if multiprocessing.current_process().name != "MainProcess":
        return False
    return progress or StatusLine.read or sys.stderr.isatty() or _in_notebook()


def _in_notebook() -> bool:
    """Return whether this process runs the cells of one; that some test or tool has imported a kernel says nothing."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell"
