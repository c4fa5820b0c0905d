"""Clock of Numba's compilations during a solver's run: it times them apart from solving and shows a status line for long ones.

Loops are compiled once for a machine and stored on disk (once for a process where no folder can be written). The line is shown in
terminals and notebooks, or where progress is asked for; never by worker processes.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any, ClassVar

from numba.core import event

from ...code_cache import CodeCache
from ...errors import MarginoptWarning, count_text
from ...status_line import StatusLine

#: Seconds of compiling from which on the line is shown.
MESSAGE_DELAY = 1.0
#: Steps of the loop that `machine_slowdown` times, and their seconds on the reference machine, on which
#: `Algorithm.expected_compile_seconds` was measured.
_STEPS, _STEPS_SECONDS = 300_000, 0.012


class CodeTimer(event.Listener):
    """Listener that adds up the seconds in which Numba compiles code or loads it from the disk; nested ones count once."""

    def __init__(self) -> None:
        self._depth = 0
        self._start = self._total = 0.0

    @property
    def seconds(self) -> float:
        """Return the seconds so far."""
        return self._total + (time.perf_counter() - self._start if self._depth else 0.0)

    def on_start(self, event: Any) -> None:
        """Record the start of an event."""
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Record the end of an event."""
        self._depth -= 1
        if self._depth == 0:
            self._total += time.perf_counter() - self._start


class CompileClock(event.Listener):
    """Listener that adds up the seconds in which Numba compiles; nested compilations count once.

    Garbage collection is off while Numba compiles: the compiler's objects live until it is done, and scanning them takes a tenth
    of the time.

    Parameters
    ----------
    name : str
        Name of the solver in the line.
    announce : bool
        Whether to show the line.
    expected : float
        Seconds of compiling on the reference machine (`machine_slowdown`); 0 if they are not known.

    Attributes
    ----------
    code_timer : CodeTimer
        Timer of compiling and of loading compiled code.
    """

    #: The clock of the outermost run, which alone shows a line.
    outermost: ClassVar[CompileClock | None] = None

    def __init__(self, name: str, announce: bool, expected: float = 0.0) -> None:
        self._name, self._announce, self._expected = name, announce, expected
        self._depth = self._functions = 0
        self._start = 0.0
        self._total = 0.0
        self._shown = self._collects = False
        self.code_timer = CodeTimer()

    @cached_property
    def _line(self) -> StatusLine:
        """The line about compilation, made where it is shown."""
        return StatusLine()

    @property
    def seconds(self) -> float:
        """Return the seconds so far."""
        return self._total + (time.perf_counter() - self._start if self._depth else 0.0)

    @property
    def _progress_text(self) -> str:
        return f"{count_text(self._functions, 'function')}, {self.seconds:.0f} s"

    def on_start(self, event: Any) -> None:
        """Record the start of a compilation, and show or update the line if it is due."""
        if self._depth == 0:
            self._start = time.perf_counter()
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        if self._announce and self.seconds >= MESSAGE_DELAY:
            if not self._shown:
                self._shown, self._expected = True, self._expected * machine_slowdown()
            estimate = f", about {self._expected:.0f} s" if self.seconds < self._expected else ""  # left out once it is exceeded
            self._line.show(f"compiling {self._name} {_reuse()}{estimate}: {self._progress_text}")

    def on_end(self, event: Any) -> None:
        """Record the end of a compilation."""
        self._depth -= 1
        self._functions += 1
        if self._depth == 0:
            self._total += time.perf_counter() - self._start
            if self._collects:
                gc.enable()

    def warn_beyond(self, time_limit: float | None) -> None:
        """Warn that compiling took longer than the time limit, unless a line showed it or an outer run will warn."""
        limit = math.inf if time_limit is None else max(time_limit, MESSAGE_DELAY)
        if self.seconds <= limit or self._shown or CompileClock.outermost is not self or _in_worker():
            return
        message = (
            f"compiling {self._name} {_reuse()} took {self.seconds:.0f} s, more than the time limit, which does not count it; "
            f"`marginopt warm-up {self._name}` compiles ahead of time"
        )
        warnings.warn(MarginoptWarning(message, name="time_limit"), stacklevel=2)

    def close(self) -> None:
        """End the line, if it was shown."""
        if self._shown:
            self._line.write_line(f"compiled {self._name} {_reuse()}: {self._progress_text}")


def machine_slowdown() -> float:
    """Return the factor by which this machine is slower now than the reference machine, its other work included."""
    begin = time.perf_counter()
    sum(k * k for k in range(_STEPS))
    return (time.perf_counter() - begin) / _STEPS_SECONDS


@contextmanager
def compile_clock(name: str, progress: bool, expected: float = 0.0) -> Iterator[CompileClock]:
    """Install a `CompileClock` for the run of a solver inside the ``with`` block, and yield it."""
    outer = CompileClock.outermost
    clock = CompileClock(name, outer is None and _line_wanted(progress), expected)
    if outer is None:
        CompileClock.outermost = clock
    try:
        with ExitStack() as listeners:
            listeners.enter_context(event.install_listener("numba:compile", clock))
            for kind in ("numba:compile", "numba:compiler_lock"):  # loading takes the lock alone
                listeners.enter_context(event.install_listener(kind, clock.code_timer))
            yield clock
    finally:
        if outer is None:
            CompileClock.outermost = None
        clock.close()


def _reuse() -> str:
    """Return the clause that says how long the compiled code is kept."""
    return "once for this machine" if CodeCache.on_disk else "for this process (NUMBA_CACHE_DIR can name a folder to keep it in)"


def _line_wanted(progress: bool) -> bool:
    """Return whether a user may read a status line: never in a worker process."""
    if _in_worker():
        return False
    return progress or StatusLine.stderr_is_read or sys.stderr.isatty() or _in_notebook()


def _in_worker() -> bool:
    """Return whether this process is a worker of a pool."""
    return multiprocessing.current_process().name != "MainProcess"


def _in_notebook() -> bool:
    """Return whether this process runs the cells of a notebook; an imported kernel alone does not."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell"
