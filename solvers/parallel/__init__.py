"""Executors of independent tasks: in this process, on joblib's workers, on a Dask cluster or on a Ray cluster.

`choose_executor` returns the executor that the options ``jobs`` (``n_jobs``) and ``cluster`` of a call ask for.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError, MissingPackageError, short_text
from .executor import AsynchronousExecutor, Executor, JoblibExecutor, SerialExecutor, completed_results

__all__ = ["Cluster", "Executor", "SerialExecutor", "choose_executor", "cluster_executor", "completed_results"]

#: A ``distributed.Client``, the address of a Dask scheduler ("tcp://host:8786"), or "ray" for the Ray cluster of this session.
Cluster: TypeAlias = Any


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
        from .cluster_executors import DaskExecutor

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
        from .cluster_executors import DaskExecutor

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
    from .cluster_executors import DaskExecutor

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
    from .cluster_executors import RayExecutor

    return RayExecutor(jobs)
