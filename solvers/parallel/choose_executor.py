"""Choice of the executor: the named one, or that of an enclosing ``joblib.parallel_config``; the executor on Ray."""

from __future__ import annotations

import sys
import time
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError, MissingPackageError
from .executor import (
    AsynchronousExecutor,
    Executor,
    Job,
    Packer,
    Payload,
    SerialExecutor,
    TaskResult,
    cached,
    unpack,
    worker_lost,
)


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

        parcel = self._packer.pack((job, task))
        for key in parcel.keys:
            if key not in self._stored:
                self._stored[key] = ray.put(self._packer.arrays[key])
        flags = [bool(self._packer.arrays[key].flags.writeable) for key in parcel.keys]
        self._sent[_remote().remote(parcel, [self._stored[key] for key in parcel.keys], flags)] = number

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
            return TaskResult(number, error=worker_lost(f"task {number} was lost with every worker that took it: {error}"))
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


def _open(parcel: Payload, references: list[Any], flags: list[bool]) -> Any:
    """Run a task in a worker."""
    import ray

    items = zip(parcel.keys, references, flags, strict=True)
    arrays = {key: cached(key, lambda ref=ref: ray.get(ref), flag) for key, ref, flag in items}  # type: ignore[misc]
    job, task = unpack(parcel, arrays)
    return job(task, 1)


#: A ``distributed.Client``, the address of a Dask scheduler ("tcp://host:8786"), or "ray" for the Ray cluster of this session.
Cluster: TypeAlias = Any

_INSTALL = "pip install 'marginopt[cluster]'"


def choose_executor(jobs: int | None = None, cluster: Cluster = None) -> Executor:
    """Return the executor of independent tasks.

    Parameters
    ----------
    jobs : int, optional
        Concurrent tasks; -1 for all cores, 1 for this process alone. By default one, or the number of an enclosing
        ``joblib.parallel_config``.
    cluster : Client, str, optional
        A cluster; by default the one of an enclosing ``joblib.parallel_config("dask")`` or ``("ray")``.

    Raises
    ------
    InputError
        ``jobs`` is no number of tasks, ``cluster`` no cluster.
    MissingPackageError
        An address of Dask, or "ray", without the package.
    """
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int | np.integer) or jobs == 0):
        raise InputError(f"jobs must be a number of cells at a time, or -1 for all cores; it is {jobs!r}", name="jobs")
    if cluster is not None:
        return cluster_executor(cluster, jobs)
    if jobs == 1:
        return SerialExecutor()
    import joblib

    backend, _ = joblib.parallel.get_active_backend()
    dask, ray = sys.modules.get("joblib._dask"), sys.modules.get("ray.util.joblib.ray_backend")
    if dask is not None and isinstance(backend, dask.DaskDistributedBackend):
        from .dask_executor import DaskExecutor

        return DaskExecutor(backend.client, jobs)
    if ray is not None and isinstance(backend, ray.RayBackend):
        return _ray(jobs)
    if joblib.effective_n_jobs(jobs) == 1:
        return SerialExecutor()
    from .local_executor import JoblibExecutor

    return JoblibExecutor(jobs)


def cluster_executor(cluster: Cluster, jobs: int | None = None) -> AsynchronousExecutor:
    """Return the executor on a named cluster; see `team_of`."""
    if isinstance(cluster, str):
        return _ray(jobs) if cluster == "ray" else _dask(cluster, jobs)
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(cluster, distributed.Client):
        if cluster.asynchronous:
            raise InputError("cluster: an asynchronous Dask client cannot be waited for; give Client(address)", name="cluster")
        from .dask_executor import DaskExecutor

        return DaskExecutor(cluster, jobs)
    raise InputError(
        "cluster must be a distributed.Client, the address of a Dask scheduler ('tcp://host:8786'), or 'ray' for the Ray cluster "
        f"that this session is connected to; it is {cluster!r}",
        name="cluster",
    )


def _dask(address: str, jobs: int | None) -> AsynchronousExecutor:
    if "://" not in address:
        raise InputError(
            f"cluster: the address of a Dask scheduler looks like 'tcp://host:8786'; it is {address!r}", name="cluster"
        )
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingPackageError("a Dask cluster needs distributed", "distributed", _INSTALL) from error
    from .dask_executor import DaskExecutor

    try:
        return DaskExecutor(Client(address, set_as_default=False), jobs, own=True)
    except (OSError, ValueError) as error:
        raise InputError(f"cluster: no Dask scheduler answers at {address}: {error}") from error


def _ray(jobs: int | None) -> AsynchronousExecutor:
    try:
        import ray
    except ImportError as error:
        raise MissingPackageError("a Ray cluster needs ray", "ray", "pip install 'marginopt[ray]'") from error
    if not ray.is_initialized():
        raise InputError("cluster: this session is connected to no Ray cluster; call ray.init() or ray.init(address=...) first")
    return RayExecutor(jobs)
