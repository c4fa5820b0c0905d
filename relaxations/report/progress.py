"""Progress of a report: one line for each cell, with the time so far and an estimate of what remains."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict

__all__ = ["Progress"]


class Progress:
    """Lines on standard error.

    The estimate takes for every cell that remains the mean seconds of the finished cells of its label, else of its kind, else
    ``limit``; divided by the number of cells at a time.

    Parameters
    ----------
    on : bool
        Whether to write.
    limit : float
        Seconds that a cell of an unknown kind may take.
    """

    def __init__(self, on: bool, limit: float) -> None:
        self.on, self.limit, self.begin = on, limit, time.perf_counter()
        self.jobs = 1
        self.done, self.total = 0, 0
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._times: defaultdict[str, list[float]] = defaultdict(list)

    def plan(self, tasks: list[tuple[str, str]], jobs: int) -> None:
        """More cells, by kind and label."""
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
        return sum(count * self._expected(*what) for what, count in self._waiting.items()) / self.jobs

    def _expected(self, kind: str, label: str) -> float:
        times = self._times.get(f"{kind}: {label}") or self._times.get(kind)
        return self.limit if times is None else sum(times) / len(times)

    def line(self, text: str) -> None:
        """Write one line."""
        if self.on:
            seconds = time.perf_counter() - self.begin
            sys.stderr.write(f"[{self.done}/{self.total}, {seconds:5.1f} s, about {self.remaining:.0f} s left] {text}\n")
            sys.stderr.flush()
