"""Executor of independent tasks on the Ray cluster that this session is connected to."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

from .executor import AsynchronousExecutor, Job, TaskResult, worker_lost_error
from .serialisation import Packer, Payload, unpack


class RayExecutor(AsynchronousExecutor):
    """Executor of tasks of one processor on Ray's workers; arrays lie once in the object store of every node.

    Ray itself runs a task again whose worker is gone, three times at most.

    Parameters
    ----------
    jobs : int, optional
        Concurrent tasks; by default as many as the cluster has processors.
    """

    def __init__(self, jobs: int | None = None) -> None:
        super().__init__(jobs)
        self._packer = Packer()
        self._stored: dict[str, Any] = {}
        self._sent: dict[Any, int] = {}

    @property
    def slots(self) -> int:
        """Return the number of processors of the cluster."""
        import ray

        return int(ray.cluster_resources().get("CPU", 0))

    def submit(self, number: int, job: Job, task: Any) -> None:
        """Submit a task, and put its arrays into the object store if they are not there."""
        import ray

        payload = self._packer.pack((job, task))
        for key in payload.keys:
            if key not in self._stored:
                self._stored[key] = ray.put(self._packer.arrays[key])
        self._sent[_remote().remote(payload, {key: self._stored[key] for key in payload.keys})] = number

    def collect(self, seconds: float) -> list[TaskResult]:
        """Return results as they come."""
        import ray

        end = time.monotonic() + seconds
        ready, _ = ray.wait(list(self._sent), num_returns=1, timeout=max(end - time.monotonic(), 0.0))
        if ready:  # and the other results that are ready
            ready, _ = ray.wait(list(self._sent), num_returns=len(self._sent), timeout=0.0)
        return [self._result_of(self._sent.pop(ref), ref) for ref in ready]

    def _result_of(self, number: int, ref: Any) -> TaskResult:
        import ray

        try:
            return TaskResult(number, ray.get(ref))
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.ObjectLostError) as error:
            return TaskResult(
                number, error=worker_lost_error(f"task {number} was lost with every worker that took it: {error}", number)
            )
        except Exception as error:  # noqa: BLE001 -- whatever the task raised
            return TaskResult(number, error=error)

    def cancel(self) -> None:
        """Cancel the tasks in progress; the data stay for later tasks."""
        import ray

        if ray.is_initialized():
            for ref in self._sent:
                ray.cancel(ref)
        self._sent.clear()

    def close(self) -> None:
        """Release the cluster and the data; the session's connection stays."""
        self.cancel()
        self._stored.clear()
        self._packer = Packer()


@cache
def _remote() -> Any:
    import ray

    return ray.remote(num_cpus=1)(_open)


def _open(payload: Payload, references: dict[str, Any]) -> Any:
    """Run a task in a worker; Ray fetches no array of a mapping before it is asked for."""
    import ray

    job, task = unpack(payload, lambda key: ray.get(references[key]))
    return job(task, 1)
