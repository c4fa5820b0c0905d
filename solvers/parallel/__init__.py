"""Executors of independent tasks, the package's one way of computing in parallel: joblib's workers, Dask and Ray clusters."""

from .choose_executor import Cluster, choose_executor
from .executor import Executor, SerialExecutor

__all__ = ["Cluster", "Executor", "SerialExecutor", "choose_executor"]
