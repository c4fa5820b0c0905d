"""Executors of independent tasks: the base classes, the executor in this process, and the one on joblib's workers."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from ...errors import ClusterError
from .serialisation import Packer, Payload, unpack

#: The function that a worker runs: of a task, and of the number of threads it may use (None: all of the machine's).
Job: TypeAlias = Callable[[Any, "int | None"], Any]

T = TypeVar("T")


@dataclass(frozen=True)
class TaskResult:
    """A finished task: its number, and its value or error."""

    number: int  #: number of the task, as it was submitted
    value: Any = None  #: value that the task's function returned
    error: BaseException | None = None  #: exception that the task raised; None if it returned

    def result(self) -> Any:
        """Return the value.

        Raises
        ------
        Exception
            The exception that the task raised.
        """
        if self.error is not None:
            raise self.error
        return self.value


class Executor(ABC):
    """Abstract executor: workers that run independent tasks.

    Tasks must not depend on each other nor change their arrays, and the arrays must not change while the executor is open: they
    are sent once, for all runs. A task is a value, so a task whose worker is lost runs again on another worker; its result counts
    once.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the number of tasks that run concurrently at present."""

    @abstractmethod
    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield number and result of every task, in the order of completion if the backend can; raise a task's exception."""

    def run_all(self, job: Job, tasks: Iterable[Any]) -> list[Any]:
        """Run the tasks and return their results, in the order of the tasks."""
        results = dict(self.run(job, tasks))
        return [results[number] for number in range(len(results))]

    def close(self) -> None:  # noqa: B027 -- most executors hold no resources
        """Release the resources that the executor itself opened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class SerialExecutor(Executor):
    """Executor in the calling process, which runs tasks one after the other."""

    @property
    def size(self) -> int:
        """Return one."""
        return 1

    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Run the tasks in order."""
        for number, task in enumerate(tasks):
            yield number, job(task, None)


class JoblibExecutor(Executor):
    """Executor on the backend of an enclosing ``joblib.parallel_config``, or on loky's processes.

    Processes of this machine read large arrays from files, each written once and mapped into memory; threads share them. Closing
    the executor removes the files.

    Parameters
    ----------
    jobs : int, optional
        Number of concurrent tasks, as joblib's ``n_jobs``.
    """

    def __init__(self, jobs: int | None) -> None:
        import joblib  # imported where it is used: it is slow

        self._jobs = jobs
        self._backend, _ = joblib.parallel.get_active_backend()
        self._packer, self._written = Packer(), set[str]()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def size(self) -> int:
        """Return joblib's number of jobs."""
        import joblib

        return int(joblib.effective_n_jobs(self._jobs))

    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield results as they are done if the backend can; else all at the end."""
        import joblib

        threads = _threads_per_task(self.size)
        order = "generator_unordered" if self._backend.supports_return_generator else "list"
        parallel = joblib.Parallel(n_jobs=self._jobs, return_as=order, batch_size=1, pre_dispatch="2*n_jobs")
        if getattr(self._backend, "supports_sharedmem", False):
            yield from parallel(joblib.delayed(_call)(number, job, task, threads) for number, task in enumerate(tasks))
            return
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="marginopt-", ignore_cleanup_errors=True)
        folder, open_task = self._folder.name, joblib.delayed(_open)
        yield from parallel(
            open_task(number, self._pack(job, task, folder), folder, threads) for number, task in enumerate(tasks)
        )

    def _pack(self, job: Job, task: Any, folder: str) -> Payload:
        """Return the serialised task, its arrays written to their files."""
        payload = self._packer.pack((job, task))
        for key in payload.keys:
            if key not in self._written:
                np.save(_array_file(folder, key), self._packer.arrays[key], allow_pickle=False)
                self._written.add(key)
        return payload

    def close(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()
        self._folder, self._packer, self._written = None, Packer(), set()


def _call(number: int, job: Job, task: Any, threads: int) -> tuple[int, Any]:
    return number, job(task, threads)


def _open(number: int, payload: Payload, folder: str, threads: int) -> tuple[int, Any]:
    """Run a task in a worker, its arrays read from their files."""
    job, task = unpack(payload, lambda key: np.asarray(np.load(_array_file(folder, key), mmap_mode="c", allow_pickle=False)))
    return number, job(task, threads)


def _array_file(folder: str, key: str) -> Path:
    return Path(folder) / f"{key}.npy"


class AsynchronousExecutor(Executor):
    """Abstract executor on a cluster: tasks are submitted one by one and collected when they are done."""

    #: Number of tasks that wait at the cluster for each running one, so that workers need not wait for the next; none wait if the
    #: user limits the number of tasks.
    ahead = 1

    def __init__(self, jobs: int | None = None) -> None:
        self._max_tasks = jobs if jobs is not None and jobs > 0 else None

    @property
    @abstractmethod
    def slots(self) -> int:
        """Return the number of tasks that the cluster runs at a time at present; 0 while it has no worker."""

    @property
    def size(self) -> int:
        """Return `slots`, or the user's limit, at least one."""
        slots = max(self.slots, 1)
        return slots if self._max_tasks is None else min(slots, self._max_tasks)

    @abstractmethod
    def submit(self, number: int, job: Job, task: Any) -> None:
        """Submit a task; ``number`` identifies its result."""

    @abstractmethod
    def collect(self, seconds: float) -> list[TaskResult]:
        """Return the tasks done since the last call, after waiting for at most ``seconds`` for the first.

        Raises
        ------
        ClusterError
            The connection to the cluster is lost.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Cancel every submitted task that is not collected."""

    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield results as they are done; submit at most `size` tasks and, without a limit of the user, `ahead` for each."""
        todo = enumerate(tasks)
        waiting, has_tasks = 0, True
        try:
            while waiting or has_tasks:
                while has_tasks and waiting < (1 + (self.ahead if self._max_tasks is None else 0)) * self.size:
                    number, task = next(todo, (-1, None))
                    has_tasks = number >= 0
                    if has_tasks:
                        self.submit(number, job, task)
                        waiting += 1
                for outcome in self.collect(1.0) if waiting else ():
                    waiting -= 1
                    yield outcome.number, outcome.result()
        finally:
            self.cancel()


def completed_results(numbered_results: Iterable[tuple[int, T]]) -> dict[int, T]:
    """Return the results by number; after Ctrl-C those that were completed before it.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C before any result.
    """
    results: dict[int, T] = {}
    try:
        results.update(numbered_results)
    except KeyboardInterrupt:
        if not results:
            raise
    return results


def _threads_per_task(tasks: int) -> int:
    """Return the number of threads for each of ``tasks`` concurrent tasks on this machine, at least one."""
    return max(1, (os.cpu_count() or 1) // tasks)


def worker_lost_error(message: str, task: int | None = None) -> ClusterError:
    """Return the error for a task whose workers were all lost, or for a cluster that is gone."""
    return ClusterError(f"{message}; what was done before is kept where a store or a checkpoint was given", task)
