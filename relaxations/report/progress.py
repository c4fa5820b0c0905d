"""Progress of a report: one line for each cell, with the time so far and an estimate of what remains."""

from __future__ import annotations

import time
from collections import Counter, defaultdict

import numpy as np

from ...errors import InputError
from ...terminal import StatusLine

__all__ = ["Progress"]


class Progress:
    """Lines on standard error.

    The estimate takes for every cell that remains the mean seconds of the finished cells of its label, else of its kind, else
    ``limit``; divided by the number of cells at a time. The first cell of a label, which may have compiled what it runs, does not
    count once there are others.

    Parameters
    ----------
    on : bool
        Whether to write.
    limit : float
        Seconds that a cell of an unknown kind may take.

    Raises
    ------
    InputError
        ``on`` is neither of the two.
    """

    def __init__(self, on: bool, limit: float) -> None:
        if not isinstance(on, bool | np.bool_):
            raise InputError(f"progress must be True or False; it is {on!r}")
        self.on, self.limit, self.begin = bool(on), limit, time.perf_counter()
        self.jobs = 1
        self._line = StatusLine()
        self.done, self.total = 0, 0
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._expected: Counter[tuple[str, str]] = Counter()
        self._times: defaultdict[str, list[float]] = defaultdict(list)

    def expect(self, tasks: list[tuple[str, str]]) -> None:
        """Cells that a later plan will hold: they count from now on."""
        self._expected.update(tasks)
        self._waiting.update(tasks)
        self.total += len(tasks)

    def plan(self, tasks: list[tuple[str, str]], jobs: int) -> None:
        """Cells that come now, by kind and label; they take the place of those that were expected."""
        self._waiting -= self._expected
        self.total -= self._expected.total()
        self._expected.clear()
        self._waiting.update(tasks)
        self.total += len(tasks)
        self.jobs = jobs

    def finish(self, kind: str, label: str, seconds: float, known: bool) -> None:
        """One cell is done; what came from the store says nothing about times."""
        self._waiting[kind, label] -= 1
        self.done += 1
        if not known:
            self._times[f"{kind}: {label}"].append(seconds)
            self._times[kind].append(seconds)

    @property
    def remaining(self) -> float:
        """Estimated seconds until the planned cells are done."""
        return sum(count * self._each(*what) for what, count in self._waiting.items()) / self.jobs

    def _seen(self, kind: str, label: str) -> list[float]:
        return self._times.get(f"{kind}: {label}") or self._times.get(kind) or []

    def _each(self, kind: str, label: str) -> float:
        times = self._seen(kind, label)
        later = times[1:] or times
        return sum(later) / len(later) if later else self.limit

    @property
    def _word(self) -> str:
        """The estimate of the remaining time. The limit counts for kinds of cells that none is done of."""
        return "about" if all(self._seen(*what) for what, count in self._waiting.items() if count > 0) else "at most"

    def line(self, text: str) -> None:
        """Tell of one event."""
        if self.on:
            seconds = time.perf_counter() - self.begin
            self._line.note(f"[{self.done}/{self.total}, {seconds:.1f} s, {self._word} {self.remaining:.0f} s left] {text}")

    def end(self) -> None:
        """End the display."""
        if self.on:
            self._line.end()
