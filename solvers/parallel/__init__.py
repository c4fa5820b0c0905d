"""Executors of independent tasks: this process, joblib's workers, a Dask or a Ray cluster. The whole package uses this
mechanism.
"""

from .executor import Cluster, Executor, SerialExecutor, choose_executor

__all__ = ["Cluster", "Executor", "SerialExecutor", "choose_executor"]
