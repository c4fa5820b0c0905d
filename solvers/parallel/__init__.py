"""Parallel computing of the whole package: `choose_executor` returns the executor of independent tasks that a user asks for.

The executors run tasks in this process, on joblib's workers, on a Dask cluster or on a Ray cluster.
"""

from __future__ import annotations

from .executor import Cluster, Executor, SerialExecutor, choose_executor, cluster_executor

__all__ = ["Cluster", "Executor", "SerialExecutor", "choose_executor", "cluster_executor"]
