"""Executors of independent tasks: in this process, on joblib's workers, on a Dask cluster or on a Ray cluster."""

from .executor import Cluster, Executor, SerialExecutor, choose_executor, cluster_executor, completed_results

__all__ = ["Cluster", "Executor", "SerialExecutor", "choose_executor", "cluster_executor", "completed_results"]
