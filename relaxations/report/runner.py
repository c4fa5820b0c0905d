"""Runs tasks one after the other or in parallel, from a store where it has them: a kill costs only what is being computed.

Workers compute and return records. The process that runs the report alone reads and writes the store, so that the store may
lie where the workers cannot see it, and no network file system has to lock it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ...solvers.parallel import Executor
from .progress import Progress
from .store import CellStore, digest

__all__ = ["Runner", "Work"]


class Work(Protocol):
    """A unit of work: a cell of a gap report, a run of a paper's table."""

    @property
    def kind(self) -> str:
        """The store's name."""

    @property
    def label(self) -> str:
        """The kind of computation: tasks of one label take about as long."""

    @property
    def parts(self) -> Mapping[str, Any]:
        """Return everything that determines the record, for the store's key."""

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """The record, and whether it is worth keeping; ``threads`` is the process's share of the machine."""

    def told(self, record: dict[str, Any]) -> str:
        """The record in a few words, for the progress line."""


class Runner:
    """Runs tasks and tells of them.

    Parameters
    ----------
    team : Team
    store : Path, optional
        The `CellStore` that keeps what is done.
    progress : Progress
    """

    def __init__(self, team: Executor, store: Path | None, progress: Progress) -> None:
        self.team, self.progress = team, progress
        self.store = None if store is None else CellStore(store)

    def run(self, tasks: Sequence[Work], later: Sequence[Work] = ()) -> list[dict[str, Any]]:
        """The tasks' records, in order; ``later`` are like those of a run that follows, and count as not done."""
        size = self.team.size
        self.progress.plan([(task.kind, task.label) for task in tasks], size)
        self.progress.expect([(task.kind, task.label) for task in later])
        if tasks:
            what = "cell" if len(tasks) == 1 else "cells"
            self.progress.line(f"{len(tasks)} {what} to do" + (f", {size} at a time" if size > 1 else ""))
        records: dict[int, dict[str, Any]] = {}
        for index, record, known, seconds in self._done(tasks):
            task = tasks[index]
            records[index] = record
            self.progress.finish(task.kind, task.label, seconds, known)
            self.progress.line(task.told(record) + (" (stored)" if known else ""))
        return [records[index] for index in range(len(tasks))]

    def _done(self, tasks: Sequence[Work]) -> Iterator[tuple[int, dict[str, Any], bool, float]]:
        """Index, record, whether it was stored, seconds: as tasks are done."""
        stored: deque[tuple[int, dict[str, Any], bool, float]] = deque()
        requested: list[tuple[int, str]] = []  # index and key of what the team was given

        def missing() -> Iterator[Work]:
            for index, task in enumerate(tasks):
                key = "" if self.store is None else digest({"kind": task.kind, **task.parts})
                record = None if self.store is None else self.store.get(key)
                if record is None:
                    requested.append((index, key))
                    yield task
                else:
                    stored.append((index, record, True, 0.0))

        for number, (record, keep, seconds) in self.team.run(_perform, missing()):
            while stored:
                yield stored.popleft()
            index, key = requested[number]
            if keep and self.store is not None:
                record = self.store.put(key, tasks[index].kind, record)
            yield index, record, False, seconds
        yield from stored


def _perform(task: Work, threads: int | None) -> tuple[dict[str, Any], bool, float]:
    """One task: its record, whether it is worth keeping, seconds."""
    begin = time.perf_counter()
    record, keep = task.compute(threads)
    return record, keep, time.perf_counter() - begin
