"""Executors of independent tasks: this process, joblib's workers, a Dask or a Ray cluster, by one mechanism."""

from .team import Executor, SerialExecutor
from .teams import Cluster, choose_executor

__all__ = ["Cluster", "Executor", "SerialExecutor", "choose_executor"]
