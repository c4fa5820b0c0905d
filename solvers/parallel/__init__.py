"""Executors of independent tasks, the package's one way of computing in parallel: joblib's workers, Dask and Ray clusters."""

from .executor import Cluster, Executor, SerialExecutor, choose_executor

__all__ = ["Cluster", "Executor", "SerialExecutor", "choose_executor"]
