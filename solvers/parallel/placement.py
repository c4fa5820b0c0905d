"""The placement of tasks: the worker that has least to do, and among those one that has the task's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["Placement"]


class Placement:
    """The tasks that each worker has not returned, and the arrays that went there.

    Left to itself, Dask sends a task to a worker that holds its data, and idle workers take some of it over as far as it believes
    tasks to be long: short ones wait behind each other, beside workers that have nothing to do.
    """

    def __init__(self) -> None:
        self._threads: dict[str, int] = {}
        self._tasks: dict[str, int] = {}
        self._arrays: dict[str, set[str]] = {}

    def now(self, threads: Mapping[str, int]) -> None:
        """The workers that there are, by address, and their threads; what went to others is forgotten."""
        self._threads = {worker: count for worker, count in threads.items() if count > 0}
        self._tasks = {worker: self._tasks.get(worker, 0) for worker in self._threads}
        self._arrays = {worker: self._arrays.get(worker, set()) for worker in self._threads}

    def give(self, keys: Sequence[str]) -> str | None:
        """The worker of the next task, whose arrays these are; None where no worker is known."""
        if not self._threads:
            return None

        def load(worker: str) -> tuple[float, int]:
            held = self._arrays[worker]
            return self._tasks[worker] / self._threads[worker], sum(key not in held for key in keys)

        chosen = min(self._threads, key=load)
        self._tasks[chosen] += 1
        self._arrays[chosen].update(keys)
        return chosen

    def back(self, worker: str | None) -> None:
        """A task that went to this worker is over, wherever it was done in the end."""
        if worker in self._tasks:
            self._tasks[worker] -= 1

    def clear(self) -> None:
        """Nothing is out; data stay where they are."""
        self._tasks = dict.fromkeys(self._threads, 0)
