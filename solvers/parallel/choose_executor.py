"""The choice of the executor of independent tasks: this process, joblib's workers, a Dask or a Ray cluster."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError, MissingPackageError
from .executor import AsynchronousExecutor, Executor, Job, SerialExecutor, share_of_cores
from .serialisation import Packer, Payload, unpack

#: A ``distributed.Client``, the address of a Dask scheduler ("tcp://host:8786"), or "ray" for the Ray cluster of this session.
Cluster: TypeAlias = Any


class JoblibExecutor(Executor):
    """Executor on the backend of an enclosing ``joblib.parallel_config``, or on loky's processes.

    Processes of this machine read large arrays from files, each written once and mapped into memory; threads share them. Closing
    the executor removes the files.

    Parameters
    ----------
    jobs : int, optional
        As joblib's ``n_jobs``.
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

        threads = share_of_cores(self.size)
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
        The user's name of ``jobs``: ``n_jobs`` in estimators.

    Raises
    ------
    InputError
        ``jobs`` is no number of tasks, ``cluster`` no cluster.
    MissingPackageError
        An address of Dask, or "ray", without the package.
    """
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int | np.integer) or jobs == 0):
        raise InputError(f"{name} must be a number of tasks at a time, or -1 for all cores; it is {jobs!r}", name=name)
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
    return JoblibExecutor(jobs)


def cluster_executor(cluster: Cluster, jobs: int | None = None) -> AsynchronousExecutor:
    """Return the executor on a named cluster; see `choose_executor`."""
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
        raise MissingPackageError(
            "a Dask cluster needs distributed", "distributed", "pip install 'marginopt[cluster]'"
        ) from error
    from .dask_executor import DaskExecutor

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
    from .ray_executor import RayExecutor

    return RayExecutor(jobs)
