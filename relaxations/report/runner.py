"""Runs tasks one after the other or in parallel, from a store where it has them: a kill costs only what is being computed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ...errors import InputError
from .progress import Progress
from .store import CellStore

__all__ = ["Runner", "Work"]


class Work(Protocol):
    """What can be run: a cell of a gap report, a run of a paper's table."""

    @property
    def kind(self) -> str:
        """The store's name."""

    @property
    def label(self) -> str:
        """What is computed: tasks of one label take about as long."""

    @property
    def parts(self) -> Mapping[str, Any]:
        """All that determines the record, for the store's key."""

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """The record, and whether it is worth keeping; ``threads`` is the process's share of the machine."""

    def told(self, record: dict[str, Any]) -> str:
        """The record in a few words, for the progress line."""


class Runner:
    """Runs tasks and tells of them.

    Parameters
    ----------
    jobs : int, optional
        Tasks at a time; -1 for all cores. Where it is not given, one, or what an enclosing ``joblib.parallel_config`` says.
    store : Path, optional
        The `CellStore` that keeps what is done.
    progress : Progress
    """

    def __init__(self, jobs: int | None, store: Path | None, progress: Progress) -> None:
        if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0):
            raise InputError(f"jobs must be a number of cells at a time, or -1 for all cores; it is {jobs!r}")
        import joblib  # when a report runs: heavy

        self.jobs, self.store, self.progress = jobs, store, progress
        self.workers = int(joblib.effective_n_jobs(jobs))

    def run(self, tasks: Sequence[Work]) -> list[dict[str, Any]]:
        """The tasks' records, in order."""
        self.progress.plan([(task.kind, task.label) for task in tasks], self.workers)
        if tasks:
            what = "cell" if len(tasks) == 1 else "cells"
            self.progress.line(f"{len(tasks)} {what} to do" + (f", {self.workers} at a time" if self.workers > 1 else ""))
        records: dict[int, dict[str, Any]] = {}
        for index, record, known, seconds in self._done(tasks):
            task = tasks[index]
            records[index] = record
            self.progress.finish(task.kind, task.label, seconds, known)
            self.progress.line(task.told(record) + (" (stored)" if known else ""))
        return [records[index] for index in range(len(tasks))]

    def _done(self, tasks: Sequence[Work]) -> Iterator[tuple[int, dict[str, Any], bool, float]]:
        """Index, record, whether it was stored, seconds: as tasks are done."""
        if self.workers == 1:
            for index, task in enumerate(tasks):
                yield _perform(index, task, self.store, None)
            return
        import joblib

        backend, _ = joblib.parallel.get_active_backend()
        # a backend that cannot hand over results one by one hands over all at the end
        order = "generator_unordered" if backend.supports_return_generator else "list"
        threads = max(1, (os.cpu_count() or 1) // self.workers)
        calls = (joblib.delayed(_perform)(index, task, self.store, threads) for index, task in enumerate(tasks))
        yield from joblib.Parallel(n_jobs=self.jobs, return_as=order, batch_size=1, pre_dispatch="2*n_jobs")(calls)


def _perform(index: int, task: Work, store: Path | None, threads: int | None) -> tuple[int, dict[str, Any], bool, float]:
    """One task, from the store or computed and stored."""
    begin = time.perf_counter()
    if store is None:
        record, known = task.compute(threads)[0], False
    else:
        record, known = CellStore(store).remember(task.kind, task.parts, lambda: task.compute(threads))
    return index, record, known, time.perf_counter() - begin
