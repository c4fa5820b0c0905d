"""Executors of independent tasks on clusters: Dask's workers, which may join and leave, and the Ray cluster of this session."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from .executor import AsynchronousExecutor, Job, TaskResult, worker_lost_error
from .serialisation import Packer, Payload, unpack


class Placement:
    """Assignment of each task to a Dask worker: the one with the fewest open tasks per thread.

    Among equal workers the task goes to one that lacks the fewest of its arrays. Dask itself sends a task to a worker that holds
    its data, and idle workers steal only tasks that it expects to be long: short tasks would queue while other workers are idle.
    """

    def __init__(self) -> None:
        self._threads: dict[str, int] = {}
        self._tasks: dict[str, int] = {}
        self._arrays: dict[str, set[str]] = {}

    def update_workers(self, threads: Mapping[str, int]) -> None:
        """Update the workers, by address, and their threads; forget the tasks of workers that are gone."""
        self._threads = {worker: count for worker, count in threads.items() if count > 0}
        self._tasks = {worker: self._tasks.get(worker, 0) for worker in self._threads}
        self._arrays = {worker: self._arrays.get(worker, set()) for worker in self._threads}

    def assign(self, keys: Sequence[str]) -> str | None:
        """Return the worker of the next task, which uses the arrays ``keys``; None if no worker is known."""
        if not self._threads:
            return None

        def load(worker: str) -> tuple[float, int]:
            arrays_of_worker = self._arrays[worker]
            return self._tasks[worker] / self._threads[worker], sum(key not in arrays_of_worker for key in keys)

        chosen = min(self._threads, key=load)
        self._tasks[chosen] += 1
        self._arrays[chosen].update(keys)
        return chosen

    def release(self, worker: str | None) -> None:
        """Remove one task from the open tasks of the worker that `assign` returned; another worker may have run the task."""
        if worker in self._tasks:
            self._tasks[worker] -= 1

    def clear(self) -> None:
        """Remove all open tasks; the arrays that workers have received stay recorded."""
        self._tasks = dict.fromkeys(self._threads, 0)


#: Seconds for which the number of workers is cached.
_CACHE_SECONDS = 0.5
#: Resubmissions of a task after the cluster lost its data or result.
_MAX_RESUBMISSIONS = 5
#: Seconds to wait for the first worker.
_WORKER_TIMEOUT = 60.0


@dataclass(eq=False)
class _SubmittedTask:
    """A submitted task."""

    number: int  #: number of the task
    name: str  #: name of the task's function
    payload: Payload  #: the serialised task
    place: str | None = None  #: address of the worker that `Placement` has assigned
    future: Any = None  #: Dask's future of the result
    tries: int = 0  #: number of submissions
    data: tuple[Any, ...] = field(default=())  #: futures of the scattered arrays


class DaskExecutor(AsynchronousExecutor):
    """Executor of tasks on Dask's workers; arrays are scattered once and stay there.

    Dask itself runs a task again whose worker is gone. Scattered data that were on lost workers alone are scattered again, and
    the tasks that need them are submitted again.

    Parameters
    ----------
    client : distributed.Client
        Connection to the cluster's scheduler.
    jobs : int, optional
        Concurrent tasks; by default all that the workers can run.
    owns_client : bool
        Whether `close` closes the client.
    """

    def __init__(self, client: Any, jobs: int | None = None, owns_client: bool = False) -> None:
        super().__init__(jobs)
        self._client, self._owns_client = client, owns_client
        self._packer = Packer()
        self._scattered: dict[str, Any] = {}
        self._sent: dict[int, _SubmittedTask] = {}
        self._done: SimpleQueue[tuple[_SubmittedTask, Any]] = SimpleQueue()
        self._places = Placement()
        self._slots, self._counted = 0, -_CACHE_SECONDS

    @property
    def slots(self) -> int:
        """Return the number of threads of all workers."""
        time_now = time.monotonic()
        if time_now - self._counted >= _CACHE_SECONDS:
            self._check()
            threads = self._client.nthreads()
            self._places.update_workers(threads)
            self._slots, self._counted = sum(threads.values()), time_now
        return self._slots

    def _check(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise worker_lost_error(f"the connection to the Dask scheduler is {self._client.status}")

    def _wait_for_worker(self) -> None:
        """Wait for the first worker.

        Raises
        ------
        ClusterError
            No worker has joined within a minute.
        """
        try:
            self._client.wait_for_workers(1, timeout=_WORKER_TIMEOUT)
        except TimeoutError as error:
            raise worker_lost_error(f"no Dask worker came within {_WORKER_TIMEOUT:g} s") from error

    def submit(self, number: int, job: Job, task: Any) -> None:
        """Submit a task, and scatter its arrays that the cluster does not have."""
        submitted = _SubmittedTask(number, str(getattr(job, "__name__", "task")), self._packer.pack((job, task)))
        self._sent[number] = submitted
        self._start(submitted)

    def _start(self, submitted: _SubmittedTask) -> None:
        try:
            self._check()
            self._scatter_and_submit(submitted)
        except (RuntimeError, OSError):  # the connection was lost in the meantime
            self._check()
            raise

    def _scatter_and_submit(self, submitted: _SubmittedTask) -> None:
        keys = submitted.payload.keys
        for key in keys:
            scattered = self._scattered.get(key)
            if scattered is None or scattered.status != "finished":
                self._wait_for_worker()
                self._scattered[key] = self._client.scatter(self._packer.arrays[key], hash=False)
        submitted.tries += 1
        submitted.data = tuple(self._scattered[key] for key in keys)
        self._places.release(submitted.place)  # the task may have been submitted before
        submitted.place = self._places.assign(keys)
        submitted.future = self._client.submit(
            _open_on_dask, submitted.payload, list(submitted.data), pure=False,
            key=f"{submitted.name}-{uuid4().hex}",  # Dask learns by name how long tasks take
            fifo_timeout=0,  # in the order of submission
            workers=submitted.place, allow_other_workers=submitted.place is not None,
        )  # fmt: skip
        submitted.future.add_done_callback(lambda future, submitted=submitted: self._done.put((submitted, future)))

    def collect(self, seconds: float) -> list[TaskResult]:
        """Return the tasks done since the last call, waiting at most ``seconds`` for the first, and resubmit lost tasks."""
        results: list[TaskResult] = []
        end = time.monotonic() + seconds
        while not results:
            self._check()
            results += self._finished_tasks(max(end - time.monotonic(), 0.0))
            if time.monotonic() >= end:
                break
        return results

    def _finished_tasks(self, seconds: float) -> list[TaskResult]:
        results = []
        try:
            item = self._done.get(timeout=seconds) if seconds > 0.0 else self._done.get_nowait()
            while True:
                result = self._result_of(*item)
                if result is not None:
                    results.append(result)
                item = self._done.get_nowait()
        except Empty:
            return results

    def _result_of(self, submitted: _SubmittedTask, future: Any) -> TaskResult | None:
        """Return a result; None if the task is submitted again or was cancelled."""
        from distributed import CancelledError, KilledWorker

        if self._sent.get(submitted.number) is not submitted or future is not submitted.future:
            return None
        error: BaseException | None = None
        value = None
        if future.status == "error":
            error = future.exception()
        elif future.status == "finished":
            try:
                value = future.result()
            except CancelledError as cancellation:  # the result was lost with its worker
                error = cancellation
        if isinstance(error, KilledWorker):
            error = worker_lost_error(
                f"task {submitted.number} was lost with every worker that took it: {error}", submitted.number
            )
        elif (
            future.status not in ("finished", "error") or isinstance(error, CancelledError)
        ) and submitted.tries <= _MAX_RESUBMISSIONS:
            self._start(submitted)
            return None
        elif future.status not in ("finished", "error"):
            error = worker_lost_error(f"the Dask cluster lost task {submitted.number} {submitted.tries} times", submitted.number)
        del self._sent[submitted.number]
        self._places.release(submitted.place)
        return TaskResult(submitted.number, value, error)

    def cancel(self) -> None:
        """Cancel the tasks in progress; the data stay for later tasks."""
        futures = [submitted.future for submitted in self._sent.values()]
        self._sent.clear()
        if futures and self._client.status == "running":
            self._client.cancel(futures)
        self._places.clear()

    def close(self) -> None:
        """Release the cluster and the data."""
        self.cancel()
        self._scattered.clear()
        self._packer = Packer()
        if self._owns_client:
            self._client.close()


def _open_on_dask(payload: Payload, arrays: list[Any]) -> Any:
    """Run a task in a worker as a Dask task of its own, with one thread; a worker runs as many at a time as it has threads."""
    job, task = unpack(payload, dict(zip(payload.keys, arrays, strict=True)).__getitem__)
    return job(task, 1)


class RayExecutor(AsynchronousExecutor):
    """Executor of tasks on Ray's workers, one processor for each task; arrays are stored once in the object store.

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
        self._sent[_ray_function().remote(payload, {key: self._stored[key] for key in payload.keys})] = number

    def collect(self, seconds: float) -> list[TaskResult]:
        """Return the tasks done since the last call, waiting at most ``seconds`` for the first."""
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
def _ray_function() -> Any:
    import ray

    return ray.remote(num_cpus=1)(_open_on_ray)


def _open_on_ray(payload: Payload, references: dict[str, Any]) -> Any:
    """Run a task in a worker; Ray fetches no array of a mapping before it is asked for."""
    import ray

    job, task = unpack(payload, lambda key: ray.get(references[key]))
    return job(task, 1)
