"""The abstract team: tasks in, results out as they are done; workers compute and nothing else."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

from ...errors import SolverError

__all__ = ["AsynchronousExecutor", "Done", "Executor", "Job", "SerialExecutor"]

#: What a worker calls: a task, and the threads that are its share of the worker's machine (None: no other task runs there).
Job: TypeAlias = Callable[[Any, "int | None"], Any]


@dataclass(frozen=True)
class Done:
    """A task that is over: its number, and what came of it."""

    number: int
    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """The value.

        Raises
        ------
        Exception
            What the task raised.
        """
        if self.error is not None:
            raise self.error
        return self.value


class Executor(ABC):
    """Workers that run tasks.

    Tasks must not depend on each other nor change the arrays that they are given, nor may these change while the team is open:
    they travel once, for all runs. A task is a value, so one whose worker is lost is run again by another; its result counts
    once.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Tasks at a time, now."""

    @abstractmethod
    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Number and result of every task, as they are done."""

    def all(self, job: Job, tasks: Iterable[Any]) -> list[Any]:
        """The results, in the order of the tasks."""
        found = dict(self.run(job, tasks))
        return [found[number] for number in range(len(found))]

    def close(self) -> None:  # noqa: B027 -- most teams hold nothing
        """Give back what the team itself has opened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class SerialExecutor(Executor):
    """The calling process, one task after the other."""

    @property
    def size(self) -> int:
        """One."""
        return 1

    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """In order."""
        for number, task in enumerate(tasks):
            yield number, job(task, None)


class AsynchronousExecutor(Executor):
    """Workers elsewhere: tasks are submitted one by one and collected when they are done."""

    #: Tasks that wait at the cluster for each that runs.
    ahead = 1

    def __init__(self, jobs: int | None = None) -> None:
        self._most = jobs if jobs is not None and jobs > 0 else None

    @property
    @abstractmethod
    def slots(self) -> int:
        """Tasks that the cluster runs at a time, now; 0 while it has no worker."""

    @property
    def size(self) -> int:
        """`slots`, or what the user allows, at least one."""
        slots = max(self.slots, 1)
        return slots if self._most is None else min(slots, self._most)

    @abstractmethod
    def submit(self, number: int, job: Job, task: Any) -> None:
        """Hand a task over."""

    @abstractmethod
    def collect(self, seconds: float) -> list[Done]:
        """Return the results since the last call, after waiting for at most ``seconds`` for the first.

        Raises
        ------
        SolverError
            The cluster is gone.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Forget everything that was submitted and is not collected."""

    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield results as they arrive, with at most ``ahead`` tasks more under way than the cluster runs."""
        todo = enumerate(tasks)
        waiting, more = 0, True
        try:
            while waiting or more:
                while more and waiting < (1 + (self.ahead if self._most is None else 0)) * self.size:
                    number, task = next(todo, (-1, None))
                    more = number >= 0
                    if more:
                        self.submit(number, job, task)
                        waiting += 1
                for done in self.collect(1.0) if waiting else ():
                    waiting -= 1
                    yield done.number, done.result()
        finally:
            self.cancel()


def share_of_cores(tasks: int) -> int:
    """Threads for each of so many tasks on this machine."""
    return max(1, (os.cpu_count() or 1) // tasks)


def worker_lost(what: str) -> SolverError:
    """A task that no worker survives, or a cluster that is gone."""
    return SolverError(f"{what}; what was done before is kept where a store or a checkpoint was given")
