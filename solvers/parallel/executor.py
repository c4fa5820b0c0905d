"""Executors of independent tasks: in this process, on joblib's workers, on Dask's workers, which may join and leave, and on a Ray
cluster.

`choose_executor` returns the executor that the options ``jobs`` (``n_jobs``) and ``cluster`` of a call ask for. The packages of
clusters are imported where a cluster is used.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np

from ...errors import ClusterError, InputError, MissingPackageError, short_text
from .serialisation import Packer, Payload, unpack

#: The function that a worker runs: of a task, and of the number of threads it may use (None: all of the machine's).
Job: TypeAlias = Callable[[Any, "int | None"], Any]

#: A ``distributed.Client``, the address of a Dask scheduler ("tcp://host:8786"), or "ray" for the Ray cluster of this session.
Cluster: TypeAlias = Any

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


# The choice of the executor that a call asks for.


def choose_executor(jobs: int | None = None, cluster: Cluster = None, *, name: str = "jobs") -> Executor:
    """Return the executor of independent tasks.

    Parameters
    ----------
    jobs : int, optional
        Concurrent tasks; -1 for all cores, 1 for this process alone. By default one, or the number of an enclosing
        ``joblib.parallel_config``.
    cluster : Client, str, optional
        A cluster; by default the one of an enclosing ``joblib.parallel_config("dask")`` or ``("ray")``.
    name : str
        Name of the option ``jobs`` in messages: ``n_jobs`` in estimators.

    Raises
    ------
    InputError
        ``jobs`` is not a number of tasks, or ``cluster`` is not a cluster.
    MissingPackageError
        The package of the cluster, ``distributed`` or ``ray``, is not installed.
    """
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int | np.integer) or jobs == 0):
        raise InputError(f"{name} must be a number of tasks at a time, or -1 for all cores; it is {short_text(jobs)}", name=name)
    if cluster is not None:
        return cluster_executor(cluster, jobs)
    if jobs == 1:
        return SerialExecutor()
    import joblib

    backend, _ = joblib.parallel.get_active_backend()
    dask, ray = sys.modules.get("joblib._dask"), sys.modules.get("ray.util.joblib.ray_backend")
    if dask is not None and isinstance(backend, dask.DaskDistributedBackend):
        return DaskExecutor(backend.client, jobs)
    if ray is not None and isinstance(backend, ray.RayBackend):
        return _ray(jobs)
    if joblib.effective_n_jobs(jobs) == 1:
        return SerialExecutor()
    return JoblibExecutor(jobs)


def cluster_executor(cluster: Cluster, jobs: int | None = None) -> AsynchronousExecutor:
    """Return the executor on a cluster; the parameters are those of `choose_executor`."""
    if isinstance(cluster, str):
        return _ray(jobs) if cluster == "ray" else _dask(cluster, jobs)
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(cluster, distributed.Client):
        if cluster.asynchronous:
            raise InputError("cluster: an asynchronous Dask client cannot be waited for; give Client(address)", name="cluster")
        return DaskExecutor(cluster, jobs)
    raise InputError(
        "cluster must be a distributed.Client, the address of a Dask scheduler ('tcp://host:8786'), or 'ray' for the Ray cluster "
        f"that this session is connected to; it is {short_text(cluster)}",
        name="cluster",
    )


def _dask(address: str, jobs: int | None) -> AsynchronousExecutor:
    if "://" not in address:
        raise InputError(
            f"cluster: the address of a Dask scheduler looks like 'tcp://host:8786'; it is {short_text(address)}", name="cluster"
        )
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingPackageError(
            "a Dask cluster needs distributed", "distributed", "pip install 'marginopt[cluster]'"
        ) from error
    try:
        return DaskExecutor(Client(address, set_as_default=False), jobs, owns_client=True)
    except (OSError, ValueError) as error:
        raise InputError(f"cluster: no Dask scheduler answers at {address}: {error}", name="cluster") from error


def _ray(jobs: int | None) -> AsynchronousExecutor:
    try:
        import ray
    except ImportError as error:
        raise MissingPackageError("a Ray cluster needs ray", "ray", "pip install 'marginopt[ray]'") from error
    if not ray.is_initialized():
        raise InputError("cluster: this session is connected to no Ray cluster; call ray.init() before", name="cluster")
    return RayExecutor(jobs)
